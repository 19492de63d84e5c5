/**
 * spec/enterprise.md, Connector, and spec/rulings.md §11: documents created, listed, read, acknowledged, over HTTP on
 * both forms of the server. Comments quote the rows.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { derivedKey } from "../../../engine/documents/connector/create.js";
import { FEED_KINDS } from "../../../engine/lifecycle/feed.js";
import { accessToken, http, sapi, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { serverForms } from "../../support/engines/gateway.js";
import { api } from "../../support/callers/partners.js";

const SELLER = "demo-sender";
const BUYER = "demo-receiver";
type Body = Readonly<Record<string, unknown>>;

test("the derived key is connector:v1: and the hex SHA-256 of both names behind their lengths", () => {
  // rulings §11 and the published vector: 255 × "c" and 255 × "e" give 7182fd43…4b111.
  expect(derivedKey("c".repeat(255), "e".repeat(255))).toBe(
    "connector:v1:7182fd43682e0689adf34c908bc3ec162aaf1687c167fdbff714ff43daa4b111",
  );
  expect(derivedKey(" a\u00a0", "b")).toBe(derivedKey("a", "b"));
  expect(derivedKey("ab", "c")).not.toBe(derivedKey("a", "bc"));
});

describe.each(serverForms)("documents of the Connector over %s", (form) => {
  let t: TestEngine;
  let token: string;
  let dic: string;

  beforeAll(async () => {
    t = await startTestEngine({ form });
    token = await accessToken(t.sandbox, t.sandbox.integrator);
    dic = t.sandbox.receiver.participantId.replace(/^0245:/, "");
  });
  afterAll(() => t.stop());

  const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    http(
      method,
      `${t.sandbox.baseUrl}/connector${path}`,
      {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body === undefined ? undefined : JSON.stringify(body),
    );
  const create = (body: Body, headers?: Record<string, string>): Promise<HttpAnswer> =>
    call("POST", "/documents", body, headers);
  const as = (customerRef: string): string => `customerRef=${customerRef}`;
  const errorOf = (answer: HttpAnswer) => answer.json["error"] as Record<string, unknown>;

  const invoice = (changes: Body = {}): Body => {
    const externalId = randomUUID();
    return {
      customerRef: SELLER,
      externalId,
      number: `C-${externalId.slice(0, 8)}`,
      buyerReference: "4100",
      dueDate: "2027-12-31",
      recipient: { country: "SK", name: "Buyer", taxId: dic },
      lines: [
        { description: "Paper", quantity: 3, unitPrice: "23.90", vatRate: 23 },
        { description: "Bread", quantity: "0.3", unitPrice: 0.1, vatRate: 5 },
      ],
      ...changes,
    };
  };
  const arrived = async (number: string): Promise<Record<string, unknown>> =>
    eventually("the document is received", async () => {
      const { json } = await call("GET", `/documents?${as(BUYER)}&direction=inbound&limit=100`);
      return (json["documents"] as Record<string, unknown>[]).find((each) => each["number"] === number);
    });

  // What is given to a firm as its customerRef is kept without white space at its ends: invitations, onboarding, White Label.
  test("white space at the ends of a customerRef is no part of it, in a query and in a body; nothing else is none", async () => {
    const body = invoice({ delivery: "stage" });
    const padded = { ...body, customerRef: ` ${SELLER}\t` };
    const made = await create(padded);
    expect([made.status, made.json["customerRef"]], made.text).toEqual([201, SELLER]);
    const again = await create(padded);
    expect([again.status, again.json["id"]], again.text).toEqual([200, made.json["id"]]);
    const read = await call("GET", `/documents/${String(made.json["id"])}?${as(`%20${SELLER}+`)}`);
    expect([read.status, read.json["customerRef"]]).toEqual([200, SELLER]);
    const deliveries = await call("GET", `/webhook/deliveries?${as(`+${SELLER}`)}`);
    expect(deliveries.status).toBe(200);
    for (const blank of [await call("GET", `/documents?${as("%20")}`), await create({ ...body, customerRef: " " })])
      expect([blank.status, errorOf(blank)["field"]]).toEqual([400, "customerRef"]);
  });

  // enterprise.md: "create a document. Header Idempotency-Key; body customerRef, externalId, number, buyerReference,
  // recipient, lines. 201 with id, state, replayed, links. An identical retry returns the same document with replayed true"
  test("POST /connector/documents: 201 with id, state, replayed, links; an identical retry returns the same document with replayed true", async () => {
    const body = invoice();
    const first = await create(body, { "idempotency-key": "key one" + randomUUID() });
    expect([first.status, first.text]).toEqual([201, first.text]);
    const path = `/api/v1/connector/documents/${String(first.json["id"])}`;
    expect(first.json).toMatchObject({
      customerRef: SELLER,
      externalId: body["externalId"],
      direction: "outbound",
      type: "invoice",
      number: body["number"],
      currency: "EUR",
      replayed: false,
      response: null,
      actions: [],
      // 3 × 23.90 + 0.3 × 0.1 = 71.70 + 0.03; 23 % of 71.70 = 16.49, 5 % of 0.03 = 0.00.
      amounts: { withoutTax: "71.73", tax: "16.49", total: "88.22", due: "88.22" },
      recipient: { name: "Buyer", country: "SK", taxId: dic, resolution: "verified" },
      links: {
        self: `${path}?${as(SELLER)}`,
        evidence: `${path}/evidence?${as(SELLER)}`,
        supportPacket: `${path}/support-packet?${as(SELLER)}`,
        ubl: `${path}/ubl?${as(SELLER)}`,
      },
    });
    // enterprise.md, Connector document: "An accepted document starts as queued"
    expect([first.json["state"], first.json["updatedAt"]]).toEqual(["queued", first.json["createdAt"]]);
    const again = await create(body, { "idempotency-key": randomUUID() });
    expect([again.status, again.json["id"], again.json["replayed"]]).toEqual([200, first.json["id"], true]);
  });

  // enterprise.md, Connector document: "customerRef … externalId … number … buyerReference … recipient object: country
  // (string) and taxId (company id, tax id or VAT id); an exact Peppol id is optional … lines items {description, quantity,
  // unitPrice, vatRate (number, percent)}"
  test("a body with the members of the specification alone is created: the recipient's name and address are those of the directory", async () => {
    const externalId = randomUUID();
    const { sql } = t.db;
    await sql`update firm set address = '{"street":"Dlhá 1","city":"Nitra","zip":"949 01"}' where id = ${t.sandbox.receiver.firmId}`;
    for (const recipient of [
      { country: "SK", taxId: dic },
      { country: "SK", networkId: t.sandbox.receiver.participantId },
      { country: "SK", taxId: dic, address: { street: "", city: "", postalCode: "" } },
    ]) {
      const number = `C-${randomUUID().slice(0, 8)}`;
      const body = {
        customerRef: SELLER,
        externalId: `${externalId}/${number}`,
        number,
        buyerReference: "4100",
        recipient,
        lines: [{ description: "Paper", quantity: 3, unitPrice: 23.9, vatRate: 23 }],
      };
      const made = await create(body);
      expect([made.status, made.text]).toEqual([201, made.text]);
      expect(made.json["recipient"]).toMatchObject({
        name: "Príjemca a. s.",
        country: "SK",
        resolution: "taxId" in recipient ? "verified" : "declared",
      });
      expect(made.json["dueDate"]).toBeNull();
      const ubl = await call("GET", `/documents/${String(made.json["id"])}/ubl?${as(SELLER)}`);
      expect(ubl.text).toMatch(/<cbc:CityName>Nitra<[^]*<cac:PaymentTerms><cbc:Note>As agreed/u);
      expect((await create(body)).json["id"]).toBe(made.json["id"]);
    }
  });

  test("a recipient that only its tax id names is declared, not verified; without a name anywhere the answer names it", async () => {
    const recipient = { country: "SK", taxId: "2099999999" };
    const unnamed = await create(invoice({ recipient }));
    expect([unnamed.status, errorOf(unnamed)["field"]]).toEqual([422, "recipient.name"]);
    const named = await create(invoice({ recipient: { ...recipient, name: "Elsewhere, s. r. o." } }));
    expect([named.status, named.json["recipient"]]).toMatchObject([201, { resolution: "declared" }]);
  });

  // enterprise.md, Connector document: "taxId (company id, tax id or VAT id)"
  test.each(["99000025", "SK2120000025", "2120 000 025"])(
    "a taxId that holds %s, one of the company's ids, leads to its participant, in the answer and in the UBL, sent or staged",
    async (taxId) => {
      const ids = { ico: "99000025", ic_dph: "SK2120000025" };
      await t.db.sql`update firm set ${t.db.sql(ids)} where id = ${t.sandbox.receiver.firmId}`;
      for (const delivery of ["send", "stage"])
        for (const name of ["Buyer", undefined]) {
          const made = await create(invoice({ delivery, recipient: { country: "SK", name, taxId } }));
          expect([made.status, made.text]).toEqual([201, made.text]);
          const networkId = `0245:${dic}`;
          expect(made.json["recipient"]).toMatchObject({ networkId, taxId: dic, resolution: "verified" });
          const ubl = await call("GET", `/documents/${String(made.json["id"])}/ubl?${as(SELLER)}`);
          const buyer = /<cac:AccountingCustomerParty>[^]*<\/cac:AccountingCustomerParty>/u.exec(ubl.text)?.[0] ?? "";
          expect(buyer).toContain(`<cbc:EndpointID schemeID="0245">${dic}</cbc:EndpointID>`);
          const partyId = /<cac:PartyIdentification>\s*<cbc:ID[^>]*>([^<]*)/u.exec(buyer)?.[1];
          expect([dic, undefined]).toContain(partyId);
        }
    },
  );

  test.each(["123", "2120000025X", "99000099"])(
    "a taxId that holds %s is 422 naming it, also beside a name, and makes no participant",
    async (taxId) => {
      for (const delivery of ["send", "stage"])
        for (const name of ["Buyer", undefined]) {
          const refused = await create(invoice({ delivery, recipient: { country: "SK", name, taxId } }));
          expect([refused.status, errorOf(refused)["field"]]).toEqual([422, "recipient.taxId"]);
        }
    },
  );

  // enterprise.md, Connector document: "taxId (company id, tax id or VAT id)"
  test.each([
    [
      { taxId: "99000017", companyId: "99000025" },
      "It is a company id, and companyId is another one: leave out the one that is not the recipient's.",
    ],
    [
      { taxId: "SK2120000025", vatId: "SK2120000033" },
      "It is a VAT id, and vatId is another one: leave out the one that is not the recipient's.",
    ],
    [
      { taxId: "123", companyId: "99000025" },
      "No Slovak company has this id. In Slovakia it must be a tax id (10 digits), a company id (8 digits) or a VAT id (SK and 10 digits).",
    ],
  ])("a taxId that cannot be the recipient's is told what is wrong with it: %j", async (ids, message) => {
    const refused = await create(invoice({ recipient: { country: "SK", name: "Buyer", ...ids } }));
    expect([refused.status, errorOf(refused)["details"]]).toEqual([
      422,
      [expect.objectContaining({ field: "recipient.taxId", message })],
    ]);
  });

  test("ids of two companies are 422 naming the one that does not fit: nothing goes to either", async () => {
    const companyId = "99000025";
    const answer = await create(
      invoice({ recipient: { country: "SK", name: "Buyer", companyId, taxId: "2020202020" } }),
    );
    expect([answer.status, errorOf(answer)["field"]]).toEqual([422, "recipient.taxId"]);
    expect(JSON.stringify(errorOf(answer)["details"])).toContain("RECIPIENT-CONFLICT");
    const unnamed = { country: "SK", networkId: `0245:${dic}`, companyId: "99000017" };
    const named = await create(invoice({ recipient: unnamed }));
    expect([named.status, errorOf(named)["field"]]).toEqual([422, "recipient.companyId"]);
    const fits = await create(invoice({ recipient: { country: "SK", name: "Buyer", companyId, taxId: dic } }));
    expect([fits.status, fits.text]).toEqual([201, fits.text]);
  });

  test("a repeat is one also when the directory does not know the recipient any more", async () => {
    const { sql } = t.db;
    const { firmId } = t.sandbox.receiver;
    await sql`update firm set ico = '99999991' where id = ${firmId}`;
    const body = invoice({ recipient: { country: "AT", name: "Buyer", companyId: "99999991" } });
    const first = await create(body);
    expect([first.status, first.text]).toEqual([201, first.text]);
    await sql`update firm set ico = '99000025' where id = ${firmId}`;
    const again = await create(body);
    expect([again.status, again.json["id"], again.json["replayed"]]).toEqual([200, first.json["id"], true]);
    const other = await create(invoice({ recipient: body["recipient"], iban: "SK00" }));
    const fields = (errorOf(other)["details"] as { readonly field: string }[]).map(({ field }) => field);
    expect([other.status, fields.sort()]).toEqual([422, ["iban", "recipient.companyId"]]);
  });

  // rulings §11: "Same key and body: 200 with replayed:true (201 the first time); other body: 409 IDEMPOTENCY_CONFLICT.
  // Same externalId with another body: 409 EXTERNAL_ID_CONFLICT."
  test("Idempotency-Key with another body: 409 IDEMPOTENCY_CONFLICT; same externalId with another body: 409 EXTERNAL_ID_CONFLICT", async () => {
    const [body, key] = [invoice(), randomUUID()];
    expect((await create(body, { "idempotency-key": key })).status).toBe(201);
    expect((await create(body, { "idempotency-key": key })).status).toBe(200);
    const otherKey = await create(invoice(), { "idempotency-key": key });
    expect([otherKey.status, errorOf(otherKey)["code"]]).toEqual([409, "IDEMPOTENCY_CONFLICT"]);
    const otherBody = await create(invoice({ externalId: body["externalId"] }), { "idempotency-key": randomUUID() });
    expect([otherBody.status, errorOf(otherBody)["code"]]).toEqual([409, "EXTERNAL_ID_CONFLICT"]);
  });

  test("another body under an externalId without any Idempotency-Key is told of the externalId, not of a key", async () => {
    const body = invoice();
    expect((await create(body)).status).toBe(201);
    const other = await create({ ...body, note: "another" });
    expect([other.status, errorOf(other)["code"], errorOf(other)["field"]]).toEqual([
      409,
      "EXTERNAL_ID_CONFLICT",
      "externalId",
    ]);
  });

  test("without Idempotency-Key the derived one counts: a client that sends it repeats a request that did not", async () => {
    const body = invoice();
    expect((await create(body)).status).toBe(201);
    const key = derivedKey(SELLER, String(body["externalId"]));
    expect((await create(body, { "idempotency-key": key })).status).toBe(200);
    expect(errorOf(await create(invoice(), { "idempotency-key": key }))["code"]).toBe("IDEMPOTENCY_CONFLICT");
  });

  // rulings §11: "the UBL built must pass all rules, else 422 with findings that name the Connector's own field."
  test("422 with findings that name the Connector's own field, all at once, and what to do", async () => {
    const answer = await create(
      invoice({
        lines: [{ description: "x", quantity: 1, unitPrice: 1, vatRate: 17 }],
        dueDate: "2020-01-01",
        iban: "SK00",
      }),
    );
    expect([answer.status, errorOf(answer)["code"]]).toEqual([422, "VALIDATION_FAILED"]);
    const fields = (errorOf(answer)["details"] as { readonly field: string }[]).map(({ field }) => field);
    expect(fields).toEqual(expect.arrayContaining(["lines[0].vatRate"]));
    expect(errorOf(answer)["nextAction"]).toEqual(expect.any(String));
  });

  test("nobody is known by the recipient's ids: 422 that names the member", async () => {
    const answer = await create(invoice({ recipient: { country: "AT", name: "X", companyId: "FN 1" } }));
    expect([answer.status, errorOf(answer)["field"]]).toEqual([422, "recipient.companyId"]);
  });

  // enterprise.md: "Connector … X-Firm-Id is never sent"; rulings §1: 400 FIRM_CONTEXT_FORBIDDEN.
  test("X-Firm-Id is 400, and a customerRef of nobody is 404", async () => {
    const firm = await create(invoice(), { "x-firm-id": randomUUID() });
    expect([firm.status, errorOf(firm)["code"]]).toEqual([400, "FIRM_CONTEXT_FORBIDDEN"]);
    expect((await create(invoice({ customerRef: "nobody" }))).status).toBe(404);
  });

  // rulings §11: "List: ?customerRef&direction&state&type&createdAfter&cursor&limit → {documents,nextCursor,hasMore}"
  test("GET /connector/documents pages over both directions without a gap, and filters", async () => {
    const numbers = new Set<unknown>();
    for (let i = 0; i < 3; i += 1) {
      const body = invoice();
      numbers.add(body["number"]);
      expect((await create(body)).status).toBe(201);
    }
    const seen = new Set<unknown>();
    await eventually("all are listed", async () => {
      let query = `?${as(SELLER)}&direction=outbound&limit=2`;
      for (;;) {
        const { json } = await call("GET", `/documents${query}`);
        for (const each of json["documents"] as Body[]) seen.add(each["number"]);
        if (json["hasMore"] !== true) break;
        query = `?${as(SELLER)}&direction=outbound&limit=2&cursor=${String(json["nextCursor"])}`;
      }
      return [...numbers].every((number) => seen.has(number)) ? true : undefined;
    });
    const none = await call("GET", `/documents?${as(SELLER)}&type=credit_note`);
    expect(none.json).toEqual({ documents: [], nextCursor: null, hasMore: false });
    const later = await call("GET", `/documents?${as(SELLER)}&createdAfter=2100-01-01T00:00:00Z`);
    expect(later.json["documents"]).toEqual([]);
    const forged = await call("GET", `/documents?${as(SELLER)}&cursor=${"A".repeat(30)}`);
    expect([forged.status, errorOf(forged)["field"]]).toEqual([400, "cursor"]);
  });

  // rulings §11: acknowledge {reference?} → {id,customerRef,state,processedAt,reference,idempotent}; "Inbound: received;
  // acknowledge → processed".
  test("a delivered document is received, acknowledged once, answered, and its answer stands in the sender's document", async () => {
    const body = invoice();
    const sent = await create(body);
    const received = await arrived(String(body["number"]));
    expect(received).toMatchObject({
      direction: "inbound",
      state: "received",
      customerRef: BUYER,
      actions: ["acknowledge", "respond"],
      amounts: { total: "88.22" },
    });
    const id = String(received["id"]);
    const reference = "ERP-7";
    const all = await Promise.all(
      Array.from({ length: 12 }, () => call("POST", `/documents/${id}/acknowledge?${as(BUYER)}`, { reference })),
    );
    const [done, ...others] = [...all].sort(
      (one, other) => Number(one.json["idempotent"]) - Number(other.json["idempotent"]),
    );
    // "safe to repeat": of many at once, one is the first.
    expect(others.map(({ json }) => json)).toEqual(others.map(() => ({ ...done?.json, idempotent: true })));
    expect(done?.json).toEqual({
      id,
      customerRef: BUYER,
      state: "processed",
      processedAt: expect.stringMatching(/Z$/),
      reference,
      idempotent: false,
    });
    const again = await call("POST", `/documents/${id}/acknowledge?${as(BUYER)}`);
    expect(again.json).toEqual({ ...done?.json, idempotent: true });
    expect((await call("GET", `/documents/${id}?${as(BUYER)}`)).json).toMatchObject({
      state: "processed",
      processedAt: done?.json["processedAt"],
      processedReference: "ERP-7",
    });
    expect(
      (await call("POST", `/documents/${id}/respond?${as(BUYER)}`, { status: "accepted", note: "ok" })).status,
    ).toBe(200);
    const answered = await eventually("the answer arrives", async () => {
      const { json } = await call("GET", `/documents/${String(sent.json["id"])}?${as(SELLER)}`);
      return json["response"] === null ? undefined : json;
    });
    expect(answered).toMatchObject({
      state: "delivered",
      response: { status: "accepted", direction: "received", reason: "ok" },
    });
    // shapes §9: one and the same on every surface, to an integrator and to the firm.
    const asFirm = { authorization: `Bearer ${token}`, "x-firm-id": t.sandbox.sender.firmId };
    const { json: listed } = await http(
      "GET",
      `${t.sandbox.baseUrl}/documents/${String(sent.json["id"])}/responses`,
      asFirm,
    );
    const [row] = listed["responses"] as Body[];
    expect(row?.["respondedAt"]).toBe((answered["response"] as Body)["respondedAt"]);
    expect((await call("GET", `/documents/${id}?${as(BUYER)}`)).json["response"]).toMatchObject({
      status: "accepted",
      direction: "sent",
    });
    const [mine, theirs] = [
      await call("GET", `/documents/${String(sent.json["id"])}/ubl?${as(SELLER)}`),
      await call("GET", `/documents/${id}/ubl?${as(BUYER)}`),
    ];
    expect([mine.status, theirs.text]).toEqual([200, mine.text]);
    // rulings §11: "Evidence: {documentId, state, …}", "States: queued, sending, delivered, received, processed, …"
    const evidence = await call("GET", `/documents/${id}/evidence?${as(BUYER)}`);
    expect(evidence.json).toMatchObject({
      documentId: id,
      state: "processed",
      links: { self: `/api/v1/connector/documents/${id}/evidence?${as(BUYER)}` },
    });
    const packet = await call("GET", `/documents/${id}/support-packet?${as(BUYER)}`);
    expect(packet.json).toMatchObject({ status: "processed", evidence: { state: "processed" } });
  });

  // enterprise.md: "query customerRef and cursor; response events, nextCursor, hasMore"; rulings §11: "{id, type,
  // customerRef, documentId, state, occurredAt, data{direction,type,number,response}}"
  test("GET /connector/events tells of each document once, in order, to whoever goes on from nextCursor", async () => {
    const start = await call("GET", `/events?${as(SELLER)}&limit=1`);
    expect(start.json["nextCursor"]).toEqual(expect.any(String));
    const body = invoice();
    const { json } = await create(body);
    const seen: Record<string, unknown>[] = [];
    let cursor = "";
    await eventually("the delivery is told", async () => {
      const page = await call("GET", `/events?${as(SELLER)}&limit=3${cursor}`);
      expect(page.status, page.text).toBe(200);
      cursor = `&cursor=${String(page.json["nextCursor"])}`;
      seen.push(...(page.json["events"] as Record<string, unknown>[]));
      const mine = seen.filter((event) => event["documentId"] === json["id"]).map((event) => event["type"]);
      return mine.includes("document.delivered") ? true : undefined;
    });
    expect(new Set(seen.map((event) => event["id"])).size).toBe(seen.length);
    expect(seen.filter((event) => event["documentId"] === json["id"])).toEqual([
      {
        id: expect.any(String),
        type: "document.queued",
        customerRef: SELLER,
        documentId: json["id"],
        state: "queued",
        occurredAt: expect.stringMatching(/Z$/),
        data: { direction: "outbound", type: "invoice", number: body["number"], response: null },
      },
      expect.objectContaining({ type: "document.delivered", state: "delivered" }),
    ]);
    const received = await arrived(String(body["number"]));
    const theirs = await call("GET", `/events?${as(BUYER)}&limit=100`);
    expect(theirs.json["events"]).toContainEqual(
      expect.objectContaining({ type: "document.received", documentId: received["id"], customerRef: BUYER }),
    );
    const foreign = await call("GET", `/events?${as(BUYER)}${cursor}`);
    expect([foreign.status, errorOf(foreign)["field"]]).toEqual([400, "cursor"]);
  });

  // rulings §11: "types document.queued, delivered, received, processed, …"; "acknowledge → processed"
  test("document.processed is told once of what is received, whichever interface acknowledges it, and to no other feed", async () => {
    const { receiver } = t.sandbox;
    const firm = await accessToken(t.sandbox, receiver);
    const mailbox = { participantId: receiver.participantId, token: firm };
    const subscription = { url: null, events: FEED_KINDS };
    expect((await api(t, firm, "POST /webhooks", { body: subscription })).status).toBe(201);
    const acknowledge: readonly ((id: string) => Promise<HttpAnswer>)[] = [
      (id) => call("POST", `/documents/${id}/acknowledge?${as(BUYER)}`),
      (id) => sapi(t.sandbox, mailbox, "POST", `/document/receive/${id}/acknowledge`),
      (id) => api(t, firm, `POST /documents/inbox/${id}/acknowledge`),
      (id) => api(t, firm, `POST /inbound/documents/${id}/ack`),
      (id) => api(t, firm, `POST /documents/${id}/mark`, { body: { state: "processed" } }),
    ];
    const { nextCursor } = (await call("GET", `/events?${as(BUYER)}&limit=100`)).json;
    const arrivals = async (): Promise<number> => {
      const [row] = await t.db.sql<{ n: number }[]>`
        select count(*)::integer as n from received_document
        where firm_id = ${receiver.firmId} and feed_transaction_id < pg_snapshot_xmin(pg_current_snapshot())`;
      return row?.n ?? 0;
    };
    const before = await arrivals();
    /** What is told since then, when so many documents have arrived. */
    const told = async (count: number) => {
      await eventually(`${count} documents arrive`, async () => (await arrivals()) === before + count);
      const page = await call("GET", `/events?${as(BUYER)}&limit=100&cursor=${String(nextCursor)}`);
      return page.json["events"] as Record<string, unknown>[];
    };
    const bodies = acknowledge.map(() => invoice());
    const numbers = bodies.map((body) => body["number"]);
    const created = await Promise.all(bodies.map((body) => create(body)));
    expect(created.map(({ status }) => status)).toEqual(bodies.map(() => 201));
    const received = await told(numbers.length);
    expect(received.map(({ type }) => type)).toEqual(numbers.map(() => "document.received"));
    const [first] = received;
    // rulings §11: "data{direction,type,number,response}", the answer that stands when it happens, as the document has it.
    const answer = { status: "under_query", note: "Which order is it?" };
    await call("POST", `/documents/${String(first?.["documentId"])}/respond?${as(BUYER)}`, answer);
    for (const [at, { documentId }] of received.entries())
      for (const step of [at, at + 1]) {
        const done = await acknowledge[step % acknowledge.length]?.(String(documentId));
        expect([step, done?.status, done?.text]).toEqual([step, 200, done?.text]);
      }
    // What happens to a later document is told behind the imports: none of them is told twice, nor to the pull.
    const later = invoice();
    await create(later);
    const all = await told(numbers.length + 1);
    expect(all.length).toBe(2 * numbers.length + 1);
    const imports = all.filter(({ type }) => type === "document.processed");
    expect(imports.map(({ documentId }) => documentId).sort()).toEqual(
      received.map(({ documentId }) => documentId).sort(),
    );
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    const document = (await call("GET", `/documents/${String(first?.["documentId"])}?${as(BUYER)}`)).json;
    expect(imports.find(({ documentId }) => documentId === first?.["documentId"])).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      type: "document.processed",
      customerRef: BUYER,
      documentId: document["id"],
      state: document["state"],
      occurredAt: document["processedAt"],
      data: { direction: "inbound", type: "invoice", number: document["number"], response: document["response"] },
    });
    expect(document["response"]).toMatchObject({ status: "under_query", direction: "sent", reason: answer.note });
    expect(imports.filter(({ data }) => (data as Body)["response"] === null)).toHaveLength(imports.length - 1);
    const last = String(all.at(-1)?.["documentId"]);
    await eventually("the pull is told of the later document", async () => {
      const found = await t.db.sql`select 1 from webhook_delivery where document_id = ${last}`;
      return found.length > 0;
    });
    const pulled = (await api(t, firm, "GET /events/pull?limit=100")).json["events"] as { readonly event: string }[];
    expect(new Set(pulled.map(({ event }) => event))).toEqual(new Set(["document.received"]));
  });

  // rulings §11: "support packet: the evidence, the redacted timeline, attempts, validation report and versions, no payload"
  test("the support packet has evidence, timeline, attempts, verdict and versions, and nothing of what the document says", async () => {
    const { json } = await create(invoice());
    const packet = await call("GET", `/documents/${String(json["id"])}/support-packet?${as(SELLER)}`);
    expect(packet.json).toMatchObject({
      documentId: json["id"],
      direction: "outbound",
      evidence: {
        documentId: json["id"],
        links: { self: `/api/v1/connector/documents/${String(json["id"])}/evidence?${as(SELLER)}` },
      },
      attempts: expect.any(Array),
      timeline: expect.any(Array),
      versions: { ruleSets: expect.any(Array) },
    });
    expect(packet.text).not.toContain("Paper");
    // Whoever holds a key for the Connector follows its own links only.
    expect(packet.text.match(/"\/api\/[^"]*/gu)?.filter((link) => !link.startsWith('"/api/v1/connector/'))).toEqual([]);
  });

  test("a document of one customer is 404 for another, with the words of one that never was", async () => {
    const { json } = await create(invoice());
    const at = async (id: string) => {
      const answer = await call("GET", `/documents/${id}?${as(BUYER)}`);
      return [answer.status, { ...errorOf(answer), requestId: "" }];
    };
    expect(await at(String(json["id"]))).toEqual(await at(randomUUID()));
  });
});
