/** Signals that tell a process to end: the first has it drain, another one later has it leave at once. */
import type { EventEmitter } from "node:events";

import type { Clock } from "../../engine/base/clock.js";
import { LIMITS } from "../../engine/base/limits.js";

/**
 * Resolves at the first signal.
 * @param signals  the process
 * @param leave  ends the process; called at a second SIGINT, or SIGTERM, that is no echo of the first
 */
export function toldToEnd(
  signals: Pick<EventEmitter, "on">,
  { monotonic }: Pick<Clock, "monotonic">,
  leave: () => void,
): Promise<undefined> {
  return new Promise((resolve) => {
    // A terminal that is closed hangs up, and may do so more than once.
    signals.on("SIGHUP", () => {
      resolve(undefined);
    });
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      let firstAt: number | undefined;
      signals.on(signal, () => {
        resolve(undefined);
        firstAt ??= monotonic();
        if (monotonic() - firstAt >= LIMITS.signal_echo_ms) leave();
      });
    }
  });
}
