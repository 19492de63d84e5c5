/**
 * Bodies of SAPI sends for benchmarks, as text with holes: the client must cost as little as it can, it shares the
 * cores.
 */
import { randomUUID } from "node:crypto";

import { bratislavaDay, systemClock } from "../engine/base/clock.js";
import { sampleInvoice } from "../engine/invoices/sample-invoice.js";
import type { ParticipantId } from "../engine/base/ids.js";
import { BILLING_CAPABILITIES } from "../engine/peppol/envelope/identifiers.js";
import type { BenchFirm } from "./engine.js";
import type { LoadRequest } from "./load.js";

/** Lines that make a body of about 12 KB. */
export const LINES = 6;
/** Sends a minute that a key may make, less a margin for the edges of the window. */
const PER_KEY_PER_MINUTE = 140;

/** How many firms it takes to send so many documents in a minute. */
export const firmsFor = (perMinute: number): number => Math.ceil(perMinute / PER_KEY_PER_MINUTE);

/** Stands where each request has its own number; digits, because the payment reference is made of them. */
const NUMBER = "@N00000001@";

/** What the requests of one firm have in common. */
export interface Template {
  readonly firm: BenchFirm;
  /** The body around the number and the documentId. */
  readonly parts: readonly string[];
}

/** The send body of a firm. */
export function templateOf(firm: BenchFirm, receiver: string): Template {
  const payload = sampleInvoice({
    sender: firm.participantId as ParticipantId,
    receiver: receiver as ParticipantId,
    senderName: "Bench s. r. o.",
    receiverName: "Príjemca a. s.",
    number: NUMBER,
    issueDate: bratislavaDay(systemClock.now()),
    lines: LINES,
  });
  const body = JSON.stringify({
    metadata: {
      documentId: NUMBER,
      documentTypeId: BILLING_CAPABILITIES[0]?.documentTypeId,
      processId: BILLING_CAPABILITIES[0]?.processId,
      senderParticipantId: firm.participantId,
      receiverParticipantId: receiver,
      creationDateTime: "2026-11-20T09:00:00Z",
    },
    payload,
    payloadFormat: "XML",
  });
  return { firm, parts: body.split(NUMBER) };
}

/** Where all interfaces of an engine are. */
export const originOf = ({ sapiBaseUrl }: { readonly sapiBaseUrl: string }): string => new URL(sapiBaseUrl).origin;

/** Makes sends of the firms in turn, each with its own number, documentId and key. */
export function requests(templates: readonly Template[], path = "/sapi/v1/document/send"): () => LoadRequest {
  let n = 0;
  return () => {
    const { firm, parts } = templates[n++ % templates.length] as Template;
    const id = randomUUID();
    return {
      method: "POST",
      path,
      body: parts.join(id),
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${firm.token}`,
        "x-peppol-participant-id": firm.participantId,
        "idempotency-key": id,
      },
    };
  };
}
