/** Commands at an empty database, such as a mistyped DATABASE_URL may mean. */
import { afterAll, beforeAll, expect, test } from "vitest";

import { EXIT } from "../../../gateway/commands/command.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { kurier } from "../../unit/commands/kurier.js";

const ID = "018f6a3e-0000-7000-8000-00000000aaaa";
/** Every command that lists what the database has, with the words without which it lists nothing. */
const LISTS: readonly (readonly [string])[] = [
  [`keys list --firm ${ID}`],
  [`people list --firm ${ID}`],
  ["keys list-signing"],
  ["participants list"],
  ["integrators"],
  ["oauth-clients list"],
  ["onboarding list"],
  ["white-label list"],
];
/** Commands that work on what there is, and may bring its schema up to date. */
const WORK: readonly (readonly [string])[] = [
  ["reconcile"],
  ["evidence verify"],
  ["retention --dry-run"],
  ["meter rebuild"],
  ["keys rotate-master"],
  ["keys retire-signing --all --reason stolen"],
  [`keys create --firm ${ID}`],
  [`firms set --firm ${ID} --name Acme`],
  [`firms erase --firm ${ID} --yes`],
  [`owner invite --firm ${ID} --email a@example.com`],
];

let db: TestDatabase;
beforeAll(async () => {
  db = await freshDatabase({ migrated: false });
});
afterAll(() => db.drop());

test.each(LISTS)("%s makes no schema in a database that has none, and says what is missing", async (words) => {
  const ran = await kurier(words.split(" "), { env: { DATABASE_URL: db.url, ENVIRONMENT: "sandbox" } });
  expect([ran.code, ran.out]).toEqual([EXIT.configuration, ""]);
  expect(ran.err).toMatch(
    /^\S*:? ?The schema lacks \d+ migrations, the first is 0001_\w+\.sql; run kurier migrate.*\n$/,
  );
  expect(await db.sql`select 1 from information_schema.tables where table_schema = 'public'`).toEqual([]);
});

test.each(WORK)("%s makes no schema in a database that has none, and says that it is another", async (words) => {
  const env = { DATABASE_URL: db.url, ENVIRONMENT: "sandbox", MIGRATE: "at-start" };
  const ran = await kurier(words.split(" "), { env });
  expect([ran.code, ran.out, ran.err]).toEqual([
    EXIT.configuration,
    "",
    "The database has nothing of Kurier in it: set DATABASE_URL, or DATA_DIR, to what the engine has, or run kurier migrate.\n",
  ]);
  expect(await db.sql`select 1 from information_schema.tables where table_schema = 'public'`).toEqual([]);
});
