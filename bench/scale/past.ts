/** Rows of a past: documents that were delivered and received long ago, with all that is told of them. */
import { openSql } from "../../engine/storage/sql.js";
import type { Sql } from "../../engine/storage/sql.js";

/** Documents written by one round of statements: what Postgres has to sort stays in its memory. */
const ROUND = 250_000;
/** One document in so many was never acknowledged by its receiver. */
const OUTSTANDING_SHARE = 4;

/** Whose the past is. */
interface PastOwner {
  readonly firmId: string;
  /** Sender of what was sent, receiver of what was received. */
  readonly participant: string;
}

/**
 * Writes so many documents that were delivered and so many that were received, spread evenly over their owners, one
 * each second back from a day ago.
 * @param url  of an owner of the database: constraints between tables are not looked at
 */
export async function addPast(url: string, owners: readonly PastOwner[], count: number): Promise<void> {
  for (let from = 1; from <= count; from += ROUND)
    await inSession(url, (sql) => addRound(sql, owners, [from, Math.min(count, from + ROUND - 1)]));
  await inSession(url, async (sql) => {
    await sql`insert into document_tally (status, n) values ('delivered', ${count})`;
    await sql`analyze`;
  });
}

/** A session of its own for each round: after half an hour a pool gives it up, with all that was set in it. */
async function inSession(url: string, write: (sql: Sql) => Promise<void>): Promise<void> {
  const sql = openSql({ url, name: "past", connections: 1, statement_timeout_ms: 0 });
  try {
    await sql`set session_replication_role = replica`;
    await write(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function addRound(sql: Sql, owners: readonly PastOwner[], [from, to]: readonly [number, number]): Promise<void> {
  await sql`
    create temporary table past as
    select s.n, s.at, (left(id_floor(s.at)::text, 14) || '7' || substr(gen_random_uuid()::text, 16))::uuid as id,
      o.firm, o.participant
    from (select n, now() - interval '1 day' - n * interval '1 second' as at
        from generate_series(${from}::integer, ${to}::integer) as n) as s
      join unnest(${owners.map(({ firmId }) => firmId)}::uuid[],
          ${owners.map(({ participant }) => participant)}::text[])
        with ordinality as o (firm, participant, number) on o.number = 1 + s.n % ${owners.length}::integer`;
  await sql`
    insert into document (id, firm_id, key_id, sender, sender_key, receiver, receiver_key, erp_document_id,
      document_type_id, process_id, facts, status, version, idempotency_key, request_sha256, payload_sha256,
      reply_status, reply_body, as4_message_id, sbdh_instance_id, delivered_at, created_at, updated_at, door)
    select id, firm, id, participant, participant, '0245:9999999999', '0245:9999999999', 'erp ' || id,
      'type', 'process', jsonb_build_object('documentNumber', id), 'delivered', 3, id, sha256(id::text::bytea),
      sha256(id::text::bytea), 202, '{}', id || '@past', id, at, at, at, 'sapi'
    from past`;
  await sql`insert into payload (document_id, key_id, sealed, bytes) select id, 'k', 'x', 1 from past`;
  await sql`
    insert into document_attempt (document_id, number, owner, started_at, finished_at, outcome, retryable)
    select id, 1, 'past', at, at, 'receipt', false from past`;
  await sql`
    insert into document_history (document_id, version, status, trigger, occurred_at)
    select id, v.version, v.status, v.trigger, at
    from past cross join (values (1, 'queued', 'accepted'), (2, 'delivered', 'receipt_confirmed'))
      as v (version, status, trigger)`;
  await sql`
    insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
    select gen_random_uuid(), id, firm, k.kind, 'system', k.kind <> 'document.queued', at
    from past cross join (values ('document.queued'), ('document.sent'), ('document.delivered')) as k (kind)`;
  await sql`
    insert into exchange (id, direction, kind, firm_id, c2_seat, c3_seat, document_type_id, process_id,
      transport_profile, c1_country, end_user, exchanged_at)
    select id, 'outgoing', 'business', firm, 'a', 'b', 'type', 'process', 'p', 'SK', 'u', at from past`;
  await sql`
    insert into received_document (id, firm_id, participant_key, sender, receiver, document_type_id, process_id,
      creation_date_time, status, acknowledged_at, payload_sha256, as4_message_id, sbdh_instance_id, facts,
      received_at, api_received_at)
    select (left(id::text, 19) || substr(gen_random_uuid()::text, 20))::uuid, firm, participant, '0245:9999999999',
      participant, 'type', 'process', at,
      case when n % ${OUTSTANDING_SHARE}::integer = 0 then 'RECEIVED' else 'ACKNOWLEDGED' end,
      case when n % ${OUTSTANDING_SHARE}::integer <> 0 then at end, sha256(id::text::bytea), id || '@r', 'r' || id,
      '{}', at, at
    from past order by at`;
  await sql`drop table past`;
}
