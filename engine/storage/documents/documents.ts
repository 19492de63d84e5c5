/** Statements of the outbound document: accept, read. */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { Door } from "../../base/doors.js";
import type { DocumentId, FirmId, KeyId, ParticipantId } from "../../base/ids.js";
import { isEventKind, OUTBOUND_STATES } from "../../lifecycle/document.js";
import type { OutboundState, OutboundTrigger, TimelineKind } from "../../lifecycle/document.js";
import type { ResponseCode } from "../../lifecycle/response.js";
import { LIMITS } from "../../base/limits.js";
import { openedWords } from "../keyring/words.js";
import { base64Array, withBase64 } from "../payloads/base64.js";
import type { Json, Sql } from "../sql.js";

/** Everything that one acceptance writes. */
export interface NewDocument {
  readonly id: DocumentId;
  readonly door: Door;
  readonly firmId: FirmId;
  readonly keyId: KeyId;
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  /**
   * What the caller calls the document: metadata.documentId at SAPI, externalId elsewhere. Optional at some doors,
   * never at SAPI.
   */
  readonly erpDocumentId: string | undefined;
  readonly documentTypeId: string;
  readonly processId: string;
  /** ISO 8601, as sent. */
  readonly creationDateTime: string | undefined;
  readonly facts: Json;
  /** Optional at some doors, never at SAPI. */
  readonly idempotencyKey: string | undefined;
  /** Digest of the request's meaning, hex: a repeat has the same one. */
  readonly requestSha256: string;
  /** Hex, over the exact payload bytes. */
  readonly payloadSha256: string;
  readonly replyStatus: number;
  readonly replyBody: string;
  readonly as4MessageId: string;
  readonly sbdhInstanceId: string;
  readonly validationResult: Json;
  readonly acceptedAt: Instant;
  readonly payloadKeyId: string;
  readonly payloadSealed: Buffer;
  readonly payloadBytes: number;
  readonly eventId: string;
  /** Whether it waits until its program sends it. @default it is due at once */
  readonly staged?: boolean | undefined;
  /**
   * The process that makes the first attempt, under a lease that is committed with the document; undefined leaves it to
   * be claimed.
   */
  readonly owner?: string | undefined;
}

/** What can stand in the way of an acceptance: a name or a payload that another one has taken at the same door. */
export type Conflict = "in_flight" | "key_conflict" | "duplicate_document" | "duplicate_payload";

/** The reply that an earlier acceptance has stored. */
export interface StoredReply {
  readonly documentId: DocumentId;
  readonly replyStatus: number;
  readonly replyBody: string;
}

/** What an acceptance comes to, or an earlier one of the same request. */
type Precedent =
  | ({ readonly kind: "accepted" | "replay" } & StoredReply)
  | { readonly kind: Conflict; readonly documentId?: DocumentId };

/**
 * `lost_race`: another acceptance was in the way and is gone again; the same call may succeed now. `firm_erased`: the
 * firm was closed after the request had been let in.
 */
export type AcceptOutcome = Precedent | { readonly kind: "lost_race" } | { readonly kind: "firm_erased" };

interface OutcomeRow {
  readonly outcome: AcceptOutcome["kind"];
  readonly document_id: string | null;
  readonly reply_status: number | null;
  readonly reply_body: string | null;
}

function outcomeOf(row: OutcomeRow): AcceptOutcome {
  if (row.outcome === "lost_race" || row.outcome === "firm_erased") return { kind: row.outcome };
  if (row.outcome !== "accepted" && row.outcome !== "replay")
    return { kind: row.outcome, ...(row.document_id === null ? {} : { documentId: row.document_id as DocumentId }) };
  return {
    kind: row.outcome,
    documentId: row.document_id as DocumentId,
    replyStatus: row.reply_status ?? 500,
    replyBody: row.reply_body ?? "",
  };
}

/**
 * What an accepted document is warned of when its supplier, number and issue date came before with other content.
 * @source spec/rulings.md, section 14
 */
const NUMBER_REPEATED = {
  ruleId: "NUMBER-REPEATED",
  location: "/*/cbc:ID",
  message: "A document of this supplier with this number and issue date was accepted before with other content.",
} as const;

/**
 * One call of accept_documents.
 * @param documents at most LIMITS.accept_batch, each of another tenant; see `tenantOf`
 * @returns one outcome a document, in the same order
 */
export async function acceptDocuments(sql: Sql, documents: readonly NewDocument[]): Promise<AcceptOutcome[]> {
  const staged = documents.filter((document) => document.staged).map(({ id }) => id);
  // Called for the rows of the acceptance, in its transaction: nobody sees a document before it is held.
  const held =
    staged.length === 0
      ? sql``
      : sql`, case when document_id = any (${staged}::uuid[]) then hold_document(document_id, outcome) end`;
  const payloads = documents.map(({ payloadSealed }) => payloadSealed);
  const rows = await withBase64(
    payloads,
    (sealed) => sql<(OutcomeRow & { readonly ordinal: string })[]>`
    select ordinal, outcome, document_id, reply_status, reply_body${held} from ${acceptCall(sql, documents, sealed)}`,
  );
  const outcomes = new Map(rows.map((row) => [Number(row.ordinal), row]));
  return documents.map((_, index) => {
    const row = outcomes.get(index + 1);
    return row === undefined ? { kind: "lost_race" } : outcomeOf(row);
  });
}

/** The call of accept_documents as a table. @param sealed  what stands for the payloads, of `withBase64` */
function acceptCall(sql: Sql, documents: readonly NewDocument[], sealed: readonly string[]) {
  const column = <K extends keyof NewDocument>(name: K): NewDocument[K][] => documents.map((d) => d[name]);
  const instants = documents.map((d) => isoInstant(d.acceptedAt));
  return sql`accept_documents(
      ${column("id")}::uuid[], ${column("firmId")}::uuid[], ${column("keyId")}::uuid[], ${column("sender")}::text[],
      ${column("receiver")}::text[],
      ${documents.map((d) => d.erpDocumentId ?? null)}::text[], ${column("documentTypeId")}::text[],
      ${column("processId")}::text[],
      ${documents.map((d) => d.creationDateTime ?? null)}::timestamptz[],
      ${documents.map((d) => JSON.stringify(d.facts))}::text[]::jsonb[],
      ${documents.map((d) => d.idempotencyKey ?? null)}::text[], ${column("requestSha256")}::text[],
      ${column("payloadSha256")}::text[],
      ${column("replyStatus")}::smallint[], ${column("replyBody")}::text[], ${column("as4MessageId")}::text[],
      ${column("sbdhInstanceId")}::uuid[],
      ${documents.map((d) => JSON.stringify(d.validationResult))}::text[]::jsonb[], ${instants}::timestamptz[],
      ${column("payloadKeyId")}::text[], p_payload_bytes => ${column("payloadBytes")}::integer[],
      p_event_id => ${column("eventId")}::uuid[], p_door => ${column("door")}::text[],
      p_number_warning => ${JSON.stringify([NUMBER_REPEATED])}::text::jsonb,
      p_owner => ${documents.map((d) => d.owner ?? null)}::text[], p_lease_ms => ${LIMITS.attempt_lease_ms},
      p_payload_sealed => ${base64Array(sql, sealed)}
    )`;
}

/**
 * Keeps a document that the rules have refused, for those who handed it over earlier and hear of it by its events: it
 * is accepted and ended by one statement. A repeat finds the first one, whatever became of that.
 */
export async function keepRefused(
  sql: Sql,
  document: NewDocument,
  refused: { readonly reason: string; readonly events: readonly NewEvent[] },
): Promise<void> {
  await withBase64(
    [document.payloadSealed],
    (sealed) => sql`
    select end_refused(document_id, outcome, ${refused.reason}, ${isoInstant(document.acceptedAt)},
      ${eventsJson(refused.events)}::text::jsonb, ${JSON.stringify({ statusReason: refused.reason })}::text::jsonb)
    from ${acceptCall(sql, [document], sealed)}`,
  );
}

/** Whose names a document's key and external id are among: two documents of one tenant never share a call. */
export const tenantOf = ({ door, sender, firmId }: Pick<NewDocument, "door" | "sender" | "firmId">): string =>
  `${door} ${door === "sapi" ? sender.toLowerCase() : firmId}`;

/**
 * Reads, without writing, what accept_documents would find of earlier acceptances at the request's door.
 * @returns undefined when nothing speaks against the request
 */
export async function findPrecedent(
  sql: Sql,
  request: Pick<
    NewDocument,
    "door" | "firmId" | "sender" | "idempotencyKey" | "erpDocumentId" | "requestSha256" | "payloadSha256"
  >,
): Promise<Precedent | undefined> {
  const { door, firmId, sender, idempotencyKey, erpDocumentId, requestSha256, payloadSha256 } = request;
  const [row] = await sql<OutcomeRow[]>`
    select outcome, document_id, reply_status, reply_body
    from find_precedent(
      null, ${door}, ${firmId}, ${sender}, ${idempotencyKey ?? null}, ${erpDocumentId ?? null},
      ${requestSha256}, ${payloadSha256}
    )`;
  const outcome = row === undefined ? undefined : outcomeOf(row);
  return outcome === undefined || outcome.kind === "lost_race" || outcome.kind === "firm_erased" ? undefined : outcome;
}

/** One event to be written with a move. */
export interface NewEvent {
  readonly id: string;
  readonly kind: TimelineKind;
  readonly detail?: string;
  readonly meta?: Json;
}

export interface MoveRow {
  readonly id: DocumentId;
  /** The version that was decided on; another one in the table means a stale decision. */
  readonly version: number;
  readonly status: OutboundState;
  /** undefined when an attempt ended without a move: no history row is written then. */
  readonly trigger: OutboundTrigger | undefined;
  readonly detail: string | undefined;
  readonly now: Instant;
  readonly events: readonly NewEvent[];
  readonly changes: {
    readonly statusReason?: string;
    readonly invoiceResponseStatus?: ResponseCode;
    readonly validationResult?: Json;
  };
}

/** The events of a move as the SQL functions take them; `feed` says which of them webhooks and pulls are told of. */
export const eventsJson = (events: readonly NewEvent[]): string =>
  JSON.stringify(events.map((event) => ({ ...event, feed: isEventKind(event.kind) })));

/** The whole record of one document of a firm. @source spec/rulings.md, section 5, Status record */
export interface DocumentRecord {
  readonly id: DocumentId;
  readonly status: OutboundState;
  readonly statusReason: string | null;
  readonly documentTypeId: string;
  readonly processId: string;
  readonly erpDocumentId: string | null;
  readonly sender: string;
  readonly receiver: string;
  readonly facts: Json;
  readonly validationResult: Json;
  /**
   * One entry a status: moves that leave it as it was are in the timeline, not here.
   * @source spec/rulings.md, section 14
   */
  readonly history: readonly {
    readonly status: OutboundState;
    readonly timestamp: Instant;
    readonly detail: string | null;
  }[];
  readonly deliveredAt: Instant | null;
  readonly acknowledgedAt: Instant | null;
  readonly invoiceResponseStatus: ResponseCode | null;
  readonly as4MessageId: string;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
}

/** One document with its history in one statement; undefined when the firm has no such document. */
export async function findDocument(sql: Sql, firmId: FirmId, id: DocumentId): Promise<DocumentRecord | undefined> {
  const [row] = await sql<
    {
      readonly id: string;
      readonly status: OutboundState;
      readonly status_reason: string | null;
      readonly document_type_id: string;
      readonly process_id: string;
      readonly erp_document_id: string | null;
      readonly sender: string;
      readonly receiver: string;
      readonly facts: Json;
      readonly validation_result: Json;
      readonly history: { readonly status: OutboundState; readonly at: number; readonly detail: string | null }[];
      readonly delivered_at: Date | null;
      readonly acknowledged_at: Date | null;
      readonly invoice_response_status: ResponseCode | null;
      readonly as4_message_id: string;
      readonly created_at: Date;
      readonly updated_at: Date;
    }[]
  >`
    select d.id, d.status, d.status_reason, d.document_type_id, d.process_id, d.erp_document_id, d.sender, d.receiver,
    d.facts, d.validation_result,
      (select jsonb_agg(jsonb_build_object('status', h.status, 'at', extract(epoch from h.occurred_at) * 1000, 'detail',
        h.detail) order by h.version)
        from (
          select version, status, detail, occurred_at, lag(status) over (order by version) as status_before
          from document_history where document_id = d.id
        ) as h
        where h.status is distinct from h.status_before) as history,
      d.delivered_at, d.acknowledged_at, d.invoice_response_status, d.as4_message_id, d.created_at, d.updated_at
    from document as d
    where d.id = ${id} and d.firm_id = ${firmId}`;
  if (row === undefined) return undefined;
  return {
    id: row.id as DocumentId,
    status: row.status,
    statusReason: row.status_reason,
    documentTypeId: row.document_type_id,
    processId: row.process_id,
    erpDocumentId: row.erp_document_id,
    sender: row.sender,
    receiver: row.receiver,
    facts: row.facts,
    validationResult: row.validation_result,
    history: row.history.map((h) => ({ status: h.status, timestamp: Math.round(h.at), detail: h.detail })),
    deliveredAt: row.delivered_at?.getTime() ?? null,
    acknowledgedAt: row.acknowledged_at?.getTime() ?? null,
    invoiceResponseStatus: row.invoice_response_status,
    as4MessageId: row.as4_message_id,
    createdAt: row.created_at.getTime(),
    updatedAt: row.updated_at.getTime(),
  };
}

interface DocumentEventRow {
  readonly id: string;
  readonly position: string;
  readonly kind: TimelineKind;
  readonly actor: "system" | "user" | "api";
  readonly detail: string | null;
  readonly meta: Json;
  readonly occurredAt: Instant;
}

/** The timeline of one document, oldest first, after a position; undefined when the firm has no such document. */
export async function listDocumentEvents(
  sql: Sql,
  firmId: FirmId,
  id: DocumentId,
  page: { readonly after: string; readonly limit: number },
): Promise<DocumentEventRow[] | undefined> {
  const rows = await sql<
    {
      readonly id: string | null;
      readonly position: string;
      readonly kind: TimelineKind;
      readonly actor: "system" | "user" | "api";
      readonly detail: string | null;
      readonly meta: Json;
      readonly occurred_at: Date;
    }[]
  >`
    select e.id, e.position, e.kind, e.actor, e.detail, e.meta, e.occurred_at
    from document as d left join lateral (
      select id, position, kind, actor, detail, meta, occurred_at from document_event
      where document_id = d.id and position > ${page.after}::bigint
      order by position limit ${page.limit}
    ) as e on true
    where d.id = ${id} and d.firm_id = ${firmId}
    order by e.position`;
  if (rows.length === 0) return undefined;
  return rows.flatMap((row) =>
    row.id === null
      ? []
      : [
          {
            id: row.id,
            position: row.position,
            kind: row.kind,
            actor: row.actor,
            ...openedWords(sql, row.id, { detail: row.detail, meta: row.meta }),
            occurredAt: row.occurred_at.getTime(),
          },
        ],
  );
}

/**
 * What documents are counted by: their state, but that those which their firm cancelled before they were sent are no
 * failures.
 */
export const COUNTED_STATES = [...OUTBOUND_STATES, "cancelled"] as const;
type CountedState = (typeof COUNTED_STATES)[number];

/**
 * For gauges: documents by state and the age of the oldest due one. Those that have ended are tallied when they end;
 * the others are counted where they wait, up to LIMITS.census_open_max, so that the past costs nothing.
 */
export async function censusOfDocuments(
  sql: Sql,
  now: Instant,
): Promise<{ readonly states: ReadonlyMap<CountedState, number>; readonly oldestDue_s: number }> {
  const rows = await sql<{ readonly status: CountedState; readonly n: number; readonly oldest: Date | null }[]>`
    select status, count(*)::float8 as n,
      (
        select next_attempt_at from document where next_attempt_at is not null order by next_attempt_at limit 1
      ) as oldest
    from (
      select status from document where next_attempt_at is not null order by next_attempt_at
      limit ${LIMITS.census_open_max}
    ) as waiting group by status
    union all
    select status, sum(n)::float8 as n, null from document_tally group by status`;
  const oldest = Math.min(...rows.map((row) => row.oldest?.getTime() ?? Infinity));
  const counted = new Map(rows.map((row) => [row.status, row.n]));
  return {
    // What was cancelled before cancelled ones were counted apart may go without having been counted.
    states: new Map(COUNTED_STATES.map((state) => [state, Math.max(0, counted.get(state) ?? 0)])),
    oldestDue_s: Number.isFinite(oldest) ? Math.max(0, (now - oldest) / 1000) : 0,
  };
}
