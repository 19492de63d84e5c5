/**
 * Rate limits: a sliding-window log for each API key, GCRA for unauthenticated identifiers.
 *
 * The log holds the instants of the last N admissions, N being the limit. A request passes when fewer than N of them
 * lie in (now − window, now], so that no window of that length, wherever it starts, ever holds more than N. Remaining =
 * N − count, reset = oldest + window, Retry-After = ceil(reset − now).
 *
 * Several nodes share one limit through the `peers` port: an admission then needs a token as well, and tokens are
 * leased from the common store, one for each request that waits and a reserve by the node's use of the last seconds.
 * The store counts a token from its grant, so a window can hold too many only by tokens granted before it and used in
 * it: all nodes together keep at most 5 % of the limit in reserve. A reserve that is 3 s old is given back. A node
 * alone leases nothing. A node that cannot reach the store admits its share of the limit.
 * @source design/reliability.md, section 5; spec/rulings.md, section 4
 */
import { BoundedMap } from "../../engine/base/bounded.js";
import type { Clock } from "../../engine/base/clock.js";
import { LIMITS } from "../../engine/base/limits.js";
import { within } from "../../engine/base/waiting/wake.js";
import type { Admission } from "./ports.js";
import { RATES } from "../contract/route.js";
import type { RateName, RateRow } from "../contract/route.js";

/** What a node asks of the common store. */
export interface LeaseRequest {
  readonly bucket: string;
  readonly key: string;
  readonly limit: number;
  readonly window_ms: number;
  /** Tokens wanted, at least 1. */
  readonly want: number;
  /** Tokens of the last lease that were not used; the store forgets as many of its latest grants. */
  readonly unused: number;
}

export interface Lease {
  /** Tokens granted now, 0 to `want`. The store counts each for `window_ms`. */
  readonly granted: number;
  /** Milliseconds until the store's oldest counted grant leaves the window. */
  readonly resetIn_ms: number;
}

/** What the limiter knows of the nodes that share the limits with this one. */
export interface RatePeers {
  /** Nodes that share the limits, this one included; 1 means alone. Known without asking. */
  nodes(): number;
  /** One statement on the common store. May reject or be late: the limiter then counts alone. */
  lease(request: LeaseRequest): Promise<Lease>;
}

const alone: RatePeers = { nodes: () => 1, lease: () => Promise.resolve({ granted: 0, resetIn_ms: 0 }) };

interface RateLimiterOptions {
  readonly clock: Clock;
  /** @default alone */
  readonly peers?: RatePeers;
  /** @default RATES */
  readonly rates?: Readonly<Record<string, RateRow>>;
  /** Windows remembered. @default LIMITS.rate_windows_max */
  readonly windows_max?: number;
}

export interface RateLimiter {
  /** Counts one request of `key` in the row's bucket. Never throws or rejects. */
  admit(row: RateName, key: string): Admission | Promise<Admission>;
  /** Drops what has been idle for a whole window. Called by a timer. */
  sweep(): void;
  /** Windows remembered. */
  size(): number;
}

/** The admissions of one key in one bucket. */
class Window {
  readonly #instants: Float64Array;
  #head = 0;
  #count = 0;
  /** Tokens of the present lease, and until when they may be used. */
  tokens = 0;
  tokensUntil = 0;
  leasing: Promise<Lease | undefined> | undefined;
  /** Requests that wait for a token. */
  waiting = 0;
  /** Until then the store is known to have no token left, and requests are refused without asking it. */
  emptyUntil = 0;
  emptyResetAt = 0;
  /** The last time the window was asked. */
  touched = 0;

  constructor(limit: number) {
    this.#instants = new Float64Array(limit);
  }

  get #oldest(): number {
    return this.#instants[this.#head] ?? 0;
  }

  /** Forgets admissions that have left the window. */
  expire(now: number, window_ms: number): void {
    while (this.#count > 0 && this.#oldest <= now - window_ms) {
      this.#head = (this.#head + 1) % this.#instants.length;
      this.#count--;
    }
  }

  get used(): number {
    return this.#count;
  }

  add(now: number): void {
    this.#instants[(this.#head + this.#count) % this.#instants.length] = now;
    this.#count++;
  }

  /** Milliseconds until the oldest admission leaves; a whole window when there is none. */
  resetIn(now: number, window_ms: number): number {
    // In this order the fractions of a clock never make it more than a window.
    return this.#count === 0 ? window_ms : window_ms - (now - this.#oldest);
  }

  /** Admissions in the last `span_ms`. */
  usedSince(instant: number): number {
    let used = 0;
    for (let i = this.#count - 1; i >= 0; i--) {
      if ((this.#instants[(this.#head + i) % this.#instants.length] ?? 0) < instant) break;
      used++;
    }
    return used;
  }
}

export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  const { clock, peers = alone, rates = RATES, windows_max = LIMITS.rate_windows_max } = options;
  const windows = new BoundedMap<string, Window>(windows_max);
  /** Theoretical arrival time by identifier. */
  const arrivals = new BoundedMap<string, number>(windows_max);

  /** @param retryIn_ms  when one more would be admitted. @default when the window is empty again */
  const answer = (
    row: RateRow,
    allowed: boolean,
    left: { readonly remaining: number; readonly resetIn_ms: number; readonly retryIn_ms?: number },
  ): Admission => ({
    allowed,
    limit: row.limit,
    remaining: Math.max(0, left.remaining),
    resetAt: Math.ceil((clock.now() + left.resetIn_ms) / 1000),
    retryAfter_s: allowed ? 0 : Math.max(1, Math.ceil((left.retryIn_ms ?? left.resetIn_ms) / 1000)),
  });

  /** Admits from the local log, up to `limit`. */
  const admitLocally = (row: RateRow, window: Window, now: number, limit: number): Admission => {
    const allowed = window.used < limit;
    if (allowed) window.add(now);
    return answer(row, allowed, { remaining: limit - window.used, resetIn_ms: window.resetIn(now, row.window_ms) });
  };

  const admitShared = async (row: RateRow, window: Window, key: string): Promise<Admission> => {
    for (;;) {
      const now = clock.monotonic();
      window.expire(now, row.window_ms);
      if (window.used >= row.limit) return admitLocally(row, window, now, row.limit);
      if (window.tokens > 0 && now < window.tokensUntil) {
        window.tokens--;
        return admitLocally(row, window, now, row.limit);
      }
      if (now < window.emptyUntil) return answer(row, false, { remaining: 0, resetIn_ms: window.emptyResetAt - now });
      window.waiting++;
      const lease = await (window.leasing ??= takeLease(row, window, key, now));
      window.waiting--;
      if (lease === undefined) {
        const then = clock.monotonic();
        window.expire(then, row.window_ms);
        return admitLocally(row, window, then, Math.max(1, Math.floor(row.limit / peers.nodes())));
      }
    }
  };

  /** One lease for all who wait for it. Undefined when the store is away or late. */
  const takeLease = async (row: RateRow, window: Window, key: string, now: number): Promise<Lease | undefined> => {
    const unused = window.tokens;
    window.tokens = 0;
    // Those who wait use theirs at once. What is held beyond is the error of the whole: all nodes together hold at most
    // the share.
    const reserve = Math.floor((row.limit * LIMITS.rate_reserve_share) / peers.nodes());
    const want = Math.min(
      row.limit,
      Math.max(1, window.waiting) + Math.min(reserve, window.usedSince(now - LIMITS.rate_lease_ms)),
    );
    try {
      const lease = await within(
        peers.lease({ bucket: row.bucket, key, limit: row.limit, window_ms: row.window_ms, want, unused }),
        LIMITS.rate_lease_timeout_ms,
        undefined,
      );
      if (lease === undefined) return undefined;
      window.tokens = lease.granted;
      // The lease is counted from when it was asked for. The store grants it later, so ours always ends first.
      window.tokensUntil = now + LIMITS.rate_lease_ms;
      if (lease.granted === 0) {
        // Asked again after a second all the same: another node may have given tokens back.
        window.emptyResetAt = now + lease.resetIn_ms;
        window.emptyUntil = now + Math.min(lease.resetIn_ms, LIMITS.rate_empty_ms);
      }
      return lease;
    } catch {
      return undefined;
    } finally {
      window.leasing = undefined;
    }
  };

  const admitUnauthenticated = (row: RateRow, key: string): Admission => {
    const now = clock.monotonic();
    const limit = Math.max(1, Math.floor(row.limit / peers.nodes()));
    const spacing = row.window_ms / limit;
    // Strangers can make up any number of identifiers, so none gets a lease: each node admits its share of the limit.
    const tolerance = row.window_ms;
    const arrival = Math.max(now, arrivals.use(key) ?? now);
    const next = arrival + spacing;
    const wait = next - now - tolerance;
    // Half a microsecond of tolerance, because N spacings do not add up to exactly one window in floating point.
    const allowed = wait <= 0.0005;
    if (allowed) arrivals.set(key, next);
    const backlog = (allowed ? next : arrival) - now;
    const remaining = Math.floor((tolerance - backlog) / spacing + 1e-9);
    return answer(row, allowed, { remaining, resetIn_ms: backlog, retryIn_ms: wait });
  };

  return {
    admit(name, key) {
      const row = rates[name] ?? RATES[name];
      const bucketKey = `${row.bucket}\n${key}`;
      if (row.key !== "key") return admitUnauthenticated(row, bucketKey);
      const now = clock.monotonic();
      let window = windows.use(bucketKey);
      if (window === undefined) windows.set(bucketKey, (window = new Window(row.limit)));
      window.touched = now;
      if (peers.nodes() > 1) return admitShared(row, window, key);
      window.expire(now, row.window_ms);
      return admitLocally(row, window, now, row.limit);
    },
    sweep() {
      const now = clock.monotonic();
      windows.dropWhile((window) => window.leasing === undefined && now - window.touched >= LIMITS.rate_window_ms);
      arrivals.dropWhile((arrival) => arrival <= now);
    },
    size: () => windows.size + arrivals.size,
  };
}
