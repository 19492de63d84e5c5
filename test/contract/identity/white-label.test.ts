/**
 * White Label over HTTP with the engine's own SMP as the registry, one test for each line of spec/enterprise.md, White
 * Label, of spec/rulings.md, section 12, and of spec/shapes.md, section 8.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { SCOPES } from "../../../engine/base/scopes.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { http, invoiceXml, accessToken, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { serverForms } from "../../support/engines/gateway.js";
import { api, faultOf, newClient, newPartner, tokenOf } from "../../support/callers/partners.js";
import type { Partner } from "../../support/callers/partners.js";

/** Status, code and field of a refusal. */
const refusalOf = (answer: HttpAnswer): readonly unknown[] => [
  ...faultOf(answer),
  (answer.json["error"] as { readonly field?: string } | undefined)?.field,
];

let companies = 0;
const newDic = (): string => String(2_190_000_000 + (companies += 1));

describe.each(serverForms)("White Label in the %s form", (form) => {
  let t: TestEngine;
  let partner: Partner;
  let token: string;

  const call = (line: string, body?: unknown, headers: Record<string, string> = {}): Promise<HttpAnswer> =>
    api(t, token, line, { ...(body === undefined ? {} : { body }), headers });
  const wishOf = (dic: string, changes: object = {}) => ({
    customerRef: `ref-${dic}`,
    dic,
    companyEmail: "firma@firma.example",
    verificationToken: `token-${dic}`,
    ...changes,
  });
  const register = (body: unknown, key: string = randomUUID()): Promise<HttpAnswer> =>
    call("POST /white-label/participants/registrations", body, { "idempotency-key": key });

  beforeAll(async () => {
    t = await startTestEngine({ form });
    partner = await newPartner(t);
    token = await tokenOf(t, partner.key);
  });
  afterAll(() => t.stop());

  // "201 the registry write and local binding succeeded"; "Operation: {id, operationType, status, customerRef, …}"
  test("a registration succeeds with every member, and the participant sends and receives at once", async () => {
    const dic = newDic();
    const { status, json } = await register(wishOf(dic, { legalName: "Čučoriedka s. r. o." }));
    expect(status).toBe(201);
    expect(json).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
      operationType: "registration",
      status: "succeeded",
      customerRef: `ref-${dic}`,
      dic,
      peppolId: `0245:${dic}`,
      legalName: "Čučoriedka s. r. o.",
      companyEmail: "firma@firma.example",
      firmId: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
      participantId: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
      reviewRequired: false,
      error: null,
      createdAt: expect.stringMatching(/Z$/) as unknown,
      completedAt: expect.stringMatching(/Z$/) as unknown,
    });
    const looked = await call(`GET /peppol/participants/0245/${dic}`);
    expect([looked.status, looked.json["accepts"]]).toEqual([200, true]);
    const { sender } = t.sandbox;
    const mailbox = { participantId: sender.participantId, token: await accessToken(t.sandbox, sender) };
    const xml = invoiceXml(sender.participantId, `0245:${dic}`);
    const sent = await send(t.sandbox, mailbox, sendParts(sender.participantId, `0245:${dic}`, xml));
    expect(sent.status).toBe(202);
    const own = { participantId: `0245:${dic}`, token };
    await eventually("the new participant has received it", async () => {
      const rows = await t.db.sql`select 1 from received_document where firm_id = ${String(json["firmId"])}`;
      return rows.length === 1;
    });
    const back = invoiceXml(`0245:${dic}`, sender.participantId);
    expect((await send(t.sandbox, own, sendParts(`0245:${dic}`, sender.participantId, back))).status).toBe(202);
  });

  // enterprise.md, Connector: "create a document" for a firm that came by White Label, which names neither tax nor address
  test("a registered firm invoices with tax once an operator has said what stands of it in its invoices", async () => {
    const dic = newDic();
    const made = await register(wishOf(dic, { legalName: "Čučoriedka s. r. o." }));
    const invoice = () => ({
      customerRef: `ref-${dic}`,
      externalId: randomUUID(),
      number: `WL-${dic}`,
      buyerReference: "4100",
      dueDate: "2027-12-31",
      recipient: { country: "SK", name: "Buyer", taxId: t.sandbox.receiver.participantId.replace(/^0245:/, "") },
      lines: [{ description: "Papier", quantity: 2, unitPrice: "10.00", vatRate: 23 }],
    });
    const untold = await call("POST /connector/documents", invoice());
    expect([untold.status, untold.text.includes("JSON-VAT-SELLER")], untold.text).toEqual([422, true]);
    const facts = { ico: "51234567", icDph: `SK${dic}`, street: "Poštová 3", city: "Poprad", zip: "058 01" };
    const told = await http(
      "PATCH",
      `${t.sandbox.adminUrl}/admin/firms/${String(made.json["firmId"])}`,
      { authorization: `Bearer ${t.sandbox.admin.token}`, "content-type": "application/json" },
      JSON.stringify(facts),
    );
    expect(told.status, told.text).toBe(200);
    const sent = await call("POST /connector/documents", invoice());
    expect([sent.status, sent.json["amounts"]], sent.text).toEqual([
      201,
      { withoutTax: "20.00", tax: "4.60", total: "24.60", due: "24.60" },
    ]);
    const ubl = await call(`GET /connector/documents/${String(sent.json["id"])}/ubl?customerRef=ref-${dic}`);
    const [, supplier = ""] =
      /<cac:AccountingSupplierParty>(.*?)<\/cac:AccountingSupplierParty>/su.exec(ubl.text) ?? [];
    for (const fact of [...Object.values(facts), "Čučoriedka s. r. o.", `schemeID="0245">${dic}<`])
      expect(supplier, fact).toContain(fact);
    const shown = await call(`GET /white-label/participants/${String(made.json["participantId"])}`);
    expect(shown.json).toMatchObject({ ico: facts.ico, icDph: facts.icDph });
  });

  // "200 may be returned for a repeat of the same body and key"
  test("a repeat of the same key and body answers the same operation; another body under the key is refused", async () => {
    const [dic, key] = [newDic(), randomUUID()];
    const first = await register(wishOf(dic), key);
    const again = await register(wishOf(dic), key);
    expect([first.status, again.status, again.json]).toEqual([201, 200, first.json]);
    for (const changes of [{ verificationToken: "another" }, { dic: newDic() }, { companyEmail: "b@firma.example" }])
      expect(refusalOf(await register(wishOf(dic, changes), key))).toEqual([
        409,
        "IDEMPOTENCY_CONFLICT",
        "Idempotency-Key",
      ]);
  });

  // rulings: "Keys 1–255 bytes."
  test.each([
    ["x", 201],
    ["k".repeat(255), 201],
    ["k".repeat(256), 400],
    ["", 400],
  ])("an Idempotency-Key such as %j is answered %i", async (key, status) => {
    const body = wishOf(newDic());
    const answer = await register(body, key === "x" ? `${form.slice(0, 1)}` : key);
    expect(answer.status).toBe(status);
    if (status === 400) expect(JSON.stringify(answer.json)).toContain("Idempotency-Key");
  });

  test.each([
    [{ dic: "123" }, "dic"],
    [{ companyEmail: "x" }, "companyEmail"],
    [{ verificationToken: "" }, "verificationToken"],
    [{ legalName: "two\nlines" }, "legalName"],
    [{ legalName: "\u001b[31mred" }, "legalName"],
    [{ verificationToken: "with space" }, "verificationToken"],
    [{ verificationToken: "t".repeat(LIMITS.verification_token_chars_max + 1) }, "verificationToken"],
    [{ customerRef: "" }, "customerRef"],
    [{ customerRef: "c".repeat(129) }, "customerRef"],
  ])("a registration with %j is 400 and names %s, without its value", async (changes, field) => {
    const { status, text } = await register(wishOf(newDic(), changes));
    expect([status, text.includes(`"field":"${field}"`), text.includes("with space")]).toEqual([400, true, false]);
  });

  // "The integrator never sends an endpoint profile and cannot change registry profiles or certificates."
  test("an endpoint profile or a certificate in a registration changes nothing", async () => {
    const dic = newDic();
    const made = await register(wishOf(dic, { endpointProfile: "theirs", endpointUrl: "https://theirs.example/as4" }));
    expect(made.status, made.text).toBe(201);
    const shown = await call(`GET /white-label/participants/${String(made.json["participantId"])}`);
    expect(shown.json["endpointProfile"]).toBe("managed");
    const looked = await call(`GET /peppol/participants/0245/${dic}`);
    expect([looked.status, looked.text.includes("theirs")]).toEqual([200, false]);
  });

  // "An existing local identity is not taken over by a second registration or migration."
  test("an identity that is here already is never taken over, nor is a customerRef", async () => {
    const dic = newDic();
    await register(wishOf(dic));
    const stranger = await newPartner(t);
    const theirs = await tokenOf(t, stranger.key);
    for (const [path, secret] of [
      ["registrations", "verificationToken"],
      ["migrations", "migrationCode"],
    ] as const) {
      const { verificationToken, ...body } = wishOf(dic, { customerRef: "another" });
      const answer = await api(t, theirs, `POST /white-label/participants/${path}`, {
        body: { ...body, [secret]: verificationToken },
        headers: { "idempotency-key": randomUUID() },
      });
      expect(refusalOf(answer)).toEqual([409, "IDENTIFIER_TAKEN", "dic"]);
    }
    const client = await newClient(t);
    expect(faultOf(await register(wishOf(client.dic)))).toEqual([409, "IDENTIFIER_TAKEN"]);
    expect(refusalOf(await register(wishOf(newDic(), { customerRef: `ref-${dic}` })))).toEqual([
      409,
      "CUSTOMER_REF_CONFLICT",
      "customerRef",
    ]);
  });

  // rulings: "Migration in: {customerRef,dic,companyEmail,migrationCode}"
  test("a participant is taken over with a migration code, and says what it came by", async () => {
    const dic = newDic();
    const { verificationToken: _, ...body } = wishOf(dic);
    const answer = await call(
      "POST /white-label/participants/migrations",
      { ...body, migrationCode: "aA1!bB2@cC3#" },
      { "idempotency-key": randomUUID() },
    );
    expect([answer.status, answer.json["operationType"], answer.json["status"]]).toEqual([
      201,
      "migration_in",
      "succeeded",
    ]);
    const made = await call(`GET /white-label/participants/${String(answer.json["participantId"])}`);
    expect(made.json).toMatchObject({ authorizationSource: "smp_migration_code", peppolId: `0245:${dic}` });
  });

  // "GET /white-label/operations/{operationId}", "GET /white-label/participants/{participantId} … only the integrator's own participants are listed"
  test("operations and participants are read by their integrator alone", async () => {
    const dic = newDic();
    const { json: made } = await register(wishOf(dic));
    const operation = await call(`GET /white-label/operations/${String(made["id"])}`);
    expect([operation.status, operation.json]).toEqual([200, made]);
    const participant = await call(`GET /white-label/participants/${String(made["participantId"])}`);
    expect([participant.status, participant.json]).toEqual([
      200,
      {
        id: made["participantId"],
        customerRef: `ref-${dic}`,
        firmId: made["firmId"],
        operationId: made["id"],
        legalName: `DIČ ${dic}`,
        ico: null,
        dic,
        icDph: null,
        peppolId: `0245:${dic}`,
        status: "active",
        authorizationSource: "fs_verification_token",
        endpointProfile: "managed",
        managedSince: expect.stringMatching(/Z$/) as unknown,
      },
    ]);
    const stranger = await tokenOf(t, (await newPartner(t)).key);
    for (const path of [
      `/white-label/operations/${String(made["id"])}`,
      `/white-label/participants/${String(made["participantId"])}`,
      `/white-label/operations/${randomUUID()}`,
      `/white-label/participants/${randomUUID()}`,
    ])
      expect(faultOf(await api(t, stranger, `GET ${path}`)), path).toEqual([404, "NOT_FOUND"]);
    expect(
      faultOf(await api(t, stranger, `POST /white-label/participants/${String(made["participantId"])}/migration-code`)),
    ).toEqual([404, "NOT_FOUND"]);
    expect((await api(t, stranger, "GET /white-label/participants")).json).toEqual({
      participants: [],
      nextCursor: null,
    });
  });

  // shapes.md §8: "list ?limit(1–100, default 50)&cursor"
  test("participants are listed page by page, and a cursor of somebody else is 400", async () => {
    const other = await newPartner(t);
    const theirs = await tokenOf(t, other.key);
    const dics = [newDic(), newDic(), newDic()];
    for (const dic of dics)
      await api(t, theirs, "POST /white-label/participants/registrations", {
        body: wishOf(dic),
        headers: { "idempotency-key": randomUUID() },
      });
    const seen: unknown[] = [];
    let cursor: string | null = null;
    do {
      const page: HttpAnswer = await api(
        t,
        theirs,
        `GET /white-label/participants?limit=2${cursor === null ? "" : `&cursor=${cursor}`}`,
      );
      seen.push(...(page.json["participants"] as { dic: string }[]).map(({ dic }) => dic));
      cursor = page.json["nextCursor"] as string | null;
      if (cursor !== null) expect((await call(`GET /white-label/participants?cursor=${cursor}`)).status).toBe(400);
    } while (cursor !== null);
    expect(seen).toEqual(dics);
    for (const query of ["limit=0", "limit=101", "cursor=x"])
      expect((await call(`GET /white-label/participants?${query}`)).status).toBe(400);
  });

  // "POST /white-label/participants/{participantId}/migration-code"; rulings: "out: {operation, migrationCode}"
  test("a participant leaves with a code, which a repeat answers again and the database keeps sealed", async () => {
    const { json: made } = await register(wishOf(newDic()));
    const leave = (): Promise<HttpAnswer> =>
      call(`POST /white-label/participants/${String(made["participantId"])}/migration-code`);
    const [first, again] = [await leave(), await leave()];
    expect(first.status).toBe(200);
    expect(first.json).toEqual({
      operation: expect.objectContaining({ operationType: "migration_out", status: "succeeded" }) as unknown,
      migrationCode: expect.stringMatching(/^\S{8,24}$/) as unknown,
    });
    expect(again.json).toEqual(first.json);
    const participant = await call(`GET /white-label/participants/${String(made["participantId"])}`);
    expect(participant.json["status"]).toBe("leaving");
    const rows = await t.db.sql`select secret_sealed from white_label_operation where operation_type = 'migration_out'`;
    expect(
      rows.some((row) => Buffer.from(row["secret_sealed"] as Buffer).includes(String(first.json["migrationCode"]))),
    ).toBe(false);
  });

  // "POST /customers {customerRef, relationship:"represented", customerAuthorization, dic, companyEmail, legalName?} → 201 {id, customerRef, relationship, dic, status, createdAt}"
  test("a customer is noted once, repeated under its key, and listed", async () => {
    const dic = newDic();
    const body = {
      customerRef: `c-${dic}`,
      relationship: "represented",
      customerAuthorization: "Mandát 17/2027",
      dic,
      companyEmail: "firma@firma.example",
    };
    const key = randomUUID();
    const create = (changes: object = {}, idempotencyKey = key): Promise<HttpAnswer> =>
      call("POST /customers", { ...body, ...changes }, { "idempotency-key": idempotencyKey });
    const made = await create();
    expect([made.status, made.json]).toEqual([
      201,
      {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
        customerRef: `c-${dic}`,
        relationship: "represented",
        dic,
        status: "active",
        createdAt: expect.stringMatching(/Z$/) as unknown,
      },
    ]);
    const again = await create();
    expect([again.status, again.json]).toEqual([200, made.json]);
    expect(refusalOf(await create({ dic: newDic() }))).toEqual([409, "IDEMPOTENCY_CONFLICT", "Idempotency-Key"]);
    expect(refusalOf(await create({}, randomUUID()))).toEqual([409, "CUSTOMER_REF_CONFLICT", "customerRef"]);
    for (const [changes, field] of [
      [{ relationship: "owner" }, "relationship"],
      [{ customerAuthorization: " " }, "customerAuthorization"],
      [{ dic: "x" }, "dic"],
      [{ legalName: "\u001b[31mred" }, "legalName"],
    ] as const)
      expect((await create(changes, randomUUID())).text).toContain(`"field":"${field}"`);
    const list = await call("GET /customers");
    expect(list.json).toEqual({ customers: [made.json], nextCursor: null });
    const stranger = await tokenOf(t, (await newPartner(t)).key);
    expect((await api(t, stranger, "GET /customers")).json).toEqual({ customers: [], nextCursor: null });
  });

  // enterprise.md: customerRef is "the integrator's stable id of the firm"
  test("one customerRef is one company among registrations and customers, whichever is first", async () => {
    const [dic, other] = [newDic(), newDic()];
    const customer = (company: string): Promise<HttpAnswer> => {
      const { customerRef, companyEmail } = wishOf(dic);
      const body = { customerRef, relationship: "represented", customerAuthorization: "Mandát", companyEmail };
      return call("POST /customers", { ...body, dic: company }, { "idempotency-key": randomUUID() });
    };
    const taken = [409, "CUSTOMER_REF_CONFLICT", "customerRef"];
    expect((await register(wishOf(dic))).status).toBe(201);
    expect(refusalOf(await customer(other))).toEqual(taken);
    expect((await customer(dic)).status).toBe(201);
    const { customerRef } = wishOf(other);
    const body = { customerRef, relationship: "represented", customerAuthorization: "Mandát" };
    const noted = { ...body, dic: other, companyEmail: "firma@firma.example" };
    expect((await call("POST /customers", noted, { "idempotency-key": randomUUID() })).status).toBe(201);
    expect(refusalOf(await register(wishOf(newDic(), { customerRef })))).toEqual(taken);
    expect((await register(wishOf(other))).status).toBe(201);
  });

  test("one company has one customerRef among registrations and customers, whichever is first", async () => {
    const note = (dic: string, customerRef: string): Promise<HttpAnswer> => {
      const body = { dic, customerRef, relationship: "represented", companyEmail: "firma@firma.example" };
      return call("POST /customers", { ...body, customerAuthorization: "Mandát" }, { "idempotency-key": randomUUID() });
    };
    const taken = [409, "CUSTOMER_REF_CONFLICT", "customerRef"];
    const [registered, noted] = [newDic(), newDic()];
    expect((await register(wishOf(registered))).status).toBe(201);
    expect(refusalOf(await note(registered, "another name"))).toEqual(taken);
    expect((await note(noted, `ref-${noted}`)).status).toBe(201);
    expect(refusalOf(await register(wishOf(noted, { customerRef: "a third name" })))).toEqual(taken);
    expect((await register(wishOf(noted))).status).toBe(201);
    const theirs = await tokenOf(t, (await newPartner(t)).key);
    const body = { dic: noted, customerRef: "their own name", relationship: "represented" };
    const theirNote = await api(t, theirs, "POST /customers", {
      body: { ...body, companyEmail: "firma@firma.example", customerAuthorization: "Mandát" },
      headers: { "idempotency-key": randomUUID() },
    });
    expect(theirNote.status).toBe(201);
  });

  // "POST /customers … separate Idempotency-Key"; rulings: "GET /customers → {customers,nextCursor}"
  test("a key of a registration is another than the same key of a customer, and customers are listed page by page", async () => {
    const theirs = await tokenOf(t, (await newPartner(t)).key);
    const dics = [newDic(), newDic(), newDic()];
    const wished = { body: wishOf(dics[0] ?? ""), headers: { "idempotency-key": dics[0] ?? "" } };
    expect((await api(t, theirs, "POST /white-label/participants/registrations", wished)).status).toBe(201);
    for (const dic of dics) {
      const { customerRef, companyEmail } = wishOf(dic);
      const body = { customerRef, relationship: "represented", customerAuthorization: "Mandát", dic, companyEmail };
      const made = await api(t, theirs, "POST /customers", { body, headers: { "idempotency-key": dic } });
      expect([made.status, made.json["customerRef"]], made.text).toEqual([201, customerRef]);
    }
    const dicsOf = ({ json }: HttpAnswer) => (json["customers"] as { dic: string }[]).map(({ dic }) => dic);
    const first = await api(t, theirs, "GET /customers?limit=2");
    const rest = await api(t, theirs, `GET /customers?limit=2&cursor=${String(first.json["nextCursor"])}`);
    expect([dicsOf(first), dicsOf(rest), rest.json["nextCursor"]]).toEqual([dics.slice(0, 2), dics.slice(2), null]);
    for (const query of ["limit=0", "limit=101", "cursor=x"])
      expect((await api(t, theirs, `GET /customers?${query}`)).status).toBe(400);
  });

  // "These calls never accept X-Firm-Id. Scopes: participants:read, participants:write, participants:migrate."
  test.each([
    ["POST /white-label/participants/registrations", "participants:write"],
    ["POST /white-label/participants/migrations", "participants:migrate"],
    [`POST /white-label/participants/${randomUUID()}/migration-code`, "participants:migrate"],
    [`GET /white-label/operations/${randomUUID()}`, "participants:read"],
    [`GET /white-label/participants/${randomUUID()}`, "participants:read"],
    ["GET /white-label/participants", "participants:read"],
    ["POST /customers", "participants:write"],
    ["GET /customers", "participants:read"],
  ])("%s needs %s and refuses X-Firm-Id", async (line, scope) => {
    const lacking = await tokenOf(t, partner.key, SCOPES.filter((one) => one !== scope).join(" "));
    const refused = await api(t, lacking, line, line.startsWith("POST") ? { body: {} } : {});
    expect([refused.status, (refused.json["error"] as Record<string, unknown>)["required_scope"]]).toEqual([
      403,
      scope,
    ]);
    expect(faultOf(await call(line, undefined, { "x-firm-id": randomUUID() }))).toEqual([
      400,
      "FIRM_CONTEXT_FORBIDDEN",
    ]);
  });
});
