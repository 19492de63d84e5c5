/**
 * A database that was copied row by row (pg_dump, logical replication) to a server that counts fewer transactions than it
 * holds places for. Method: the places are set ahead of the test's server; what the guide says is run on it.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { migrate, requireMigrated, servableLook } from "../../../engine/storage/migrate.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { PROJECT } from "../../support/engines/process.js";

let db: TestDatabase;
beforeAll(async () => {
  db = await freshDatabase();
});
afterAll(async () => {
  await db.drop();
});

const GUIDE = readFileSync(join(PROJECT, "docs/operators/backup.md"), "utf8");
const countUp = /^```sql\n([^`]*)```$/mu.exec(GUIDE)?.[1] ?? "";

/** Sets the places of all readers that many transactions ahead of the server. */
const setAhead = (by: number) => db.sql`
  update feed_consumer set transaction_id = (pg_current_xact_id()::text::bigint + ${by}::bigint)::text::xid8`;

test("a database on a server that counts behind its places is refused and not ready, until the server has counted up as the guide says", async () => {
  const isServable = servableLook(db.sql);
  expect(await isServable()).toBe(true);
  await setAhead(3_000);
  const told = /counts transactions from \d+ and the database holds places up to \d+.*pg_resetwal --epoch=1\.$/u;
  await expect(migrate({ url: db.url, clock: systemClock })).rejects.toThrow(told);
  await expect(requireMigrated({ url: db.url })).rejects.toThrow(told);
  expect(await isServable()).toBe(false);

  await db.sql.unsafe(countUp).simple();
  expect(await migrate({ url: db.url, clock: systemClock })).toEqual([]);
  await requireMigrated({ url: db.url });
  expect(await isServable()).toBe(true);
}, 60_000);

test("the epoch that is named lies behind every place, also where transactions were counted through one or two", async () => {
  const isTold = async (place: string) => {
    await db.sql`update feed_consumer set transaction_id = ${place}::text::xid8`;
    return requireMigrated({ url: db.url }).catch((error: unknown) => String(error));
  };
  expect(await isTold("4294967295")).toMatch(/--epoch=1\.$/u);
  expect(await isTold("4294967296")).toMatch(/--epoch=2\.$/u);
  expect(await isTold("12884901888")).toMatch(/--epoch=4\.$/u);
});
