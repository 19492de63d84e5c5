/**
 * Turns a bearer token into a caller. The signature is checked once for a token, the state of its key at every request.
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
  /** A signing key may have been withdrawn: signatures are checked again. */
  forget(): void;
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
  const nothingVerified = (): BoundedMap<string, Verified> => new BoundedMap(LIMITS.token_cache_entries);
  /** By the token's exact text. The oldest goes first; tokens end after 15 minutes anyway. */
  let verified = nothingVerified();

  const verify = async (token: string, now: Instant): Promise<Verified> => {
    // A check that was under way when a key was withdrawn answers who asked, and is kept where nobody looks any more.
    const asked = verified;
    const access = await readOrTemporary(() => verifyAccessToken(ports.signingKeys, ports.audience, token, now));
    if (access === undefined) throw invalid();
    return asked.keep(token, { token: access, made: undefined });
  };
  const decide = (token: string, known: Verified, key: KeyRow | undefined, isRevoked: boolean): Caller => {
    if (isRevoked || key === undefined || !key.active || key.generation !== known.token.generation) throw invalid();
    if (known.made?.key === key) return known.made.caller;
    const caller = callerOf(known.token, key);
    // What was forgotten meanwhile stays so: its signature must be checked again.
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
    if (key instanceof Promise || isRevoked instanceof Promise) {
      return orTemporary(Promise.all([key, isRevoked])).then(([k, r]) => decide(token, known, k, r));
    }
    return decide(token, known, key, isRevoked);
  };

  return {
    authenticate: (token, receivedAt) => {
      const known = verified.get(token);
      return known !== undefined
        ? admit(token, known, receivedAt)
        : verify(token, receivedAt).then((fresh) => admit(token, fresh, receivedAt));
    },
    forget: () => {
      verified = nothingVerified();
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
