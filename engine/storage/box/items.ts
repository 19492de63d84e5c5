/** Items of the Box: made once for each external id, listed and read with what their documents have become. */
import { isoInstant, isoOrNull } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { BoxItemId, FirmId, IntegratorId, KeyId, ParticipantId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { BoxEvent, BoxState } from "../../lifecycle/box.js";
import type { OutboundState, TimelineKind } from "../../lifecycle/document.js";
import type { ActorType, AuditStamp } from "../identity/audit.js";
import { stampParameter } from "../identity/audit.js";
import { markingShown } from "../documents/received.js";
import { withWords } from "../keyring/words.js";
import type { Json, Sql } from "../sql.js";

/** Everything that a new item is made of. */
interface NewBoxItem {
  readonly id: BoxItemId;
  readonly firmId: FirmId;
  readonly integratorId: IntegratorId | undefined;
  readonly keyId: KeyId;
  readonly externalId: string | undefined;
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  readonly documentTypeId: string;
  readonly processId: string;
  /** Hex. */
  readonly payloadSha256: string;
  readonly payloadKeyId: string;
  readonly payloadSealed: Buffer;
  readonly payloadBytes: number;
  readonly metadataSealed: Buffer | undefined;
  readonly scheduledFor: Instant | undefined;
  readonly createdAt: Instant;
}

/** What became of a wish to make an item; `firm_erased`: the firm was closed after the request had been let in. */
export interface BoxCreation {
  readonly outcome: "created" | "existing" | "conflict" | "firm_erased";
  readonly id: BoxItemId;
}

/** Makes an item, or finds the one of its external id. @returns undefined when that one has just gone */
export async function createBoxItem(sql: Sql, item: NewBoxItem, audit: AuditStamp): Promise<BoxCreation | undefined> {
  const { payloadSha256, payloadKeyId, payloadSealed, metadataSealed, scheduledFor, createdAt, ...kept } = item;
  const row = {
    ...kept,
    integratorId: item.integratorId ?? null,
    externalId: item.externalId ?? null,
    scheduledFor: isoOrNull(scheduledFor),
    createdAt: isoInstant(createdAt),
  };
  const rows = await sql<BoxCreation[]>`
    select outcome, id from create_box_item(${sql.json(row)}, ${Buffer.from(payloadSha256, "hex")}, ${payloadKeyId},
      ${payloadSealed}, ${metadataSealed ?? null}, ${stampParameter(sql, audit)})`;
  return rows[0];
}

/** The item that has an external id, if its payload has this digest too; `conflict` when it has another. */
export async function findByExternalId(
  sql: Sql,
  firmId: FirmId,
  externalId: string,
  payloadSha256: string,
): Promise<BoxCreation | undefined> {
  const rows = await sql<BoxCreation[]>`
    select id, case when payload_sha256 = ${Buffer.from(payloadSha256, "hex")} then 'existing' else 'conflict' end
      as outcome
    from box_item where firm_id = ${firmId} and external_id = ${externalId}`;
  return rows[0];
}

/** An item with what is known of its document. */
export interface BoxItemRow {
  readonly id: BoxItemId;
  readonly direction: "outbound" | "inbound";
  readonly status: BoxState;
  readonly statusSince: Date;
  readonly firmId: FirmId;
  readonly integratorId: IntegratorId | null;
  readonly version: number;
  readonly externalId: string | null;
  readonly documentTypeId: string;
  readonly processId: string;
  readonly payloadSha256: Buffer;
  readonly payloadBytes: number;
  readonly scheduledFor: Date | null;
  readonly dueAt: Date | null;
  /** Whether its next dispatch or attempt is due now, by the time of the database. */
  readonly isDue: boolean;
  /** Whether the Box has dropped its copy of the payload. */
  readonly isPayloadGone: boolean;
  readonly lockedAt: Date | null;
  readonly attemptsBefore: number;
  readonly lastError: Json;
  readonly sentAt: Date | null;
  readonly receivedAt: Date | null;
  /** Whether it was received and no API has shown it yet. */
  readonly isNew: boolean;
  readonly cancelledAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Null where no document was accepted yet. */
  readonly documentId: string | null;
  readonly documentStatus: OutboundState | null;
  /** Whether an attempt at the document was cut, so that it may have arrived. */
  readonly isDocumentCut: boolean;
  readonly documentAttempts: number | null;
  readonly documentReason: string | null;
  readonly documentNextAt: Date | null;
  readonly documentLockedAt: Date | null;
  readonly as4MessageId: string | null;
}

/** What of an item's last attempt its record tells. */
export interface BoxAttemptRow {
  readonly documentId: string;
  readonly number: number;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
  readonly outcome: string | null;
  readonly code: string | null;
  readonly retryable: boolean | null;
  readonly detail: string | null;
}

/** One page of a list. */
export interface BoxQuery {
  readonly status: BoxState | undefined;
  readonly direction: "outbound" | "inbound" | undefined;
  readonly limit: number;
  readonly offset: number;
}

const outboundColumns = (sql: Sql) => sql`
  i.id, 'outbound' as direction, i.status, i.status_since as "statusSince", i.firm_id as "firmId",
  i.integrator_id as "integratorId", i.version, i.external_id as "externalId", i.document_type_id as "documentTypeId",
  i.process_id as "processId", i.payload_sha256 as "payloadSha256", i.payload_bytes as "payloadBytes",
  i.scheduled_for as "scheduledFor", i.due_at as "dueAt",
  coalesce(coalesce(i.due_at, d.next_attempt_at) <= clock_timestamp(), false) as "isDue",
  i.payload_gone as "isPayloadGone", i.locked_at as "lockedAt",
  i.attempts_before as "attemptsBefore", i.last_error as "lastError", i.sent_at as "sentAt",
  null::timestamptz as "receivedAt", false as "isNew", i.cancelled_at as "cancelledAt", i.created_at as "createdAt",
  i.updated_at as "updatedAt", d.id as "documentId", d.status as "documentStatus", d.attempts as "documentAttempts",
  d.status_reason as "documentReason", d.next_attempt_at as "documentNextAt",
  case when d.lease_owner is not null then d.attempted_at end as "documentLockedAt",
  coalesce(document_was_cut(d.id), false) as "isDocumentCut", d.as4_message_id as "as4MessageId"`;

const inboundColumns = (sql: Sql) => sql`
  r.id, 'inbound' as direction, 'received' as status, r.received_at as "statusSince", r.firm_id as "firmId",
  null::uuid as "integratorId", 1 as version, null::text as "externalId", r.document_type_id as "documentTypeId",
  r.process_id as "processId", r.payload_sha256 as "payloadSha256", p.bytes as "payloadBytes",
  null::timestamptz as "scheduledFor", null::timestamptz as "dueAt", false as "isDue", false as "isPayloadGone",
  null::timestamptz as "lockedAt",
  0 as "attemptsBefore", null::jsonb as "lastError", null::timestamptz as "sentAt", r.received_at as "receivedAt",
  r.api_received_at is null as "isNew", null::timestamptz as "cancelledAt", r.received_at as "createdAt",
  greatest(r.received_at, r.acknowledged_at) as "updatedAt", r.id as "documentId", null::text as "documentStatus",
  null::integer as "documentAttempts", null::text as "documentReason", null::timestamptz as "documentNextAt",
  null::timestamptz as "documentLockedAt", false as "isDocumentCut", r.as4_message_id as "as4MessageId"`;

/** What of a firm's items is asked for, with the columns by which they are put in order; newest first. */
const listed = (sql: Sql, firmId: FirmId, { status, direction }: BoxQuery) => {
  const state = status === undefined ? sql`` : sql`and status = ${status}`;
  const outbound = sql`
    select id, created_at as at, 'outbound' as direction from box_item where firm_id = ${firmId} ${state}`;
  const inbound = sql`
    select r.id, r.received_at as at, 'inbound' as direction
    from participant as own join received_document as r on r.participant_key = own.key and r.firm_id = own.firm_id
    where own.firm_id = ${firmId} and received_is_visible(r.status)`;
  const isWanted = {
    outbound: direction !== "inbound" && status !== "received",
    inbound: direction !== "outbound" && (status === undefined || status === "received"),
  };
  if (isWanted.outbound && isWanted.inbound) return sql`${outbound} union all ${inbound}`;
  if (isWanted.outbound) return outbound;
  return isWanted.inbound ? inbound : sql`${outbound} and false`;
};

/**
 * One page of a firm's items, and how many there are, counted up to LIMITS.box_counted_max. What the page shows of what
 * was received is marked.
 * @param shownAt  undefined for a page that nobody is given
 */
export async function listBoxItems(
  sql: Sql,
  firmId: FirmId,
  query: BoxQuery & { readonly shownAt: Instant | undefined },
): Promise<{ readonly rows: readonly BoxItemRow[]; readonly total: number }> {
  const page = await sql<{ readonly id: BoxItemId; readonly direction: BoxItemRow["direction"] }[]>`
    with page as materialized (
      select id, direction, at from (${listed(sql, firmId, query)}) as l
      order by at desc, id desc limit ${query.limit} offset ${query.offset}
    ), marked as (${markingShown(sql, sql`select id from page where direction = 'inbound'`, query.shownAt)})
    select id, direction from page order by at desc, id desc`;
  const counted = await sql<{ readonly total: number }[]>`
    select count(*)::integer as total from (
      select 1 from (${listed(sql, firmId, query)}) as l limit ${LIMITS.box_counted_max}) as c`;
  const found = await findMany(sql, firmId, page);
  return { rows: found, total: counted[0]?.total ?? 0 };
}

/** The rows of these items, in their order. */
async function findMany(
  sql: Sql,
  firmId: FirmId,
  page: readonly { readonly id: BoxItemId; readonly direction: BoxItemRow["direction"] }[],
): Promise<BoxItemRow[]> {
  const idsOf = (direction: BoxItemRow["direction"]): BoxItemId[] =>
    page.filter((row) => row.direction === direction).map(({ id }) => id);
  const rows = await sql<BoxItemRow[]>`
    select ${outboundColumns(sql)} from box_item as i left join document as d on d.id = i.document_id
    where i.id = any(${idsOf("outbound")}::uuid[]) and i.firm_id = ${firmId}
    union all
    select ${inboundColumns(sql)}
    from received_document as r join stored_payload as p on p.document_id = r.id
      join participant as own on own.key = r.participant_key and own.firm_id = r.firm_id
    where r.id = any(${idsOf("inbound")}::uuid[]) and r.firm_id = ${firmId} and received_is_visible(r.status)`;
  const byId = new Map(rows.map((row) => [row.id, row]));
  return page.flatMap(({ id }) => byId.get(id) ?? []);
}

/** One item of a firm, sent or received; undefined when the firm has none of this id. */
export async function findBoxItem(sql: Sql, firmId: FirmId, id: BoxItemId): Promise<BoxItemRow | undefined> {
  const [row] = await findMany(sql, firmId, [{ id, direction: "outbound" }]);
  return row ?? (await findMany(sql, firmId, [{ id, direction: "inbound" }]))[0];
}

/** Attempts at these documents, of each the latest `each`, newest first, LIMITS.box_attempts_max at most. */
export async function lastAttempts(
  sql: Sql,
  documentIds: readonly string[],
  each: number,
): Promise<readonly BoxAttemptRow[]> {
  return sql<BoxAttemptRow[]>`
    select a.document_id as "documentId", a.number, a.started_at as "startedAt", a.finished_at as "finishedAt",
      a.outcome, a.code, a.retryable, a.detail
    from unnest(${[...documentIds]}::uuid[]) as d (id) cross join lateral (
      select document_id, number, started_at, finished_at, outcome, code, retryable, detail
      from document_attempt where document_id = d.id order by number desc limit ${each}
    ) as a
    order by a.started_at desc, a.number desc limit ${LIMITS.box_attempts_max}`;
}

/** One line of what happened to an item or to its documents. */
export interface BoxTimelineRow {
  readonly kind: BoxEvent | TimelineKind;
  /** Of the item after this step; null for what happened to a document. */
  readonly status: BoxState | null;
  /** `api` is what documents say of whoever calls. */
  readonly actorType: ActorType | "api";
  readonly actorId: string | null;
  readonly detail: string | null;
  readonly documentId: string | null;
  readonly occurredAt: Date;
}

/** A line as it is stored: others' words may be sealed in its members, for the event that it is. */
interface StoredLine extends BoxTimelineRow {
  /** Empty for what happened to the item. */
  readonly id: string;
  readonly meta: Json;
}

/** What happened to an item and its documents, the newest `limit` lines, oldest first; and the documents' ids. */
export async function boxTimeline(
  sql: Sql,
  id: BoxItemId,
  limit: number,
): Promise<{ readonly documentIds: readonly string[]; readonly lines: readonly BoxTimelineRow[] }> {
  const documents = await sql<{ readonly id: string }[]>`
    select d.id from document as d join box_item as i on i.document_id = d.id where i.id = ${id}
    union
    select document_id from box_event where item_id = ${id} and case when document_id is not null then true end`;
  const documentIds = documents.map((row) => row.id);
  const rows = await sql<StoredLine[]>`
    select id, meta, kind, status, actor_type as "actorType", actor_id as "actorId", detail,
      document_id as "documentId", occurred_at as "occurredAt"
    from (
      select '' as id, null as meta, kind, status, actor_type, actor_id, detail, document_id, occurred_at,
        version::bigint as place
      from box_event where item_id = ${id}
      union all
      select id::text, meta, kind, null, actor, null, detail, document_id, occurred_at, position
      from document_event where document_id = any(${documentIds}::uuid[])
    ) as lines
    order by occurred_at desc, place desc limit ${limit}`;
  return { documentIds, lines: withWords(sql, rows).reverse() };
}

/** What the maker of an item keeps with it, sealed. */
export async function findBoxMetadata(
  sql: Sql,
  id: BoxItemId,
): Promise<{ readonly keyId: string; readonly sealed: Buffer | null } | undefined> {
  const rows = await sql<{ readonly keyId: string; readonly sealed: Buffer | null }[]>`
    select key_id as "keyId", metadata_sealed as sealed from box_payload where item_id = ${id}`;
  return rows[0];
}
