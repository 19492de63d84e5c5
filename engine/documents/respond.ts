/** A firm's answer to an invoice that it received: a Peppol Invoice Response to the seller. */
import { type Clock, type Instant, isoInstant } from "../clock.js";
import { Refusal } from "../errors.js";
import { type FirmId, newId, type ParticipantId, participantKey, type ReceivedDocumentId } from "../ids.js";
import { LIMITS } from "../limits.js";
import {
  buildInvoiceResponse, INVOICE_RESPONSE_DOCUMENT_TYPE, INVOICE_RESPONSE_PROFILE, RESPONSE_OF_STATUS, type ResponseCode, type ResponseStatus,
} from "../peppol/invoice-response.js";
import { partyNames } from "../peppol/party-names.js";
import { findReceived } from "../storage/received.js";
import type { Sealer } from "../storage/sealer.js";
import { addServiceMessage, listServiceMessages, type SentMessage } from "../storage/service-messages.js";
import { orTemporary, type Sql } from "../storage/sql.js";
import type { Validators } from "./facts.js";
import { newServiceMessage, openPayload } from "./provider.js";

export interface RespondPorts {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly validators: Validators;
  /** Tells the status work that a message is due. */
  readonly poke: () => void;
}

export interface RespondRequest {
  readonly firmId: FirmId;
  /** Name of the answering firm. */
  readonly firmName: string;
  /** The firm's participant that received the document. */
  readonly participant: ParticipantId;
  readonly documentId: ReceivedDocumentId;
  readonly status: ResponseStatus;
  readonly note: string | undefined;
}

/** @source spec/rulings.md, section 11, respond */
export interface RespondReply {
  readonly id: ReceivedDocumentId;
  readonly response: { readonly status: ResponseStatus; readonly direction: "sent"; readonly delivery: "sent" | "queued"; readonly reason: string | null; readonly respondedAt: string };
  /** Whether the firm had given this very answer already. */
  readonly idempotent: boolean;
}

/** What an invoice is called in an answer to it; nothing for a document that has no number. */
interface Answered {
  readonly seller: { readonly participant: ParticipantId; readonly name: string };
  readonly buyerName: string;
  readonly number: string;
  readonly issueDate: string | undefined;
  readonly typeCode: string;
}

/** An invoice when the document does not say what it is. */
const TYPE_CODE_DEFAULT = "380";
const DAY = /^\d{4}-\d\d-\d\d$/;

async function answered(ports: RespondPorts, request: RespondRequest, now: Instant): Promise<Answered> {
  const document = await orTemporary(findReceived(ports.sql, participantKey(request.participant), request.documentId));
  if (document === undefined) throw new Refusal("NOT_FOUND");
  const payload = openPayload(ports.sealer, document.id, document.payloadKeyId, document.payloadSealed);
  const { facts } = await ports.validators.inspect(payload, { fairnessKey: `received/${request.firmId}`, receivedAt: now });
  const number = facts?.documentNumber;
  if (number === undefined || number.trim() === "") throw new Refusal("DOCUMENT_INVALID", [{ message: "The received document has no number that an answer could name." }]);
  const names = partyNames(payload);
  return {
    seller: { participant: document.sender as ParticipantId, name: names.supplier ?? document.sender }, buyerName: request.firmName, number: number.trim(),
    issueDate: facts?.issueDate !== undefined && DAY.test(facts.issueDate) ? facts.issueDate : undefined, typeCode: facts?.typeCode?.trim() ?? TYPE_CODE_DEFAULT,
  };
}

const replyOf = (request: RespondRequest, sent: Pick<SentMessage, "status" | "createdAt" | "note">, idempotent: boolean): RespondReply => ({
  id: request.documentId,
  response: {
    status: request.status, direction: "sent", delivery: sent.status === "delivered" ? "sent" : "queued", reason: sent.note ?? null, respondedAt: isoInstant(sent.createdAt),
  },
  idempotent,
});

/**
 * Answers a received document. The same answer as the last one is given back and not sent again.
 * @throws Refusal NOT_FOUND, DOCUMENT_INVALID for a document without a number, TEMPORARY
 */
export async function respond(ports: RespondPorts, request: RespondRequest): Promise<RespondReply> {
  const code: ResponseCode = RESPONSE_OF_STATUS[request.status];
  const note = request.note?.trim() === "" ? undefined : request.note?.trim();
  for (let i = 0; i < LIMITS.stale_version_retries; i += 1) {
    const now = ports.clock.now();
    const earlier = await orTemporary(listServiceMessages(ports.sql, request.documentId, "invoice_response"));
    const last = earlier.at(-1);
    if (last?.code === code && last.note === note) {
      // The answers of a firm are found by its document: another firm's request must not see them.
      await assertReceived(ports, request);
      return replyOf(request, last, true);
    }
    const { seller, buyerName, ...invoice } = await answered(ports, request, now);
    const id = newId(ports.clock);
    const payload = buildInvoiceResponse({ id, issuedAt: now, sender: { participant: request.participant, name: buyerName }, receiver: seller, code, note, invoice });
    const message = newServiceMessage(ports, {
      id, kind: "invoice_response", subject: `response/${request.documentId}/${earlier.length + 1}`, firmId: request.firmId, about: request.documentId, code,
      ...(note === undefined ? {} : { note }), sender: request.participant, receiver: seller.participant, documentTypeId: INVOICE_RESPONSE_DOCUMENT_TYPE,
      processId: INVOICE_RESPONSE_PROFILE, payload,
    });
    // Two answers at once take one number: the second looks again.
    if (!await orTemporary(addServiceMessage(ports.sql, message))) continue;
    ports.poke();
    return replyOf(request, { status: "queued", createdAt: message.createdAt, note }, false);
  }
  throw new Refusal("TEMPORARY", [], { retryAfter_s: LIMITS.temporary_retry_after_s });
}

async function assertReceived({ sql }: RespondPorts, request: RespondRequest): Promise<void> {
  if (await orTemporary(findReceived(sql, participantKey(request.participant), request.documentId)) === undefined) throw new Refusal("NOT_FOUND");
}

/** The last answer that a firm gave to a received document; undefined when it gave none. @throws Refusal TEMPORARY */
export async function readResponse(sql: Sql, id: ReceivedDocumentId): Promise<{ readonly status: ResponseStatus; readonly delivery: "sent" | "queued" | "failed"; readonly reason: string | null; readonly respondedAt: string } | undefined> {
  const last = (await orTemporary(listServiceMessages(sql, id, "invoice_response"))).at(-1);
  if (last === undefined) return undefined;
  const status = (Object.keys(RESPONSE_OF_STATUS) as ResponseStatus[]).find((name) => RESPONSE_OF_STATUS[name] === last.code) ?? "received";
  const delivery = last.status === "delivered" ? "sent" : last.status === "queued" || last.status === "sent" ? "queued" : "failed";
  return { status, delivery, reason: last.note ?? null, respondedAt: isoInstant(last.createdAt) };
}
