/** Sentences for values that tell more than that they are wrong: what the sender must have meant. */
import { CREDIT_NOTE_TYPES } from "../rules/codes/documents.js";
import type { ElementId, XmlDocument } from "../xml/document.js";
import { cbc } from "../xml/names.js";

/** The sentence in place of the rule's own; undefined where the value says nothing more. */
type Sharper = (document: XmlDocument, e: ElementId) => string | undefined;

const creditNoteAsInvoice: Sharper = (document, e) =>
  document.name(e) === cbc.InvoiceTypeCode && CREDIT_NOTE_TYPES.has(document.text(e).trim())
    ? "This is the type code of a credit note, and the document is an Invoice. Send a CreditNote, or write 380 for an invoice."
    : undefined;

const SHARPER: Readonly<Record<string, Sharper>> = {
  "BR-CL-01": creditNoteAsInvoice,
  "PEPPOL-EN16931-P0100": creditNoteAsInvoice,
};

/** What a finding about an element says, sharper than its rule where that is possible. */
export const sharperMessage = (document: XmlDocument, e: ElementId, ruleId: string): string | undefined =>
  Object.hasOwn(SHARPER, ruleId) ? SHARPER[ruleId]?.(document, e) : undefined;
