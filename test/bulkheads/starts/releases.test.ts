/** A new release beside the old one: who changes the schema, what probes ask and cost, and how a node leaves. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { loadConfig, migratesAtStart } from "../../../engine/base/config.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { migrate, MigrationError } from "../../../engine/storage/migrate.js";
import { createReadiness } from "../../../engine/storage/readiness.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { startEngine } from "../../../gateway/main.js";
import type { Engine } from "../../../gateway/main.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { eventually } from "../../support/eventually.js";
import { fakeClock } from "../../support/fake-clock.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";

let db: TestDatabase;
const folders: string[] = [];
const newFolder = (): string => {
  const path = mkdtempSync(join(tmpdir(), "kurier-releases-"));
  folders.push(path);
  return path;
};
beforeAll(async () => {
  await buildIfNeeded();
  db = await freshDatabase({ migrated: false });
});
afterAll(async () => {
  await db.drop();
  for (const path of folders) rmSync(path, { recursive: true, force: true });
});

describe("who changes the schema", () => {
  test("a start in the sandbox, kurier migrate alone in production, or whoever MIGRATE names", () => {
    const at = (environment: NodeJS.ProcessEnv): boolean =>
      migratesAtStart({ ...loadConfig({}), ...loadConfig(environment) });
    expect(at({})).toBe(true);
    expect(at({ MIGRATE: "no" })).toBe(false);
    expect(at({ MIGRATE: "by-command" })).toBe(false);
    expect(migratesAtStart({ ENVIRONMENT: "production", MIGRATE: undefined })).toBe(false);
    expect(migratesAtStart({ ENVIRONMENT: "production", MIGRATE: "at-start" })).toBe(true);
  });

  test("a start that may not change it says what is missing and how to go on; after kurier migrate it starts, and says that it leaves before it does", async () => {
    const start = (): Promise<Engine> =>
      startEngine(
        {
          ...loadConfig({}),
          ...{ PORT: 0, ADMIN_PORT: 0, DATA_DIR: newFolder(), DATABASE_URL: db.url, NATS_URL: "embedded" },
          ...{ MASTER_KEY: Buffer.alloc(32, 7), VALIDATOR_THREADS: 1, MIGRATE: "by-command" },
        },
        { transport: "loopback", logTo: { write: () => undefined }, drainReadiness_ms: 1_000 },
      );
    const refused = start();
    await expect(refused).rejects.toBeInstanceOf(MigrationError);
    await expect(refused).rejects.toThrow(
      /^The schema lacks \d+ migrations, the first is 0001_\w+\.sql; run kurier migrate, or set MIGRATE=at-start\.$/,
    );
    expect(await db.sql`select to_regclass('document')::text as document`).toEqual([{ document: null }]);
    await migrate({ url: db.url, clock: systemClock });

    const engine = await start();
    const status = async (url: string): Promise<number> => (await fetch(url)).status;
    expect(await status(`${engine.adminUrl}/readyz`)).toBe(200);
    const stopped = engine.stop();
    expect(await status(`${engine.adminUrl}/readyz`)).toBe(503);
    expect(await status(`${engine.adminUrl}/livez`)).toBe(200);
    expect(await status(`${engine.publicUrl}/`)).toBe(200);
    await stopped;
    await expect(fetch(`${engine.publicUrl}/`)).rejects.toThrow();
  });
});

test("any number of probes costs one statement of the pool a second, and a database that goes or comes shows within it", async () => {
  await migrate({ url: db.url, clock: systemClock });
  const clock = fakeClock();
  let asked = 0;
  const counting = Object.assign((...words: Parameters<Sql>) => {
    asked += 1;
    return db.sql(...words);
  }, db.sql) as Sql;
  const ready = createReadiness(counting, clock);
  expect(await Promise.all(Array.from({ length: 100 }, ready))).toEqual(Array.from({ length: 100 }, () => true));
  expect(asked).toBe(1);
  const [last] = await db.sql<{ number: number; name: string; checksum: string }[]>`
    delete from schema_migration where number = (select max(number) from schema_migration) returning number, name, checksum`;
  clock.advance(LIMITS.readiness_cached_ms - 1);
  expect([await ready(), asked]).toEqual([true, 1]);
  clock.advance(1);
  expect([await ready(), asked]).toEqual([false, 2]);
  await db.sql`
    insert into schema_migration (number, name, checksum, applied_at)
    values (${last?.number ?? 0}, ${last?.name ?? ""}, ${last?.checksum ?? ""}, now())`;
  clock.advance(LIMITS.readiness_cached_ms);
  expect([await ready(), asked]).toEqual([true, 3]);
});

test("a migration that does not get its table lets those behind it through, and is applied once it is free", async () => {
  const own = await freshDatabase({ migrated: false });
  const directory = newFolder();
  writeFileSync(join(directory, "0001_one.sql"), "create table one (id integer primary key);");
  await migrate({ url: own.url, clock: systemClock, directory });
  writeFileSync(join(directory, "0002_two.sql"), "alter table one add column two integer;");
  const sleeping = (): Promise<readonly { pid: number }[]> =>
    own.sql<
      { pid: number }[]
    >`select pid from pg_stat_activity where query like '%pg_sleep(60)%' and wait_event = 'PgSleep'`;
  const reader = own.sql`select count(*), pg_sleep(60) from one`.catch((error: unknown) => String(error));
  const [{ pid }] = await eventually("a reader has the table", async () => {
    const [found] = await sleeping();
    return found !== undefined && ([found] as const);
  });
  const applied = migrate({ url: own.url, clock: systemClock, directory });
  await eventually(
    "the migration waits for the table",
    async () => (await own.sql`select 1 from pg_locks where not granted and locktype = 'relation'`).length > 0,
  );
  // Whoever comes now stands behind the migration, and is let through although the reader has not ended.
  expect(await own.sql`select id from one`).toEqual([]);
  expect(await sleeping()).toHaveLength(1);
  await own.sql`select pg_cancel_backend(${pid})`;
  expect(await reader).toContain("canceling statement");
  expect(await applied).toEqual(["0002_two.sql"]);
  await own.drop();
});

describe("a migration that is not transactional", () => {
  const APART =
    "-- not transactional\n-- Why it is there.\ndrop index concurrently if exists one_a;\ncreate unique index concurrently one_a on one (a);\n";
  const prepared = async (): Promise<{
    readonly own: TestDatabase;
    readonly apply: () => Promise<readonly string[]>;
  }> => {
    const own = await freshDatabase({ migrated: false });
    const directory = newFolder();
    const apply = (): Promise<readonly string[]> => migrate({ url: own.url, clock: systemClock, directory });
    writeFileSync(join(directory, "0001_one.sql"), "create table one (a integer);");
    await apply();
    writeFileSync(join(directory, "0002_index.sql"), APART);
    return { own, apply };
  };
  const indexIsValid = async ({ sql }: TestDatabase): Promise<unknown> =>
    (
      await sql<{ valid: boolean }[]>`select indisvalid as valid from pg_index where indexrelid = to_regclass('one_a')`
    ).map(({ valid }) => valid);

  test("an index is built while others go on writing to its table, however long one of them takes", async () => {
    const { own, apply } = await prepared();
    const long = own.sql`insert into one select 1 from pg_sleep(60)`.catch((error: unknown) => String(error));
    const pid = await eventually("one writes for long", async () => {
      const [row] = await own.sql<{ pid: number }[]>`
        select pid from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`;
      return row?.pid;
    });
    const applied = apply();
    await eventually(
      "the index waits for it",
      async () => (await own.sql`select 1 from pg_locks where not granted and locktype = 'virtualxid'`).length > 0,
    );
    await own.sql`insert into one values (2)`;
    await own.sql`select pg_cancel_backend(${pid})`;
    expect(await long).toContain("canceling statement");
    expect([await applied, await indexIsValid(own)]).toEqual([["0002_index.sql"], [true]]);
    expect(await apply()).toEqual([]);
    await own.drop();
  });

  test("a migration of steps that fails half-way says so, and is begun again when its cause is gone", async () => {
    const { own, apply } = await prepared();
    await own.sql`insert into one values (1), (1)`;
    await expect(apply()).rejects.toThrow(/^The migration 0002_index\.sql failed and will be begun again: /);
    expect(await indexIsValid(own)).toEqual([false]);
    await own.sql`delete from one`;
    expect([await apply(), await indexIsValid(own)]).toEqual([["0002_index.sql"], [true]]);
    await own.drop();
  });

  test("a migration of steps is applied once by several processes that come together, and none waits for ever", async () => {
    const { own, apply } = await prepared();
    expect((await Promise.all([apply(), apply(), apply()])).flat()).toEqual(["0002_index.sql"]);
    expect(await indexIsValid(own)).toEqual([true]);
    await own.drop();
  });
});
