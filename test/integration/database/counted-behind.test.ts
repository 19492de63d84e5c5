/**
 * A database that was copied row by row (pg_dump, logical replication) to a server that counts fewer transactions than it
 * holds places for. Method: the places are set ahead of the test's server; what the guide says is run on it.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { createFirm } from "../../../engine/identity/firms.js";
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

const TOLD = /counts transactions from \d+ and the database holds places up to \d+.*pg_resetwal --epoch=1\.$/u;

/** Sets the places of all readers that many transactions ahead of the server. */
const setAhead = (by: number) => db.sql`
  update feed_consumer set transaction_id = (pg_current_xact_id()::text::bigint + ${by}::bigint)::text::xid8`;

/** It is refused and not ready, until the server has counted up as the guide says. */
async function isRefusedUntilCounted(): Promise<void> {
  const isServable = servableLook(db.sql);
  await expect(migrate({ url: db.url, clock: systemClock })).rejects.toThrow(TOLD);
  await expect(requireMigrated({ url: db.url })).rejects.toThrow(TOLD);
  expect(await isServable()).toBe(false);

  await db.sql.unsafe(countUp).simple();
  expect(await migrate({ url: db.url, clock: systemClock })).toEqual([]);
  await requireMigrated({ url: db.url });
  expect(await isServable()).toBe(true);
}

test("a database on a server that counts behind its places is refused and not ready, until the server has counted up as the guide says", async () => {
  expect(await servableLook(db.sql)()).toBe(true);
  await setAhead(3_000);
  await isRefusedUntilCounted();
});

/** A server that counts far ahead of what its readers read, as one does in a quiet night: six transactions a second. */
const NIGHT = 4_000;

/** A subscription that begins where the server's count is after that many more, with no event since. */
const subscribedAfter = (by: number) => db.sql`
  with place as (select (pg_current_xact_id()::text::bigint + ${by}::bigint)::text as next)
  insert into webhook_subscription (
    id, firm_id, integrator_id, url, endpoint_id, events, active, secret_key_id, secret_sealed, seen_from, created_at,
    updated_at
  ) select gen_random_uuid(), f.id, null, null, null, '{document.sent}', true, 'k', 's', format('%1$s:%1$s:', next)::pg_snapshot,
    now(), now() from place, firm as f limit 1`;

test("a copy whose subscription begins behind the last event is refused until the server has counted up to the subscription, which would be told of nothing before", async () => {
  const address = { street: "Hlavná 1", city: "Žilina", zip: "010 01" };
  const company = { name: "Pekáreň s. r. o.", ico: "50000001", dic: "2050000001", icDph: "SK2050000001", address };
  await createFirm({ sql: db.sql, clock: systemClock }, { ...company, sandbox: true });
  await subscribedAfter(NIGHT);
  await isRefusedUntilCounted();
});

test("a copy with an event that no reader has read yet is refused until the server has counted up to the event: clients hold places of events", async () => {
  await db.sql`
    insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at, transaction_id) values (
      gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'document.sent', 'system', true, now(),
      (pg_current_xact_id()::text::bigint + ${NIGHT}::bigint)::text::xid8
    )`;
  await isRefusedUntilCounted();
});

test("the epoch that is named lies behind every place, also where transactions were counted through one or two", async () => {
  const isTold = async (place: string) => {
    await db.sql`update feed_consumer set transaction_id = ${place}::text::xid8`;
    return requireMigrated({ url: db.url }).catch((error: unknown) => String(error));
  };
  expect(await isTold("4294967295")).toMatch(/--epoch=1\.$/u);
  expect(await isTold("4294967296")).toMatch(/--epoch=2\.$/u);
  expect(await isTold("12884901888")).toMatch(/--epoch=4\.$/u);
});
