/**
 * The master keys of an installation. The first that seals registers itself with a canary; from then on a start without
 * every key that has sealed something is refused, before it accepts what it could not read again.
 */
import { isoInstant } from "../../base/clock.js";
import type { Clock } from "../../base/clock.js";
import { createSealer, FIRM_KEY_PREFIX } from "../sealer.js";
import type { Sealer } from "../sealer.js";
import type { Sql } from "../sql.js";
import type { FirmKeyFiles } from "./firm-key-files.js";

/** The configured master keys do not fit what is stored; the message is one sentence for the operator. */
export class MasterKeyError extends Error {
  override readonly name = "MasterKeyError";
}

export interface Keyring {
  readonly sealer: Sealer;
  /** 32 bytes each: the one that seals first, then every one that only opens. */
  readonly keys: readonly [Buffer, ...Buffer[]];
  /** Where firms have keys of their own: the directory. @default they have none */
  readonly firmKeys?: FirmKeyFiles;
}

interface KeyRow {
  readonly key_id: string;
  readonly canary: Buffer;
  readonly wrapped_by: string | null;
  readonly wrapped: Buffer | null;
}

const CANARY = Buffer.from("kurier");
const canaryContext = (keyId: string): string => `master key canary ${keyId}`;
const wrapContext = (keyId: string): string => `master key ${keyId}`;
const idOf = (key: Buffer): string => createSealer([key]).keyId;

/** The keys of a ring, each once: an operator may give one in two places. */
const distinct = ([first, ...others]: readonly [Buffer, ...Buffer[]]): readonly [Buffer, ...Buffer[]] => [
  first,
  ...others.filter((key, at) => !first.equals(key) && others.findIndex((other) => other.equals(key)) === at),
];

/** Adds the replaced keys that a key of the ring has sealed, until no more are found: each may have sealed another. */
function unwrap(given: readonly [Buffer, ...Buffer[]], rows: readonly KeyRow[]): readonly [Buffer, ...Buffer[]] {
  const ids = new Set(given.map(idOf));
  const found = rows.find(
    ({ key_id, wrapped_by, wrapped }) =>
      !ids.has(key_id) && wrapped !== null && wrapped_by !== null && ids.has(wrapped_by),
  );
  if (found === undefined || found.wrapped === null || found.wrapped_by === null) return given;
  const key = createSealer(given).open(found.wrapped_by, found.wrapped, wrapContext(found.key_id));
  return unwrap([...given, key], rows);
}

/**
 * @param registered  every key that has sealed something; @param inUse  those of them that were not replaced.
 * @throws MasterKeyError that names what is missing, by ids of which none tells anything of its key
 */
function refuseMissing(ids: readonly string[], registered: readonly string[], inUse: readonly string[]): void {
  const missing = registered.filter((id) => !ids.includes(id));
  if (missing.length === 0) return;
  // Keys that were replaced lie sealed under those: whoever gives these has the others with them.
  const wanted = missing.filter((id) => inUse.includes(id));
  const sealed = (wanted.length > 0 ? wanted : missing).join(", ");
  throw new MasterKeyError(
    inUse.includes(ids[0] ?? "")
      ? `What is stored is still sealed with the master key ${sealed} too; give it in MASTER_KEY_PREVIOUS until kurier keys rotate-master has ended.`
      : `MASTER_KEY is not the key that what is stored is sealed with, which is ${sealed}; give that one, in MASTER_KEY_PREVIOUS when MASTER_KEY is to replace it.`,
  );
}

/** Ids of keys that sealed something before keys were registered; a sample is enough, for there was one key only. */
async function unregisteredIds(sql: Sql): Promise<string[]> {
  const rows = await sql<{ readonly key_id: string }[]>`
    select master_key_id as key_id from signing_key
    union select key_id from (select key_id from payload order by document_id limit 1) as one`;
  // Keys of firms are wrapped under a master key and are none.
  return rows.map(({ key_id }) => key_id).filter((id) => !id.startsWith(FIRM_KEY_PREFIX));
}

/**
 * Registers a key that begins to seal, where no other does that the ring lacks: nodes that come together to an empty
 * database, each with a key of its own, would otherwise all find nothing to ask for. Safe to repeat, and from several
 * nodes at once.
 * @returns the ids of keys that the ring lacks; none when the key is registered
 */
async function register(sql: Sql, { sealer, keys }: Keyring, clock: Clock): Promise<readonly string[]> {
  const canary = sealer.seal(CANARY, canaryContext(sealer.keyId));
  const [row] = await sql<{ readonly strange: string[] }[]>`
    select register_master_key(${sealer.keyId}, ${canary}, ${isoInstant(clock.now())}, ${keys.map(idOf)}) as strange`;
  return row?.strange ?? [];
}

/**
 * Opens the ring of an installation and registers its first key.
 * @param given  32 bytes each: MASTER_KEY, then those of MASTER_KEY_PREVIOUS.
 * @throws MasterKeyError when a key is missing that has sealed something, or a canary does not open
 */
export async function openKeyring(sql: Sql, given: readonly [Buffer, ...Buffer[]], clock: Clock): Promise<Keyring> {
  const ring = await checkKeyring(sql, given);
  const strange = await register(sql, ring, clock);
  refuseMissing(ring.keys.map(idOf), strange, strange);
  return { ...ring, sealer: createSealer(ring.keys, await eldest(sql, ring.keys)) };
}

/** The key that was registered first: whatever replaces it, digests that it made are found again. */
async function eldest(sql: Sql, keys: readonly Buffer[]): Promise<Buffer | undefined> {
  const [first] = await sql<{ readonly key_id: string }[]>`
    select key_id from master_key order by made_at, key_id limit 1`;
  return keys.find((key) => idOf(key) === first?.key_id);
}

/**
 * The ring of an installation, looked at and left as it is.
 * @throws MasterKeyError as openKeyring
 */
export async function checkKeyring(sql: Sql, given: readonly [Buffer, ...Buffer[]]): Promise<Keyring> {
  const rows = await sql<KeyRow[]>`select key_id, canary, wrapped_by, wrapped from master_key`;
  const registered = rows.length > 0 ? rows.map(({ key_id }) => key_id) : await unregisteredIds(sql);
  const keys = unwrap(distinct(given), rows);
  const sealer = createSealer(keys);
  const replaced = rows.filter(({ wrapped_by }) => wrapped_by !== null).map(({ key_id }) => key_id);
  refuseMissing(
    keys.map(idOf),
    registered,
    registered.filter((id) => !replaced.includes(id)),
  );
  for (const { key_id, canary } of rows) checkCanary(sealer, key_id, canary);
  return { sealer, keys };
}

function checkCanary(sealer: Sealer, keyId: string, canary: Buffer): void {
  try {
    if (sealer.open(keyId, canary, canaryContext(keyId)).equals(CANARY)) return;
  } catch {
    // Said below: what a cipher reports of wrong octets helps nobody.
  }
  throw new MasterKeyError(`The canary of the master key ${keyId} is damaged; restore the table master_key.`);
}

/**
 * Seals every other key of the ring under the first, from where a start with MASTER_KEY alone finds them: what is
 * written once, as evidence is, stays as it was sealed. One that sealed before keys were registered is registered with
 * it. The first key itself is nobody's ward any more, should it have been replaced before.
 * @returns the ids of those that are kept so
 */
export async function wrapEarlierKeys(sql: Sql, { sealer, keys }: Keyring): Promise<readonly string[]> {
  const earlier = keys
    .map((key) => ({ key, own: createSealer([key]) }))
    .filter(({ own }) => own.keyId !== sealer.keyId);
  const ids = earlier.map(({ own }) => own.keyId);
  const canaries = earlier.map(({ own }) => own.seal(CANARY, canaryContext(own.keyId)).toString("base64"));
  const wrapped = earlier.map(({ key, own }) => sealer.seal(key, wrapContext(own.keyId)).toString("base64"));
  const kept = await sql<{ readonly key_id: string }[]>`
    with own as (
      update master_key set wrapped_by = null, wrapped = null
      where key_id = ${sealer.keyId} and wrapped_by is not null
    )
    insert into master_key as m (key_id, canary, wrapped_by, wrapped, made_at)
    select w.key_id, decode(w.canary, 'base64'), ${sealer.keyId}, decode(w.wrapped, 'base64'), now()
    from unnest(${ids}::text[], ${canaries}::text[], ${wrapped}::text[]) as w (key_id, canary, wrapped)
    on conflict (key_id) do update set wrapped_by = excluded.wrapped_by, wrapped = excluded.wrapped
    returning m.key_id`;
  return kept.map(({ key_id }) => key_id);
}

/** A registered key, as an operator may see it. */
interface RegisteredKey {
  readonly keyId: string;
  /** The key under which it is kept since it was replaced; undefined while it seals, or may. */
  readonly replacedBy: string | undefined;
  readonly madeAt: Date;
}

export async function listMasterKeys(sql: Sql): Promise<RegisteredKey[]> {
  const rows = await sql<{ readonly key_id: string; readonly wrapped_by: string | null; readonly made_at: Date }[]>`
    select key_id, wrapped_by, made_at from master_key order by made_at, key_id`;
  return rows.map((row) => ({ keyId: row.key_id, replacedBy: row.wrapped_by ?? undefined, madeAt: row.made_at }));
}
