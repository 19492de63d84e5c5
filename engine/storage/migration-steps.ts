/**
 * Migrations that cannot be one transaction: an index of a large table is built `concurrently`, beside those who write
 * to it. Such a file says so in its first line, and each of its statements is run by itself; should one fail, the file
 * is begun again, so that each may be repeated.
 */
import { setTimeout as delay } from "node:timers/promises";

import { LIMITS } from "../base/limits.js";
import type { Sql } from "./sql.js";

const FIRST_LINE = /^-- not transactional\s*\n/;

/** @returns the statements of a file that says that it is not transactional; undefined for any other */
export const stepsOf = (text: string): readonly string[] | undefined =>
  FIRST_LINE.test(text)
    ? text
        .replace(/--.*$/gm, "")
        .split(/;\s*(?:\n|$)/)
        .map((step) => step.trim())
        .filter((step) => step !== "")
    : undefined;

/** Any fixed number beside that of other migrations. */
const TURN = "118091513783667";

/**
 * Takes the turn of this connection, without waiting in Postgres: whoever builds an index waits for every statement
 * that has begun, one that waits for a turn included.
 */
async function takeTurn(sql: Sql): Promise<void> {
  for (let left = LIMITS.migration_turn_tries; left > 0; left -= 1) {
    const [row] = await sql<{ readonly taken: boolean }[]>`select pg_try_advisory_lock(${TURN}::bigint) as taken`;
    if (row?.taken === true) return;
    await delay(LIMITS.migration_turn_pause_ms);
  }
  throw new Error("another process has not ended its migration");
}

/** What is done of a file, by whoever has the turn. */
interface Steps {
  readonly steps: readonly string[];
  /** Runs one of them, outside of a transaction. */
  run(step: string): Promise<unknown>;
  isApplied(): Promise<boolean>;
  /** Says that all steps have been done. */
  register(): Promise<unknown>;
}

/**
 * Runs the steps on a pool of one connection. To wait for a table stops nobody here: what builds an index lets writers
 * pass meanwhile.
 * @returns whether they were run; another process may have done so
 */
export async function runSteps(sql: Sql, { steps, run, isApplied, register }: Steps): Promise<boolean> {
  await takeTurn(sql);
  try {
    if (await isApplied()) return false;
    for (const name of ["statement_timeout", "lock_timeout"])
      await sql`select set_config(${name}, ${String(LIMITS.migration_timeout_ms)}, false)`;
    for (const step of steps) await run(step);
    await register();
    return true;
  } finally {
    await sql`select pg_advisory_unlock(${TURN}::bigint)`;
  }
}
