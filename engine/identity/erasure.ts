/** The erasure of a firm. */
import type { Clock } from "../base/clock.js";
import type { FirmId } from "../base/ids.js";
import { closeFirm, eraseFirmRows } from "../storage/identity/erasure.js";
import type { FirmClosure } from "../storage/identity/erasure.js";
import type { Sql } from "../storage/sql.js";
import { OPERATOR, stampOf } from "./audit.js";

/** Closes a firm and removes what it sent and received. Safe to repeat, and to break off. */
export async function eraseFirm(
  { sql, clock }: { readonly sql: Sql; readonly clock: Clock },
  firmId: FirmId,
): Promise<{ readonly closure: FirmClosure; readonly rows: number }> {
  const closure = await closeFirm(sql, firmId, clock.now(), stampOf(OPERATOR, clock));
  let rows = 0;
  if (closure === "closed")
    for (;;) {
      const some = await eraseFirmRows(sql, firmId);
      if (some === 0) break;
      rows += some;
    }
  return { closure, rows };
}
