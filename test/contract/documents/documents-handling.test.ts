/**
 * Answers, marks and support packets: spec/shapes.md §6 and spec/rulings.md §5, §11, §14, over HTTP, on both forms of the
 * server. Test names quote the rows.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { RESPONSE_CODES } from "../../../engine/lifecycle/response.js";
import { accessToken, invoiceXml, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { serverForms } from "../../support/engines/gateway.js";
import { api, faultOf } from "../../support/callers/partners.js";

type Row = Readonly<Record<string, unknown>>;
const errorOf = (answer: HttpAnswer): Row => answer.json["error"] as Row;
const INSTANT = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string;
const anonymous = async (call: Promise<HttpAnswer>): Promise<unknown> => {
  const answer = await call;
  return { status: answer.status, ...errorOf(answer), requestId: "" };
};

describe.each(serverForms)("handling documents over %s", (form) => {
  let t: TestEngine;
  let seller: string;
  let buyer: string;

  beforeAll(async () => {
    t = await startTestEngine({ form });
    seller = await accessToken(t.sandbox, t.sandbox.sender);
    buyer = await accessToken(t.sandbox, t.sandbox.receiver);
  });
  afterAll(() => t.stop());

  const asSeller = (line: string, body?: unknown) => api(t, seller, line, body === undefined ? {} : { body });
  const asBuyer = (line: string, body?: unknown) => api(t, buyer, line, body === undefined ? {} : { body });

  async function exchanged(): Promise<{ readonly sent: string; readonly received: string }> {
    const { sender, receiver } = t.sandbox;
    const xml = invoiceXml(sender.participantId, receiver.participantId);
    const answer = await asSeller("POST /documents/send", { receiverPeppolId: receiver.participantId, xml });
    if (answer.status !== 201) throw new Error(answer.text);
    const sent = String(answer.json["documentId"]);
    const received = await eventually("the document is received", async () => {
      const [row] = await t.db.sql<{ id: string }[]>`
        select r.id from received_document as r join document as d on d.sbdh_instance_id::text = r.sbdh_instance_id
        where d.id = ${sent} and r.status <> 'HELD' and d.status = 'delivered'`;
      return row?.id;
    });
    return { sent, received };
  }
  const transportOf = async (id: string): Promise<unknown> => {
    const { status, statusHistory, deliveredAt, as4MessageId } = (await asSeller(`GET /documents/${id}/status`)).json;
    return { status, statusHistory, deliveredAt, as4MessageId };
  };

  // shapes §6: "POST /documents/{id}/respond {status AB…PD, note?<=500}"; "/responses"
  test("POST /documents/{id}/respond {status AB…PD, note?} reaches the sender, and GET /documents/{id}/responses tells both", async () => {
    const { sent, received } = await exchanged();
    expect((await asSeller(`GET /documents/${sent}/responses`)).json).toEqual({ documentId: sent, responses: [] });
    const answer = await asBuyer(`POST /documents/${received}/respond`, { status: "UQ", note: "Which order is it?" });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.json).toEqual({
      documentId: received,
      status: "UQ",
      reason: "Which order is it?",
      delivery: "queued",
      respondedAt: INSTANT,
      idempotent: false,
    });
    const told = await eventually("the sender is told", async () => {
      const { json } = await asSeller(`GET /documents/${sent}/responses`);
      return (json["responses"] as Row[])[0];
    });
    expect(told).toEqual({
      id: expect.any(String) as string,
      direction: "received",
      status: "UQ",
      reason: expect.stringContaining("Which order is it?") as string,
      applied: expect.any(Boolean) as boolean,
      outcome: told["outcome"],
      delivery: null,
      respondedAt: INSTANT,
      // What the buyer said, in whole seconds as the response has them.
      issuedAt: `${String(answer.json["respondedAt"]).slice(0, 19)}.000Z`,
    });
    await eventually("it counts", async () => {
      const [row] = (await asSeller(`GET /documents/${sent}/responses`)).json["responses"] as Row[];
      return row?.["applied"] === true && row["outcome"] === "applied";
    });
    const own = (await asBuyer(`GET /documents/${received}/responses`)).json["responses"] as Row[];
    expect(own).toEqual([
      {
        id: expect.any(String) as string,
        direction: "sent",
        status: "UQ",
        reason: "Which order is it?",
        applied: true,
        outcome: null,
        delivery: expect.stringMatching(/^(sent|queued)$/) as string,
        respondedAt: answer.json["respondedAt"],
        issuedAt: `${String(answer.json["respondedAt"]).slice(0, 19)}.000Z`,
      },
    ]);
  });

  test("every code from AB to PD is taken; a repeat is idempotent and sends nothing", async () => {
    for (const status of RESPONSE_CODES) {
      const { received } = await exchanged();
      const first = await asBuyer(`POST /documents/${received}/respond`, { status });
      expect([status, first.status, first.json["status"]]).toEqual([status, 200, status]);
      const again = await asBuyer(`POST /documents/${received}/respond`, { status });
      expect(again.json).toMatchObject({ idempotent: true, respondedAt: first.json["respondedAt"] });
      expect(
        await t.db.sql`select 1 from service_message where about = ${received} and kind = 'invoice_response'`,
      ).toHaveLength(1);
    }
  });

  // rulings §14: "On Connector and Enterprise respond a forbidden step is 409 naming the state"
  test("409 RESPONSE_STATE naming the member and the state for a step that may not follow", async () => {
    const { received } = await exchanged();
    await asBuyer(`POST /documents/${received}/respond`, { status: "AP" });
    const answer = await asBuyer(`POST /documents/${received}/respond`, { status: "RE" });
    expect(faultOf(answer)).toEqual([409, "RESPONSE_STATE"]);
    expect(errorOf(answer)).toMatchObject({
      field: "status",
      details: [{ message: "The document is accepted already." }],
    });
  });

  // shapes §6: "note?<=500", "client_reference?<=256": programs write null for what they leave out
  test.each([
    ["respond", { status: "IP", note: null }, "reason"],
    ["mark", { state: "read", note: null }, "note"],
  ])("%s with %j is as without the member", async (operation, body, member) => {
    const { received } = await exchanged();
    const answer = await asBuyer(`POST /documents/${received}/${operation}`, body);
    expect([answer.status, answer.json[member]], answer.text).toEqual([200, null]);
  });
  test("an acknowledgement of the pull with client_reference null has none", async () => {
    const { received } = await exchanged();
    const answer = await asBuyer(`POST /inbound/documents/${received}/ack`, { client_reference: null });
    expect([answer.status, answer.json["client_reference"]], answer.text).toEqual([200, null]);
  });

  test.each([
    ["respond", { status: "accepted" }, "status"],
    ["respond", {}, "status"],
    ["respond", { status: "AP", note: "x".repeat(501) }, "note"],
    ["respond", { status: "AP", note: "a\u0001b" }, "note"],
    ["respond", { status: "AP", note: "\ufffe" }, "note"],
    ["mark", { state: "sent" }, "state"],
    ["mark", {}, "state"],
    ["mark", { state: "read", note: "x".repeat(501) }, "note"],
    ["mark", { state: "read", note: " " }, "note"],
  ])("400 naming the member for %s with %j", async (operation, body, field) => {
    const { received } = await exchanged();
    const answer = await asBuyer(`POST /documents/${received}/${operation}`, body);
    expect([...faultOf(answer), errorOf(answer)["field"]]).toEqual([400, "VALIDATION_ERROR", field]);
  });

  test("a foreign and an unknown document are the same 404 for every one of these operations", async () => {
    const { sent, received } = await exchanged();
    const calls = [
      ["POST", received, "respond", { status: "AP" }, asSeller],
      ["POST", sent, "respond", { status: "AP" }, asSeller],
      ["POST", received, "mark", { state: "read" }, asSeller],
      ["POST", sent, "mark", { state: "read" }, asBuyer],
      ["GET", sent, "responses", undefined, asBuyer],
      ["GET", received, "responses", undefined, asSeller],
      ["GET", sent, "support-packet", undefined, asBuyer],
      ["GET", received, "support-packet", undefined, asSeller],
    ] as const;
    for (const [method, id, operation, body, ask] of calls) {
      const found = await anonymous(ask(`${method} /documents/${id}/${operation}`, body));
      expect(found, `${method} ${operation}`).toMatchObject({ status: 404, code: "NOT_FOUND" });
      expect(found).toEqual(await anonymous(ask(`${method} /documents/${randomUUID()}/${operation}`, body)));
    }
  });

  // shapes §6: "POST /documents/{id}/mark {state delivered|processed|failed|read, note?}"
  test("POST /documents/{id}/mark {state delivered|processed|failed|read, note?}: noted, the first time stays, and the transport is as it was", async () => {
    const { sent } = await exchanged();
    const before = await transportOf(sent);
    for (const state of ["delivered", "failed", "read", "processed"]) {
      const first = await asSeller(`POST /documents/${sent}/mark`, { state });
      expect(first.json).toEqual({
        documentId: sent,
        state,
        note: null,
        markedAt: INSTANT,
        acknowledgedAt: state === "processed" ? INSTANT : null,
      });
      const noted = await asSeller(`POST /documents/${sent}/mark`, { state, note: "Viď poznámku." });
      expect(noted.json).toEqual({ ...first.json, note: "Viď poznámku." });
      expect((await asSeller(`POST /documents/${sent}/mark`, { state })).json).toEqual(noted.json);
    }
    expect(await transportOf(sent)).toEqual(before);
    const detail = (await asSeller(`GET /documents/${sent}`)).json;
    expect((detail["marks"] as Row[]).map(({ state }) => state)).toEqual(["delivered", "failed", "read", "processed"]);
    expect(detail["acknowledgedAt"]).toEqual(INSTANT);
    const { events } = (await asSeller(`GET /documents/${sent}/events`)).json as { readonly events: readonly Row[] };
    const marked = events.filter(({ eventType }) => eventType === "document.marked");
    expect(marked.map(({ actor, detail: words, meta }) => [actor, words, meta])).toEqual(
      ["delivered", "failed", "read", "processed"].map((mark) => ["api", null, { mark }]),
    );
    const pulled = (await asSeller(`GET /outbound/events?limit=500`)).json["events"] as readonly Row[];
    expect(pulled.filter(({ event }) => event === "document.marked")).toEqual([]);
  });

  test("marking a received document as processed acknowledges it; the other marks leave it in the inbox", async () => {
    const { received } = await exchanged();
    for (const state of ["read", "delivered", "failed"]) {
      const { json } = await asBuyer(`POST /documents/${received}/mark`, { state });
      expect([state, json["acknowledgedAt"]]).toEqual([state, null]);
    }
    expect((await asBuyer(`GET /inbound/documents/${received}`)).json).toMatchObject({ status: "received" });
    const { timeline } = (await asBuyer(`GET /documents/${received}/support-packet`)).json as {
      readonly timeline: readonly Row[];
    };
    expect(timeline.filter(({ eventType }) => eventType === "document.marked").map(({ code }) => code)).toEqual([
      "read",
      "delivered",
      "failed",
    ]);
    const { json } = await asBuyer(`POST /documents/${received}/mark`, { state: "processed" });
    expect((await asBuyer(`POST /documents/inbox/${received}/acknowledge`)).json["acknowledgedAt"]).toBe(
      json["acknowledgedAt"],
    );
  });

  test("a document acknowledged before keeps its instant when it is marked as processed", async () => {
    const { received } = await exchanged();
    const { json } = await asBuyer(`POST /inbound/documents/${received}/ack`, { client_reference: "ERP 1" });
    const marked = await asBuyer(`POST /documents/${received}/mark`, { state: "processed" });
    expect(marked.json["acknowledgedAt"]).toBe(json["acknowledged_at"]);
    expect((await asBuyer(`GET /inbound/documents/${received}`)).json["client_reference"]).toBe("ERP 1");
  });

  test("a thousand marks of one state at once are one row", async () => {
    const { received } = await exchanged();
    const answers = await Promise.all(
      Array.from({ length: 60 }, () => asBuyer(`POST /documents/${received}/mark`, { state: "processed" })),
    );
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(await t.db.sql`select 1 from document_mark where document_id = ${received}`).toHaveLength(1);
  });

  // rulings §11: "support packet: the evidence, the redacted timeline, attempts, validation report and versions, no payload"
  test("GET /documents/{id}/support-packet: evidence, redacted timeline, attempts, validation and versions, and nothing of the document", async () => {
    const { sent, received } = await exchanged();
    await asBuyer(`POST /documents/${received}/respond`, { status: "RE", note: "Tajná poznámka kupujúceho" });
    await eventually(
      "the sender knows",
      async () => (await asSeller(`GET /documents/${sent}/status`)).json["invoiceResponseStatus"] === "RE",
    );
    await asSeller(`POST /documents/${sent}/mark`, { state: "failed", note: "Tajná poznámka predávajúceho" });
    const packet = await asSeller(`GET /documents/${sent}/support-packet`);
    expect(packet.json).toMatchObject({
      documentId: sent,
      direction: "outbound",
      status: "delivered",
      generatedAt: INSTANT,
      validation: { errors: [] },
      evidence: { documentId: sent, state: "delivered" },
      attempts: [{ number: 1, startedAt: INSTANT, finishedAt: INSTANT }],
      marks: [{ state: "failed", markedAt: INSTANT }],
    });
    expect((packet.json["versions"] as Row)["ruleSets"]).not.toEqual([]);
    const kinds = (packet.json["timeline"] as Row[]).map(({ eventType }) => eventType);
    expect(kinds).toEqual(
      expect.arrayContaining(["document.queued", "document.sent", "document.delivered", "document.response_received"]),
    );
    expect(packet.json["timeline"]).toContainEqual({
      eventType: "document.marked",
      actor: "api",
      code: "failed",
      occurredAt: INSTANT,
    });
    for (const secret of ["Tajná", "Sender s. r. o.", "Receiver a. s.", "<"]) expect(packet.text).not.toContain(secret);
    await asBuyer(`POST /documents/inbox/${received}/acknowledge`);
    const theirs = await asBuyer(`GET /documents/${received}/support-packet`);
    expect(theirs.json).toMatchObject({ direction: "inbound", status: "acknowledged", attempts: [], validation: null });
    expect((theirs.json["timeline"] as Row[]).map(({ eventType }) => eventType)).toEqual([
      "document.received",
      "document.shown",
      "document.acknowledged",
    ]);
    for (const secret of ["Tajná", "Sender s. r. o.", "<"]) expect(theirs.text).not.toContain(secret);
  });
});
