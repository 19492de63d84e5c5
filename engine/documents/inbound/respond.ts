/** A firm's answer to an invoice that it received: a Peppol Invoice Response to the seller. */
import { isoInstant } from "../../base/clock.js";
import type { Clock, Instant } from "../../base/clock.js";
import { Refusal, temporary } from "../../base/errors.js";
import { newId } from "../../base/ids.js";
import type { FirmId, ParticipantId, ReceivedDocumentId } from "../../base/ids.js";
import { RECEIVED_STATES } from "../../lifecycle/received.js";
import { LIMITS } from "../../base/limits.js";
import { UBL_CREDIT_NOTE, UBL_INVOICE } from "../../peppol/envelope/identifiers.js";
import {
  buildInvoiceResponse,
  INVOICE_RESPONSE_DOCUMENT_TYPE,
  INVOICE_RESPONSE_PROFILE,
} from "../../peppol/responses/invoice-response.js";
import { isLostResponse, RESPONSE_DELIVERY, RESPONSE_OF_STATUS, statusNamed } from "../../lifecycle/response.js";
import type { ResponseCode, ResponseStatus } from "../../lifecycle/response.js";
import type { ResponseParty } from "../../peppol/responses/invoice-response.js";
import { mayFollow } from "../../peppol/responses/response-order.js";
import { findAnswerable, findReceivedState } from "../../storage/documents/received.js";
import { openPayload } from "../../storage/payloads/payloads.js";
import type { Sealer } from "../../storage/sealer.js";
import { addServiceMessage, listServiceMessages } from "../../storage/documents/service-messages.js";
import type { ServiceMessageRow } from "../../storage/documents/service-messages.js";
import { orNotFound, orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import type { DocumentFacts, Validators } from "../accept/facts.js";
import { newServiceMessage } from "../provider.js";
import { isSame } from "../declared.js";

export interface RespondPorts {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly validators: Validators;
  /** Tells the status work that a message is due. */
  readonly poke: () => void;
}

export interface RespondRequest {
  /** The answering firm: a document that another one received is no document of it. */
  readonly firmId: FirmId;
  readonly documentId: ReceivedDocumentId;
  readonly status: ResponseStatus;
  readonly note: string | undefined;
}

/** @source spec/rulings.md, section 11, respond */
export interface RespondReply {
  readonly id: ReceivedDocumentId;
  readonly response: {
    readonly status: ResponseStatus;
    readonly direction: "sent";
    readonly delivery: "sent" | "queued";
    readonly reason?: string;
    readonly respondedAt: string;
  };
  /** Whether the firm had given this very answer already. */
  readonly idempotent: boolean;
}

/** What an invoice is called in an answer to it; nothing for a document that has no number. */
interface Answered {
  readonly seller: ResponseParty;
  readonly buyer: ResponseParty;
  readonly number: string;
  readonly issueDate: string | undefined;
  readonly typeCode: string;
}

/** What can be answered, and its type code when the document does not say one. */
const TYPE_CODES: ReadonlyMap<string, string> = new Map([
  [UBL_INVOICE, "380"],
  [UBL_CREDIT_NOTE, "381"],
]);
const DAY = /^\d{4}-\d\d-\d\d$/;

/**
 * The seller sends the invoice, in self-billing the buyer does: whose address the sender is says whose name it bears.
 */
const nameOf = (facts: DocumentFacts, participant: ParticipantId): string | undefined =>
  [
    { endpoint: facts.supplierEndpoint, name: facts.supplierName },
    { endpoint: facts.customerEndpoint, name: facts.customerName },
  ].find(({ endpoint }) => isSame(endpoint, participant))?.name;

async function answered(ports: RespondPorts, request: RespondRequest, now: Instant): Promise<Answered> {
  const document = await orNotFound(findAnswerable(ports.sql, request.firmId, request.documentId));
  const payload = await openPayload(ports.sealer, request.documentId, document.payloadKeyId, document.payloadSealed);
  const { facts } = await ports.validators.inspect(payload, {
    fairnessKey: `received/${request.firmId}`,
    receivedAt: now,
  });
  const typeCode = TYPE_CODES.get(facts?.rootNamespace ?? "");
  if (facts === undefined || typeCode === undefined)
    throw new Refusal("DOCUMENT_INVALID", [
      { message: "Only invoices and credit notes are answered with an Invoice Response." },
    ]);
  const number = facts.documentNumber?.trim() ?? "";
  if (number === "")
    throw new Refusal("DOCUMENT_INVALID", [
      { message: "The received document has no number that an answer could name." },
    ]);
  return {
    seller: { participant: document.sender, name: nameOf(facts, document.sender) ?? document.sender },
    buyer: { participant: document.receiver, name: document.firmName },
    number,
    issueDate: facts.issueDate !== undefined && DAY.test(facts.issueDate) ? facts.issueDate : undefined,
    typeCode: facts.typeCode ?? typeCode,
  };
}

const replyOf = (
  request: RespondRequest,
  sent: Pick<ServiceMessageRow, "status" | "createdAt" | "note">,
  idempotent: boolean,
): RespondReply => ({
  id: request.documentId,
  response: {
    status: request.status,
    direction: "sent",
    delivery: RESPONSE_DELIVERY[sent.status],
    ...(sent.note === undefined ? {} : { reason: sent.note }),
    respondedAt: isoInstant(sent.createdAt),
  },
  idempotent,
});

/**
 * Answers a received document. The same answer as the last one is given back and not sent again, unless that one was
 * lost.
 * @throws Refusal NOT_FOUND, DOCUMENT_INVALID for what is no invoice or has no number, TEMPORARY
 */
export async function respond(ports: RespondPorts, request: RespondRequest): Promise<RespondReply> {
  const code: ResponseCode = RESPONSE_OF_STATUS[request.status];
  const note = request.note?.trim() === "" ? undefined : request.note?.trim();
  for (let i = 0; i < LIMITS.stale_version_retries; i += 1) {
    const earlier = await orTemporary(listServiceMessages(ports.sql, request.documentId, "invoice_response"));
    // After the look, so that an answer is never older than one that it has seen.
    const now = ports.clock.now();
    const last = earlier.at(-1);
    if (last?.code === code && last.note === note && !isLostResponse(last.status)) {
      // The answers of a firm are found by its document: another firm's request must not see them.
      const state = await orTemporary(findReceivedState(ports.sql, request.firmId, request.documentId));
      if (!RECEIVED_STATES.some((seen) => seen === state?.status)) throw new Refusal("NOT_FOUND");
      return replyOf(request, last, true);
    }
    const { seller, buyer, ...invoice } = await answered(ports, request, now);
    const counting = earlier.findLast((sent) => !isLostResponse(sent.status))?.code;
    if (!mayFollow(counting, code))
      throw new Refusal("RESPONSE_STATE", [
        { field: "status", message: `The document is ${statusNamed(counting)} already.` },
      ]);
    const id = newId(ports.clock);
    const payload = buildInvoiceResponse({ id, issuedAt: now, sender: buyer, receiver: seller, code, note, invoice });
    const message = await newServiceMessage(ports, {
      id,
      kind: "invoice_response",
      subject: `response/${request.documentId}/${earlier.length + 1}`,
      firmId: request.firmId,
      about: request.documentId,
      code,
      ...(note === undefined ? {} : { note }),
      sender: buyer.participant,
      receiver: seller.participant,
      documentTypeId: INVOICE_RESPONSE_DOCUMENT_TYPE,
      processId: INVOICE_RESPONSE_PROFILE,
      payload,
      createdAt: now,
    });
    // Two answers at once take one number: the second looks again.
    if (!(await orTemporary(addServiceMessage(ports.sql, message)))) continue;
    ports.poke();
    return replyOf(request, { status: "queued", createdAt: message.createdAt, note }, false);
  }
  throw temporary();
}
