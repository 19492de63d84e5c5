/** A database that takes no connections for a while, as one that is started again, and the pool of whoever meets it so. */
import type { Clock } from "../../../engine/base/clock.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { withDatabase } from "./postgres.js";
import type { TestDatabase } from "./postgres.js";

export interface ClosableDatabase {
  /** The pool that loses its connections. */
  readonly sql: Sql;
  /** Takes no connection any more, and ends those of the pool. */
  close(): Promise<void>;
  open(): Promise<void>;
  /** A clock at whose look of that number the database is open again. */
  openAtLook(clock: Clock, look: number): Clock;
  /** Opens the database and closes the pool. */
  stop(): Promise<void>;
}

const POOL_NAME = "test-closable";

/** Other pools on the same database keep the connections that they have. */
export function closableDatabase(db: TestDatabase): ClosableDatabase {
  const operator = openSql({ url: withDatabase(db.url, "postgres"), name: "test-operator", connections: 1 });
  const sql = db.another(POOL_NAME);
  const database = new URL(db.url).pathname.slice(1);
  const allow = async (allowed: boolean): Promise<void> => {
    await operator.unsafe(`alter database ${database} with allow_connections ${allowed}`);
  };
  return {
    sql,
    close: async () => {
      await allow(false);
      await operator`
        select pg_terminate_backend(pid, 5000) from pg_stat_activity
        where datname = ${database} and application_name = ${POOL_NAME}`;
    },
    open: () => allow(true),
    openAtLook: (clock, look) => {
      let left = look;
      return {
        now: () => clock.now(),
        monotonic: () => {
          left -= 1;
          if (left === 0) void allow(true);
          return clock.monotonic();
        },
      };
    },
    stop: async () => {
      await allow(true);
      await operator.end({ timeout: 1 });
    },
  };
}
