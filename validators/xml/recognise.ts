/** What a payload is when it is no UBL document: other formats by their first octets, other documents by their root. */
import { isUtf8 } from "node:buffer";

import { isSpace } from "./space.js";

/** Octets that formats begin with, and the fault that names each. */
const SIGNATURES = [
  { fault: "XML-IS-GZIP", octets: [0x1f, 0x8b] },
  { fault: "XML-IS-PDF", octets: [0x25, 0x50, 0x44, 0x46] },
  { fault: "XML-IS-ZIP", octets: [0x50, 0x4b, 0x03, 0x04] },
] as const;

const OPENING_BRACE = 0x7b;
const OPENING_BRACKET = 0x5b;

/** The fault of a payload that is another format than XML, or undefined. Looks at the first octets only. */
export function formatFault(
  bytes: Uint8Array,
): "XML-IS-GZIP" | "XML-IS-PDF" | "XML-IS-ZIP" | "XML-IS-JSON" | undefined {
  const known = SIGNATURES.find(({ octets }) => octets.every((octet, i) => bytes[i] === octet));
  if (known !== undefined) return known.fault;
  let at = 0;
  while (at < bytes.length && isSpace(bytes[at])) at++;
  return bytes[at] === OPENING_BRACE || bytes[at] === OPENING_BRACKET ? "XML-IS-JSON" : undefined;
}

/** How many octets a character of UTF-8 has by its first one; 0 for octets that begin none. */
const lengthOf = (octet: number): number =>
  octet < 0x80 ? 1 : octet < 0xc2 ? 0 : octet < 0xe0 ? 2 : octet < 0xf0 ? 3 : octet < 0xf5 ? 4 : 0;

/** Where the first octet stands that is no UTF-8; the length when all of them are. */
export function firstBadOctet(bytes: Uint8Array): number {
  let at = 0;
  while (at < bytes.length) {
    const length = lengthOf(bytes[at] ?? 0);
    if (length === 0 || (length > 1 && !isUtf8(bytes.subarray(at, at + length)))) return at;
    at += length;
  }
  return at;
}

/** Document elements of other standards that are sent by mistake, and what to do about each. */
const FOREIGN_ROOTS: Readonly<Record<string, string>> = {
  "urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100#CrossIndustryInvoice":
    "This is a UN/CEFACT Cross Industry Invoice (CII), the syntax of Factur-X and ZUGFeRD. Convert it to a UBL 2.1 Invoice or CreditNote.",
  "http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader#StandardBusinessDocument":
    "This is a Standard Business Document, the envelope of the Peppol network. Send the UBL document inside it without the envelope.",
};

/** The sentence about a document element that is known and is none of ours, or undefined. */
export const foreignRoot = (namespace: string, local: string): string | undefined => {
  const key = `${namespace}#${local}`;
  return Object.hasOwn(FOREIGN_ROOTS, key) ? FOREIGN_ROOTS[key] : undefined;
};
