/** Statements of the confirmed exchanges with other access points: what the network's reports count. */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { FirmId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { batched } from "../batched.js";
import type { Json } from "../sql.js";

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
  exchanged_at: isoInstant(exchange.exchangedAt),
});

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
      ${exchanges.map(({ exchangedAt }) => isoInstant(exchangedAt))}::timestamptz[]
    ) as e (id, c2_seat, c3_seat, transport_profile, c1_country, exchanged_at)
    join document as d on d.id = e.id
    on conflict (id) do nothing returning id`;
    const added = new Set(rows.map(({ id }) => id));
    return exchanges.map(({ id }) => added.has(id));
  },
  { max: LIMITS.attempts_batch, pace_ms: LIMITS.statement_pace_ms, key: ({ id }) => id },
);
