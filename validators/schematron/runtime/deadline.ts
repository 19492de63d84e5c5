/**
 * A bound in time for code that a stranger's rules decide about. Threads of the engine have a timer that ends them;
 * commands run in one thread, where only V8 itself can end a regular expression that backtracks for ever.
 */
import { createContext, Script } from "node:vm";
import type { Context } from "node:vm";

/** The work was not done in time. What it had begun is abandoned where it stood. */
export class DeadlineExceeded extends Error {
  constructor(ms: number) {
    super(`not done within ${ms / 1_000} seconds`);
    this.name = "DeadlineExceeded";
  }
}

const runner = new Script("run()");
let context: Context | undefined;

/** The error is one of the other context, and so no instance of ours. */
const isTimeout = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";

/**
 * Runs synchronous work that must end.
 * @param ms  milliseconds; the work is ended then, its `finally` blocks included
 * @throws DeadlineExceeded, or what the work throws
 */
export function within<T>(ms: number, work: () => T): T {
  let value: T | undefined;
  context ??= createContext(Object.create(null) as Context);
  context["run"] = () => {
    value = work();
  };
  try {
    runner.runInContext(context, { timeout: ms });
    return value as T;
  } catch (error) {
    throw isTimeout(error) ? new DeadlineExceeded(ms) : error;
  } finally {
    context["run"] = undefined;
  }
}
