/** Statements on what a firm has sent: pages, many states at once, the exact bytes, the pulls in commit order. */
import { isoOrNull } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { FirmId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { RecordedOutcome } from "../../lifecycle/attempt.js";
import type { OutboundState, TimelineKind } from "../../lifecycle/document.js";
import type { ResponseCode } from "../../lifecycle/response.js";
import type { FeedPlace } from "../events/feed.js";
import { shownList, shownRows } from "../keyring/facts.js";
import { withWords } from "../keyring/words.js";
import type { ShownFacts, WithFacts } from "../keyring/facts.js";
import { joinPieces, pieceColumns, pieceJoin } from "../payloads/pieces.js";
import type { PayloadPiece } from "../payloads/pieces.js";
import type { Json, Sql } from "../sql.js";

/** A sent document without its content. */
export interface FirmSent extends ShownFacts {
  readonly id: string;
  readonly status: OutboundState;
  readonly statusReason: string | null;
  readonly externalId: string | null;
  readonly documentTypeId: string;
  readonly processId: string;
  readonly sender: string;
  readonly receiver: string;
  readonly attempts: number;
  readonly invoiceResponseStatus: ResponseCode | null;
  readonly as4MessageId: string;
  /** Hex. */
  readonly payloadSha256: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly deliveredAt: Date | null;
  readonly acknowledgedAt: Date | null;
}

const columns = (sql: Sql) => sql`
  d.id, d.status, d.status_reason as "statusReason", d.erp_document_id as "externalId",
  d.document_type_id as "documentTypeId", d.process_id as "processId", d.sender, d.receiver,
  d.facts, d.attempts,
  d.invoice_response_status as "invoiceResponseStatus", d.as4_message_id as "as4MessageId",
  encode(d.payload_sha256, 'hex') as "payloadSha256", d.created_at as "createdAt", d.updated_at as "updatedAt",
  d.delivered_at as "deliveredAt", d.acknowledged_at as "acknowledgedAt"`;

/** What is asked of the outbox. */
interface OutboxQuery {
  readonly statuses: readonly OutboundState[] | undefined;
  readonly since: Instant | undefined;
  readonly receiverKey: string | undefined;
  readonly offset: number;
  readonly limit: number;
}

const chosen = (sql: Sql, firmId: FirmId, { statuses, since, receiverKey: receiver }: OutboxQuery) => {
  const receiverKey = receiver ?? null;
  const from = isoOrNull(since);
  const states = statuses === undefined ? null : [...statuses];
  return sql`
    d.firm_id = ${firmId} and (${states}::text[] is null or d.status = any (${states}::text[]))
    and (${from}::timestamptz is null or d.created_at >= ${from}::timestamptz)
    and (${receiverKey}::text is null or d.receiver_key = ${receiverKey}::text)`;
};

/** Newest first, one row more than the limit where there is a next page. */
export const listFirmSent = async (sql: Sql, firmId: FirmId, query: OutboxQuery): Promise<FirmSent[]> =>
  shownRows(
    sql,
    await sql<WithFacts<FirmSent>[]>`
      select ${columns(sql)} from document as d where ${chosen(sql, firmId, query)}
      order by d.created_at desc, d.id desc offset ${query.offset} limit ${query.limit + 1}`,
  );

/** How many there are, counted up to LIMITS.firm_documents_counted_max. */
export async function countFirmSent(sql: Sql, firmId: FirmId, query: OutboxQuery): Promise<number> {
  const [row] = await sql<{ readonly total: number }[]>`
    select count(*)::integer as total from (
      select 1 from document as d where ${chosen(sql, firmId, query)}
      limit ${LIMITS.firm_documents_counted_max}) as counted`;
  return row?.total ?? 0;
}

/** Those of the ids that the firm has sent, in any order. */
export const findFirmSent = async (sql: Sql, firmId: FirmId, ids: readonly string[]): Promise<FirmSent[]> =>
  shownRows(
    sql,
    await sql<WithFacts<FirmSent>[]>`
      select ${columns(sql)} from document as d where d.id = any (${[...ids]}::uuid[]) and d.firm_id = ${firmId}`,
  );

/** The sealed payload of a document that a firm sent; undefined when it has sent none such. */
export async function findSentPayload(
  sql: Sql,
  firmId: FirmId,
  id: string,
): Promise<
  { readonly payloadKeyId: string; readonly payloadSealed: Buffer; readonly payloadSha256: string } | undefined
> {
  const rows = await sql<(PayloadPiece & { readonly sha256: string })[]>`
    select encode(d.payload_sha256, 'hex') as sha256, ${pieceColumns(sql)}
    from document as d ${pieceJoin(sql, sql`d.id`)}
    where d.id = ${id} and d.firm_id = ${firmId}`;
  const [row] = rows;
  if (row === undefined) return undefined;
  return { payloadKeyId: row.key_id, payloadSealed: await joinPieces(sql, rows), payloadSha256: row.sha256 };
}

/** What is pulled of what a firm sent. */
interface SentPullQuery {
  readonly firmId: FirmId;
  readonly after: FeedPlace;
  readonly since: Instant | undefined;
  /** A regular expression of the document types that are wanted; undefined for all. */
  readonly type: string | undefined;
  readonly statuses: readonly OutboundState[] | undefined;
  readonly isAttempted: boolean | undefined;
  readonly responseStatus: ResponseCode | undefined;
  readonly receiverKey: string | undefined;
  readonly limit: number;
}

/** In the order in which the documents were accepted, as it was committed; one row more than the limit. */
export const pullSent = async (sql: Sql, query: SentPullQuery): Promise<(FirmSent & FeedPlace)[]> => {
  const { firmId, after, type = null, statuses, isAttempted = null, responseStatus = null, limit } = query;
  const from = isoOrNull(query.since);
  const states = statuses === undefined ? null : [...statuses];
  const receiverKey = query.receiverKey ?? null;
  const rows = await sql<WithFacts<FirmSent & FeedPlace>[]>`
    select e.transaction_id::text as "transactionId", e.position::text as position, ${columns(sql)}
    from document_event as e join document as d on d.id = e.document_id
    where e.firm_id = ${firmId} and e.kind = 'document.queued' and (e.feed or e.kind = 'document.queued')
      and (e.transaction_id, e.position) > (${after.transactionId}::text::xid8, ${after.position}::bigint)
      and e.transaction_id < pg_snapshot_xmin(pg_current_snapshot())
      and (${from}::timestamptz is null or d.created_at >= ${from}::timestamptz)
      and (${type}::text is null or d.document_type_id ~ ${type}::text)
      and (${states}::text[] is null or d.status = any (${states}::text[]))
      and (${isAttempted}::boolean is null or (d.attempts > 0) = ${isAttempted}::boolean)
      and (${responseStatus}::text is null or d.invoice_response_status = ${responseStatus}::text)
      and (${receiverKey}::text is null or d.receiver_key = ${receiverKey}::text)
    order by e.transaction_id, e.position limit ${limit + 1}`;
  return shownList(sql, rows);
};

/** One thing that happened to a document that the firm sent. */
interface SentEvent extends FeedPlace {
  readonly id: string;
  readonly kind: TimelineKind;
  readonly documentId: string;
  readonly detail: string | null;
  readonly meta: Json;
  readonly occurredAt: Date;
}

/** What happened after a place to what a firm sent, in the order in which it was committed; one more than the limit. */
export const pullSentEvents = async (
  sql: Sql,
  query: Pick<SentPullQuery, "firmId" | "after" | "since" | "limit">,
): Promise<SentEvent[]> => {
  const from = isoOrNull(query.since);
  const rows = await sql<SentEvent[]>`
    select e.transaction_id::text as "transactionId", e.position::text as position, e.id, e.kind,
      e.document_id as "documentId", e.detail, e.meta, e.occurred_at as "occurredAt"
    from document_event as e join document as d on d.id = e.document_id
    where e.firm_id = ${query.firmId} and (e.feed or e.kind = 'document.queued')
      and (e.transaction_id, e.position) > (${query.after.transactionId}::text::xid8, ${query.after.position}::bigint)
      and e.transaction_id < pg_snapshot_xmin(pg_current_snapshot())
      and (${from}::timestamptz is null or e.occurred_at >= ${from}::timestamptz)
    order by e.transaction_id, e.position limit ${query.limit + 1}`;
  return withWords(sql, rows);
};

/** One attempt at a sent document, without the words of others. */
interface SentAttempt {
  readonly number: number;
  readonly outcome: RecordedOutcome | null;
  readonly code: string | null;
  readonly retryable: boolean | null;
  /** The receiving access point, where the document was transmitted. */
  readonly seat: string | null;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
}

/** The attempts at a document, the first first. @param id  whose it is has been checked */
export const listSentAttempts = (sql: Sql, id: string, limit: number): PromiseLike<SentAttempt[]> => sql<SentAttempt[]>`
  select number, outcome, code, retryable, seat, started_at as "startedAt", finished_at as "finishedAt"
  from document_attempt where document_id = ${id} order by number limit ${limit}`;
