/** Statements that find the Message Level Status of an exchange, with its sealed bytes, for the exchange's evidence. */
import type { Instant } from "../../base/clock.js";
import type { OutboundState } from "../../lifecycle/document.js";
import type { Sql } from "../sql.js";
import { STATUS_OUTCOMES } from "./received-responses.js";
import type { StatusOutcome } from "./received-responses.js";

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
interface OwedMls {
  /** Whether it is decided; without a message nothing had to be said. */
  readonly decided: boolean;
  readonly message:
    | (SealedStatus & { readonly status: OutboundState; readonly deliveredAt: Instant | undefined })
    | undefined;
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

/** An answer of a buyer to a document of ours, whether it counts or not. */
interface SealedResponse extends SealedStatus {
  readonly outcome: StatusOutcome;
  /** When it was told in the timeline, which is the time of its event; of one that does not count, when it came. */
  readonly at: Instant;
}

/**
 * The newest answers to a document, oldest first: those that count before all others, which have turns by what became
 * of them, so that many of one kind hide none of another. As many of each are read as are listed.
 * @param documentId  whose it is has been checked
 */
export async function listReceivedResponses(sql: Sql, documentId: string, limit: number): Promise<SealedResponse[]> {
  const rows = await sql<
    (SealedRow & {
      readonly outcome: StatusOutcome;
      readonly at: Date;
    })[]
  >`
    with newest as (
      select s.id, s.code, s.payload_key_id, s.payload_sealed, s.payload_sha256, s.outcome, s.received_at, s.handled_at,
        row_number() over (partition by s.outcome order by s.received_at desc, s.id desc) as turn
      from unnest(${[...STATUS_OUTCOMES]}::text[]) as o (outcome) cross join lateral (
        select id, code, payload_key_id, payload_sealed, payload_sha256, outcome, received_at, handled_at
        from inbound_status
        where document_id = ${documentId} and kind = 'invoice_response' and inbound_status.outcome = o.outcome
        order by received_at desc limit ${limit}
      ) as s
    ), listed as (
      select id, code, payload_key_id, payload_sealed, payload_sha256, outcome, received_at, handled_at
      from newest order by outcome <> 'applied', turn, received_at desc, id desc limit ${limit}
    )
    select id, code, payload_key_id, payload_sealed, payload_sha256, outcome,
      case when outcome = 'applied' then handled_at else received_at end as at
    from listed order by received_at, id`;
  return rows.map((row) => ({ ...sealedOf(row), outcome: row.outcome, at: row.at.getTime() }));
}
