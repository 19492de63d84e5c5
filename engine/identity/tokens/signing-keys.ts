/**
 * The keys that sign access tokens: made by whichever node needs one first, shared through Postgres, published before
 * use.
 *
 * A key signs for LIMITS.signing_key_active_ms. Its successor is published LIMITS.signing_key_published_before_ms
 * earlier, so that every node, and whoever reads /.well-known/jwks.json, knows it in time. A key that has stopped
 * signing verifies until the last token it signed has expired. One that an operator retires does neither from then on.
 * @source design/reliability.md, A-15
 */
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import type { KeyObject } from "node:crypto";

import type { Clock, Instant } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import type { Sealer } from "../../storage/sealer.js";
import { insertSigningKey, lastSigningKeySeq, listSigningKeys } from "../../storage/identity/signing-keys.js";
import type { NewSigningKey, SigningKeyRow } from "../../storage/identity/signing-keys.js";
import { sharedBehind } from "../../base/waiting/shared.js";
import { readOrTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";

/** A public key as /.well-known/jwks.json shows it (RFC 7517, RFC 8037). */
export interface PublicJwk {
  readonly kty: "OKP";
  readonly crv: "Ed25519";
  readonly x: string;
  readonly kid: string;
  readonly alg: "EdDSA";
  readonly use: "sig";
}

/** The keys that sign access tokens, shared by all nodes. */
export interface SigningKeys {
  /** Reads the keys, and publishes the next one when it is time. Safe to repeat, on any number of nodes at once. */
  ensure(): Promise<void>;
  /** Something has changed: reads the keys again. Until it has, what was known answers nothing. */
  reload(): Promise<void>;
  /** Whether, by what is known, `ensure` has nothing to publish yet. */
  isCovered(): boolean;
  /** The key to sign with now. @throws Refusal TEMPORARY where the keys must be read first and cannot be */
  signer(): Promise<{ readonly kid: string; readonly privateKey: KeyObject }>;
  /**
   * The key that a token names; undefined when it is none of ours, or is one whose tokens have all expired.
   * While announcements do not arrive it may be one that was retired: a stranger's token that names one of ours costs
   * no statement, and of those that name none one is under way at a time.
   * @throws what the statement throws, where the keys must be read first
   */
  verifier(kid: string): KeyObject | undefined | Promise<KeyObject | undefined>;
  /**
   * Whether what a key has signed is believed at this moment, on whatever node it was retired.
   * @throws Refusal TEMPORARY where the keys must be read first and cannot be
   */
  isBelieved(kid: string): boolean | Promise<boolean>;
  jwks(): { readonly keys: readonly PublicJwk[] };
}

interface SigningKey {
  readonly kid: string;
  readonly jwk: PublicJwk;
  readonly publicKey: KeyObject;
  /** Absent when the master key that sealed it is not configured here. */
  readonly privateKey: KeyObject | undefined;
  readonly signsFrom: Instant;
  readonly signsUntil: Instant;
}

/** How long tokens of a key may live on after it stopped signing; twice, for clocks that differ. */
const VERIFIES_AFTER_MS = 2 * LIMITS.token_access_s * 1000;
/** What the private half of a signing key is sealed for. */
export const signingKeyContext = (kid: string): string => `signing_key:${kid}`;

/** RFC 7638 thumbprint of an Ed25519 key: the members in the order of their names. */
const thumbprint = (x: string): string =>
  createHash("sha256").update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`).digest("base64url");

interface Ports {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether announcements arrive at present: while they do not, each token has the keys read. */
  isFresh(): boolean;
}

/** Makes the node's view of the signing keys; they lie sealed in Postgres. */
export function createSigningKeys(ports: Ports): SigningKeys {
  const { sql, clock, log } = ports;
  let keys: readonly SigningKey[] = [];
  let byKid = new Map<string, SigningKey>();
  /** When the newest read that has succeeded began; monotonic. */
  let readAt = Number.NEGATIVE_INFINITY;
  /** Reads by number: the last that began, the newest that has succeeded, the first that has seen every change. */
  let [begun, seen, needed] = [0, 0, 0];
  /** The read that began last, while it is under way. */
  let reading: Promise<void> | undefined;

  const readAs = async (number: number): Promise<void> => {
    const at = clock.monotonic();
    const rows = await listSigningKeys(sql, signingKeysSince(clock.now()), LIMITS.signing_keys_max);
    // What an older read has seen is behind what is known.
    if (number < seen) return;
    [seen, readAt] = [number, at];
    for (const { kid, retiredAt } of rows)
      if (retiredAt !== null && byKid.has(kid)) log.warn("identity.signing_key_retired", { keyId: kid });
    keys = rows.filter((row) => row.retiredAt === null).map((row) => byKid.get(row.kid) ?? keyOf(ports, row));
    byKid = new Map(keys.map((key) => [key.kid, key]));
  };
  const read = (): Promise<void> => {
    begun += 1;
    const mine = readAs(begun).finally(() => {
      if (reading === mine) reading = undefined;
    });
    reading = mine;
    return mine;
  };
  const believed = (kid: string): KeyObject | undefined => {
    const known = byKid.get(kid);
    return known !== undefined && clock.now() < known.signsUntil + VERIFIES_AFTER_MS ? known.publicKey : undefined;
  };
  /** Whether every change is known that could be: none was announced since the read, and announcements arrive. */
  const isUpToDate = (): boolean => seen >= needed && ports.isFresh();
  /** Whether what is known answers for this key: nothing has changed, and an unknown one was looked for lately. */
  const isKnowing = (kid: string): boolean => {
    if (seen < needed) return false;
    if (byKid.has(kid)) return true;
    // Where announcements do not arrive, another node may have published it since, in the place of a retired one.
    return ports.isFresh() && reading === undefined && clock.monotonic() - readAt < LIMITS.signing_key_reload_ms;
  };
  const readBehind = sharedBehind(read);
  /** Where announcements do not arrive, a read that began before the question may be behind what its asker knows. */
  const readNow = (): Promise<void> => (ports.isFresh() ? (reading ?? read()) : readBehind());
  const look = (): Promise<void> => readOrTemporary(readNow);
  const signing = (): SigningKey | undefined => {
    const now = clock.now();
    return keys.find((key) => key.privateKey !== undefined && key.signsFrom <= now && now < key.signsUntil);
  };
  const isCovered = (): boolean => coverage(keys, clock.now()) - clock.now() > LIMITS.signing_key_published_before_ms;
  const ensure = async (): Promise<void> => {
    // The number first, the keys second: a key that another node publishes in between is either seen, or takes the
    // number.
    const seq = (await lastSigningKeySeq(sql)) + 1;
    await read();
    if (isCovered()) return;
    const coveredUntil = coverage(keys, clock.now());
    const published = await insertSigningKey(sql, { ...newSigningKey(ports.sealer, coveredUntil), seq }, clock.now());
    if (published) log.info("identity.signing_key_published", { count: seq });
    await read();
  };

  return {
    ensure,
    isCovered,
    reload: () => {
      needed = begun + 1;
      return read();
    },
    signer: async () => {
      // With a key that was retired meanwhile it would sign what nobody believes.
      if (!isUpToDate()) await look();
      if (signing() === undefined) await ensure();
      const key = signing();
      if (key?.privateKey === undefined) throw new Error("there is no signing key, although one was just ensured");
      return { kid: key.kid, privateKey: key.privateKey };
    },
    // A read that fails is a failure to whoever asks, and never the answer that there is no such key.
    verifier: (kid) => (isKnowing(kid) ? believed(kid) : readNow().then(() => believed(kid))),
    isBelieved: (kid) => (isUpToDate() ? believed(kid) !== undefined : look().then(() => believed(kid) !== undefined)),
    jwks: () => ({ keys: keys.map((key) => key.jwk) }),
  };
}

/** Keys that signed until then may have tokens that live. */
export const signingKeysSince = (now: Instant): Instant => now - VERIFIES_AFTER_MS;

/** What a key is good for; the order is that of its life. */
type SigningKeyState = "published" | "signs" | "verifies" | "retired";

/** A key as operators see it. */
interface SigningKeySheet {
  readonly kid: string;
  readonly state: SigningKeyState;
  readonly signsFrom: Instant;
  readonly signsUntil: Instant;
}

function stateOf({ retiredAt, signsFrom, signsUntil }: SigningKeyRow, now: Instant): SigningKeyState {
  if (retiredAt !== null) return "retired";
  if (now < signsFrom.getTime()) return "published";
  return now < signsUntil.getTime() ? "signs" : "verifies";
}

/** The keys of which tokens could be alive, the newest first. */
export async function listSigningKeySheets({ sql, clock }: Pick<Ports, "sql" | "clock">): Promise<SigningKeySheet[]> {
  const now = clock.now();
  const rows = await listSigningKeys(sql, signingKeysSince(now), LIMITS.signing_keys_max);
  return rows.map((row) => ({
    kid: row.kid,
    state: stateOf(row, now),
    signsFrom: row.signsFrom.getTime(),
    signsUntil: row.signsUntil.getTime(),
  }));
}

/** Until when, from `now` on without a gap, there is a key that this node can sign with. */
const coverage = (keys: readonly SigningKey[], now: Instant): Instant =>
  keys
    .filter((key) => key.privateKey !== undefined && key.signsUntil > now)
    .sort((a, b) => a.signsFrom - b.signsFrom)
    .reduce((until, key) => (key.signsFrom <= until ? Math.max(until, key.signsUntil) : until), now);

function newSigningKey(sealer: Sealer, signsFrom: Instant): Omit<NewSigningKey, "seq"> {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const { x } = publicKey.export({ format: "jwk" });
  if (x === undefined) throw new Error("an Ed25519 key without x");
  const kid = thumbprint(x);
  return {
    kid,
    publicJwk: { kty: "OKP", crv: "Ed25519", x },
    privateSealed: sealer.seal(privateKey.export({ format: "der", type: "pkcs8" }), signingKeyContext(kid)),
    masterKeyId: sealer.keyId,
    signsFrom,
    signsUntil: signsFrom + LIMITS.signing_key_active_ms,
  };
}

function keyOf(ports: Ports, row: SigningKeyRow): SigningKey {
  const { x } = row.publicJwk;
  return {
    kid: row.kid,
    jwk: { kty: "OKP", crv: "Ed25519", x, kid: row.kid, alg: "EdDSA", use: "sig" },
    publicKey: createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" }),
    privateKey: openPrivate(ports, row),
    signsFrom: row.signsFrom.getTime(),
    signsUntil: row.signsUntil.getTime(),
  };
}

function openPrivate({ sealer, log }: Ports, row: SigningKeyRow): KeyObject | undefined {
  try {
    const der = sealer.open(row.masterKeyId, row.privateSealed, signingKeyContext(row.kid));
    return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  } catch (error) {
    log.warn("identity.signing_key_sealed", errorFields(error));
    return undefined;
  }
}
