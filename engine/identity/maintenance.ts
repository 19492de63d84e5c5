/** Deletes what has expired, in batches, so that no table of identity grows without bound. */
import type { Clock } from "../base/clock.js";
import { LIMITS } from "../base/limits.js";
import { pruneFailures } from "../storage/identity/credentials.js";
import { pruneRates } from "../storage/rates.js";
import type { Sql } from "../storage/sql.js";
import { pruneRefreshFamilies, pruneRevokedTokens } from "../storage/identity/tokens.js";

/** Batches that one kind of row may take in one pass, so that a pass ends. */
const ROUNDS_MAX = 20;

/** One pass. Safe to run on every node at once. */
export async function pruneIdentity(sql: Sql, clock: Clock): Promise<void> {
  const now = clock.now();
  const prunes = [
    () => pruneRevokedTokens(sql, now),
    () => pruneRefreshFamilies(sql, now),
    () => pruneFailures(sql, now),
    () => pruneRates(sql),
  ];
  for (const prune of prunes) {
    for (let round = 0; round < ROUNDS_MAX; round += 1) if ((await prune()) < LIMITS.identity_prune_batch) break;
  }
}
