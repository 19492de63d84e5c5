// Goal: the schema comes up to date once, whoever asks and however often, and never silently differs from its files.
import { createHash } from "node:crypto";
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { migrate, migrationStatus } from "../../../engine/storage/migrate.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { hasCommit, migrationsOf } from "../../support/engines/release-before.js";
import { dumpSchema } from "../../support/database/schema-dump.js";

const MIGRATIONS = fileURLToPath(new URL("../../../engine/storage/migrations/", import.meta.url));
const SCHEMA = fileURLToPath(new URL("./schema.sql", import.meta.url));

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

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

  test.each([
    { what: "a disk without room", code: "53100", passing: true },
    { what: "a lock that somebody holds", code: "55P03", passing: true },
    { what: "a server that is shut down", code: "57P01", passing: true },
    { what: "a mistake in the file", code: "42P01", passing: false },
  ])("whoever starts is told whether the next start may succeed: $what", async ({ code, passing }) => {
    const { url } = await emptyDatabase();
    const fails = `-- not transactional\ndo $$ begin raise exception 'it fails' using errcode = '${code}'; end $$;`;
    const migrated = migrate({ url, clock: systemClock, directory: folderOf({ "0001_one.sql": fails }) });
    await expect(migrated).rejects.toMatchObject({ name: "MigrationError", passing });
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

  test("an applied file that was changed stands where a later one makes good for the very text that was applied", async () => {
    const { url } = await emptyDatabase();
    await migrate({ url, clock: systemClock, directory: folderOf(TWO) });
    const good = (text: string): string => `-- makes good 0001 as ${sha256(text)}\nselect 1;`;
    const changed = { ...TWO, "0001_one.sql": "create table one (id bigint primary key);" };
    const another = folderOf({ ...changed, "0003_good.sql": good(changed["0001_one.sql"]) });
    await expect(migrate({ url, clock: systemClock, directory: another })).rejects.toThrow(/0001_one\.sql was changed/);
    const directory = folderOf({ ...changed, "0003_good.sql": good(TWO["0001_one.sql"]) });
    expect(await migrate({ url, clock: systemClock, directory })).toEqual(["0003_good.sql"]);
    expect((await migrationStatus({ url, directory })).map(({ state }) => state)).toEqual(Array(3).fill("applied"));
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

/** Builds whose texts of 0273, 0277, 0278, 0280 and 0282 were changed after databases could have taken them. */
const BUILDS = [
  "48415a2",
  "45c2eef",
  "5f8a2f9",
  "93ce10e",
  "9bd9f9a",
  "eb25611",
  "ce33efb",
  "7b4ac75",
  "fa9a682",
] as const;

test.skipIf(!BUILDS.every((commit) => hasCommit(commit)))(
  "a database of a build whose migrations were changed since comes to the schema of all others",
  async () => {
    for (const commit of BUILDS) {
      const { url, sql } = await emptyDatabase();
      await migrate({ url, clock: systemClock, directory: migrationsOf(commit, folderOf({})) });
      await migrate({ url, clock: systemClock });
      expect(await dumpSchema(sql), commit).toBe(readFileSync(SCHEMA, "utf8"));
    }
  },
);

/**
 * The digest of each migration, a line each. UPDATE_SCHEMA=1 adds lines for new files and touches no other: a file that
 * was changed needs a new one with "makes good", because databases hold what it was.
 */
const DIGESTS = fileURLToPath(new URL("./migrations.sha256", import.meta.url));

test("no migration is changed after it was written down (UPDATE_SCHEMA=1 writes down new ones)", () => {
  const lines = readFileSync(DIGESTS, "utf8").split("\n").slice(0, -1);
  const names = readdirSync(MIGRATIONS).filter((name) => name.endsWith(".sql"));
  const line = (name: string): string => `${sha256(readFileSync(join(MIGRATIONS, name), "utf8"))}  ${name}`;
  const isNew = (name: string): boolean => !lines.some((written) => written.endsWith(`  ${name}`));
  if (process.env["UPDATE_SCHEMA"] === "1") {
    lines.push(...names.filter(isNew).map(line));
    writeFileSync(DIGESTS, lines.map((written) => `${written}\n`).join(""));
  }
  expect(names.map(line)).toEqual(lines.toSorted((a, b) => (a.slice(66) < b.slice(66) ? -1 : 1)));
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
