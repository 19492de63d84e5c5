/** The erasure of a firm. */
import type { Clock } from "../base/clock.js";
import type { FirmId } from "../base/ids.js";
import { closeFirm, eraseFirmRows, leavesRows, owesAnswers } from "../storage/identity/erasure.js";
import type { FirmKeyFiles } from "../storage/keyring/firm-key-files.js";
import type { FirmClosure } from "../storage/identity/erasure.js";
import type { Sql } from "../storage/sql.js";
import { OPERATOR, stampOf } from "./audit.js";

interface ErasurePorts {
  readonly sql: Sql;
  readonly clock: Clock;
  /** Where firms have keys of their own. @default they have none */
  readonly firmKeys?: Pick<FirmKeyFiles, "erase"> | undefined;
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
  if (closure === "closed") await firmKeys?.erase(firmId);
  return { closure, rows };
}
