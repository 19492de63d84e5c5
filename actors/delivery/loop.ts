/** The loops of the dispatcher: each runs a step again and again, also after one that has failed. */
import { LIMITS } from "../../engine/base/limits.js";
import { errorFields } from "../../engine/base/log.js";
import type { Log } from "../../engine/base/log.js";
import { createWake } from "../../engine/events/wake.js";

/** A loop that runs until it is stopped. */
export interface Loop {
  /** Ends the wait for the next step. Costs nothing. */
  poke(): void;
  /** Begins no step any more, and waits for the one under way. Safe to repeat. */
  stop(): Promise<void>;
}

/**
 * Starts a loop. A step that fails is told in the log.
 * @param step  answers how long to wait for the next, in milliseconds, unless somebody pokes
 */
export function startLoop({ log }: { readonly log: Log }, component: string, step: () => Promise<number>): Loop {
  const wake = createWake();
  let stopping = false;
  const run = async (): Promise<void> => {
    while (!stopping) {
      let wait_ms: number = LIMITS.due_poll_ms;
      try {
        wait_ms = await step();
      } catch (error) {
        log.warn("dispatch.due_unreadable", { component, ...errorFields(error) });
      }
      if (wait_ms > 0 && !stopping) await wake.wait(wait_ms);
    }
  };
  const ended = run();
  return {
    poke: wake.poke,
    stop: () => {
      stopping = true;
      wake.poke();
      return ended;
    },
  };
}
