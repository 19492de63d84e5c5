/**
 * A large month is reported: what its counting costs grows with its exchanges and not with the combinations that the
 * report tells apart, and only sums come to the process. Method: what Postgres writes to files on its way is counted,
 * for it does so with what it sorts and has no room for.
 */
import { afterAll, beforeAll, expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { makeReport, submitDueReports } from "../../../engine/documents/reports.js";
import { monthBounds } from "../../../engine/peppol/reporting.js";
import { countEndUsers, countTransactions, openCounting } from "../../../engine/storage/reporting.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { eventually } from "../../support/eventually.js";
import { fakeClock } from "../../support/fake-clock.js";
import { addExchanges, MONTH } from "../../support/database/month.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { OWN, statusBench } from "../../support/as4/statuses.js";

const EXCHANGES = 200_000;
const USERS = 5_000;
const TYPES = 5;

let db: TestDatabase;
let sql: Sql;
beforeAll(async () => {
  db = await freshDatabase();
  sql = db.one("month");
  await addExchanges(sql, { exchanges: EXCHANGES, users: USERS, types: TYPES });
});
afterAll(async () => {
  await db.drop();
});

/** Octets that Postgres has written to files while it answered statements of this database, up to now. */
async function writtenAside(): Promise<number> {
  await sql`select pg_stat_force_next_flush()`;
  const [row] = await sql<{ readonly n: number }[]>`
    select temp_bytes::float8 as n from pg_stat_database where datname = current_database()`;
  return row?.n ?? 0;
}

test("both reports of a month of 200,000 exchanges are counted without a file of the database's own, and only sums come of it", async () => {
  const before = await writtenAside();
  const users = await countEndUsers(sql, monthBounds(MONTH));
  const transactions = await countTransactions(sql, monthBounds(MONTH));
  expect((await writtenAside()) - before).toBe(0);
  // Of each type its process, that with the country, and the country alone; the country and the whole.
  expect(users).toHaveLength(3 * TYPES + 2);
  expect(transactions).toHaveLength(2 * TYPES);
  expect(transactions.reduce((sum, { count }) => sum + count, 0)).toBe(EXCHANGES);
});

test("every end user of a large month is counted once, however often it has sent and received", async () => {
  const report = (await makeReport(sql, OWN.seat, { type: "EUSR", month: MONTH })).toString("utf8");
  const users = (count: number): string =>
    ["SendingEndUsers", "ReceivingEndUsers", "SendingOrReceivingEndUsers"]
      .map((name) => `<${name}>${count}</${name}>`)
      .join("");
  expect(report).toContain(`<FullSet>${users(USERS)}</FullSet>`);
  expect(report.split(users(USERS / TYPES))).toHaveLength(1 + 3 * TYPES);
});

test("months are counted on a connection that has the time for it, and that ends when nothing is counted any more", async () => {
  const countSql = openCounting(db.url);
  try {
    const [shown] = await countSql<{ readonly statement_timeout: string }[]>`show statement_timeout`;
    expect(shown?.statement_timeout).toBe(`${LIMITS.report_statement_ms / 60_000}min`);
    expect(LIMITS.report_statement_ms).toBeGreaterThan(LIMITS.db_statement_timeout_ms);
  } finally {
    await countSql.end({ timeout: 1 });
  }
  const passing = openSql({ url: db.url, name: "passing", connections: 1, idle_s: 1 });
  const there = async (): Promise<number> =>
    (await sql`select 1 from pg_stat_activity where application_name = 'passing'`).length;
  try {
    await passing`select 1`;
    await eventually("the idle connection is closed", async () => (await there()) === 0);
    expect(await passing<{ readonly n: number }[]>`select 1 as n`).toEqual([{ n: 1 }]);
  } finally {
    await passing.end({ timeout: 1 });
  }
});

test("no other connection counts a month, so that nothing else waits for a large one", async () => {
  const clock = fakeClock(new Date(monthBounds(MONTH).to + LIMITS.report_delay_ms).toISOString());
  const { ports } = statusBench(db, clock);
  const countSql = openCounting(db.url);
  await countSql.end({ timeout: 1 });
  await expect(submitDueReports({ ...ports, countSql })).rejects.toMatchObject({ code: "CONNECTION_ENDED" });
  expect(await submitDueReports(ports)).toBe(2);
});
