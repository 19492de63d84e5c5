// Goal: a large payload costs no disk but its own: the statements that carry it make no temporary file.
// Method: a real Postgres and one connection, whose own statistics say what it wrote to temporary files.
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { FirmId } from "../../../engine/base/ids.js";
import { acceptDocuments } from "../../../engine/storage/documents/documents.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { fakeClock } from "../../support/fake-clock.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { newDocumentRow, seedFirm } from "../../support/database/seed.js";

const SENDER = "0245:1111111111";
const clock = fakeClock("2026-11-27T10:00:00Z");

let db: TestDatabase;
let sql: Sql;
let firmId: FirmId;

beforeAll(async () => {
  db = await freshDatabase();
  firmId = await seedFirm(db.sql, SENDER);
  sql = db.one("test");
});
afterAll(async () => {
  await db.drop();
});

/** Octets that this database has had in temporary files so far, those of our connection included. */
async function spilled(): Promise<number> {
  await sql`select pg_stat_force_next_flush()`;
  const [row] = await sql<{ bytes: string }[]>`
    select temp_bytes as bytes from pg_stat_database where datname = current_database()`;
  return Number(row?.bytes);
}

test("a document of 15 MB is accepted without a temporary file", async () => {
  const before = await spilled();
  const row = newDocumentRow(firmId, SENDER, { acceptedAt: clock.now(), payloadSealed: randomBytes(15_000_000) });
  expect(await acceptDocuments(sql, [row])).toMatchObject([{ kind: "accepted" }]);
  expect(await spilled()).toBe(before);
});

test("the function that stores what has arrived keeps a payload in memory, as the one that accepts does", async () => {
  const rows = await sql<{ settings: string[] }[]>`
    select proconfig as settings from pg_proc where proname in ('accept_documents', 'receive_businesses')`;
  expect(rows.map(({ settings }) => settings)).toEqual([
    expect.arrayContaining(["work_mem=64MB"]),
    expect.arrayContaining(["work_mem=64MB"]),
  ]);
});
