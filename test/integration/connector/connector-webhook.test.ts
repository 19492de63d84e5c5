// Goal: what happens to the documents of an account's firms reaches its webhook in the Connector's words, signed, and
// whatever its receiver answers is told with every attempt; the scenarios of a test judge a receiver rightly.
// Method: a whole engine, a receiver on this machine that answers as scripted; waits between attempts are ended by hand.
import { createHash, randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { startTestEngine, accessToken } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { deliveryAfter, isGenuine, memberOf, passTime } from "../../support/callers/connector-receiver.js";
import type { ShownDelivery } from "../../support/callers/connector-receiver.js";
import { eventually } from "../../support/eventually.js";
import { api, bindClient, faultOf, newClient, newPartner, withdraw } from "../../support/callers/partners.js";
import type { Client, Partner } from "../../support/callers/partners.js";
import { startReceiver, status } from "../../support/webhooks/receiver.js";
import type { Answer, ReceivedCall, Receiver } from "../../support/webhooks/receiver.js";
import { openTransaction } from "../../support/database/transactions.js";

let t: TestEngine;
let receiver: Receiver;
beforeAll(async () => {
  t = await startTestEngine();
});
afterAll(() => t.stop());
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

interface Account {
  readonly partner: Partner;
  readonly client: Client;
  readonly token: string;
  readonly secret: string;
}

const PATH = "/in";
const put = (token: string, body: object = {}): Promise<HttpAnswer> =>
  api(t, token, "PUT /connector/webhook", { body: { url: `${receiver.origin}${PATH}`, ...body } });

/** An account with a customer and a webhook that leads to the receiver. */
async function account(body: object = {}): Promise<Account> {
  const [partner, client] = [await newPartner(t), await newClient(t)];
  await bindClient(t, partner, client, { customerRef: "K-1" });
  const made = await put(partner.key.token, body);
  return { partner, client, token: partner.key.token, secret: memberOf(made, "secret") };
}

const testDelivery = async ({ token }: Account, body: object = {}): Promise<string> =>
  memberOf(
    await api(t, token, "POST /connector/webhook/test", { body: { customerRef: "K-1", ...body } }),
    "deliveryId",
  );

/** An event of a document that does not exist, as it would be written for one that does. @returns its id */
async function happen(firmId: FirmId, kind = "document.delivered", documentId: string = randomUUID()): Promise<string> {
  const id = randomUUID();
  await t.db.sql`
    insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
    values (${id}, ${documentId}, ${firmId}, ${kind}, 'system', true, now())`;
  return id;
}

const arrived = (): string[] => receiver.at(PATH).map(({ headers }) => headers["x-webhook-event-id"] ?? "");
const hexOf = (octets: Uint8Array): string => createHash("sha256").update(octets).digest("hex");

/** Creates an invoice of the demo sender to the demo receiver, whose words must be in no event. */
const create = (token: string, number: string, body: object = {}): Promise<HttpAnswer> =>
  api(t, token, "POST /connector/documents", {
    body: {
      customerRef: "demo-sender",
      externalId: randomUUID(),
      number,
      buyerReference: "4100",
      dueDate: "2027-12-31",
      recipient: {
        country: "SK",
        name: "Hidden Buyer",
        taxId: t.sandbox.receiver.participantId.replace(/^0245:/, ""),
      },
      lines: [{ description: "Hidden bread", quantity: 3, unitPrice: "23.90", vatRate: 23 }],
      ...body,
    },
  });
/** What has arrived about the document with this number, each event once, in the order in which they came first. */
const toldOf = (number: string): ReceivedCall[] => {
  const about = receiver.at(PATH).filter(({ json }) => json.data["number"] === number);
  return about.filter(({ json }, at) => about.findIndex((other) => other.json["id"] === json["id"]) === at);
};

describe("what is pushed", () => {
  // rulings.md §11: "the push body is the event itself, no envelope"; enterprise.md: "recovers document events only"
  test("what happens to a document, from its making to its import and its end, is pushed as the very events that polling shows", async () => {
    const token = await accessToken(t.sandbox, t.sandbox.integrator);
    const secret = memberOf(await put(token), "secret");
    const number = `W-${randomUUID().slice(0, 8)}`;
    const created = await create(token, number);
    expect([created.status, created.text]).toEqual([201, created.text]);
    const received = await eventually("it is received", () =>
      toldOf(number).find(({ json }) => json["type"] === "document.received"),
    );
    const path = `/connector/documents/${String(received.json["documentId"])}`;
    const answer = { status: "under_query", note: "Which order is it?" };
    await api(t, token, `POST ${path}/respond?customerRef=demo-receiver`, { body: answer });
    for (const reference of ["ERP-1", "ERP-2"])
      await api(t, token, `POST ${path}/acknowledge?customerRef=demo-receiver`, { body: { reference } });
    const sent = memberOf(created, "id");
    const shown = `GET /connector/documents/${sent}?customerRef=demo-sender`;
    await eventually("the answer arrives", async () => (await api(t, token, shown)).json["response"] !== null);
    await happen(t.sandbox.sender.firmId as FirmId, "document.rejected", sent);
    const calls = await eventually("five events arrive", () => {
      const own = toldOf(number);
      return own.length === 5 ? own : undefined;
    });
    const polled = await Promise.all(
      ["demo-sender", "demo-receiver"].map(async (customerRef) => {
        const page = await api(t, token, `GET /connector/events?customerRef=${customerRef}&limit=100`);
        return page.json["events"] as { readonly id: string; readonly type: string; readonly data: object }[];
      }),
    );
    const told = polled.flat().filter(({ data }) => "number" in data && data.number === number);
    const byId = (left: { id?: unknown }, right: { id?: unknown }) => (String(left.id) < String(right.id) ? -1 : 1);
    expect(calls.map(({ json }) => json as Record<string, unknown>).sort(byId)).toEqual(told.sort(byId));
    expect(calls.map(({ json }) => json["type"]).sort()).toEqual([
      "document.delivered",
      "document.failed",
      "document.processed",
      "document.queued",
      "document.received",
    ]);
    // rulings.md §11: "data{direction,type,number,response}": what had been answered when it happened.
    expect(
      Object.fromEntries(calls.map(({ json }) => [json["type"], (json.data["response"] as object | null) ?? null])),
    ).toEqual({
      "document.queued": null,
      "document.delivered": null,
      "document.received": null,
      "document.processed": expect.objectContaining({ status: answer.status, direction: "sent", reason: answer.note }),
      "document.failed": expect.objectContaining({ status: answer.status, direction: "received", reason: answer.note }),
    });
    for (const call of calls) {
      expect(call.headers["x-webhook-event-id"]).toBe(call.json["id"]);
      expect(isGenuine(call, secret)).toBe(true);
      expect(isGenuine(call, `${secret}x`)).toBe(false);
      expect(call.body.toString("utf8")).not.toContain("Hidden");
    }
    await api(t, token, "DELETE /connector/webhook");
  });

  test("a document that is staged and cancelled is pushed as queued, then as cancelled", async () => {
    const token = await accessToken(t.sandbox, t.sandbox.integrator);
    await put(token);
    const number = `S-${randomUUID().slice(0, 8)}`;
    const staged = await create(token, number, { delivery: "stage" });
    const path = `/connector/documents/${memberOf(staged, "id")}/cancel?customerRef=demo-sender`;
    expect((await api(t, token, `POST ${path}`)).status).toBe(200);
    await eventually("both events arrive", () => toldOf(number).length === 2);
    expect(toldOf(number).map(({ json }) => [json["type"], json["state"]])).toEqual([
      ["document.queued", "queued"],
      ["document.cancelled", "cancelled"],
    ]);
    await api(t, token, "DELETE /connector/webhook");
  });

  test("the first event of a document arrives before its next one is sent, however the first is answered", async () => {
    const own = await account();
    const documentId = randomUUID();
    const ids = [
      await happen(own.client.firmId, "document.delivered", documentId),
      await happen(own.client.firmId, "document.rejected", documentId),
    ];
    receiver.script(PATH, (response, call, nth) => {
      status(nth === 1 ? 503 : 200)(response, call, nth);
    });
    await eventually("both have arrived", async () => {
      await passTime(t);
      return arrived().length === 3;
    });
    expect(arrived()).toEqual([ids[0], ...ids]);
    expect(receiver.at(PATH).map(({ json }) => json["type"])).toEqual([
      "document.delivered",
      "document.delivered",
      "document.failed",
    ]);
  });

  test("what had happened before the webhook is not told, and what commits later is, though it began before", async () => {
    const [partner, client] = [await newPartner(t), await newClient(t)];
    await bindClient(t, partner, client, { customerRef: "K-1" });
    const early = await happen(client.firmId);
    const open = await openTransaction(t.db.url);
    const late = randomUUID();
    await open.run(
      `insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
       values ('${late}', '${randomUUID()}', '${client.firmId}', 'document.delivered', 'system', true, now())`,
    );
    expect((await put(partner.key.token)).status).toBe(201);
    const after = await happen(client.firmId);
    await open.commit();
    await eventually("both events arrive", () => arrived().length >= 2);
    expect(arrived().sort()).toEqual([late, after].sort());
    expect(arrived()).not.toContain(early);
  });

  test("types that were not named, firms without a name or a consent, and other accounts' firms are not told", async () => {
    const own = await account({ events: ["document.failed"] });
    const [nameless, unasked, foreign] = [await newClient(t), await newClient(t), await newClient(t)];
    await bindClient(t, own.partner, nameless);
    await bindClient(t, own.partner, unasked, { customerRef: "K-2", scopes: ["documents:read"] });
    for (const { firmId } of [nameless, unasked, foreign]) await happen(firmId, "document.rejected");
    await happen(own.client.firmId, "document.delivered");
    const told = await happen(own.client.firmId, "document.rejected");
    await eventually("the event arrives", () => arrived().length > 0);
    expect(arrived()).toEqual([told]);
  });

  test("a webhook that is switched on again is told of nothing that happened while it was off", async () => {
    const own = await account();
    await put(own.token, { active: false });
    await happen(own.client.firmId);
    await put(own.token);
    const told = await happen(own.client.firmId);
    await eventually("the event arrives", () => arrived().length > 0);
    expect(arrived()).toEqual([told]);
  });
});

describe("what the debugger shows", () => {
  test("a delivery shows the exact text that was sent, its digest, and each attempt with what came back", async () => {
    const own = await account();
    const words = "x".repeat(LIMITS.webhook_answer_chars_kept + 1);
    receiver.script(PATH, (response, call, nth) => {
      const answer: Answer =
        nth === 1
          ? status(503, { "retry-after": "7", "content-type": "text/plain" }, "later\0")
          : status(200, {}, words);
      answer(response, call, nth);
    });
    const documentId = randomUUID();
    const eventId = await happen(own.client.firmId, "document.delivered", documentId);
    const listed = await eventually("the delivery is there", async () => {
      const { json } = await api(t, own.token, "GET /connector/webhook/deliveries");
      return (json["deliveries"] as { readonly id: string }[])[0];
    });
    const waiting = await deliveryAfter(t, own.token, listed.id, 1);
    expect(waiting.delivery).toMatchObject({ status: "RETRYING", diagnosisCode: "RECEIVER_UNAVAILABLE", attempts: 1 });
    const over = await deliveryAfter(t, own.token, listed.id);
    const [first, second] = receiver.at(PATH) as [ReceivedCall, ReceivedCall];
    const digest = hexOf(first.body);
    expect(over).toMatchObject({
      delivery: {
        id: listed.id,
        eventId,
        type: "document.delivered",
        customerRef: "K-1",
        documentId,
        status: "SUCCESS",
        test: false,
        scenario: null,
        replayedFrom: null,
        attempts: 2,
        maxAttempts: LIMITS.webhook_attempts_max,
        nextAttemptAt: null,
        responseStatus: 200,
        diagnosisCode: null,
      },
      payload: first.json,
      rawBody: first.body.toString("utf8"),
      rawBodySha256: digest,
      attemptHistoryComplete: true,
      endpoint: `${receiver.origin}${PATH}`,
      signature: {
        algorithm: "HMAC-SHA256",
        signedValue: `${second.headers["x-webhook-timestamp"] ?? ""}.${second.body.toString("utf8")}`,
        signaturePersisted: false,
      },
    });
    expect(over.attempts).toEqual([
      {
        id: expect.any(String),
        number: 1,
        outcome: "RETRY_SCHEDULED",
        startedAt: expect.any(String),
        completedAt: expect.any(String),
        durationMs: expect.any(Number),
        endpoint: `${receiver.origin}${PATH}`,
        requestTimestamp: Number(first.headers["x-webhook-timestamp"]),
        requestBodySha256: digest,
        responseStatus: 503,
        responseContentType: "text/plain",
        responseBody: "later\u{fffd}",
        responseBodySha256: hexOf(Buffer.from("later\0")),
        responseBodyTruncated: false,
        retryable: true,
        retryAfterMs: 7_000,
        nextRetryAt: expect.any(String),
        diagnosisCode: "RECEIVER_UNAVAILABLE",
        errorMessage: expect.stringContaining("503"),
      },
      expect.objectContaining({
        number: 2,
        outcome: "SUCCESS",
        requestBodySha256: digest,
        responseStatus: 200,
        responseBody: words.slice(1),
        responseBodySha256: hexOf(Buffer.from(words)),
        responseBodyTruncated: true,
        retryable: false,
        retryAfterMs: null,
        nextRetryAt: null,
        diagnosisCode: null,
        errorMessage: null,
      }),
    ]);
    const [{ nextRetryAt, completedAt } = {}] = over.attempts;
    expect(Date.parse(String(nextRetryAt)) - Date.parse(String(completedAt))).toBe(7_000);
  });

  // rulings.md §11, Diagnosis; enterprise.md: "Use 503 for a temporary failure. The Connector treats a 500 response as terminal"
  test.each([
    [401, "FAILED", "RECEIVER_AUTH_REJECTED"],
    [403, "FAILED", "RECEIVER_AUTH_REJECTED"],
    [404, "FAILED", "RECEIVER_URL_NOT_FOUND"],
    [302, "FAILED", "RECEIVER_URL_NOT_FOUND"],
    [400, "FAILED", "RECEIVER_PAYLOAD_REJECTED"],
    [422, "FAILED", "RECEIVER_PAYLOAD_REJECTED"],
    [500, "FAILED", "RECEIVER_UNAVAILABLE"],
    [408, "RETRYING", "RECEIVER_TIMEOUT"],
    [429, "RETRYING", "RECEIVER_RATE_LIMITED"],
    [502, "RETRYING", "RECEIVER_UNAVAILABLE"],
    [503, "RETRYING", "RECEIVER_UNAVAILABLE"],
    [504, "RETRYING", "RECEIVER_UNAVAILABLE"],
  ])("after %i the delivery is %s, diagnosed %s, and no redirect is followed", async (code, state, diagnosisCode) => {
    const own = await account();
    receiver.script(PATH, status(code, { location: `${receiver.origin}/elsewhere` }));
    const shown = await deliveryAfter(t, own.token, await testDelivery(own), 1);
    expect(shown.delivery).toMatchObject({ status: state, diagnosisCode, responseStatus: code, test: true });
    expect(shown.attempts).toMatchObject([
      { outcome: state === "FAILED" ? "TERMINAL_FAILURE" : "RETRY_SCHEDULED", diagnosisCode, responseStatus: code },
    ]);
    expect(receiver.at("/elsewhere")).toEqual([]);
  });

  test("a receiver that breaks the connection, and one that is not there, are RECEIVER_NETWORK_ERROR", async () => {
    const own = await account();
    receiver.script(PATH, (response) => {
      response.socket?.destroy();
    });
    const broken = await deliveryAfter(t, own.token, await testDelivery(own), 1);
    await api(t, own.token, "PUT /connector/webhook", { body: { url: "http://127.0.0.1:9/" } });
    const absent = await deliveryAfter(t, own.token, await testDelivery(own), 1);
    for (const { delivery, attempts } of [broken, absent]) {
      expect(delivery).toMatchObject({ status: "RETRYING", diagnosisCode: "RECEIVER_NETWORK_ERROR" });
      expect(attempts).toMatchObject([{ responseStatus: null, responseBody: null, retryable: true }]);
    }
  });

  test("when there were enough attempts the delivery is RETRIES_EXHAUSTED, its last attempt says what it met", async () => {
    const own = await account();
    receiver.script(PATH, status(503));
    const shown = await deliveryAfter(t, own.token, await testDelivery(own));
    expect(shown.delivery).toMatchObject({
      status: "FAILED",
      diagnosisCode: "RETRIES_EXHAUSTED",
      attempts: LIMITS.connector_test_attempts_max,
    });
    expect(shown.attempts.at(-1)).toMatchObject({
      outcome: "TERMINAL_FAILURE",
      diagnosisCode: "RECEIVER_UNAVAILABLE",
      retryable: true,
      nextRetryAt: null,
    });
  });

  test("a consent that ends before an event is sent cancels it, and nothing of the firm is told or shown", async () => {
    const own = await account();
    receiver.script(PATH, status(503));
    const id = await testDelivery(own);
    await deliveryAfter(t, own.token, id, 1);
    await withdraw(t, own.partner, own.client);
    const over = await deliveryAfter(t, own.token, id);
    expect(receiver.at(PATH)).toHaveLength(1);
    expect(over).toMatchObject({
      delivery: { status: "FAILED", diagnosisCode: "AUTHORIZATION_CHANGED" },
      payload: null,
      rawBody: null,
      attempts: [
        { number: 1, outcome: "RETRY_SCHEDULED" },
        { number: 2, outcome: "AUTHORIZATION_CANCELLED", requestBodySha256: null, requestTimestamp: null },
      ],
    });
    expect(over.rawBodySha256).toBeNull();
  });

  test("410 switches the webhook off: what still waited has ended, and is told as ENDPOINT_BLOCKED", async () => {
    const own = await account();
    receiver.script(PATH, status(410));
    const documentId = randomUUID();
    for (const kind of ["document.delivered", "document.rejected"]) await happen(own.client.firmId, kind, documentId);
    const shown = await eventually("both have ended", async () => {
      const { json } = await api(t, own.token, "GET /connector/webhook/deliveries");
      const all = json["deliveries"] as ShownDelivery["delivery"][];
      return all.length === 2 && all.every((one) => one["status"] === "FAILED") ? all : undefined;
    });
    expect(shown.map((one) => one["diagnosisCode"])).toEqual(["ENDPOINT_BLOCKED", "RECEIVER_URL_NOT_FOUND"]);
    expect(receiver.at(PATH)).toHaveLength(1);
    const { json } = await api(t, own.token, "GET /connector/webhook");
    expect(json["webhook"]).toMatchObject({ active: false, failedAttempts: 1 });
    const replay = await api(t, own.token, `POST /connector/webhook/deliveries/${String(shown[0]?.["id"])}/replay`, {
      headers: { "idempotency-key": randomUUID() },
    });
    expect(faultOf(replay)).toEqual([409, "WEBHOOK_INACTIVE"]);
  });
});

describe("tests of a receiver", () => {
  /** A receiver that does what the documentation asks of each scenario. */
  const obedient =
    (secret: string): Answer =>
    (response, call, nth) => {
      const [scenario, attempt] = [call.headers["x-webhook-test-scenario"], call.headers["x-webhook-attempt"]];
      const asked: Readonly<Record<string, number | "silence">> = {
        retry_503: 503,
        rate_limit_429: 429,
        timeout: "silence",
      };
      const first = attempt === "1" ? asked[scenario ?? ""] : undefined;
      if (!isGenuine(call, secret)) status(401)(response, call, nth);
      else if (scenario === "terminal_422") status(422)(response, call, nth);
      else if (first === undefined) status(204)(response, call, nth);
      else if (first !== "silence") status(first, { "retry-after": "1" })(response, call, nth);
    };
  const EVERY = ["success", "deduplication", "retry_503", "rate_limit_429", "terminal_422", "timeout", "signature"];

  async function suiteOf(own: Account, scenarios: readonly string[]) {
    const started = await api(t, own.token, "POST /connector/webhook/test-suite", {
      body: { customerRef: "K-1", scenarios },
      headers: { "idempotency-key": randomUUID() },
    });
    const id = memberOf(started, "id");
    await eventually("the suite is over", async () => {
      await passTime(t);
      const [row] = await t.db.sql`
        select bool_and(settled_at is not null) as over from webhook_delivery where test_run_id = ${id}`;
      return row?.["over"] === true;
    });
    const { json } = await api(t, own.token, `GET /connector/webhook/test-suite/${id}`);
    return json as { readonly scenarios: readonly Record<string, unknown>[] } & Record<string, unknown>;
  }

  // rulings.md §11: "scenarios success, deduplication, retry_503, rate_limit_429, terminal_422, timeout, signature"
  test("a receiver that does what each of the seven scenarios asks has passed the suite", async () => {
    const own = await account();
    receiver.script(PATH, obedient(own.secret));
    const suite = await suiteOf(own, EVERY);
    expect(suite.scenarios.map(({ scenario, status: verdict, observed }) => [scenario, verdict, observed])).toEqual([
      ["success", "passed", ["204"]],
      ["deduplication", "passed", ["204", "204"]],
      ["retry_503", "passed", ["503", "204"]],
      ["rate_limit_429", "passed", ["429", "204"]],
      ["terminal_422", "passed", ["422"]],
      ["timeout", "passed", ["timeout", "204"]],
      ["signature", "passed", ["401"]],
    ]);
    expect(suite).toMatchObject({ status: "passed", completedAt: expect.any(String) });
    const calls = receiver.at(PATH);
    const of = (scenario: string) => calls.filter(({ headers }) => headers["x-webhook-test-scenario"] === scenario);
    expect(new Set(of("deduplication").map(({ headers }) => headers["x-webhook-event-id"])).size).toBe(1);
    for (const call of calls) {
      expect(call.json).toMatchObject({ test: true, customerRef: "K-1", data: { number: "TEST-1" } });
      expect(call.headers["x-webhook-max-attempts"]).toBe(String(LIMITS.connector_test_attempts_max));
    }
  });

  test("a receiver that takes everything fails what it was to refuse, and is told what to do", async () => {
    const own = await account();
    const suite = await suiteOf(own, ["success", "retry_503", "terminal_422", "signature"]);
    expect(suite["status"]).toBe("failed");
    expect(suite.scenarios.map(({ status: verdict, observed }) => [verdict, observed])).toEqual([
      ["passed", ["200"]],
      ["failed", ["200"]],
      ["failed", ["200"]],
      ["failed", ["200"]],
    ]);
    expect(suite.scenarios.map(({ nextAction }) => typeof nextAction)).toEqual([
      "object",
      "string",
      "string",
      "string",
    ]);
  });
});
