/** The long form of test/bulkheads/ends/past.test.ts: a million of everything. */
import { expect, test } from "vitest";

import { costsOfPast, OWN_ROWS } from "../../support/database/past.js";

test("a scrape, the inbox, a status, an acceptance and a sweep read no more rows among 1,000,000 of everything than among 200", async () => {
  const { few, many } = await costsOfPast(200, 1_000_000);
  process.stdout.write(`${JSON.stringify({ few, many })}\n`);
  for (const [name, read] of Object.entries(few)) expect(many[name], name).toBeLessThanOrEqual(read + OWN_ROWS);
});
