/**
 * What the past costs: how many rows and entries of indexes Postgres reads for what is asked all day, with few rows and with
 * many of everything that grows. All of them belong to one firm, which is the worst case.
 */
import { randomUUID } from "node:crypto";

import type { FirmId } from "../../../engine/base/ids.js";
import { systemClock } from "../../../engine/base/clock.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { sweepRows } from "../../../engine/documents/retention.js";
import { takeAttempt } from "../../../engine/storage/documents/attempts.js";
import { listConnectorEvents } from "../../../engine/storage/documents/connector.js";
import { acceptDocuments, censusOfDocuments, findDocument } from "../../../engine/storage/documents/documents.js";
import { oldestPendingMls } from "../../../engine/storage/documents/duties.js";
import { countOverdueHeld, listReceived } from "../../../engine/storage/documents/received.js";
import { censusOfDeliveries, feedLag } from "../../../engine/storage/events/dispatch.js";
import { FEED_START } from "../../../engine/storage/events/feed.js";
import { findNotYetListed } from "../../../engine/storage/documents/firm-received.js";
import { readOutboxStatus } from "../../../engine/storage/outbox.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { readStreamStatus } from "../../../engine/storage/stream.js";
import { addPast } from "../../../bench/scale/past.js";
import { eventually } from "../eventually.js";
import { freshDatabase } from "./postgres.js";
import { newDocumentRow, seedFirm } from "./seed.js";

/** Rows that the questions themselves add between the first and the second time that they are asked. */
export const OWN_ROWS = 8;

const SENDER = "0245:1111111111";
const OPEN = 50;

const CONNECTOR_KINDS = ["document.queued", "document.delivered", "document.rejected", "document.processed"] as const;

/** What is asked all day, by its name. */
const QUESTIONS: Readonly<Record<string, (sql: Sql, firmId: FirmId) => Promise<unknown>>> = {
  "the gauges of a scrape": async (sql) => {
    await censusOfDocuments(sql, systemClock.now());
    await oldestPendingMls(sql);
    await countOverdueHeld(sql, systemClock.now());
    await censusOfDeliveries(sql);
    await feedLag(sql);
    await readOutboxStatus(sql);
    await readStreamStatus(sql);
  },
  "a page of the inbox": (sql, firmId) =>
    listReceived(sql, [
      { firmId, participantKey: SENDER, status: "RECEIVED", after: "0", limit: 21, heldSince: systemClock.now() },
    ]),
  "a page of the Connector's events": (sql, firmId) =>
    listConnectorEvents(sql, { firmId, after: FEED_START, kinds: CONNECTOR_KINDS, limit: 20 }),
  "what the lists of a firm do not show yet": (sql, firmId) =>
    findNotYetListed(sql, {
      firms: { firmId },
      showsJudged: true,
      feeds: ["received", "sent"],
      heldSince: systemClock.now() - LIMITS.held_max_ms,
    }),
  "the status of a document": async (sql, firmId) => {
    const document = newDocumentRow(firmId, SENDER, { facts: { documentNumber: randomUUID() } });
    await acceptDocuments(sql, [document]);
    await findDocument(sql, firmId, document.id);
  },
  "an acceptance and the lease on its first attempt": async (sql, firmId) => {
    const document = newDocumentRow(firmId, SENDER, { facts: { documentNumber: randomUUID() } });
    await acceptDocuments(sql, [document]);
    await takeAttempt(sql, { id: document.id, owner: "past/1", lease_ms: LIMITS.attempt_lease_ms });
  },
  "a sweep that finds nothing": (sql) => sweepRows({ sql, clock: systemClock }),
};

/** Rows and entries of indexes that Postgres reads for a question, and for nothing else that is asked meanwhile. */
export async function rowsReadBy(sql: Sql, ask: () => PromiseLike<unknown>): Promise<number> {
  const before = await readSoFar(sql);
  await ask();
  return (await readSoFar(sql)) - before;
}

/** What has been read so far of this database, by this connection up to now. */
async function readSoFar(sql: Sql): Promise<number> {
  await sql`select pg_stat_force_next_flush()`;
  const [row] = await sql<{ readonly n: number }[]>`
    select ((select sum(seq_tup_read) from pg_stat_user_tables) + (select sum(idx_tup_read) from pg_stat_user_indexes))::float8 as n`;
  return row?.n ?? 0;
}

export type Costs = Readonly<Record<string, number>>;

/** Waits for the transactions that were under way, of whichever database of the server: feeds end before the oldest. */
export async function untilFeedsShowAll(sql: Sql): Promise<void> {
  const [written] = await sql<{ readonly id: string }[]>`select pg_current_xact_id()::text as id`;
  await eventually("the feeds show what was written", async () => {
    const [row] = await sql<{ readonly shown: boolean }[]>`
      select ${written?.id ?? "0"}::xid8 < pg_snapshot_xmin(pg_current_snapshot()) as shown`;
    return row?.shown;
  });
}

async function costs(sql: Sql, firmId: FirmId): Promise<Costs> {
  await untilFeedsShowAll(sql);
  const found: Record<string, number> = {};
  for (const [name, ask] of Object.entries(QUESTIONS)) {
    await ask(sql, firmId);
    found[name] = await rowsReadBy(sql, () => ask(sql, firmId));
  }
  return found;
}

/** What each question reads after `few` rows of everything, and after `many`. */
export async function costsOfPast(few: number, many: number): Promise<{ readonly few: Costs; readonly many: Costs }> {
  const db = await freshDatabase();
  const sql = db.one("past");
  try {
    const firmId = await seedFirm(sql, SENDER);
    for (let i = 0; i < OPEN; i += 1)
      await acceptDocuments(sql, [newDocumentRow(firmId, SENDER, { facts: { documentNumber: randomUUID() } })]);
    await addPast(db.url, [{ firmId, participant: SENDER }], few);
    const first = await costs(sql, firmId);
    await addPast(db.url, [{ firmId, participant: SENDER }], many - few);
    return { few: first, many: await costs(sql, firmId) };
  } finally {
    await sql.end({ timeout: 1 });
    await db.drop();
  }
}
