/**
 * The table of document types for tests of what is declared: every specification that we know, plain and extended, with
 * the roots that it is for, the process that it belongs to and which of its parties sends. Written from the published
 * specifications; no decision of the engine is imported.
 */
import type { ParticipantId } from "../../../engine/base/ids.js";
import { sampleInvoice } from "../../../engine/invoices/sample-invoice.js";
import { buildInvoiceResponse } from "../../../engine/peppol/responses/invoice-response.js";

const UBL = "urn:oasis:names:specification:ubl:schema:xsd:";
const BIS = "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:";
const EXTENSION = "#conformant#urn:x";

/** The root elements of what is known. */
export const KNOWN_ROOTS = ["Invoice", "CreditNote", "ApplicationResponse"] as const;
export type KnownRoot = (typeof KNOWN_ROOTS)[number];

/** Every known ProfileID. */
export const KNOWN_PROCESSES = [
  "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0",
  "urn:fdc:peppol.eu:2017:poacc:selfbilling:01:1.0",
  "urn:fdc:peppol.eu:2017:poacc:billing:02:1.0",
  "urn:peppol:bis:billing_with_response",
  "urn:fdc:peppol.eu:poacc:bis:invoice_response:3",
  "urn:peppol:edec:mls",
] as const;

/** One specification. */
export interface KnownType {
  readonly customization: string;
  readonly roots: readonly KnownRoot[];
  /** Its own process. */
  readonly process: (typeof KNOWN_PROCESSES)[number];
  /** The party whose access point sends it. */
  readonly sends: "supplier" | "customer";
  readonly isExtended: boolean;
}

const BILLED = ["Invoice", "CreditNote"] as const;
const PLAIN: readonly Omit<KnownType, "isExtended">[] = [
  { customization: "urn:cen.eu:en16931:2017", roots: BILLED, process: KNOWN_PROCESSES[0], sends: "supplier" },
  { customization: `${BIS}billing:3.0`, roots: BILLED, process: KNOWN_PROCESSES[0], sends: "supplier" },
  { customization: `${BIS}selfbilling:3.0`, roots: BILLED, process: KNOWN_PROCESSES[1], sends: "customer" },
  {
    customization: "urn:fdc:peppol.eu:poacc:trns:invoice_response:3",
    roots: ["ApplicationResponse"],
    process: KNOWN_PROCESSES[4],
    sends: "supplier",
  },
  {
    customization: "urn:peppol:edec:mls:1.0",
    roots: ["ApplicationResponse"],
    process: KNOWN_PROCESSES[5],
    sends: "supplier",
  },
];

/** Each specification as it is, and with an extension of somebody's. */
export const KNOWN_TYPES: readonly KnownType[] = PLAIN.flatMap((type) => [
  { ...type, isExtended: false },
  { ...type, customization: type.customization + EXTENSION, isExtended: true },
]);

/** The document type identifier of a specification with a root. */
export const typeIdOf = (root: KnownRoot, customization: string): string =>
  `${UBL}${root}-2::${root}##${customization}::2.1`;

/** What a document says of itself. */
export interface Saying {
  readonly root: KnownRoot;
  readonly customization: string;
  readonly process: string;
  /** Which of its parties is the one that the envelope names as sender. */
  readonly sends: "supplier" | "customer";
}

/** A credit note out of an invoice: other names, and no due date of its own. */
const credited = (invoice: string): string =>
  invoice
    .replaceAll("InvoiceLine", "CreditNoteLine")
    .replaceAll("InvoicedQuantity", "CreditedQuantity")
    .replace(/<cbc:DueDate>[^<]*<\/cbc:DueDate>/u, "")
    .replace(
      /<cbc:InvoiceTypeCode>[^<]*<\/cbc:InvoiceTypeCode>/u,
      "<cbc:CreditNoteTypeCode>381</cbc:CreditNoteTypeCode>",
    )
    .replace(/(<\/?)Invoice\b/gu, "$1CreditNote")
    .replace("schema:xsd:Invoice-2", "schema:xsd:CreditNote-2");

/** Type codes of self-billing. */
const selfBilled = (text: string): string =>
  text.replace(/(TypeCode>)380</u, "$1389<").replace(/(TypeCode>)381</u, "$1261<");

/** A document that says so of itself and is otherwise in order. */
export function documentSaying(
  { root, customization, process, sends }: Saying,
  people: { readonly sender: ParticipantId; readonly receiver: ParticipantId },
  number: string,
): Buffer {
  const issueDate = "2026-11-20";
  if (root === "ApplicationResponse") {
    const response = buildInvoiceResponse({
      id: number,
      issuedAt: Date.parse(`${issueDate}T09:00:00Z`),
      code: "AP",
      note: undefined,
      sender: { participant: sends === "supplier" ? people.sender : people.receiver, name: "Buyer" },
      receiver: { participant: sends === "supplier" ? people.receiver : people.sender, name: "Seller" },
      invoice: { number: `none-${number}`, issueDate, typeCode: "380" },
    });
    return renamed(response.toString(), customization, process);
  }
  const invoice = sampleInvoice({
    sender: sends === "supplier" ? people.sender : people.receiver,
    receiver: sends === "supplier" ? people.receiver : people.sender,
    senderName: "Supplier",
    receiverName: "Customer",
    number,
    issueDate,
    lines: 1,
  });
  const typed = root === "CreditNote" ? credited(invoice) : invoice;
  return renamed(sends === "customer" ? selfBilled(typed) : typed, customization, process);
}

const renamed = (text: string, customization: string, process: string): Buffer =>
  Buffer.from(
    text
      .replace(/(<cbc:CustomizationID>)[^<]*/u, `$1${customization}`)
      .replace(/(<cbc:ProfileID>)[^<]*/u, `$1${process}`),
  );
