/**
 * Which firms have had a key. A file that is lost looks like one that was never made: what is remembered here tells
 * them apart, and is written before the key seals anything.
 */
import { isoInstant } from "../../base/clock.js";
import type { Clock } from "../../base/clock.js";
import type { FirmId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { Sql } from "../sql.js";
import { FirmKeyFailure } from "./firm-key-files.js";
import type { FirmKeyFiles, WrappedKey } from "./firm-key-files.js";

/** The stored key of a firm; undefined for one that never had one. @throws FirmKeyFailure where it is lost */
export async function readKeyOnce(
  sql: Sql,
  files: Pick<FirmKeyFiles, "read">,
  firmId: FirmId,
): Promise<WrappedKey | undefined> {
  const stored = await files.read(firmId);
  if (stored !== undefined) return stored;
  const rows = await sql`select 1 from firm_key_made where firm_id = ${firmId}`;
  if (rows.length === 0) return undefined;
  // Another process may have made it since; its file comes before what is remembered.
  const made = await files.read(firmId);
  if (made !== undefined) return made;
  throw new FirmKeyFailure(
    `The key of the firm ${firmId} is lost from FIRM_KEYS, and no second one is made; restore its file from a copy.`,
  );
}

/** Remembers that firms have keys. Safe to repeat, and from several nodes at once. */
export async function rememberKeys(sql: Sql, firmIds: readonly FirmId[], clock: Clock): Promise<void> {
  await sql`
    insert into firm_key_made (firm_id, made_at)
    select firm_id, ${isoInstant(clock.now())} from unnest(${firmIds}::uuid[]) as firm_id
    on conflict do nothing`;
}

/**
 * Remembers the keys of a directory that was filled before anything was remembered. That it is done is written last, so
 * that a start which dies on the way is followed by one that begins again.
 */
export async function rememberOlderKeys(sql: Sql, files: Pick<FirmKeyFiles, "list">, clock: Clock): Promise<void> {
  const [open] = await sql`select 1 from firm_key_store where remembered_at is null`;
  if (open === undefined) return;
  // Bounded by LIMITS.firm_keys_remembered_at_once.
  let batch: FirmId[] = [];
  for await (const firmId of files.list()) {
    batch.push(firmId);
    if (batch.length < LIMITS.firm_keys_remembered_at_once) continue;
    await rememberKeys(sql, batch, clock);
    batch = [];
  }
  if (batch.length > 0) await rememberKeys(sql, batch, clock);
  await sql`update firm_key_store set remembered_at = ${isoInstant(clock.now())} where remembered_at is null`;
}
