/** Lists that show what was there before they were asked for. */
import { setTimeout as pause } from "node:timers/promises";

import type { Clock } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import { findNotYetListed, isNotYetListed } from "../../storage/documents/firm-received.js";
import type { ReadFirms } from "../../storage/documents/firm-received.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";

/**
 * Reads a list, and once more when its end was not there yet: who has seen "delivered" at the sender's expects the
 * document in the receiver's next list, also while it is being judged or while a transaction beside its own is open.
 * A page that is followed by another is not waited for: what comes later lies behind it.
 * @throws Refusal TEMPORARY
 */
export async function settled<Page>(
  { sql, clock }: { readonly sql: Sql; readonly clock: Clock },
  firms: ReadFirms,
  read: () => Promise<Page>,
  hasMore: (page: Page) => boolean,
): Promise<Page> {
  const page = await read();
  if (hasMore(page)) return page;
  const hidden = await orTemporary(findNotYetListed(sql, { firms, heldSince: clock.now() - LIMITS.held_max_ms }));
  if (hidden.held.length === 0 && hidden.before === null) return page;
  for (let wait_ms = LIMITS.held_list_first_wait_ms; wait_ms <= LIMITS.held_list_last_wait_ms; wait_ms *= 2) {
    await pause(wait_ms);
    if (!(await orTemporary(isNotYetListed(sql, hidden)))) break;
  }
  return read();
}
