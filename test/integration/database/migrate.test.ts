// Goal: the schema comes up to date once, whoever asks and however often, and never silently differs from its files.
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { migrate, migrationStatus } from "../../../engine/storage/migrate.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { dumpSchema } from "../../support/database/schema-dump.js";

const MIGRATIONS = fileURLToPath(new URL("../../../engine/storage/migrations/", import.meta.url));
const SCHEMA = fileURLToPath(new URL("./schema.sql", import.meta.url));

const undo: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function emptyDatabase(): Promise<TestDatabase> {
  const database = await freshDatabase({ migrated: false });
  undo.push(() => database.drop());
  return database;
}

function folderOf(files: Readonly<Record<string, string>>): string {
  const directory = mkdtempSync(join(tmpdir(), "kurier-migrations-"));
  undo.push(() => {
    rmSync(directory, { recursive: true, force: true });
  });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  return directory;
}

const TWO = {
  "0001_one.sql": "create table one (id integer primary key);",
  "0002_two.sql": "create table two (id integer primary key);\ninsert into one values (1);",
};

describe("migrate", () => {
  test("migrate applies every file once, in order, and does nothing the second time", async () => {
    const { url } = await emptyDatabase();
    const names = readdirSync(MIGRATIONS)
      .filter((name) => name.endsWith(".sql"))
      .sort();
    expect(await migrate({ url, clock: systemClock })).toEqual(names);
    expect(await migrate({ url, clock: systemClock })).toEqual([]);
    expect((await migrationStatus({ url })).map(({ name, state }) => [name, state])).toEqual(
      names.map((name) => [name, "applied"]),
    );
  });

  test("eight processes at once apply each file once", async () => {
    const { url, sql } = await emptyDatabase();
    const directory = folderOf(TWO);
    const done = await Promise.all(Array.from({ length: 8 }, () => migrate({ url, clock: systemClock, directory })));
    expect(done.flat().sort()).toEqual(["0001_one.sql", "0002_two.sql"]);
    expect(await sql`select id from one`).toEqual([{ id: 1 }]);
  });

  test("a file that fails half-way changes nothing, is named, and is applied once it is corrected", async () => {
    const { url, sql } = await emptyDatabase();
    const directory = folderOf({
      ...TWO,
      "0002_two.sql": "create table two (id integer primary key);\ninsert into nowhere values (1);",
    });
    await expect(migrate({ url, clock: systemClock, directory })).rejects.toThrow(
      /0002_two\.sql failed and changed nothing/,
    );
    expect(await sql`select to_regclass('one')::text as one, to_regclass('two')::text as two`).toEqual([
      { one: "one", two: null },
    ]);
    expect(await migrate({ url, clock: systemClock, directory: folderOf(TWO) })).toEqual(["0002_two.sql"]);
  });

  test("an applied file that was changed afterwards stops the start and is named", async () => {
    const { url } = await emptyDatabase();
    await migrate({ url, clock: systemClock, directory: folderOf(TWO) });
    const directory = folderOf({ ...TWO, "0001_one.sql": "create table one (id bigint primary key);" });
    await expect(migrate({ url, clock: systemClock, directory })).rejects.toThrow(
      /0001_one\.sql was changed after it had been applied/,
    );
    expect((await migrationStatus({ url, directory })).map(({ state }) => state)).toEqual(["changed", "applied"]);
  });

  test("an older release runs on a database that a newer one has migrated", async () => {
    const { url } = await emptyDatabase();
    await migrate({ url, clock: systemClock, directory: folderOf(TWO) });
    const directory = folderOf({ "0001_one.sql": TWO["0001_one.sql"] });
    expect(await migrate({ url, clock: systemClock, directory })).toEqual([]);
    expect((await migrationStatus({ url, directory })).map(({ state }) => state)).toEqual(["applied", "unknown"]);
  });

  test("status on an empty database names every file as pending and changes nothing", async () => {
    const { url, sql } = await emptyDatabase();
    expect((await migrationStatus({ url, directory: folderOf(TWO) })).map(({ state }) => state)).toEqual([
      "pending",
      "pending",
    ]);
    expect(await sql`select to_regclass('schema_migration')::text as register`).toEqual([{ register: null }]);
  });

  test("misnamed files and numbers given twice are refused", async () => {
    const { url } = await emptyDatabase();
    await expect(
      migrate({ url, clock: systemClock, directory: folderOf({ "first.sql": "select 1;" }) }),
    ).rejects.toThrow(/must be named NNNN_name\.sql/);
    await expect(
      migrate({
        url,
        clock: systemClock,
        directory: folderOf({ "0001_a.sql": "select 1;", "0001_b.sql": "select 1;" }),
      }),
    ).rejects.toThrow(/number of 0001_b\.sql/);
  });
});

test("the committed schema dump is what the migrations make (UPDATE_SCHEMA=1 writes it)", async () => {
  const { url, sql } = await emptyDatabase();
  await migrate({ url, clock: systemClock });
  const dump = await dumpSchema(sql);
  if (process.env["UPDATE_SCHEMA"] === "1") {
    const draft = join(folderOf({}), "schema.sql");
    writeFileSync(draft, dump);
    copyFileSync(draft, SCHEMA);
  }
  expect(dump).toBe(readFileSync(SCHEMA, "utf8"));
});
