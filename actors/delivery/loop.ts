/** The loops of the dispatcher. */
import { LIMITS } from "../../engine/base/limits.js";
import { errorFields } from "../../engine/base/log.js";
import type { Log } from "../../engine/base/log.js";
import { repeat } from "../../engine/base/waiting/wake.js";
import type { Loop } from "../../engine/base/waiting/wake.js";

/**
 * Starts a loop. A step that fails is told in the log.
 * @param step  answers how long to wait for the next, in milliseconds, unless somebody pokes
 */
export const startLoop = ({ log }: { readonly log: Log }, component: string, step: () => Promise<number>): Loop =>
  repeat(step, (error) => {
    log.warn("dispatch.due_unreadable", { component, ...errorFields(error) });
    return LIMITS.due_poll_ms;
  });
