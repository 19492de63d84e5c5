/**
 * Keys, account and audit as the tables of the specification write them, on a whole engine behind both forms of the
 * server. Each test quotes the line it holds.
 * @source spec/enterprise.md, Authentication and keys; Key management rules; spec/shapes.md, section 4
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { SCOPES } from "../../../engine/base/scopes.js";
import { createKey } from "../../../engine/identity/keys.js";
import { accessToken, http, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { serverForms } from "../../support/engines/gateway.js";
import {
  api,
  bindClient,
  faultOf,
  newClient,
  newFirmKey,
  newKey,
  newPartner,
  tokenOf,
  withdraw,
} from "../../support/callers/partners.js";
import type { Partner } from "../../support/callers/partners.js";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const SECRET = /^sk_int_test_[0-9A-Za-z]{40}$/;
const PREFIX = /^sk_(int|live)_test_[0-9A-Za-z]{5}\.\.\.[0-9A-Za-z]{4}$/;

describe.each(serverForms)("the %s form", (form) => {
  let t: TestEngine;
  beforeAll(async () => {
    t = await startTestEngine({ form });
  });
  afterAll(() => t.stop());

  const keysOf = async (partner: Partner): Promise<Record<string, unknown>[]> =>
    (await api(t, partner.key.token, "GET /integrator/keys")).json["keys"] as Record<string, unknown>[];
  const issue = (partner: Partner, body?: unknown): Promise<HttpAnswer> =>
    api(t, partner.key.token, "POST /integrator/keys", { body });

  describe("GET /auth/status", () => {
    // enterprise.md: "200 introspection of the calling key (permissions, linked firm, plan, rate-limit window)"
    // shapes.md §4: "key{id,name,prefix,permissions[],active,createdAt,lastUsedAt|null}, firm{id,peppolStatus}|null, plan{name,expiresAt|null,active}, rateLimit{perMinute,window:"60s"}, integrator{id}|null, firm_id, key_type live|integrator, scope"
    test("GET /auth/status shows a firm key with its firm, and X-Firm-Id changes nothing", async () => {
      const { firmId } = await newClient(t);
      const key = await newFirmKey(t, firmId, ["documents:read", "account:read"]);
      const answer = await api(t, key.token, "GET /auth/status", { headers: { "x-firm-id": randomUUID() } });
      expect(answer.status).toBe(200);
      expect(answer.json).toEqual({
        key: {
          id: key.id,
          name: "Test key",
          prefix: key.prefix,
          permissions: ["documents:read", "account:read"],
          active: true,
          createdAt: expect.stringMatching(INSTANT),
          lastUsedAt: expect.stringMatching(INSTANT),
        },
        firm: { id: firmId, peppolStatus: "registered" },
        plan: { name: "Standard", expiresAt: null, active: true },
        rateLimit: { perMinute: 300, window: "60s" },
        integrator: null,
        firm_id: firmId,
        key_type: "live",
        scope: "documents:read account:read",
      });
    });

    test("GET /auth/status shows a central key without a firm, and the scope of the token rather than of the key", async () => {
      const partner = await newPartner(t);
      const token = await tokenOf(t, partner.key, "keys:manage");
      expect((await api(t, token, "GET /auth/status")).json).toMatchObject({
        firm: null,
        firm_id: null,
        integrator: { id: partner.integratorId },
        key_type: "integrator",
        scope: "keys:manage",
        key: { permissions: [...SCOPES] },
      });
    });

    // enterprise.md: "401"; rulings.md §3: auth family "token, renew, revoke, status"
    test("GET /auth/status without a token is 401 in the form of the auth family", async () => {
      const answer = await api(t, undefined, "GET /auth/status");
      expect(answer.status).toBe(401);
      expect(answer.json["error"]).toMatchObject({ category: "AUTH", code: "INVALID_TOKEN", retryable: false });
    });
  });

  describe("POST /auth/rotate-secret", () => {
    // enterprise.md: "200 new key shown once; old key inactive immediately"; shapes.md §4: "{key, prefix, message}"; §1.2: no body, no Content-Type
    test("POST /auth/rotate-secret answers a new key with the rights of the old one, which is dead from the next request on", async () => {
      const { firmId } = await newClient(t);
      const old = await newFirmKey(t, firmId, ["documents:read", "account:read"]);
      const answer = await api(t, old.token, "POST /auth/rotate-secret");
      expect(answer.status).toBe(200);
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.json).toEqual({
        key: expect.stringMatching(/^sk_live_test_[0-9A-Za-z]{40}$/),
        prefix: expect.stringMatching(PREFIX),
        clientId: expect.stringMatching(UUID),
        message: expect.any(String),
      });
      expect((await api(t, old.token, "GET /auth/status")).status).toBe(401);
      await expect(tokenOf(t, old)).rejects.toThrow(/401/);
      const token = await accessToken(t.sandbox, {
        clientId: String(answer.json["prefix"]),
        clientSecret: String(answer.json["key"]),
      });
      expect((await api(t, token, "GET /auth/status")).json).toMatchObject({
        scope: "documents:read account:read",
        firm_id: firmId,
      });
    });

    // enterprise.md, Key management rules, 2: "Requested scopes must be a subset of the caller grant"
    test("a token that was given less than its key does not get the successor of the whole key, and leaves the key alive", async () => {
      const { firmId } = await newClient(t);
      const key = await newFirmKey(t, firmId, ["documents:send", "documents:read"]);
      const narrow = await tokenOf(t, key, "documents:read");
      const refused = await api(t, narrow, "POST /auth/rotate-secret");
      expect(faultOf(refused)).toEqual([403, "INSUFFICIENT_SCOPE"]);
      expect(refused.json["error"]).toMatchObject({ required_scope: "documents:send" });
      expect((await api(t, narrow, "GET /auth/status")).status).toBe(200);
      expect((await api(t, key.token, "POST /auth/rotate-secret")).status).toBe(200);
    });

    // enterprise.md: "403 for sk_int_* keys"
    test("an integrator's key is not rotated", async () => {
      const partner = await newPartner(t);
      expect(faultOf(await api(t, partner.key.token, "POST /auth/rotate-secret"))).toEqual([403, "FORBIDDEN"]);
      expect((await api(t, partner.key.token, "GET /auth/status")).status).toBe(200);
    });
  });

  describe("the IP allowlist of the calling key", () => {
    // enterprise.md: "200 {ip_allowlist}"; "200 updated list; an empty array clears the restriction; effective from the next request"
    test("PUT /auth/ip-allowlist holds from the next request on, and an empty list clears it", async () => {
      const { firmId } = await newClient(t);
      const key = await newFirmKey(t, firmId);
      expect((await api(t, key.token, "GET /auth/ip-allowlist")).json).toEqual({ ip_allowlist: [] });
      const put = await api(t, key.token, "PUT /auth/ip-allowlist", {
        body: { ip_allowlist: ["127.0.0.1", "2001:DB8::/32"] },
      });
      expect([put.status, put.json]).toEqual([200, { ip_allowlist: ["127.0.0.1", "2001:db8::/32"] }]);
      expect((await api(t, key.token, "GET /auth/ip-allowlist")).json).toEqual(put.json);
      expect((await api(t, key.token, "PUT /auth/ip-allowlist", { body: { ip_allowlist: [] } })).json).toEqual({
        ip_allowlist: [],
      });
      await api(t, key.token, "PUT /auth/ip-allowlist", { body: { ip_allowlist: ["192.0.2.1"] } });
      expect(faultOf(await api(t, key.token, "GET /auth/status"))).toEqual([403, "IP_NOT_ALLOWED"]);
    });

    // enterprise.md: "400 invalid entry or too many"; Limits: "IP allowlist entries | max 50"
    test.each([
      ["an entry that is no address", ["300.1.1.1"]],
      ["a prefix that is too long", ["10.0.0.0/33"]],
      ["51 entries", Array.from({ length: 51 }, (_, i) => `10.0.0.${i}`)],
      ["no list", undefined],
    ])("PUT /auth/ip-allowlist with %s is 400 and changes nothing", async (_, list) => {
      const { firmId } = await newClient(t);
      const key = await newFirmKey(t, firmId);
      const answer = await api(t, key.token, "PUT /auth/ip-allowlist", { body: { ip_allowlist: list } });
      expect(faultOf(answer)).toEqual([400, "VALIDATION_ERROR"]);
      expect((await api(t, key.token, "GET /auth/ip-allowlist")).json).toEqual({ ip_allowlist: [] });
    });

    // enterprise.md: "Scope account:read"
    test("the allowlist needs the scope account:read, and the answer names it", async () => {
      const { firmId } = await newClient(t);
      const key = await newFirmKey(t, firmId, ["documents:read"]);
      const answer = await api(t, key.token, "GET /auth/ip-allowlist");
      expect(faultOf(answer)).toEqual([403, "INSUFFICIENT_SCOPE"]);
      expect(answer.json["error"]).toMatchObject({ required_scope: "account:read", fix_hint: expect.any(String) });
      expect(answer.headers.get("www-authenticate")).toContain('scope="account:read"');
    });
  });

  describe("POST /integrator/keys", () => {
    // enterprise.md: "201 with key (once) and clientId"; Integrator API key: "keyPrefix … sk_int_xxxxx...<last4>", "key … one-time sk_int_* secret"
    test("POST /integrator/keys without a body makes a main key with the caller's scopes, which works at once", async () => {
      const partner = await newPartner(t, ["keys:manage", "documents:read"]);
      const made = await issue(partner);
      expect(made.status).toBe(201);
      expect(made.headers.get("cache-control")).toBe("no-store");
      expect(made.json).toEqual({
        id: expect.stringMatching(UUID),
        keyPrefix: expect.stringMatching(PREFIX),
        name: null,
        scopes: ["documents:read", "keys:manage"],
        ipAllowlist: [],
        scopedFirmId: null,
        key: expect.stringMatching(SECRET),
        clientId: made.json["id"],
      });
      const token = await accessToken(t.sandbox, {
        clientId: String(made.json["clientId"]),
        clientSecret: String(made.json["key"]),
      });
      expect((await api(t, token, "GET /integrator/keys")).status).toBe(200);
    });

    // rulings.md §1: secrets are shown once; reliability.md A-13: "only hash + prefix stored"
    test("the secret of a new key stands nowhere but in its answer", async () => {
      const partner = await newPartner(t);
      const secret = String((await issue(partner, { name: "ERP" })).json["key"]);
      expect(JSON.stringify(await keysOf(partner))).not.toContain(secret);
      expect((await api(t, partner.key.token, "GET /audit")).text).not.toContain(secret);
      expect(t.lines.join("\n")).not.toContain(secret);
      const rows = await t.db.sql`select row_to_json(k)::text as row from api_key k`;
      expect(JSON.stringify(rows)).not.toContain(secret);
    });

    // enterprise.md, rule 2: "Requested scopes must be a subset of the caller grant and the firm consent"
    test("a key cannot get a scope that the calling token has not", async () => {
      const partner = await newPartner(t);
      const token = await tokenOf(t, partner.key, "keys:manage documents:read");
      const answer = await api(t, token, "POST /integrator/keys", { body: { scopes: ["documents:send"] } });
      expect(faultOf(answer)).toEqual([403, "INSUFFICIENT_SCOPE"]);
      expect(answer.json["error"]).toMatchObject({ field: "scopes" });
    });

    // enterprise.md: "scopedFirmId … immutable firm restriction"; rule 2 and "403 … excessive scopes"
    test("a firm's key gets what the caller and the firm's consent have in common, without keys:manage", async () => {
      const [partner, client] = [await newPartner(t), await newClient(t)];
      await bindClient(t, partner, client, { scopes: ["documents:send", "documents:read", "firms:manage"] });
      const made = await issue(partner, { scopedFirmId: client.firmId });
      expect([made.status, made.json["scopes"], made.json["scopedFirmId"]]).toEqual([
        201,
        ["documents:send", "documents:read", "firms:manage"],
        client.firmId,
      ]);
      const excessive = await issue(partner, { scopedFirmId: client.firmId, scopes: ["webhooks:read"] });
      expect(faultOf(excessive)).toEqual([403, "INSUFFICIENT_SCOPE"]);
    });

    // enterprise.md, rule 2: "Firm-scoped keys cannot hold keys:manage"
    test("a firm's key cannot hold keys:manage, whatever the firm agreed to", async () => {
      const [partner, client] = [await newPartner(t), await newClient(t)];
      await bindClient(t, partner, client);
      const answer = await issue(partner, { scopedFirmId: client.firmId, scopes: ["keys:manage"] });
      expect(faultOf(answer)).toEqual([403, "INSUFFICIENT_SCOPE"]);
    });

    // enterprise.md: "403 … unauthorized firm … or missing authorization"; reliability.md T-01: foreign and missing are one
    test("a firm that is unknown, foreign, pending or withdrawn gives one and the same refusal", async () => {
      const partner = await newPartner(t);
      const [foreign, pending, withdrawn] = [await newClient(t), await newClient(t), await newClient(t)];
      await bindClient(t, await newPartner(t), foreign);
      await bindClient(t, partner, pending, { state: "pending" });
      await bindClient(t, partner, withdrawn);
      await withdraw(t, partner, withdrawn);
      const token = await tokenOf(t, partner.key);
      const firms: readonly string[] = [randomUUID(), foreign.firmId, pending.firmId, withdrawn.firmId];
      const bodies = await Promise.all(
        firms.map(async (scopedFirmId) => {
          const { status, json } = await api(t, token, "POST /integrator/keys", { body: { scopedFirmId } });
          return { status, error: { ...(json["error"] as object), requestId: "" } };
        }),
      );
      expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1);
      expect(bodies[0]?.status).toBe(403);
    });

    // enterprise.md, Limits: "Active unrestricted integrator keys | 5"; "400 … key limit reached"
    test("the sixth active main key is 400, and there is a place again when one has ended", async () => {
      const partner = await newPartner(t);
      for (let i = 0; i < 4; i += 1) expect((await issue(partner)).status).toBe(201);
      expect(faultOf(await issue(partner))).toEqual([400, "KEY_LIMIT_REACHED"]);
      const [newest] = await keysOf(partner);
      await api(t, partner.key.token, `DELETE /integrator/keys/${String(newest?.["id"])}`);
      expect((await issue(partner)).status).toBe(201);
    });

    // enterprise.md, Limits: "Scoped keys per integrator and firm | 5"
    test("the sixth active key for one firm is 400, and another firm has places of its own", async () => {
      const [partner, one, other] = [await newPartner(t), await newClient(t), await newClient(t)];
      await bindClient(t, partner, one);
      await bindClient(t, partner, other);
      for (let i = 0; i < 5; i += 1) expect((await issue(partner, { scopedFirmId: one.firmId })).status).toBe(201);
      expect(faultOf(await issue(partner, { scopedFirmId: one.firmId }))).toEqual([400, "KEY_LIMIT_REACHED"]);
      expect((await issue(partner, { scopedFirmId: other.firmId })).status).toBe(201);
    });

    // enterprise.md, Integrator API key: name "max 80 characters on create", scopes "on create minItems 1", ipAllowlist "max 50 entries on create"
    test.each([
      ["a name of 81 characters", { name: "x".repeat(81) }],
      ["a name with a line feed", { name: "two\nlines" }],
      ["a name with a NUL", { name: "no\0thing" }],
      ["no scope", { scopes: [] }],
      ["an unknown scope", { scopes: ["documents:*"] }],
      ["51 addresses", { ipAllowlist: Array.from({ length: 51 }, (_, i) => `10.0.0.${i}`) }],
      ["an address that is none", { ipAllowlist: ["10.0.0.0/33"] }],
      ["a firm id that is no UUID", { scopedFirmId: "firm" }],
    ])("POST /integrator/keys with %s is 400", async (_, body) => {
      expect(faultOf(await issue(await newPartner(t), body))).toEqual([400, "VALIDATION_ERROR"]);
    });

    // enterprise.md, rule 1: "Browser sessions, direct firm credentials and firm-scoped keys are rejected"
    test("firm keys, keys for one firm, and keys without keys:manage are refused on every key route", async () => {
      const [partner, client] = [await newPartner(t), await newClient(t)];
      await bindClient(t, partner, client);
      const firmKey = await newFirmKey(t, client.firmId, SCOPES);
      const scoped = await newKey(t, { integratorId: partner.integratorId, scopedFirmId: client.firmId }, [
        "documents:read",
      ]);
      const unable = await tokenOf(t, partner.key, "documents:read");
      const routes = ["GET /integrator/keys", "POST /integrator/keys", `DELETE /integrator/keys/${randomUUID()}`];
      for (const line of routes) {
        expect(faultOf(await api(t, firmKey.token, line)), line).toEqual([403, "PARTNER_NOT_AUTHORIZED"]);
        expect(faultOf(await api(t, scoped.token, line)), line).toEqual([403, "PARTNER_NOT_AUTHORIZED"]);
        expect(faultOf(await api(t, unable, line)), line).toEqual([403, "INSUFFICIENT_SCOPE"]);
        expect(faultOf(await api(t, undefined, line)), line).toEqual([401, "INVALID_TOKEN"]);
      }
    });

    // enterprise.md, Firm context: "forbidden on integrator-level … operations"
    test("X-Firm-Id on a key route is 400", async () => {
      const partner = await newPartner(t);
      const headers = { "x-firm-id": randomUUID() };
      expect(faultOf(await api(t, partner.key.token, "GET /integrator/keys", { headers }))).toEqual([
        400,
        "FIRM_CONTEXT_FORBIDDEN",
      ]);
    });
  });

  describe("GET /integrator/keys", () => {
    // enterprise.md: "200 {keys[]} metadata only"; Integrator API key: id, keyPrefix, name, scopes, ipAllowlist, isActive, lastUsedAt, createdAt, scopedFirmId
    test("GET /integrator/keys lists the integrator's own keys, ended ones too, without secrets", async () => {
      const partner = await newPartner(t);
      const made = await issue(partner, { name: "ERP", scopes: ["documents:read"], ipAllowlist: ["10.0.0.1"] });
      await api(t, partner.key.token, `DELETE /integrator/keys/${String(made.json["id"])}`);
      const keys = await keysOf(partner);
      expect(keys).toHaveLength(2);
      expect(keys[0]).toEqual({
        id: made.json["id"],
        keyPrefix: made.json["keyPrefix"],
        name: "ERP",
        scopes: ["documents:read"],
        ipAllowlist: ["10.0.0.1"],
        isActive: false,
        lastUsedAt: null,
        createdAt: expect.stringMatching(INSTANT),
        scopedFirmId: null,
      });
      expect(keys[1]).toMatchObject({ id: partner.key.id, isActive: true, lastUsedAt: expect.stringMatching(INSTANT) });
    });
  });

  describe("DELETE /integrator/keys", () => {
    // enterprise.md: "200 {success, message}"; States: "inactive; its JWTs are invalidated"
    test.each([
      ["by its id", (id: string) => [`DELETE /integrator/keys/${id}`, undefined] as const],
      ["by keyId in the body", (id: string) => ["DELETE /integrator/keys", { keyId: id }] as const],
      [
        "by its prefix in the body",
        (_: string, prefix: string) => ["DELETE /integrator/keys", { client_id: prefix }] as const,
      ],
      [
        "by both in the body",
        (id: string, prefix: string) => ["DELETE /integrator/keys", { keyId: id, client_id: prefix }] as const,
      ],
    ])("a key that ends %s is dead with its tokens", async (_, how) => {
      const partner = await newPartner(t);
      const other = await newKey(t, { integratorId: partner.integratorId });
      const [line, body] = how(other.id, other.prefix);
      const answer = await api(t, partner.key.token, line, { body });
      expect([answer.status, answer.json]).toEqual([200, { success: true, message: expect.any(String) }]);
      expect((await api(t, other.token, "GET /auth/status")).status).toBe(401);
    });

    // enterprise.md, Errors: "400 … key already inactive"
    test("a key that has ended already is 400", async () => {
      const partner = await newPartner(t);
      const other = await newKey(t, { integratorId: partner.integratorId });
      await api(t, partner.key.token, `DELETE /integrator/keys/${other.id}`);
      expect(faultOf(await api(t, partner.key.token, `DELETE /integrator/keys/${other.id}`))).toEqual([
        400,
        "KEY_ALREADY_INACTIVE",
      ]);
    });

    // enterprise.md, Errors: "400 … deactivating the last active unrestricted main key"
    test("the last active main key stays, although keys for single firms are active", async () => {
      const [partner, client] = [await newPartner(t), await newClient(t)];
      await bindClient(t, partner, client);
      await issue(partner, { scopedFirmId: client.firmId });
      expect(faultOf(await api(t, partner.key.token, `DELETE /integrator/keys/${partner.key.id}`))).toEqual([
        400,
        "LAST_ACTIVE_KEY",
      ]);
    });

    // enterprise.md: "404 unknown or unowned id (… key)"; rulings.md §1: an id of another tenant answers exactly as an unknown id
    test("a key of another integrator is as unknown as one that never was", async () => {
      const [partner, other] = [await newPartner(t), await newPartner(t)];
      const answers = await Promise.all(
        [randomUUID(), other.key.id, "no-uuid"].map((id) => api(t, partner.key.token, `DELETE /integrator/keys/${id}`)),
      );
      for (const answer of answers) expect(faultOf(answer)).toEqual([404, "NOT_FOUND"]);
      const byPrefix = await api(t, partner.key.token, "DELETE /integrator/keys", {
        body: { client_id: other.key.prefix },
      });
      expect(faultOf(byPrefix)).toEqual([404, "NOT_FOUND"]);
      expect((await api(t, other.key.token, "GET /auth/status")).status).toBe(200);
    });

    // enterprise.md: "Legacy body: keyId (uuid) or client_id (key prefix); at least one"
    test("a deletion that names no key is 400", async () => {
      const partner = await newPartner(t);
      for (const body of [{}, { keyId: "x" }, undefined])
        expect(faultOf(await api(t, partner.key.token, "DELETE /integrator/keys", { body }))).toEqual([
          400,
          "VALIDATION_ERROR",
        ]);
    });
  });

  describe("GET /account", () => {
    // enterprise.md: "200 firm data, Peppol registration state, active plan, sent and received statistics"
    // shapes.md §4: "firm{name,ico,peppolId,peppolStatus}, plan{name,status active|expired}, usage{outbound,inbound,ocr_extractions}, limits{documents_per_month,ocr_per_month}; -1 = unlimited"
    test("GET /account shows the firm of a firm key", async () => {
      const client = await newClient(t);
      const key = await newFirmKey(t, client.firmId);
      expect((await api(t, key.token, "GET /account")).json).toEqual({
        firm: {
          name: "Pekáreň s. r. o.",
          ico: client.ico,
          peppolId: client.participantId,
          peppolStatus: "registered",
        },
        plan: { name: "Standard", status: "active" },
        usage: { outbound: 0, inbound: 0, ocr_extractions: 0 },
        limits: { documents_per_month: -1, ocr_per_month: -1 },
      });
    });

    // enterprise.md: "firm context forbidden", "404"
    test("GET /account is 404 for a central key, and 400 with X-Firm-Id", async () => {
      const partner = await newPartner(t);
      expect(faultOf(await api(t, partner.key.token, "GET /account"))).toEqual([404, "NOT_FOUND"]);
      const headers = { "x-firm-id": randomUUID() };
      expect(faultOf(await api(t, partner.key.token, "GET /account", { headers }))).toEqual([
        400,
        "FIRM_CONTEXT_FORBIDDEN",
      ]);
    });
  });

  describe("GET /audit", () => {
    const rowsOf = (answer: HttpAnswer): Record<string, unknown>[] => answer.json["rows"] as Record<string, unknown>[];

    // shapes.md §4: "rows {id, occurred_at, actor_type, actor_id, event (jwt.issued, api_key.created, …), target_type, target_id, ip, user_agent, metadata}, next_cursor"
    test("GET /audit shows who made a key, from where and with which program, newest first", async () => {
      const partner = await newPartner(t);
      const made = await api(t, partner.key.token, "POST /integrator/keys", {
        body: { name: "ERP", scopes: ["documents:read"] },
        headers: { "user-agent": "erp/1.0" },
      });
      const answer = await api(t, partner.key.token, "GET /audit");
      expect(answer.json["next_cursor"]).toBeNull();
      expect(rowsOf(answer)[0]).toEqual({
        id: expect.stringMatching(UUID),
        occurred_at: expect.stringMatching(INSTANT),
        actor_type: "api_key",
        actor_id: partner.key.id,
        event: "api_key.created",
        target_type: "api_key",
        target_id: made.json["id"],
        ip: "127.0.0.1",
        user_agent: "erp/1.0",
        metadata: { prefix: made.json["keyPrefix"], name: "ERP", scopes: ["documents:read"] },
      });
      expect(rowsOf(answer).map(({ event }) => event)).toEqual([
        "api_key.created",
        "jwt.issued",
        "api_key.created",
        "integrator.created",
      ]);
    });

    test("pages of the audit meet without a gap, and a forged or foreign cursor is 400", async () => {
      const [partner, other] = [await newPartner(t), await newPartner(t)];
      for (let i = 0; i < 3; i += 1) await tokenOf(t, partner.key);
      const all = rowsOf(await api(t, partner.key.token, "GET /audit"));
      const paged: unknown[] = [];
      let cursor = "";
      for (let page = 0; page < 10; page += 1) {
        const answer = await api(t, partner.key.token, `GET /audit?limit=2${cursor}`);
        paged.push(...rowsOf(answer));
        if (answer.json["next_cursor"] === null) break;
        cursor = `&cursor=${String(answer.json["next_cursor"])}`;
      }
      expect(paged).toEqual(all);
      expect((await api(t, other.key.token, `GET /audit?limit=2${cursor}`)).status).toBe(400);
      expect(faultOf(await api(t, partner.key.token, "GET /audit?cursor=AAAAAAAAAAAAAAAAAAAAAAAA"))).toEqual([
        400,
        "VALIDATION_ERROR",
      ]);
    });

    test("the audit is filtered by event, kind of actor and time", async () => {
      const partner = await newPartner(t);
      const events = async (query: string): Promise<unknown[]> =>
        rowsOf(await api(t, partner.key.token, `GET /audit?${query}`)).map(({ event }) => event);
      expect(await events("event=jwt.issued")).toEqual(["jwt.issued"]);
      expect(await events("actor_type=operator")).toEqual(["api_key.created", "integrator.created"]);
      expect(await events("since=2099-01-01T00:00:00Z")).toEqual([]);
      expect(await events("until=2001-01-01T00:00:00Z")).toEqual([]);
      for (const query of ["event=x", "actor_type=x", "since=yesterday", "limit=0", "limit=201"])
        expect((await api(t, partner.key.token, `GET /audit?${query}`)).status, query).toBe(400);
    });

    test("a firm sees what its integrator does with it, but not from which address", async () => {
      const [partner, client] = [await newPartner(t), await newClient(t)];
      await bindClient(t, partner, client);
      await issue(partner, { scopedFirmId: client.firmId });
      const key = await newFirmKey(t, client.firmId);
      const [row] = rowsOf(await api(t, key.token, "GET /audit?event=api_key.created&actor_type=api_key"));
      expect(row).toMatchObject({ actor_id: partner.key.id, ip: null, user_agent: null });
      const stranger = await newFirmKey(t, (await newClient(t)).firmId);
      expect(rowsOf(await api(t, stranger.token, "GET /audit?event=api_key.created&actor_type=api_key"))).toEqual([]);
    });

    // shapes.md §4: "Rows are append-only."
    test("the database refuses to change, delete or empty the audit", async () => {
      await newPartner(t);
      const { sql } = t.db;
      await expect(sql`update audit_entry set event = 'a.b'`).rejects.toThrow(/append-only/);
      await expect(sql`delete from audit_entry`).rejects.toThrow(/append-only/);
      await expect(sql`truncate audit_entry`).rejects.toThrow(/append-only/);
    });

    test("every change of a key and its tokens leaves an entry", async () => {
      const client = await newClient(t);
      const key = await newFirmKey(t, client.firmId);
      const post = (path: string, body: unknown): Promise<HttpAnswer> =>
        http("POST", `${t.sandbox.baseUrl}${path}`, { "content-type": "application/json" }, JSON.stringify(body));
      const pair = (
        await post("/auth/token", { grant_type: "client_credentials", client_id: key.id, client_secret: key.secret })
      ).json;
      const renew = { grant_type: "refresh_token", refresh_token: pair["refresh_token"] };
      const renewed = (await post("/auth/renew", renew)).json;
      await post("/auth/renew", renew);
      await post("/auth/revoke", { token: renewed["access_token"] });
      await api(t, key.token, "PUT /auth/ip-allowlist", { body: { ip_allowlist: [] } });
      const next = (await api(t, key.token, "POST /auth/rotate-secret")).json;
      const token = await accessToken(t.sandbox, {
        clientId: String(next["clientId"]),
        clientSecret: String(next["key"]),
      });
      const events = rowsOf(await api(t, token, "GET /audit")).map(({ event }) => event);
      expect(events.reverse()).toEqual([
        "firm.created",
        "api_key.created",
        "jwt.issued",
        "jwt.issued",
        "jwt.renewed",
        "refresh.reused",
        "jwt.revoked",
        "api_key.allowlist_changed",
        "api_key.rotated",
        "jwt.issued",
      ]);
    });
  });

  // shapes.md §1.4: "X-RateLimit-Limit/-Remaining/-Reset are read from successes too; Reset is Unix seconds. So send them on every Enterprise answer"
  test("every Enterprise answer says how many calls are left, refusals after the token too", async () => {
    const partner = await newPartner(t);
    for (const line of ["GET /auth/status", "GET /integrator/keys", "GET /account", "GET /documents/x/status"]) {
      const answer = await api(t, partner.key.token, line);
      expect(answer.headers.get("x-ratelimit-limit"), line).toBe("300");
      expect(Number(answer.headers.get("x-ratelimit-remaining")), line).toBeLessThan(300);
      expect(Number(answer.headers.get("x-ratelimit-reset")), line).toBeGreaterThan(systemClock.now() / 1000);
    }
  });
});

// enterprise.md, rule 4: "Issuance of scoped keys must be enabled by the operator"; Errors: FIRM_KEY_ISSUANCE_DISABLED
test("an operator who does not let keys be made for firms refuses them, and main keys are made all the same", async () => {
  const t = await startTestEngine({ config: { FIRM_KEY_ISSUANCE: "disabled" } });
  try {
    const [partner, client] = [await newPartner(t), await newClient(t)];
    await bindClient(t, partner, client);
    const issue = (body: unknown): Promise<HttpAnswer> => api(t, partner.key.token, "POST /integrator/keys", { body });
    expect(faultOf(await issue({ scopedFirmId: client.firmId }))).toEqual([403, "FIRM_KEY_ISSUANCE_DISABLED"]);
    expect(faultOf(await issue({ scopedFirmId: randomUUID() }))).toEqual([403, "FIRM_KEY_ISSUANCE_DISABLED"]);
    expect((await issue({})).status).toBe(201);
  } finally {
    await t.stop();
  }
});

// enterprise.md, POST /integrator/keys: "409 concurrent update"
test("a key is not made for a caller that has changed since its token was read", async () => {
  const t = await startTestEngine();
  try {
    const partner = await newPartner(t);
    const caller = { id: partner.key.id, generation: 7 };
    const ports = { sql: t.db.sql, clock: systemClock, environment: "sandbox" } as const;
    const owner = { integratorId: partner.integratorId };
    expect(await createKey(ports, { owner, scopes: ["documents:read"], issuer: caller })).toBe("caller_changed");
    const firmId = randomUUID() as FirmId;
    expect(await createKey(ports, { owner: { ...owner, scopedFirmId: firmId }, scopes: ["documents:read"] })).toBe(
      "not_bound",
    );
  } finally {
    await t.stop();
  }
});
