/** Statements of the Connector: what one firm has sent and received, in the order in which it could be seen. */
import { isoOrNull } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { FirmId } from "../../base/ids.js";
import type { Staging } from "../../lifecycle/connector.js";
import { IMPORT_KIND } from "../../lifecycle/document.js";
import type { OutboundState, StoredEventKind } from "../../lifecycle/document.js";
import type { ReceivedState } from "../../lifecycle/received.js";
import type { ResponseCode } from "../../lifecycle/response.js";
import { answerBefore, openedAnswer } from "../events/answers.js";
import type { StoodAnswer } from "../events/answers.js";
import type { FeedPlace } from "../events/feed.js";
import { numbered, openedNote } from "../keyring/facts.js";
import type { WithFacts } from "../keyring/facts.js";
import { openedWords } from "../keyring/words.js";
import type { Json, Sql } from "../sql.js";
import { markingShown } from "./received.js";

/** A document of either direction without its content. */
export interface ConnectorRow extends FeedPlace {
  readonly id: string;
  readonly direction: "outbound" | "inbound";
  readonly status: OutboundState | ReceivedState;
  readonly statusReason: string | null;
  readonly attempts: number;
  /** Null for what was never staged. */
  readonly staged: Staging | null;
  /** What the sender's or the receiver's program calls it. */
  readonly externalId: string | null;
  readonly documentTypeId: string;
  readonly sender: string;
  readonly receiver: string;
  readonly number: string | null;
  readonly acknowledgedAt: Date | null;
  readonly reference: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** How its recipient was found; null where nobody looked. */
  readonly resolution: "verified" | "declared" | null;
  /** The last answer to the invoice, received or given; null when there is none. */
  readonly responseCode: ResponseCode | null;
  readonly responseReason: string | null;
  readonly respondedAt: Date | null;
}

/** What is asked for. Undefined asks for all. */
interface ConnectorQuery extends Showing {
  readonly firmId: FirmId;
  readonly after: FeedPlace;
  readonly createdAfter: Instant | undefined;
  /** A regular expression of document types. */
  readonly type: string | undefined;
  /** States of sent documents that are wanted. */
  readonly sent: readonly OutboundState[];
  readonly isAttempted: boolean | undefined;
  readonly isCancelled: boolean | undefined;
  /** States of received documents that are wanted. */
  readonly received: readonly ReceivedState[];
}

/** How many are wanted, and when they are shown; undefined for those that nobody is given. */
interface Showing {
  readonly limit: number;
  readonly shownAt: Instant | undefined;
}

/**
 * The rest of every document that `outbound` and `inbound` have found, one more than the limit. What is received and
 * shown for the first time is marked.
 */
const shown = (sql: Sql, { limit, shownAt }: Showing) => sql`
  whole as (
    select o.transaction_id, o.position, d.id, 'outbound' as direction, d.status, d.status_reason, d.attempts, d.staged,
      d.erp_document_id as external_id, d.document_type_id, d.sender, d.receiver,
      d.facts, d.acknowledged_at, null::text as reference, d.created_at, d.updated_at,
      case when d.door = 'connector' then d.reply_body::jsonb ->> 'resolution' end as resolution,
      d.invoice_response_status as response_code, said.detail as response_reason, said.occurred_at as responded_at,
      null::uuid as note_of, null::text as note_key, null::bytea as note_sealed, said.id as answer, said.meta
    from outbound as o join document as d on d.id = o.id
    left join lateral (
      select v.id, v.detail, v.meta, v.occurred_at from document_event as v
      where v.document_id = d.id and v.kind = 'document.response_received' order by v.position desc limit 1
    ) as said on true
    union all
    select i.transaction_id, i.position, r.id, 'inbound', r.status, null, 0, null, null, r.document_type_id,
      r.sender, r.receiver, r.facts, r.acknowledged_at, r.client_reference, r.received_at,
      coalesce(r.acknowledged_at, r.received_at), null, said.code, said.note, said.created_at,
      said.id, said.payload_key_id, said.note_sealed, null, null
    from inbound as i join received_document as r on r.id = i.id
    left join lateral (
      select m.id, m.code, m.note, m.payload_key_id, m.note_sealed, m.created_at from service_message as m
      where m.about = r.id and m.kind = 'invoice_response' order by m.created_at desc limit 1
    ) as said on true
  ), page as materialized (
    select w.*, row_number() over (order by w.transaction_id, w.position) <= ${limit} as is_shown
    from whole as w order by w.transaction_id, w.position limit ${limit + 1}
  ), marked as (
    ${markingShown(sql, sql`select id from page where is_shown and direction = 'inbound'`, shownAt)}
  )
  select transaction_id::text as "transactionId", position::text as position, id, direction, status,
    status_reason as "statusReason", attempts, staged, external_id as "externalId",
    document_type_id as "documentTypeId", sender, receiver, facts, acknowledged_at as "acknowledgedAt", reference,
    created_at as "createdAt", updated_at as "updatedAt", resolution, response_code as "responseCode",
    response_reason as "responseReason", responded_at as "respondedAt", note_of as "noteOf", note_key as "noteKey",
    note_sealed as "noteSealed", answer, meta
  from page as p order by p.transaction_id, p.position`;

/** A row as the statement gives it. */
interface StoredRow extends WithFacts<ConnectorRow, "number"> {
  /** The message with our answer, whose note may be sealed. */
  readonly noteOf: string | null;
  readonly noteKey: string | null;
  readonly noteSealed: Buffer | null;
  /** The event with the answer of others, whose words may be sealed. */
  readonly answer: string | null;
  readonly meta: Json;
}

const rowsOf = (sql: Sql, rows: readonly StoredRow[]): ConnectorRow[] =>
  numbered(sql, rows, ({ id }) => id).map(({ noteOf, noteKey, noteSealed, answer, meta, ...row }) => {
    const clear = openedWords(sql, answer ?? "", { detail: row.responseReason, meta }).detail;
    const note = { id: noteOf ?? "", keyId: noteKey ?? "", clear, sealed: noteSealed };
    return { ...row, responseReason: openedNote(sql, note) };
  });

/** One document that the firm sent, or received and may see; undefined when there is none such. */
export async function findConnectorDocument(
  sql: Sql,
  firmId: FirmId,
  { id, shownAt }: { readonly id: string; readonly shownAt: Instant | undefined },
): Promise<ConnectorRow | undefined> {
  const rows = await sql<StoredRow[]>`
    with outbound as (
      select '1'::xid8 as transaction_id, 1::bigint as position, d.id from document as d
      where d.id = ${id} and d.firm_id = ${firmId}
    ), inbound as (
      select '1'::xid8 as transaction_id, 1::bigint as position, r.id
      from received_document as r join participant as p on p.key = r.participant_key and p.firm_id = r.firm_id
      where r.id = ${id} and r.firm_id = ${firmId} and received_is_visible(r.status)
    ), ${shown(sql, { limit: 1, shownAt })}`;
  return rowsOf(sql, rows)[0];
}

/** In which state a document is that the firm sent, or received and may see; it does not count as received by that. */
export async function findConnectorStanding(
  sql: Sql,
  firmId: FirmId,
  id: string,
): Promise<Pick<ConnectorRow, "status" | "attempts" | "staged"> | undefined> {
  const [row] = await sql<Pick<ConnectorRow, "status" | "attempts" | "staged">[]>`
    select d.status, d.attempts, d.staged from document as d where d.id = ${id} and d.firm_id = ${firmId}
    union all
    select r.status, 0, null
    from received_document as r join participant as p on p.key = r.participant_key and p.firm_id = r.firm_id
    where r.id = ${id} and r.firm_id = ${firmId} and received_is_visible(r.status)`;
  return row;
}

/**
 * Documents after a place, in the order in which they were committed, one more than the limit where there are more.
 * Those of transactions that may still commit, and what comes behind them, are seen later.
 */
export async function listConnectorDocuments(sql: Sql, query: ConnectorQuery): Promise<ConnectorRow[]> {
  const { firmId, after, createdAfter, type = null, isAttempted = null, isCancelled = null, limit } = query;
  const from = isoOrNull(createdAfter);
  const beyond = sql`(${after.transactionId}::text::xid8, ${after.position}::bigint)`;
  const rows = await sql<StoredRow[]>`
    with outbound as (
      select e.transaction_id, e.position, d.id from document_event as e join document as d on d.id = e.document_id
      where e.firm_id = ${firmId} and e.kind = 'document.queued' and (e.feed or e.kind = 'document.queued')
        and (e.transaction_id, e.position) > ${beyond}
        and e.transaction_id < pg_snapshot_xmin(pg_current_snapshot())
        and d.status = any (${[...query.sent]}::text[])
        and (${isAttempted}::boolean is null or d.status <> 'queued' or (d.attempts > 0) = ${isAttempted}::boolean)
        and (${isCancelled}::boolean is null or (d.staged is not distinct from 'cancelled') = ${isCancelled}::boolean)
        and (${from}::timestamptz is null or d.created_at > ${from}::timestamptz)
        and (${type}::text is null or d.document_type_id ~ ${type}::text)
      order by e.transaction_id, e.position limit ${limit + 1}
    ), inbound as (
      select coalesce(r.feed_transaction_id, '1'::xid8) as transaction_id,
        coalesce(r.feed_position, r.position) as position, r.id
      from received_document as r join participant as p on p.key = r.participant_key and p.firm_id = r.firm_id
      where r.firm_id = ${firmId} and received_is_visible(r.status) and r.status = any (${[...query.received]}::text[])
        and (coalesce(r.feed_transaction_id, '1'::xid8), coalesce(r.feed_position, r.position)) > ${beyond}
        and coalesce(r.feed_transaction_id, '1'::xid8) < pg_snapshot_xmin(pg_current_snapshot())
        and (${from}::timestamptz is null or r.received_at > ${from}::timestamptz)
        and (${type}::text is null or r.document_type_id ~ ${type}::text)
      order by coalesce(r.feed_transaction_id, '1'::xid8), coalesce(r.feed_position, r.position) limit ${limit + 1}
    ), ${shown(sql, query)}`;
  return rowsOf(sql, rows);
}

/** One thing that happened to a document of a firm. */
export interface ConnectorEventRow extends FeedPlace {
  readonly id: string;
  readonly kind: StoredEventKind | "document.received";
  readonly documentId: string;
  readonly direction: "outbound" | "inbound";
  readonly documentTypeId: string;
  readonly number: string | null;
  /** Of the document now. */
  readonly status: OutboundState | ReceivedState;
  readonly occurredAt: Date;
  /** The answer to the document that stood then, received or given. */
  readonly answer: StoodAnswer | null;
}

type StoredEventRow = Omit<WithFacts<ConnectorEventRow, "number">, "answer"> & { readonly answer: Json };

/** What happened after a place to what a firm sent and received, in the order of commits; one more than the limit. */
export const listConnectorEvents = async (
  sql: Sql,
  query: {
    readonly firmId: FirmId;
    readonly after: FeedPlace;
    readonly kinds: readonly ConnectorEventRow["kind"][];
    readonly limit: number;
  },
): Promise<ConnectorEventRow[]> => {
  const rows = await sql<StoredEventRow[]>`
  select w.transaction_id::text as "transactionId", w.position::text as position, w.id, w.kind,
    w.document_id as "documentId", w.direction, w.document_type_id as "documentTypeId", w.facts, w.status,
    w.occurred_at as "occurredAt", w.answer
  from (
    (
      select e.transaction_id, e.position, e.id, e.kind, e.document_id, about.direction, about.document_type_id,
        about.facts, about.status, e.occurred_at, case when e.kind in (${IMPORT_KIND}, 'document.rejected')
          then ${answerBefore(sql, { document: sql`e.document_id`, position: sql`e.position`, at: sql`e.occurred_at` })}
        end as answer
      from document_event as e cross join lateral (
        select 'outbound' as direction, d.document_type_id, d.facts, d.status
        from document as d where d.id = e.document_id and e.kind <> ${IMPORT_KIND}
        union all
        select 'inbound', r.document_type_id, r.facts, r.status
        from received_document as r join participant as p on p.key = r.participant_key and p.firm_id = r.firm_id
        where r.id = e.document_id and r.firm_id = e.firm_id and e.kind = ${IMPORT_KIND}
      ) as about
      where e.firm_id = ${query.firmId} and (e.feed or e.kind = 'document.queued')
        and e.kind = any (${[...query.kinds]}::text[])
        and (e.transaction_id, e.position) > (${query.after.transactionId}::text::xid8, ${query.after.position}::bigint)
        and e.transaction_id < pg_snapshot_xmin(pg_current_snapshot())
      order by e.transaction_id, e.position limit ${query.limit + 1}
    )
    union all
    (
      select r.feed_transaction_id, r.feed_position, r.id, 'document.received', r.id, 'inbound', r.document_type_id,
        r.facts, r.status, r.received_at, null
      from received_document as r join participant as p on p.key = r.participant_key and p.firm_id = r.firm_id
      where r.firm_id = ${query.firmId} and received_is_visible(r.status) and r.feed_position is not null
        and (coalesce(r.feed_transaction_id, '1'::xid8), coalesce(r.feed_position, r.position))
          > (${query.after.transactionId}::text::xid8, ${query.after.position}::bigint)
        and coalesce(r.feed_transaction_id, '1'::xid8) < pg_snapshot_xmin(pg_current_snapshot())
      order by coalesce(r.feed_transaction_id, '1'::xid8), coalesce(r.feed_position, r.position)
      limit ${query.limit + 1}
    )
  ) as w
  order by w.transaction_id, w.position limit ${query.limit + 1}`;
  const opened = rows.map((row) => ({ ...row, answer: openedAnswer(sql, row.answer) }));
  return numbered(sql, opened, ({ documentId }) => documentId);
};
