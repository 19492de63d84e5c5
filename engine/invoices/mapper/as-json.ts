/**
 * UBL in the members of `POST /documents/send`: read by the mapper's reader, so that both say the same of a document.
 * @source spec/rulings.md, section 13, /payloads/convert
 */
import { parseParticipantId, participantKey } from "../../base/ids.js";
import { buildInvoice } from "../build.js";
import { invoiceField, invoiceOfBody } from "../connector/to-invoice.js";
import type { Party } from "../draft.js";
import type { InvoiceObject } from "../members.js";
import { isObject } from "../members.js";
import { Problems } from "../problems.js";
import type { ProblemId } from "../problems.js";
import { DOCUMENT_KINDS, TAX_TREATMENTS } from "../terms.js";
import { Collection } from "./collect.js";
import { derive } from "./derive.js";
import { documentOf, textOf } from "./document.js";
import type { IssueCode } from "./issues.js";
import type { MapOutput } from "./protocol.js";
import { rootOfXml } from "./sources/read-xml.js";
import { readUbl } from "./sources/ubl.js";
import type { CopiedRow } from "./sources/ubl.js";
import { UnreadableSource } from "./sources/unreadable.js";

/** What a doubt of the mapper's is about an invoice as JSON; undefined for what there needs no word. */
const PROBLEM_OF: Readonly<Record<IssueCode, ProblemId | undefined>> = {
  MISSING: "JSON-MISSING",
  INVALID: "JSON-OTHER",
  NOT_A_NUMBER: "JSON-OTHER",
  NOT_EXACT: "JSON-OTHER",
  NOT_A_DATE: "JSON-OTHER",
  NOT_A_CODE: "JSON-OTHER",
  NOT_AN_IDENTIFIER: "JSON-OTHER",
  TEXT_CUT: "JSON-OTHER",
  UNIT_UNKNOWN: "JSON-OTHER",
  SENDER_DIFFERS: "JSON-SENDER",
  TOTALS_DIFFER: "JSON-SUMS",
  UNSAYABLE: "JSON-SUMS",
  TOO_MANY_LINES: "JSON-LIST",
  SEVERAL_DOCUMENTS: "JSON-LIST",
  TYPE_CHANGED: "JSON-KIND",
  VAT_REASON_MISSING: "JSON-VAT-ZERO",
  CONFLICT: "JSON-CHANGED",
  DERIVED: "JSON-CHANGED",
  REASON_CHANGED: "JSON-CHANGED",
  CONVERTED: "JSON-CHANGED",
  IMPLIED: "JSON-CHANGED",
  LOST: "JSON-UNSAID",
  // Doubts about what a person has written; UBL is written by programs.
  UNCERTAIN: undefined,
  AMBIGUOUS_DATE: undefined,
  AMBIGUOUS_NUMBER: undefined,
  TWO_DIGIT_YEAR: undefined,
  SERIAL_DATE: undefined,
  FRACTION_RATE: undefined,
  FORMULA: undefined,
  FIELD_MAP_UNUSED: undefined,
  // An invoice as JSON has no such id.
  EXTERNAL_ID_DERIVED: undefined,
  // The Connector's service to create bodies, which an invoice as JSON does not have.
  FILLED_IN: undefined,
};

/** What a doubt is about where no member is in doubt but an element that none says. */
const PROBLEM_OF_ELEMENT: Partial<Record<IssueCode, ProblemId>> = { UNSAYABLE: "JSON-ELEMENT" };

/** Members of the head that a create body has not. */
const MORE: readonly CopiedRow[] = [["PaymentTerms/Note", "paymentTerms", "text"]];

/** Every member of the head, in the order in which clients know them. */
const HEAD = `documentType invoiceNumber issueDate dueDate taxPointDate deliveryDate currency note buyerReference
  precedingInvoiceRef receiverName receiverPeppolId receiverIco receiverDic receiverIcDph receiverStreet receiverCity
  receiverPostalCode receiverCountry iban paymentMethod paymentTerms variableSymbol documentDiscountPercent
  prepaidAmount`.split(/\s+/u);

/** What a document says of a party. */
interface NamedParty {
  readonly name: string | null;
  readonly participantId: string | null;
  readonly companyId: string | null;
  readonly vatId: string | null;
  readonly country: string | null;
}

/** Who would send a document, and the element that names it. */
interface Sender {
  readonly party: Party;
  readonly element: "AccountingSupplierParty" | "AccountingCustomerParty";
}

/**
 * The firm, unless the document names another participant: VAT and sums of such a one are those of that seller, so that
 * what a firm has received can be read as well, whatever its own VAT is.
 */
export function senderOf(
  said: { readonly typeCode: string | null; readonly supplier: NamedParty; readonly customer: NamedParty },
  own: Party,
): Sender {
  const isSelfBilling = Object.values(DOCUMENT_KINDS).some(
    (kind) => kind.isSelfBilling && kind.typeCode === said.typeCode,
  );
  const element = isSelfBilling ? "AccountingCustomerParty" : "AccountingSupplierParty";
  const named = isSelfBilling ? said.customer : said.supplier;
  const participant = parseParticipantId(named.participantId ?? "");
  if (participant === undefined || own.participant === undefined) return { party: own, element };
  if (participantKey(participant) === participantKey(own.participant)) return { party: own, element };
  const party: Party = {
    participant,
    name: named.name ?? own.name,
    ico: named.companyId ?? undefined,
    dic: undefined,
    icDph: named.vatId ?? undefined,
    street: undefined,
    city: undefined,
    postalCode: undefined,
    country: named.country ?? own.country,
  };
  return { party, element };
}

interface UblAsJson {
  readonly kind: "read";
  /** Every member; null where the document says nothing. */
  readonly invoice: InvoiceObject;
  /** What a send of these members would transmit; undefined where it would be refused, and a problem says why. */
  readonly ubl: Buffer | undefined;
  readonly problems: Problems;
}

/**
 * @param own  who sends: the seller, or the buyer of self-billing
 * @param locate  XPath of a place that the reader names: `InvoiceLine.Price.PriceAmount`
 */
export function invoiceOfUbl(
  sourceText: string,
  own: Party,
  locate: (source: string) => string,
): UblAsJson | Extract<MapOutput, { readonly kind: "unreadable" }> {
  try {
    return asJson(new Collection(readUbl(rootOfXml(sourceText), own, MORE), own), own, locate);
  } catch (error) {
    if (!(error instanceof UnreadableSource)) throw error;
    return { kind: "unreadable", ruleId: error.ruleId, message: error.message };
  }
}

function asJson(members: Collection, own: Party, locate: (source: string) => string): UblAsJson {
  derive(members);
  const body = documentOf(members, textOf);
  const led = invoiceOfBody(body, undefined);
  const said: InvoiceObject = {
    ...led,
    documentType: led["documentType"] ?? "invoice",
    // The id of a document in a program, which stands for a missing reference there, is none here.
    buyerReference: body["buyerReference"],
    paymentTerms: members.head.get("paymentTerms")?.value,
  };
  const items = Array.isArray(said["items"]) ? said["items"].filter(isObject).map(itemOf) : [];
  const invoice: InvoiceObject = {
    ...Object.fromEntries(HEAD.map((name) => [name, said[name] ?? null])),
    items,
    attachments: members.attachments.map((attachment) => ({ description: null, ...attachment })),
  };
  const problems = new Problems();
  for (const { code, field, source } of members.issues) {
    const ruleId = (field === undefined ? PROBLEM_OF_ELEMENT[code] : undefined) ?? PROBLEM_OF[code];
    if (ruleId === undefined) continue;
    problems.add(invoiceField(field ?? "document"), ruleId, { location: source === undefined ? "/" : locate(source) });
  }
  for (const source of members.unmapped) problems.add("document", "JSON-UNSAID", { location: locate(source) });
  const built = buildInvoice(invoice, own);
  // What the reader could not read is missing for the builder too: that is told once.
  const told = new Set(problems.found.map(({ field }) => field));
  for (const { field, ruleId } of built.problems) if (!told.has(field)) problems.add(field, ruleId, { location: "/" });
  return { kind: "read", invoice, ubl: problems.isFatal ? undefined : built.ubl, problems };
}

/** A line; the category of its VAT by its code, which is never left out where it is known. */
function itemOf(line: InvoiceObject): InvoiceObject {
  const { description, quantity, unit, unitPrice, vatRate, discount, taxTreatment } = line;
  const category = typeof taxTreatment === "string" ? TAX_TREATMENTS[taxTreatment] : undefined;
  const isRated = typeof vatRate === "string" && /[1-9]/u.test(vatRate);
  return {
    description: description ?? null,
    quantity: quantity ?? null,
    unit: unit ?? null,
    unitPrice: unitPrice ?? null,
    vatRate: vatRate ?? null,
    vatCategoryCode: category ?? (isRated ? "S" : null),
    discount: discount ?? null,
  };
}
