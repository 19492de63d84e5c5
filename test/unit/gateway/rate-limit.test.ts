/** The limiter against its definition: never more than N admissions in any window, on one node and on several. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { Clock } from "../../../engine/base/clock.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { RATES } from "../../../gateway/contract/route.js";
import { createRateLimiter } from "../../../gateway/request/rate-limit.js";
import type { Lease, LeaseRequest, RateLimiter, RatePeers } from "../../../gateway/request/rate-limit.js";
import type { Admission } from "../../../gateway/request/ports.js";
import type { RateRow } from "../../../gateway/contract/route.js";

const seed = Number(process.env["SEED"] ?? 20261120);
const WINDOW = LIMITS.rate_window_ms;

/** Wall clock and monotonic clock move together unless the test moves one. */
const fakeClock = () => {
  let mono = 5_000;
  let wall = 1_800_000_000_000;
  return {
    now: () => wall,
    monotonic: () => mono,
    advance: (ms: number) => {
      mono += ms;
      wall += ms;
    },
    stepWall: (ms: number) => {
      wall += ms;
    },
  } satisfies Clock & Record<string, unknown>;
};
const row = (limit: number, key: RateRow["key"] = "key"): Record<string, RateRow> => ({
  sapi: { limit, window_ms: WINDOW, key, headers: "on_429", bucket: "sapi" },
});
const now = (admission: Admission | Promise<Admission>): Admission => {
  if (admission instanceof Promise) throw new Error("expected an answer at once");
  return admission;
};

/** The largest number of instants in any (t − window, t]. */
const densest = (instants: readonly number[], window = WINDOW): number => {
  let from = 0;
  let most = 0;
  instants.forEach((instant, i) => {
    while ((instants[from] ?? 0) <= instant - window) from++;
    most = Math.max(most, i - from + 1);
  });
  return most;
};

describe("an API key on one node", () => {
  test("nobody is told to wait longer than a window, also where the clock's fractions do not add up", () => {
    // In floating point this instant and a minute, less this instant, is more than a minute.
    const instant = 259_573.182587721;
    expect(instant + WINDOW - instant).toBeGreaterThan(WINDOW);
    const limiter = createRateLimiter({ clock: { ...fakeClock(), monotonic: () => instant } });
    for (let i = 0; i < 150; i++) void limiter.admit("sapi_send", "k");
    expect(now(limiter.admit("sapi_send", "k"))).toMatchObject({
      allowed: false,
      resetAt: 1_800_000_060,
      retryAfter_s: 60,
    });
  });

  test("exactly the limit passes; the next is refused with the seconds until the oldest leaves", () => {
    const clock = fakeClock();
    const limiter = createRateLimiter({ clock });
    for (let i = 0; i < 150; i++)
      expect(now(limiter.admit("sapi_send", "k"))).toMatchObject({
        allowed: true,
        limit: 150,
        remaining: 149 - i,
        retryAfter_s: 0,
      });
    clock.advance(500);
    expect(now(limiter.admit("sapi_send", "k"))).toEqual({
      allowed: false,
      limit: 150,
      remaining: 0,
      resetAt: 1_800_000_060,
      retryAfter_s: 60,
    });
    clock.advance(59_400);
    expect(now(limiter.admit("sapi_send", "k"))).toMatchObject({ allowed: false, retryAfter_s: 1 });
    clock.advance(100);
    expect(now(limiter.admit("sapi_send", "k")).allowed).toBe(true);
  });

  test("bursts at 59.9 s and 60.1 s do not give twice the limit", () => {
    const clock = fakeClock();
    const limiter = createRateLimiter({ clock });
    clock.advance(59_900);
    let allowed = 0;
    for (let i = 0; i < 200; i++) if (now(limiter.admit("sapi", "k")).allowed) allowed++;
    clock.advance(200);
    for (let i = 0; i < 200; i++) if (now(limiter.admit("sapi", "k")).allowed) allowed++;
    expect(allowed).toBe(200);
  });

  test("no window of 60 s ever holds more than the limit, whatever the arrivals; and no request is refused without that reason", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.array(fc.oneof(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 0, max: 70_000 })), { maxLength: 300 }),
        (limit, gaps) => {
          const clock = fakeClock();
          const limiter = createRateLimiter({ clock, rates: row(limit) });
          const admitted: number[] = [];
          for (const gap of gaps) {
            clock.advance(gap);
            const at = clock.monotonic();
            const inWindow = admitted.filter((instant) => instant > at - WINDOW).length;
            const answer = now(limiter.admit("sapi", "k"));
            expect(answer.allowed).toBe(inWindow < limit);
            if (answer.allowed) admitted.push(at);
            expect(answer.remaining).toBe(Math.max(0, limit - inWindow - (answer.allowed ? 1 : 0)));
          }
          expect(densest(admitted)).toBeLessThanOrEqual(limit);
        },
      ),
      { seed, numRuns: 200 },
    );
  });

  test("repeating after Retry-After passes, also when the wall clock steps back meanwhile", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 0, max: 59_999 }),
        fc.integer({ min: -3_600_000, max: 3_600_000 }),
        (limit, wait, step) => {
          const clock = fakeClock();
          const limiter = createRateLimiter({ clock, rates: row(limit) });
          for (let i = 0; i < limit; i++) void limiter.admit("sapi", "k");
          clock.advance(wait);
          clock.stepWall(step);
          const refused = now(limiter.admit("sapi", "k"));
          expect(refused.allowed).toBe(false);
          clock.advance(refused.retryAfter_s * 1000);
          expect(now(limiter.admit("sapi", "k")).allowed).toBe(true);
        },
      ),
      { seed },
    );
  });

  test("keys and buckets do not share a count; rows of one bucket do", () => {
    const rates = { ...RATES, sapi_send: RATES.enterprise };
    const limiter = createRateLimiter({ clock: fakeClock(), rates });
    for (let i = 0; i < 300; i++)
      expect(now(limiter.admit(i % 2 === 0 ? "enterprise" : "sapi_send", "k")).allowed).toBe(true);
    expect(now(limiter.admit("enterprise", "k")).allowed).toBe(false);
    expect(now(limiter.admit("sapi_send", "k")).allowed).toBe(false);
    expect(now(limiter.admit("enterprise", "other")).allowed).toBe(true);
    expect(now(limiter.admit("sapi", "k")).allowed).toBe(true);
  });

  test("idle windows are dropped after a window's time, and there are never more than the bound", () => {
    const clock = fakeClock();
    const limiter = createRateLimiter({ clock, windows_max: 100 });
    for (let i = 0; i < 1_000; i++) void limiter.admit("sapi", `k${i}`);
    expect(limiter.size()).toBe(100);
    clock.advance(WINDOW - 1);
    void limiter.admit("sapi", "k999");
    clock.advance(1);
    limiter.sweep();
    expect(limiter.size()).toBe(1);
  });
});

describe("an unauthenticated identifier", () => {
  test("the limit passes at once, then one each 1/limit of the window", () => {
    const clock = fakeClock();
    const limiter = createRateLimiter({ clock });
    for (let i = 0; i < 60; i++)
      expect(now(limiter.admit("token", "a"))).toMatchObject({ allowed: true, limit: 60, remaining: 59 - i });
    expect(now(limiter.admit("token", "a"))).toMatchObject({ allowed: false, remaining: 0, retryAfter_s: 1 });
    clock.advance(999);
    expect(now(limiter.admit("token", "a")).allowed).toBe(false);
    clock.advance(1);
    expect(now(limiter.admit("token", "a")).allowed).toBe(true);
    expect(now(limiter.admit("token", "a")).allowed).toBe(false);
    expect(now(limiter.admit("token", "b")).allowed).toBe(true);
  });

  test("a million made-up identifiers stay within the bound", () => {
    const limiter = createRateLimiter({ clock: fakeClock(), windows_max: 1_000 });
    for (let i = 0; i < 1_000_000; i++) void limiter.admit("token", `guess-${i}`);
    expect(limiter.size()).toBe(1_000);
  });
});

/** A common store as the port describes it: each grant counts for a window from its instant. */
const commonStore = (clock: Clock, nodes: number) => {
  const grants = new Map<string, number[]>();
  const store = {
    calls: 0,
    away: false,
    peers: (): RatePeers => ({
      nodes: () => nodes,
      lease: async (request: LeaseRequest): Promise<Lease> => {
        store.calls++;
        await Promise.resolve();
        if (store.away) throw new Error("the store is away");
        const at = clock.monotonic();
        const key = `${request.bucket} ${request.key}`;
        const live = (grants.get(key) ?? []).filter((instant) => instant > at - request.window_ms);
        live.splice(Math.max(0, live.length - request.unused), request.unused);
        const granted = Math.max(0, Math.min(request.want, request.limit - live.length));
        for (let i = 0; i < granted; i++) live.push(at);
        grants.set(key, live);
        return { granted, resetIn_ms: live[0] === undefined ? 0 : live[0] + request.window_ms - at };
      },
    }),
  };
  return store;
};

describe("several nodes", () => {
  test("alone, a node asks nobody", () => {
    const clock = fakeClock();
    const store = commonStore(clock, 1);
    const limiter = createRateLimiter({ clock, peers: store.peers() });
    for (let i = 0; i < 500; i++) now(limiter.admit("sapi", "k"));
    expect(store.calls).toBe(0);
  });

  test("several nodes together admit the limit within 5 %, at any spread of the load, and lose less than 5 % of it", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 2, max: 4 }),
        fc.integer({ min: 20, max: 400 }),
        fc.integer({ min: 1, max: 2 ** 31 - 2 }),
        async (nodes, gap, start) => {
          let random = start;
          const clock = fakeClock();
          const store = commonStore(clock, nodes);
          const limiters: RateLimiter[] = Array.from({ length: nodes }, () =>
            createRateLimiter({ clock, peers: store.peers() }),
          );
          const admitted: number[] = [];
          const end = clock.monotonic() + 3 * WINDOW;
          let offered = 0;
          while (clock.monotonic() < end) {
            clock.advance(gap);
            offered++;
            random = (random * 48_271) % (2 ** 31 - 1);
            const limiter = limiters[random % nodes];
            if ((await limiter?.admit("sapi", "k"))?.allowed === true) admitted.push(clock.monotonic());
          }
          expect(densest(admitted)).toBeLessThanOrEqual(LIMITS.rate_sapi * 1.05);
          const possible = Math.min(offered, 3 * LIMITS.rate_sapi);
          expect(admitted.length).toBeGreaterThanOrEqual(possible * 0.95);
        },
      ),
      { seed, numRuns: 25 },
    );
  });

  test("all nodes together never hold more than 5 % of the limit in reserve, and give back what grows old", async () => {
    const clock = fakeClock();
    const store = commonStore(clock, 2);
    const requests: LeaseRequest[] = [];
    const peers = store.peers();
    const limiter = createRateLimiter({
      clock,
      peers: {
        nodes: () => 2,
        lease: (request) => {
          requests.push(request);
          return peers.lease(request);
        },
      },
    });
    for (let i = 0; i < 100; i++) {
      clock.advance(10);
      await limiter.admit("sapi", "k");
    }
    const each = (LIMITS.rate_sapi * 0.05) / 2;
    expect(Math.max(...requests.map((request) => request.want - 1))).toBe(each);
    clock.advance(LIMITS.rate_lease_ms + 1);
    const before = requests.length;
    await limiter.admit("sapi", "k");
    const granted = requests.slice(0, before).reduce((sum, request) => sum + request.want, 0);
    expect(requests[before]).toMatchObject({ want: 1, unused: granted - 100 });
    expect(granted).toBeGreaterThan(100);
  });

  test("a burst on all nodes at once is shared out by few questions", async () => {
    const clock = fakeClock();
    const store = commonStore(clock, 2);
    const limiters = [
      createRateLimiter({ clock, peers: store.peers() }),
      createRateLimiter({ clock, peers: store.peers() }),
    ];
    const answers = await Promise.all(Array.from({ length: 600 }, (_, i) => limiters[i % 2]?.admit("sapi", "k")));
    expect(answers.filter((answer) => answer?.allowed === true)).toHaveLength(200);
    expect(store.calls).toBeLessThan(20);
  });

  test("refusals ask the store at most once a second", async () => {
    const clock = fakeClock();
    const store = commonStore(clock, 2);
    const limiter = createRateLimiter({ clock, peers: store.peers() });
    const other = createRateLimiter({ clock, peers: store.peers() });
    for (let i = 0; i < 200; i++) await other.admit("sapi", "k");
    const before = store.calls;
    for (let i = 0; i < 1_000; i++)
      expect(await limiter.admit("sapi", "k")).toMatchObject({ allowed: false, remaining: 0 });
    expect(store.calls - before).toBe(1);
  });

  test("without the store a node admits its share: never unlimited, never nothing", async () => {
    const clock = fakeClock();
    const store = commonStore(clock, 4);
    store.away = true;
    const limiter = createRateLimiter({ clock, peers: store.peers() });
    let allowed = 0;
    for (let i = 0; i < 400; i++) if ((await limiter.admit("sapi", "k")).allowed) allowed++;
    expect(allowed).toBe(50);
  });
});
