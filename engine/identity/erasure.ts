/** The erasure of a firm. */
import type { Clock } from "../base/clock.js";
import type { FirmId } from "../base/ids.js";
import { outboundLifecycle } from "../lifecycle/document.js";
import {
  cancelWaiting,
  closeFirm,
  eraseFirmRows,
  forgetStatistics,
  leavesRows,
  owesAnswers,
} from "../storage/identity/erasure.js";
import type { FirmKeyFiles } from "../storage/keyring/firm-key-files.js";
import type { FirmClosure } from "../storage/identity/erasure.js";
import type { Sql } from "../storage/sql.js";
import { OPERATOR, stampOf } from "./audit.js";

interface ErasurePorts {
  readonly sql: Sql;
  readonly clock: Clock;
  /** Where firms have keys of their own. @default they have none */
  readonly firmKeys?: Pick<FirmKeyFiles, "erase" | "isErased"> | undefined;
}

/**
 * Ends what a database from before an erasure has waiting: what is staged or scheduled waits for months, and nobody can
 * open it.
 */
async function endUnopenable(sql: Sql, firmId: FirmId): Promise<void> {
  const reason = "Its firm was erased, and its key with it: nobody can open it any more.";
  await cancelWaiting(sql, firmId, { document: outboundLifecycle.queued.cancelled.to, item: "cancelled", reason });
}

/**
 * Closes a firm, removes what it sent and received, and its key last: while rows are left that it opens, whoever broke
 * off can begin again. Safe to repeat.
 * @throws FirmKeyFailure when the directory of keys is away
 */
export async function eraseFirm(
  { sql, clock, firmKeys }: ErasurePorts,
  firmId: FirmId,
): Promise<{ readonly closure: FirmClosure; readonly rows: number }> {
  if (firmKeys?.isErased(firmId) === true) await endUnopenable(sql, firmId);
  if (await owesAnswers(sql, firmId)) return { closure: "under_way", rows: 0 };
  const closure = await closeFirm(sql, firmId, clock.now(), stampOf(OPERATOR, clock));
  let rows = 0;
  if (closure === "closed")
    for (;;) {
      const some = await eraseFirmRows(sql, firmId);
      if (some === 0) break;
      rows += some;
    }
  // What came meanwhile is sealed under the key: an answer for which the other side waits, or a document of the firm.
  if (closure === "closed" && (await leavesRows(sql, firmId))) return { closure: "under_way", rows };
  if (closure === "closed") {
    // First of all, for it is what ends the copies of the firm in every backup.
    await firmKeys?.erase(firmId);
    await forgetStatistics(sql);
  }
  return { closure, rows };
}
