import { setTimeout as delay } from "node:timers/promises";

const STEP_MS = 10;
const BOUND_MS = 60_000;

/**
 * Waits until a condition holds, looking every 10 ms: the bounded replacement of a sleep.
 * @returns the condition's value, once it is neither false nor undefined.
 * @throws Error that names what was awaited when it does not hold within 60 s
 */
export async function eventually<T>(
  what: string,
  condition: () => T | Promise<T>,
): Promise<Exclude<T, false | undefined>> {
  for (let waited_ms = 0; waited_ms <= BOUND_MS; waited_ms += STEP_MS) {
    const value = await condition();
    if (value !== false && value !== undefined) return value as Exclude<T, false | undefined>;
    await delay(STEP_MS);
  }
  throw new Error(`it did not happen within ${BOUND_MS / 1000} s: ${what}`);
}
