/** Statements on what stays of evidence that was removed: tombstones, and objects that are still to go. */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import type { Sql } from "../sql.js";
import { CHAIN_START } from "./evidence.js";
import { sha256Hex } from "./record.js";
import type { EvidenceRef } from "./store.js";

/** What a tombstone says of the entries under it. Digests are hex. */
export interface Tombstone {
  readonly first: number;
  readonly last: number;
  readonly previousHash: string;
  readonly lastHash: string;
  /** Over the hashes of the entries, in their order. */
  readonly entriesSha256: string;
  /** What the proof found wrong, and was told to pass over. */
  readonly faults: number;
  readonly storedFrom: Instant;
  readonly storedTo: Instant;
  readonly provedAt: Instant;
  /** Hash of the tombstone before; TOMBSTONES_START for the first. */
  readonly previousTombstone: string;
}

/** A tombstone as it is kept. */
export interface KeptTombstone extends Tombstone {
  readonly hash: string;
  /** The hash, sealed under this master key. */
  readonly sealKeyId: string;
  readonly seal: Buffer;
}

/** `previousTombstone` of the first. */
export const TOMBSTONES_START = sha256Hex("kurier-evidence-removed-1");

/** The name under which the archive seals the hash of a tombstone. */
export const tombstoneName = (first: number): string => `tombstone ${first}`;

/** The hash that a tombstone must have by what it says. */
export function tombstoneHash(tombstone: Tombstone): string {
  const text = [
    "kurier-evidence-removed-1",
    tombstone.previousTombstone,
    tombstone.first,
    tombstone.last,
    tombstone.previousHash,
    tombstone.lastHash,
    tombstone.entriesSha256,
    tombstone.faults,
    tombstone.storedFrom,
    tombstone.storedTo,
    tombstone.provedAt,
  ].join("\n");
  return sha256Hex(text);
}

/** Where the chain goes on: the last entry that was removed, or the chain's start. */
export async function evidenceFloor(sql: Sql): Promise<{ readonly index: number; readonly hash: string }> {
  const [row] = await sql<{ readonly index: string; readonly hash: string }[]>`
    select last_index as index, encode(last_hash, 'hex') as hash
    from evidence_tombstone order by last_index desc limit 1`;
  return row === undefined ? { index: 0, hash: CHAIN_START } : { index: Number(row.index), hash: row.hash };
}

/** Tombstones behind an entry, in order. */
export async function listTombstones(
  sql: Sql,
  page: { readonly after: number; readonly limit: number },
): Promise<KeptTombstone[]> {
  const rows = await sql<
    {
      readonly first: string;
      readonly last: string;
      readonly previous_hash: string;
      readonly last_hash: string;
      readonly entries_sha256: string;
      readonly faults: number;
      readonly stored_from: Date;
      readonly stored_to: Date;
      readonly proved_at: Date;
      readonly previous_tombstone: string;
      readonly hash: string;
      readonly seal_key_id: string;
      readonly seal: Buffer;
    }[]
  >`
    select first_index as first, last_index as last, encode(previous_hash, 'hex') as previous_hash,
      encode(last_hash, 'hex') as last_hash, encode(entries_sha256, 'hex') as entries_sha256, faults, stored_from,
      stored_to, proved_at, encode(previous_tombstone, 'hex') as previous_tombstone, encode(hash, 'hex') as hash,
      seal_key_id, seal
    from evidence_tombstone where last_index > ${page.after} order by last_index limit ${page.limit}`;
  return rows.map((row) => ({
    first: Number(row.first),
    last: Number(row.last),
    previousHash: row.previous_hash,
    lastHash: row.last_hash,
    entriesSha256: row.entries_sha256,
    faults: row.faults,
    storedFrom: row.stored_from.getTime(),
    storedTo: row.stored_to.getTime(),
    provedAt: row.proved_at.getTime(),
    previousTombstone: row.previous_tombstone,
    hash: row.hash,
    sealKeyId: row.seal_key_id,
    seal: row.seal,
  }));
}

/** The hash of the last tombstone. */
export async function lastTombstone(sql: Sql): Promise<string> {
  const [row] = await sql<{ readonly hash: string }[]>`
    select encode(hash, 'hex') as hash from evidence_tombstone order by last_index desc limit 1`;
  return row?.hash ?? TOMBSTONES_START;
}

/** An object that goes with the entries under a tombstone. */
export interface Leftover {
  readonly object: EvidenceRef;
  /** Referred to by records, not by the index. */
  readonly isShared: boolean;
  /** Entries that are stored up to then may need it. */
  readonly neededUntil: Instant;
}

/** @returns false when the chain is not what the tombstone says, an entry is too young, or others were quicker */
export async function buryEvidence(
  sql: Sql,
  tombstone: KeptTombstone,
  leftovers: readonly Leftover[],
): Promise<boolean> {
  const octets = (hex: string): string => `\\x${hex}`;
  const row = {
    first_index: tombstone.first,
    last_index: tombstone.last,
    previous_hash: octets(tombstone.previousHash),
    last_hash: octets(tombstone.lastHash),
    entries_sha256: octets(tombstone.entriesSha256),
    faults: tombstone.faults,
    stored_from: isoInstant(tombstone.storedFrom),
    stored_to: isoInstant(tombstone.storedTo),
    proved_at: isoInstant(tombstone.provedAt),
    previous_tombstone: octets(tombstone.previousTombstone),
    hash: octets(tombstone.hash),
    seal_key_id: tombstone.sealKeyId,
    seal: octets(tombstone.seal.toString("hex")),
  };
  const objects = leftovers.map(({ object, isShared, neededUntil }) => ({
    object,
    is_shared: isShared,
    needed_until: isoInstant(neededUntil),
  }));
  const [answer] = await sql<{ readonly buried: boolean }[]>`
    select bury_evidence(${JSON.stringify(row)}::text::jsonb, ${JSON.stringify(objects)}::text::jsonb) as buried`;
  return answer?.buried ?? false;
}

/**
 * Deletes a batch of the entries that are under a tombstone. One that came too early, from a clock that was ahead,
 * takes nothing young with it, and holds nothing up.
 * @returns how many
 */
export async function deleteBuried(sql: Sql): Promise<number> {
  const result = await sql`
    delete from evidence where index in (
      select index from evidence
      where index <= (select max(last_index) from evidence_tombstone) and stored_at < now() - interval '10 years'
      order by index limit ${LIMITS.sweep_batch} for update skip locked
    )`;
  return result.count;
}

/** Objects that no entry needs any more, in their order behind one. */
export async function listLeftovers(sql: Sql, after: EvidenceRef): Promise<EvidenceRef[]> {
  const rows = await sql<{ readonly object: string }[]>`
    select object from evidence_leftover as l
    where object > ${after} and not exists (
      select 1 from evidence as e where e.stored_at <= l.needed_until and (l.is_shared or e.object = l.object)
    )
    order by object limit ${LIMITS.sweep_batch}`;
  return rows.map(({ object }) => object);
}

/** Forgets objects that were removed. */
export async function forgetLeftovers(sql: Sql, objects: readonly EvidenceRef[]): Promise<void> {
  await sql`delete from evidence_leftover where object = any (${[...objects]}::text[])`;
}
