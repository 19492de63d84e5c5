/** Statements that count failed credentials for all nodes together. */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import type { Sql } from "../sql.js";

/** The longest window; older failures are forgotten. */
const KEPT_MS = Math.max(LIMITS.credential_window_sapi_ms, LIMITS.credential_window_enterprise_ms);

/**
 * Records a failed attempt unless the slot is locked already.
 * @returns undefined when it was recorded, else the instant at which the lock ends
 */
export async function recordFailure(
  sql: Sql,
  slot: number,
  now: Instant,
  window_ms: number,
): Promise<Instant | undefined> {
  const rows = await sql<{ readonly lockedUntil: Date | null }[]>`
    select record_failed_credential(${slot}, ${isoInstant(now)}, ${`${window_ms} milliseconds`},
    ${`${KEPT_MS} milliseconds`},
      ${LIMITS.credential_failures_max}) as "lockedUntil"`;
  return rows[0]?.lockedUntil?.getTime();
}

/** Deletes slots whose failures no window counts any more. @returns rows deleted */
export async function pruneFailures(sql: Sql, now: Instant): Promise<number> {
  const result = await sql`
    delete from failed_credential where slot in (
      select slot from failed_credential
      where not exists (select 1 from unnest(failed_at) t where t > ${isoInstant(now - KEPT_MS)})
      limit ${LIMITS.identity_prune_batch} for update skip locked)`;
  return result.count;
}
