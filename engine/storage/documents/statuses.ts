/** Statements of received statuses, statuses owed, and what a decision about them needs. */
import type { Instant } from "../../base/clock.js";
import type { DocumentId, FirmId, ParticipantId } from "../../base/ids.js";
import type { OutboundState, TimelineKind } from "../../lifecycle/document.js";
import type { InboundState } from "../../lifecycle/received.js";
import { LIMITS } from "../../base/limits.js";
import { batched, inOrder } from "../batched.js";
import { eventsJson } from "./documents.js";
import type { MoveRow } from "./documents.js";
import type { NewReceivedDocument } from "./received.js";
import type { NewServiceMessage } from "./service-messages.js";
import { serviceMessageJson } from "./service-messages.js";
import type { Json, Sql } from "../sql.js";

const iso = (instant: Instant): string => new Date(instant).toISOString();
const text = (value: Json): string => JSON.stringify(value);

/**
 * A confirmed exchange with another access point. `id` is that of the document, received document, status or service
 * message.
 */
export interface NewExchange {
  readonly id: string;
  readonly direction: "incoming" | "outgoing";
  readonly kind: "business" | "mls" | "invoice_response";
  /** Undefined for statuses between providers. */
  readonly firmId: FirmId | undefined;
  /** Seats of the sending and of the receiving access point. */
  readonly c2Seat: string;
  readonly c3Seat: string;
  readonly documentTypeId: string;
  readonly processId: string;
  readonly transportProfile: string;
  readonly c1Country: string;
  /** Of an incoming exchange only: nobody says it of the others. */
  readonly c4Country: string | undefined;
  /** Key of our participant: the sender of an outgoing, the receiver of an incoming exchange. */
  readonly endUser: string;
  readonly exchangedAt: Instant;
}

export const exchangeJson = (exchange: NewExchange): Json => ({
  id: exchange.id,
  direction: exchange.direction,
  kind: exchange.kind,
  firm_id: exchange.firmId ?? null,
  c2_seat: exchange.c2Seat,
  c3_seat: exchange.c3Seat,
  document_type_id: exchange.documentTypeId,
  process_id: exchange.processId,
  transport_profile: exchange.transportProfile,
  c1_country: exchange.c1Country,
  c4_country: exchange.c4Country ?? null,
  end_user: exchange.endUser,
  exchanged_at: iso(exchange.exchangedAt),
});

/** What is owed to the provider that sent a document. */
export interface NewDuty {
  readonly firmId: FirmId;
  readonly sbdhInstanceId: string;
  readonly documentTypeId: string;
  /** Provider that is to be told. */
  readonly receiver: ParticipantId;
  /** Whether it wants to be told of successes too. */
  readonly always: boolean;
  readonly receivedAt: Instant;
}

const dutyJson = (id: string, duty: NewDuty): Json => ({
  id,
  firm_id: duty.firmId,
  sbdh_instance_id: duty.sbdhInstanceId,
  document_type_id: duty.documentTypeId,
  receiver: duty.receiver,
  always: duty.always,
  received_at: iso(duty.receivedAt),
  next_at: iso(duty.receivedAt),
});

interface NewBusiness {
  readonly document: NewReceivedDocument;
  readonly exchange: NewExchange;
  readonly duty: NewDuty | undefined;
}

const storeBusinesses = batched<NewBusiness, boolean>(
  async (sql, items) => {
    const column = <K extends keyof NewReceivedDocument>(name: K): NewReceivedDocument[K][] =>
      items.map(({ document }) => document[name]);
    const rows = await sql<{ readonly n: string }[]>`
    select r.n
    from unnest(
      ${column("id")}::uuid[], ${column("firmId")}::uuid[], ${column("participantKey")}::text[],
      ${column("sender")}::text[], ${column("receiver")}::text[],
      ${column("documentTypeId")}::text[], ${column("processId")}::text[],
      ${column("creationDateTime").map(iso)}::timestamptz[], ${column("payloadSha256")}::text[],
      ${column("as4MessageId")}::text[], ${column("sbdhInstanceId")}::text[], ${column("facts").map(text)}::text[],
      ${column("receivedAt").map(iso)}::timestamptz[],
      ${column("payloadKeyId")}::text[], ${column("payloadSealed").map((sealed) => sealed.toString("base64"))}::text[],
      ${column("payloadBytes")}::integer[],
      ${items.map(({ exchange }) => text(exchangeJson(exchange)))}::text[],
      ${items.map(({ document, duty }) => (duty === undefined ? null : text(dutyJson(document.id, duty))))}::text[],
      ${column("status")}::text[]
    ) with ordinality as r (
      id, firm_id, participant_key, sender, receiver, document_type_id, process_id, creation_date_time, payload_sha256,
      as4_message_id, sbdh_instance_id, facts,
      received_at, payload_key_id, payload_sealed, payload_bytes, exchange, duty, status, n
    )
    cross join lateral receive_business(
      r.id, r.firm_id, r.participant_key, r.sender, r.receiver, r.document_type_id, r.process_id, r.creation_date_time,
      r.payload_sha256, r.as4_message_id,
      r.sbdh_instance_id, r.facts::jsonb, r.received_at, r.payload_key_id, r.payload_sealed, r.payload_bytes,
        r.exchange::jsonb, r.duty::jsonb, r.status
    ) as b`;
    return inOrder(items, rows, () => true).map((stored) => stored === true);
  },
  {
    max: LIMITS.receive_batch,
    key: ({ document }) => document.as4MessageId,
    bytes: ({ document }) => document.payloadSealed.length,
  },
);

/**
 * Stores a received document with its exchange and its duty. @returns whether it is new; a repeated message stores
 * nothing
 */
export const storeBusiness = (
  sql: Sql,
  document: NewReceivedDocument,
  exchange: NewExchange,
  duty: NewDuty | undefined,
): Promise<boolean> => storeBusinesses(sql, { document, exchange, duty });

export const STATUS_KINDS = ["mls", "invoice_response"] as const;
export type StatusKind = (typeof STATUS_KINDS)[number];

export interface NewInboundStatus {
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
    received_at: iso(status.receivedAt),
    payload_key_id: status.payloadKeyId,
    payload_sealed: `\\x${status.payloadSealed.toString("hex")}`,
    payload_sha256: status.payloadSha256,
    next_at: iso(status.receivedAt),
    tries: 0,
  };
  const rows = await sql`
    select id from receive_status(
      ${text(row)}::text::jsonb, ${text(exchangeJson(exchange))}::text::jsonb,
        ${duty === undefined ? null : text(dutyJson(status.id, duty))}::text::jsonb
    )`;
  return rows.length === 1;
}

/** A stored status with a MessageId or an InstanceIdentifier that came again. */
export interface StatusTwin {
  readonly id: string;
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  readonly payloadSha256: string;
}

/** What is stored under either id of a message: at most two statuses. */
export async function findStatusTwins(
  sql: Sql,
  ids: { readonly as4MessageId: string; readonly sbdhInstanceId: string },
): Promise<StatusTwin[]> {
  const rows = await sql<
    { readonly id: string; readonly sender: string; readonly receiver: string; readonly payload_sha256: string }[]
  >`
    select id, sender, receiver, payload_sha256 from inbound_status
    where as4_message_id = ${ids.as4MessageId} or sbdh_instance_id = ${ids.sbdhInstanceId}`;
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
  "unknown",
  "foreign",
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

/** Statuses whose time has come, longest due first. */
export async function findDueStatuses(
  sql: Sql,
  request: { readonly now: Instant; readonly limit: number },
): Promise<PendingStatus[]> {
  const rows = await sql<PendingRow[]>`
    select id, kind, sender, receiver, peer_seat, received_at, tries
    from inbound_status where next_at <= ${new Date(request.now)} order by next_at limit ${request.limit}`;
  return rows.map(pendingOf);
}

/** The sealed payload of a status; undefined when there is no such status. */
export async function findStatusPayload(
  sql: Sql,
  id: string,
): Promise<{ readonly keyId: string; readonly sealed: Buffer } | undefined> {
  const [row] = await sql<
    { readonly payload_key_id: string; readonly payload_sealed: Buffer }[]
  >`select payload_key_id, payload_sealed from inbound_status where id = ${id}`;
  return row === undefined ? undefined : { keyId: row.payload_key_id, sealed: row.payload_sealed };
}

/** What was last said of a document, from its timeline. */
export interface SaidOfDocument {
  readonly kind: StatusKind;
  readonly detail: string | undefined;
  readonly meta: Json;
  readonly at: Instant;
}

/** The status and the newest response that a document has. */
export async function findSaidOfDocument(sql: Sql, id: DocumentId): Promise<SaidOfDocument[]> {
  const rows = await sql<
    { readonly kind: TimelineKind; readonly detail: string | null; readonly meta: Json; readonly occurred_at: Date }[]
  >`
    select distinct on (kind) kind, detail, meta, occurred_at from document_event
    where document_id = ${id} and kind in ('document.mls_received', 'document.response_received')
    order by kind, position desc`;
  return rows.map((row) => ({
    kind: row.kind === "document.mls_received" ? "mls" : "invoice_response",
    detail: row.detail ?? undefined,
    meta: row.meta,
    at: row.occurred_at.getTime(),
  }));
}

/** A stored status with its bytes. */
export interface SealedStatus {
  readonly id: string;
  readonly code: string;
  readonly payloadKeyId: string;
  readonly payloadSealed: Buffer;
  /** Of the status, hex. */
  readonly sha256: string;
}

interface SealedRow {
  readonly id: string;
  readonly code: string | null;
  readonly payload_key_id: string;
  readonly payload_sealed: Buffer;
  readonly payload_sha256: string;
}

const sealedOf = (row: SealedRow): SealedStatus => ({
  id: row.id,
  code: row.code ?? "",
  payloadKeyId: row.payload_key_id,
  payloadSealed: row.payload_sealed,
  sha256: row.payload_sha256,
});

/** The Message Level Status that a document of ours has. */
export async function findReceivedMls(
  sql: Sql,
  documentId: string,
): Promise<(SealedStatus & { readonly receivedAt: Instant }) | undefined> {
  const [row] = await sql<(SealedRow & { readonly received_at: Date })[]>`
    select id, code, payload_key_id, payload_sealed, payload_sha256, received_at from inbound_status
    where document_id = ${documentId} and kind = 'mls' and status_counts(outcome)`;
  return row === undefined ? undefined : { ...sealedOf(row), receivedAt: row.received_at.getTime() };
}

/** What is owed to the provider that sent a document, and what was said of it. */
export interface OwedMls {
  /** Whether it is decided; without a message nothing had to be said. */
  readonly decided: boolean;
  readonly message:
    (SealedStatus & { readonly status: OutboundState; readonly deliveredAt: Instant | undefined }) | undefined;
}

/** Undefined when nobody is to be told: the document came without an envelope. */
export async function findOwedMls(sql: Sql, receivedId: string): Promise<OwedMls | undefined> {
  const [row] = await sql<
    (Partial<SealedRow> & {
      readonly decided: boolean;
      readonly status: OutboundState | null;
      readonly delivered_at: Date | null;
    })[]
  >`
    select d.next_at is null as decided, m.id, m.code, m.payload_key_id, m.payload_sealed, m.payload_sha256, m.status,
      m.delivered_at
    from mls_duty as d
    left join service_message as m on m.about = d.id and m.kind = 'mls'
    where d.id = ${receivedId}`;
  if (row === undefined) return undefined;
  const { id, code = null, payload_key_id, payload_sealed, payload_sha256, status } = row;
  const isSaid =
    id != null &&
    payload_key_id !== undefined &&
    payload_sealed !== undefined &&
    payload_sha256 !== undefined &&
    status !== null;
  return {
    decided: row.decided,
    message: isSaid
      ? {
          ...sealedOf({ id, code, payload_key_id, payload_sealed, payload_sha256 }),
          status,
          deliveredAt: row.delivered_at?.getTime(),
        }
      : undefined,
  };
}

/** A document of ours that a status may be about. */
export interface StatusTarget {
  readonly id: DocumentId;
  readonly status: OutboundState;
  readonly version: number;
  /** Whether an attempt is under way: its end must not find another version than it left. */
  readonly leased: boolean;
  /** Seat of the access point that gave the receipt; undefined when none did or its seat is not known. */
  readonly peerSeat: string | undefined;
  /** M1. */
  readonly exchangedAt: Instant | undefined;
  /** Code of the Message Level Status that the document has. */
  readonly mls: string | undefined;
  /** The newest invoice response that counts, and whether the one asked for counts already. */
  readonly respondedAt: Instant | undefined;
  readonly responded: boolean;
}

interface TargetRow {
  readonly id: string;
  readonly status: OutboundState;
  readonly version: number;
  readonly leased: boolean;
  readonly peer_seat: string | null;
  readonly exchanged_at: Date | null;
  readonly mls: string | null;
  readonly responded_at: Date | null;
  readonly responded: boolean;
}

const targetOf = (row: TargetRow): StatusTarget => ({
  id: row.id as DocumentId,
  status: row.status,
  version: row.version,
  leased: row.leased,
  peerSeat: row.peer_seat ?? undefined,
  exchangedAt: row.exchanged_at?.getTime(),
  mls: row.mls ?? undefined,
  respondedAt: row.responded_at?.getTime(),
  responded: row.responded,
});

/** The document with this SBDH InstanceIdentifier; undefined when none of ours has it. */
export async function findMlsTarget(sql: Sql, sbdhInstanceId: string): Promise<StatusTarget | undefined> {
  const [row] = await sql<TargetRow[]>`
    select d.id, d.status, d.version, d.lease_until > clock_timestamp() is true as leased, e.c3_seat as peer_seat,
    e.exchanged_at, s.code as mls,
      null::timestamptz as responded_at, false as responded
    from document as d
    left join exchange as e on e.id = d.id
    left join inbound_status as s on s.document_id = d.id and s.kind = 'mls' and status_counts(s.outcome)
    where d.sbdh_instance_id = ${sbdhInstanceId}`;
  return row === undefined ? undefined : targetOf(row);
}

export interface ResponseQuery {
  /** Key of the participant that sent the invoice, and of the one that received it. */
  readonly senderKey: string;
  readonly receiverKey: string;
  /** BT-1. */
  readonly number: string;
  /** BT-2, when the response names it. */
  readonly issueDate: string | undefined;
  /** cbc:ID of the response. */
  readonly responseId: string;
}

/**
 * The invoice that a response is about: delivered before others, then the newest. Undefined when there is none of ours.
 */
export async function findResponseTarget(sql: Sql, query: ResponseQuery): Promise<StatusTarget | undefined> {
  const [row] = await sql<TargetRow[]>`
    select d.id, d.status, d.version, d.lease_until > clock_timestamp() is true as leased, null::text as peer_seat,
    null::timestamptz as exchanged_at,
      null::text as mls,
      (select max(s.issued_at) from inbound_status as s where s.document_id = d.id and s.kind = 'invoice_response'
      and s.outcome = 'applied') as responded_at,
      exists (
        select 1 from inbound_status as s
        where s.document_id = d.id and s.kind = 'invoice_response' and s.outcome = 'applied'
          and s.response_id = ${query.responseId}
      ) as responded
    from document as d
    where d.sender_key = ${query.senderKey} and d.receiver_key = ${query.receiverKey}
      and d.facts ->> 'documentNumber' = ${query.number}
      and (${query.issueDate ?? null}::text is null or d.facts ->> 'issueDate' is null
        or d.facts ->> 'issueDate' = ${query.issueDate ?? null}::text)
    order by d.status = 'delivered' desc, document_is_open(d.status) desc, d.created_at desc, d.id desc limit 1`;
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
  status: string,
  outcome: "applied" | "late",
  content: StatusContent,
  move: Pick<MoveRow, "id" | "version" | "status" | "trigger" | "detail" | "now" | "events" | "changes">,
): Promise<boolean> {
  const rows = await sql`
    select version from apply_status(
      ${status}, ${outcome}, ${content.code}, ${content.responseId}, ${new Date(content.issuedAt)}, ${move.id},
      ${move.version}, ${move.status},
      ${move.trigger ?? null}, ${move.detail ?? null}, ${new Date(move.now)}, ${eventsJson(move.events)}::text::jsonb,
      ${text({ ...move.changes })}::text::jsonb
    )`;
  return rows.length === 1;
}

/** Settles a status that changes nothing. @returns false when it was settled before */
export async function settleStatus(
  sql: Sql,
  status: string,
  settled: {
    readonly outcome: StatusOutcome;
    readonly now: Instant;
    readonly content: StatusContent | undefined;
    readonly documentId: DocumentId | undefined;
    readonly fault: string | undefined;
  },
): Promise<boolean> {
  const { outcome, now, content, documentId, fault } = settled;
  const rows = await sql`
    update inbound_status
    set outcome = ${outcome}, handled_at = ${new Date(now)}, next_at = null, code = ${content?.code ?? null},
    response_id = ${content?.responseId ?? null},
      issued_at = ${content === undefined ? null : new Date(content.issuedAt)}, document_id = ${documentId ?? null},
        fault = ${fault ?? null}
    where id = ${status} and outcome is null returning id`;
  return rows.length === 1;
}

/** Puts a status off. */
export async function deferStatus(sql: Sql, status: string, nextAt: Instant): Promise<void> {
  await sql`update inbound_status set next_at = ${new Date(nextAt)}, tries = tries + 1 where id = ${status}
    and outcome is null`;
}

/** A received document whose status is to be decided, under lease. */
export interface TakenDuty {
  readonly id: string;
  readonly firmId: FirmId;
  readonly sbdhInstanceId: string;
  readonly documentTypeId: string;
  readonly receiver: ParticipantId;
  readonly always: boolean;
  readonly receivedAt: Instant;
  /** Whether its firm has confirmed it. */
  readonly acknowledged: boolean;
  readonly kind: "business" | "invoice_response";
  /** Whether its firm does not see it yet. */
  readonly held: boolean;
  /** Undefined when the payload is gone. */
  readonly payload: { readonly keyId: string; readonly sealed: Buffer } | undefined;
}

/** Leases due duties, longest due first. */
export async function takeDuties(
  sql: Sql,
  request: { readonly owner: string; readonly now: Instant; readonly lease_ms: number; readonly limit: number },
): Promise<TakenDuty[]> {
  const rows = await sql<
    {
      readonly id: string;
      readonly firm_id: string;
      readonly sbdh_instance_id: string;
      readonly document_type_id: string;
      readonly receiver: string;
      readonly always: boolean;
      readonly received_at: Date;
      readonly acknowledged: boolean;
      readonly is_response: boolean;
      readonly held: boolean;
      readonly payload_key_id: string | null;
      readonly payload_sealed: Buffer | null;
    }[]
  >`
    select id, firm_id, sbdh_instance_id, document_type_id, receiver, always, received_at, acknowledged, is_response,
      held, payload_key_id, payload_sealed
    from take_mls_duties(${new Date(request.now)}, ${request.lease_ms}, ${request.limit}, ${request.owner})`;
  return rows.map((row) => ({
    id: row.id,
    firmId: row.firm_id as FirmId,
    sbdhInstanceId: row.sbdh_instance_id,
    documentTypeId: row.document_type_id,
    receiver: row.receiver as ParticipantId,
    always: row.always,
    receivedAt: row.received_at.getTime(),
    acknowledged: row.acknowledged,
    kind: row.is_response ? "invoice_response" : "business",
    held: row.held,
    payload:
      row.payload_key_id === null || row.payload_sealed === null
        ? undefined
        : { keyId: row.payload_key_id, sealed: row.payload_sealed },
  }));
}

/** What becomes of the held document that a duty is about. */
export interface HeldEnd {
  readonly to: Extract<InboundState, "RECEIVED" | "REFUSED">;
  /** Why it is refused. */
  readonly findings?: Json;
}

export interface DutyEnd {
  /** Puts the duty off instead of ending it. */
  readonly nextAt?: Instant | undefined;
  readonly code?: string | undefined;
  readonly message?: NewServiceMessage | undefined;
  readonly document?: HeldEnd | undefined;
}

const endDuties = batched<{ readonly id: string; readonly end: DutyEnd }, boolean>(
  async (sql, items) => {
    const rows = await sql<{ readonly n: string }[]>`
    select r.n
    from unnest(
      ${items.map(({ id }) => id)}::uuid[],
      ${items.map(({ end: { nextAt } }) => (nextAt === undefined ? null : iso(nextAt)))}::timestamptz[],
      ${items.map(({ end }) => end.code ?? null)}::text[],
      ${items.map(({ end: { message } }) => (message === undefined ? null : text(serviceMessageJson(message))))}::text[], ${items.map(({ end }) => end.document?.to ?? null)}::text[],
      ${items.map(({ end: { document } }) => (document?.findings === undefined ? null : text(document.findings)))}::text[]
    ) with ordinality as r (id, next_at, code, message, document, findings, n)
    cross join lateral end_mls_duty(r.id, r.next_at, r.code, r.message::jsonb, r.document, r.findings::jsonb) as d`;
    return inOrder(items, rows, () => true).map((ended) => ended === true);
  },
  { max: LIMITS.receive_batch, key: ({ id }) => id },
);

/**
 * Ends a duty or puts it off, together with what becomes of its document, or neither.
 * @returns false when the duty was ended before, or the document that was to be refused has been shown to its firm
 */
export const endDuty = (sql: Sql, id: string, end: DutyEnd): Promise<boolean> => endDuties(sql, { id, end });

/** When the oldest document was received whose status is due and not delivered; undefined when there is none. */
export async function oldestPendingMls(sql: Sql): Promise<Instant | undefined> {
  const [row] = await sql<{ readonly oldest: Date | null }[]>`
    select least(
      (select min(received_at) from mls_duty where next_at is not null),
      (select min(d.received_at) from service_message as m join mls_duty as d on d.id = m.about where m.kind = 'mls'
        and m.next_attempt_at is not null)
    ) as oldest`;
  return row?.oldest?.getTime();
}

type OutgoingExchange = Omit<
  NewExchange,
  "direction" | "kind" | "firmId" | "c4Country" | "endUser" | "documentTypeId" | "processId"
>;

/**
 * Records the receipt for a document of ours, once. The call says whether it is new: false also for what is no document
 * of ours.
 */
export const recordOutgoing = batched<OutgoingExchange, boolean>(
  async (sql, exchanges) => {
    const rows = await sql<{ readonly id: string }[]>`
    insert into exchange (id, direction, kind, firm_id, c2_seat, c3_seat, document_type_id, process_id,
      transport_profile, c1_country, end_user, exchanged_at)
    select d.id, 'outgoing', 'business', d.firm_id, e.c2_seat, e.c3_seat, d.document_type_id, d.process_id,
      e.transport_profile, e.c1_country, d.sender_key, e.exchanged_at
    from unnest(
      ${exchanges.map(({ id }) => id)}::uuid[], ${exchanges.map(({ c2Seat }) => c2Seat)}::text[],
      ${exchanges.map(({ c3Seat }) => c3Seat)}::text[],
      ${exchanges.map(({ transportProfile }) => transportProfile)}::text[],
      ${exchanges.map(({ c1Country }) => c1Country)}::text[],
      ${exchanges.map(({ exchangedAt }) => iso(exchangedAt))}::timestamptz[]
    ) as e (id, c2_seat, c3_seat, transport_profile, c1_country, exchanged_at)
    join document as d on d.id = e.id
    on conflict (id) do nothing returning id`;
    const added = new Set(rows.map(({ id }) => id));
    return exchanges.map(({ id }) => added.has(id));
  },
  { max: LIMITS.attempts_batch, key: ({ id }) => id },
);
