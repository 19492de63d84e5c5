/**
 * Tokens: get, renew, revoke, status, under both prefixes, each with exactly its own specification's fields; public
 * keys.
 * @source spec/sapi.md and spec/enterprise.md, Endpoints; spec/rulings.md, sections 3 and 4
 */
import { z } from "zod";

import { isoInstant } from "../../engine/base/clock.js";
import { Refusal } from "../../engine/base/errors.js";
import { actorOf } from "../../engine/identity/audit.js";
import type { Caller } from "../../engine/identity/caller.js";
import type { TokenDoor } from "../../engine/identity/tokens/credentials.js";
import type { Identity } from "../../engine/identity/identity.js";
import { tokenTimes } from "../../engine/identity/tokens/tokens.js";
import type { TokenPair } from "../../engine/identity/tokens/tokens.js";
import { LIMITS } from "../../engine/base/limits.js";
import { route } from "../contract/route.js";
import type { Route } from "../contract/route.js";

/** What the rows need of the engine. */
type TokenPorts = Pick<Identity, "issueTokens" | "renewTokens" | "revokeToken" | "jwks">;

const SAPI = { mounts: ["/sapi/v1", "/sapi"], family: "sapi", tag: "Authentication" } as const;
const ENTERPRISE = { mounts: ["/api/v1"], family: "auth", tag: "Authentication" } as const;
const ACCEPTS = ["json", "form"] as const;

/** Another value has an error code of its own, so the schema takes any; the documents show the one that is offered. */
const grantType = (offered: string) => ({ type: "string", enum: [offered] });

const tokenBody = z.object({
  grant_type: z
    .string()
    .min(1)
    .meta({ openapi: grantType("client_credentials") }),
  client_id: z.string().min(1).max(LIMITS.client_id_chars_max).describe("Id of the key, or its displayed prefix."),
  client_secret: z
    .string()
    .min(1)
    .max(LIMITS.client_secret_chars_max)
    .describe("The full sk_live_* or sk_int_* secret."),
  scope: z
    .string()
    .max(LIMITS.scope_chars_max)
    .optional()
    .describe("Space-separated subset of the key's scopes; all of them when absent."),
});

const refreshToken = z
  .string()
  .min(1)
  .max(LIMITS.refresh_token_chars_max)
  .describe("The newest refresh token; it is good once.");
const renewBody = z.object({
  grant_type: z
    .string()
    .min(1)
    .meta({ openapi: grantType("refresh_token") }),
  refresh_token: refreshToken,
});
const sapiRenewBody = z.object({
  grant_type: z
    .string()
    .min(1)
    .meta({ openapi: grantType("refresh_token") })
    .optional(),
  refresh_token: refreshToken,
});

const revokeBody = z.object({
  token: z.string().min(1).describe("An access token (a JWT) or a refresh token (rt_…); which of them is detected."),
  token_type_hint: z
    .string()
    .meta({ openapi: { type: "string", enum: ["access_token", "refresh_token"] } })
    .optional(),
});

const pair = z.object({
  access_token: z.string().describe("A JWT for the header Authorization: Bearer."),
  refresh_token: z.string().describe("Begins with rt_; good once, for 30 days."),
  token_type: z.literal("Bearer"),
  expires_in: z.number().int().describe("Seconds."),
});
const pairWithScope = pair.extend({ scope: z.string().describe("Space-separated scopes of the token.") });

const revoked = z.object({
  revoked: z.boolean(),
  success: z.boolean(),
  message: z.string(),
  timestamp: z.iso.datetime(),
});

const sapiStatus = z.object({
  valid: z.boolean(),
  token_type: z.literal("access"),
  client_id: z.uuid(),
  firm_id: z.uuid().nullable(),
  key_type: z.enum(["sk_live", "sk_int"]),
  scope: z.string(),
  issued_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
  refresh_recommended_at: z.iso.datetime(),
  expires_in_seconds: z.number().int(),
  should_refresh: z.boolean().describe("True in the last 3 minutes."),
});
const status = z.object({
  active: z.boolean(),
  expires_at: z.iso.datetime(),
  expires_in_seconds: z.number().int(),
  should_refresh: z.boolean().describe("True in the last 25 percent of the lifetime."),
  refresh_recommended_at: z.iso.datetime(),
  scope: z.string(),
  firm_id: z.uuid().nullable(),
  integrator_id: z.uuid().nullable(),
});

const jwks = z.object({
  keys: z.array(
    z.object({
      kty: z.literal("OKP"),
      crv: z.literal("Ed25519"),
      x: z.string(),
      kid: z.string(),
      alg: z.literal("EdDSA"),
      use: z.literal("sig"),
    }),
  ),
});

const pairOf = (tokens: TokenPair) => ({
  access_token: tokens.accessToken,
  refresh_token: tokens.refreshToken,
  token_type: "Bearer" as const,
  expires_in: tokens.expiresIn,
});
const pairWithScopeOf = (tokens: TokenPair) => ({ ...pairOf(tokens), scope: tokens.scopes.join(" ") });

function requireGrantType(given: string | undefined, expected: string): void {
  if (given === expected) return;
  throw new Refusal("GRANT_TYPE", [{ field: "grant_type", message: `Must be ${expected}.` }]);
}

const scopeOf = (caller: Caller): string => [...caller.scopes].join(" ");
const firmOf = (caller: Caller): string | null => caller.firmId ?? caller.scopedFirmId ?? null;

function sapiStatusOf(caller: Caller, now: number): z.input<typeof sapiStatus> {
  const times = tokenTimes(caller, "sapi", now);
  return {
    valid: true,
    token_type: "access",
    client_id: caller.keyId,
    firm_id: firmOf(caller),
    key_type: caller.keyType,
    scope: scopeOf(caller),
    issued_at: isoInstant(caller.issuedAt),
    expires_at: isoInstant(caller.expiresAt),
    refresh_recommended_at: isoInstant(times.refreshRecommendedAt),
    expires_in_seconds: times.expiresIn_s,
    should_refresh: times.shouldRefresh,
  };
}

function statusOf(caller: Caller, now: number): z.input<typeof status> {
  const times = tokenTimes(caller, "enterprise", now);
  return {
    active: true,
    expires_at: isoInstant(caller.expiresAt),
    expires_in_seconds: times.expiresIn_s,
    should_refresh: times.shouldRefresh,
    refresh_recommended_at: isoInstant(times.refreshRecommendedAt),
    scope: scopeOf(caller),
    firm_id: firmOf(caller),
    integrator_id: caller.integratorId ?? null,
  };
}

/** Errors of the token operations beyond those of the pipeline. */
const TOKEN_ERRORS = [
  "GRANT_TYPE",
  "CREDENTIALS_INVALID",
  "IP_NOT_ALLOWED",
  "SCOPE_NOT_ALLOWED",
  "CREDENTIALS_LOCKED",
  "TEMPORARY",
] as const;
const RENEW_ERRORS = ["GRANT_TYPE", "REFRESH_TOKEN_INVALID", "IP_NOT_ALLOWED", "TEMPORARY"] as const;

function tokenRoute(ports: TokenPorts, door: TokenDoor): Route {
  return route({
    ...(door === "sapi"
      ? ({ ...SAPI, operation: "sapiToken", rate: "sapi_token" } as const)
      : ({ ...ENTERPRISE, operation: "authToken", rate: "token" } as const)),
    method: "POST",
    path: "/auth/token",
    summary: "Exchange a secret for an access token and a refresh token",
    credential: "none",
    errors: TOKEN_ERRORS,
    request: { body: tokenBody, accepts: ACCEPTS },
    responses: {
      200: { description: "An access token for 15 minutes and a refresh token for 30 days.", schema: pairWithScope },
    },
    handler: async (request) => {
      const { body, address, receivedAt } = request;
      requireGrantType(body.grant_type, "client_credentials");
      const tokens = await ports.issueTokens({
        clientId: body.client_id,
        clientSecret: body.client_secret,
        scope: body.scope,
        door,
        address,
        userAgent: request.header("user-agent"),
        receivedAt,
      });
      return { status: 200, body: pairWithScopeOf(tokens) };
    },
  });
}

function sapiRenewRoute(ports: TokenPorts): Route {
  return route({
    ...SAPI,
    operation: "sapiRenew",
    method: "POST",
    path: "/auth/renew",
    summary: "Exchange a refresh token for the next pair",
    credential: "none",
    rate: "sapi_renew",
    errors: RENEW_ERRORS,
    request: { body: sapiRenewBody, accepts: ACCEPTS },
    responses: { 200: { description: "The next pair; the refresh token that was sent is used up.", schema: pair } },
    handler: async (request) => {
      const { body, address, receivedAt } = request;
      if (body.grant_type !== undefined) requireGrantType(body.grant_type, "refresh_token");
      const tokens = await ports.renewTokens({
        refreshToken: body.refresh_token,
        address,
        userAgent: request.header("user-agent"),
        receivedAt,
      });
      return { status: 200, body: pairOf(tokens) };
    },
  });
}

function renewRoute(ports: TokenPorts): Route {
  return route({
    ...ENTERPRISE,
    operation: "authRenew",
    method: "POST",
    path: "/auth/renew",
    summary: "Exchange a refresh token for the next pair",
    credential: "none",
    rate: "renew",
    errors: RENEW_ERRORS,
    request: { body: renewBody, accepts: ACCEPTS },
    responses: {
      200: { description: "The next pair; the refresh token that was sent is used up.", schema: pairWithScope },
    },
    handler: async (request) => {
      const { body, address, receivedAt } = request;
      requireGrantType(body.grant_type, "refresh_token");
      const tokens = await ports.renewTokens({
        refreshToken: body.refresh_token,
        address,
        userAgent: request.header("user-agent"),
        receivedAt,
      });
      return { status: 200, body: pairWithScopeOf(tokens) };
    },
  });
}

function revokeRoute(ports: TokenPorts, door: TokenDoor): Route {
  return route({
    ...(door === "sapi"
      ? ({ ...SAPI, operation: "sapiRevoke", rate: "sapi_renew" } as const)
      : ({ ...ENTERPRISE, operation: "authRevoke", rate: "renew" } as const)),
    method: "POST",
    path: "/auth/revoke",
    summary: "End a token before its time",
    credential: "none",
    errors: ["TEMPORARY"],
    request: { body: revokeBody, accepts: ACCEPTS },
    responses: { 200: { description: "The token is of no use any more, whatever it was.", schema: revoked } },
    handler: async (request) => {
      const { body, receivedAt } = request;
      await ports.revokeToken(body.token, receivedAt, actorOf(request));
      return {
        status: 200,
        body: { revoked: true, success: true, message: "The token is revoked.", timestamp: isoInstant(receivedAt) },
      };
    },
  });
}

const sapiStatusRoute = (): Route =>
  route({
    ...SAPI,
    operation: "sapiTokenStatus",
    method: "GET",
    path: "/auth/token/status",
    summary: "What the access token is and how long it lasts",
    credential: "bearer",
    rate: "sapi",
    errors: [],
    responses: { 200: { description: "The token that the call was made with.", schema: sapiStatus } },
    handler: ({ caller, receivedAt }) => ({ status: 200, body: sapiStatusOf(caller, receivedAt) }),
  });

const statusRoute = (): Route =>
  route({
    ...ENTERPRISE,
    operation: "authTokenStatus",
    method: "GET",
    path: "/auth/token/status",
    summary: "What the access token is and how long it lasts",
    credential: "bearer",
    rate: "enterprise",
    errors: [],
    responses: { 200: { description: "The token that the call was made with.", schema: status } },
    handler: ({ caller, receivedAt }) => ({ status: 200, body: statusOf(caller, receivedAt) }),
  });

const JWKS_MAX_AGE_S = LIMITS.signing_key_published_before_ms / 1000 / 4;

const jwksRoute = (ports: TokenPorts): Route =>
  route({
    operation: "jwks",
    method: "GET",
    path: "/.well-known/jwks.json",
    mounts: [""],
    family: "public",
    tag: "Authentication",
    summary: "Public keys of access tokens",
    credential: "none",
    errors: [],
    responses: {
      200: { description: "Keys that sign, will sign, or signed tokens that are still good.", schema: jwks },
    },
    // A quarter of the time for which a key is published before it signs: whoever caches still has it in time.
    handler: () => ({
      status: 200,
      body: { keys: [...ports.jwks().keys] },
      headers: { "Cache-Control": `public, max-age=${JWKS_MAX_AGE_S}` },
    }),
  });

export const authRoutes = (ports: TokenPorts): readonly Route[] => [
  tokenRoute(ports, "sapi"),
  tokenRoute(ports, "enterprise"),
  sapiRenewRoute(ports),
  renewRoute(ports),
  revokeRoute(ports, "sapi"),
  revokeRoute(ports, "enterprise"),
  sapiStatusRoute(),
  statusRoute(),
  jwksRoute(ports),
];
