/**
 * UBL made into an invoice as JSON, held against the document: what JSON would change is told, and a sum, a receiver or
 * a kind that would be another one leaves no invoice.
 */
import { invoiceOfUbl, senderOf } from "../engine/invoices/mapper/as-json.js";
import type { Party } from "../engine/invoices/draft.js";
import type { JsonProblem, ProblemId, Problems } from "../engine/invoices/problems.js";
import type { Finding } from "./report.js";
import { eq, parseDecimal, ZERO } from "./rules/decimal.js";
import { parseDocument } from "./summary.js";
import type { DocumentSummary, PartySummary, TaxSummary } from "./summary.js";
import type { ScanLimits } from "./xml/limits.js";
import { cac } from "./xml/names.js";

export interface ConvertInput {
  readonly bytes: Uint8Array;
  readonly limits: ScanLimits;
  /** The firm that would send the invoice. */
  readonly own: Party;
}

export type ConvertOutput =
  | {
      readonly kind: "converted";
      /** Every member, and beside them what the document says of the seller and the sum; null for what it does not. */
      readonly invoice: Readonly<Record<string, unknown>>;
      /** Whether the invoice would be another one. */
      readonly isAnother: boolean;
      readonly problems: readonly JsonProblem[];
      /** Problems that are not listed. */
      readonly dropped: number;
    }
  | { readonly kind: "refused"; readonly findings: readonly Finding[] };

/** Reads a document as an invoice that the firm could send as JSON. */
export function convertToJson({ bytes, limits, own }: ConvertInput): ConvertOutput {
  const read = parseDocument({ bytes, limits, linesMax: 0 });
  if (read.kind === "refused") return read;
  const { summary } = read;
  if (summary.documentType === "ApplicationResponse") return { kind: "refused", findings: [NO_INVOICE] };
  const root = summary.documentType;
  const sender = senderOf(summary, own);
  const made = invoiceOfUbl(Buffer.from(bytes).toString("utf8"), sender.party, (source) => locate(root, source));
  if (made.kind === "unreadable")
    return {
      kind: "refused",
      findings: [{ ...NO_INVOICE, layer: "xml", ruleId: made.ruleId, message: made.message }],
    };
  const { invoice, problems, ubl } = made;
  if (sender.party !== own)
    problems.add("document", "JSON-SENDER", { location: locate(root, `${sender.element}.Party.EndpointID`) });
  if (ubl !== undefined) {
    const again = parseDocument({ bytes: ubl, limits, linesMax: 0 });
    if (again.kind === "parsed") compare(summary, again.summary, problems);
  }
  return {
    kind: "converted",
    invoice: { ...invoice, ...supplierOf(summary.supplier), totalAmount: summary.totals.payable },
    isAnother: problems.isFatal,
    problems: problems.found,
    dropped: problems.dropped,
  };
}

const NO_INVOICE: Finding = {
  ruleId: "UBL-ROOT",
  layer: "schema",
  severity: "fatal",
  location: "/",
  line: 1,
  message: "Send a UBL 2.1 Invoice or CreditNote.",
};

const supplierOf = ({ name, participantId, companyId, vatId, country }: PartySummary) => ({
  supplierName: name,
  supplierPeppolId: participantId,
  supplierIco: companyId,
  supplierIcDph: vatId,
  supplierCountry: country,
});

/** `TaxTotal[2].TaxAmount` as an XPath; a step without a number stands for every element of its name. */
function locate(root: string, source: string): string {
  const [path = "", attribute] = source.split("@");
  const steps = path.split(".");
  const named = steps.map((name, at) => {
    const isAggregate = at < steps.length - 1 || Object.hasOwn(cac, name.replace(/\[\d+\]$/u, ""));
    return `${isAggregate ? "cac" : "cbc"}:${name}`;
  });
  return `/${[root, ...named].join("/")}${attribute === undefined ? "" : `/@${attribute}`}`;
}

/** A value of a summary, where it stands, and the member that says it. */
interface Compared {
  readonly ruleId: ProblemId;
  readonly field: string;
  readonly source: string;
  readonly of: (summary: DocumentSummary) => string | null;
}

const OTHER: readonly Compared[] = [
  { ruleId: "JSON-OTHER", field: "invoiceNumber", source: "ID", of: ({ number }) => number },
  { ruleId: "JSON-OTHER", field: "issueDate", source: "IssueDate", of: ({ issueDate }) => issueDate },
  { ruleId: "JSON-OTHER", field: "dueDate", source: "DueDate", of: ({ dueDate }) => dueDate },
  { ruleId: "JSON-OTHER", field: "taxPointDate", source: "TaxPointDate", of: ({ taxPointDate }) => taxPointDate },
  {
    ruleId: "JSON-OTHER",
    field: "deliveryDate",
    source: "Delivery.ActualDeliveryDate",
    of: ({ deliveryDate }) => deliveryDate,
  },
  { ruleId: "JSON-OTHER", field: "currency", source: "DocumentCurrencyCode", of: ({ currency }) => currency },
  {
    ruleId: "JSON-OTHER",
    field: "buyerReference",
    source: "BuyerReference",
    of: ({ buyerReference }) => buyerReference,
  },
];

const SUMS: readonly (readonly [name: string, of: (totals: DocumentSummary["totals"]) => string | null])[] = [
  ["LegalMonetaryTotal.TaxExclusiveAmount", ({ taxExclusive }) => taxExclusive],
  ["TaxTotal.TaxAmount", ({ tax }) => tax],
  ["LegalMonetaryTotal.TaxInclusiveAmount", ({ taxInclusive }) => taxInclusive],
  ["LegalMonetaryTotal.PrepaidAmount", ({ prepaid }) => prepaid],
  ["LegalMonetaryTotal.PayableRoundingAmount", ({ rounding }) => rounding],
  ["LegalMonetaryTotal.PayableAmount", ({ payable }) => payable],
];

const PARTY: readonly (readonly [member: string, place: string, of: (party: PartySummary) => string | null])[] = [
  ["receiverPeppolId", "EndpointID", ({ participantId }) => participantId],
  ["receiverIco", "PartyLegalEntity.CompanyID", ({ companyId }) => companyId],
  ["receiverIcDph", "PartyTaxScheme.CompanyID", ({ vatId }) => vatId],
  ["receiverCountry", "PostalAddress.Country.IdentificationCode", ({ country }) => country],
];

/** Tells what the document says and the UBL of the invoice says otherwise; that it says more is no difference. */
function compare(said: DocumentSummary, built: DocumentSummary, problems: Problems): void {
  const root = said.documentType;
  const tell = (ruleId: ProblemId, field: string, source: string): void => {
    problems.add(field, ruleId, { location: locate(root, source) });
  };
  if (said.documentType !== built.documentType || (said.typeCode !== null && said.typeCode !== built.typeCode))
    tell("JSON-KIND", "documentType", `${root}TypeCode`);
  for (const { ruleId, field, source, of } of OTHER) {
    const value = of(said);
    if (value !== null && value !== of(built)) tell(ruleId, field, source);
  }
  for (const [source, of] of SUMS) {
    // An amount that is not said is 0 where it may be left out.
    const isLeftOut = of(said.totals) === null && !/Prepaid|Rounding/u.test(source);
    if (!isLeftOut && !isSameNumber(of(said.totals), of(built.totals))) tell("JSON-SUMS", "document", source);
  }
  if (!isSameTax(said.taxes, built.taxes)) tell("JSON-SUMS", "items", "TaxTotal.TaxSubtotal");
  const isSelfBilling = built.profileId?.includes("selfbilling") === true;
  for (const role of ["supplier", "customer"] as const) {
    const isSender = (role === "customer") === isSelfBilling;
    const element = role === "supplier" ? "AccountingSupplierParty" : "AccountingCustomerParty";
    for (const [member, place, of] of PARTY) {
      const value = of(said[role]);
      if (value === null || plain(value) === plain(of(built[role]) ?? "")) continue;
      // A send would write the firm as the engine knows it.
      tell("JSON-OTHER", isSender ? "document" : member, `${element}.Party.${place}`);
    }
  }
}

/** Identifiers without the signs by which people group them. */
const plain = (id: string): string => id.replace(/[\s./-]+/gu, "").toUpperCase();

function isSameNumber(a: string | null, b: string | null): boolean {
  const [one, other] = [a, b].map((text) => (text === null ? ZERO : parseDecimal(text)));
  return one !== undefined && other !== undefined && eq(one, other);
}

/** The same groups, in whatever order; one without amounts is none. */
function isSameTax(a: readonly TaxSummary[], b: readonly TaxSummary[]): boolean {
  if (a.length === 0) return true;
  const left = [...b];
  for (const tax of a) {
    const at = left.findIndex(
      (other) =>
        other.category === tax.category &&
        isSameNumber(other.percent, tax.percent) &&
        isSameNumber(other.taxableAmount, tax.taxableAmount) &&
        isSameNumber(other.taxAmount, tax.taxAmount),
    );
    if (at >= 0) left.splice(at, 1);
    else if (!isSameNumber(tax.taxableAmount, "0") || !isSameNumber(tax.taxAmount, "0")) return false;
  }
  return left.every(({ taxableAmount, taxAmount }) => isSameNumber(taxableAmount, "0") && isSameNumber(taxAmount, "0"));
}
