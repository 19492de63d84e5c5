/** Whether the database can be served, as probes ask it: any number of them costs one statement a second. */
import type { Clock } from "../base/clock.js";
import { LIMITS } from "../base/limits.js";
import { servableLook } from "./migrate.js";
import { untilAnswered } from "./sql.js";
import type { Sql } from "./sql.js";

/**
 * Makes the question of probes: whether the database answers and its schema is one that this release can serve.
 * An answer holds for LIMITS.readiness_cached_ms; who asks while the database is asked gets the same answer.
 */
export function createReadiness(sql: Sql, clock: Clock): () => Promise<boolean> {
  const look = servableLook(sql);
  let asked_ms = Number.NEGATIVE_INFINITY;
  let answer = Promise.resolve(false);
  return () => {
    const now_ms = clock.monotonic();
    if (now_ms - asked_ms >= LIMITS.readiness_cached_ms) {
      asked_ms = now_ms;
      answer = untilAnswered(look()).catch(() => false);
    }
    return answer;
  };
}
