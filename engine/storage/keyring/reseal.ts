/**
 * Seals stored values again under the key that seals now. Rows are taken in the order of their keys, so that a pass
 * that was cut off is begun again and finds only what is left; engines read and write meanwhile.
 */
import { LIMITS } from "../../base/limits.js";
import type { Sealer } from "../sealer.js";
import type { Sql } from "../sql.js";

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
}

interface Place {
  readonly id: string;
  readonly key_id: string;
}

/** An id as the index of its column compares it. */
const idOf = (sql: Sql, { idType }: SealedColumns, id: string): ReturnType<typeof sql> =>
  idType === "uuid" ? sql`${id}::uuid` : sql`${id}::text`;

/** The next rows that another key has sealed. */
async function nextPlaces(sql: Sql, of: SealedColumns, after: string | undefined, current: string): Promise<Place[]> {
  const [id, keyId] = [sql(of.id), sql(of.keyId)];
  return sql<Place[]>`
    select ${id}::text as id, ${keyId} as key_id from ${sql(of.table)}
    where ${keyId} <> ${current} ${after === undefined ? sql`` : sql`and ${id} > ${idOf(sql, of, after)}`}
    order by ${id} limit ${LIMITS.reseal_batch}`;
}

/** Seals one row again; whoever has written or removed it meanwhile wins. @returns whether it was written */
async function resealRow(sql: Sql, of: SealedColumns, { id, key_id }: Place, sealer: Sealer): Promise<boolean> {
  const names = Object.keys(of.sealed);
  const [row] = await sql<Readonly<Record<string, Buffer | null>>[]>`
    select ${sql(names)} from ${sql(of.table)}
    where ${sql(of.id)} = ${idOf(sql, of, id)} and ${sql(of.keyId)} = ${key_id}`;
  if (row === undefined) return false;
  const values: Record<string, Buffer | string> = { [of.keyId]: sealer.keyId };
  for (const [name, contextOf] of Object.entries(of.sealed)) {
    const sealed = row[name];
    if (sealed === null || sealed === undefined) continue;
    const context = contextOf(id);
    values[name] = await sealer.sealInSlices(await sealer.openInSlices(key_id, sealed, context), context);
  }
  const written = await sql`
    update ${sql(of.table)} set ${sql(values)}
    where ${sql(of.id)} = ${idOf(sql, of, id)} and ${sql(of.keyId)} = ${key_id}`;
  return written.count > 0;
}

/**
 * Seals everything of a table that other keys have sealed.
 * @returns how many rows were sealed again
 * @throws Error when a value does not open: its key is not in the ring, or it is damaged
 */
export async function resealTable(sql: Sql, of: SealedColumns, sealer: Sealer): Promise<number> {
  let written = 0;
  let after: string | undefined;
  for (;;) {
    const places: Place[] = await nextPlaces(sql, of, after, sealer.keyId);
    for (const place of places) if (await resealRow(sql, of, place, sealer)) written += 1;
    after = places.at(-1)?.id ?? after;
    if (places.length < LIMITS.reseal_batch) return written;
  }
}
