/**
 * The Connector's webhook and its tests as the specification writes them, on a whole engine behind both forms of the
 * server. Each test quotes the line it holds.
 * @source spec/enterprise.md, Connector; spec/rulings.md, section 11, Webhook; spec/shapes.md, section 7
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { serverForms } from "../../support/engines/gateway.js";
import { api, bindClient, faultOf, newClient, newFirmKey, newKey, newPartner } from "../../support/callers/partners.js";
import type { Partner } from "../../support/callers/partners.js";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const TYPES = ["queued", "delivered", "received", "processed", "needs_attention", "cancelled", "failed"].map(
  (state) => `document.${state}`,
);
/** Nobody listens there. */
const URL = "http://127.0.0.1:9/hook";

const fieldOf = (answer: HttpAnswer): unknown =>
  (answer.json["error"] as { readonly details?: readonly { readonly field?: string }[] }).details?.[0]?.field;
const webhookOf = (answer: HttpAnswer) => answer.json["webhook"] as Record<string, unknown>;

describe.each(serverForms)("the %s form", (form) => {
  let t: TestEngine;
  beforeAll(async () => {
    t = await startTestEngine({ form });
  });
  afterAll(() => t.stop());

  const put = (token: string, body: unknown = { url: URL }): Promise<HttpAnswer> =>
    api(t, token, "PUT /connector/webhook", { body });
  /** A partner with a customer and a webhook. */
  async function account(): Promise<{ readonly partner: Partner; readonly token: string }> {
    const partner = await newPartner(t);
    await bindClient(t, partner, await newClient(t), { customerRef: "K-1" });
    expect((await put(partner.key.token)).status).toBe(201);
    return { partner, token: partner.key.token };
  }

  describe("GET/PUT/DELETE /connector/webhook", () => {
    // rulings.md §11: "→ {webhook{id,url,events,active,failedAttempts,createdAt,updatedAt}|null, secret? (64 hex, on creation only)}"
    test("PUT makes the webhook and shows its secret this once, and no other answer, row or log line has it", async () => {
      const { token } = (await newPartner(t)).key;
      expect((await api(t, token, "GET /connector/webhook")).json).toEqual({ webhook: null });
      const made = await put(token);
      expect(made.status).toBe(201);
      expect(made.headers.get("cache-control")).toBe("no-store");
      const secret = String(made.json["secret"]);
      expect(made.json).toEqual({
        webhook: {
          id: expect.stringMatching(UUID),
          url: URL,
          events: TYPES,
          active: true,
          failedAttempts: 0,
          createdAt: expect.stringMatching(INSTANT),
          updatedAt: expect.stringMatching(INSTANT),
        },
        secret: expect.stringMatching(/^[0-9a-f]{64}$/),
      });
      const again = await put(token, {
        url: `${URL}/2`,
        events: ["document.failed", "document.failed"],
        active: false,
      });
      expect([again.status, Object.keys(again.json)]).toEqual([200, ["webhook"]]);
      expect(webhookOf(again)).toMatchObject({
        id: webhookOf(made)["id"],
        url: `${URL}/2`,
        events: ["document.failed"],
        active: false,
        createdAt: webhookOf(made)["createdAt"],
      });
      const read = await api(t, token, "GET /connector/webhook");
      expect([read.status, read.json]).toEqual([200, again.json]);
      const audit = await api(t, token, "GET /audit");
      for (const text of [read.text, again.text, audit.text, t.lines.join("\n")]) expect(text).not.toContain(secret);
      const [row] = await t.db.sql`
        select to_jsonb(s)::text as text from webhook_subscription as s where id = ${String(webhookOf(made)["id"])}`;
      expect(String(row?.["text"])).not.toContain(Buffer.from(secret).toString("hex"));
    });

    // enterprise.md: "one webhook for the whole account"
    test("two PUTs at once make one webhook, and one of them has shown its secret", async () => {
      const { token } = (await newPartner(t)).key;
      const answers = await Promise.all([put(token), put(token), put(token)]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 201]);
      expect(new Set(answers.map((answer) => webhookOf(answer)["id"])).size).toBe(1);
    });

    test("DELETE ends the webhook, also when there is none, and the next one is another with another secret", async () => {
      const { token } = (await newPartner(t)).key;
      const first = await put(token);
      for (let time = 0; time < 2; time += 1) {
        const gone = await api(t, token, "DELETE /connector/webhook");
        expect([gone.status, gone.json]).toEqual([200, { webhook: null }]);
      }
      const second = await put(token);
      expect(second.status).toBe(201);
      expect(webhookOf(second)["id"]).not.toBe(webhookOf(first)["id"]);
      expect(second.json["secret"]).not.toBe(first.json["secret"]);
    });

    // rulings.md §10: "HTTPS only …, never to private, loopback, link-local or metadata addresses, checked at creation"
    test.each([
      [{ url: "http://hooks.example.com/in" }, "url"],
      [{ url: "https://10.1.2.3/in" }, "url"],
      [{ url: "https://169.254.169.254/latest" }, "url"],
      [{ url: "https://user:secret@hooks.example.com/in" }, "url"],
      [{ url: "hooks" }, "url"],
      [{ url: null }, "url"],
      [{}, "url"],
      [{ url: URL, events: [] }, "events"],
      [{ url: URL, events: ["document.sent"] }, "events[0]"],
      [{ url: URL, active: "yes" }, "active"],
    ])("PUT %j is refused by its field", async (body, field) => {
      const { token } = (await newPartner(t)).key;
      const answer = await put(token, body);
      expect([answer.status, fieldOf(answer)]).toEqual([400, field]);
      expect((await api(t, token, "GET /connector/webhook")).json).toEqual({ webhook: null });
    });

    // enterprise.md, conventions: "It is forbidden on integrator-level, Connector and White Label operations."
    test("a firm's key, a key for one firm and X-Firm-Id are refused", async () => {
      const { partner } = await account();
      const client = await newClient(t);
      await bindClient(t, partner, client, { customerRef: "K-2" });
      const own = await newFirmKey(t, client.firmId);
      const scoped = await newKey(t, { integratorId: partner.integratorId, scopedFirmId: client.firmId }, [
        "webhooks:read",
        "webhooks:write",
      ]);
      for (const { token } of [own, scoped]) expect(faultOf(await put(token))).toEqual([403, "PARTNER_NOT_AUTHORIZED"]);
      const named = await api(t, partner.key.token, "GET /connector/webhook", {
        headers: { "x-firm-id": client.firmId },
      });
      expect(faultOf(named)).toEqual([400, "FIRM_CONTEXT_FORBIDDEN"]);
    });

    // enterprise.md: "Enterprise and Connector subscriptions, secrets and events are separate."
    test("the webhook is in no list of the Enterprise interface, and cannot be changed there", async () => {
      const { partner, token } = await account();
      const client = await newClient(t);
      await bindClient(t, partner, client, { customerRef: "K-3" });
      const headers = { "x-firm-id": client.firmId };
      const id = String(webhookOf(await api(t, token, "GET /connector/webhook"))["id"]);
      expect((await api(t, token, "GET /webhooks", { headers })).json).toEqual({ data: [] });
      for (const line of [`GET /webhooks/${id}`, `DELETE /webhooks/${id}`, `POST /webhooks/${id}/rotate-secret`])
        expect(faultOf(await api(t, token, line, { headers })), line).toEqual([404, "NOT_FOUND"]);
    });
  });

  describe("POST /connector/webhook/rotate-secret", () => {
    // rulings.md §11: "/rotate-secret"
    test("rotate-secret shows a new secret of the same webhook, and without a webhook it is 404", async () => {
      const { token } = (await newPartner(t)).key;
      const none = await api(t, token, "POST /connector/webhook/rotate-secret");
      expect([...faultOf(none), fieldOf(none)]).toEqual([404, "NOT_FOUND", "webhook"]);
      const made = await put(token);
      const rotated = await api(t, token, "POST /connector/webhook/rotate-secret");
      expect(rotated.status).toBe(200);
      expect(rotated.json).toEqual({
        webhook: { ...webhookOf(made), updatedAt: expect.stringMatching(INSTANT) },
        secret: expect.stringMatching(/^[0-9a-f]{64}$/),
      });
      expect(rotated.json["secret"]).not.toBe(made.json["secret"]);
    });
  });

  describe("POST /connector/webhook/test", () => {
    const wish = { customerRef: "K-1" };

    // rulings.md §11: "POST /connector/webhook/test {customerRef,event?,scenario?} → {deliveryId,status:"queued",event}"
    test("a test answers the delivery that is queued for it", async () => {
      const { token } = await account();
      const answer = await api(t, token, "POST /connector/webhook/test", {
        body: { ...wish, event: "document.received", scenario: "terminal_422" },
      });
      expect(answer.status).toBe(202);
      expect(answer.json).toEqual({
        deliveryId: expect.stringMatching(UUID),
        status: "queued",
        event: "document.received",
      });
      const plain = await api(t, token, "POST /connector/webhook/test", { body: wish });
      expect(plain.json["event"]).toBe("document.queued");
    });

    // rulings.md §11: "scenarios success, deduplication, retry_503, rate_limit_429, terminal_422, timeout, signature"
    test("each scenario of the list is taken, another one and another event are refused by their field", async () => {
      const { token } = await account();
      const ask = (body: unknown) => api(t, token, "POST /connector/webhook/test", { body });
      for (const scenario of [
        "success",
        "deduplication",
        "retry_503",
        "rate_limit_429",
        "terminal_422",
        "timeout",
        "signature",
      ])
        expect((await ask({ ...wish, scenario })).status, scenario).toBe(202);
      for (const [body, field] of [
        [{ ...wish, scenario: "chaos" }, "scenario"],
        [{ ...wish, event: "document.sent" }, "event"],
        [{}, "customerRef"],
      ] as const) {
        const refused = await ask(body);
        expect([refused.status, fieldOf(refused)]).toEqual([400, field]);
      }
      expect(faultOf(await ask({ customerRef: "unknown" }))).toEqual([404, "NOT_FOUND"]);
    });

    test("without a webhook, and with one that is switched off, a test is 409 WEBHOOK_INACTIVE", async () => {
      const partner = await newPartner(t);
      await bindClient(t, partner, await newClient(t), { customerRef: "K-1" });
      const ask = () => api(t, partner.key.token, "POST /connector/webhook/test", { body: wish });
      expect(faultOf(await ask())).toEqual([409, "WEBHOOK_INACTIVE"]);
      await put(partner.key.token, { url: URL, active: false });
      expect(faultOf(await ask())).toEqual([409, "WEBHOOK_INACTIVE"]);
    });
  });

  describe("POST /connector/webhook/test-suite and GET of its result", () => {
    const suite = (token: string, body: unknown, key: string | undefined = randomUUID()) =>
      api(t, token, "POST /connector/webhook/test-suite", {
        body,
        headers: key === "" ? {} : { "idempotency-key": key },
      });
    const wish = { customerRef: "K-1", scenarios: ["success", "signature"] };

    // shapes.md §7: "POST /connector/webhook/test-suite {customerRef,event?,scenarios[]} (Idempotency-Key) and GET of its result"
    test("a suite is a delivery for each scenario, and is read by its id", async () => {
      const { token } = await account();
      const started = await suite(token, { ...wish, event: "document.failed" });
      expect([started.status, started.text]).toEqual([202, started.text]);
      const scenario = (name: string) => ({
        scenario: name,
        deliveryId: expect.stringMatching(UUID),
        status: expect.stringMatching(/^(running|failed)$/),
        expected: expect.any(Array),
        observed: expect.any(Array),
        nextAction: expect.any(String),
      });
      expect(started.json).toEqual({
        id: expect.stringMatching(UUID),
        customerRef: "K-1",
        event: "document.failed",
        status: "running",
        scenarios: [scenario("success"), scenario("signature")],
        createdAt: expect.stringMatching(INSTANT),
        completedAt: null,
      });
      const read = await api(t, token, `GET /connector/webhook/test-suite/${String(started.json["id"])}`);
      expect([read.status, read.json["id"]]).toEqual([200, started.json["id"]]);
    });

    test("the same request under the same key answers the same suite, another one is 409 IDEMPOTENCY_CONFLICT", async () => {
      const { token } = await account();
      const key = randomUUID();
      const answers = await Promise.all([suite(token, wish, key), suite(token, wish, key), suite(token, wish, key)]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 202]);
      expect(new Set(answers.map(({ json }) => json["id"])).size).toBe(1);
      const reused = await suite(token, { ...wish, scenarios: ["success"] }, key);
      expect([...faultOf(reused), fieldOf(reused)]).toEqual([409, "IDEMPOTENCY_CONFLICT", "Idempotency-Key"]);
      const deliveries = await api(t, token, "GET /connector/webhook/deliveries");
      expect(deliveries.json["deliveries"]).toHaveLength(2);
    });

    test("a repeat under its key answers its suite also after the webhook was switched off; a new key starts none then", async () => {
      const { token } = await account();
      const key = randomUUID();
      const started = await suite(token, wish, key);
      expect((await put(token, { url: URL, active: false })).json["webhook"]).toMatchObject({ active: false });
      const again = await suite(token, wish, key);
      expect([again.status, again.json["id"]]).toEqual([200, started.json["id"]]);
      expect(faultOf(await suite(token, { ...wish, scenarios: ["success"] }, key))).toEqual([
        409,
        "IDEMPOTENCY_CONFLICT",
      ]);
      const fresh = randomUUID();
      expect(faultOf(await suite(token, wish, fresh))).toEqual([409, "WEBHOOK_INACTIVE"]);
      await put(token);
      expect((await suite(token, wish, fresh)).status).toBe(202);
    });

    test("a suite without a key, without scenarios or with an unknown one is refused by its field", async () => {
      const { token } = await account();
      for (const [body, key, field] of [
        [wish, "", "Idempotency-Key"],
        [{ customerRef: "K-1" }, undefined, "scenarios"],
        [{ ...wish, scenarios: [] }, undefined, "scenarios"],
        [{ ...wish, scenarios: ["chaos"] }, undefined, "scenarios[0]"],
      ] as const) {
        const refused = await suite(token, body, key);
        expect([refused.status, fieldOf(refused)]).toEqual([400, field]);
      }
      const unknown = await api(t, token, `GET /connector/webhook/test-suite/${randomUUID()}`);
      expect(faultOf(unknown)).toEqual([404, "NOT_FOUND"]);
    });
  });
});
