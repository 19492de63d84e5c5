/**
 * The token operations: a secret becomes a pair of tokens, a refresh token becomes the next pair, a token ends early.
 */
import type { Clock, Instant } from "../../base/clock.js";
import { Refusal } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import type { Metrics } from "../../base/metrics.js";
import type { Scope } from "../../base/scopes.js";
import { findKey } from "../../storage/identity/keys.js";
import type { KeyRow } from "../../storage/identity/keys.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import {
  deleteRefreshFamily,
  findRefreshFamily,
  openRefreshFamily,
  rotateRefreshFamily,
} from "../../storage/identity/tokens.js";
import { signAccessToken, verifyAccessToken } from "./access-tokens.js";
import type { TokenAudience } from "./access-tokens.js";
import { isAddressAllowed } from "../allowlist.js";
import { stampOf } from "../audit.js";
import type { Actor } from "../audit.js";
import type { Caller } from "../caller.js";
import { authenticateClient } from "./credentials.js";
import type { ClientCredentials, TokenDoor } from "./credentials.js";
import type { Revocations } from "./revocations.js";
import { knownScopes, requestedScopes } from "../scopes.js";
import { digestsEqual, newRefreshToken, parseRefreshToken } from "./secrets.js";
import type { SigningKeys } from "./signing-keys.js";

/** What issuing tokens needs of the engine. */
export interface TokenWorkPorts {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly audience: TokenAudience;
  readonly signingKeys: SigningKeys;
  readonly revocations: Revocations;
}

/** An access token and the refresh token that renews it once. */
export interface TokenPair {
  readonly accessToken: string;
  readonly refreshToken: string;
  /** Seconds. */
  readonly expiresIn: number;
  readonly scopes: readonly Scope[];
}

/** A request for tokens, as either interface passes it on. */
export interface TokenRequest extends ClientCredentials {
  /** Space-separated; all scopes of the key when absent or empty. */
  readonly scope: string | undefined;
  readonly door: TokenDoor;
  /** Of the client. */
  readonly address: string;
  /** What the client calls itself, for the audit. */
  readonly userAgent?: string | undefined;
  readonly receivedAt: Instant;
}

/** A request for the next pair. */
export interface RenewRequest {
  readonly refreshToken: string;
  /** Of the client. */
  readonly address: string;
  /** What the client calls itself, for the audit. */
  readonly userAgent?: string | undefined;
  readonly receivedAt: Instant;
}

/** Whoever holds a secret or a refresh token acts as its key. */
const holder = (request: { readonly address: string; readonly userAgent?: string | undefined }): Actor => ({
  type: "api_key",
  id: null,
  address: request.address,
  userAgent: request.userAgent ?? null,
});

/**
 * Exchanges a secret for an access token of 900 s and a refresh token of 30 days.
 * @throws Refusal CREDENTIALS_INVALID, CREDENTIALS_LOCKED, IP_NOT_ALLOWED, SCOPE_NOT_ALLOWED, TEMPORARY
 * @source spec/sapi.md and spec/enterprise.md, POST /auth/token
 */
export async function issueTokens(ports: TokenWorkPorts, request: TokenRequest): Promise<TokenPair> {
  const { sql, clock, metrics } = ports;
  const now = request.receivedAt;
  let key: KeyRow | undefined;
  try {
    const keyId = await authenticateClient(
      { sql, clock, environment: ports.audience.environment },
      request,
      request.door,
      now,
    );
    key = await orTemporary(findKey(sql, keyId));
    if (key === undefined || !key.active) throw new Refusal("CREDENTIALS_INVALID");
  } catch (error) {
    if (error instanceof Refusal && error.reason !== "TEMPORARY")
      metrics.count("credentials_failed_total", { prefix: request.door });
    throw error;
  }
  assertAddress(key, request.address);
  const scopes = requestedScopes(request.scope, key.scopes);
  const { token: refreshToken, digests } = newRefreshToken();
  const opened = await orTemporary(
    openRefreshFamily(
      sql,
      {
        familySha256: digests.familySha256,
        currentSha256: digests.tokenSha256,
        keyId: key.id,
        generation: key.generation,
        scopes,
        expiresAt: now + LIMITS.token_refresh_s * 1000,
        audit: stampOf(holder(request), clock),
      },
      now,
    ),
  );
  if (!opened) throw new Refusal("CREDENTIALS_INVALID");
  return pairOf(ports, key, { scopes, refreshToken, now });
}

/**
 * Exchanges a refresh token for the next pair. A token is good once; a second use ends its whole family, because either
 * the client or a thief holds a copy.
 * @throws Refusal REFRESH_TOKEN_INVALID, IP_NOT_ALLOWED, TEMPORARY
 * @source spec/rulings.md, section 4; design/reliability.md, A-04
 */
export async function renewTokens(ports: TokenWorkPorts, request: RenewRequest): Promise<TokenPair> {
  const { sql } = ports;
  const now = request.receivedAt;
  const presented = parseRefreshToken(request.refreshToken);
  if (presented === undefined) throw new Refusal("REFRESH_TOKEN_INVALID");
  const { familySha256, tokenSha256 } = presented.digests;
  const family = await orTemporary(findRefreshFamily(sql, familySha256));
  if (family === undefined) throw new Refusal("REFRESH_TOKEN_INVALID");
  const key = await orTemporary(findKey(sql, family.keyId));
  // From another address the newest token is refused unconsumed; an old one still ends its family below.
  if (key !== undefined && digestsEqual(tokenSha256, family.currentSha256)) assertAddress(key, request.address);
  const next = newRefreshToken(presented.family);
  const rotated = await orTemporary(
    rotateRefreshFamily(
      sql,
      {
        familySha256,
        oldSha256: tokenSha256,
        newSha256: next.digests.tokenSha256,
        generation: family.generation,
        expiresAt: now + LIMITS.token_refresh_s * 1000,
        audit: stampOf(holder(request), ports.clock),
      },
      now,
    ),
  );
  if (!rotated || key === undefined || !key.active || key.generation !== family.generation)
    throw new Refusal("REFRESH_TOKEN_INVALID");
  const ofKey = new Set(key.scopes);
  const scopes = knownScopes(family.scopes.filter((scope) => ofKey.has(scope)));
  return pairOf(ports, key, { scopes, refreshToken: next.token, now });
}

/**
 * Ends a token early, whatever it is: an access token is blocked for the rest of its life, a refresh token takes its
 * family with it. Anything that is not a living token of ours is ended already.
 * @returns whether other nodes must hear of it
 * @throws Refusal TEMPORARY
 * @source spec/enterprise.md, POST /auth/revoke: type is auto-detected
 */
export async function revokeToken(ports: TokenWorkPorts, token: string, now: Instant, actor: Actor): Promise<boolean> {
  const audit = stampOf(actor, ports.clock);
  const refresh = parseRefreshToken(token);
  if (refresh !== undefined) {
    await orTemporary(deleteRefreshFamily(ports.sql, refresh.digests.familySha256, audit));
    return false;
  }
  const access = await orTemporary(verifyAccessToken(ports.signingKeys, ports.audience, token, now));
  if (access === undefined) return false;
  const { tokenId: jti, keyId, expiresAt } = access;
  await orTemporary(ports.revocations.revoke({ jti, keyId, expiresAt, audit }));
  return true;
}

const assertAddress = (key: KeyRow, address: string): void => {
  if (!isAddressAllowed(key.ipAllowlist, address)) throw new Refusal("IP_NOT_ALLOWED");
};

async function pairOf(
  ports: TokenWorkPorts,
  key: KeyRow,
  granted: { readonly scopes: readonly Scope[]; readonly refreshToken: string; readonly now: Instant },
): Promise<TokenPair> {
  const { scopes, refreshToken, now } = granted;
  const accessToken = await orTemporary(
    signAccessToken(
      ports.signingKeys,
      ports.audience,
      {
        keyId: key.id,
        firmId: key.firmId ?? key.scopedFirmId,
        integratorId: key.integratorId,
        scopes,
        generation: key.generation,
        bindingGeneration: key.bindingGeneration,
      },
      now,
    ),
  );
  return { accessToken, refreshToken, expiresIn: LIMITS.token_access_s, scopes };
}

/** When a token should be renewed, and how long it has. */
interface TokenTimes {
  readonly expiresIn_s: number;
  readonly refreshRecommendedAt: Instant;
  readonly shouldRefresh: boolean;
}

/** Seconds before the end from which renewal is advised. @source spec/sapi.md and spec/enterprise.md, Token status */
const REFRESH_BEFORE_S: Readonly<Record<TokenDoor, number>> = {
  sapi: LIMITS.token_refresh_before_s,
  enterprise: LIMITS.token_access_s * LIMITS.token_refresh_share,
};

/** The times that a token status shows; the two specifications advise renewal at different moments. */
export function tokenTimes(caller: Pick<Caller, "expiresAt">, door: TokenDoor, now: Instant): TokenTimes {
  const refreshRecommendedAt = caller.expiresAt - REFRESH_BEFORE_S[door] * 1000;
  return {
    expiresIn_s: Math.max(0, Math.floor((caller.expiresAt - now) / 1000)),
    refreshRecommendedAt,
    shouldRefresh: now >= refreshRecommendedAt,
  };
}
