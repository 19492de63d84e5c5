/** What a participant with a fate says to a document that it took: a response, or a status of its provider. */
import { promisify } from "node:util";
import { gunzip } from "node:zlib";

import type { Clock } from "../base/clock.js";
import { newId, participantParts } from "../base/ids.js";
import type { ParticipantId } from "../base/ids.js";
import { LIMITS } from "../base/limits.js";
import type { ResponseCode } from "../lifecycle/response.js";
import { PEER_SEAT } from "../peppol/pki/peer-keys.js";
import {
  buildInvoiceResponse,
  INVOICE_RESPONSE_DOCUMENT_TYPE,
  INVOICE_RESPONSE_PROFILE,
} from "../peppol/responses/invoice-response.js";
import { MLS_DOCUMENT_TYPE, MLS_PROCESS } from "../peppol/responses/mls.js";
import { buildMls } from "../peppol/responses/mls-builder.js";
import type { InboundExchange } from "../peppol/transport.js";
import { providerOf } from "./peer.js";
import type { Posting } from "./posting.js";

/** What of a document its answer names. */
interface Named {
  readonly number: string | null;
  readonly issueDate: string | null;
  readonly typeCode: string | null;
  readonly sellerName: string | null;
  readonly buyerName: string | null;
}

/** Reads a document in a worker; undefined for one that cannot be read. */
export type NameReader = (payload: Uint8Array) => Promise<Named | undefined>;

const unpack = promisify<Uint8Array, object, Buffer>(gunzip);

/** The response of the receiver to the sender of a document. @returns undefined for a document without a number */
export async function responseTo(
  taken: InboundExchange,
  code: ResponseCode,
  { read, clock }: { readonly read: NameReader; readonly clock: Clock },
): Promise<Posting | undefined> {
  const payload = Buffer.isBuffer(taken.payload)
    ? taken.payload
    : await unpack(taken.payload.compressed, { maxOutputLength: LIMITS.as4_payload_bytes_max });
  const named = await read(payload);
  if (named === undefined || named.number === null) return undefined;
  return {
    from: taken.receiver,
    to: taken.sender,
    documentTypeId: INVOICE_RESPONSE_DOCUMENT_TYPE,
    processId: INVOICE_RESPONSE_PROFILE,
    payload: buildInvoiceResponse({
      id: newId(clock),
      issuedAt: clock.now(),
      sender: { participant: taken.receiver, name: named.buyerName ?? taken.receiver },
      receiver: { participant: taken.sender, name: named.sellerName ?? taken.sender },
      code,
      note: "The sandbox's participant answers this to every document.",
      invoice: {
        number: named.number,
        issueDate: named.issueDate ?? undefined,
        typeCode: named.typeCode ?? "380",
      },
    }),
  };
}

/** The status of the receiving provider about a document. @returns undefined for a sender without a provider */
export function statusAbout(taken: InboundExchange, rule: string, clock: Clock): Posting | undefined {
  const seat = taken.envelope?.peerSeat;
  if (seat === undefined) return undefined;
  const [from, to] = [providerOf(PEER_SEAT), providerOf(seat)];
  const value = (id: ParticipantId): string => participantParts(id).value;
  return {
    from,
    to,
    documentTypeId: MLS_DOCUMENT_TYPE,
    processId: MLS_PROCESS,
    payload: buildMls({
      id: newId(clock),
      issuedAt: clock.now(),
      sender: value(from),
      receiver: value(to),
      code: "RE",
      description: `The document breaks the rule ${rule}.`,
      reference: taken.sbdhInstanceId,
      issues: [{ location: "NA", reason: "BV", description: `${rule}: refused by the sandbox's participant.` }],
    }),
  };
}
