/** Goal: an attempt has a bounded time, and ends in an outcome whatever it throws. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { FirmId } from "../../../../engine/base/ids.js";
import { LIMITS } from "../../../../engine/base/limits.js";
import { attemptInTime } from "../../../../engine/documents/delivery/attempt-time.js";
import type { Outcome } from "../../../../engine/peppol/transport.js";
import { FirmKeyGone } from "../../../../engine/storage/keyring/firm-key-files.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("an attempt is told that its time is over, and not before", async () => {
  const seen: boolean[] = [];
  void attemptInTime(
    (signal) =>
      new Promise<Outcome>(() => {
        for (const early_ms of [1, -1])
          setTimeout(() => seen.push(signal.aborted), LIMITS.attempt_timeout_ms - early_ms);
      }),
    () => undefined,
  );
  await vi.advanceTimersByTimeAsync(LIMITS.attempt_timeout_ms + 1);
  expect(seen).toEqual([false, true]);
});

test("an attempt that has ended leaves no timer, whatever its end was", async () => {
  await attemptInTime(
    () => Promise.resolve({ kind: "receipt" }),
    () => undefined,
  );
  await attemptInTime(
    () => Promise.reject(new Error("broken")),
    () => undefined,
  );
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  ["a fault of ours is tried again", new Error("broken"), undefined],
  ["what nobody will ever open is not", new FirmKeyGone("f" as FirmId), true],
])("%s, and is told once", async (_, thrown, isLast) => {
  const failed = vi.fn();
  const outcome = await attemptInTime(() => Promise.reject(thrown), failed);
  expect([outcome.kind, "isLast" in outcome ? outcome.isLast : undefined]).toEqual(["internal", isLast]);
  expect(failed.mock.calls).toEqual([[thrown]]);
});
