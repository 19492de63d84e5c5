/**
 * A database whose statistics, and the plans that a connection keeps, are of an hour in which nothing was open: a past
 * in which all has ended, and beside it what comes afterwards and waits, of everything that can wait.
 */
import type { FirmId } from "../../../engine/base/ids.js";
import { addPast } from "../../../bench/scale/past.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";

/** One of the firms that everything belongs to. */
export interface QuietFirm {
  readonly firmId: FirmId;
  readonly participant: string;
}

/** Writes past the constraints between tables, on a connection of its own: what it sets would drop kept plans. */
async function past(url: string, write: (sql: Sql) => Promise<unknown>): Promise<void> {
  const sql = openSql({ url, name: "fill", connections: 1, statement_timeout_ms: 0 });
  try {
    await sql`set session_replication_role = replica`;
    await write(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Ids of so many things, in the order in which they came about. */
const NUMBERED = (sql: Sql, count: number, { firmId, participant }: QuietFirm) => sql`
  select n, clock_timestamp() - interval '1 hour' + n * interval '1 millisecond' as at, ${firmId}::uuid as firm,
    ${participant}::text as participant,
    (left(id_floor(clock_timestamp() - interval '1 hour' + n * interval '1 millisecond')::text, 14) || '7'
      || substr(gen_random_uuid()::text, 16))::uuid as id
  from generate_series(1, ${count}::integer) as s (n)`;

/** What has ended long ago, and statistics of it. */
export async function addQuietPast(url: string, firms: readonly QuietFirm[], count: number): Promise<void> {
  await addPast(url, firms, count);
  await past(url, async (sql) => {
    const [firm] = firms;
    if (firm === undefined) throw new Error("a past is somebody's");
    await sql`create temporary table told as ${NUMBERED(sql, count, firm)}`;
    await sql`
      insert into mls_duty (id, firm_id, sbdh_instance_id, document_type_id, receiver, always, received_at, code,
        payload_bytes)
      select id, firm, 'r' || id, 'type', participant, true, at, 'AP', 1 from told order by n`;
    await sql`
      insert into service_message (id, kind, subject, firm_id, about, code, sender, receiver, document_type_id, process_id,
        as4_message_id, sbdh_instance_id, payload_key_id, payload_sealed, payload_sha256, status, version, attempts,
        created_at, delivered_at)
      select id, 'mls', 'mls ' || id, firm, id, 'AP', participant, 'x', 't', 'p', 'sm' || id, id, 'k', 'x', 'x',
        'delivered', 3, 1, at, at
      from told order by n`;
    await sql`
      insert into inbound_status (id, kind, sender, receiver, peer_seat, as4_message_id, sbdh_instance_id, received_at,
        payload_key_id, payload_sealed, payload_sha256, tries, outcome, handled_at, document_id, code)
      select id, 'mls', 's', 'r', 'POP1', 'is' || id, 'is' || id, at, 'k', 'x', 'x', 1, 'applied', at, id, 'AP'
      from told order by n`;
    await sql`
      insert into box_item (id, firm_id, key_id, external_id, status, version, sender, receiver, document_type_id,
        process_id, payload_sha256, payload_bytes, document_id, sent_at, status_since, created_at, updated_at, payload_gone)
      select id, firm, id, 'past ' || id, 'sent', 4, participant, 'r', 't', 'p', sha256('a'), 1, id, at, at, at, at, n % 2 = 0
      from told order by n`;
    await sql`
      insert into box_event (item_id, version, kind, status, actor_type, occurred_at)
      select id, 1, 'created', 'ready', 'api_key', at from told order by n`;
    await sql`
      insert into webhook_delivery (id, subscription_id, endpoint_id, owner_id, firm_id, event_id, event, place,
        document_id, occurred_at, status, attempts, attempted_at, response_status, created_at, settled_at)
      select gen_random_uuid(), whose, whose, whose, whose, gen_random_uuid(), 'document.delivered', n, id, at, 'SUCCESS', 1,
        at, 200, at, at
      from (select *, md5((n % 20)::text)::uuid as whose from told) as told order by n`;
    await sql`drop table told`;
    // What is told from here on is told to nobody yet.
    await sql`
      update feed_consumer set transaction_id = pg_snapshot_xmin(pg_current_snapshot()), position = 0`;
    await sql`analyze`;
  });
}

/** One of everything that can wait. */
export interface Open extends QuietFirm {
  /** Of all of them but for the document that is held by its program. */
  readonly id: string;
  readonly held: string;
}

/** The stream's consumer for whom messages wait. */
export const QUIET_CONSUMER = "quiet";

/** Adds so many of everything that can wait. */
export async function addOpen(url: string, firm: QuietFirm, count: number): Promise<readonly Open[]> {
  // Bounded by `count`.
  const open: Open[] = [];
  await past(url, async (sql) => {
    await sql`create temporary table told as select *, gen_random_uuid() as held from (${NUMBERED(sql, count, firm)}) as n`;
    await sql`insert into stream_consumer values ('events', ${QUIET_CONSUMER}) on conflict do nothing`;
    await sql`
      insert into document (id, firm_id, key_id, sender, sender_key, receiver, receiver_key, erp_document_id,
        document_type_id, process_id, facts, status, version, idempotency_key, request_sha256, payload_sha256, reply_status,
        reply_body, as4_message_id, sbdh_instance_id, next_attempt_at, created_at, updated_at, door, staged, staged_at)
      select case kind when 'due' then id else held end, firm, id, participant, participant, '0245:9999999999',
        '0245:9999999999', 'open ' || kind || id, 'type', 'process', jsonb_build_object('documentNumber', id),
        'queued', 1, 'open ' || kind || id, sha256(id::text::bytea), sha256((kind || id)::bytea), 202, '{}', kind || id,
        gen_random_uuid(), case kind when 'due' then at end, at, at, 'sapi', case kind when 'held' then 'held' end,
        case kind when 'held' then at end
      from told cross join (values ('due'), ('held')) as k (kind) order by n`;
    await sql`insert into payload (document_id, key_id, sealed, bytes) select id, 'k', 'x', 1 from told order by n`;
    await sql`
      insert into received_document (id, firm_id, participant_key, sender, receiver, document_type_id, process_id,
        creation_date_time, status, payload_sha256, as4_message_id, sbdh_instance_id, facts, received_at, peer_seat)
      select id, firm, participant, 's', participant, 'type', 'process', at, 'HELD', sha256(id::text::bytea), 'h' || id,
        'h' || id, '{}', at, 'POP1'
      from told order by n`;
    await sql`
      insert into mls_duty (id, firm_id, sbdh_instance_id, document_type_id, receiver, always, received_at, next_at,
        payload_bytes)
      select id, firm, 'h' || id, 'type', participant, true, at, at, 1 from told order by n`;
    await sql`
      insert into service_message (id, kind, subject, firm_id, about, code, sender, receiver, document_type_id, process_id,
        as4_message_id, sbdh_instance_id, payload_key_id, payload_sealed, payload_sha256, status, version, attempts,
        created_at, next_attempt_at)
      select id, 'mls', 'mls ' || id, firm, id, 'AP', participant, 'x', 't', 'p', 'sm' || id, id, 'k', 'x', 'x', 'queued', 1,
        0, at, at
      from told order by n`;
    await sql`
      insert into inbound_status (id, kind, sender, receiver, peer_seat, as4_message_id, sbdh_instance_id, received_at,
        payload_key_id, payload_sealed, payload_sha256, tries, next_at)
      select id, 'mls', 's', 'r', 'POP1', 'io' || id, 'io' || id, at, 'k', 'x', 'x', 0, at from told order by n`;
    await sql`
      insert into box_item (id, firm_id, key_id, external_id, status, version, sender, receiver, document_type_id,
        process_id, payload_sha256, payload_bytes, document_id, due_at, scheduled_for, status_since, created_at, updated_at)
      select id, firm, id, 'open ' || id, 'scheduled', 1, participant, 'r', 't', 'p', sha256('a'), 1, gen_random_uuid(), at,
        at, at, at, at
      from told order by n`;
    await sql`insert into box_payload (item_id, key_id, sealed) select id, 'k', 'x' from told order by n`;
    await sql`
      insert into box_event (item_id, version, kind, status, actor_type, document_id, occurred_at)
      select id, 1, 'retry', 'ready', 'api_key', gen_random_uuid(), at from told order by n`;
    await sql`
      insert into webhook_endpoint (id, owner_id, origin) values (${firm.firmId}, ${firm.firmId}, 'https://hook.test')
      on conflict do nothing`;
    await sql`
      insert into webhook_subscription (id, firm_id, url, endpoint_id, events, active, secret_key_id, secret_sealed,
        seen_from, created_at)
      values (${firm.firmId}, ${firm.firmId}, 'https://hook.test', ${firm.firmId}, array['document.delivered'], true, 'k',
        'x'::bytea, '1:1:'::pg_snapshot, now())
      on conflict do nothing`;
    // Of each document one event is due, and one waits behind it.
    await sql`
      insert into webhook_delivery (id, subscription_id, endpoint_id, owner_id, firm_id, event_id, event, place,
        document_id, occurred_at, status, due_at, created_at)
      select case turn when 1 then id else gen_random_uuid() end, firm, firm, firm, firm, gen_random_uuid(),
        'document.delivered', n * 2 + turn, id, at, 'PENDING', case turn when 1 then at else 'infinity' end, at
      from told cross join (values (1), (2)) as t (turn) order by n`;
    await sql`
      insert into webhook_delivery (id, subscription_id, endpoint_id, owner_id, firm_id, event_id, event, place,
        document_id, occurred_at, status, created_at)
      select gen_random_uuid(), firm, null, firm, firm, id, 'document.sent', n * 2, id, at, 'PENDING', at
      from told order by n`;
    await sql`insert into outbox (stream, key, body) select 'events', id, '{}' from told order by n`;
    await sql`
      insert into stream_message (stream, consumer, key, body) select 'events', ${QUIET_CONSUMER}, id, '{}' from told order by n`;
    const told = await sql<{ readonly id: string; readonly held: string }[]>`select id, held from told order by n`;
    open.push(...told.map((one) => ({ ...one, ...firm })));
    await sql`drop table told`;
  });
  return open;
}
