/** Statements of the Message Level Statuses that we owe, and of the received documents that wait for their verdict. */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { FirmId, ParticipantId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { InboundState } from "../../lifecycle/received.js";
import { batched, inOrder } from "../batched.js";
import { columnJoin, columnPiece, joinColumnPieces } from "../payloads/pieces.js";
import type { ColumnPiece } from "../payloads/pieces.js";
import type { Json, Sql } from "../sql.js";
import { serviceMessageJson } from "./service-messages.js";
import type { NewServiceMessage } from "./service-messages.js";

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
  /** Octets of the document. */
  readonly payloadBytes: number;
}

export const dutyJson = (id: string, duty: NewDuty): Json => ({
  id,
  firm_id: duty.firmId,
  sbdh_instance_id: duty.sbdhInstanceId,
  document_type_id: duty.documentTypeId,
  receiver: duty.receiver,
  always: duty.always,
  received_at: isoInstant(duty.receivedAt),
  next_at: isoInstant(duty.receivedAt),
  payload_bytes: duty.payloadBytes,
});

/** A received document whose status is to be decided, under lease. */
export interface TakenDuty {
  readonly id: string;
  readonly firmId: FirmId;
  readonly sbdhInstanceId: string;
  /** What its envelope says. */
  readonly declared: {
    readonly documentTypeId: string;
    readonly processId: string;
    readonly sender: ParticipantId;
    readonly receiver: ParticipantId;
  };
  /** Provider that is to be told. */
  readonly receiver: ParticipantId;
  readonly always: boolean;
  readonly receivedAt: Instant;
  /** Whether its firm has confirmed it. */
  readonly acknowledged: boolean;
  readonly kind: "business" | "invoice_response";
  /** Whether its firm does not see it yet. */
  readonly held: boolean;
  /** How many octets it has, and as it is stored; they are read apart. Undefined when the payload is gone. */
  readonly payload: { readonly bytes: number; readonly sealedBytes: number } | undefined;
}

interface DutyRow {
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
  readonly has_payload: boolean;
  /** Null of a response that the release before has stored. */
  readonly payload_bytes: number | null;
  readonly sealed_bytes: number | null;
  readonly process_id: string;
  readonly document_sender: string;
  readonly document_receiver: string;
}

const takenOf = (row: DutyRow): TakenDuty => ({
  id: row.id,
  firmId: row.firm_id as FirmId,
  sbdhInstanceId: row.sbdh_instance_id,
  declared: {
    documentTypeId: row.document_type_id,
    processId: row.process_id,
    sender: row.document_sender as ParticipantId,
    receiver: row.document_receiver as ParticipantId,
  },
  receiver: row.receiver as ParticipantId,
  always: row.always,
  receivedAt: row.received_at.getTime(),
  acknowledged: row.acknowledged,
  kind: row.is_response ? "invoice_response" : "business",
  held: row.held,
  payload: row.has_payload
    ? { bytes: row.payload_bytes ?? LIMITS.as4_payload_bytes_max, sealedBytes: row.sealed_bytes ?? 0 }
    : undefined,
});

/** Which documents are taken: those that are unpacked within a room of their own, or the others. */
export type DutySize = "small" | "large";

/**
 * Leases due duties, one of each firm in turn, the longest due first. Of a firm at most LIMITS.duties_firm_max of a
 * size are under lease of an owner. What is due, and for how long a lease holds, is database time.
 */
export async function takeDuties(
  sql: Sql,
  request: { readonly owner: string; readonly lease_ms: number; readonly limit: number; readonly size: DutySize },
): Promise<TakenDuty[]> {
  const rows = await sql<DutyRow[]>`
    select id, firm_id, sbdh_instance_id, document_type_id, receiver, always, received_at, acknowledged, is_response,
      held, has_payload, payload_bytes, sealed_bytes, process_id, document_sender, document_receiver
    from claim_mls_duties(${request.owner}, ${request.lease_ms}, ${request.limit}, ${LIMITS.duties_firm_max},
      ${LIMITS.duties_looked_max}, ${LIMITS.verdict_at_once_bytes_max}, ${request.size === "large"})`;
  return rows.map(takenOf);
}

/** A stored payload under the key that seals it. */
interface DutyPayload {
  readonly keyId: string;
  readonly sealed: Buffer;
}

/** The payload of a document that is to be judged; undefined when it is gone. */
export const findDutyPayload = batched<{ readonly id: string; readonly sealedBytes: number }, DutyPayload | undefined>(
  async (sql, items) => {
    const ids = items.map(({ id }) => id);
    const sealed = sql`d.sealed`;
    const rows = await sql<(ColumnPiece & { readonly key_id: string })[]>`
      select d.id, d.key_id, ${columnPiece(sql, sealed)}
      from (
        select document_id as id, key_id, sealed from payload where document_id = any (${ids}::uuid[])
        union all
        select id, payload_key_id, payload_sealed from inbound_status where id = any (${ids}::uuid[])
      ) as d ${columnJoin(sql, sealed)}`;
    const byId = new Map((await joinColumnPieces(rows)).map((row) => [row.id, row]));
    return ids.map((id) => {
      const row = byId.get(id);
      return row?.sealed == null ? undefined : { keyId: row.key_id, sealed: row.sealed };
    });
  },
  { max: LIMITS.read_batch, bytes: ({ sealedBytes }) => sealedBytes },
);

/** What becomes of the held document that a duty is about. */
export interface HeldEnd {
  readonly to: Extract<InboundState, "RECEIVED" | "REFUSED">;
  /** Why it is refused. */
  readonly findings?: Json;
  /** What lists show of it, sealed; undefined leaves what is there. */
  readonly facts?: Json;
}

interface DutyEnd {
  /** Puts the duty off instead of ending it, for so long in the database. */
  readonly wait_ms?: number | undefined;
  readonly code?: string | undefined;
  readonly message?: NewServiceMessage | undefined;
  readonly document?: HeldEnd | undefined;
}

const text = (value: Json): string => JSON.stringify(value);

const endDuties = batched<{ readonly id: string; readonly end: DutyEnd }, boolean>(
  async (sql, items) => {
    const rows = await sql<{ readonly n: string }[]>`
    select r.n
    from unnest(
      ${items.map(({ id }) => id)}::uuid[],
      ${items.map(({ end: { wait_ms } }) => (wait_ms === undefined ? null : Math.round(wait_ms)))}::bigint[],
      ${items.map(({ end }) => end.code ?? null)}::text[],
      ${items.map(({ end }) => (end.message === undefined ? null : text(serviceMessageJson(end.message))))}::text[],
      ${items.map(({ end }) => end.document?.to ?? null)}::text[],
      ${items.map(({ end }) => (end.document?.findings === undefined ? null : text(end.document.findings)))}::text[],
      ${items.map(({ end }) => (end.document?.facts === undefined ? null : text(end.document.facts)))}::text[]
    ) with ordinality as r (id, wait_ms, code, message, document, findings, facts, n)
    cross join lateral
      end_mls_duty(r.id, r.wait_ms, r.code, r.message::jsonb, r.document, r.findings::jsonb, r.facts::jsonb) as d`;
    return inOrder(items, rows, () => true).map((ended) => ended === true);
  },
  { max: LIMITS.receive_batch, pace_ms: LIMITS.statement_pace_ms, key: ({ id }) => id },
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
