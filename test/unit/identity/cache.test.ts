/** The cache in front of Postgres: what was announced is never answered from before. */
import { describe, expect, test } from "vitest";

import { createCache } from "../../../engine/identity/nodes/cache.js";
import type { Cache } from "../../../engine/identity/nodes/cache.js";
import { fakeClock } from "../../support/fake-clock.js";
import type { FakeClock } from "../../support/fake-clock.js";

interface World {
  readonly cache: Cache<number>;
  readonly clock: FakeClock;
  /** What a statement would read now. */
  stored: Map<string, number>;
  fresh: boolean;
  loads: number;
  /** Statements under way, each answered with what was stored when it began. */
  readonly pending: (() => void)[];
  hold: boolean;
}

function world(entries_max = 10): World {
  const clock = fakeClock();
  const state = {
    clock,
    stored: new Map<string, number>(),
    fresh: true,
    loads: 0,
    pending: [] as (() => void)[],
    hold: false,
  };
  const cache = createCache<number>({
    clock,
    entries_max,
    ttl_ms: 5_000,
    isFresh: () => state.fresh,
    load: (key) => {
      state.loads += 1;
      const read = state.stored.get(key);
      return state.hold
        ? new Promise((resolve) => {
            state.pending.push(() => {
              resolve(read);
            });
          })
        : Promise.resolve(read);
    },
  });
  return Object.assign(state, { cache });
}

describe("while announcements arrive", () => {
  test("a known answer is given at once and asked for once", async () => {
    const w = world();
    w.stored.set("k", 1);
    expect(await w.cache.get("k")).toBe(1);
    expect(w.cache.get("k")).toBe(1);
    expect(w.loads).toBe(1);
  });

  test("an answer is asked for again when its time is over, although nothing was announced", async () => {
    const w = world();
    w.stored.set("k", 1);
    await w.cache.get("k");
    w.stored.set("k", 2);
    w.clock.advance(4_999);
    expect(w.cache.get("k")).toBe(1);
    w.clock.advance(1);
    expect(await w.cache.get("k")).toBe(2);
  });

  test("many who ask at once share one statement", async () => {
    const w = world();
    w.stored.set("k", 1);
    w.hold = true;
    const asked = Array.from({ length: 100 }, () => w.cache.get("k"));
    for (const release of w.pending) release();
    expect(await Promise.all(asked)).toEqual(Array.from({ length: 100 }, () => 1));
    expect(w.loads).toBe(1);
  });

  test("after an announcement the next question is a new statement, also when an older one is under way", async () => {
    const w = world();
    w.stored.set("k", 1);
    w.hold = true;
    const before = w.cache.get("k");
    w.stored.set("k", 2);
    w.cache.drop("k");
    const after = w.cache.get("k");
    const [first, second] = w.pending;
    second?.();
    expect(await after).toBe(2);
    first?.();
    expect(await before).toBe(1);
    expect(w.cache.get("k")).toBe(2);
  });

  test("an answer that was overtaken by its announcement is not kept", async () => {
    const w = world();
    w.stored.set("k", 1);
    w.hold = true;
    const before = w.cache.get("k");
    w.cache.drop("k");
    w.pending[0]?.();
    await before;
    expect(w.cache.size).toBe(0);
  });

  test("absence is not kept", async () => {
    const w = world();
    expect(await w.cache.get("k")).toBeUndefined();
    w.stored.set("k", 1);
    expect(await w.cache.get("k")).toBe(1);
  });

  test("the cache never holds more than its bound", async () => {
    const w = world(10);
    for (let i = 0; i < 100; i += 1) {
      w.stored.set(`k${i}`, i);
      await w.cache.get(`k${i}`);
    }
    expect(w.cache.size).toBe(10);
  });

  test("a failed statement is forgotten and the next question asks again", async () => {
    const clock = fakeClock();
    let fails = true;
    const cache = createCache<number>({
      clock,
      entries_max: 1,
      ttl_ms: 1,
      isFresh: () => true,
      load: () => (fails ? Promise.reject(new Error("away")) : Promise.resolve(7)),
    });
    await expect(cache.get("k")).rejects.toThrow("away");
    fails = false;
    expect(await cache.get("k")).toBe(7);
  });
});

describe("while announcements do not arrive", () => {
  test("every question is a statement of its own and nothing is kept", async () => {
    const w = world();
    w.stored.set("k", 1);
    await w.cache.get("k");
    w.fresh = false;
    w.stored.set("k", 2);
    w.hold = true;
    const asked = [w.cache.get("k"), w.cache.get("k")];
    for (const release of w.pending) release();
    expect(await Promise.all(asked)).toEqual([2, 2]);
    expect(w.loads).toBe(3);
  });

  test("an answer under way when announcements stopped is not kept", async () => {
    const w = world();
    w.stored.set("k", 1);
    w.hold = true;
    const before = w.cache.get("k");
    w.fresh = false;
    w.pending[0]?.();
    await before;
    w.fresh = true;
    expect(w.cache.size).toBe(0);
  });
});
