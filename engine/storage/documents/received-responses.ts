/** Statements of what others say of documents that we sent: Message Level Statuses and invoice responses. */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { DocumentId, FirmId, ParticipantId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { OutboundState } from "../../lifecycle/document.js";
import type { Json, Sql } from "../sql.js";
import { eventsJson } from "./documents.js";
import type { MoveRow } from "./documents.js";
import { dutyJson } from "./duties.js";
import type { NewDuty } from "./duties.js";
import { exchangeJson } from "./exchanges.js";
import type { NewExchange } from "./exchanges.js";
import type { MessageIds } from "./received.js";

export const STATUS_KINDS = ["mls", "invoice_response"] as const;

export type StatusKind = (typeof STATUS_KINDS)[number];

interface NewInboundStatus {
  readonly id: string;
  readonly kind: StatusKind;
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  readonly peerSeat: string;
  readonly as4MessageId: string;
  readonly sbdhInstanceId: string;
  readonly receivedAt: Instant;
  readonly payloadKeyId: string;
  readonly payloadSealed: Buffer;
  /** Hex. */
  readonly payloadSha256: string;
}

/** Stores a status before it is answered. @returns whether it is new; a repeated message stores nothing */
export async function storeStatus(
  sql: Sql,
  status: NewInboundStatus,
  exchange: NewExchange,
  duty: NewDuty | undefined,
): Promise<boolean> {
  const row: Json = {
    id: status.id,
    kind: status.kind,
    sender: status.sender,
    receiver: status.receiver,
    peer_seat: status.peerSeat,
    as4_message_id: status.as4MessageId,
    sbdh_instance_id: status.sbdhInstanceId,
    received_at: isoInstant(status.receivedAt),
    payload_key_id: status.payloadKeyId,
    payload_sealed: `\\x${status.payloadSealed.toString("hex")}`,
    payload_sha256: status.payloadSha256,
    next_at: isoInstant(status.receivedAt),
    tries: 0,
  };
  const rows = await sql`
    select id from receive_status(
      ${JSON.stringify(row)}::text::jsonb, ${JSON.stringify(exchangeJson(exchange))}::text::jsonb,
        ${duty === undefined ? null : JSON.stringify(dutyJson(status.id, duty))}::text::jsonb
    )`;
  return rows.length === 1;
}

/** A stored status with a MessageId or an InstanceIdentifier that came again. */
interface StatusRepeat {
  readonly id: string;
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  readonly payloadSha256: string;
}

/** What is stored under either id of a message of that seat: at most two statuses. */
export async function findStatusRepeats(sql: Sql, ids: MessageIds): Promise<StatusRepeat[]> {
  const rows = await sql<
    { readonly id: string; readonly sender: string; readonly receiver: string; readonly payload_sha256: string }[]
  >`
    select id, sender, receiver, payload_sha256 from inbound_status
    where (as4_message_id = ${ids.as4MessageId} or sbdh_instance_id = ${ids.sbdhInstanceId})
      and peer_seat = ${ids.peerSeat}`;
  return rows.map((row) => ({
    id: row.id,
    sender: row.sender as ParticipantId,
    receiver: row.receiver as ParticipantId,
    payloadSha256: row.payload_sha256,
  }));
}

/** Everything that can become of a received status. @source design/reliability.md, S-09 */
export const STATUS_OUTCOMES = [
  "applied",
  "late",
  "duplicate",
  "contradicting",
  "outdated",
  "misdated",
  "out_of_order",
  "ambiguous",
  "unknown",
  "foreign",
  "invalid",
  "unreadable",
] as const;

export type StatusOutcome = (typeof STATUS_OUTCOMES)[number];

/** A status that is not settled. Its payload may be as large as any document's and is read for itself. */
export interface PendingStatus extends Pick<
  NewInboundStatus,
  "id" | "kind" | "sender" | "receiver" | "peerSeat" | "receivedAt"
> {
  readonly tries: number;
}

interface PendingRow {
  readonly id: string;
  readonly kind: StatusKind;
  readonly sender: string;
  readonly receiver: string;
  readonly peer_seat: string;
  readonly received_at: Date;
  readonly tries: number;
}

const pendingOf = (row: PendingRow): PendingStatus => ({
  id: row.id,
  kind: row.kind,
  sender: row.sender as ParticipantId,
  receiver: row.receiver as ParticipantId,
  peerSeat: row.peer_seat,
  receivedAt: row.received_at.getTime(),
  tries: row.tries,
});

/**
 * Statuses whose time has come in the database, one of each access point in turn, in the order in which they became
 * due: of each those that are due for longest, however many it has. The index is gone through once for each access
 * point: what was settled since the oldest transaction that is still open lies before what is due, and is passed over.
 * @param except  ids of others. @default none
 */
export async function findDueStatuses(
  sql: Sql,
  limit: number,
  except: readonly string[] = [],
): Promise<PendingStatus[]> {
  const isOther = sql`s.id <> all (${[...except]}::uuid[])`;
  const rows = await sql<PendingRow[]>`
    with recursive peers as (
      (
        select s.peer_seat, s.next_at from inbound_status as s where s.next_at is not null and ${isOther}
        order by s.peer_seat, s.next_at limit 1
      )
      union all
      select n.peer_seat, n.next_at from peers as p cross join lateral (
        select s.peer_seat, s.next_at from inbound_status as s
        where s.next_at is not null and s.peer_seat > p.peer_seat and ${isOther}
        order by s.peer_seat, s.next_at limit 1
      ) as n
    ), first as materialized (
      select p.peer_seat, p.next_at from (
        select peer_seat, next_at from peers limit ${LIMITS.statuses_peers_max}
      ) as p
      where p.next_at <= now() order by p.next_at limit ${limit}
    ), chosen as (
      select d.id, d.kind, d.sender, d.receiver, d.peer_seat, d.received_at, d.tries, d.next_at
      from first as f cross join lateral (
        select s.id, s.kind, s.sender, s.receiver, s.peer_seat, s.received_at, s.tries, s.next_at
        from inbound_status as s
        where s.peer_seat = f.peer_seat and s.next_at between f.next_at and now() and ${isOther}
        order by s.peer_seat, s.next_at limit ${limit}
      ) as d
      order by row_number() over (partition by d.peer_seat order by d.next_at), d.next_at limit ${limit}
    )
    select id, kind, sender, receiver, peer_seat, received_at, tries from chosen order by next_at`;
  return rows.map(pendingOf);
}

/** A status as it came: its sealed payload, and what its envelope declared where the exchange is still there. */
interface StoredStatus {
  readonly keyId: string;
  readonly sealed: Buffer;
  readonly declared: { readonly documentTypeId: string; readonly processId: string } | undefined;
}

/** What is stored of a status; undefined when there is no such status. */
export async function findStoredStatus(sql: Sql, id: string): Promise<StoredStatus | undefined> {
  const [row] = await sql<
    {
      readonly payload_key_id: string;
      readonly payload_sealed: Buffer;
      readonly document_type_id: string | null;
      readonly process_id: string | null;
    }[]
  >`
    select s.payload_key_id, s.payload_sealed, e.document_type_id, e.process_id
    from inbound_status as s left join exchange as e on e.id = s.id where s.id = ${id}`;
  if (row === undefined) return undefined;
  const { document_type_id: documentTypeId, process_id: processId } = row;
  return {
    keyId: row.payload_key_id,
    sealed: row.payload_sealed,
    declared: documentTypeId === null || processId === null ? undefined : { documentTypeId, processId },
  };
}

/** A document of ours that a status may be about. */
export interface StatusTarget {
  readonly id: DocumentId;
  readonly firmId: FirmId;
  readonly status: OutboundState;
  readonly version: number;
  /** Whether an attempt is under way: its end must not find another version than it left. */
  readonly leased: boolean;
  /** Seat of the access point that took it, or to which it was last transmitted; undefined when it was to none. */
  readonly peerSeat: string | undefined;
  /** M1. */
  readonly exchangedAt: Instant | undefined;
  /** Code of the Message Level Status that the document has. */
  readonly mls: string | undefined;
  /** Whether its receiver is a participant of ours. */
  readonly isReceiverOurs: boolean;
  /** BT-2. */
  readonly issueDate: string | undefined;
  /** The invoice response that counts: its code and the day of its issue. */
  readonly response: { readonly code: string; readonly issuedAt: Instant } | undefined;
  /** How many responses have counted, as far as LIMITS.responses_followed_max. */
  readonly responses: number;
  /** Code of the response with the id asked for, when one has been applied already. */
  readonly responded: string | undefined;
  /** Whether other documents of ours fit the response as well: then it is about none of them. */
  readonly isAmbiguous: boolean;
}

interface TargetRow {
  readonly id: string;
  readonly firm_id: FirmId;
  readonly status: OutboundState;
  readonly version: number;
  readonly leased: boolean;
  readonly peer_seat: string | null;
  readonly exchanged_at: Date | null;
  readonly mls: string | null;
  readonly receiver_ours: boolean;
  readonly issue_date: string | null;
  readonly response_code: string | null;
  readonly responded_at: Date | null;
  readonly responses: number;
  readonly responded: string | null;
  readonly ambiguous: boolean;
}

const targetOf = (row: TargetRow): StatusTarget => ({
  id: row.id as DocumentId,
  firmId: row.firm_id,
  status: row.status,
  version: row.version,
  leased: row.leased,
  peerSeat: row.peer_seat ?? undefined,
  exchangedAt: row.exchanged_at?.getTime(),
  mls: row.mls ?? undefined,
  isReceiverOurs: row.receiver_ours,
  issueDate: row.issue_date ?? undefined,
  response:
    row.response_code === null || row.responded_at === null
      ? undefined
      : { code: row.response_code, issuedAt: row.responded_at.getTime() },
  responses: row.responses,
  responded: row.responded ?? undefined,
  isAmbiguous: row.ambiguous,
});

/** The document with this SBDH InstanceIdentifier; undefined when none of ours has it. */
export async function findMlsTarget(sql: Sql, sbdhInstanceId: string): Promise<StatusTarget | undefined> {
  const [row] = await sql<TargetRow[]>`
    select d.id, d.firm_id, d.status, d.version,
      (d.lease_owner is not null and d.lease_until > clock_timestamp()) is true as leased,
      coalesce(e.c3_seat, (
        select a.seat from document_attempt as a where a.document_id = d.id and a.seat is not null
        order by a.number desc limit 1
      )) as peer_seat,
      e.exchanged_at, s.code as mls, false as receiver_ours, null as issue_date, null as response_code,
      null::timestamptz as responded_at, 0 as responses, null as responded, false as ambiguous
    from document as d
    left join exchange as e on e.id = d.id
    left join inbound_status as s on s.document_id = d.id and s.kind = 'mls' and status_counts(s.outcome)
    where d.sbdh_instance_id = ${sbdhInstanceId}`;
  return row === undefined ? undefined : targetOf(row);
}

interface ResponseQuery {
  /** Key of the participant that sent the invoice, and of the one that received it. */
  readonly senderKey: string;
  readonly receiverKey: string;
  /** BT-1, in each form in which it may be stored: its digest, and as it is written. */
  readonly numbers: readonly string[];
  /** BT-2, when the response names it. */
  readonly issueDate: string | undefined;
  /** BT-3. */
  readonly typeCode: string;
  /**
   * Other documents that the response names, in the same forms: they single out the one of several invoices that names
   * them too.
   */
  readonly otherReferences: readonly string[];
  /** cbc:ID of the response. */
  readonly responseId: string;
}

/**
 * The invoice that a response is about: one that was transmitted before one that was not, one that lives before one
 * that ended, and of several such the only one that names a document which the response names too: its order, its
 * buyer reference or an invoice that it corrects. Undefined when there is none of ours; ambiguous when several fit
 * alike and it counts for none yet.
 */
export async function findResponseTarget(sql: Sql, query: ResponseQuery): Promise<StatusTarget | undefined> {
  const [row] = await sql<TargetRow[]>`
    with fitting as (
      select d.id, d.firm_id, d.status, d.version, d.lease_owner, d.lease_until, d.receiver_key, d.created_at,
        d.facts ->> 'issueDate' as issue_date,
        case d.status when 'delivered' then 0 when 'sent' then 0 when 'queued' then 1 else 2 end as tier,
        (
          select s.code from inbound_status as s
          where s.document_id = d.id and s.kind = 'invoice_response' and s.outcome = 'applied'
            and s.response_id = ${query.responseId}
        ) as responded,
        coalesce(d.facts ->> 'orderReference' = any(${query.otherReferences as string[]}::text[]), false)
          or coalesce(d.facts ->> 'buyerReference' = any(${query.otherReferences as string[]}::text[]), false)
          or coalesce(d.facts -> 'precedingInvoiceIds' ?| ${query.otherReferences as string[]}::text[], false) as named
      from document as d
      where d.sender_key = ${query.senderKey} and d.receiver_key = ${query.receiverKey}
        and d.facts ->> 'documentNumber' = any (${[...query.numbers]}::text[])
        and (d.facts ->> 'typeCode' is null or d.facts ->> 'typeCode' = ${query.typeCode})
        and (${query.issueDate ?? null}::text is null or d.facts ->> 'issueDate' is null
          or d.facts ->> 'issueDate' = ${query.issueDate ?? null}::text)
    ), placed as (
      select f.*, count(*) over (partition by f.tier) as beside,
        count(*) filter (where f.named) over (partition by f.tier) as named_beside
      from fitting as f
    )
    select f.id, f.firm_id, f.status, f.version,
      (f.lease_owner is not null and f.lease_until > clock_timestamp()) is true as leased,
      coalesce((select e.c3_seat from exchange as e where e.id = f.id), (
        select a.seat from document_attempt as a where a.document_id = f.id and a.seat is not null
        order by a.number desc limit 1
      )) as peer_seat, null::timestamptz as exchanged_at,
      null as mls, exists (select 1 from participant as p where p.key = f.receiver_key) as receiver_ours, f.issue_date,
      r.code as response_code, r.issued_at as responded_at, (
        select count(*)::integer from (
          select 1 from inbound_status as s
          where s.document_id = f.id and s.kind = 'invoice_response' and s.outcome = 'applied'
          limit ${LIMITS.responses_followed_max}
        ) as counted
      ) as responses, f.responded,
      f.responded is null and f.beside > 1 and not (f.named and f.named_beside = 1) as ambiguous
    from placed as f
    left join lateral (
      select s.code, s.issued_at from inbound_status as s
      where s.document_id = f.id and s.kind = 'invoice_response' and s.outcome = 'applied'
      order by s.issued_at desc, s.handled_at desc, s.id desc limit 1
    ) as r on true
    order by f.responded is null, f.tier, f.named desc, f.created_at desc, f.id desc limit 1`;
  return row === undefined ? undefined : targetOf(row);
}

/** What a status says, for its row. */
export interface StatusContent {
  readonly code: string;
  readonly responseId: string;
  readonly issuedAt: Instant;
}

/**
 * Settles a status together with the move that it makes.
 * @returns whether it was written; false means a stale decision, or one that another node made first
 */
export async function applyStatus(
  sql: Sql,
  settled: { readonly status: string; readonly outcome: StatusOutcome; readonly content: StatusContent },
  move: MoveRow,
): Promise<boolean> {
  const { status, outcome, content } = settled;
  const rows = await sql`
    select version from apply_status(
      ${status}, ${outcome}, ${content.code}, ${content.responseId}, ${new Date(content.issuedAt)}, ${move.id},
      ${move.version}, ${move.status},
      ${move.trigger ?? null}, ${move.detail ?? null}, ${new Date(move.now)}, ${eventsJson(move.events)}::text::jsonb,
      ${JSON.stringify({ ...move.changes })}::text::jsonb
    )`;
  return rows.length === 1;
}

/**
 * Settles a status that changes nothing.
 * @param settled.version  of the document by which it was decided. @default any
 * @returns false when it was settled before, or the document has another version meanwhile
 */
export async function settleStatus(
  sql: Sql,
  status: string,
  settled: {
    readonly outcome: StatusOutcome;
    readonly now: Instant;
    readonly content: StatusContent | undefined;
    readonly documentId: DocumentId | undefined;
    readonly version?: number;
    readonly fault: string | undefined;
  },
): Promise<boolean> {
  const { outcome, now, content, documentId, version, fault } = settled;
  const rows = await sql`
    update inbound_status
    set outcome = ${outcome}, handled_at = ${new Date(now)}, next_at = null, code = ${content?.code ?? null},
    response_id = ${content?.responseId ?? null},
      issued_at = ${content === undefined ? null : new Date(content.issuedAt)}, document_id = ${documentId ?? null},
        fault = ${fault ?? null}
    where id = ${status} and outcome is null and (${version === undefined}
      or exists (select 1 from document where id = ${documentId ?? null} and version = ${version ?? null}))
    returning id`;
  return rows.length === 1;
}

/** Whether nothing is left to be done with a status; one that is gone had been settled. */
export async function isStatusSettled(sql: Sql, status: string): Promise<boolean> {
  const rows = await sql`select id from inbound_status where id = ${status} and outcome is null`;
  return rows.length === 0;
}

/** How many statuses or responses about a document had one outcome, as far as LIMITS.statuses_ignored_shown. */
export async function countSettled(
  sql: Sql,
  documentId: DocumentId,
  of: { readonly kind: StatusKind; readonly outcome: StatusOutcome },
): Promise<number> {
  const [row] = await sql<{ readonly n: number }[]>`
    select count(*)::integer as n from (
      select 1 from inbound_status
      where document_id = ${documentId} and kind = ${of.kind} and outcome = ${of.outcome}
      limit ${LIMITS.statuses_ignored_shown}
    ) as settled`;
  return row?.n ?? 0;
}

/**
 * Puts a status off, for so long in the database.
 * @param read  with the tries that it had when it was read
 * @returns false when it is settled, or was put off since
 */
export async function deferStatus(
  sql: Sql,
  read: Pick<PendingStatus, "id" | "tries">,
  wait_ms: number,
): Promise<boolean> {
  const rows = await sql`
    update inbound_status
    set next_at = clock_timestamp() + ${Math.round(wait_ms)}::bigint * interval '1 millisecond', tries = tries + 1
    where id = ${read.id} and outcome is null and tries = ${read.tries}
    returning id`;
  return rows.length === 1;
}
