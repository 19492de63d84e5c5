/**
 * How often one key may make us ask others: a bucket that fills evenly, so that one key cannot flood the SMPs of the
 * network through us. Remembered answers cost nothing.
 */
import { BoundedMap } from "../base/bounded.js";
import type { Clock, Instant } from "../base/clock.js";
import type { KeyId } from "../base/ids.js";
import { LIMITS } from "../base/limits.js";

/** The budget of every key on this node. */
export interface LookupBudget {
  /** Takes one question from a key's budget; false when it has none left. */
  take(key: KeyId): boolean;
  /** Seconds until a key has a question again, at least 1. */
  wait_s(key: KeyId): number;
}

interface Bucket {
  readonly left: number;
  readonly at: Instant;
}

const { lookup_budget: CAPACITY, rate_window_ms: WINDOW } = LIMITS;

/** Makes the budgets: LIMITS.lookup_budget questions in LIMITS.rate_window_ms, kept per node. */
export function createLookupBudget(clock: Pick<Clock, "monotonic">): LookupBudget {
  const buckets = new BoundedMap<KeyId, Bucket>(LIMITS.lookup_budget_keys_max);
  const leftOf = (key: KeyId): number => {
    const bucket = buckets.get(key);
    if (bucket === undefined) return CAPACITY;
    return Math.min(CAPACITY, bucket.left + ((clock.monotonic() - bucket.at) * CAPACITY) / WINDOW);
  };
  return {
    take: (key) => {
      const left = leftOf(key);
      if (left < 1) return false;
      buckets.set(key, { left: left - 1, at: clock.monotonic() });
      return true;
    },
    wait_s: (key) => Math.max(1, Math.ceil(((1 - leftOf(key)) * WINDOW) / CAPACITY / 1_000)),
  };
}
