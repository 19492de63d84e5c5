/** Invoices of any size, and the standard business document around them. */
import { createHash } from "node:crypto";

import { parseParticipantId } from "../../../engine/base/ids.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { wrapDocument } from "../../../engine/peppol/envelope/byte-exact.js";

export const KiB = 1_024;
export const MiB = 1_024 * KiB;

export const INVOICE_TYPE =
  "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0::2.1";
export const BILLING = "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0";
export const SENDER = "0245:2020202020";
export const RECEIVER = "0245:1234567890";
/** See Inbox.java: phase4 does not serve the one, and fails at the first document with a new id for the other. */
export const NOT_SERVED = "0245:4040404040";
export const UNLUCKY = "0245:5050505050";
/** See Registry.java. */
export const NOT_SERVED_TYPE =
  "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:example:not-served::2.1";

const OPEN =
  '<?xml version="1.0" encoding="UTF-8"?>\n<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2" xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"><cbc:ID>Čerešňa</cbc:ID>';
const CLOSE = "</Invoice>\n";
const NOTE_BYTES = 8 * KiB;

/**
 * Well-formed XML of exactly `bytes` octets.
 * @param repeats  how often each piece of its text is repeated: 1 is text that gzip shrinks by a quarter only, 8 is what
 *   gzip makes of a real invoice.
 */
export function invoiceOf(bytes: number, repeats = 1): Buffer {
  const parts: Buffer[] = [Buffer.from(OPEN)];
  let left = bytes - Buffer.byteLength(OPEN) - CLOSE.length;
  const frame = "<cbc:Note></cbc:Note>".length;
  for (let count = 0; left > 0; count += 1) {
    const length = left < NOTE_BYTES + 2 * frame ? left - frame : NOTE_BYTES;
    parts.push(
      Buffer.from(
        `<cbc:Note>${noise(count, Math.ceil(length / repeats))
          .repeat(repeats)
          .slice(0, length)}</cbc:Note>`,
      ),
    );
    left -= length + frame;
  }
  return Buffer.concat([...parts, Buffer.from(CLOSE)]);
}

function noise(seed: number, length: number): string {
  const blocks = Array.from({ length: Math.ceil(length / 86) + 1 }, (_, index) =>
    createHash("sha512").update(`${seed} ${index}`).digest("base64url"),
  );
  return blocks.join("").slice(0, Math.max(0, length));
}

export interface Envelope {
  readonly sender?: string;
  readonly receiver?: string;
  readonly documentType?: string;
  readonly instanceId: string;
}

/** As our engine wraps a document. */
export function wrap(
  payload: Buffer,
  { sender = SENDER, receiver = RECEIVER, documentType = INVOICE_TYPE, instanceId }: Envelope,
): Buffer {
  const built = wrapDocument({
    sender: participant(sender),
    receiver: participant(receiver),
    documentType,
    process: BILLING,
    instanceId,
    createdAt: Date.parse("2026-11-20T10:00:00Z"),
    countryC1: "SK",
    payload,
  });
  if (built.kind === "refused") throw new Error(`the document could not be wrapped: ${built.fault}`);
  return built.bytes;
}

function participant(text: string): ParticipantId {
  const id = parseParticipantId(text);
  if (id === undefined) throw new Error(`${text} is no participant`);
  return id;
}
