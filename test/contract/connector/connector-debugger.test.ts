/**
 * Deliveries of the Connector's webhook, listed, read and replayed, as the specification writes them, on a whole engine
 * behind both forms of the server. Each test quotes the line it holds.
 * @source spec/enterprise.md, Connector; spec/rulings.md, section 11, Webhook; spec/shapes.md, section 7
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { deliveryAfter, memberOf } from "../../support/callers/connector-receiver.js";
import { serverForms } from "../../support/engines/gateway.js";
import { api, bindClient, faultOf, newClient, newPartner } from "../../support/callers/partners.js";
import { startReceiver, status } from "../../support/webhooks/receiver.js";
import type { Receiver } from "../../support/webhooks/receiver.js";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const LIST = "GET /connector/webhook/deliveries";
const fieldOf = (answer: HttpAnswer): unknown =>
  (answer.json["error"] as { readonly details?: readonly { readonly field?: string }[] }).details?.[0]?.field;

describe.each(serverForms)("the %s form", (form) => {
  let t: TestEngine;
  let receiver: Receiver;
  beforeAll(async () => {
    [t, receiver] = await Promise.all([startTestEngine({ form }), startReceiver()]);
  });
  afterAll(async () => {
    await t.stop();
    await receiver.close();
  });

  /** An account with two customers, whose webhook leads to a path of its own, which answers so. */
  async function account(answer = 200): Promise<{ readonly token: string; readonly path: string }> {
    const partner = await newPartner(t);
    const path = `/${randomUUID()}`;
    receiver.script(path, status(answer));
    for (const customerRef of ["K-1", "K-2"]) await bindClient(t, partner, await newClient(t), { customerRef });
    await api(t, partner.key.token, "PUT /connector/webhook", { body: { url: `${receiver.origin}${path}` } });
    return { token: partner.key.token, path };
  }
  /** Makes a test delivery and waits for its end. */
  async function delivered(token: string, body: object = {}): Promise<string> {
    const made = await api(t, token, "POST /connector/webhook/test", { body: { customerRef: "K-1", ...body } });
    const id = memberOf(made, "deliveryId");
    await deliveryAfter(t, token, id);
    return id;
  }
  const list = async (token: string, query = ""): Promise<Record<string, unknown>[]> =>
    (await api(t, token, `${LIST}${query}`)).json["deliveries"] as Record<string, unknown>[];
  const replay = (token: string, id: string, body?: unknown, key: string = randomUUID()): Promise<HttpAnswer> =>
    api(t, token, `POST /connector/webhook/deliveries/${id}/replay`, {
      ...(body === undefined ? {} : { body }),
      headers: key === "" ? {} : { "idempotency-key": key },
    });

  describe("GET /connector/webhook/deliveries", () => {
    test("a delivery in the list names its event, its firm, what became of it and why", async () => {
      const { token } = await account(404);
      const id = await delivered(token, { event: "document.received" });
      const answer = await api(t, token, LIST);
      expect([answer.status, answer.json]).toEqual([
        200,
        {
          deliveries: [
            {
              id,
              eventId: expect.stringMatching(UUID),
              type: "document.received",
              customerRef: "K-1",
              documentId: expect.stringMatching(UUID),
              status: "FAILED",
              test: true,
              scenario: "success",
              testSuiteId: expect.stringMatching(UUID),
              replayedFrom: null,
              attempts: 1,
              maxAttempts: 3,
              nextAttemptAt: null,
              lastAttemptAt: expect.stringMatching(INSTANT),
              completedAt: expect.stringMatching(INSTANT),
              responseStatus: 404,
              diagnosisCode: "RECEIVER_URL_NOT_FOUND",
              createdAt: expect.stringMatching(INSTANT),
            },
          ],
          nextCursor: null,
          hasMore: false,
        },
      ]);
    });

    // shapes.md §7: "the webhook's deliveries list takes cursor&limit&status&customerRef&type&test&from&to"
    test("the list is filtered by status, customerRef, type, test, from and to", async () => {
      const { token, path } = await account();
      const first = await delivered(token, { event: "document.failed" });
      receiver.script(path, status(422));
      const second = await delivered(token, { customerRef: "K-2" });
      const [newest, oldest] = await list(token);
      const between = encodeURIComponent(String(newest?.["createdAt"]));
      for (const [query, ids] of [
        ["", [second, first]],
        ["?status=SUCCESS", [first]],
        ["?status=FAILED", [second]],
        ["?status=PENDING", []],
        ["?customerRef=K-2", [second]],
        ["?customerRef=+K-2%C2%A0", [second]],
        ["?customerRef=K-3", []],
        ["?type=document.failed", [first]],
        ["?test=true", [second, first]],
        ["?test=false", []],
        [`?from=${between}`, [second]],
        [`?to=${between}`, [first]],
        [`?status=SUCCESS&customerRef=K-2`, []],
      ] as const)
        expect(
          (await list(token, query)).map(({ id }) => id),
          query,
        ).toEqual(ids);
      expect(oldest?.["id"]).toBe(first);
    });

    test("pages lead on by nextCursor, which is good for this list alone; wrong questions are refused by their field", async () => {
      const { token } = await account();
      const ids: string[] = [];
      for (let n = 0; n < 3; n += 1) ids.unshift(await delivered(token));
      const first = await api(t, token, `${LIST}?limit=2`);
      expect(first.json["hasMore"]).toBe(true);
      const cursor = memberOf(first, "nextCursor");
      const second = await api(t, token, `${LIST}?limit=2&cursor=${cursor}`);
      expect([second.json["hasMore"], second.json["nextCursor"]]).toEqual([false, null]);
      const pages = [first, second].flatMap((answer) => answer.json["deliveries"] as { readonly id: string }[]);
      expect(pages.map(({ id }) => id)).toEqual(ids);
      const other = await account();
      for (const [query, field] of [
        ["limit=0", "limit"],
        ["limit=101", "limit"],
        ["status=DONE", "status"],
        ["type=document.sent", "type"],
        ["test=maybe", "test"],
        ["from=yesterday", "from"],
        ["to=2027", "to"],
        ["cursor=forged", "cursor"],
        [`cursor=${cursor}`, "cursor"],
      ] as const) {
        const answer = await api(t, other.token, `${LIST}?${query}`);
        expect([answer.status, fieldOf(answer)], query).toEqual([400, field]);
      }
    });
  });

  describe("GET /connector/webhook/deliveries/{deliveryId}", () => {
    // enterprise.md: "delivery debug view: sent bodies, each attempt, cause, safe replay"
    test("a delivery and a suite of another account are as unknown as ones that never were", async () => {
      const [mine, theirs] = [await account(), await account()];
      const id = await delivered(mine.token);
      const suite = await api(t, mine.token, "POST /connector/webhook/test-suite", {
        body: { customerRef: "K-1", scenarios: ["success"] },
        headers: { "idempotency-key": "one" },
      });
      for (const [line, own] of [
        ["GET /connector/webhook/deliveries/{id}", id],
        ["POST /connector/webhook/deliveries/{id}/replay", id],
        ["GET /connector/webhook/test-suite/{id}", memberOf(suite, "id")],
      ] as const) {
        const ask = (named: string): Promise<HttpAnswer> =>
          api(t, theirs.token, line.replace("{id}", named), {
            headers: { "idempotency-key": "one", "x-request-id": "same" },
          });
        const [foreign, none] = [await ask(own), await ask(randomUUID())];
        expect([foreign.status, foreign.json], line).toEqual([404, none.json]);
      }
      expect(await list(theirs.token)).toEqual([]);
    });

    test("a webhook that is deleted takes its deliveries with it", async () => {
      const { token } = await account();
      const id = await delivered(token);
      await api(t, token, "DELETE /connector/webhook");
      await api(t, token, "PUT /connector/webhook", { body: { url: receiver.origin } });
      expect(faultOf(await api(t, token, `GET /connector/webhook/deliveries/${id}`))).toEqual([404, "NOT_FOUND"]);
      expect(await list(token)).toEqual([]);
    });
  });

  describe("POST /connector/webhook/deliveries/{deliveryId}/replay", () => {
    // rulings.md §11: "POST …/{id}/replay (Idempotency-Key; {confirmSuccessfulReplay})"
    test("a delivery that failed is sent again with its event id, without a body and without a question", async () => {
      const { token, path } = await account(422);
      const id = await delivered(token);
      receiver.script(path, status(200));
      const answer = await replay(token, id);
      expect([answer.status, answer.json]).toEqual([
        202,
        {
          deliveryId: expect.stringMatching(UUID),
          replayedFrom: id,
          eventId: expect.stringMatching(UUID),
          status: "queued",
          idempotent: false,
        },
      ]);
      const again = await deliveryAfter(t, token, memberOf(answer, "deliveryId"));
      expect(again.delivery).toMatchObject({ status: "SUCCESS", replayedFrom: id, eventId: answer.json["eventId"] });
      const [first, second] = receiver.at(path);
      expect(second?.headers["x-webhook-event-id"]).toBe(first?.headers["x-webhook-event-id"]);
      expect(second?.headers["x-webhook-id"]).toBe(answer.json["deliveryId"]);
      expect(second?.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true);
    });

    test("an event that was taken is sent again only with confirmSuccessfulReplay, whichever of its deliveries is named", async () => {
      const { token, path } = await account(422);
      const id = await delivered(token);
      receiver.script(path, status(200));
      await deliveryAfter(t, token, memberOf(await replay(token, id), "deliveryId"));
      const asked = await replay(token, id, {});
      expect([...faultOf(asked), fieldOf(asked)]).toEqual([
        409,
        "REPLAY_CONFIRMATION_REQUIRED",
        "confirmSuccessfulReplay",
      ]);
      expect(faultOf(await replay(token, id, { confirmSuccessfulReplay: false }))[0]).toBe(409);
      const confirmed = await replay(token, id, { confirmSuccessfulReplay: true });
      expect(confirmed.status).toBe(202);
      await deliveryAfter(t, token, memberOf(confirmed, "deliveryId"));
      expect(receiver.at(path)).toHaveLength(3);
    });

    test("the same request under the same key sends once; another one under it is 409 IDEMPOTENCY_CONFLICT", async () => {
      const { token, path } = await account(422);
      const [one, other] = [await delivered(token), await delivered(token)];
      const key = "k".repeat(255);
      const answers = await Promise.all([replay(token, one, {}, key), replay(token, one, {}, key)]);
      expect(new Set(answers.map(({ json }) => json["deliveryId"])).size).toBe(1);
      expect(answers.map(({ json }) => json["idempotent"]).sort()).toEqual([false, true]);
      const reused = await replay(token, other, {}, key);
      expect([...faultOf(reused), fieldOf(reused)]).toEqual([409, "IDEMPOTENCY_CONFLICT", "Idempotency-Key"]);
      await deliveryAfter(t, token, memberOf(answers[0] as HttpAnswer, "deliveryId"));
      expect(receiver.at(path)).toHaveLength(3);
      expect((await replay(token, one, {}, key)).json["idempotent"]).toBe(true);
      for (const bad of ["", "k".repeat(256)]) {
        const refused = await replay(token, one, {}, bad);
        expect([refused.status, fieldOf(refused)]).toEqual([400, "Idempotency-Key"]);
      }
    });

    test("while a delivery of the event is under way a replay is 409, and uses up no key", async () => {
      const { token, path } = await account(503);
      const made = await api(t, token, "POST /connector/webhook/test", { body: { customerRef: "K-1" } });
      const id = memberOf(made, "deliveryId");
      await deliveryAfter(t, token, id, 1);
      expect(faultOf(await replay(token, id, {}, "once"))).toEqual([409, "WEBHOOK_DELIVERY_PENDING"]);
      receiver.script(path, status(422));
      await deliveryAfter(t, token, id);
      const answers = await Promise.all([replay(token, id, {}, "once"), replay(token, id, {}, "twice")]);
      expect(answers.map((answer) => answer.status).sort()).toEqual([202, 409]);
    });
  });
});
