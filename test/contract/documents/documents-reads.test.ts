/**
 * Reads of what was sent and received: spec/shapes.md §6 and spec/rulings.md §1, §5, §6, §13, over HTTP, on both forms
 * of the server. Test names quote the rows.
 */
import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { FirmId } from "../../../engine/base/ids.js";
import { accessToken, http, invoiceXml, sapi, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, Mailbox, TestEngine } from "../../support/engines/engine.js";
import { BUYER } from "../../support/callers/connector.js";
import { eventually } from "../../support/eventually.js";
import { serverForms } from "../../support/engines/gateway.js";
import {
  api,
  bindClient,
  faultOf,
  newClient,
  newFirmKey,
  newPartner,
  withdraw,
} from "../../support/callers/partners.js";

type Row = Readonly<Record<string, unknown>>;
const rowsOf = (answer: HttpAnswer, name = "documents"): Row[] => {
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
  return answer.json[name] as Row[];
};
const INSTANT = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string;

describe.each(serverForms)("reads of documents over %s", (form) => {
  let t: TestEngine;
  let sender: Mailbox;
  let receiver: Mailbox;
  /** Of the receiver's keys: its calls are spread over them, so that no rate limit answers in place of a row. */
  let receiverTokens: readonly string[];
  let turn = 0;
  /** Of the integrator that acts for the receiver. */
  let partner: string;

  beforeAll(async () => {
    t = await startTestEngine({ form });
    sender = { participantId: t.sandbox.sender.participantId, token: await accessToken(t.sandbox, t.sandbox.sender) };
    receiver = {
      participantId: t.sandbox.receiver.participantId,
      token: await accessToken(t.sandbox, t.sandbox.receiver),
    };
    receiverTokens = [receiver.token, (await newFirmKey(t, t.sandbox.receiver.firmId as FirmId)).token];
    partner = await accessToken(t.sandbox, t.sandbox.integrator);
  });
  afterAll(() => t.stop());

  const asPartner = (line: string): Promise<HttpAnswer> => api(t, partner, line);
  const asSender = (line: string, body?: unknown): Promise<HttpAnswer> =>
    api(t, sender.token, line, body === undefined ? {} : { body });
  const asReceiver = (line: string, body?: unknown): Promise<HttpAnswer> =>
    api(t, receiverTokens[(turn += 1) % 2], line, body === undefined ? {} : { body });

  interface Exchanged {
    readonly sent: string;
    readonly received: string;
    readonly number: string;
    readonly xml: string;
  }
  /** Sends an invoice, and waits until it is in the receiver's inbox. */
  async function exchanged(to = receiver.participantId): Promise<Exchanged> {
    const number = `R-${randomUUID()}`;
    const xml = invoiceXml(sender.participantId, to, { number });
    const answer = await asSender("POST /documents/send", { receiverPeppolId: to, xml });
    if (answer.status !== 201) throw new Error(answer.text);
    const sent = String(answer.json["documentId"]);
    const received = await eventually("the document is received", async () => {
      const [row] = await t.db.sql<{ id: string }[]>`
        select r.id from received_document as r join document as d on d.sbdh_instance_id::text = r.sbdh_instance_id
        where d.id = ${sent} and r.status <> 'HELD' and d.status = 'delivered'`;
      return row?.id;
    });
    return { sent, received, number, xml };
  }
  const missing = async (answer: Promise<HttpAnswer>): Promise<unknown> => {
    const { status, json } = await answer;
    return { status, ...(json["error"] as object), requestId: "" };
  };

  describe("what was sent", () => {
    // rulings §13: "Documents: GET /documents/{id}"; shapes §6
    test("GET /documents/{id}: the status record with number, days, amounts, digest, attempts, marks and links", async () => {
      const { sent, number, xml } = await exchanged();
      const answer = await asSender(`GET /documents/${sent}`);
      const path = `/api/v1/documents/${sent}`;
      expect(answer.json).toMatchObject({
        id: sent,
        direction: "outbound",
        status: "delivered",
        senderPeppolId: sender.participantId,
        receiverPeppolId: receiver.participantId,
        documentNumber: number,
        externalId: number,
        currency: "EUR",
        totalAmount: expect.stringMatching(/^\d+\.\d\d$/) as string,
        payloadSha256: createHash("sha256").update(xml).digest("hex"),
        attempts: 1,
        sentAt: INSTANT,
        deliveredAt: INSTANT,
        acknowledgedAt: null,
        marks: [],
        links: {
          self: path,
          ubl: `${path}/ubl`,
          responses: `${path}/responses`,
          supportPacket: `${path}/support-packet`,
        },
      });
    });

    // shapes §6: "GET /documents/{id} … /ubl"
    test("GET /documents/{id}/ubl: the exact bytes, of what was sent and of what was received", async () => {
      const { sent, received, xml } = await exchanged();
      for (const [ask, id] of [
        [asSender, sent],
        [asReceiver, received],
      ] as const) {
        const answer = await ask(`GET /documents/${id}/ubl`);
        expect(answer.headers.get("content-type")).toBe("application/xml");
        expect(answer.text).toBe(xml);
      }
      expect(await missing(asReceiver(`GET /documents/${sent}/ubl`))).toEqual(
        await missing(asReceiver(`GET /documents/${randomUUID()}/ubl`)),
      );
    });

    // shapes §6: "GET /documents/outbox"
    test("GET /documents/outbox: newest first, by status, receiver, since, limit and offset", async () => {
      const [first, second] = [await exchanged(), await exchanged()];
      const all = await asSender("GET /documents/outbox");
      expect(all.json).toMatchObject({ limit: 50, offset: 0, hasMore: false });
      const ids = rowsOf(all).map(({ id }) => id);
      expect(ids.indexOf(second.sent)).toBeLessThan(ids.indexOf(first.sent));
      expect(rowsOf(all)[0]).toMatchObject({
        direction: "outbound",
        documentType: "invoice",
        documentNumber: second.number,
        status: "delivered",
      });
      const page = await asSender("GET /documents/outbox?limit=1&offset=1");
      expect([rowsOf(page).map(({ id }) => id), page.json["hasMore"], page.json["total"]]).toEqual([
        [first.sent],
        ids.length > 2,
        ids.length,
      ]);
      const none = await asSender("GET /documents/outbox?status=rejected");
      expect(none.json).toMatchObject({ documents: [], total: 0 });
      expect(rowsOf(await asSender("GET /documents/outbox?receiver=0245:9999999999"))).toEqual([]);
      const since = new Date(Date.now() + 60_000).toISOString();
      expect(rowsOf(await asSender(`GET /documents/outbox?since=${since}`))).toEqual([]);
      expect(rowsOf(await asReceiver("GET /documents/outbox")).map(({ id }) => id)).not.toContain(first.sent);
    });

    // shapes §6: "POST /documents/status/batch {ids[<=100]}"
    test("POST /documents/status/batch: the states of those that are ours, in order; a foreign id is as unknown as none", async () => {
      const [first, second] = [await exchanged(), await exchanged()];
      const unknown = randomUUID();
      const ids = [second.sent, unknown, first.received, first.sent, second.sent];
      const answer = await asSender("POST /documents/status/batch", { ids });
      expect(answer.json["missing"]).toEqual([unknown, first.received]);
      expect(rowsOf(answer)).toEqual(
        [second.sent, first.sent].map((id) => ({
          id,
          status: "delivered",
          statusReason: null,
          invoiceResponseStatus: null,
          as4MessageId: expect.stringContaining("@") as string,
          deliveredAt: INSTANT,
          acknowledgedAt: null,
          createdAt: INSTANT,
          updatedAt: INSTANT,
        })),
      );
      for (const wrong of [{ ids: [] }, { ids: ["x"] }, { ids: Array.from({ length: 101 }, () => randomUUID()) }, {}]) {
        const refused = await asSender("POST /documents/status/batch", wrong);
        expect(faultOf(refused)).toEqual([400, "VALIDATION_ERROR"]);
        expect(refused.text).toContain("ids");
      }
    });

    // shapes §6: "POST /documents/send/batch {items[<=100]} → always 200 {total,succeeded,failed,results[{index,status,result}]}"
    test("POST /documents/send/batch: always 200 {total,succeeded,failed,results[{index,status,result}]}; one bad item harms no other", async () => {
      const good = () => ({
        receiverPeppolId: receiver.participantId,
        xml: invoiceXml(sender.participantId, receiver.participantId),
      });
      const items = [
        good(),
        { receiverPeppolId: receiver.participantId, xml: "<" },
        "no object",
        good(),
        { xml: "<a/>" },
        {},
      ];
      const body = { items: [...items, items[0]] };
      const headers = { "idempotency-key": randomUUID() };
      const answer = await api(t, sender.token, "POST /documents/send/batch", { body, headers });
      expect(answer.json).toMatchObject({ total: 7, succeeded: 3, failed: 4 });
      const results = rowsOf(answer, "results");
      expect(results.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5, 6]);
      expect(
        results.map(({ status }) => status).map((status, index) => (index === 0 || index === 6 ? "ok" : status)),
      ).toEqual(["ok", 422, 400, 201, 400, 422, "ok"]);
      // The same item twice is one document, whichever of the two came first.
      expect([results[0]?.["status"], results[6]?.["status"]].sort()).toEqual([200, 201]);
      for (const { status, result } of results) {
        const { error, documentId } = result as {
          error?: { code: string; requestId: string; details: Row[] };
          documentId?: string;
        };
        // D-174: the body that a send of it alone would have had
        if (error !== undefined) expect(error.requestId).toBe(answer.headers.get("x-request-id"));
        if (Number(status) < 400) expect(documentId).toEqual(expect.any(String));
        else for (const { field } of error?.details ?? [{}]) expect(field).toEqual(expect.any(String));
      }
      const again = await api(t, sender.token, "POST /documents/send/batch", { body, headers });
      expect(rowsOf(again, "results").map(({ status }) => status)).toEqual([200, 422, 400, 200, 400, 422, 200]);
      for (const wrong of [{ items: [] }, { items: Array.from({ length: 101 }, () => ({})) }, {}])
        expect(faultOf(await asSender("POST /documents/send/batch", wrong))).toEqual([400, "VALIDATION_ERROR"]);
    });
  });

  describe("keys of a batch", () => {
    const good = () => ({
      receiverPeppolId: receiver.participantId,
      xml: invoiceXml(sender.participantId, receiver.participantId),
    });
    const post = (path: string, body: unknown, key: string) =>
      api(t, sender.token, `POST ${path}`, { body, headers: { "idempotency-key": key } });

    // D-174: "An item … has the HTTP status and the body that a send of it alone would have had"
    test("an item whose key was used with another body is told what a send alone is told", async () => {
      const [key, other] = [randomUUID(), randomUUID()];
      await post("/documents/send", good(), key);
      await post("/documents/send/batch", { items: [good()] }, other);
      const alone = await post("/documents/send", good(), key);
      const [item] = rowsOf(await post("/documents/send/batch", { items: [good()] }, other), "results");
      const { requestId: _, ...told } = alone.json["error"] as Row;
      const { requestId: __, ...ofItem } = (item?.["result"] as { readonly error: Row }).error;
      expect([item?.["status"], ofItem]).toEqual([alone.status, told]);
    });

    // reliability C-06: "same key … on two endpoints: independent"
    test("no key of a single send is that of an item", async () => {
      const key = randomUUID();
      const batch = await post("/documents/send/batch", { items: [good()] }, key);
      expect(batch.json).toMatchObject({ succeeded: 1 });
      expect((await post("/documents/send", good(), `${key}#0`)).status).toBe(201);
    });
  });

  describe("the inbox", () => {
    // shapes §6: "GET /documents/inbox?offset&limit&status(received|acknowledged)&since"
    test("GET /documents/inbox: oldest first, by status, since, limit and offset", async () => {
      const [first, second] = [await exchanged(), await exchanged()];
      const list = await asReceiver("GET /documents/inbox?limit=100");
      const ids = rowsOf(list).map(({ documentId }) => documentId);
      expect(ids.indexOf(first.received)).toBeLessThan(ids.indexOf(second.received));
      expect(rowsOf(list).find(({ documentId }) => documentId === first.received)).toEqual({
        documentId: first.received,
        direction: "inbound",
        status: "received",
        documentType: "invoice",
        documentTypeId: expect.stringContaining("Invoice-2::Invoice##") as string,
        processId: expect.stringContaining("billing") as string,
        senderPeppolId: sender.participantId,
        receiverPeppolId: receiver.participantId,
        documentNumber: first.number,
        issueDate: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) as string,
        dueDate: expect.anything() as unknown,
        currency: "EUR",
        totalAmount: expect.stringMatching(/^\d+\.\d\d$/) as string,
        as4MessageId: expect.any(String) as string,
        payloadSha256: createHash("sha256").update(first.xml).digest("hex"),
        receivedAt: INSTANT,
        acknowledgedAt: null,
        clientReference: null,
      });
      const at = ids.indexOf(second.received);
      const page = await asReceiver(`GET /documents/inbox?limit=1&offset=${at}`);
      expect(rowsOf(page).map(({ documentId }) => documentId)).toEqual([second.received]);
      expect(page.json).toMatchObject({ limit: 1, offset: at, total: ids.length });
      expect((await asReceiver(`POST /documents/inbox/${first.received}/acknowledge`)).status).toBe(200);
      const idsBy = async (status: string) =>
        rowsOf(await asReceiver(`GET /documents/inbox?limit=100&status=${status}`)).map(({ documentId }) => documentId);
      expect(await idsBy("received")).not.toContain(first.received);
      expect(await idsBy("acknowledged")).toContain(first.received);
      const later = new Date(Date.now() + 60_000).toISOString();
      expect(rowsOf(await asReceiver(`GET /documents/inbox?since=${later}`))).toEqual([]);
    });

    // shapes §6: "/documents/inbox/{id} → {document, payload}"
    test("GET /documents/inbox/{id} → {document, payload}; a foreign, a sent and an unknown id are the same 404", async () => {
      const { sent, received, xml } = await exchanged();
      const answer = await asReceiver(`GET /documents/inbox/${received}`);
      expect(answer.json["payload"]).toBe(xml);
      expect(answer.json["document"]).toMatchObject({ documentId: received, status: "received" });
      const unknown = await missing(asReceiver(`GET /documents/inbox/${randomUUID()}`));
      expect(unknown).toMatchObject({ status: 404, code: "NOT_FOUND" });
      for (const call of [
        asSender(`GET /documents/inbox/${received}`),
        asSender(`GET /documents/inbox/${sent}`),
        asReceiver("GET /documents/inbox/none"),
      ])
        expect(await missing(call)).toEqual(unknown);
    });

    // shapes §6: "/acknowledge → {documentId,status:"ACKNOWLEDGED",acknowledgedAt}"; reliability C-18
    test('POST /documents/inbox/{id}/acknowledge → {documentId,status:"ACKNOWLEDGED",acknowledgedAt}; fifty at once are one; foreign and unknown are 404', async () => {
      const { received } = await exchanged();
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => asReceiver(`POST /documents/inbox/${received}/acknowledge`)),
      );
      expect(answers[0]?.json).toEqual({ documentId: received, status: "ACKNOWLEDGED", acknowledgedAt: INSTANT });
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      const unknown = await missing(asReceiver(`POST /documents/inbox/${randomUUID()}/acknowledge`));
      expect(await missing(asSender(`POST /documents/inbox/${received}/acknowledge`))).toEqual(unknown);
    });

    // shapes §6: "/documents/inbox/all (over all firms of an integrator; snake_case rows with firm_id, firm_name)"
    test("GET /documents/inbox/all: what every firm with an active consent to read has received, with firm_id and firm_name, and nothing of others", async () => {
      const partner = await newPartner(t);
      const names = ["read", "withdrawn", "sender", "elsewhere", "blind"] as const;
      const clients = Object.fromEntries(
        await Promise.all(names.map(async (name) => [name, await newClient(t)] as const)),
      ) as Record<(typeof names)[number], Awaited<ReturnType<typeof newClient>>>;
      for (const name of names)
        if (name !== "elsewhere")
          await bindClient(t, partner, clients[name], {
            customerRef: `all-${name}`,
            ...(name === "blind" ? { scopes: ["documents:send"] as const } : {}),
          });
      const arrived: Record<string, string> = {};
      for (const name of names) {
        const { participantId, firmId } = clients[name];
        const [from] = await t.db.sql<{ id: string }[]>`
          insert into received_document (id, firm_id, participant_key, sender, receiver, document_type_id, process_id,
            creation_date_time, status, payload_sha256, as4_message_id, sbdh_instance_id, facts, received_at)
          values (gen_random_uuid(), ${firmId}, ${participantId}, '0245:1', ${participantId}, 'a::Invoice##b::2.1', 'p',
            now(), 'RECEIVED', sha256('x'), ${randomUUID()}, ${randomUUID()}, '{}', now()) returning id`;
        arrived[name] = from?.id ?? "";
      }
      await withdraw(t, partner, clients.withdrawn);
      await t.db.sql`update firm set sends_only = true where id = ${clients.sender.firmId}`;
      const ask = (query = "") => api(t, partner.key.token, `GET /documents/inbox/all${query}`);
      const rows = rowsOf(await ask());
      expect(rows.map(({ id }) => id)).toEqual([arrived["read"]]);
      expect(rows[0]).toMatchObject({
        firm_id: clients.read.firmId,
        firm_name: "Pekáreň s. r. o.",
        status: "received",
      });
      expect(rowsOf(await ask("?status=acknowledged"))).toEqual([]);
      expect(
        (await api(t, partner.key.token, "GET /documents/inbox/all", { headers: { "x-firm-id": clients.read.firmId } }))
          .status,
      ).toBe(400);
      const firm = await newFirmKey(t, clients.read.firmId);
      expect((await api(t, firm.token, "GET /documents/inbox/all")).status).toBe(403);
    });
  });

  describe("the pull interface", () => {
    /** Every row behind a place, page by page. */
    async function pulled(
      ask: typeof asSender,
      path: string,
      limit: number,
      begin?: string,
    ): Promise<{ rows: Row[]; cursor: string }> {
      const rows: Row[] = [];
      for (let since = begin; ;) {
        const [file = "", query = ""] = path.split("?");
        const at = [query, `limit=${limit}`, since === undefined ? "" : `since=${encodeURIComponent(since)}`];
        const page = await ask(`GET ${file}?${at.filter((part) => part !== "").join("&")}`);
        rows.push(...rowsOf(page, file === "/outbound/events" ? "events" : "documents"));
        since = String(page.json["next_cursor"]);
        if (page.json["has_more"] !== true) return { rows, cursor: since };
      }
    }

    // shapes §6: "GET /inbound/documents?since&limit(1–500)&kind&sender → {documents,next_cursor,has_more}"
    test("GET /inbound/documents: pages of one are the page of all; next_cursor goes on behind the last; kind, sender and an instant choose", async () => {
      await exchanged();
      const last = await exchanged();
      const all = await eventually("the horizon has passed", async () => {
        const page = await pulled(asReceiver, "/inbound/documents", 500);
        return page.rows.some(({ id }) => id === last.received) ? page : undefined;
      });
      const single = await pulled(asReceiver, "/inbound/documents", 1);
      expect(single.rows.map(({ id }) => id)).toEqual(all.rows.map(({ id }) => id));
      expect(all.rows.find(({ id }) => id === last.received)).toMatchObject({
        kind: "invoice",
        status: "received",
        sender: sender.participantId,
        recipient: receiver.participantId,
        document_number: last.number,
        received_at: INSTANT,
        acknowledged_at: null,
        client_reference: null,
      });
      const rest = await asReceiver(`GET /inbound/documents?since=${all.cursor}`);
      expect(rest.json).toEqual({ documents: [], next_cursor: all.cursor, has_more: false });
      expect(rowsOf(await asReceiver("GET /inbound/documents?kind=credit_note"))).toEqual([]);
      expect(rowsOf(await asReceiver("GET /inbound/documents?sender=0245:9999999999"))).toEqual([]);
      const by = rowsOf(await asReceiver(`GET /inbound/documents?kind=invoice&sender=${sender.participantId}`));
      expect(by.length).toBe(all.rows.length);
      const later = new Date(Date.now() + 60_000).toISOString();
      expect(rowsOf(await asReceiver(`GET /inbound/documents?since=${later}`))).toEqual([]);
      const next = await exchanged();
      await eventually("the next one comes behind the cursor", async () => {
        const { rows } = await pulled(asReceiver, "/inbound/documents", 500, all.cursor);
        return rows.map(({ id }) => id).join() === next.received;
      });
    });

    // shapes §6: "/inbound/documents/{id}, /ubl, POST …/ack {client_reference?<=256}"
    test("GET /inbound/documents/{id}, /ubl, POST …/ack {client_reference?}: the first acknowledgement and reference stay", async () => {
      const { received, xml } = await exchanged();
      expect((await asReceiver(`GET /inbound/documents/${received}/ubl`)).text).toBe(xml);
      const bare = await asReceiver(`POST /inbound/documents/${received}/ack`);
      expect(bare.json).toEqual({
        id: received,
        status: "acknowledged",
        acknowledged_at: INSTANT,
        client_reference: null,
      });
      const named = await asReceiver(`POST /inbound/documents/${received}/ack`, { client_reference: "ERP 7" });
      expect(named.json).toEqual({ ...bare.json, client_reference: "ERP 7" });
      const other = await asReceiver(`POST /inbound/documents/${received}/ack`, { client_reference: "ERP 8" });
      expect(other.json).toEqual(named.json);
      expect((await asReceiver(`GET /inbound/documents/${received}`)).json).toMatchObject({
        status: "acknowledged",
        client_reference: "ERP 7",
      });
      const long = await asReceiver(`POST /inbound/documents/${received}/ack`, { client_reference: "x".repeat(257) });
      expect(faultOf(long)).toEqual([400, "VALIDATION_ERROR"]);
      expect(long.text).toContain("client_reference");
      for (const rest of ["", "/ubl"])
        expect(await missing(asSender(`GET /inbound/documents/${received}${rest}`))).toEqual(
          await missing(asSender(`GET /inbound/documents/${randomUUID()}${rest}`)),
        );
      expect(await missing(asSender(`POST /inbound/documents/${received}/ack`))).toEqual(
        await missing(asSender(`POST /inbound/documents/${randomUUID()}/ack`)),
      );
    });

    // shapes §6: "GET /outbound/documents?since&limit&kind&status(queued|sending|sent|delivered|failed|dead)&business_status&recipient, /{id}, /ubl, /mdn"
    test("GET /outbound/documents, /{id}, /ubl, /mdn: in the order of acceptance, by status, business_status, kind and recipient", async () => {
      const last = await exchanged();
      const all = await eventually("the horizon has passed", async () => {
        const page = await pulled(asSender, "/outbound/documents", 500);
        return page.rows.some(({ id }) => id === last.sent) ? page : undefined;
      });
      const single = await pulled(asSender, "/outbound/documents", 1);
      expect(single.rows.map(({ id }) => id)).toEqual(all.rows.map(({ id }) => id));
      const row = all.rows.find(({ id }) => id === last.sent);
      expect(row).toMatchObject({ kind: "invoice", status: "delivered", state: "delivered", business_status: null });
      const count = async (query: string) =>
        rowsOf(await asSender(`GET /outbound/documents?limit=500&${query}`)).length;
      expect(await count("status=delivered")).toBe(all.rows.filter(({ status }) => status === "delivered").length);
      for (const status of ["queued", "sending", "sent", "failed", "dead"])
        expect([status, await count(`status=${status}`)]).toEqual([status, 0]);
      expect(await count("business_status=AP")).toBe(0);
      expect(await count("kind=self_billing")).toBe(0);
      expect(await count(`recipient=${receiver.participantId}`)).toBe(all.rows.length);
      expect((await asSender(`GET /outbound/documents/${last.sent}`)).json).toEqual(row);
      expect((await asSender(`GET /outbound/documents/${last.sent}/ubl`)).text).toBe(last.xml);
      // Inside one process nothing is signed, so that there is no receipt.
      expect((await asSender(`GET /outbound/documents/${last.sent}/mdn`)).status).toBe(404);
      for (const rest of ["", "/ubl", "/mdn"])
        expect(await missing(asReceiver(`GET /outbound/documents/${last.sent}${rest}`))).toEqual(
          await missing(asReceiver(`GET /outbound/documents/${randomUUID()}${rest}`)),
        );
    });

    // shapes §6: "GET /outbound/events"
    test("GET /outbound/events: what happened to what was sent, oldest first, beginning with the acceptance; nothing of other firms", async () => {
      const { sent } = await exchanged();
      const all = await eventually("the horizon has passed", async () => {
        const { rows } = await pulled(asSender, "/outbound/events", 7);
        return rows.some(({ document_id: id, event }) => id === sent && event === "document.delivered")
          ? rows
          : undefined;
      });
      expect(all.filter(({ document_id: id }) => id === sent).map(({ event }) => event)).toEqual([
        "document.queued",
        "document.sent",
        "document.delivered",
      ]);
      const { rows } = await pulled(asReceiver, "/outbound/events", 500);
      expect(rows.filter(({ document_id: id }) => id === sent)).toEqual([]);
    });

    // rulings §1: "a cursor is opaque and authenticated; a forged, truncated or foreign one is 400"; reliability H-12
    test("400 naming since for a forged, truncated or foreign cursor, one of another list and what is no instant", async () => {
      await exchanged();
      const cursorOf = (ask: typeof asSender, path: string) =>
        eventually(
          "there is a cursor",
          async () => (await ask(`GET ${path}?limit=1`)).json["next_cursor"] as string | undefined,
        );
      const [inbound, outbound, events] = [
        await cursorOf(asReceiver, "/inbound/documents"),
        await cursorOf(asSender, "/outbound/documents"),
        await cursorOf(asSender, "/outbound/events"),
      ];
      const wrong = [
        ["/inbound/documents", `${inbound.slice(0, -2)}AA`],
        ["/inbound/documents", inbound.slice(0, -3)],
        ["/inbound/documents", outbound],
        ["/outbound/documents", events],
        ["/outbound/events", outbound],
        ["/outbound/documents", "1.1"],
        ["/outbound/documents", "2026-13-45T00:00:00Z"],
        // Read as the 3rd of March it would pass over two days of documents.
        ["/inbound/documents", "2026-02-31T00:00:00Z"],
        ["/outbound/documents", "2026-02-31T00:00:00Z"],
        ["/outbound/events", "2026-02-31T00:00:00Z"],
        ["/outbound/documents", "yesterday"],
        // As for every other instant of a query: the day ends at 23:59, and no zone is further away than 14 hours.
        ["/inbound/documents", "2026-11-29T24:00:00Z"],
        ["/outbound/events", "2026-11-29T00:00:00+15:00"],
      ] as const;
      for (const [path, since] of wrong) {
        const ask = path.startsWith("/inbound") ? asReceiver : asSender;
        const answer = await ask(`GET ${path}?since=${encodeURIComponent(since)}`);
        expect([path, since, ...faultOf(answer)]).toEqual([path, since, 400, "VALIDATION_ERROR"]);
        expect((answer.json["error"] as Row)["field"]).toBe("since");
      }
      expect(faultOf(await asSender(`GET /inbound/documents?since=${inbound}`))).toEqual([400, "VALIDATION_ERROR"]);
    });
  });

  // reliability H-12: "limit=0,-1,1e3,101,NaN,٣, repeats"
  test.each([
    ["/documents/outbox", 101],
    ["/documents/inbox", 101],
    ["/inbound/documents", 501],
    ["/outbound/documents", 501],
    ["/outbound/events", 501],
  ])("%s: 400 naming the member for a limit, offset, status or instant that is none", async (path, over) => {
    const wrong = [
      "limit=0",
      "limit=-1",
      "limit=1e3",
      `limit=${over}`,
      "limit=NaN",
      "limit=%D9%A3",
      "limit=1&limit=2",
      "limit=01",
      "limit=",
    ];
    const lists = path.startsWith("/documents") ? ["offset=-1", "offset=10001", "since=now", "status=SENT"] : [];
    for (const query of [...wrong, ...lists]) {
      const answer = await asReceiver(`GET ${path}?${query}`);
      expect([query, ...faultOf(answer)]).toEqual([query, 400, "VALIDATION_ERROR"]);
      expect((answer.json["error"] as Row)["field"]).toBe(query.split("=")[0]);
    }
  });

  // enterprise.md: "Receiving is forbidden for such a send-only firm"
  test("a firm that only sends has no inbox and nothing to pull", async () => {
    const client = await newClient(t);
    const key = await newFirmKey(t, client.firmId);
    await t.db.sql`update firm set sends_only = true where id = ${client.firmId}`;
    for (const line of [
      "GET /documents/inbox",
      `GET /documents/inbox/${randomUUID()}`,
      "GET /inbound/documents",
      `POST /inbound/documents/${randomUUID()}/ack`,
    ])
      expect([line, (await api(t, key.token, line)).status]).toEqual([line, 403]);
    expect((await api(t, key.token, "GET /outbound/documents")).status).toBe(200);
  });

  /** Each door through which a firm can say that it has processed a document. */
  const ACKNOWLEDGE: Readonly<Record<string, (id: string) => Promise<HttpAnswer>>> = {
    SAPI: (id) => sapi(t.sandbox, receiver, "POST", `/document/receive/${id}/acknowledge`),
    inbox: (id) => asReceiver(`POST /documents/inbox/${id}/acknowledge`),
    pull: (id) => asReceiver(`POST /inbound/documents/${id}/ack`),
  };
  /** Each door that tells whether and when a document was acknowledged. */
  const TOLD: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
    "the list of SAPI": async (id) => {
      const lists = await Promise.all(
        ["RECEIVED", "ACKNOWLEDGED"].map((status) =>
          sapi(t.sandbox, receiver, "GET", `/document/receive?limit=100&status=${status}`),
        ),
      );
      return lists.map((list) => rowsOf(list).some(({ documentId }) => documentId === id));
    },
    "acknowledging again at SAPI": async (id) => (await ACKNOWLEDGE["SAPI"]?.(id))?.json["acknowledgedDateTime"],
    "the inbox": async (id) =>
      rowsOf(await asReceiver("GET /documents/inbox?limit=100&status=acknowledged")).find(
        (row) => row["documentId"] === id,
      )?.["acknowledgedAt"],
    "one document of the inbox": async (id) =>
      ((await asReceiver(`GET /documents/inbox/${id}`)).json["document"] as Row)["acknowledgedAt"],
    "one document of the pull": async (id) =>
      (await asReceiver(`GET /inbound/documents/${id}`)).json["acknowledged_at"],
    "acknowledging again at the inbox": async (id) => (await ACKNOWLEDGE["inbox"]?.(id))?.json["acknowledgedAt"],
    "acknowledging again at the pull": async (id) => (await ACKNOWLEDGE["pull"]?.(id))?.json["acknowledged_at"],
  };
  test.each(Object.keys(ACKNOWLEDGE))(
    "a document acknowledged through %s is acknowledged at that one instant through every other interface",
    async (door) => {
      const { received } = await exchanged();
      expect((await ACKNOWLEDGE[door]?.(received))?.status).toBe(200);
      const [row] = await t.db.sql<
        { at: Date }[]
      >`select acknowledged_at as at from received_document where id = ${received}`;
      const at = row?.at.toISOString();
      for (const [name, told] of Object.entries(TOLD))
        expect([name, await told(received)]).toEqual([name, name === "the list of SAPI" ? [false, true] : at]);
    },
  );

  /** When a received document was first shown through an API. */
  const markedAt = async (id: string): Promise<number | null> => {
    const [row] = await t.db.sql<{ at: Date | null }[]>`
      select api_received_at as at from received_document where id = ${id}`;
    return row?.at?.getTime() ?? null;
  };
  /** Each way in which an API can hand a document over for the first time. */
  const FIRST: Readonly<Record<string, (id: string) => Promise<HttpAnswer>>> = {
    "the list of SAPI": () => sapi(t.sandbox, receiver, "GET", "/document/receive?limit=100"),
    "a document of SAPI": (id) => sapi(t.sandbox, receiver, "GET", `/document/receive/${id}`),
    "the inbox": () => asReceiver("GET /documents/inbox?limit=100&status=received"),
    "a document of the inbox": (id) => asReceiver(`GET /documents/inbox/${id}`),
    "its UBL": (id) => asReceiver(`GET /documents/${id}/ubl`),
    "the pull": () => asReceiver("GET /inbound/documents?limit=500"),
    "the documents of a firm": () => asPartner(`GET /firms/${t.sandbox.receiver.firmId}/documents?direction=inbound`),
    "the Box": () => asReceiver("GET /box/items?direction=inbound"),
    "an item of the Box": (id) => asReceiver(`GET /box/items/${id}`),
    "the Connector": () => asPartner(`GET /connector/documents?customerRef=${BUYER}&direction=inbound&limit=100`),
    "a document of the Connector": (id) => asPartner(`GET /connector/documents/${id}?customerRef=${BUYER}`),
    "a document of the pull": (id) => asReceiver(`GET /inbound/documents/${id}`),
    "an acknowledgement": (id) => asReceiver(`POST /inbound/documents/${id}/ack`),
  };
  // rulings §5: "a receipt through an API (list or detail, first time per document) counts as inbound"
  test.each(Object.keys(FIRST))(
    "the first receipt of a document through an API, here %s, is marked once and stays",
    async (door) => {
      const { received } = await exchanged();
      const marked = () => markedAt(received);
      expect(await marked()).toBeNull();
      // Lists behind the horizon show a document once every transaction older than its own has ended.
      const first = await eventually(`${door} has shown the document`, async () => {
        expect((await FIRST[door]?.(received))?.status).toBe(200);
        return (await marked()) ?? undefined;
      });
      for (const again of Object.values(FIRST)) await again(received);
      expect(await marked()).toBe(first);
    },
  );

  // D-172: "What is first in a list or shown through any API is marked before it is given"; HEAD is given nothing
  test("HEAD gives no document, and marks none", async () => {
    const { received } = await exchanged();
    const heads: readonly (readonly [string, string])[] = [
      ...[
        "/documents/inbox?limit=100",
        `/documents/inbox/${received}`,
        `/documents/${received}/ubl`,
        `/documents/${received}/html`,
        "/inbound/documents?limit=500",
        `/inbound/documents/${received}`,
        `/inbound/documents/${received}/ubl`,
        "/box/items?direction=inbound",
        `/box/items/${received}`,
      ].map((path) => [receiver.token, path] as const),
      ...[
        `/firms/${t.sandbox.receiver.firmId}/documents?direction=inbound`,
        `/connector/documents?customerRef=${BUYER}&direction=inbound&limit=100`,
        `/connector/documents/${received}?customerRef=${BUYER}`,
        `/connector/documents/${received}/ubl?customerRef=${BUYER}`,
      ].map((path) => [partner, path] as const),
    ];
    for (const [token, path] of heads) {
      const answer = await http("HEAD", `${t.sandbox.baseUrl}${path}`, { authorization: `Bearer ${token}` });
      expect([path, answer.status, answer.text]).toEqual([path, 200, ""]);
    }
    for (const path of ["/document/receive?limit=100", `/document/receive/${received}`])
      expect([path, (await sapi(t.sandbox, receiver, "HEAD", path)).status]).toEqual([path, 200]);
    expect(await markedAt(received)).toBeNull();
  });

  test("a page marks what it shows, and not the document behind it", async () => {
    const [first, second] = [await exchanged(), await exchanged()];
    const before = rowsOf(await asReceiver("GET /documents/inbox?limit=100&status=acknowledged")).length;
    expect(before).toBeGreaterThanOrEqual(0);
    await t.db
      .sql`update received_document set api_received_at = null, status = 'RECEIVED', acknowledged_at = null where id in (${first.received}, ${second.received})`;
    await t.db
      .sql`update received_document set status = 'ACKNOWLEDGED', acknowledged_at = now() where id not in (${first.received}, ${second.received}) and status = 'RECEIVED'`;
    for (const page of [
      () => sapi(t.sandbox, receiver, "GET", "/document/receive?limit=1"),
      () => asReceiver("GET /documents/inbox?limit=1&status=received"),
    ]) {
      await t.db
        .sql`update received_document set api_received_at = null where id in (${first.received}, ${second.received})`;
      expect(rowsOf(await page()).map(({ documentId }) => documentId)).toEqual([first.received]);
      const rows = await t.db.sql<{ id: string; at: Date | null }[]>`
        select id, api_received_at as at from received_document where id in (${first.received}, ${second.received})`;
      expect(rows.find(({ id }) => id === first.received)?.at).not.toBeNull();
      expect(rows.find(({ id }) => id === second.received)?.at).toBeNull();
    }
  });

  // rulings §5: "statusReason?"; shapes §9: "the same status words on every surface"
  test("a row of the outbox says why its document failed, as its status does", async () => {
    const { sent } = await exchanged();
    expect(rowsOf(await asSender("GET /documents/outbox?limit=1"))[0]).toMatchObject({ id: sent, statusReason: null });
    await t.db.sql`update document set status_reason = 'No receipt came.' where id = ${sent}`;
    expect(rowsOf(await asSender("GET /documents/outbox?limit=1"))[0]).toMatchObject({
      id: sent,
      statusReason: "No receipt came.",
    });
  });

  test("documents sent through SAPI are in the outbox and the pull of the firm, under the caller's own id", async () => {
    const parts = sendParts(
      sender.participantId,
      receiver.participantId,
      invoiceXml(sender.participantId, receiver.participantId),
    );
    const answer = await send(t.sandbox, sender, parts);
    expect(answer.status).toBe(202);
    const id = answer.json["providerDocumentId"];
    expect(rowsOf(await asSender("GET /documents/outbox?limit=1"))[0]).toMatchObject({
      id,
      externalId: parts.metadata["documentId"],
    });
  });
});
