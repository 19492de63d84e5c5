/**
 * The one way from an invoice as JSON to UBL: a pure function, so that judging, sending and the Connector say the same.
 */
import { LIMITS } from "../base/limits.js";
import type { Party } from "./draft.js";
import { fieldOf } from "./field-of.js";
import type { PlacedFinding } from "./field-of.js";
import { isObject } from "./members.js";
import { Problems } from "./problems.js";
import type { JsonProblem } from "./problems.js";
import { readInvoice } from "./read-invoice.js";
import { DOCUMENT_KINDS } from "./terms.js";
import { totalsOf } from "./totals.js";
import { writeUbl } from "./write-ubl.js";

/** The UBL, or why there is none. */
interface BuiltInvoice {
  /** UBL 2.1, at most LIMITS.payload_bytes_max; undefined when a problem is fatal. */
  readonly ubl: Buffer | undefined;
  readonly problems: readonly JsonProblem[];
  /** Problems that are not listed. */
  readonly dropped: number;
  /** The member from which the place of a finding about the UBL came; `document` where it is no single one. */
  readonly fieldOf: (finding: PlacedFinding) => string;
}

const DUE = {
  en: "A sum that is to be paid has a day on which it is due, or paymentTerms in words.",
  sk: "Suma na úhradu má deň splatnosti alebo slovné paymentTerms.",
};

/**
 * Makes UBL of an invoice as JSON. Amounts are exact: nothing is computed with a float, and each is rounded once, a
 * half away from zero.
 * @param invoice  the members of `POST /documents/send`; what is no object is a problem too
 * @param own  the firm that sends: the seller, and the buyer where it bills itself
 * @source spec/shapes.md, section 6
 */
export function buildInvoice(invoice: unknown, own: Party): BuiltInvoice {
  const problems = new Problems();
  if (!isObject(invoice)) problems.add("document", "JSON-OBJECT");
  const draft = isObject(invoice) ? readInvoice(invoice, own, problems) : undefined;
  // A sum that is to be paid has a day on which it is due, or words that say when.
  if (draft !== undefined && (draft.dueDate ?? draft.paymentTerms) === undefined && totalsOf(draft).payable > 0n)
    problems.add("dueDate", "JSON-MISSING", { hint: DUE });
  const ubl = draft === undefined || problems.isFatal ? undefined : Buffer.from(writeUbl(draft), "utf8");
  if (ubl !== undefined && ubl.length > LIMITS.payload_bytes_max) problems.add("attachments", "JSON-ATTACHMENT");
  const isSelfBilling = draft !== undefined && DOCUMENT_KINDS[draft.kind].isSelfBilling;
  return {
    ubl: problems.isFatal ? undefined : ubl,
    problems: problems.found,
    dropped: problems.dropped,
    fieldOf: (finding) => fieldOf(finding, isSelfBilling),
  };
}
