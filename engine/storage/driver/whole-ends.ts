/**
 * Pools that end with everything that was asked of them. postgres.js 3.4.9 ends a pool as soon as its connections have
 * their answers. What waits for one of them then waits for ever, and as soon as a socket closes it opens a session of a
 * pool that has ended, which keeps the process alive.
 */
import { setTimeout as pause } from "node:timers/promises";

import type postgres from "postgres";

import { systemClock } from "../../base/clock.js";
import { unsentOf } from "./statements.js";
import type { Statement } from "./statements.js";

/** What a pool was asked for and has not answered. */
class Asked {
  #count = 0;
  #isEnding = false;
  #onNone: () => void = () => undefined;

  /** @returns says that the answer has come; safe to repeat. Undefined once the pool ends */
  begin(): (() => void) | undefined {
    if (this.#isEnding) return undefined;
    this.#count += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#count -= 1;
      if (this.#count === 0) this.#onNone();
    };
  }

  /** Resolves when nothing more comes and everything has been answered. */
  end(): Promise<void> {
    this.#isEnding = true;
    return this.#count === 0
      ? Promise.resolve()
      : new Promise((resolve) => {
          this.#onNone = resolve;
        });
  }
}

/** By what a pool does with its statements, which is one function for all of them. */
const pools = new WeakMap<Statement["handler"], Asked>();

const refuse = ({ reject }: Statement): void => {
  reject(Object.assign(new Error("The connections to Postgres are being closed."), { code: "CONNECTION_ENDED" }));
};

/** Counts a statement until it has its answer; of a pool that ends, it is refused. */
export function countAsked(statement: Statement): void {
  const asked = pools.get(statement.handler);
  if (asked === undefined) return;
  const over = asked.begin();
  if (over === undefined) {
    statement.handler = refuse;
    return;
  }
  const { resolve, reject } = statement;
  statement.resolve = (answer) => {
    over();
    resolve(answer);
  };
  statement.reject = (error) => {
    over();
    reject(error);
  };
}

/**
 * Lets `end` wait for what was asked before, within its time, which ends the rest.
 * @param onEnd  called when nothing more is to be sent: a connection that is made then, as after a pause, is nobody's
 */
export function endingWhole<S extends postgres.Sql>(client: S, onEnd: () => void): S {
  const asked = new Asked();
  pools.set(unsentOf(client).handler, asked);
  const end = client.end.bind(client);
  const endAll = async (timeout: number | undefined): Promise<void> => {
    const begun = systemClock.monotonic();
    const answered = asked.end().then(() => true);
    const isAnswered =
      timeout === undefined
        ? await answered
        : await Promise.race([answered, pause(timeout * 1000, false, { ref: false })]);
    onEnd();
    if (timeout === undefined) return end();
    const left = timeout - (systemClock.monotonic() - begun) / 1000;
    return end({ timeout: isAnswered ? Math.max(0, left) : 0 });
  };
  let ending: Promise<void> | undefined;
  return Object.assign(client, {
    end: ({ timeout }: { readonly timeout?: number } = {}) => (ending ??= endAll(timeout)),
  });
}
