import { setTimeout as delay } from "node:timers/promises";

import { systemClock } from "../../engine/base/clock.js";

const PAUSE_MIN_MS = 10;
const PAUSE_MAX_MS = 250;
/** A look may be a request to an engine that shares this processor: looks have a fifth of the time at the most. */
const PAUSE_SHARE = 4;
const BOUND_MS = 60_000;

/**
 * Waits until a condition holds, looking again and again: the bounded replacement of a sleep.
 * @returns the condition's value, once it is neither false nor undefined.
 * @throws Error that names what was awaited when it does not hold within 60 s of pauses
 */
export async function eventually<T>(
  what: string,
  condition: () => T | Promise<T>,
): Promise<Exclude<T, false | undefined>> {
  let pause_ms = 0;
  for (let waited_ms = 0; waited_ms <= BOUND_MS; waited_ms += pause_ms) {
    const begun = systemClock.monotonic();
    const value = await condition();
    if (value !== false && value !== undefined) return value as Exclude<T, false | undefined>;
    const look_ms = systemClock.monotonic() - begun;
    pause_ms = Math.min(PAUSE_MAX_MS, Math.max(PAUSE_MIN_MS, look_ms * PAUSE_SHARE));
    await delay(pause_ms);
  }
  throw new Error(`it did not happen within ${BOUND_MS / 1000} s: ${what}`);
}
