/**
 * POST /documents/send and /documents/preflight: spec/shapes.md §1, §6 and spec/rulings.md §2, §13, over HTTP, on both
 * forms of the server. Test names quote the rows.
 */
import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { bratislavaDay, systemClock } from "../../../engine/base/clock.js";
import { accessToken, invoiceXml, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { serverForms } from "../../support/engines/gateway.js";
import { publishedDocuments } from "../../support/engines/published-rows.js";
import { api, faultOf, newClient, newFirmKey } from "../../support/callers/partners.js";

const errorOf = (answer: HttpAnswer): Record<string, unknown> => answer.json["error"] as Record<string, unknown>;
interface Described {
  readonly properties?: Readonly<Record<string, unknown>>;
}
/** The envelope of errors as it is published. */
const publishedErrors = (publishedDocuments.enterprise as unknown as Published).components.schemas.Error;
interface Published {
  readonly components: {
    readonly schemas: {
      readonly Error: { readonly properties: { readonly error: { readonly properties: Record<string, Described> } } };
    };
  };
}
const detailsOf = (answer: HttpAnswer): Record<string, unknown>[] =>
  ((answer.json["error"] as Record<string, unknown> | undefined)?.["details"] ?? []) as Record<string, unknown>[];
const fieldsOf = (answer: HttpAnswer) => detailsOf(answer).map(({ field }) => field);

describe.each(serverForms)("POST /documents/send over %s", (form) => {
  let t: TestEngine;
  let token: string;
  let from: string;
  let to: string;

  beforeAll(async () => {
    t = await startTestEngine({ form });
    from = t.sandbox.sender.participantId;
    to = t.sandbox.receiver.participantId;
    token = await accessToken(t.sandbox, t.sandbox.sender);
  });
  afterAll(() => t.stop());

  const post = (path: string, body: unknown, key?: string): Promise<HttpAnswer> =>
    api(t, token, `POST ${path}`, { body, headers: key === undefined ? {} : { "idempotency-key": key } });
  const send = (body: unknown, key?: string): Promise<HttpAnswer> => post("/documents/send", body, key);
  const invoice = (changes: Record<string, unknown> = {}): Record<string, unknown> => ({
    receiverPeppolId: to,
    receiverName: "Prijemca, a. s.",
    receiverCountry: "SK",
    invoiceNumber: `J-${randomUUID()}`,
    issueDate: bratislavaDay(systemClock.now()),
    dueDate: "2099-12-31",
    buyerReference: "4100",
    items: [{ description: "Chlieb", quantity: 3, unit: "ks", unitPrice: "2.35", vatRate: 23 }],
    ...changes,
  });
  const xml = (changes: Parameters<typeof invoiceXml>[2] = {}, receiver = to) => ({
    receiverPeppolId: receiver,
    xml: invoiceXml(from, receiver, changes),
  });
  const stored = async (number: unknown): Promise<number> =>
    (await t.db.sql`select 1 from document where erp_document_id = ${String(number)}`).length;

  // shapes §6: "{receiverPeppolId, xml, processId?} → 201 {documentId, messageId, status, duplicate?, payloadSha256, warning?, links{document,status,events,ubl,evidence}}"
  test("XML → 201 {documentId, messageId, status, payloadSha256, links{document,status,events,ubl,evidence}}, and the document is delivered", async () => {
    const body = xml();
    const answer = await send(body);
    expect(answer.status, answer.text).toBe(201);
    const id = String(answer.json["documentId"]);
    const path = `/api/v1/documents/${id}`;
    expect(answer.json).toEqual({
      documentId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      messageId: expect.stringContaining("@") as string,
      status: "queued",
      payloadSha256: createHash("sha256").update(body.xml).digest("hex"),
      links: {
        document: path,
        status: `${path}/status`,
        events: `${path}/events`,
        ubl: `${path}/ubl`,
        evidence: `${path}/evidence`,
      },
    });
    await eventually("it is delivered", async () => {
      const record = await api(t, token, `GET /documents/${id}/status`);
      return record.json["status"] === "delivered" && record.json["as4MessageId"] === answer.json["messageId"];
    });
  });

  // shapes §6: JSON members; "201 (200 on repeat)"
  test("JSON → 201; the invoice is made into UBL with the firm as its seller, and delivered", async () => {
    const answer = await send(invoice());
    expect(answer.status, answer.text).toBe(201);
    const id = String(answer.json["documentId"]);
    await eventually("it is delivered", async () => {
      const record = await api(t, token, `GET /documents/${id}`);
      expect(record.json).toMatchObject({ senderPeppolId: from, receiverPeppolId: to });
      return record.json["status"] === "delivered";
    });
  });

  test.each(["xml", "json"] as const)(
    "a repeat of %s with the same Idempotency-Key, and one under the same number without a key → 200 with duplicate and the same documentId",
    async (kind) => {
      const [body, key] = [kind === "xml" ? xml() : invoice(), randomUUID()];
      const first = await send(body, key);
      expect(first.status, first.text).toBe(201);
      for (const again of [await send(body, key), await send(body), await send(body, randomUUID())]) {
        expect(again.status, again.text).toBe(200);
        expect(again.json).toEqual({ ...first.json, duplicate: true });
      }
    },
  );

  test("the order of members and the way they are written make no other request", async () => {
    const body = invoice();
    const first = await send(body);
    const turned = Object.fromEntries(Object.entries(body).reverse());
    expect((await send(turned)).json["documentId"]).toBe(first.json["documentId"]);
  });

  // shapes §6: "409 DUPLICATE_INVOICE_NUMBER {conflictKey:["firmId","invoiceNumber"], existingDocument{id,invoiceNumber,status,sentAt,recipient}}"
  test("409 DUPLICATE_INVOICE_NUMBER with conflictKey and existingDocument, whichever form had the number first", async () => {
    const number = `D-${randomUUID()}`;
    const first = await send(xml({ number }));
    for (const other of [xml({ number, lines: 1 }), invoice({ invoiceNumber: number })]) {
      const answer = await send(other);
      expect(faultOf(answer)).toEqual([409, "DUPLICATE_INVOICE_NUMBER"]);
      expect(errorOf(answer)).toMatchObject({
        field: "invoiceNumber",
        conflictKey: ["firmId", "invoiceNumber"],
        existingDocument: {
          id: first.json["documentId"],
          invoiceNumber: number,
          status: expect.stringMatching(/^(queued|sent|delivered)$/) as string,
          recipient: to,
        },
      });
    }
    expect(await stored(number)).toBe(1);
  });

  test("what a refusal of a number that is taken says is what the OpenAPI document says of errors", async () => {
    const number = `D-${randomUUID()}`;
    await send(xml({ number }));
    const error = errorOf(await send(xml({ number, lines: 1 })));
    const { properties } = publishedErrors.properties.error;
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(Object.keys(error)));
    expect(Object.keys(properties["existingDocument"]?.properties ?? {}).sort()).toEqual(
      Object.keys(error["existingDocument"] as object).sort(),
    );
  });

  // the same member of GET /documents/{id}: null until the document has left
  test("existingDocument.sentAt is null until the document has left, and then what its detail says", async () => {
    const existingOf = async (number: string): Promise<unknown> =>
      errorOf(await send(xml({ number, lines: 1 })))["existingDocument"];
    const waiting = `W-${randomUUID()}`;
    expect((await send(xml({ number: waiting }, "0245:9999999998"))).status).toBe(201);
    expect(await existingOf(waiting)).toMatchObject({ sentAt: null });
    const sent = `W-${randomUUID()}`;
    const { documentId } = (await send(xml({ number: sent }))).json;
    const detail = await eventually("it is delivered", async () => {
      const { json } = await api(t, token, `GET /documents/${String(documentId)}`);
      return json["status"] === "delivered" ? json : undefined;
    });
    expect(detail["sentAt"]).toMatch(/^\d{4}-.*Z$/);
    expect(await existingOf(sent)).toMatchObject({ sentAt: detail["sentAt"] });
  });

  test("another firm may use the same number", async () => {
    const other = await newClient(t);
    const key = await newFirmKey(t, other.firmId);
    const number = `S-${randomUUID()}`;
    expect((await send(xml({ number }))).status).toBe(201);
    const theirs = { receiverPeppolId: to, xml: invoiceXml(other.participantId, to, { number }) };
    expect((await api(t, key.token, "POST /documents/send", { body: theirs })).status).toBe(201);
  });

  // shapes §6: "409 IDEMPOTENCY_CONFLICT"
  test("409 IDEMPOTENCY_CONFLICT for the same key with another body; the first one's answer stays", async () => {
    const [key, body] = [randomUUID(), invoice()];
    const first = await send(body, key);
    const answer = await send(invoice(), key);
    expect(faultOf(answer)).toEqual([409, "IDEMPOTENCY_CONFLICT"]);
    expect(errorOf(answer)["field"]).toBe("Idempotency-Key");
    expect((await send(body, key)).json["documentId"]).toBe(first.json["documentId"]);
  });

  test("400 VALIDATION_ERROR naming Idempotency-Key for a key that is none", async () => {
    for (const key of ["", "x".repeat(256), " padded"]) {
      const answer = await send(invoice(), key);
      if (key.trim() === key || key === "") {
        expect(faultOf(answer), JSON.stringify(key)).toEqual([400, "VALIDATION_ERROR"]);
        expect(errorOf(answer)["field"]).toBe("Idempotency-Key");
      }
    }
  });

  // shapes §6: "422 VALIDATION_FAILED with details[]"; §9: "All errors at once with BT term and rule id"
  test("422 VALIDATION_FAILED with all findings at once; the number and the key stay free", async () => {
    const [number, key] = [`V-${randomUUID()}`, randomUUID()];
    const good = xml({ number });
    const broken = {
      ...good,
      xml: good.xml.replace(/<cbc:DueDate>.*?<\/cbc:DueDate>/, "").replaceAll('"EUR"', '"EUX"'),
    };
    const answer = await send(broken, key);
    expect(faultOf(answer)).toEqual([422, "VALIDATION_FAILED"]);
    expect(detailsOf(answer).length).toBeGreaterThan(1);
    for (const detail of detailsOf(answer)) {
      expect(detail["ruleId"]).toEqual(expect.any(String));
      expect(detail["field"]).toBe("xml");
    }
    expect(await stored(number)).toBe(0);
    expect((await send(good, key)).status).toBe(201);
  });

  test("422 VALIDATION_FAILED names each wrong member of a JSON invoice at once, and nothing of UBL", async () => {
    const answer = await send(
      invoice({
        dueDate: "2026-02-30",
        iban: "SK3112000000198742637542",
        items: [
          { description: "A", quantity: 0.1 + 0.2, unitPrice: "1", vatRate: 23 },
          { description: "B", quantity: 1, unitPrice: -1, vatRate: 7 },
        ],
      }),
    );
    expect(faultOf(answer)).toEqual([422, "VALIDATION_FAILED"]);
    expect(fieldsOf(answer).sort()).toEqual([
      "dueDate",
      "iban",
      "items[0].quantity",
      "items[1].unitPrice",
      "items[1].vatRate",
    ]);
    expect(answer.text).not.toMatch(/cbc:|cac:/);
  });

  test("422 for a finding of the rules about the UBL that was made names the member it came from", async () => {
    const answer = await send(invoice({ currency: "ABC" }));
    expect(faultOf(answer)).toEqual([422, "VALIDATION_FAILED"]);
    expect(new Set(fieldsOf(answer))).toEqual(new Set(["currency"]));
    expect(answer.text).not.toMatch(/cbc:|cac:|location/);
  });

  test.each([
    ["no lines", { items: [] }, "items"],
    [
      "1,000 lines",
      { items: Array.from({ length: 1_000 }, () => ({ description: "x", quantity: 1, unitPrice: 1, vatRate: 23 })) },
      "items",
    ],
    ["a total below zero", { items: [{ description: "x", quantity: -1, unitPrice: 5, vatRate: 23 }] }, undefined],
    ["an unknown rate", { items: [{ description: "x", quantity: 1, unitPrice: 5, vatRate: 21 }] }, "items[0].vatRate"],
    ["text for a list", { items: "all of them" }, "items"],
    ["no receiver", { receiverPeppolId: undefined }, "receiverPeppolId"],
    ["a receiver that is none", { receiverPeppolId: "2020202020" }, "receiverPeppolId"],
    ["an unknown kind", { documentType: "reminder" }, "documentType"],
    [
      "base64 that is none",
      { attachments: [{ fileName: "a.pdf", mimeType: "application/pdf", content: "%%%" }] },
      "attachments[0].content",
    ],
    [
      "a file of another type",
      { attachments: [{ fileName: "a.exe", mimeType: "application/x-msdownload", content: "QUJD" }] },
      "attachments[0].mimeType",
    ],
    [
      "a number that a double cannot hold",
      { items: [{ description: "x", quantity: 1, unitPrice: 1234567890123.4567, vatRate: 23 }] },
      "items[0].unitPrice",
    ],
  ])("%s → 201, or 422 naming the member", async (_, changes, field) => {
    const answer = await send(invoice(changes));
    if (field === undefined) expect([201, 422]).toContain(answer.status);
    else {
      expect(faultOf(answer)).toEqual([422, "VALIDATION_FAILED"]);
      expect(fieldsOf(answer)).toContain(field);
    }
    for (const named of fieldsOf(answer)) expect(named).toEqual(expect.any(String));
  });

  test("10^400 and NaN as numbers: 422 naming the member, 400 for what is no JSON", async () => {
    const text = JSON.stringify(invoice({ items: [{ description: "x", quantity: "Q", unitPrice: 1, vatRate: 23 }] }));
    const raw = (quantity: string): Promise<HttpAnswer> =>
      fetch(`${t.sandbox.baseUrl}/documents/send`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: text.replace('"Q"', quantity),
      }).then(async (response) => {
        const body = await response.text();
        return {
          status: response.status,
          headers: response.headers,
          text: body,
          json: JSON.parse(body) as HttpAnswer["json"],
        };
      });
    expect(fieldsOf(await raw(`1${"0".repeat(400)}`))).toContain("items[0].quantity");
    expect(fieldsOf(await raw("1e400"))).toContain("items[0].quantity");
    expect((await raw("NaN")).status).toBe(400);
  });

  // shapes §6: "{receiverPeppolId, xml, processId?} or JSON": programs with one type for both write null for the other
  test("a member that is null is one that is left out: an invoice with xml null, and XML with processId null", async () => {
    const asJson = await send(invoice({ xml: null, processId: null, note: null, attachments: null }));
    expect([asJson.status, asJson.json["warning"]], asJson.text).toEqual([201, undefined]);
    const asXml = await send({ ...xml(), processId: null, invoiceNumber: null });
    expect(asXml.status, asXml.text).toBe(201);
    const preflight = await post("/documents/preflight", invoice({ xml: null }));
    expect([preflight.status, preflight.json["ready"]]).toEqual([200, true]);
    const items = [invoice({ xml: null, processId: null })];
    const batch = await post("/documents/send/batch", { items });
    expect(batch.json, batch.text).toMatchObject({ total: 1, succeeded: 1 });
  });

  test("999 lines are sent", async () => {
    const items = Array.from({ length: 999 }, (_, index) => ({
      description: `Položka ${index + 1}`,
      quantity: 1,
      unitPrice: "0.01",
      vatRate: 23,
    }));
    expect((await send(invoice({ items }))).status).toBe(201);
  });

  test("members that nobody reads are warned of, so that a discount under a wrong name does not vanish in silence", async () => {
    const answer = await send(invoice({ discountPercent: 10 }));
    expect(answer.status).toBe(201);
    expect(answer.json["warning"]).toContain("discountPercent");
  });

  test("a recipient that is not registered is warned of; the document is accepted and tried", async () => {
    const answer = await send(xml({}, "0245:9999999999"));
    expect(answer.status).toBe(201);
    expect(answer.json["warning"]).toContain("not registered");
  });

  test("422 ENDPOINT_MISMATCH naming xml or receiverPeppolId when the document is another firm's, or for another recipient", async () => {
    const theirs = await send({ receiverPeppolId: to, xml: invoiceXml("0245:1234567890", to) });
    expect(faultOf(theirs)).toEqual([422, "ENDPOINT_MISMATCH"]);
    expect(fieldsOf(theirs)).toEqual(["xml"]);
    const elsewhere = await send({ ...xml(), receiverPeppolId: "0245:1234567890" });
    expect(faultOf(elsewhere)).toEqual([422, "ENDPOINT_MISMATCH"]);
    expect(fieldsOf(elsewhere)).toEqual(["receiverPeppolId"]);
    expect(elsewhere.text).not.toContain("metadata");
  });

  // rulings §14: "the declared type decides … its ProfileID the process"
  test("422 VALIDATION_FAILED naming processId for another process than the document's; its own is taken", async () => {
    const answer = await send({ ...xml(), processId: "urn:fdc:peppol.eu:2017:poacc:selfbilling:01:1.0" });
    expect(faultOf(answer)).toEqual([422, "VALIDATION_FAILED"]);
    expect(fieldsOf(answer)).toEqual(["processId"]);
    expect((await send({ ...xml(), processId: "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0" })).status).toBe(201);
  });

  test("422 VALIDATION_FAILED naming xml for what is no invoice and no XML", async () => {
    for (const text of ["not xml", "<Order xmlns='urn:oasis:names:specification:ubl:schema:xsd:Order-2'/>", "<a/>"]) {
      const answer = await send({ receiverPeppolId: to, xml: text });
      expect(faultOf(answer), text).toEqual([422, "VALIDATION_FAILED"]);
      expect(new Set(fieldsOf(answer))).toEqual(new Set(["xml"]));
    }
  });

  test("400 naming receiverPeppolId for XML without a recipient", async () => {
    const answer = await send({ xml: invoiceXml(from, to) });
    expect(faultOf(answer)).toEqual([400, "VALIDATION_ERROR"]);
    expect(errorOf(answer)["field"]).toBe("receiverPeppolId");
  });

  test("a firm with several participants sends as the one that its document names", async () => {
    const client = await newClient(t);
    const key = await newFirmKey(t, client.firmId);
    const second = "0245:2999999901";
    await t.db.sql`insert into participant (key, id, firm_id, registered_at)
      values (${second}, ${second}, ${client.firmId}, now() + interval '1 hour')`;
    const answer = await api(t, key.token, "POST /documents/send", {
      body: { receiverPeppolId: to, xml: invoiceXml(second, to) },
    });
    expect(answer.status, answer.text).toBe(201);
    const [row] = await t.db.sql<{ sender: string }[]>`
      select sender from document where id = ${String(answer.json["documentId"])}`;
    expect(row?.sender).toBe(second);
  });

  test("422 SENDER_NOT_REGISTERED naming X-Firm-Id for a firm without a participant", async () => {
    const client = await newClient(t);
    const key = await newFirmKey(t, client.firmId);
    await t.db.sql`delete from participant where firm_id = ${client.firmId}`;
    const answer = await api(t, key.token, "POST /documents/send", {
      body: { receiverPeppolId: to, xml: invoiceXml(client.participantId, to) },
    });
    expect(faultOf(answer)).toEqual([422, "SENDER_NOT_REGISTERED"]);
  });

  test("many requests with one number at once make one document: one 201, the others 200", async () => {
    const body = invoice();
    const answers = await Promise.all(Array.from({ length: 12 }, () => send(body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array.from({ length: 11 }, () => 200), 201]);
    expect(await stored(body["invoiceNumber"])).toBe(1);
  });

  // shapes §6: "POST /documents/preflight (as send, writes nothing: → {ready, validation{}, recipient{found,accepts,routingStatus}})"
  test("POST /documents/preflight → {ready, validation{}, recipient{found,accepts,routingStatus}}, and nothing is written", async () => {
    const body = invoice();
    const answer = await post("/documents/preflight", body);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.json).toEqual({
      ready: true,
      validation: { valid: true, errorCount: 0, warningCount: 0, errors: [], warnings: [] },
      recipient: { found: true, accepts: true, routingStatus: "ready" },
      conflict: null,
    });
    expect(await stored(body["invoiceNumber"])).toBe(0);
    expect((await send(body)).status).toBe(201);
  });

  test("POST /documents/preflight says what is wrong with the document, of the recipient, and that a number is taken", async () => {
    const wrong = await post("/documents/preflight", invoice({ iban: "SK00" }));
    expect(wrong.json).toMatchObject({
      ready: false,
      validation: { valid: false, errorCount: 1, errors: [{ field: "iban" }] },
      recipient: { routingStatus: null },
    });
    const nobody = await post("/documents/preflight", xml({}, "0245:9999999999"));
    expect(nobody.json).toMatchObject({
      ready: true,
      recipient: { found: false, accepts: false, routingStatus: "participant_not_found" },
    });
    const number = `P-${randomUUID()}`;
    expect((await send(xml({ number }))).status).toBe(201);
    expect((await post("/documents/preflight", xml({ number, lines: 1 }))).json).toMatchObject({
      ready: false,
      validation: { valid: true },
      conflict: { code: "DUPLICATE_INVOICE_NUMBER" },
    });
  });
});
