/** What operators read: documents of any firm, without their content. */
import { LIMITS } from "../../base/limits.js";
import { isoOrNull } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { DocumentId, ReceivedDocumentId } from "../../base/ids.js";
import type { RecordedOutcome } from "../../lifecycle/attempt.js";
import type { HistoryTrigger, OutboundState, TimelineKind } from "../../lifecycle/document.js";
import type { InboundState } from "../../lifecycle/received.js";
import type { Json, Sql } from "../sql.js";
import { STATUS_KINDS, STATUS_OUTCOMES } from "./received-responses.js";

export interface OperatorDocument {
  readonly id: DocumentId;
  readonly firmId: string;
  readonly status: OutboundState;
  readonly sender: string;
  readonly receiver: string;
  readonly documentTypeId: string;
  readonly as4MessageId: string;
  readonly attempts: number;
  readonly nextAttemptAt: Instant | null;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
}

export interface OperatorDocumentQuery {
  readonly status: OutboundState | undefined;
  /** Sender or receiver. */
  readonly participantKey: string | undefined;
  readonly since: Instant | undefined;
  readonly limit: number;
}

interface Row {
  readonly id: string;
  readonly firm_id: string;
  readonly status: OutboundState;
  readonly sender: string;
  readonly receiver: string;
  readonly document_type_id: string;
  readonly as4_message_id: string;
  readonly attempts: number;
  readonly next_attempt_at: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
}

const documentOf = (row: Row): OperatorDocument => ({
  id: row.id as DocumentId,
  firmId: row.firm_id,
  status: row.status,
  sender: row.sender,
  receiver: row.receiver,
  documentTypeId: row.document_type_id,
  as4MessageId: row.as4_message_id,
  attempts: row.attempts,
  nextAttemptAt: row.next_attempt_at?.getTime() ?? null,
  createdAt: row.created_at.getTime(),
  updatedAt: row.updated_at.getTime(),
});

/** Newest first. */
export async function listOperatorDocuments(sql: Sql, query: OperatorDocumentQuery): Promise<OperatorDocument[]> {
  const from = isoOrNull(query.since);
  const rows = await sql<Row[]>`
    select id, firm_id, status, sender, receiver, document_type_id, as4_message_id, attempts, next_attempt_at,
      created_at, updated_at
    from document
    where (${query.status ?? null}::text is null or status = ${query.status ?? null})
      and (${query.participantKey ?? null}::text is null or sender_key = ${query.participantKey ?? null}
        or receiver_key = ${query.participantKey ?? null})
      and (${from}::timestamptz is null or created_at >= ${from}::timestamptz)
    order by created_at desc, id desc limit ${query.limit}`;
  return rows.map(documentOf);
}

interface OperatorAttempt {
  readonly number: number;
  readonly owner: string;
  readonly startedAt: Instant;
  readonly finishedAt: Instant | null;
  readonly outcome: RecordedOutcome | null;
  readonly code: string | null;
  readonly retryable: boolean | null;
  readonly detail: string | null;
}

export interface OperatorDocumentDetail extends OperatorDocument {
  readonly timeline: readonly {
    readonly status: OutboundState;
    readonly trigger: HistoryTrigger;
    readonly detail: string | null;
    readonly at: Instant;
  }[];
  readonly attemptList: readonly OperatorAttempt[];
  /** The first ones of each reason. */
  readonly notApplied: readonly OperatorNotApplied[];
  /** How many there are, as far as LIMITS.statuses_ignored_counted_max. */
  readonly notAppliedCount: number;
}

/** A Message Level Status or an invoice response about a document that changed nothing, and why. */
interface OperatorNotApplied {
  readonly kind: TimelineKind;
  /** Of STATUS_OUTCOMES, such as `ambiguous`. */
  readonly reason: string;
  /** What it said, such as `RE`. */
  readonly code: string | null;
  /** Seat that signed it. */
  readonly seat: string | null;
  readonly at: Instant;
}

/** What becomes of a status that changes nothing and is told: one that repeats another is not. */
const TOLD_OUTCOMES = STATUS_OUTCOMES.filter((outcome) => outcome !== "applied" && outcome !== "duplicate");

/** One document with its timeline, its attempts and what was not applied; undefined when there is none. */
export async function findOperatorDocument(sql: Sql, id: DocumentId): Promise<OperatorDocumentDetail | undefined> {
  const [[row], timeline, attempts, notApplied, ignored] = await Promise.all([
    sql<Row[]>`
      select id, firm_id, status, sender, receiver, document_type_id, as4_message_id, attempts, next_attempt_at,
        created_at, updated_at
      from document where id = ${id}`,
    sql<
      {
        readonly status: OutboundState;
        readonly trigger: HistoryTrigger;
        readonly detail: string | null;
        readonly occurred_at: Date;
      }[]
    >`
      select status, trigger, detail, occurred_at from document_history where document_id = ${id} order by version`,
    sql<
      {
        readonly number: number;
        readonly owner: string;
        readonly started_at: Date;
        readonly finished_at: Date | null;
        readonly outcome: RecordedOutcome | null;
        readonly code: string | null;
        readonly retryable: boolean | null;
        readonly detail: string | null;
      }[]
    >`
      select number, owner, started_at, finished_at, outcome, code, retryable, detail from document_attempt
      where document_id = ${id}
      union all
      select attempts, lease_owner, attempted_at, null, null, null, null, null from document
      where id = ${id} and lease_owner is not null and attempted_at is not null and document_is_open(status)
      order by number`,
    sql<
      {
        readonly kind: TimelineKind;
        readonly reason: string;
        readonly code: string | null;
        readonly seat: string | null;
        readonly occurred_at: Date;
      }[]
    >`
      select kind, meta ->> 'notApplied' as reason, coalesce(meta ->> 'mls', meta ->> 'response') as code,
        meta ->> 'seat' as seat, occurred_at
      from document_event where document_id = ${id} and meta ? 'notApplied' order by position
      limit ${LIMITS.statuses_ignored_listed_max}`,
    sql<{ readonly n: number }[]>`
      select count(*)::integer as n from (
        select 1 from inbound_status
        where document_id = ${id} and kind = any (${[...STATUS_KINDS]}::text[])
          and outcome = any (${TOLD_OUTCOMES}::text[])
        limit ${LIMITS.statuses_ignored_counted_max}
      ) as ignored`,
  ]);
  if (row === undefined) return undefined;
  return {
    ...documentOf(row),
    timeline: timeline.map(({ status, trigger, detail, occurred_at }) => ({
      status,
      trigger,
      detail,
      at: occurred_at.getTime(),
    })),
    notApplied: notApplied.map(({ occurred_at, ...one }) => ({ ...one, at: occurred_at.getTime() })),
    notAppliedCount: ignored[0]?.n ?? 0,
    attemptList: attempts.map(({ number, owner, started_at, finished_at, outcome, code, retryable, detail }) => ({
      number,
      owner,
      startedAt: started_at.getTime(),
      finishedAt: finished_at?.getTime() ?? null,
      outcome,
      code,
      retryable,
      detail,
    })),
  };
}

/** A received document in any state, also one that its firm does not see. */
export interface OperatorReceived {
  readonly id: ReceivedDocumentId;
  readonly firmId: string;
  readonly status: InboundState;
  readonly sender: string;
  readonly receiver: string;
  readonly documentTypeId: string;
  readonly as4MessageId: string;
  readonly receivedAt: Instant;
  readonly acknowledgedAt: Instant | null;
  /** Seat of the access point that signed it. */
  readonly peerSeat: string | null;
  /** Whether its sender was a participant of ours when another access point signed for it. */
  readonly signedElsewhere: boolean;
}

export interface OperatorReceivedDetail extends OperatorReceived {
  /** Why it was refused. */
  readonly findings: Json;
}

export interface OperatorReceivedQuery extends Omit<OperatorDocumentQuery, "status"> {
  readonly status: InboundState | undefined;
}

interface ReceivedRow {
  readonly id: string;
  readonly firm_id: string;
  readonly status: InboundState;
  readonly sender: string;
  readonly receiver: string;
  readonly document_type_id: string;
  readonly as4_message_id: string;
  readonly received_at: Date;
  readonly acknowledged_at: Date | null;
  readonly peer_seat: string | null;
  readonly signed_elsewhere: boolean;
}

/** Columns of a received document as operators see it, with the exchange in which it came as `e`. */
const receivedColumns = (sql: Sql) => sql`
  r.id, r.firm_id, r.status, r.sender, r.receiver, r.document_type_id, r.as4_message_id, r.received_at,
    r.acknowledged_at, e.c2_seat as peer_seat,
    coalesce(e.c2_seat <> e.c3_seat and exists (
      select 1 from participant as p where p.key = lower(r.sender) and p.registered_at <= r.received_at
    ), false) as signed_elsewhere`;

const receivedOf = (row: ReceivedRow): OperatorReceived => ({
  id: row.id as ReceivedDocumentId,
  firmId: row.firm_id,
  status: row.status,
  sender: row.sender,
  receiver: row.receiver,
  documentTypeId: row.document_type_id,
  as4MessageId: row.as4_message_id,
  receivedAt: row.received_at.getTime(),
  acknowledgedAt: row.acknowledged_at?.getTime() ?? null,
  peerSeat: row.peer_seat,
  signedElsewhere: row.signed_elsewhere,
});

/** Newest first. */
export async function listOperatorReceived(sql: Sql, query: OperatorReceivedQuery): Promise<OperatorReceived[]> {
  const from = isoOrNull(query.since);
  const rows = await sql<ReceivedRow[]>`
    select ${receivedColumns(sql)}
    from received_document as r left join exchange as e on e.id = r.id
    where (${query.status ?? null}::text is null or r.status = ${query.status ?? null})
      and (${query.participantKey ?? null}::text is null or lower(r.sender) = ${query.participantKey ?? null}
        or r.participant_key = ${query.participantKey ?? null})
      and (${from}::timestamptz is null or r.received_at >= ${from}::timestamptz)
    order by r.position desc limit ${query.limit}`;
  return rows.map(receivedOf);
}

/** One received document with the findings that it was refused for; undefined when there is none. */
export async function findOperatorReceived(
  sql: Sql,
  id: ReceivedDocumentId,
): Promise<OperatorReceivedDetail | undefined> {
  const [row] = await sql<(ReceivedRow & { readonly findings: Json })[]>`
    select ${receivedColumns(sql)}, r.findings
    from received_document as r left join exchange as e on e.id = r.id where r.id = ${id}`;
  return row === undefined ? undefined : { ...receivedOf(row), findings: row.findings };
}

/** Firms with their participants, by name. */
export async function listFirms(
  sql: Sql,
  limit: number,
): Promise<
  { readonly id: string; readonly name: string; readonly participants: string[]; readonly createdAt: Instant }[]
> {
  const rows = await sql<
    { readonly id: string; readonly name: string; readonly participants: string[]; readonly created_at: Date }[]
  >`
    select f.id, f.name, coalesce(array_agg(p.id order by p.id) filter (where p.id is not null), '{}') as participants,
      f.created_at
    from firm as f left join participant as p on p.firm_id = f.id
    group by f.id order by f.name, f.id limit ${limit}`;
  return rows.map(({ id, name, participants, created_at }) => ({
    id,
    name,
    participants,
    createdAt: created_at.getTime(),
  }));
}

/** Integrators with the number of firms that are bound to them, by name. */
export async function listIntegrators(
  sql: Sql,
  limit: number,
): Promise<
  { readonly id: string; readonly name: string; readonly activeBindings: number; readonly createdAt: Instant }[]
> {
  const rows = await sql<
    { readonly id: string; readonly name: string; readonly active: number; readonly created_at: Date }[]
  >`
    select i.id, i.name, count(b.firm_id) filter (where b.state = 'active')::integer as active, i.created_at
    from integrator as i left join firm_binding as b on b.integrator_id = i.id
    group by i.id order by i.name, i.id limit ${limit}`;
  return rows.map(({ id, name, active, created_at }) => ({
    id,
    name,
    activeBindings: active,
    createdAt: created_at.getTime(),
  }));
}
