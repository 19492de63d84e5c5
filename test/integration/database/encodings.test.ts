/**
 * Databases that no start is made on: those of an encoding that lacks letters, as a cluster that was made under LANG=C
 * has by default, and those whose operator, or DATABASE_URL, says otherwise than our connections how statements run.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { migrate, MigrationError, requireMigrated } from "../../../engine/storage/migrate.js";
import { openSql } from "../../../engine/storage/sql.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";

/** Of a database of a release that asked for no encoding: one migration that a newer one than ours applied. */
const BEGUN = `
  create table schema_migration (
    number integer primary key, name text not null, checksum text not null, applied_at timestamptz not null
  );
  insert into schema_migration values (9999, '9999_of_another.sql', repeat('0', 64), now())`;

let db: TestDatabase;
const names: string[] = [];
beforeAll(async () => {
  db = await freshDatabase({ migrated: false });
});
afterAll(async () => {
  for (const name of names) await db.sql.unsafe(`drop database if exists ${name} with (force)`);
  await db.drop();
});

/** @returns the address of a new database of that encoding */
async function databaseIn(encoding: string, script = ""): Promise<string> {
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  names.push(name);
  await db.sql.unsafe(
    `create database ${name} template template0 encoding '${encoding}' locale_provider libc locale 'C'`,
  );
  const url = new URL(db.url);
  url.pathname = `/${name}`;
  const sql = openSql({ url: url.href, name: "test", connections: 1 });
  await sql.unsafe(script).simple();
  await sql.end({ timeout: 1 });
  return url.href;
}

test.each(["SQL_ASCII", "LATIN2"])(
  "an empty database of the encoding %s is refused before anything is made in it, with the command that makes another",
  async (encoding) => {
    const url = await databaseIn(encoding);
    const told = new RegExp(
      `the encoding ${encoding}.*createdb --encoding=UTF8 --locale=C --template=template0\\.$`,
      "u",
    );
    await expect(migrate({ url, clock: systemClock })).rejects.toThrow(told);
    await expect(requireMigrated({ url })).rejects.toThrow(told);
    const sql = openSql({ url, name: "test", connections: 1 });
    expect(await sql`select to_regclass('schema_migration')::text as made`).toEqual([{ made: null }]);
    await sql.end({ timeout: 1 });
  },
);

test("a database of another encoding that was begun is served as before: its operator can move only what goes on", async () => {
  const url = await databaseIn("LATIN2", BEGUN);
  await migrate({ url, clock: systemClock });
  await requireMigrated({ url });
});

const refusesBoth = async (url: string, told: RegExp): Promise<void> => {
  for (const start of [() => requireMigrated({ url }), () => migrate({ url, clock: systemClock })]) {
    const refused = await start().catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(MigrationError);
    expect(refused).toMatchObject({ passing: false, message: expect.stringMatching(told) as unknown });
  }
};

test.each(["serializable", "repeatable read"])(
  "a database whose transactions begin as %s is not started on, whoever says so, and the sentence has the command that ends it",
  async (isolation) => {
    const told = new RegExp(
      `begin as ${isolation}, .*; run alter role \\w+ in database \\w+ set default_transaction_isolation = 'read committed', `,
      "u",
    );
    const set = await databaseIn("UTF8");
    const name = new URL(set).pathname.slice(1);
    await db.sql.unsafe(`alter database ${name} set default_transaction_isolation = '${isolation}'`);
    await refusesBoth(set, told);
    const url = new URL(db.url);
    url.searchParams.set("default_transaction_isolation", isolation);
    await refusesBoth(url.href, told);
  },
);

test.each([
  ["enable_seqscan", "on", "off"],
  ["jit", "on", "off"],
  ["lock_timeout", "0", "'2s'"],
  ["synchronous_commit", "off", "on"],
])(
  "a database whose connections have %s = %s is not started on, and the sentence has the command that ends it",
  async (name, value, ours) => {
    const url = new URL(db.url);
    url.searchParams.set(name, value);
    await refusesBoth(
      url.href,
      new RegExp(`have ${name} = ${value}, .* alter role USER in database NAME set ${name} = ${ours}; `, "u"),
    );
  },
);

test("a database whose commits wait for standbys as well is started on", async () => {
  const url = new URL(await databaseIn("UTF8"));
  url.searchParams.set("synchronous_commit", "remote_apply");
  await migrate({ url: url.href, clock: systemClock });
  await requireMigrated({ url: url.href });
});
