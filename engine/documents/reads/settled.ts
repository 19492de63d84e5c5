/** Lists that show what was there before they were asked for. */
import { setTimeout as pause } from "node:timers/promises";

import type { Clock } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import { findNotYetListed, isNotYetListed } from "../../storage/documents/firm-received.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";

/** A list that is about to be read. */
type List = Omit<Parameters<typeof findNotYetListed>[1], "heldSince">;

/**
 * Waits, 0.6 s at most, until a list shows what was there before: who has seen "delivered" at the sender's expects the
 * document in the receiver's next list, also while it is being judged or while a transaction beside its own is open.
 * What comes meanwhile is not waited for.
 * @throws Refusal TEMPORARY
 */
export async function settled({ sql, clock }: { readonly sql: Sql; readonly clock: Clock }, list: List): Promise<void> {
  const hidden = await orTemporary(findNotYetListed(sql, { ...list, heldSince: clock.now() - LIMITS.held_max_ms }));
  if (hidden.held.length === 0 && hidden.before === null) return;
  for (let wait_ms = LIMITS.held_list_first_wait_ms; wait_ms <= LIMITS.held_list_last_wait_ms; wait_ms *= 2) {
    await pause(wait_ms);
    if (!(await orTemporary(isNotYetListed(sql, hidden, list)))) return;
  }
}
