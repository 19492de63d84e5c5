/** The clock of a database that a test moves on: for the engine's statements it is later, and no row is touched for it. */
import { openSql } from "../../../engine/storage/sql.js";
import { eventually } from "../eventually.js";

export interface DatabaseClock {
  /** Lets time pass once no delivery is under lease: an attempt under way takes no hours. */
  pass(seconds: number): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Names that are written without a schema are looked up in ours first, so that `now()` and `clock_timestamp()` of every
 * later session are those of the test. Sessions that are open already keep the time of the system.
 */
export async function moveableClock(databaseUrl: string): Promise<DatabaseClock> {
  const sql = openSql({ url: databaseUrl, name: "test-clock", connections: 1 });
  const name = new URL(databaseUrl).pathname.slice(1);
  await sql.unsafe(`
    create schema moved;
    create table moved.clock (by interval not null);
    insert into moved.clock values ('0');
    create function moved.now() returns timestamptz language sql stable
      as 'select pg_catalog.now() + c.by from moved.clock as c';
    create function moved.clock_timestamp() returns timestamptz language sql volatile
      as 'select pg_catalog.clock_timestamp() + c.by from moved.clock as c';
    create function moved.pass(p_by interval) returns boolean language plpgsql as $$
    begin
      perform public.begin_webhook_leases();
      perform 1 from public.webhook_delivery where lease_owner is not null;
      if found then return false; end if;
      update moved.clock set by = by + p_by;
      return true;
    end $$;
    alter database ${name} set search_path = moved, pg_catalog, public`);
  return {
    pass: async (seconds) => {
      await eventually("nothing is under way", async () => {
        const [row] = await sql<{ readonly passed: boolean }[]>`
          select moved.pass(${seconds}::integer * interval '1 second') as passed`;
        return row?.passed === true;
      });
    },
    stop: () => sql.end({ timeout: 1 }),
  };
}
