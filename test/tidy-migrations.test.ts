/** Migrations are applied while engines run, those of the release before among them. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

import { readSources } from "./support/sources.js";
import { migrationFaults, MIGRATIONS_CHECKED_FROM } from "./support/laws/migrations.js";

const DIRECTORY = new URL("../engine/storage/migrations/", import.meta.url);

test("no migration holds up those who use its tables, or takes from the release before what it uses", () => {
  const faults = readdirSync(fileURLToPath(DIRECTORY))
    .filter((name) => Number(name.slice(0, 4)) >= MIGRATIONS_CHECKED_FROM)
    .flatMap((name) =>
      migrationFaults(readFileSync(new URL(name, DIRECTORY), "utf8")).map((fault) => `${name}: ${fault}`),
    );
  expect(faults).toEqual([]);
});

/** Words that change a connection, or a transaction of it, for the statements behind them. */
const SETTING = /\bset_config\s*\(|\bset\s+(?:local|session)\b|\bset\s+role\s+(?!=)|`\s*(?:set|reset|discard)\s+\w/i;
/** Migrations wait longer than calls may, on a connection that is theirs alone. */
const MIGRATING: readonly string[] = ["engine/storage/migrate.ts", "engine/storage/migration-steps.ts"];

// design/reliability.md, T-05
test("no statement leaves a setting on a connection but those of migrations, whose connection ends with them", () => {
  const texts = [
    ...readSources().map(({ path, file }) => [path, file.text] as const),
    ...readdirSync(fileURLToPath(DIRECTORY)).map(
      (name) => [`engine/storage/migrations/${name}`, readFileSync(new URL(name, DIRECTORY), "utf8")] as const,
    ),
  ];
  const setting = texts.filter(([path, text]) => path.startsWith("engine/") && SETTING.test(text));
  expect(setting.map(([path]) => path).toSorted()).toEqual(MIGRATING);
  for (const text of [
    "select set_config('app.tenant', $1, false)",
    "begin; set local role x",
    "sql`set app.tenant = 1`",
  ])
    expect(text).toMatch(SETTING);
});

const APART = "-- not transactional\n";

test.each([
  ["an index of a table in use", "create index i on document (id);"],
  ["a unique index over several lines", "create unique index i\n  on document (id);"],
  ["an index that is built concurrently inside of a transaction", "create index concurrently i on document (id);"],
  ["an index that may be there half built", `${APART}create index concurrently i on document (id);`],
  [
    "another one being dropped before it",
    `${APART}drop index concurrently if exists j;\ncreate index concurrently i on document (id);`,
  ],
  ["a check", "alter table document add constraint c check (version > 0);"],
  ["a check without a name behind a column", "alter table document add column a integer, add check (version > 0);"],
  ["a foreign key", "alter table document add foreign key (firm_id) references firm (id);"],
  ["a unique constraint", "alter table document add constraint u unique (a, b);"],
  ["a column that refers to a table", "alter table document add column f uuid references firm (id);"],
  [
    "a column whose default is computed for every row",
    "alter table document add column f uuid default gen_random_uuid();",
  ],
  ["a column that the release before does not fill", "alter table document add column f integer not null;"],
  ["a column that must not be null from now on", "alter table document alter column erp_document_id set not null;"],
  ["another type", "alter table document alter column attempts type bigint;"],
  ["another name", "alter table document rename column attempts to tries;"],
  ["a lock", "lock table document;"],
  ["a column that goes without a word", "alter table document drop column attempts;"],
  ["a function among steps", `${APART}create function f() returns void language sql as $$ select 1 $$;`],
])("a migration with %s is refused", (_, text) => {
  expect(migrationFaults(text)).toHaveLength(1);
});

test.each([
  [
    "a table with an index and a constraint",
    "create table t (a integer);\ncreate index i on t (a);\nalter table t add check (a > 0);",
  ],
  ["a column", "alter table document add column a integer, add column b text not null default 'check (x)';"],
  [
    "a check in two statements",
    "alter table document add constraint c check (a > 0) not valid;\nalter table document validate constraint c;",
  ],
  [
    "an index built beside others",
    `${APART}-- Why.\ndrop index concurrently if exists i;\ncreate index concurrently i on document (id);`,
  ],
  ["a unique constraint over such an index", "alter table document add constraint u unique using index i;"],
  [
    "a function whose body reads so",
    "create function f() returns void language plpgsql as $$ begin create index i on document (id); end $$;",
  ],
  [
    "a column that nobody uses any more",
    "-- contracts: not read since 1.4.\nalter table document drop column attempts;",
  ],
])("a migration with %s is taken", (_, text) => {
  expect(migrationFaults(text)).toEqual([]);
});
