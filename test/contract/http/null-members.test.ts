/**
 * Programs with one type for every request write null for what they do not set: a member that is null is one that is
 * left out, on every interface (D-457). Over HTTP, on both forms of the server.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { accessToken, http, invoiceXml, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { serverForms } from "../../support/engines/gateway.js";
import { publishedDocuments } from "../../support/engines/published-rows.js";
import { api, bindClient, newClient, newPartner } from "../../support/callers/partners.js";
import type { Partner } from "../../support/callers/partners.js";

type Body = Readonly<Record<string, unknown>>;
const JSON_TYPE = { "content-type": "application/json" };

describe.each(serverForms)("null members over %s", (form) => {
  let t: TestEngine;
  let central: string;
  let partner: Partner;

  beforeAll(async () => {
    t = await startTestEngine({ form });
    central = await accessToken(t.sandbox, t.sandbox.integrator);
    partner = await newPartner(t);
  });
  afterAll(() => t.stop());

  const post = (url: string, body: Body, headers: Record<string, string> = {}): Promise<HttpAnswer> =>
    http("POST", url, { ...JSON_TYPE, ...headers }, JSON.stringify(body));

  // sapi.md, Send request: payloadEncoding and checksum "no"
  test("a send whose optional members are null is the same request as one without them", async () => {
    const { sender, receiver } = t.sandbox;
    const mailbox = { ...sender, token: await accessToken(t.sandbox, sender) };
    const { metadata, ...parts } = sendParts(
      sender.participantId,
      receiver.participantId,
      invoiceXml(sender.participantId, receiver.participantId),
    );
    const { creationDateTime: _, ...named } = metadata;
    const key = { "idempotency-key": randomUUID() };
    const nulls = { metadata: { ...named, creationDateTime: null }, payloadEncoding: null, checksum: null };
    const first = await send(t.sandbox, mailbox, { ...parts, ...nulls }, key);
    const again = await send(t.sandbox, mailbox, { ...parts, metadata: named }, key);
    expect([first.status, again.status, again.text]).toEqual([202, 202, first.text]);
    const missing = await send(t.sandbox, mailbox, { ...parts, metadata: { ...named, documentId: null } });
    expect(missing.status).toBe(400);
  });

  // sapi.md, Token request: scope "no"; enterprise.md: revoke "Always 200", token_type_hint (optional)
  test.each(["sapiBaseUrl", "baseUrl"] as const)(
    "a token is given, renewed and revoked at %s where scope and token_type_hint are null",
    async (base) => {
      const url = t.sandbox[base];
      const { clientId, clientSecret } = t.sandbox.sender;
      const credentials = { client_id: clientId, client_secret: clientSecret, scope: null };
      const given = await post(`${url}/auth/token`, { grant_type: "client_credentials", ...credentials });
      expect(given.status, given.text).toBe(200);
      // On /sapi grant_type may be left out at renewal.
      const grant = base === "sapiBaseUrl" ? null : "refresh_token";
      const renewed = await post(`${url}/auth/renew`, {
        grant_type: grant,
        refresh_token: given.json["refresh_token"],
      });
      expect(renewed.status, renewed.text).toBe(200);
      const ended = await post(`${url}/auth/revoke`, { token: renewed.json["access_token"], token_type_hint: null });
      expect(ended.status, ended.text).toBe(200);
    },
  );

  // rulings.md §11, Create: members with a question mark
  test("a document of the Connector is created where every optional member is null, and is the one without them", async () => {
    const externalId = randomUUID();
    const line = { description: "Paper", quantity: 3, unitPrice: "23.90", vatRate: 23 };
    const recipient = { country: "SK", name: "Buyer", networkId: t.sandbox.receiver.participantId };
    const body = { customerRef: "demo-sender", externalId, number: externalId, recipient, lines: [line] };
    const nulls = {
      ...{ delivery: null, type: null, buyerReference: null, precedingDocumentNumber: null, issueDate: null },
      ...{ dueDate: null, taxPointDate: null, deliveryDate: null, documentDiscountPercent: null, currency: null },
      ...{ note: null, iban: null, paymentMethod: null, variableSymbol: null, prepaidAmount: null },
      ...{ prepayments: null, attachments: null },
      recipient: { ...recipient, companyId: null, taxId: null, vatId: null, address: null },
      lines: [{ ...line, unit: null, taxTreatment: null, discount: null }],
    };
    const url = `${t.sandbox.baseUrl}/connector/documents`;
    const bearer = { authorization: `Bearer ${central}` };
    const first = await post(url, { ...body, ...nulls }, bearer);
    expect([first.status, first.json["warning"]], first.text).toEqual([201, undefined]);
    const again = await post(url, body, bearer);
    expect([again.status, again.json["id"], again.json["replayed"]]).toEqual([200, first.json["id"], true]);
    const nobody = await post(url, { ...body, recipient: { country: "SK", taxId: null } }, bearer);
    expect(nobody.status).toBe(400);
  });

  // rulings.md §11, Create: members with a question mark; delivery and type decide what is sent
  test("a document of the Connector is created where every optional member is blank, and is the one without them", async () => {
    const externalId = randomUUID();
    const line = { description: "Paper", quantity: 3, unitPrice: "23.90", vatRate: 23 };
    const recipient = { country: "SK", networkId: t.sandbox.receiver.participantId, address: {} };
    const body = { customerRef: "demo-sender", externalId, number: externalId, recipient, lines: [line] };
    const blanks = {
      ...{ buyerReference: "", precedingDocumentNumber: " ", issueDate: "", dueDate: "\t", taxPointDate: "" },
      ...{ deliveryDate: "", documentDiscountPercent: "", currency: "", note: "\n", iban: "", paymentMethod: "" },
      ...{ variableSymbol: "", prepaidAmount: "" },
      recipient: {
        ...{ ...recipient, name: "", companyId: "", taxId: "  ", vatId: "" },
        address: { street: "", city: "", postalCode: "" },
      },
      lines: [{ ...line, unit: "", taxTreatment: "", discount: "" }],
    };
    const url = `${t.sandbox.baseUrl}/connector/documents`;
    const bearer = { authorization: `Bearer ${central}` };
    const first = await post(url, { ...body, ...blanks }, bearer);
    expect([first.status, first.json["warning"]], first.text).toEqual([201, undefined]);
    const again = await post(url, body, bearer);
    expect([again.status, again.json["id"], again.json["replayed"]]).toEqual([200, first.json["id"], true]);
    for (const blank of [{ delivery: "" }, { type: "" }, { number: " " }, { recipient: { country: "SK", taxId: "" } }])
      expect((await post(url, { ...body, externalId: randomUUID(), ...blank }, bearer)).status).toBe(400);
  });

  test("the mapper takes null for the source that is not meant, and for templateKey, fieldMap and defaults", async () => {
    const answer = await post(
      `${t.sandbox.baseUrl}/connector/mapper`,
      {
        ...{ customerRef: "demo-sender", sourceType: "json", sourceJson: { number: "1" }, sourceText: null },
        ...{ execute: null, templateKey: null, fieldMap: null, defaults: null },
      },
      { authorization: `Bearer ${central}` },
    );
    expect(answer.status, answer.text).toBe(200);
  });

  test("keys, invitations and White Label take null for what may be left out", async () => {
    const asked = (line: string, body: unknown): Promise<HttpAnswer> =>
      api(t, partner.key.token, line, { body, headers: { "idempotency-key": randomUUID() } });
    const key = await asked("POST /integrator/keys", {
      name: null,
      scopes: null,
      ipAllowlist: null,
      scopedFirmId: null,
    });
    expect(key.status, key.text).toBe(201);
    const ended = await asked("DELETE /integrator/keys", { keyId: key.json["id"], client_id: null });
    expect(ended.status, ended.text).toBe(200);
    const client = await newClient(t);
    await bindClient(t, partner, client);
    const { dic } = client;
    const scopes = ["firms:manage", "documents:read"];
    const link = await asked("POST /firms/consent-link", { dic, ico: null, customer_reference: null, scopes });
    expect(link.status, link.text).toBe(201);
    const modes = { relationshipMode: null, requestedInterface: null, customerReference: null };
    const offer = await asked("POST /consent-offers", { targetIdentifier: dic, requestedScopes: scopes, ...modes });
    expect([offer.status, offer.json["relationshipMode"]]).toEqual([201, "technical_delegation"]);
    const made = await asked("POST /white-label/participants/registrations", {
      ...{ customerRef: "ref-null", dic: "2195000001", companyEmail: "firma@firma.example", legalName: null },
      verificationToken: "token",
    });
    expect(made.status, made.text).toBe(201);
  });

  test("an operator's null is refused, for nothing is taken away by it", async () => {
    const { firmId } = t.sandbox.sender;
    const answer = await http(
      "PATCH",
      `${t.sandbox.adminUrl}/admin/firms/${firmId}`,
      { ...JSON_TYPE, authorization: `Bearer ${t.sandbox.admin.token}` },
      JSON.stringify({ ico: null }),
    );
    expect(answer.status).toBe(400);
  });
});

interface Schema {
  readonly type?: string;
  readonly nullable?: boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

/** Places of members that may be left out and are not shown as what may be null. */
function unshown(schema: Schema, at: string): readonly string[] {
  const { properties = {}, required = [], items } = schema;
  const own = Object.entries(properties).flatMap(([name, member]) => {
    const place = `${at}.${name}`;
    const isAnything = member.type === undefined && member.anyOf === undefined;
    const isShown = isAnything || (member.anyOf ?? [member]).some(({ nullable }) => nullable === true);
    return [...(required.includes(name) || isShown ? [] : [place]), ...unshown(member, place)];
  });
  return [...own, ...(items === undefined ? [] : unshown(items, `${at}[]`))];
}

/** The invoice as JSON is described by hand, for its builder reads it and tells its faults as findings. */
const BY_HAND = /\/documents\/(?:send|preflight)$/;

test("the published documents show each member of a JSON body that may be left out as one that may be null", () => {
  const bodies = Object.values(publishedDocuments).flatMap((document) =>
    Object.entries(document["paths"] as Record<string, Record<string, unknown>>).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => {
        const { requestBody } = operation as { requestBody?: { content?: Record<string, { schema?: Schema }> } };
        return { at: `${method} ${path}`, schema: requestBody?.content?.["application/json"]?.schema ?? {} };
      }),
    ),
  );
  const read = bodies.filter(({ at }) => !BY_HAND.test(at));
  expect(read.flatMap(({ at, schema }) => unshown(schema, at))).toEqual([]);
});
