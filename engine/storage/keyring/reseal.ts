/**
 * Seals stored values again under the key that seals now. Rows are taken in the order of their keys, so that a pass
 * that was cut off is begun again and finds only what is left; engines read and write meanwhile.
 */
import { createHash } from "node:crypto";

import { Refusal } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import type { FirmId } from "../../base/ids.js";
import { FIRM_KEY_PREFIX, KeyMissing } from "../sealer.js";
import type { Sealer } from "../sealer.js";
import type { Sql } from "../sql.js";
import { FirmKeyFailure } from "./firm-key-files.js";

/**
 * Hears of a value that does not open and is left as it is: the table, and the row by its id.
 * @param missingKeyId  the key that has sealed it, or is to seal it for its firm, where that cannot be had.
 *   @default the value is damaged
 */
export type OnLeft = (table: string, id: string, missingKeyId?: string) => void;

/**
 * Opens what is to be sealed again. A value that does not open must not keep all others from the new key.
 * @param told  hears that it does not open. @default it is thrown
 * @returns undefined where it does not open
 * @throws Error also when keys are away, which is no fault of the value
 */
export async function openedOrTold<T>(
  open: () => T | Promise<T>,
  told: ((missingKeyId?: string) => void) | undefined,
): Promise<T | undefined> {
  try {
    return await open();
  } catch (error) {
    if (told === undefined || error instanceof Refusal || error instanceof FirmKeyFailure) throw error;
    told(error instanceof KeyMissing ? error.keyId : undefined);
    return undefined;
  }
}

/** Tells of one row that it is left; undefined where nobody hears it, so that it is thrown. */
export const tellerOf = (
  onLeft: OnLeft | undefined,
  table: string,
  id: string,
): ((missingKeyId?: string) => void) | undefined =>
  onLeft &&
  ((missingKeyId) => {
    onLeft(table, id, missingKeyId);
  });

/**
 * Who seals what belongs to a firm. One whose key is damaged, lost or erased must not keep all others from the new key.
 * @param told  hears that the firm's key cannot be had. @default that is thrown
 * @returns undefined where it cannot be had
 * @throws Error also when the directory of keys is away
 */
export async function sealerOrTold(
  sealer: Sealer,
  firmId: FirmId | null,
  told: ((missingKeyId: string) => void) | undefined,
): Promise<Sealer | undefined> {
  try {
    return await sealer.forFirm(firmId ?? undefined);
  } catch (error) {
    if (told === undefined || firmId === null || !(error instanceof FirmKeyFailure) || error.passing) throw error;
    told(`${FIRM_KEY_PREFIX}${firmId}`);
    return undefined;
  }
}

/** Whose the rows of a table `t` are: the firm, or null. */
const OWNERS = {
  row: (sql: Sql) => sql`t.firm_id`,
  document: (sql: Sql) => sql`coalesce(
    (select d.firm_id from document as d where d.id = t.document_id),
    (select r.firm_id from received_document as r where r.id = t.document_id))`,
  item: (sql: Sql) => sql`(select i.firm_id from box_item as i where i.id = t.item_id)`,
  exchange: (sql: Sql) => sql`(select x.firm_id from exchange as x where x.id = t.id)`,
} as const;

/** Sealed values of a table that stand beside the id of their key. */
export interface SealedColumns {
  readonly table: string;
  /** The primary key. */
  readonly id: string;
  readonly idType: "uuid" | "text";
  /** The column with the id of the master key. */
  readonly keyId: string;
  /** Each column with sealed octets, and what they are sealed for in the row with that id. */
  readonly sealed: Readonly<Record<string, (id: string) => string>>;
  /** How the firm is found that a row belongs to. @default what no firm's key seals: secrets of the installation */
  readonly owner?: keyof typeof OWNERS;
}

interface Place {
  readonly id: string;
  readonly key_id: string;
  readonly firm_id: FirmId | null;
}

/** An id as the index of its column compares it. */
const idOf = (sql: Sql, { idType }: SealedColumns, id: string): ReturnType<typeof sql> =>
  idType === "uuid" ? sql`${id}::uuid` : sql`${id}::text`;

/**
 * The next rows that a master key has sealed and ought not to have: another one, or any where the firm's key is to
 * seal. What a firm's key has sealed stays as it is: when the master key changes, that key is wrapped again.
 */
async function nextPlaces(
  sql: Sql,
  of: SealedColumns,
  after: string | undefined,
  sealer: Sealer,
): Promise<readonly Place[]> {
  const [id, keyId] = [sql(`t.${of.id}`), sql(`t.${of.keyId}`)];
  const firm = of.owner === undefined || !sealer.isByFirm ? sql`null::uuid` : OWNERS[of.owner](sql);
  return sql<Place[]>`
    select ${id}::text as id, ${keyId} as key_id, o.firm_id
    from ${sql(of.table)} as t cross join lateral (select ${firm} as firm_id) as o
    where (${keyId} <> ${sealer.keyId} or o.firm_id is not null) and not starts_with(${keyId}, ${FIRM_KEY_PREFIX})
      ${after === undefined ? sql`` : sql`and ${id} > ${idOf(sql, of, after)}`}
    order by ${id} limit ${LIMITS.reseal_batch}`;
}

interface Resealer {
  readonly sealer: Sealer;
  readonly onLeft: OnLeft | undefined;
}

/** Seals one row again; whoever has written or removed it meanwhile wins. @returns whether it was written */
async function resealRow(
  sql: Sql,
  of: SealedColumns,
  place: Place,
  { sealer: by, onLeft }: Resealer,
): Promise<boolean> {
  const { id, key_id } = place;
  const names = Object.keys(of.sealed);
  const [row] = await sql<Readonly<Record<string, Buffer | null>>[]>`
    select ${sql(names)} from ${sql(of.table)}
    where ${sql(of.id)} = ${idOf(sql, of, id)} and ${sql(of.keyId)} = ${key_id}`;
  if (row === undefined) return false;
  const told = tellerOf(onLeft, of.table, id);
  const sealer = await sealerOrTold(by, place.firm_id, told);
  if (sealer === undefined) return false;
  const values: Record<string, Buffer | string> = { [of.keyId]: sealer.keyId };
  for (const [name, contextOf] of Object.entries(of.sealed)) {
    const sealed = row[name];
    if (sealed === null || sealed === undefined) continue;
    const context = contextOf(id);
    const opened = await openedOrTold(() => sealer.openInSlices(key_id, sealed, context), told);
    if (opened === undefined) return false;
    values[name] = await sealer.sealInSlices(opened, context);
  }
  // A node that seals under the same key may have written another value since it was read.
  const isAsRead = names.map((name) => {
    const read = row[name];
    const digest = read === null || read === undefined ? null : createHash("sha256").update(read).digest();
    return sql`and sha256(${sql(name)}) is not distinct from ${digest}::bytea`;
  });
  const written = await sql`
    update ${sql(of.table)} set ${sql(values)}
    where ${sql(of.id)} = ${idOf(sql, of, id)} and ${sql(of.keyId)} = ${key_id} ${isAsRead}`;
  return written.count > 0;
}

/**
 * Seals everything of a table that other keys have sealed, and what belongs to firms under theirs where they have some.
 * @param onLeft  hears of rows of which a value does not open: its key is not in the ring, or it is damaged; they
 *   stay as they are. @default that is thrown
 * @returns how many rows were sealed again
 */
export async function resealTable(sql: Sql, of: SealedColumns, sealer: Sealer, onLeft?: OnLeft): Promise<number> {
  let written = 0;
  let after: string | undefined;
  for (;;) {
    const places: readonly Place[] = await nextPlaces(sql, of, after, sealer);
    for (const place of places) if (await resealRow(sql, of, place, { sealer, onLeft })) written += 1;
    after = places.at(-1)?.id ?? after;
    if (places.length < LIMITS.reseal_batch) return written;
  }
}
