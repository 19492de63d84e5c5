/** Statements of the access point's own messages: statuses, responses of its firms, reports. */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { FirmId, ParticipantId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { AttemptOutcome } from "../../lifecycle/attempt.js";
import type { OutboundState } from "../../lifecycle/document.js";
import { openedNote } from "../keyring/facts.js";
import type { Json, Sql } from "../sql.js";
import type { PlanUse } from "./attempts.js";

export const SERVICE_KINDS = ["mls", "invoice_response", "report"] as const;
export type ServiceKind = (typeof SERVICE_KINDS)[number];

export interface NewServiceMessage {
  readonly id: string;
  readonly kind: ServiceKind;
  /** What it is for; a second message of one subject is never made. */
  readonly subject: string;
  readonly firmId: FirmId | undefined;
  /** The received document or response that it is about. */
  readonly about: string | undefined;
  /** What it says: AP, RE, IP, TSR, … */
  readonly code: string;
  /** What its firm has added, sealed for the id under the key of the payload; undefined when it added nothing. */
  readonly noteSealed: Buffer | undefined;
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  readonly documentTypeId: string;
  readonly processId: string;
  readonly as4MessageId: string;
  readonly sbdhInstanceId: string;
  readonly payloadKeyId: string;
  readonly payloadSealed: Buffer;
  /** Hex. */
  readonly payloadSha256: string;
  readonly createdAt: Instant;
}

/** The row as the SQL functions take it. */
export const serviceMessageJson = (message: NewServiceMessage): Json => ({
  id: message.id,
  kind: message.kind,
  subject: message.subject,
  firm_id: message.firmId ?? null,
  about: message.about ?? null,
  code: message.code,
  note_sealed: message.noteSealed === undefined ? null : `\\x${message.noteSealed.toString("hex")}`,
  sender: message.sender,
  receiver: message.receiver,
  document_type_id: message.documentTypeId,
  process_id: message.processId,
  as4_message_id: message.as4MessageId,
  sbdh_instance_id: message.sbdhInstanceId,
  payload_key_id: message.payloadKeyId,
  payload_sealed: `\\x${message.payloadSealed.toString("hex")}`,
  payload_sha256: message.payloadSha256,
  status: "queued",
  version: 1,
  attempts: 0,
  answers: 0,
  faults: 0,
  next_attempt_at: isoInstant(message.createdAt),
  created_at: isoInstant(message.createdAt),
});

/** Adds a message unless its subject has one, or its firm is erased. @returns whether it was added */
export async function addServiceMessage(sql: Sql, message: NewServiceMessage): Promise<boolean> {
  const rows = await sql`
    insert into service_message select (jsonb_populate_record(null::service_message,
      ${JSON.stringify(serviceMessageJson(message))}::text::jsonb)).*
    where ${message.firmId ?? null}::uuid is null or lock_living_firm(${message.firmId ?? null}::uuid)
    on conflict (subject) do nothing returning id`;
  return rows.length === 1;
}

export interface TakenMessage {
  readonly id: string;
  readonly kind: ServiceKind;
  readonly firmId: FirmId | undefined;
  readonly about: string | undefined;
  readonly status: OutboundState;
  readonly version: number;
  readonly attempt: number;
  /** Attempts before this one that were answered: what the plan has used. */
  readonly answers: number;
  /** Attempts before this one, in a row, that failed on our side. */
  readonly faults: number;
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  readonly documentTypeId: string;
  readonly processId: string;
  readonly as4MessageId: string;
  readonly sbdhInstanceId: string;
  readonly createdAt: Instant;
  readonly payloadKeyId: string;
  readonly payloadSealed: Buffer;
}

/**
 * Leases due messages, one of each receiver in turn, the longest due first. A receiver has at most
 * LIMITS.service_messages_receiver_max, those counted that are under way; the units of a provider are one receiver.
 * What is due, and for how long a lease holds, is database time.
 * @param request.underWay  receivers of what its owner is at, one for each message. @default nothing is
 */
export async function takeServiceMessages(
  sql: Sql,
  request: {
    readonly owner: string;
    readonly lease_ms: number;
    readonly limit: number;
    readonly underWay?: readonly ParticipantId[];
  },
): Promise<TakenMessage[]> {
  const { owner, lease_ms, limit, underWay = [] } = request;
  const rows = await sql<
    {
      readonly id: string;
      readonly kind: ServiceKind;
      readonly firm_id: string | null;
      readonly about: string | null;
      readonly status: OutboundState;
      readonly version: number;
      readonly attempt: number;
      readonly answers: number;
      readonly faults: number;
      readonly sender: string;
      readonly receiver: string;
      readonly document_type_id: string;
      readonly process_id: string;
      readonly as4_message_id: string;
      readonly sbdh_instance_id: string;
      readonly created_at: Date;
      readonly payload_key_id: string;
      readonly payload_sealed: Buffer;
    }[]
  >`
    select id, kind, firm_id, about, status, version, attempt, answers, faults, sender, receiver, document_type_id,
      process_id, as4_message_id, sbdh_instance_id, created_at, payload_key_id, payload_sealed
    from claim_service_messages(${owner}, ${lease_ms}, ${limit}, ${LIMITS.service_messages_receiver_max},
      ${LIMITS.service_messages_looked_max}, ${[...underWay] as string[]}::text[])`;
  return rows.map((row) => ({
    id: row.id,
    kind: row.kind,
    firmId: (row.firm_id ?? undefined) as FirmId | undefined,
    about: row.about ?? undefined,
    status: row.status,
    version: row.version,
    attempt: row.attempt,
    answers: row.answers,
    faults: row.faults,
    sender: row.sender as ParticipantId,
    receiver: row.receiver as ParticipantId,
    documentTypeId: row.document_type_id,
    processId: row.process_id,
    as4MessageId: row.as4_message_id,
    sbdhInstanceId: row.sbdh_instance_id,
    createdAt: row.created_at.getTime(),
    payloadKeyId: row.payload_key_id,
    payloadSealed: row.payload_sealed,
  }));
}

export interface ServiceAttemptEnd {
  readonly id: string;
  readonly version: number;
  readonly status: OutboundState;
  readonly now: Instant;
  /** When the next attempt is due, from now in the database; undefined when there is none. */
  readonly wait_ms: number | undefined;
  readonly uses: PlanUse;
  readonly attempt: {
    readonly number: number;
    readonly outcome: AttemptOutcome;
    readonly code: string | undefined;
    readonly detail: string | undefined;
  };
  /** Recorded when the message is delivered; reports have none. */
  readonly exchange: Json;
}

/**
 * Writes the end of an attempt.
 * @returns undefined when another node decided since; otherwise M1 of the document that a status is about
 */
export async function endServiceAttempt(
  sql: Sql,
  end: ServiceAttemptEnd,
): Promise<{ readonly receivedAt: Instant | undefined } | undefined> {
  const attempt = {
    number: end.attempt.number,
    outcome: end.attempt.outcome,
    code: end.attempt.code ?? null,
    detail: end.attempt.detail ?? null,
  };
  const [row] = await sql<{ readonly received_at: Date | null }[]>`
    select received_at from end_service_attempt(
      ${end.id}, ${end.version}, ${end.status}, ${new Date(end.now)},
      ${end.wait_ms === undefined ? null : Math.round(end.wait_ms)}::bigint, ${end.uses},
      ${JSON.stringify(attempt)}::text::jsonb,
      ${end.exchange === null ? null : JSON.stringify(end.exchange)}::text::jsonb
    )`;
  return row === undefined ? undefined : { receivedAt: row.received_at?.getTime() };
}

/** Whether an attempt at a message was cut, so that it may have arrived. */
export async function wasMessageCut(sql: Sql, id: string): Promise<boolean> {
  const rows = await sql`select 1 from service_attempt where message_id = ${id} and outcome = 'cut' limit 1`;
  return rows.length > 0;
}

/** Where a message stands now, for what comes back to it late; undefined when there is none. */
export async function readMessageStanding(
  sql: Sql,
  id: string,
): Promise<Pick<TakenMessage, "status" | "version"> | undefined> {
  const [row] = await sql<Pick<TakenMessage, "status" | "version">[]>`
    select status, version from service_message where id = ${id}`;
  return row;
}

/**
 * Frees the leases that a node which is known to be gone had of messages and of documents to be judged. @returns how
 * many
 */
export async function releaseServiceLeases(sql: Sql, node: string): Promise<number> {
  const rows = await sql`
    with messages as (
      update service_message set lease_owner = null, lease_until = null, version = version + 1
      where next_attempt_at is not null and starts_with(lease_owner, ${`${node}/`}) returning id
    ), duties as (
      update mls_duty set lease_owner = null, lease_until = null
      where next_at is not null and lease_until is not null and starts_with(lease_owner, ${`${node}/`}) returning id
    )
    select id from messages union all select id from duties`;
  return rows.length;
}

/** What a living process works on, and the ages of leases. */
interface ServiceHand {
  readonly owner: string;
  readonly messages: readonly string[];
  readonly duties: readonly string[];
  readonly lease_ms: number;
  /** Leases that are younger may be on their way to it. */
  readonly young_ms: number;
  /** What it works on has at least so long left afterwards. */
  readonly left_ms: number;
}

/** Renews the leases of what a living process works on, and frees its others. @returns how many are free */
export async function tendServiceLeases(sql: Sql, hand: ServiceHand): Promise<number> {
  const { owner, lease_ms, young_ms, left_ms } = hand;
  const [messages, duties] = [[...hand.messages], [...hand.duties]];
  const rows = await sql`
    with messages as (
      update service_message as m set lease_until = clock_timestamp() + ${lease_ms} * interval '1 millisecond'
      from (
        select k.id from service_message as k
        where k.id = any (${messages}::uuid[]) and case when k.next_attempt_at is not null then true end
          and k.lease_owner = ${owner}
          and k.lease_until < clock_timestamp() + ${left_ms} * interval '1 millisecond'
        for update skip locked
      ) as kept
      where m.id = kept.id
    ), duties as (
      update mls_duty as d set lease_until = clock_timestamp() + ${lease_ms} * interval '1 millisecond'
      from (
        select k.id from mls_duty as k
        where k.id = any (${duties}::uuid[]) and case when k.next_at is not null then true end
          and k.lease_owner = ${owner}
          and k.lease_until < clock_timestamp() + ${left_ms} * interval '1 millisecond'
        for update skip locked
      ) as kept
      where d.id = kept.id
    )
    select id
    from free_idle_service_leases(${owner}, ${messages}::uuid[], ${duties}::uuid[], ${lease_ms}, ${young_ms})`;
  return rows.length;
}

/** A message about something, as its firm may see it. */
export interface ServiceMessageRow {
  readonly id: string;
  readonly code: string;
  readonly note: string | undefined;
  readonly status: OutboundState;
  readonly createdAt: Instant;
}

/** Messages of one kind about one received document, oldest first. */
export async function listServiceMessages(sql: Sql, about: string, kind: ServiceKind): Promise<ServiceMessageRow[]> {
  const rows = await sql<
    {
      readonly id: string;
      readonly code: string;
      readonly note: string | null;
      readonly key_id: string;
      readonly note_sealed: Buffer | null;
      readonly status: OutboundState;
      readonly created_at: Date;
    }[]
  >`
    select id, code, note, payload_key_id as key_id, note_sealed, status, created_at
    from service_message where about = ${about} and kind = ${kind} order by created_at, id`;
  return rows.map((row) => ({
    id: row.id,
    code: row.code,
    note: openedNote(sql, { id: row.id, keyId: row.key_id, clear: row.note, sealed: row.note_sealed }) ?? undefined,
    status: row.status,
    createdAt: row.created_at.getTime(),
  }));
}

/** Whether the evidence has the exchange by which a document or a status was received. */
export async function isReceipted(sql: Sql, receivedId: string): Promise<boolean> {
  const rows = await sql`select 1 from evidence where document_id = ${receivedId} and direction = 'inbound' limit 1`;
  return rows.length > 0;
}
