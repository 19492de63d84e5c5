/**
 * spec/enterprise.md, Connector, and spec/rulings.md §1, §2, §3 and §11, over HTTP, on both forms of the server.
 * Test names quote the rows.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { bindFirm } from "../../../engine/identity/firms.js";
import { createKey } from "../../../engine/identity/keys.js";
import { makeFirm, makeIntegrator } from "../../../engine/identity/registration.js";
import type { FirmId, IntegratorId, ParticipantId } from "../../../engine/base/ids.js";
import { RESPONSE_OF_STATUS, RESPONSE_STATUSES } from "../../../engine/lifecycle/response.js";
import { SCOPES } from "../../../engine/base/scopes.js";
import { accessToken, http, invoiceXml, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, Mailbox, TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { serverForms } from "../../support/engines/gateway.js";

const errorOf = (answer: HttpAnswer): Record<string, unknown> => answer.json["error"] as Record<string, unknown>;
const fault = (answer: HttpAnswer): unknown[] => [answer.status, errorOf(answer)["code"]];
const anonymous = (answer: HttpAnswer): unknown => ({ status: answer.status, ...errorOf(answer), requestId: "" });

describe.each(serverForms)("the Connector over %s", (form) => {
  let t: TestEngine;
  let sender: Mailbox;
  let receiver: Mailbox;
  let token: string;
  const SELLER = "demo-sender";
  const BUYER = "demo-receiver";

  beforeAll(async () => {
    t = await startTestEngine({ form });
    sender = { participantId: t.sandbox.sender.participantId, token: await accessToken(t.sandbox, t.sandbox.sender) };
    receiver = {
      participantId: t.sandbox.receiver.participantId,
      token: await accessToken(t.sandbox, t.sandbox.receiver),
    };
    token = await accessToken(t.sandbox, t.sandbox.integrator);
  });
  afterAll(() => t.stop());

  /** Sends an invoice from the demo sender; answers with its id there and its id in the receiver's inbox. */
  async function exchanged(): Promise<{ readonly sent: string; readonly received: string }> {
    const answer = await send(
      t.sandbox,
      sender,
      sendParts(sender.participantId, receiver.participantId, invoiceXml(sender.participantId, receiver.participantId)),
    );
    if (answer.status !== 202) throw new Error(answer.text);
    const sent = String(answer.json["providerDocumentId"]);
    const received = await eventually("the document is received", async () => {
      const [row] = await t.db.sql<
        { id: string }[]
      >`select r.id from received_document as r join document as d on d.sbdh_instance_id::text = r.sbdh_instance_id where d.id = ${sent} and r.status <> 'HELD'`;
      return row?.id;
    });
    return { sent, received };
  }
  const respond = (
    id: string,
    query: string,
    body: unknown = { status: "accepted" },
    headers: Record<string, string> = {},
  ): Promise<HttpAnswer> =>
    http(
      "POST",
      `${t.sandbox.baseUrl}/connector/documents/${id}/respond${query}`,
      { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
      JSON.stringify(body),
    );
  const as = (customerRef: string): string => `?customerRef=${encodeURIComponent(customerRef)}`;
  const responseOf = async (id: string): Promise<unknown> =>
    (await http("GET", `${t.sandbox.baseUrl}/documents/${id}/status`, { authorization: `Bearer ${sender.token}` }))
      .json["invoiceResponseStatus"];

  describe("POST /connector/documents/{documentId}/respond", () => {
    // rulings §11: respond {status,note?} → {id,customerRef,response{status,direction:"sent",delivery,respondedAt},idempotent}
    test("POST /connector/documents/{documentId}/respond: query customerRef; body {status}; sends the reply to the counterparty", async () => {
      const { sent, received } = await exchanged();
      const answer = await respond(received, as(BUYER), { status: "under_query", note: "Which order is it?" });
      expect(answer.status).toBe(200);
      expect(answer.json).toEqual({
        id: received,
        customerRef: BUYER,
        idempotent: false,
        response: {
          status: "under_query",
          direction: "sent",
          delivery: "queued",
          reason: "Which order is it?",
          respondedAt: expect.stringMatching(/^\d{4}-.*Z$/) as string,
        },
      });
      await eventually("the sender knows of it", async () => (await responseOf(sent)) === "UQ");
    });

    // enterprise.md: "status one of received, in_process, under_query, conditionally_accepted, rejected, accepted, paid"
    test("each status of the list reaches the sender as its code: received→AB, in_process→IP, under_query→UQ, conditionally_accepted→CA, rejected→RE, accepted→AP, paid→PD", async () => {
      for (const status of RESPONSE_STATUSES) {
        const { sent, received } = await exchanged();
        expect((await respond(received, as(BUYER), { status })).status).toBe(200);
        await eventually(`${status} arrives`, async () => (await responseOf(sent)) === RESPONSE_OF_STATUS[status]);
      }
    });

    test("a repeat → idempotent true, with the first one's respondedAt, and nothing is sent again; another status is a new answer", async () => {
      const { sent, received } = await exchanged();
      const first = await respond(received, as(BUYER));
      const again = await respond(received, as(BUYER));
      expect(again.json).toMatchObject({
        idempotent: true,
        response: { respondedAt: (first.json["response"] as { respondedAt: string }).respondedAt },
      });
      await eventually("the answer arrives", async () => (await responseOf(sent)) === "AP");
      expect((await respond(received, as(BUYER))).json).toMatchObject({
        idempotent: true,
        response: { delivery: "sent" },
      });
      expect(
        await t.db.sql`select 1 from service_message where about = ${received} and kind = 'invoice_response'`,
      ).toHaveLength(1);
      expect((await respond(received, as(BUYER), { status: "paid" })).json["idempotent"]).toBe(false);
      await eventually("the new answer arrives", async () => (await responseOf(sent)) === "PD");
    });

    // rulings §14: "RE and PD are final; AP may be followed by PD only … a forbidden step is 409 naming the state"
    test("409 RESPONSE_STATE naming the state and the member for a step that may not follow, and nothing is sent", async () => {
      for (const [first, forbidden] of [
        ["accepted", "rejected"],
        ["rejected", "paid"],
        ["paid", "accepted"],
        ["under_query", "received"],
      ] as const) {
        const { received } = await exchanged();
        expect((await respond(received, as(BUYER), { status: first })).status).toBe(200);
        const answer = await respond(received, as(BUYER), { status: forbidden });
        expect(fault(answer)).toEqual([409, "RESPONSE_STATE"]);
        expect(errorOf(answer)).toMatchObject({
          field: "status",
          details: [{ message: `The document is ${first} already.` }],
        });
        expect(
          await t.db.sql`select 1 from service_message where about = ${received} and kind = 'invoice_response'`,
        ).toHaveLength(1);
        // What was answered before is still answered.
        expect((await respond(received, as(BUYER), { status: first })).json["idempotent"]).toBe(true);
      }
    });

    test("a repeat of an answer that could not be delivered is sent again", async () => {
      const { received } = await exchanged();
      await respond(received, as(BUYER));
      await eventually(
        "the answer is sent",
        async () =>
          (await t.db.sql`select 1 from service_message where about = ${received} and status = 'delivered'`).length ===
          1,
      );
      await t.db
        .sql`update service_message set status = 'send_failed', next_attempt_at = null, delivered_at = null where about = ${received}`;
      expect((await respond(received, as(BUYER))).json["idempotent"]).toBe(false);
    });

    test("many at once are one answer", async () => {
      const { received } = await exchanged();
      const answers = await Promise.all(Array.from({ length: 5 }, () => respond(received, as(BUYER))));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
      expect(answers.filter(({ json }) => json["idempotent"] === false)).toHaveLength(1);
    });

    // rulings §1: "An id of another tenant answers exactly as an unknown id: 404, same body"
    test("404 with one body for an unknown document, one of another firm, an id of the wrong form and an unknown customerRef", async () => {
      const { sent, received } = await exchanged();
      const answers = [
        await respond(randomUUID(), as(BUYER)),
        await respond(received, as(SELLER)),
        await respond(sent, as(SELLER)),
        await respond("42", as(BUYER)),
        await respond(received, as("nobody")),
        await respond(received, as("x".repeat(2_000))),
      ];
      expect(fault(answers[0] as HttpAnswer)).toEqual([404, "NOT_FOUND"]);
      for (const answer of answers) expect(anonymous(answer)).toEqual(anonymous(answers[0] as HttpAnswer));
      // The answer that the owner has given tells nothing to others.
      await respond(received, as(BUYER));
      expect(anonymous(await respond(received, as(SELLER)))).toEqual(anonymous(answers[0] as HttpAnswer));
    });

    test("another integrator's customerRef is unknown, also when both use the same name", async () => {
      const { received } = await exchanged();
      const ports = { sql: t.db.sql, clock: systemClock, environment: "sandbox" as const };
      const other = await makeIntegrator(ports, { name: "Another" });
      const firm = await makeFirm(ports, { name: "Their firm", participantId: "0245:7600000001" as ParticipantId });
      if (typeof firm === "string") throw new Error(firm);
      const theirs = { authorization: `Bearer ${await accessToken(t.sandbox, other)}` };
      expect(fault(await respond(received, as(BUYER), undefined, theirs))).toEqual([404, "NOT_FOUND"]);
      await bindFirm(
        { sql: t.db.sql, clock: systemClock },
        {
          integratorId: other.integratorId,
          firmId: firm.firmId,
          customerRef: BUYER,
          scopes: SCOPES,
          interfaces: ["connector"],
        },
      );
      expect(fault(await respond(received, as(BUYER), undefined, theirs))).toEqual([404, "NOT_FOUND"]);
    });

    // enterprise.md: "status one of …"; rulings §3: field
    test("400 VALIDATION_ERROR naming status when it is missing or not of the list, and note when it is too long", async () => {
      const { received } = await exchanged();
      for (const body of [{}, { status: "ACCEPTED" }, { status: "AP" }, { status: 1 }, { status: null }]) {
        const answer = await respond(received, as(BUYER), body);
        expect([...fault(answer), errorOf(answer)["field"]]).toEqual([400, "VALIDATION_ERROR", "status"]);
      }
      expect(errorOf(await respond(received, as(BUYER), { status: "paid", note: "x".repeat(501) }))).toMatchObject({
        field: "note",
      });
    });

    test("a note of any characters that XML can hold arrives as a document that its rules accept", async () => {
      const { sent, received } = await exchanged();
      const rejected = (note: string) => respond(received, as(BUYER), { status: "rejected", note });
      for (const unsayable of ["\u0001", "\ufffe"]) expect((await rejected(unsayable)).status).toBe(400);
      expect((await rejected("<&\"'> čšž 😀")).status).toBe(200);
      await eventually("the sender knows of it", async () => (await responseOf(sent)) === "RE");
    });
  });

  describe("the credential: sk_int_* JWT; X-Firm-Id is never sent; the firm is selected by customerRef", () => {
    test("401 without a token, 403 for a firm's own key", async () => {
      expect(fault(await respond(randomUUID(), as(BUYER), undefined, { authorization: "Bearer x" }))).toEqual([
        401,
        "INVALID_TOKEN",
      ]);
      expect(
        fault(await respond(randomUUID(), as(BUYER), undefined, { authorization: `Bearer ${receiver.token}` })),
      ).toEqual([403, "PARTNER_NOT_AUTHORIZED"]);
    });

    // rulings §1: "X-Firm-Id on Connector … calls is 400 FIRM_CONTEXT_FORBIDDEN"
    test("X-Firm-Id is 400 FIRM_CONTEXT_FORBIDDEN, before anything is said of the customer", async () => {
      for (const customer of [BUYER, "nobody"]) {
        expect(
          fault(await respond(randomUUID(), as(customer), undefined, { "x-firm-id": t.sandbox.receiver.firmId })),
        ).toEqual([400, "FIRM_CONTEXT_FORBIDDEN"]);
      }
    });

    test("400 naming customerRef when it is missing, empty or sent twice", async () => {
      for (const query of [
        "",
        "?customerRef=",
        "?customerref=demo-receiver",
        `?customerRef=${BUYER}&customerRef=${BUYER}`,
      ]) {
        const answer = await respond(randomUUID(), query);
        expect([...fault(answer), errorOf(answer)["field"]]).toEqual([400, "VALIDATION_ERROR", "customerRef"]);
      }
      expect(fault(await respond(randomUUID(), "?customerRef=%00"))).toEqual([400, "VALIDATION_ERROR"]);
    });

    test("403 INSUFFICIENT_SCOPE without documents:write, in the token or in the firm's consent", async () => {
      const { received } = await exchanged();
      const narrow = await accessToken(t.sandbox, t.sandbox.integrator, "documents:read documents:send");
      const answer = await respond(received, as(BUYER), undefined, { authorization: `Bearer ${narrow}` });
      expect(fault(answer)).toEqual([403, "INSUFFICIENT_SCOPE"]);
      expect(errorOf(answer)["required_scope"]).toBe("documents:write");
      expect(answer.headers.get("www-authenticate")).toBe('Bearer error="insufficient_scope" scope="documents:write"');
    });

    test("403 when the firm's consent is pending or does not name the Connector, from the next request on; 404 for a key made for another firm", async () => {
      const ports = { sql: t.db.sql, clock: systemClock };
      const firm = await makeFirm(
        { sql: t.db.sql, clock: systemClock, environment: "sandbox" },
        { name: "Customer", participantId: "0245:7600000002" as ParticipantId },
      );
      if (typeof firm === "string") throw new Error(firm);
      const integratorId = t.sandbox.integrator.integratorId as IntegratorId;
      const consent = {
        integratorId,
        firmId: firm.firmId,
        customerRef: "Zákazník č. 7",
        scopes: SCOPES,
        interfaces: ["connector"],
      } as const;
      const ask = (more: Record<string, string> = {}): Promise<HttpAnswer> =>
        respond(randomUUID(), as("Zákazník č. 7"), undefined, more);
      await bindFirm(ports, { ...consent, interfaces: ["sapi", "enterprise"] });
      expect(fault(await ask())).toEqual([403, "FORBIDDEN"]);
      await bindFirm(ports, { ...consent, state: "pending" });
      expect(fault(await ask())).toEqual([403, "FORBIDDEN"]);
      await bindFirm(ports, { ...consent, scopes: ["documents:read"] });
      expect(fault(await ask())).toEqual([403, "INSUFFICIENT_SCOPE"]);
      await bindFirm(ports, consent);
      expect(fault(await ask())).toEqual([404, "NOT_FOUND"]);
      const scoped = await createKey(
        { ...ports, environment: "sandbox" },
        { owner: { integratorId, scopedFirmId: t.sandbox.receiver.firmId as FirmId }, scopes: ["documents:write"] },
      );
      if (typeof scoped === "string") throw new Error(scoped);
      const bearer = {
        authorization: `Bearer ${await accessToken(t.sandbox, { clientId: scoped.id, clientSecret: scoped.secret })}`,
      };
      expect(anonymous(await ask(bearer))).toEqual(anonymous(await ask()));
      const { received } = await exchanged();
      expect((await respond(received, as(BUYER), undefined, bearer)).status).toBe(200);
    });
  });
});
