/**
 * Client credentials: one comparison, the same work for a known and an unknown client, and a count of failures that all
 * nodes share.
 *
 * A valid secret always passes, also while its client is locked: a lock is a brake on guessing, and must not become a
 * way to shut a tenant out. Failures are counted per client and never per secret; a success does not forgive them.
 */
import { randomBytes, randomUUID } from "node:crypto";

import type { Clock, Instant } from "../../base/clock.js";
import { Refusal } from "../../base/errors.js";
import { parseKeyId } from "../../base/ids.js";
import type { KeyId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { recordFailure } from "../../storage/identity/credentials.js";
import { findSecretById, findSecretByPrefix } from "../../storage/identity/keys.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { digestsEqual, secretEnvironment, sha256 } from "./secrets.js";
import type { SecretEnvironment } from "./secrets.js";

/** The two specifications' windows. @source spec/sapi.md, Limits; spec/enterprise.md, Limits */
export const CREDENTIAL_WINDOWS_MS = {
  sapi: LIMITS.credential_window_sapi_ms,
  enterprise: LIMITS.credential_window_enterprise_ms,
} as const;
/** The prefix under which a token operation was called. */
export type TokenDoor = keyof typeof CREDENTIAL_WINDOWS_MS;

/** What a client shows to get tokens. */
export interface ClientCredentials {
  /** Id of a key, or the prefix that people see. */
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Stands in for an unknown client: an id that no key has and a digest that no secret has. */
const DECOY = { id: randomUUID() as KeyId, secretSha256: randomBytes(32) };

/**
 * The slot in which failures of a client are counted. Two clients may share one: then both are braked a little sooner.
 */
export const failureSlot = (client: string): number =>
  sha256(`client:${client}`).readUInt32BE(0) % LIMITS.credential_slots;

/** What looking at credentials needs. */
interface CredentialPorts {
  readonly sql: Sql;
  readonly environment: SecretEnvironment;
}

/** The key that a client names, or a stand-in, and whether this is its secret. The same work for both. */
async function compare(
  { sql, environment }: CredentialPorts,
  { clientId, clientSecret }: ClientCredentials,
): Promise<{ readonly keyId: KeyId; readonly isKnown: boolean; readonly holds: boolean }> {
  const presented = sha256(clientSecret);
  const id = parseKeyId(clientId);
  const found = await orTemporary(
    id === undefined ? findSecretByPrefix(sql, clientId, DECOY) : findSecretById(sql, id, DECOY),
  );
  const matches = digestsEqual(presented, found.secretSha256);
  const ofThisEnvironment = secretEnvironment(clientSecret) === environment;
  const isKnown = found.id !== DECOY.id;
  return { keyId: found.id, isKnown, holds: matches && ofThisEnvironment && isKnown };
}

/**
 * Whose secret this is; undefined where it is nobody's. Counts nothing: whoever asks decides by it in which line the
 * request waits, so that those who know a secret never stand behind those who guess.
 * @throws Refusal TEMPORARY
 */
export async function holderOf(ports: CredentialPorts, credentials: ClientCredentials): Promise<KeyId | undefined> {
  const { keyId, holds } = await compare(ports, credentials);
  return holds ? keyId : undefined;
}

/**
 * Finds the key whose secret this is.
 * @throws Refusal CREDENTIALS_INVALID; CREDENTIALS_LOCKED with the seconds to wait after LIMITS.credential_failures_max
 *   failures within the door's window; TEMPORARY
 * @source spec/sapi.md, Authentication; spec/enterprise.md, Authentication
 */
export async function authenticateClient(
  ports: CredentialPorts & { readonly clock: Clock },
  credentials: ClientCredentials,
  door: TokenDoor,
  now: Instant,
): Promise<KeyId> {
  const { keyId, isKnown, holds } = await compare(ports, credentials);
  if (holds) return keyId;

  // Id and prefix of one key are one client, which must not have twice the guesses.
  const slot = failureSlot(isKnown ? keyId : credentials.clientId);
  const window_ms = CREDENTIAL_WINDOWS_MS[door];
  const lockedUntil = await orTemporary(recordFailure(ports.sql, slot, now, window_ms));
  if (lockedUntil === undefined) throw new Refusal("CREDENTIALS_INVALID");
  const wait_ms = Math.min(Math.max(lockedUntil - now, 0), window_ms);
  throw new Refusal("CREDENTIALS_LOCKED", [], { retryAfter_s: Math.max(1, Math.ceil(wait_ms / 1000)) });
}
