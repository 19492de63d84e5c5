/** How long items of the Box are kept, and their end. */
import { LIMITS } from "../../base/limits.js";
import type { BoxState } from "../../lifecycle/box.js";
import { deleteExpiredBoxItems, dropSentPayloads, expireBoxItems } from "../../storage/box/retention.js";
import type { Sql } from "../../storage/sql.js";

/**
 * How long items in a state are kept after they came into it, in milliseconds, and why. What waits has no end of its
 * own.
 * @source spec/enterprise.md, What the service does; Box item: retained under retention policy
 */
export const BOX_KEPT: Readonly<Partial<Record<BoxState, { readonly ms: number; readonly reason: string }>>> = {
  sent: { ms: LIMITS.box_sent_kept_ms, reason: "sent_archive" },
  needs_repair: { ms: LIMITS.box_ended_kept_ms, reason: "needs_repair" },
  failed: { ms: LIMITS.box_ended_kept_ms, reason: "failed" },
  cancelled: { ms: LIMITS.box_ended_kept_ms, reason: "cancelled" },
};

/** One pass. Safe to run on every node at once. */
export async function pruneBox(sql: Sql): Promise<void> {
  const steps = [
    ...Object.entries(BOX_KEPT).map(
      ([state, { ms }]) =>
        () =>
          expireBoxItems(sql, state as BoxState, ms),
    ),
    () => dropSentPayloads(sql),
    () => deleteExpiredBoxItems(sql),
  ];
  for (const step of steps) {
    for (let round = 0; round < LIMITS.box_prune_rounds_max; round += 1)
      if ((await step()) < LIMITS.box_prune_batch) break;
  }
}
