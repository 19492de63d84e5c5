/** What the document says where a finding points: the value that whoever sent it has to correct. */
import { firstChars } from "../text.js";
import { NONE } from "../xml/document.js";
import type { ElementId, XmlDocument } from "../xml/document.js";
import { at } from "../rules/path.js";
import type { Path } from "../rules/path.js";

const VALUE_CHARS_MAX = 80;
/** Values named for one finding: those of a sum are four at most. */
const TERMS_MAX = 4;
/** Longer content is an attachment: only its beginning is read. */
const CONTENT_BYTES_MAX = 4_096;
/** So is a longer attribute: its white space, of which each place is noted, would be more than a worker has. */
const ATTRIBUTE_CHARS_MAX = CONTENT_BYTES_MAX;
const ATTRIBUTES_MAX = 4;

/** Business terms whose values stand below an element that rules are about. */
type TermTable = ReadonlyMap<string, Path>;

const terms = (rows: Readonly<Record<string, string>>): TermTable =>
  new Map(Object.entries(rows).map(([term, path]) => [term, at(path)]));

/** Below the document element. */
const OF_DOCUMENT = terms({
  "BT-1": "cbc:ID",
  "BT-2": "cbc:IssueDate",
  "BT-5": "cbc:DocumentCurrencyCode",
  "BT-6": "cbc:TaxCurrencyCode",
  "BT-7": "cbc:TaxPointDate",
  "BT-8": "cac:InvoicePeriod/cbc:DescriptionCode",
  "BT-9": "cbc:DueDate",
  "BT-10": "cbc:BuyerReference",
  "BT-13": "cac:OrderReference/cbc:ID",
  "BT-20": "cac:PaymentTerms/cbc:Note",
  "BT-23": "cbc:ProfileID",
  "BT-24": "cbc:CustomizationID",
  "BT-31": "cac:AccountingSupplierParty/cac:Party/cac:PartyTaxScheme/cbc:CompanyID",
  "BT-48": "cac:AccountingCustomerParty/cac:Party/cac:PartyTaxScheme/cbc:CompanyID",
  "BT-40": "cac:AccountingSupplierParty/cac:Party/cac:PostalAddress/cac:Country/cbc:IdentificationCode",
  "BT-55": "cac:AccountingCustomerParty/cac:Party/cac:PostalAddress/cac:Country/cbc:IdentificationCode",
  "BT-110": "cac:TaxTotal/cbc:TaxAmount",
});
const OF_TOTALS = terms({
  "BT-106": "cbc:LineExtensionAmount",
  "BT-107": "cbc:AllowanceTotalAmount",
  "BT-108": "cbc:ChargeTotalAmount",
  "BT-109": "cbc:TaxExclusiveAmount",
  "BT-112": "cbc:TaxInclusiveAmount",
  "BT-113": "cbc:PrepaidAmount",
  "BT-114": "cbc:PayableRoundingAmount",
  "BT-115": "cbc:PayableAmount",
});
const OF_SUBTOTAL = terms({
  "BT-116": "cbc:TaxableAmount",
  "BT-117": "cbc:TaxAmount",
  "BT-118": "cac:TaxCategory/cbc:ID",
  "BT-119": "cac:TaxCategory/cbc:Percent",
});
const OF_CATEGORY = terms({ "BT-118": "cbc:ID", "BT-119": "cbc:Percent" });
const LINE_TERMS = {
  "BT-126": "cbc:ID",
  "BT-131": "cbc:LineExtensionAmount",
  "BT-146": "cac:Price/cbc:PriceAmount",
  "BT-147": "cac:Price/cac:AllowanceCharge/cbc:Amount",
  "BT-148": "cac:Price/cac:AllowanceCharge/cbc:BaseAmount",
  "BT-149": "cac:Price/cbc:BaseQuantity",
  "BT-151": "cac:Item/cac:ClassifiedTaxCategory/cbc:ID",
  "BT-152": "cac:Item/cac:ClassifiedTaxCategory/cbc:Percent",
  "BT-153": "cac:Item/cbc:Name",
} as const;
const PERIOD = { "BT-73": "cbc:StartDate", "BT-74": "cbc:EndDate", "BT-134": "cbc:StartDate", "BT-135": "cbc:EndDate" };

const totalsBelow = at("cac:LegalMonetaryTotal");

/** Tables by the name of the element that a rule is about. */
const TABLES: Readonly<Record<string, TermTable>> = {
  Invoice: OF_DOCUMENT,
  CreditNote: OF_DOCUMENT,
  "cac:LegalMonetaryTotal": OF_TOTALS,
  "cac:TaxTotal": terms({ "BT-110": "cbc:TaxAmount", "BT-111": "cbc:TaxAmount" }),
  "cac:TaxSubtotal": OF_SUBTOTAL,
  "cac:TaxCategory": OF_CATEGORY,
  "cac:ClassifiedTaxCategory": terms({ "BT-151": "cbc:ID", "BT-152": "cbc:Percent" }),
  "cac:InvoicePeriod": terms(PERIOD),
  "cac:InvoiceLine": terms({ ...LINE_TERMS, "BT-129": "cbc:InvoicedQuantity" }),
  "cac:CreditNoteLine": terms({ ...LINE_TERMS, "BT-129": "cbc:CreditedQuantity" }),
};

/**
 * The value of the element, or the values of the business terms that the rule compares below it.
 * @returns undefined when there is none to show
 */
export function valueAt(document: XmlDocument, e: ElementId, btIds: readonly string[]): string | undefined {
  if (document.first(e) === NONE) return leafValue(document, e);
  const name = document.prefixed(document.name(e));
  const table = Object.hasOwn(TABLES, name) ? TABLES[name] : undefined;
  const shown: string[] = [];
  for (const term of btIds) {
    const found = shown.length < TERMS_MAX ? elementOf(document, e, table, term) : NONE;
    const value = found === NONE ? "" : leafText(document, found);
    if (value !== "") shown.push(`${term} ${value}`);
  }
  return shown.length === 0 ? undefined : shown.join(", ");
}

function elementOf(document: XmlDocument, e: ElementId, table: TermTable | undefined, term: string): ElementId {
  const path = table?.get(term);
  if (path !== undefined) return path.first(document, e);
  if (table !== OF_DOCUMENT) return NONE;
  const totals = totalsBelow.first(document, e);
  return totals === NONE ? NONE : (OF_TOTALS.get(term)?.first(document, totals) ?? NONE);
}

/** Text and attributes of an element without children: a wrong unit is an attribute. */
function leafValue(document: XmlDocument, e: ElementId): string | undefined {
  const attributes = Array.from({ length: Math.min(document.attrCount(e), ATTRIBUTES_MAX) }, (_, i) => {
    const name = document.attrName(e, i);
    const beginning = firstChars(document.attr(e, name) ?? "", ATTRIBUTE_CHARS_MAX);
    return `${document.prefixed(name)} ${shortened(beginning)}`;
  });
  const value = [leafText(document, e), ...(attributes.length === 0 ? [] : [`(${attributes.join(", ")})`])]
    .filter((part) => part !== "")
    .join(" ");
  return value === "" ? undefined : value;
}

function leafText(document: XmlDocument, e: ElementId): string {
  const [start, end] = [document.contentStarts[e] ?? 0, document.contentEnds[e] ?? 0];
  return shortened(
    end - start > CONTENT_BYTES_MAX
      ? document.source.toString("utf8", start, start + CONTENT_BYTES_MAX)
      : document.text(e),
  );
}

function shortened(text: string): string {
  const trimmed = text.trim().replace(/\s+/gu, " ");
  const cut = firstChars(trimmed, VALUE_CHARS_MAX);
  return cut.length < trimmed.length ? `${cut}…` : cut;
}
