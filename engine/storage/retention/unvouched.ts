/** The end of operations of White Label for whose token no operator has vouched. */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import { UNVOUCHED } from "../identity/white-label.js";
import type { Sql } from "../sql.js";

const before = (now: Instant): string => isoInstant(now - LIMITS.white_label_unvouched_kept_ms);

/** Releases a batch of those that have waited too long, with an entry in the audit each. @returns how many */
export async function releaseUnvouched(sql: Sql, now: Instant): Promise<number> {
  const [row] = await sql<{ readonly released: number }[]>`
    select release_unvouched_white_label(${before(now)}, ${isoInstant(now)}, ${LIMITS.sweep_batch}) as released`;
  return row?.released ?? 0;
}

/** How many have waited too long, counted as far as one pass would release. */
export async function countUnvouched(sql: Sql, now: Instant): Promise<number> {
  const [row] = await sql<{ readonly due: number }[]>`
    select count(*)::integer as due from (
      select 1 from white_label_operation
      where status = 'manual_review' and error_code = ${UNVOUCHED} and created_at < ${before(now)}
      limit ${LIMITS.sweep_batch * LIMITS.sweep_rounds_max}
    ) as o`;
  return row?.due ?? 0;
}
