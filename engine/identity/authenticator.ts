/**
 * Turns a bearer token into a caller. The signature is checked once for a token; whether the key that signed it is
 * believed, and the state of the token's own key, at every request.
 */
import { BoundedMap } from "../base/bounded.js";
import type { Instant } from "../base/clock.js";
import { Refusal } from "../base/errors.js";
import { LIMITS } from "../base/limits.js";
import type { KeyRow } from "../storage/identity/keys.js";
import { orTemporary, readOrTemporary } from "../storage/sql.js";
import { isCurrent, verifyAccessToken } from "./tokens/access-tokens.js";
import type { AccessToken, TokenAudience } from "./tokens/access-tokens.js";
import type { Cache } from "./nodes/cache.js";
import type { Caller } from "./caller.js";
import type { Revocations } from "./tokens/revocations.js";
import { effectiveScopes } from "./scopes.js";
import type { SigningKeys } from "./tokens/signing-keys.js";

interface Authenticator {
  /** At once when token, key and revocations are known here. @throws Refusal TOKEN_INVALID, TEMPORARY */
  authenticate(token: string, receivedAt: Instant): Caller | Promise<Caller>;
}

/** A token whose signature was checked, and the caller made of it and of one reading of its key. */
interface Verified {
  readonly token: AccessToken;
  readonly made: { readonly key: KeyRow; readonly caller: Caller } | undefined;
}

const invalid = (): Refusal => new Refusal("TOKEN_INVALID");

/** Makes the check of access tokens, which needs no statement while the token's key is remembered. */
export function createAuthenticator(ports: {
  readonly audience: TokenAudience;
  readonly signingKeys: SigningKeys;
  readonly keys: Cache<KeyRow>;
  readonly revocations: Revocations;
}): Authenticator {
  /** By the token's exact text. The oldest goes first; tokens end after 15 minutes anyway. */
  const verified = new BoundedMap<string, Verified>(LIMITS.token_cache_entries);

  const verify = async (token: string, now: Instant): Promise<Verified> => {
    const access = await readOrTemporary(() => verifyAccessToken(ports.signingKeys, ports.audience, token, now));
    if (access === undefined) throw invalid();
    return verified.keep(token, { token: access, made: undefined });
  };
  const decide = (token: string, known: Verified, key: KeyRow | undefined, isEnded: boolean): Caller => {
    if (isEnded || key === undefined || !key.active || key.generation !== known.token.generation) throw invalid();
    if (known.made?.key === key) return known.made.caller;
    const caller = callerOf(known.token, key);
    // What has made room for others meanwhile stays away.
    if (verified.get(token) === known) verified.set(token, { token: known.token, made: { key, caller } });
    return caller;
  };
  const admit = (token: string, known: Verified, now: Instant): Caller | Promise<Caller> => {
    if (!isCurrent(known.token, now)) {
      if (now >= known.token.expiresAt) verified.delete(token);
      throw invalid();
    }
    const key = ports.keys.get(known.token.keyId);
    const isRevoked = ports.revocations.isRevoked(known.token.tokenId);
    const isSigned = ports.signingKeys.isBelieved(known.token.signedWith);
    if (key instanceof Promise || isRevoked instanceof Promise || isSigned instanceof Promise) {
      return orTemporary(Promise.all([key, isRevoked, isSigned])).then(([k, r, s]) => decide(token, known, k, r || !s));
    }
    return decide(token, known, key, isRevoked || !isSigned);
  };

  return {
    authenticate: (token, receivedAt) => {
      const known = verified.get(token);
      return known !== undefined
        ? admit(token, known, receivedAt)
        : verify(token, receivedAt).then((fresh) => admit(token, fresh, receivedAt));
    },
  };
}

function callerOf(token: AccessToken, key: KeyRow): Caller {
  return {
    keyId: key.id,
    kind: key.keyType === "sk_live" ? "firm" : "integrator",
    keyType: key.keyType,
    ...(key.firmId === null ? {} : { firmId: key.firmId }),
    ...(key.integratorId === null ? {} : { integratorId: key.integratorId }),
    ...(key.scopedFirmId === null ? {} : { scopedFirmId: key.scopedFirmId }),
    scopes: effectiveScopes(key.scopes, token.scopes),
    ipAllowlist: key.ipAllowlist,
    tokenId: token.tokenId,
    issuedAt: token.issuedAt,
    expiresAt: token.expiresAt,
    generation: token.generation,
    bindingGeneration: token.bindingGeneration,
    productionAuthorized: key.productionAuthorized,
    tokenScope: token.scopes,
  };
}
