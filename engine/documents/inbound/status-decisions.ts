/** What a Message Level Status or an invoice response does to the document that it is about, decided without I/O. */
import { addDays, bratislavaDay } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import { parseCalendarDay } from "../../base/dates.js";
import { isAttemptable, outboundMove } from "../../lifecycle/document.js";
import type { EventKind, OutboundState, OutboundTrigger } from "../../lifecycle/document.js";
import type { Move } from "../../lifecycle/machine.js";
import { utcDate } from "../../peppol/responses/application-response.js";
import type { InvoiceResponse } from "../../peppol/responses/invoice-response.js";
import type { Mls, MlsCode } from "../../peppol/responses/mls.js";
import { mayFollow } from "../../peppol/responses/response-order.js";
import { providerDigits } from "../../peppol/seats.js";
import type { PendingStatus, StatusOutcome, StatusTarget } from "../../storage/documents/received-responses.js";

/** What an Invoice Response says, and whether it keeps the rules of its type: one that breaks them answers nothing. */
export type SaidResponse = Extract<Said, { readonly kind: "invoice_response" }>;

/** What a status says; nothing when it could not even be fetched. */
export type Said =
  | { readonly kind: "mls"; readonly mls: Mls }
  | { readonly kind: "invoice_response"; readonly response: InvoiceResponse; readonly valid: boolean }
  | { readonly kind: "unreadable"; readonly fault: string }
  | { readonly kind: "unread" };

/**
 * What a status does. `applied` makes a move. `late` finds a document whose life is over and only leaves a mark.
 * `early` waits for our own receipt. The others change nothing.
 */
export type StatusDecision =
  | { readonly outcome: "applied"; readonly trigger: OutboundTrigger; readonly move: Move<OutboundState, EventKind> }
  | { readonly outcome: Exclude<StatusOutcome, "applied" | "unreadable"> | "early" };

const TRIGGERS = { AP: "mls_ap", AB: "mls_ab", RE: "mls_re" } as const satisfies Record<MlsCode, OutboundTrigger>;

function decideMove(target: StatusTarget, trigger: OutboundTrigger): StatusDecision {
  const move = outboundMove(target.status, trigger);
  // A move under an attempt's feet would lose the attempt's own end.
  if (target.leased || (move === undefined && isAttemptable(target.status))) return { outcome: "early" };
  return move === undefined ? { outcome: "late" } : { outcome: "applied", trigger, move };
}

/**
 * What a Message Level Status does.
 * @param from  provider that the envelope names as sender, and seat of the access point that signed it
 * @param target  the document whose InstanceIdentifier the status names
 * @source spec/rulings.md, section 5; design/reliability.md, S-09
 */
export function decideMls(
  mls: Mls,
  from: { readonly sender: string; readonly peerSeat: string },
  target: StatusTarget | undefined,
): StatusDecision {
  if (target === undefined) return { outcome: "unknown" };
  if (providerDigits(from.sender) !== providerDigits(mls.sender)) return { outcome: "foreign" };
  // Until we know whom it was transmitted to, nobody can have taken it.
  if (target.peerSeat === undefined) return { outcome: isAttemptable(target.status) ? "early" : "foreign" };
  if (providerDigits(target.peerSeat) !== providerDigits(from.peerSeat)) return { outcome: "foreign" };
  // A document has one status: the first. What a provider says afterwards cannot be told from a mistake.
  if (target.mls !== undefined) return { outcome: target.mls === mls.code ? "duplicate" : "contradicting" };
  return decideMove(target, TRIGGERS[mls.code]);
}

/**
 * What an Invoice Response does.
 * @param from  sender and receiver of the envelope, which must be the parties of the response; the seat that signed it;
 *   when it came
 * @source spec/rulings.md, section 14, Invoice responses
 */
export function decideResponse(
  { response, valid }: SaidResponse,
  from: Pick<PendingStatus, "sender" | "receiver" | "peerSeat" | "receivedAt">,
  target: StatusTarget | undefined,
): StatusDecision {
  const isForeign =
    response.sender.toLowerCase() !== from.sender.toLowerCase() ||
    response.receiver.toLowerCase() !== from.receiver.toLowerCase();
  if (isForeign) return { outcome: "foreign" };
  if (target === undefined) return { outcome: "unknown" };
  if (target.isReceiverOurs && isOtherSeat(target, from.peerSeat)) return { outcome: "foreign" };
  if (!valid) return { outcome: "invalid" };
  if (target.responded !== undefined)
    return { outcome: target.responded === response.code ? "duplicate" : "contradicting" };
  if (target.isAmbiguous) return { outcome: "ambiguous" };
  if (isMisdated(response, from.receivedAt, target.issueDate)) return { outcome: "misdated" };
  // Days, not times: the time of a response is optional.
  if (target.response !== undefined && response.issuedOn < utcDate(target.response.issuedAt))
    return { outcome: "outdated" };
  if (!mayFollow(target.response?.code, response.code, target.responses)) return { outcome: "out_of_order" };
  return decideMove(target, "invoice_response");
}

/** Whether a response was signed by another seat than the one that took the document. */
export const isOtherSeat = ({ peerSeat }: StatusTarget, seat: string): boolean =>
  peerSeat !== undefined && peerSeat !== seat;

/** A response that is older than its document, or dated after tomorrow, would shut out every later one. */
function isMisdated(response: InvoiceResponse, receivedAt: Instant, issueDate: string | undefined): boolean {
  const [answered, issued] = [response.issuedOn, issueDate ?? ""].map((text) => parseCalendarDay(text)?.ordinal);
  if (answered === undefined) return true;
  return (issued !== undefined && answered < issued) || response.issuedOn > addDays(bratislavaDay(receivedAt), 1);
}
