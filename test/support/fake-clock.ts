/** A clock that a test moves by hand. */
import type { Clock, Instant } from "../../engine/base/clock.js";

export interface FakeClock extends Clock {
  /** Moves both clocks forward. */
  advance(ms: number): void;
  /** Sets the wall clock alone, as an operator or a time server would. */
  setNow(now: Instant): void;
}

/** @param start wall-clock time at the beginning */
export function fakeClock(start: string | Instant = "2026-11-20T09:00:00.000Z"): FakeClock {
  let now = typeof start === "string" ? Date.parse(start) : start;
  let elapsed = 0;
  return {
    now: () => now,
    monotonic: () => elapsed,
    advance: (ms) => {
      now += ms;
      elapsed += ms;
    },
    setNow: (instant) => {
      now = instant;
    },
  };
}
