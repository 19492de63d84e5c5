/**
 * The long form of test/bulkheads/ends/report-month.test.ts: a month of ten million exchanges, of half a million end users,
 * has both reports.
 */
import { expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { makeReport } from "../../../engine/documents/reports.js";
import { openCounting } from "../../../engine/storage/reporting.js";
import { openSql } from "../../../engine/storage/sql.js";
import { addExchanges, MONTH } from "../../support/database/month.js";
import { freshDatabase } from "../../support/database/postgres.js";
import { keepFigures } from "../figures.js";

const EXCHANGES = Number(process.env["KURIER_TEST_EXCHANGES"] ?? "10000000");
const USERS = EXCHANGES / 20;
const TYPES = 5;

test("both reports of a month of ten million exchanges are made, and every end user is counted once", async () => {
  const db = await freshDatabase();
  const writing = openSql({ url: db.url, name: "month", connections: 1, statement_timeout_ms: 0 });
  const countSql = openCounting(db.url);
  const rows: (string | number)[][] = [];
  try {
    await addExchanges(writing, { exchanges: EXCHANGES, users: USERS, types: TYPES });
    for (const [type, said] of [
      ["TSR", `<Incoming>${EXCHANGES / 2}</Incoming><Outgoing>${EXCHANGES / 2}</Outgoing>`],
      ["EUSR", `<SendingOrReceivingEndUsers>${USERS}</SendingOrReceivingEndUsers>`],
    ] as const) {
      const begun = systemClock.monotonic();
      const report = await makeReport(countSql, "POP000001", { type, month: MONTH });
      const seconds = (systemClock.monotonic() - begun) / 1_000;
      rows.push([type, EXCHANGES, USERS, seconds.toFixed(1), report.length]);
      expect(report.toString("utf8")).toContain(said);
    }
  } finally {
    await Promise.all([writing.end({ timeout: 1 }), countSql.end({ timeout: 1 })]);
    await db.drop();
  }
  keepFigures("report-month", {
    title: "Reports of a large month",
    command: "npm run -s test:faults -- report-month",
    remark: "Both monthly reports are made of exchanges in one month, each by one statement.",
    columns: ["Report", "Exchanges", "End users", "Made in, s", "Octets"],
    rows,
  });
});
