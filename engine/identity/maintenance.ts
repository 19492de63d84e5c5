/** Deletes what has expired, in batches, so that no table of identity grows without bound. */
import type { Clock } from "../base/clock.js";
import { LIMITS } from "../base/limits.js";
import { pruneAudit } from "../storage/identity/audit.js";
import { pruneOffers } from "../storage/identity/consents.js";
import { pruneFailures } from "../storage/identity/credentials.js";
import { pruneOAuthCodes } from "../storage/identity/people/oauth.js";
import { pruneSessions, pruneSignInPlaces, pruneSignIns } from "../storage/identity/people/people.js";
import { pruneRates } from "../storage/rates.js";
import { pruneConsoleSessions } from "../storage/operators/sessions.js";
import type { Sql } from "../storage/sql.js";
import { pruneRefreshFamilies, pruneRevokedTokens } from "../storage/identity/tokens.js";

/** One pass. Safe to run on every node at once. */
export async function pruneIdentity(sql: Sql, clock: Clock): Promise<void> {
  const now = clock.now();
  const prunes = [
    () => pruneRevokedTokens(sql, now),
    () => pruneRefreshFamilies(sql, now),
    () => pruneFailures(sql, now),
    () => pruneRates(sql),
    () => pruneSignIns(sql, now),
    () => pruneSignInPlaces(sql, now),
    () => pruneSessions(sql, now),
    () => pruneConsoleSessions(sql, now),
    () => pruneOAuthCodes(sql, now),
    () => pruneOffers(sql, now),
    () => pruneAudit(sql, now),
  ];
  for (const prune of prunes) {
    for (let round = 0; round < LIMITS.identity_prune_rounds_max; round += 1)
      if ((await prune()) < LIMITS.identity_prune_batch) break;
  }
}
