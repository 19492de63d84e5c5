import { describe, expect, test, vi } from "vitest";

import { createLanes } from "../../engine/events/delivery.js";
import { backoff, createWake, createWatch, repeat, within } from "../../engine/base/waiting/wake.js";

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

  test("a loop goes on after a step that has failed, at once after a poke, and no further once it is stopped", async () => {
    vi.useFakeTimers();
    try {
      let steps = 0;
      const told: unknown[] = [];
      const loop = repeat(
        () => {
          steps += 1;
          return steps === 1 ? Promise.reject(new Error("away")) : Promise.resolve(steps === 2 ? 0 : 60_000);
        },
        (error) => {
          told.push(error);
          return 1_000;
        },
      );
      await vi.advanceTimersByTimeAsync(999);
      expect([steps, told]).toEqual([1, [new Error("away")]]);
      await vi.advanceTimersByTimeAsync(1);
      expect(steps, "a step that answers 0 is followed at once").toBe(3);
      loop.poke();
      await vi.advanceTimersByTimeAsync(0);
      expect(steps).toBe(4);
      await Promise.all([loop.stop(), loop.stop()]);
      await vi.advanceTimersByTimeAsync(120_000);
      expect(steps).toBe(4);
    } finally {
      vi.useRealTimers();
    }
  });

  test("the first of several loops that wait for the same work looks at its time, and the next while it is busy", async () => {
    vi.useFakeTimers();
    try {
      const [first, second] = createWatch(2);
      if (first === undefined || second === undefined) throw new Error("two were asked for");
      let looks: readonly string[] = [];
      const look = (name: string, wait: Promise<boolean>): Promise<void> =>
        wait.then((wasPoked) => {
          looks = [...looks, `${name}${wasPoked ? " poked" : ""}`];
        });
      const [one, two] = [look("first", first.wait(1_000)), look("second", second.wait(1_000))];
      await vi.advanceTimersByTimeAsync(1_500);
      await one;
      expect(looks).toEqual(["first"]);
      const again = look("first again", first.wait(1_000));
      second.poke();
      await two;
      expect(looks).toEqual(["first", "second poked"]);
      await vi.advanceTimersByTimeAsync(1_000);
      await again;
      const alone = look("second alone", second.wait(1_000));
      await vi.advanceTimersByTimeAsync(1_000);
      await alone;
      expect(looks).toEqual(["first", "second poked", "first again", "second alone"]);
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
