import { describe, expect, test, vi } from "vitest";

import { createLanes } from "../../engine/events/delivery.js";
import { backoff, createWake, within } from "../../engine/events/wake.js";

describe("a loop that waits", () => {
  test("a poke during the wait ends it, a poke before it is not forgotten, and one poke ends one wait", async () => {
    vi.useFakeTimers();
    try {
      const wake = createWake();
      const during = wake.wait(60_000);
      wake.poke();
      await during;
      wake.poke();
      wake.poke();
      await wake.wait(60_000);
      let ended = false;
      const third = wake.wait(60_000).then(() => {
        ended = true;
      });
      await vi.advanceTimersByTimeAsync(59_999);
      expect(ended).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      await third;
      expect(ended).toBe(true);
    } finally {
      vi.useRealTimers();
    }
  });

  test("waits double from the first to the last", () => {
    expect([0, 1, 2, 3, 4, 100].map((failures) => backoff(failures, 100, 500))).toEqual([100, 100, 200, 400, 500, 500]);
  });

  test("a promise that takes too long is given up, and its late failure is nobody's business", async () => {
    vi.useFakeTimers();
    try {
      let fail = (): void => undefined;
      const late = new Promise<string>((_, reject) => {
        fail = () => {
          reject(new Error("late"));
        };
      });
      const result = within(late, 1_000, "given up");
      await vi.advanceTimersByTimeAsync(1_000);
      expect(await result).toBe("given up");
      fail();
      await vi.advanceTimersByTimeAsync(0);
      expect(await within(Promise.resolve("in time"), 1_000, "given up")).toBe("in time");
      await expect(within(Promise.reject(new Error("failed")), 1_000, "given up")).rejects.toThrow("failed");
    } finally {
      vi.useRealTimers();
    }
  });
});

test("lanes let so many run, tell when one is free, and when all are", async () => {
  const lanes = createLanes(2);
  const ends: (() => void)[] = [];
  const task = (): Promise<void> =>
    new Promise((resolve) => {
      ends.push(resolve);
    });
  lanes.run(task);
  expect(lanes.free()).toBe(1);
  lanes.run(task);
  const seen: string[] = [];
  const free = lanes.whenFree().then(() => {
    seen.push("free");
  });
  const idle = lanes.whenIdle().then(() => {
    seen.push("idle");
  });
  ends[0]?.();
  await free;
  expect(seen).toEqual(["free"]);
  ends[1]?.();
  await idle;
  expect([seen, lanes.free()]).toEqual([["free", "idle"], 2]);
});
