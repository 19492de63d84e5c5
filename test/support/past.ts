/**
 * What the past costs: how many rows and entries of indexes Postgres reads for what is asked all day, with few rows and with
 * many of everything that grows. All of them belong to one firm, which is the worst case.
 */
import { randomUUID } from "node:crypto";

import type { FirmId } from "../../engine/base/ids.js";
import { systemClock } from "../../engine/base/clock.js";
import { LIMITS } from "../../engine/base/limits.js";
import { sweepRows } from "../../engine/documents/retention.js";
import { takeAttempt } from "../../engine/storage/documents/attempts.js";
import { acceptDocuments, censusOfDocuments, findDocument } from "../../engine/storage/documents/documents.js";
import { oldestPendingMls } from "../../engine/storage/documents/duties.js";
import { countOverdueHeld, listReceived } from "../../engine/storage/documents/received.js";
import { censusOfDeliveries, feedLag } from "../../engine/storage/events/dispatch.js";
import { readOutboxStatus } from "../../engine/storage/outbox.js";
import { openSql } from "../../engine/storage/sql.js";
import type { Sql } from "../../engine/storage/sql.js";
import { readStreamStatus } from "../../engine/storage/stream.js";
import { freshDatabase } from "./postgres.js";
import { newDocumentRow, seedFirm } from "./seed.js";

/** Rows that the questions themselves add between the first and the second time that they are asked. */
export const OWN_ROWS = 8;

const SENDER = "0245:1111111111";
const OPEN = 50;
const OUTSTANDING_SHARE = 4;

/** Writes so many documents that were delivered and so many that were received, with all that is told of them. */
async function addPast(sql: Sql, firmId: FirmId, count: number): Promise<void> {
  await sql`set session_replication_role = replica`;
  await sql`set statement_timeout = 0`;
  await sql`
    create temporary table past as
    select n, (left(id_floor(at)::text, 14) || '7' || substr(gen_random_uuid()::text, 16))::uuid as id, at
    from (select n, now() - interval '1 day' - n * interval '1 second' as at from generate_series(1, ${count}::integer) as n) as s`;
  await sql`
    insert into document (id, firm_id, key_id, sender, sender_key, receiver, receiver_key, erp_document_id, document_type_id,
      process_id, facts, status, version, idempotency_key, request_sha256, payload_sha256, reply_status, reply_body,
      as4_message_id, sbdh_instance_id, delivered_at, created_at, updated_at, door)
    select id, ${firmId}, id, ${SENDER}, ${SENDER}, '0245:9999999999', '0245:9999999999', 'erp ' || id, 'type', 'process',
      jsonb_build_object('documentNumber', id), 'delivered', 3, id, sha256(id::text::bytea), sha256(id::text::bytea), 202, '{}',
      id || '@past', id, at, at, at, 'sapi'
    from past`;
  await sql`insert into document_tally (status, n) values ('delivered', ${count})`;
  await sql`insert into payload (document_id, key_id, sealed, bytes) select id, 'k', 'x', 1 from past`;
  await sql`
    insert into document_attempt (document_id, number, owner, started_at, finished_at, outcome, retryable)
    select id, 1, 'past', at, at, 'receipt', false from past`;
  await sql`
    insert into document_history (document_id, version, status, trigger, occurred_at)
    select id, v.version, v.status, v.trigger, at
    from past cross join (values (1, 'queued', 'accepted'), (2, 'delivered', 'receipt_confirmed')) as v (version, status, trigger)`;
  await sql`
    insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
    select gen_random_uuid(), id, ${firmId}, k.kind, 'system', k.kind <> 'document.queued', at
    from past cross join (values ('document.queued'), ('document.sent'), ('document.delivered')) as k (kind)`;
  await sql`
    insert into exchange (id, direction, kind, firm_id, c2_seat, c3_seat, document_type_id, process_id, transport_profile,
      c1_country, end_user, exchanged_at)
    select id, 'outgoing', 'business', ${firmId}, 'a', 'b', 'type', 'process', 'p', 'SK', 'u', at from past`;
  await sql`
    insert into received_document (id, firm_id, participant_key, sender, receiver, document_type_id, process_id,
      creation_date_time, status, acknowledged_at, payload_sha256, as4_message_id, sbdh_instance_id, facts, received_at, api_received_at)
    select (left(id::text, 19) || substr(gen_random_uuid()::text, 20))::uuid, ${firmId}, ${SENDER}, '0245:9999999999', ${SENDER}, 'type', 'process', at,
      case when n % ${OUTSTANDING_SHARE}::integer = 0 then 'RECEIVED' else 'ACKNOWLEDGED' end, case when n % ${OUTSTANDING_SHARE}::integer <> 0 then at end, sha256(id::text::bytea), id || '@r', 'r' || id, '{}', at, at
    from past order by at`;
  await sql`drop table past`;
  await sql`set session_replication_role = origin`;
  await sql`analyze`;
}

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

/** Rows and entries of indexes that Postgres has read so far for this database, this connection's up to now. */
async function readSoFar(sql: Sql): Promise<number> {
  await sql`select pg_stat_force_next_flush()`;
  const [row] = await sql<{ readonly n: number }[]>`
    select ((select sum(seq_tup_read) from pg_stat_user_tables) + (select sum(idx_tup_read) from pg_stat_user_indexes))::float8 as n`;
  return row?.n ?? 0;
}

export type Costs = Readonly<Record<string, number>>;

async function costs(sql: Sql, firmId: FirmId): Promise<Costs> {
  const found: Record<string, number> = {};
  for (const [name, ask] of Object.entries(QUESTIONS)) {
    await ask(sql, firmId);
    const before = await readSoFar(sql);
    await ask(sql, firmId);
    found[name] = (await readSoFar(sql)) - before;
  }
  return found;
}

/** What each question reads after `few` rows of everything, and after `many`. */
export async function costsOfPast(few: number, many: number): Promise<{ readonly few: Costs; readonly many: Costs }> {
  const db = await freshDatabase();
  const sql = openSql({ url: db.url, name: "past", connections: 1 });
  try {
    const firmId = await seedFirm(sql, SENDER);
    for (let i = 0; i < OPEN; i += 1)
      await acceptDocuments(sql, [newDocumentRow(firmId, SENDER, { facts: { documentNumber: randomUUID() } })]);
    await addPast(sql, firmId, few);
    const first = await costs(sql, firmId);
    await addPast(sql, firmId, many - few);
    return { few: first, many: await costs(sql, firmId) };
  } finally {
    await sql.end({ timeout: 1 });
    await db.drop();
  }
}
