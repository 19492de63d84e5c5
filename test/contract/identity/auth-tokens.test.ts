/**
 * The token operations as the two specifications' tables write them, over HTTP on both forms of the server and a real Postgres.
 * Each test quotes the line it holds. @source spec/sapi.md; spec/enterprise.md; spec/rulings.md, sections 3 and 4
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { Identity } from "../../../engine/identity/identity.js";
import { newSecret } from "../../../engine/identity/tokens/secrets.js";
import { createAuthPorts } from "../../../gateway/request/auth.js";
import { createRateLimiter } from "../../../gateway/request/rate-limit.js";
import { authRoutes } from "../../../gateway/routes/auth.js";
import { fakeClock } from "../../support/fake-clock.js";
import { serverForms, startGateway } from "../../support/engines/gateway.js";
import type { TestGateway } from "../../support/engines/gateway.js";
import { bind, makeFirm, makeIntegrator, makeKey, startNode } from "../../support/callers/identity.js";
import type { TestFirm } from "../../support/callers/identity.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";

type Json = Record<string, unknown>;
interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
}

const SAPI = ["/sapi/v1", "/sapi"] as const;
const ENTERPRISE = "/api/v1";
const DOORS = [...SAPI, ENTERPRISE] as const;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

describe.each(serverForms)("the %s form", (form) => {
  let db: TestDatabase;
  let node: Identity;
  let gateway: TestGateway;
  let firm: TestFirm;
  const clock = fakeClock();

  beforeAll(async () => {
    db = await freshDatabase();
    node = await startNode(db, { clock });
    const limiter = createRateLimiter({ clock });
    gateway = await startGateway(form, authRoutes(node), {
      ports: { ...createAuthPorts(node, undefined), admit: limiter.admit, clock },
    });
    firm = await makeFirm(db, clock);
  });
  afterAll(async () => {
    await gateway.stop();
    await node.stop();
    await db.drop();
  });

  const send = async (
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: string,
  ): Promise<Answer> => {
    // A step of the clock between requests keeps the rate limits out of tests that are not about them.
    clock.advance(1_100);
    const response = await fetch(`${gateway.origin}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === "" ? {} : (JSON.parse(text) as Json) };
  };
  const post = (path: string, body: Json, headers: Record<string, string> = {}): Promise<Answer> =>
    send("POST", path, { "content-type": "application/json", ...headers }, JSON.stringify(body));
  const credentials = (of: TestFirm = firm): Json => ({
    grant_type: "client_credentials",
    client_id: of.key.id,
    client_secret: of.key.secret,
  });
  const token = async (door: string, of?: TestFirm): Promise<Json> =>
    (await post(`${door}/auth/token`, credentials(of))).body;
  const status = (door: string, accessToken: unknown): Promise<Answer> =>
    send("GET", `${door}/auth/token/status`, { authorization: `Bearer ${String(accessToken)}` });
  const errorOf = (answer: Answer): Json => answer.body["error"] as Json;
  /** Status and code. */
  const fault = (answer: Answer): [number, unknown] => [answer.status, errorOf(answer)["code"]];

  describe("POST /auth/token", () => {
    // sapi.md, Token response: "access_token (JWT), refresh_token (prefix rt_), token_type (Bearer), expires_in (900), scope (returned on token, not on renew)"
    // enterprise.md, Token response: "access_token (JWT), token_type (Bearer), expires_in (900), refresh_token (prefix rt_), scope"
    test.each(DOORS)("%s: 200 token response", async (door) => {
      const answer = await post(`${door}/auth/token`, credentials());
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        access_token: expect.stringMatching(/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/),
        refresh_token: expect.stringMatching(/^rt_/),
        token_type: "Bearer",
        expires_in: 900,
        scope: "documents:send documents:read documents:write webhooks:read webhooks:write account:read",
      });
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.headers.get("x-request-id")).toMatch(UUID);
    });

    // enterprise.md: "JSON or application/x-www-form-urlencoded"
    test.each(DOORS)("%s: form encoding is read as JSON is", async (door) => {
      const form = new URLSearchParams(credentials() as Record<string, string>).toString();
      expect(
        (await send("POST", `${door}/auth/token`, { "content-type": "application/x-www-form-urlencoded" }, form))
          .status,
      ).toBe(200);
    });

    // sapi.md: client_id "id or prefix of the issued firm or integrator key"; enterprise.md: "(must match the key row UUID or the displayed key prefix; never the secret)"
    test.each(DOORS)("%s: client_id is the key's id or its displayed prefix, never the secret", async (door) => {
      expect((await post(`${door}/auth/token`, { ...credentials(), client_id: firm.key.prefix })).status).toBe(200);
      const answer = await post(`${door}/auth/token`, { ...credentials(), client_id: firm.key.secret });
      expect(answer.status).toBe(401);
      expect(JSON.stringify(answer.body)).not.toContain(firm.key.secret);
    });

    // sapi.md: client_secret "full sk_live_* or sk_int_* secret"
    test("central and scoped sk_int_* keys get tokens too", async () => {
      const partner = await makeIntegrator(db, clock);
      await bind(db, clock, partner.integratorId, firm.firmId);
      const scoped = await makeKey(db, clock, {
        owner: { integratorId: partner.integratorId, scopedFirmId: firm.firmId },
        scopes: ["documents:send"],
      });
      for (const key of [partner.key, scoped])
        expect((await token("/sapi/v1", { ...firm, key }))["token_type"]).toBe("Bearer");
    });

    // sapi.md: scope "space-separated subset of the allowed scopes"
    test.each(DOORS)("%s: scope narrows the token", async (door) => {
      const answer = await post(`${door}/auth/token`, { ...credentials(), scope: "documents:read documents:send" });
      expect([answer.status, answer.body["scope"]]).toEqual([200, "documents:send documents:read"]);
    });

    // sapi.md: "400 invalid grant_type"; enterprise.md: "400 invalid grant_type or malformed body"
    test.each<[string, unknown]>([
      ["/sapi/v1", "VALIDATION"],
      ["/sapi", "VALIDATION"],
      [ENTERPRISE, "UNSUPPORTED_GRANT_TYPE"],
    ])("%s: 400 for another grant_type", async (door, code) => {
      for (const grant_type of ["password", "refresh_token", "CLIENT_CREDENTIALS", "client_credentials "]) {
        expect(fault(await post(`${door}/auth/token`, { ...credentials(), grant_type }))).toEqual([400, code]);
      }
    });

    test.each<[string, unknown]>([
      ["/sapi/v1", "VALIDATION"],
      [ENTERPRISE, "INVALID_REQUEST"],
    ])("%s: 400 for a member that is missing or no text, and for a body that is no object", async (door, code) => {
      for (const member of ["grant_type", "client_id", "client_secret"]) {
        for (const value of [undefined, null, 7, "", ["a"], {}]) {
          const answer = await post(`${door}/auth/token`, { ...credentials(), [member]: value });
          expect([member, value, ...fault(answer)]).toEqual([member, value, 400, code]);
          expect(errorOf(answer)["details"]).toEqual([expect.objectContaining({ field: member })]);
        }
      }
      for (const body of [
        "",
        "[]",
        "null",
        '"x"',
        "{",
        '{"grant_type":"client_credentials","grant_type":"password"}',
      ]) {
        expect([
          body,
          (await send("POST", `${door}/auth/token`, { "content-type": "application/json" }, body)).status,
        ]).toEqual([body, 400]);
      }
    });

    // sapi.md, Errors: 401 AUTH "credentials do not match, key disabled, demo key on a production host"; enterprise.md: "401 invalid credentials"
    test.each<[string, unknown]>([
      ["/sapi/v1", "AUTH"],
      [ENTERPRISE, "INVALID_CREDENTIALS"],
    ])(
      "%s: 401 for a secret that does not match, a disabled key, a secret of the other environment",
      async (door, code) => {
        const disabled = await makeFirm(db, clock);
        await node.deactivateKey(disabled.key.id);
        const wrong = { ...credentials(), client_secret: newSecret("sk_live", "sandbox") };
        const production = { ...credentials(), client_secret: newSecret("sk_live", "production") };
        const answers = [
          await post(`${door}/auth/token`, wrong),
          await post(`${door}/auth/token`, credentials(disabled)),
          await post(`${door}/auth/token`, production),
        ];
        const shown = (answer: Answer): Json => ({ ...errorOf(answer), correlation_id: "", requestId: "" });
        for (const answer of answers) {
          expect(fault(answer)).toEqual([401, code]);
          expect(shown(answer)).toEqual(shown(answers[0] ?? answer));
        }
        clock.advance(3_600_000);
      },
    );

    // sapi.md: "403 IP not allowed"
    test.each<[string, unknown]>([
      ["/sapi/v1", "FORBIDDEN"],
      [ENTERPRISE, "IP_NOT_ALLOWED"],
    ])("%s: 403 from an address that the key does not allow", async (door, code) => {
      const elsewhere = await makeFirm(db, clock, { ipAllowlist: ["192.0.2.0/24"] });
      expect(fault(await post(`${door}/auth/token`, credentials(elsewhere)))).toEqual([403, code]);
      const here = await makeFirm(db, clock, { ipAllowlist: ["127.0.0.1"] });
      expect((await post(`${door}/auth/token`, credentials(here))).status).toBe(200);
    });

    // enterprise.md: "403 requested scope not allowed"
    test.each<[string, unknown]>([
      ["/sapi/v1", "FORBIDDEN"],
      [ENTERPRISE, "SCOPE_NOT_ALLOWED"],
    ])("%s: 403 for a scope that the key does not have", async (door, code) => {
      for (const scope of ["keys:manage", "documents:send nonsense"])
        expect(fault(await post(`${door}/auth/token`, { ...credentials(), scope }))).toEqual([403, code]);
    });

    // sapi.md, Errors: "423 | LOCKED | account locked after 5 failed attempts in 10 minutes"; enterprise.md, Limits: "5 within 15 minutes (then 423)"
    test.each<[string, string, unknown, number]>([
      ["/sapi/v1", "AUTH", "LOCKED", 600],
      [ENTERPRISE, "INVALID_CREDENTIALS", "CREDENTIALS_LOCKED", 900],
    ])(
      "%s: five failures are 401, the sixth is 423 with Retry-After; a valid secret stays usable",
      async (door, before, code, window_s) => {
        const guessed = await makeFirm(db, clock);
        const wrong = { ...credentials(guessed), client_secret: newSecret("sk_live", "sandbox") };
        for (let i = 0; i < 5; i += 1) expect(fault(await post(`${door}/auth/token`, wrong))).toEqual([401, before]);
        const locked = await post(`${door}/auth/token`, wrong);
        expect(fault(locked)).toEqual([423, code]);
        expect(Number(locked.headers.get("retry-after"))).toBeGreaterThan(window_s - 10);
        expect(Number(locked.headers.get("retry-after"))).toBeLessThanOrEqual(window_s);
        expect((await post(`${door}/auth/token`, credentials(guessed))).status).toBe(200);
        clock.advance(window_s * 1_000);
        expect(fault(await post(`${door}/auth/token`, wrong))).toEqual([401, before]);
      },
    );

    // rulings.md §4: "token endpoint 60 per 60 s per client id and address"; enterprise.md, Limits: auth endpoints return X-RateLimit-* on success and on 429
    test.each<[string, boolean]>([
      ["/sapi/v1", false],
      [ENTERPRISE, true],
    ])("%s: 60 in 60 s pass, the 61st is 429", async (door, always) => {
      const busy = await makeFirm(db, clock);
      const once = async (): Promise<Answer> => {
        const response = await fetch(`${gateway.origin}${door}/auth/token`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(credentials(busy)),
        });
        return { status: response.status, headers: response.headers, body: (await response.json()) as Json };
      };
      for (let i = 0; i < 60; i += 1) {
        const answer = await once();
        expect(answer.status).toBe(200);
        expect(answer.headers.get("x-ratelimit-limit")).toBe(always ? "60" : null);
        expect(answer.headers.get("x-ratelimit-remaining")).toBe(always ? String(59 - i) : null);
      }
      const limited = await once();
      expect(fault(limited)).toEqual([429, "RATE_LIMITED"]);
      for (const name of ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "retry-after"])
        expect(limited.headers.get(name)).toMatch(/^\d+$/);
      expect(
        (await db.sql`select count(*)::int as count from refresh_family where key_id = ${busy.key.id}`)[0]?.["count"],
      ).toBe(60);
    });
  });

  describe("POST /auth/renew", () => {
    const renew = (
      door: string,
      refreshToken: unknown,
      more: Json = { grant_type: "refresh_token" },
      headers: Record<string, string> = {},
    ): Promise<Answer> => post(`${door}/auth/renew`, { ...more, refresh_token: refreshToken }, headers);

    // sapi.md: "200 new pair (rotation)"; Token response: scope "not on renew". enterprise.md: "200 new access token (15 minutes) and new refresh token (30 days)"
    test.each<[string, boolean]>([
      ["/sapi/v1", false],
      ["/sapi", false],
      [ENTERPRISE, true],
    ])("%s: 200 new pair", async (door, withScope) => {
      const first = await token(door);
      const answer = await renew(door, first["refresh_token"]);
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        access_token: expect.stringMatching(/^eyJ/),
        refresh_token: expect.stringMatching(/^rt_/),
        token_type: "Bearer",
        expires_in: 900,
        ...(withScope ? { scope: first["scope"] } : {}),
      });
      expect(answer.body["refresh_token"]).not.toBe(first["refresh_token"]);
      expect((await status(door, answer.body["access_token"])).status).toBe(200);
    });

    // sapi.md: "401 invalid or replayed"; enterprise.md: "401 invalid, expired or already consumed"
    test.each<[string, unknown]>([
      ["/sapi/v1", "AUTH"],
      [ENTERPRISE, "INVALID_REFRESH_TOKEN"],
    ])("%s: 401 for a used, an unknown and an expired refresh token", async (door, code) => {
      const first = await token(door);
      const second = (await renew(door, first["refresh_token"])).body;
      expect(fault(await renew(door, first["refresh_token"]))).toEqual([401, code]);
      // rulings.md §4: "Reuse of a consumed refresh token is 401 and revokes its family."
      expect(fault(await renew(door, second["refresh_token"]))).toEqual([401, code]);
      expect(fault(await renew(door, `rt_${"a".repeat(65)}`))).toEqual([401, code]);
      expect(fault(await renew(door, "garbage"))).toEqual([401, code]);
      const old = await token(door);
      clock.advance(30 * 86_400_000);
      expect(fault(await renew(door, old["refresh_token"]))).toEqual([401, code]);
    });

    // rulings.md §4: "On /sapi a missing grant_type on renew is accepted; on /api/v1 it is 400."
    test("a missing grant_type is accepted on /sapi and 400 on /api/v1; another one is 400 everywhere", async () => {
      for (const door of SAPI) expect((await renew(door, (await token(door))["refresh_token"], {})).status).toBe(200);
      const pair = await token(ENTERPRISE);
      expect(fault(await renew(ENTERPRISE, pair["refresh_token"], {}))).toEqual([400, "INVALID_REQUEST"]);
      expect(fault(await renew(ENTERPRISE, pair["refresh_token"], { grant_type: "client_credentials" }))).toEqual([
        400,
        "UNSUPPORTED_GRANT_TYPE",
      ]);
      expect(fault(await renew("/sapi/v1", pair["refresh_token"], { grant_type: "client_credentials" }))).toEqual([
        400,
        "VALIDATION",
      ]);
      expect((await renew(ENTERPRISE, pair["refresh_token"])).status).toBe(200);
    });

    // enterprise.md: "400 missing or malformed"
    test.each([...DOORS])("%s: 400 without a refresh token", async (door) => {
      for (const value of [undefined, "", 7, null]) expect((await renew(door, value)).status).toBe(400);
    });

    // rulings.md §4: "Renew ignores an Authorization header"
    test.each([...DOORS])("%s: an Authorization header is not looked at", async (door) => {
      const pair = await token(door);
      expect(
        (
          await renew(
            door,
            pair["refresh_token"],
            { grant_type: "refresh_token" },
            { authorization: "Bearer nonsense" },
          )
        ).status,
      ).toBe(200);
    });

    // enterprise.md, Limits: "Auth endpoints … return X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset on success and on 429"
    test("rate-limit headers come always on /api/v1 and only on 429 on /sapi/v1", async () => {
      for (const [door, present] of [
        [ENTERPRISE, true],
        ["/sapi/v1", false],
      ] as const) {
        const answer = await renew(door, (await token(door))["refresh_token"]);
        for (const name of ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"])
          expect(answer.headers.has(name)).toBe(present);
      }
    });
  });

  describe("POST /auth/revoke", () => {
    // rulings.md §4: "Revoke answers {revoked, success, message, timestamp}." sapi.md: "200 always, including already revoked; idempotent."
    test.each([...DOORS])(
      "%s: an access token is refused from the next request, and revoking it again is the same",
      async (door) => {
        const pair = await token(door);
        expect((await status(door, pair["access_token"])).status).toBe(200);
        for (const hint of [undefined, "access_token", "refresh_token", "nonsense"]) {
          const answer = await post(`${door}/auth/revoke`, { token: pair["access_token"], token_type_hint: hint });
          expect(answer.status).toBe(200);
          expect(answer.body).toEqual({
            revoked: true,
            success: true,
            message: expect.any(String),
            timestamp: expect.stringMatching(INSTANT),
          });
          for (const each of DOORS) expect((await status(each, pair["access_token"])).status).toBe(401);
        }
        expect(
          (await post(`${door}/auth/renew`, { grant_type: "refresh_token", refresh_token: pair["refresh_token"] }))
            .status,
        ).toBe(200);
      },
    );

    // enterprise.md: "Type is auto-detected: a JWT starts with eyJ and a refresh token with rt_"; "Revoking a refresh token deletes its state."
    test.each([...DOORS])("%s: a refresh token renews nothing any more", async (door) => {
      const pair = await token(door);
      expect(
        (await post(`${door}/auth/revoke`, { token: pair["refresh_token"], token_type_hint: "access_token" })).status,
      ).toBe(200);
      expect(
        (await post(`${door}/auth/renew`, { grant_type: "refresh_token", refresh_token: pair["refresh_token"] }))
          .status,
      ).toBe(401);
      expect((await post(`${door}/auth/revoke`, { token: pair["refresh_token"] })).status).toBe(200);
    });

    // enterprise.md: "Always 200 with revoked (boolean), including for already invalid tokens."
    test.each([...DOORS])("%s: 200 for whatever is no token", async (door) => {
      for (const value of [
        "x",
        "eyJ.eyJ.x",
        `rt_${"b".repeat(65)}`,
        "eyJhbGciOiJub25lIn0.e30.",
        "é".repeat(100),
        "a".repeat(10_000),
      ]) {
        const answer = await post(`${door}/auth/revoke`, { token: value });
        expect([answer.status, answer.body["revoked"]]).toEqual([200, true]);
      }
    });

    // enterprise.md: "400 when token is missing"
    test.each<[string, unknown]>([
      ["/sapi/v1", "VALIDATION"],
      [ENTERPRISE, "INVALID_REQUEST"],
    ])("%s: 400 when token is missing", async (door, code) => {
      for (const body of [{}, { token: "" }, { token: 7 }, { token_type_hint: "access_token" }])
        expect(fault(await post(`${door}/auth/revoke`, body))).toEqual([400, code]);
    });

    test("a token forged in another's name revokes nothing", async () => {
      const pair = await token("/sapi/v1");
      const [header = "", claims = ""] = String(pair["access_token"]).split(".");
      await post("/sapi/v1/auth/revoke", { token: `${header}.${claims}.${"A".repeat(86)}` });
      expect((await status("/sapi/v1", pair["access_token"])).status).toBe(200);
    });
  });

  describe("GET /auth/token/status", () => {
    // sapi.md, Token status response: exactly these fields
    test.each([...SAPI])("%s: the SAPI fields", async (door) => {
      const pair = await token(door);
      const answer = await status(door, pair["access_token"]);
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        valid: true,
        token_type: "access",
        client_id: firm.key.id,
        firm_id: firm.firmId,
        key_type: "sk_live",
        scope: pair["scope"],
        issued_at: expect.stringMatching(/Z$/),
        expires_at: expect.stringMatching(/Z$/),
        refresh_recommended_at: expect.stringMatching(/Z$/),
        expires_in_seconds: expect.any(Number),
        should_refresh: false,
      });
      const at = (name: string): number => Date.parse(String(answer.body[name]));
      expect(at("expires_at") - at("issued_at")).toBe(900_000);
      expect(at("expires_at") - at("refresh_recommended_at")).toBe(180_000);
    });

    // enterprise.md, Token status: exactly these fields
    test("/api/v1: the Enterprise fields", async () => {
      const pair = await token(ENTERPRISE);
      const answer = await status(ENTERPRISE, pair["access_token"]);
      expect(answer.body).toEqual({
        active: true,
        expires_at: expect.stringMatching(INSTANT),
        expires_in_seconds: expect.any(Number),
        should_refresh: false,
        refresh_recommended_at: expect.stringMatching(INSTANT),
        scope: pair["scope"],
        firm_id: firm.firmId,
        integrator_id: null,
      });
      expect(
        Date.parse(String(answer.body["expires_at"])) - Date.parse(String(answer.body["refresh_recommended_at"])),
      ).toBe(225_000);
      for (const name of ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"])
        expect(answer.headers.has(name)).toBe(true);
    });

    test("a central key has no firm; a scoped key has its own", async () => {
      const partner = await makeIntegrator(db, clock);
      await bind(db, clock, partner.integratorId, firm.firmId);
      const scoped = await makeKey(db, clock, {
        owner: { integratorId: partner.integratorId, scopedFirmId: firm.firmId },
        scopes: ["documents:send"],
      });
      for (const [key, firmId] of [
        [partner.key, null],
        [scoped, firm.firmId],
      ] as const) {
        const pair = await token(ENTERPRISE, { ...firm, key });
        expect((await status(ENTERPRISE, pair["access_token"])).body).toMatchObject({
          firm_id: firmId,
          integrator_id: partner.integratorId,
        });
        expect((await status("/sapi/v1", pair["access_token"])).body).toMatchObject({
          firm_id: firmId,
          key_type: "sk_int",
          client_id: key.id,
        });
      }
    });

    // sapi.md: should_refresh "becomes true about 3 minutes before expiry"; enterprise.md: "true within the last 25 percent of the access-token lifetime"
    test("the advice to refresh comes 3 minutes before the end on SAPI, 225 seconds before it on Enterprise", async () => {
      const pair = await token(ENTERPRISE);
      const advice = async (door: string): Promise<unknown> =>
        (await status(door, pair["access_token"])).body["should_refresh"];
      clock.advance(660_000);
      expect([await advice("/sapi/v1"), await advice(ENTERPRISE)]).toEqual([false, false]);
      clock.advance(15_000);
      expect([await advice("/sapi/v1"), await advice(ENTERPRISE)]).toEqual([false, true]);
      clock.advance(45_000);
      expect([await advice("/sapi/v1"), await advice(ENTERPRISE)]).toEqual([true, true]);
      clock.advance(180_000);
      expect((await status("/sapi/v1", pair["access_token"])).status).toBe(401);
    });

    // rulings.md §4: "One token works on /api/v1 and /sapi/v1 alike, wherever it was minted."
    test("a token minted at one prefix works at every other", async () => {
      for (const minted of DOORS) {
        const pair = await token(minted);
        for (const used of DOORS) expect((await status(used, pair["access_token"])).status).toBe(200);
      }
    });

    // sapi.md, Errors: 401 AUTH "token invalid or expired"; enterprise.md, Errors: "401 | missing or invalid token or key"
    test.each<[string, unknown]>([
      ["/sapi/v1", "AUTH"],
      [ENTERPRISE, "INVALID_TOKEN"],
    ])("%s: 401 without a token, with a secret as token, with nonsense", async (door, code) => {
      for (const authorization of [
        undefined,
        "",
        "Bearer",
        "Bearer ",
        "Basic eA==",
        `Bearer ${firm.key.secret}`,
        "Bearer a.b.c",
      ]) {
        const answer = await send(
          "GET",
          `${door}/auth/token/status`,
          authorization === undefined ? {} : { authorization },
        );
        expect([authorization, ...fault(answer)]).toEqual([authorization, 401, code]);
        expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer/);
      }
    });

    test("an allowlist set after the token was issued holds at the next request", async () => {
      const moved = await makeFirm(db, clock);
      const pair = await token("/sapi/v1", moved);
      expect((await status("/sapi/v1", pair["access_token"])).status).toBe(200);
      await node.replaceIpAllowlist(moved.key.id, ["192.0.2.0/24"]);
      expect(fault(await status("/sapi/v1", pair["access_token"]))).toEqual([403, "FORBIDDEN"]);
      expect(fault(await status(ENTERPRISE, pair["access_token"]))).toEqual([403, "IP_NOT_ALLOWED"]);
    });
  });

  describe("error bodies", () => {
    // rulings.md §3: SAPI {error:{category, code, message, retryable, correlation_id, requestId, details?}}
    test("an error body of SAPI's auth family has category, code, message, retryable, correlation_id and requestId", async () => {
      const answer = await status("/sapi/v1", "x");
      expect(answer.body).toEqual({
        error: {
          category: "AUTH",
          code: "AUTH",
          message: expect.any(String),
          retryable: false,
          correlation_id: answer.headers.get("x-request-id"),
          requestId: answer.headers.get("x-request-id"),
        },
      });
    });

    // rulings.md §3: auth family {error:{category, code, message, retryable, correlation_id, details?}}
    test("an error body of the Enterprise auth family has category, code, message, retryable and correlation_id", async () => {
      const answer = await status(ENTERPRISE, "x");
      expect(answer.body).toEqual({
        error: {
          category: "AUTH",
          code: "INVALID_TOKEN",
          message: expect.any(String),
          retryable: false,
          correlation_id: answer.headers.get("x-request-id"),
        },
      });
    });
  });

  // rulings.md §4: "public keys at /.well-known/jwks.json"
  test("GET /.well-known/jwks.json lists the public keys and nothing private", async () => {
    const answer = await send("GET", "/.well-known/jwks.json", {});
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual(node.jwks());
    expect(answer.headers.get("cache-control")).toMatch(/^public, max-age=\d+$/);
    expect(JSON.stringify(answer.body)).not.toContain('"d"');
  });
});
