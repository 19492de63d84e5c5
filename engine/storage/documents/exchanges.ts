/** The confirmed exchanges with other access points, as the statements that make them write them, for reports. */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { FirmId } from "../../base/ids.js";
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
