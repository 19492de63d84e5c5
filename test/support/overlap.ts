/** Two statements of which the second runs while the first has done its work and not committed: a race without luck. */
import { openSql } from "../../engine/storage/sql.js";
import { eventually } from "./eventually.js";
import type { TestDatabase } from "./postgres.js";

const GATE = 4242;

/**
 * Runs `first`, holds its transaction open, runs `second` until it has ended or waits for a lock, then lets go.
 * @param first  SQL expression, for example a call of a function
 * @param second  the same
 * @returns both values
 */
export async function overlap(db: TestDatabase, first: string, second: string): Promise<[unknown, unknown]> {
  const gate = openSql({ url: db.url, name: "gate", connections: 1 });
  const racers = openSql({ url: db.url, name: "racer", connections: 2 });
  const waiting = async (): Promise<number> => {
    const rows = await gate<{ count: number }[]>`
      select count(*)::int as count from pg_stat_activity where datname = current_database() and application_name = 'racer' and wait_event_type = 'Lock'`;
    return rows[0]?.count ?? 0;
  };
  try {
    await gate`select pg_advisory_lock(${GATE})`;
    const one = racers.unsafe(`select ${first} as value, pg_advisory_xact_lock(${GATE})`).execute();
    await eventually("the first statement has done its work", async () => (await waiting()) === 1);
    let ended = false;
    const two = racers.unsafe(`select ${second} as value`).execute();
    two.then(() => { ended = true; }, () => { ended = true; });
    await eventually("the second statement has ended or waits", async () => ended || (await waiting()) === 2);
    await gate`select pg_advisory_unlock(${GATE})`;
    const [a, b] = await Promise.all([one, two]);
    return [a[0]?.["value"], b[0]?.["value"]];
  } finally {
    await racers.end({ timeout: 1 });
    await gate.end({ timeout: 1 });
  }
}
