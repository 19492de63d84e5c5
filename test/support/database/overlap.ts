/** Statements that run while the first of them has done its work and not committed: a race without luck. */
import { openSql } from "../../../engine/storage/sql.js";
import { eventually } from "../eventually.js";
import type { TestDatabase } from "./postgres.js";

const GATE = 4242;

/**
 * Runs `first`, holds its transaction open, runs the others until each has ended or waits for a lock, then lets go.
 * @param first   SQL expression, for example a call of a function
 * @param others  the same
 * @returns the values, the first one's first
 */
export async function overlap(db: TestDatabase, first: string, ...others: readonly string[]): Promise<unknown[]> {
  const gate = openSql({ url: db.url, name: "gate", connections: 1 });
  const racers = openSql({ url: db.url, name: "racer", connections: 1 + others.length });
  const waiting = async (): Promise<number> => {
    const rows = await gate<{ count: number }[]>`
      select count(*)::int as count from pg_stat_activity where datname = current_database() and application_name = 'racer' and wait_event_type = 'Lock'`;
    return rows[0]?.count ?? 0;
  };
  try {
    await gate`select pg_advisory_lock(${GATE})`;
    const leader = racers.unsafe(`select ${first} as value, pg_advisory_xact_lock(${GATE})`).execute();
    await eventually("the first statement has done its work", async () => (await waiting()) === 1);
    let ended = 0;
    const followers = others.map((expression) => {
      const statement = racers.unsafe(`select ${expression} as value`).execute();
      statement.then(
        () => {
          ended += 1;
        },
        () => {
          ended += 1;
        },
      );
      return statement;
    });
    await eventually("the others have ended or wait", async () => ended + (await waiting()) === 1 + others.length);
    await gate`select pg_advisory_unlock(${GATE})`;
    const answers = await Promise.all([leader, ...followers]);
    return answers.map((rows) => rows[0]?.["value"] as unknown);
  } finally {
    await racers.end({ timeout: 1 });
    await gate.end({ timeout: 1 });
  }
}
