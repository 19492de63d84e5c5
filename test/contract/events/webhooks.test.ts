/**
 * Subscriptions to events as the tables of the specification write them, on a whole engine behind both forms of the
 * server. Each test quotes the line it holds.
 * @source spec/enterprise.md, Events; Webhooks, events and lifecycle; spec/rulings.md, section 10; spec/shapes.md, section 5
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { FEED_KINDS } from "../../../engine/lifecycle/feed.js";
import { startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { serverForms } from "../../support/engines/gateway.js";
import { freePort } from "../../../bench/engine.js";
import { api, bindClient, faultOf, newClient, newFirmKey, newKey, newPartner } from "../../support/callers/partners.js";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const SIX = [
  "document.sent",
  "document.delivered",
  "document.delivery_failed",
  "document.mls_received",
  "document.rejected",
  "document.response_received",
];

const fieldOf = (answer: HttpAnswer): unknown =>
  (answer.json["error"] as { readonly details?: readonly { readonly field?: string }[] } | undefined)?.details?.[0]
    ?.field;

describe.each(serverForms)("the %s form", (form) => {
  let t: TestEngine;
  beforeAll(async () => {
    t = await startTestEngine({ form });
  });
  afterAll(() => t.stop());

  const firmToken = async (): Promise<string> => (await newFirmKey(t, (await newClient(t)).firmId)).token;
  const make = (token: string, body: unknown = { url: null }): Promise<HttpAnswer> =>
    api(t, token, "POST /webhooks", { body });
  const idOf = (answer: HttpAnswer): string => String(answer.json["id"]);

  describe("POST /webhooks", () => {
    // shapes.md §5: "POST /webhooks {url|null, events?, isActive?} → {id,url,events,secret,isActive,createdAt}"; rulings.md §10: "→ 201"
    test("a subscription is answered with its secret, which no other operation shows", async () => {
      const token = await firmToken();
      const url = "http://127.0.0.1:9/hook";
      const answer = await make(token, { url, events: ["document.delivered", "document.received"], isActive: true });
      expect(answer.status).toBe(201);
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.json).toEqual({
        id: expect.stringMatching(UUID),
        url,
        events: ["document.delivered", "document.received"],
        secret: expect.stringMatching(/^whsec_[0-9a-f]{64}$/),
        isActive: true,
        createdAt: expect.stringMatching(INSTANT),
      });
      const secret = String(answer.json["secret"]);
      const id = idOf(answer);
      for (const line of ["GET /webhooks", `GET /webhooks/${id}`, `GET /webhooks/${id}/deliveries`, "GET /audit"])
        expect((await api(t, token, line)).text, line).not.toContain(secret);
      expect(t.lines.join("\n")).not.toContain(secret);
      const [row] = await t.db.sql`select to_jsonb(s)::text as text from webhook_subscription as s where id = ${id}`;
      expect(String(row?.["text"])).not.toContain(Buffer.from(secret).toString("hex"));
    });

    // enterprise.md: "url (HTTPS URL, or null for pull-only)"; Event kinds for the Enterprise API: six
    test("a subscription for pull has the url null and, unless it names others, the six kinds of the specification", async () => {
      const answer = await make(await firmToken());
      expect(answer.status).toBe(201);
      expect(answer.json).toMatchObject({ url: null, events: SIX, isActive: true });
    });

    // shapes.md §5: "POST /webhooks {url|null, events?, isActive?}": programs write null for what they leave out
    test("events and isActive that are null are left out: the six kinds and switched on, or as they were", async () => {
      const token = await firmToken();
      const answer = await make(token, { url: null, events: null, isActive: null });
      expect([answer.status, answer.json]).toMatchObject([201, { url: null, events: SIX, isActive: true }]);
      const named = await make(token, { url: null, events: ["document.sent"], isActive: false });
      const body = { events: null, isActive: null };
      const changed = await api(t, token, `PATCH /webhooks/${idOf(named)}`, { body });
      expect([changed.status, changed.json]).toMatchObject([200, { events: ["document.sent"], isActive: false }]);
      const nobodys = `POST /webhook-dead-letter/${randomUUID()}/resolve`;
      expect(faultOf(await api(t, token, nobodys, { body: { reason: null } }))).toEqual([404, "NOT_FOUND"]);
    });

    // shapes.md §5: "those of the specification, and document.created, document.validated, document.received"
    test("every kind of the feed may be named, each counts once, and another is refused by its field", async () => {
      const token = await firmToken();
      const all = await make(token, { url: null, events: [...FEED_KINDS] });
      expect(all.json["events"]).toEqual([...FEED_KINDS]);
      const twice = await make(token, { url: null, events: ["document.sent", "document.sent"] });
      expect(twice.json["events"]).toEqual(["document.sent"]);
      for (const events of [["document.queued"], [], ["invoice.paid"]]) {
        const refused = await make(token, { url: null, events });
        expect(refused.status).toBe(400);
        expect(String(fieldOf(refused))).toMatch(/^events/);
      }
    });

    // rulings.md §10: "HTTPS only …, never to private, loopback, link-local or metadata addresses, checked at creation"
    test.each([
      ["plain HTTP", "http://hooks.example.com/in"],
      ["a private address", "https://10.1.2.3/in"],
      ["a private address of IPv6", "https://[fd00::1]/in"],
      ["a link-local address", "https://[fe80::1]/in"],
      ["the metadata service", "https://169.254.169.254/latest/meta-data"],
      ["an address in another spelling", "https://2130706433/in"],
      ["a name with a password", "https://user:secret@hooks.example.com/in"],
      ["another scheme", "ftp://hooks.example.com/in"],
      ["no URL", "hooks"],
    ])("%s is refused, and the refusal names url", async (_, url) => {
      const answer = await make(await firmToken(), { url });
      expect([answer.status, fieldOf(answer)]).toEqual([400, "url"]);
    });

    test("a firm has no more subscriptions than the limit, and one that is deleted makes room", async () => {
      const token = await firmToken();
      const made: HttpAnswer[] = [];
      for (let n = 0; n < LIMITS.webhooks_per_firm_max; n += 1) made.push(await make(token));
      expect(made.every(({ status }) => status === 201)).toBe(true);
      expect(faultOf(await make(token))).toEqual([400, "WEBHOOK_LIMIT_REACHED"]);
      expect((await make(await firmToken())).status).toBe(201);
      await api(t, token, `DELETE /webhooks/${idOf(made[0] as HttpAnswer)}`);
      expect((await make(token)).status).toBe(201);
    });
  });

  describe("reading and changing", () => {
    // shapes.md §5: "list {data[{id,url,events,isActive,failedAttempts,createdAt}]}; GET adds deliveries[<=20]"
    test("the list has every subscription, oldest first, and one of them has its deliveries too", async () => {
      const token = await firmToken();
      const [first, second] = [await make(token), await make(token, { url: null, isActive: false })];
      const member = (answer: HttpAnswer): Record<string, unknown> => {
        const { secret: _secret, ...rest } = answer.json;
        return { ...rest, failedAttempts: 0 };
      };
      expect((await api(t, token, "GET /webhooks")).json).toEqual({ data: [member(first), member(second)] });
      const one = await api(t, token, `GET /webhooks/${idOf(second)}`);
      expect([one.status, one.json]).toEqual([200, { ...member(second), deliveries: [] }]);
    });

    // rulings.md §10: "GET|PATCH|DELETE /webhooks/{id} (204)"; shapes.md §1.2: "DELETE /webhooks/{id} is expected to be 204"
    test("PATCH changes what it names, DELETE answers 204 without a body and then nothing is there", async () => {
      const token = await firmToken();
      const id = idOf(await make(token));
      const patched = await api(t, token, `PATCH /webhooks/${id}`, {
        body: { url: "http://127.0.0.1:9/new", events: ["document.sent"], isActive: false },
      });
      expect(patched.status).toBe(200);
      expect(patched.json).toMatchObject({ url: "http://127.0.0.1:9/new", events: ["document.sent"], isActive: false });
      const again = await api(t, token, `PATCH /webhooks/${id}`, { body: { isActive: true } });
      expect(again.json).toMatchObject({ url: "http://127.0.0.1:9/new", events: ["document.sent"], isActive: true });
      const refused = await api(t, token, `PATCH /webhooks/${id}`, { body: { url: "https://192.168.1.1/" } });
      expect([refused.status, fieldOf(refused)]).toEqual([400, "url"]);
      const deleted = await api(t, token, `DELETE /webhooks/${id}`);
      expect([deleted.status, deleted.text]).toEqual([204, ""]);
      for (const line of [`GET /webhooks/${id}`, `DELETE /webhooks/${id}`, `POST /webhooks/${id}/rotate-secret`])
        expect(faultOf(await api(t, token, line)), line).toEqual([404, "NOT_FOUND"]);
      expect((await api(t, token, "GET /webhooks")).json).toEqual({ data: [] });
    });

    // shapes.md §5: "POST /webhooks/{id}/rotate-secret → {id,secret,message}"; §1.2: no body, no Content-Type
    test("rotate-secret answers a new secret", async () => {
      const token = await firmToken();
      const made = await make(token);
      const rotated = await api(t, token, `POST /webhooks/${idOf(made)}/rotate-secret`);
      expect(rotated.status).toBe(200);
      expect(rotated.json).toEqual({
        id: idOf(made),
        secret: expect.stringMatching(/^whsec_[0-9a-f]{64}$/),
        message: expect.any(String),
      });
      expect(rotated.json["secret"]).not.toBe(made.json["secret"]);
    });

    // shapes.md §5: "GET /webhooks/{id}/deliveries?limit&offset&cursor&status&event&testRunId&includeResponseBody"
    test("deliveries are a page, and wrong questions are refused by their field", async () => {
      const token = await firmToken();
      const id = idOf(await make(token));
      expect((await api(t, token, `GET /webhooks/${id}/deliveries?limit=7`)).json).toEqual({
        data: [],
        pagination: { limit: 7, offset: 0, nextCursor: null, hasMore: false },
      });
      for (const [query, field] of [
        ["limit=0", "limit"],
        ["limit=101", "limit"],
        ["offset=-1", "offset"],
        ["status=DONE", "status"],
        ["event=document.queued", "event"],
        ["testRunId=x", "testRunId"],
        ["includeResponseBody=maybe", "includeResponseBody"],
        ["cursor=forged", "cursor"],
      ] as const) {
        const answer = await api(t, token, `GET /webhooks/${id}/deliveries?${query}`);
        expect([answer.status, fieldOf(answer)], query).toEqual([400, field]);
      }
    });
  });

  // shapes.md §5: "GET /webhook-dead-letter?limit&offset&event&subscriptionId&includeResponseBody"
  test("dead letters are a page of their own, empty while nothing has failed", async () => {
    const token = await firmToken();
    const answer = await api(t, token, "GET /webhook-dead-letter?limit=5&includeResponseBody=true");
    expect([answer.status, answer.json]).toEqual([
      200,
      { data: [], pagination: { limit: 5, offset: 0, nextCursor: null, hasMore: false } },
    ]);
    const refused = await api(t, token, "GET /webhook-dead-letter?subscriptionId=x");
    expect([refused.status, fieldOf(refused)]).toEqual([400, "subscriptionId"]);
  });

  describe("whose subscriptions", () => {
    // enterprise.md: "With a central sk_int_* send X-Firm-Id"; rulings.md §1: "An id of another tenant answers exactly as an unknown id"
    test("a firm's subscriptions and those of its integrators are apart, and a foreign id is as unknown as none", async () => {
      const client = await newClient(t);
      const [one, two] = [await newPartner(t), await newPartner(t)];
      for (const partner of [one, two]) await bindClient(t, partner, client);
      const own = (await newFirmKey(t, client.firmId)).token;
      const scoped = await newKey(t, { integratorId: one.integratorId, scopedFirmId: client.firmId }, [
        "webhooks:read",
        "webhooks:write",
      ]);
      const headers = { "x-firm-id": client.firmId };
      const ofFirm = idOf(await make(own));
      const ofOne = idOf(await api(t, one.key.token, "POST /webhooks", { body: { url: null }, headers }));
      const listOf = async (token: string, more = {}): Promise<unknown[]> =>
        ((await api(t, token, "GET /webhooks", more)).json["data"] as { readonly id: string }[]).map(({ id }) => id);
      expect(await listOf(own)).toEqual([ofFirm]);
      expect(await listOf(one.key.token, { headers })).toEqual([ofOne]);
      expect(await listOf(scoped.token)).toEqual([ofOne]);
      expect(await listOf(two.key.token, { headers })).toEqual([]);
      const unknown = randomUUID();
      for (const line of [
        "GET /webhooks/{id}",
        "GET /webhooks/{id}/deliveries",
        "PATCH /webhooks/{id}",
        "DELETE /webhooks/{id}",
        "POST /webhooks/{id}/rotate-secret",
      ]) {
        const ask = (id: string): Promise<HttpAnswer> =>
          api(t, two.key.token, line.replace("{id}", id), {
            headers: { ...headers, "x-request-id": "same" },
            ...(line.startsWith("PATCH") ? { body: { url: "https://10.0.0.1/" } } : {}),
          });
        const [foreign, none] = [await ask(ofOne), await ask(unknown)];
        expect([foreign.status, foreign.json], line).toEqual([404, none.json]);
      }
      expect(await listOf(one.key.token, { headers })).toEqual([ofOne]);
    });

    // issue of the record: who changed a subscription stands in the audit
    test("the audit has every change of a subscription, and no secret and no path of its url", async () => {
      const { firmId } = await newClient(t);
      const token = (await newFirmKey(t, firmId)).token;
      const id = idOf(await make(token, { url: "http://127.0.0.1:9/hook?token=hidden" }));
      await api(t, token, `PATCH /webhooks/${id}`, { body: { isActive: false } });
      await api(t, token, `POST /webhooks/${id}/rotate-secret`);
      await api(t, token, `DELETE /webhooks/${id}`);
      const audit = await api(t, token, "GET /audit");
      const rows = audit.json["rows"] as { readonly event: string; readonly target_id: string }[];
      expect(rows.filter((row) => row.target_id === id).map(({ event }) => event)).toEqual([
        "webhook.deleted",
        "webhook.secret_rotated",
        "webhook.changed",
        "webhook.created",
      ]);
      expect(audit.text).toContain("http://127.0.0.1:9");
      expect(audit.text).not.toContain("hidden");
    });
  });
});

describe("a sandbox that others reach at a public address", () => {
  let started: TestEngine;
  let t: Pick<TestEngine, "db" | "sandbox">;
  beforeAll(async () => {
    const PORT = await freePort();
    started = await startTestEngine({ config: { PORT, PUBLIC_URL: "https://sandbox.kurier.example" } });
    const local = `http://127.0.0.1:${PORT}`;
    t = {
      db: started.db,
      sandbox: { ...started.sandbox, baseUrl: `${local}/api/v1`, sapiBaseUrl: `${local}/sapi/v1` },
    };
  });
  afterAll(() => started.stop());

  // rulings.md §10: "HTTP to loopback only when the configuration allows it for development"
  test("a sandbox that others reach at a public address calls nothing on its own machine for a tenant", async () => {
    const firm = await newFirmKey(t, (await newClient(t)).firmId);
    const partner = await newPartner(t);
    const kept = await api(t, firm.token, "POST /webhooks", { body: { url: null } });
    for (const url of [
      "http://127.0.0.1:9090/",
      "http://localhost:9090/",
      "http://[::1]:9090/",
      "https://127.0.0.1/",
    ]) {
      const answers = [
        await api(t, firm.token, "POST /webhooks", { body: { url } }),
        await api(t, firm.token, `PATCH /webhooks/${String(kept.json["id"])}`, { body: { url } }),
        await api(t, partner.key.token, "PUT /connector/webhook", { body: { url } }),
      ];
      for (const answer of answers) expect([answer.status, fieldOf(answer)], url).toEqual([400, "url"]);
    }
  });
});
