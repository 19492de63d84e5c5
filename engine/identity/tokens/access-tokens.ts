/**
 * Access tokens: JWTs that our own nodes sign and read. Nothing in a token is believed before its signature is, and
 * nothing in its header decides how it is checked: the algorithm is EdDSA and the key is one of ours.
 * @source spec/rulings.md, section 4; RFC 8725; RFC 9068
 */
import { SignJWT, jwtVerify } from "jose";
import { randomUUID } from "node:crypto";
import type { KeyObject } from "node:crypto";

import type { Instant } from "../../base/clock.js";
import { parseFirmId, parseIntegratorId, parseKeyId, parseUuid } from "../../base/ids.js";
import type { FirmId, IntegratorId, KeyId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { Scope } from "../../base/scopes.js";
import type { SecretEnvironment } from "./secrets.js";
import { knownScopes } from "../scopes.js";
import type { SigningKeys } from "./signing-keys.js";

const ALGORITHM = "EdDSA";
const TOKEN_TYPE = "at+jwt";

/** For whom tokens are made and believed. */
export interface TokenAudience {
  /** PUBLIC_URL: issuer and audience at once, since the engine reads its own tokens. */
  readonly publicUrl: string;
  readonly environment: SecretEnvironment;
}

/** What a token says. */
export interface AccessToken {
  readonly tokenId: string;
  /** The signing key's id. */
  readonly signedWith: string;
  readonly keyId: KeyId;
  readonly firmId: FirmId | null;
  readonly integratorId: IntegratorId | null;
  readonly scopes: readonly Scope[];
  /** Generation of the key when the token was made. */
  readonly generation: number;
  /** Withdrawn bindings of the integrator when the token was made. */
  readonly bindingGeneration: number;
  readonly issuedAt: Instant;
  readonly expiresAt: Instant;
}

/** Signs a token that lives LIMITS.token_access_s from `now`. */
export async function signAccessToken(
  keys: Pick<SigningKeys, "signer">,
  audience: TokenAudience,
  token: Omit<AccessToken, "tokenId" | "signedWith" | "issuedAt" | "expiresAt">,
  now: Instant,
): Promise<string> {
  const { kid, privateKey } = await keys.signer();
  const issuedAt_s = Math.floor(now / 1000);
  return new SignJWT({
    iss: audience.publicUrl,
    aud: audience.publicUrl,
    sub: token.keyId,
    jti: randomUUID(),
    iat: issuedAt_s,
    nbf: issuedAt_s,
    exp: issuedAt_s + LIMITS.token_access_s,
    env: audience.environment,
    scope: token.scopes.join(" "),
    firm_id: token.firmId,
    integrator_id: token.integratorId,
    generation: token.generation,
    binding_generation: token.bindingGeneration,
  })
    .setProtectedHeader({ alg: ALGORITHM, kid, typ: TOKEN_TYPE })
    .sign(privateKey);
}

const COMPACT = /^([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+\.([A-Za-z0-9_-]+)$/;
const SIGNATURE_BYTES = 64;

/**
 * The `kid` of a token that has the only form our tokens have: three parts, a header of exactly alg, kid and typ, a
 * signature in its one canonical spelling. Undefined for anything else.
 */
function readKid(token: string): string | undefined {
  if (token.length > LIMITS.token_bytes_max) return undefined;
  const match = COMPACT.exec(token);
  if (match === null) return undefined;
  const [, header = "", signature = ""] = match;
  const signatureBytes = Buffer.from(signature, "base64url");
  if (signatureBytes.length !== SIGNATURE_BYTES || signatureBytes.toString("base64url") !== signature) return undefined;
  let fields: unknown;
  try {
    fields = JSON.parse(Buffer.from(header, "base64url").toString("utf8"));
  } catch {
    return undefined;
  }
  if (typeof fields !== "object" || fields === null || Object.keys(fields).length !== 3) return undefined;
  if (!("alg" in fields && fields.alg === ALGORITHM && "typ" in fields && fields.typ === TOKEN_TYPE && "kid" in fields))
    return undefined;
  return typeof fields.kid === "string" ? fields.kid : undefined;
}

const isWhole = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0;

/** Checks the claims of a token whose signature is good. Strict: our own nodes write each of them in one way. */
function readClaims(
  claims: Readonly<Record<string, unknown>>,
  audience: TokenAudience,
): Omit<AccessToken, "signedWith"> | undefined {
  const { iss, aud, sub, jti, iat, nbf, exp, env, scope, firm_id, integrator_id, generation, binding_generation } =
    claims;
  if (iss !== audience.publicUrl || aud !== audience.publicUrl || env !== audience.environment) return undefined;
  if (!isWhole(iat) || !isWhole(nbf) || !isWhole(exp) || !isWhole(generation) || !isWhole(binding_generation))
    return undefined;
  if (exp <= iat || exp - iat > LIMITS.token_access_s || nbf < iat || nbf >= exp) return undefined;
  if (typeof sub !== "string" || typeof jti !== "string" || typeof scope !== "string") return undefined;
  const keyId = parseKeyId(sub);
  const tokenId = parseUuid(jti);
  const firmId = firm_id === null ? null : typeof firm_id === "string" ? parseFirmId(firm_id) : undefined;
  const integratorId =
    integrator_id === null ? null : typeof integrator_id === "string" ? parseIntegratorId(integrator_id) : undefined;
  if (keyId === undefined || tokenId === undefined || firmId === undefined || integratorId === undefined)
    return undefined;
  return {
    tokenId,
    keyId,
    firmId,
    integratorId,
    scopes: knownScopes(scope.split(" ")),
    generation,
    bindingGeneration: binding_generation,
    issuedAt: iat * 1000,
    expiresAt: exp * 1000,
  };
}

/**
 * Whether a token that was verified before holds at `now`. It ends exactly at its `exp`; it may begin up to
 * LIMITS.token_clock_skew_s in the future, because the node that signed it may be ahead.
 */
export const isCurrent = (token: AccessToken, now: Instant): boolean =>
  now < token.expiresAt && token.issuedAt <= now + LIMITS.token_clock_skew_s * 1000;

/** @returns what the token says; undefined unless one of our keys has signed exactly this text for this deployment */
export async function verifyAccessToken(
  keys: SigningKeys,
  audience: TokenAudience,
  token: string,
  now: Instant,
): Promise<AccessToken | undefined> {
  const kid = readKid(token);
  if (kid === undefined) return undefined;
  const publicKey = await keys.verifier(kid);
  if (publicKey === undefined) return undefined;
  const claims = await claimsOf(token, publicKey, audience, now);
  const said = claims === undefined ? undefined : readClaims(claims, audience);
  return said === undefined ? undefined : { ...said, signedWith: kid };
}

async function claimsOf(
  token: string,
  publicKey: KeyObject,
  audience: TokenAudience,
  now: Instant,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  try {
    const { payload } = await jwtVerify(token, publicKey, {
      algorithms: [ALGORITHM],
      typ: TOKEN_TYPE,
      issuer: audience.publicUrl,
      audience: audience.publicUrl,
      requiredClaims: ["sub", "jti", "iat", "nbf", "exp"],
      clockTolerance: LIMITS.token_clock_skew_s,
      currentDate: new Date(now),
    });
    return payload;
  } catch {
    // Every failure is the same answer; what exactly was wrong would help nobody but a forger.
    return undefined;
  }
}
