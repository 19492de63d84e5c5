/** Peppol rules about codes and forms: restricted code lists, type codes of the process, dates, exemption reasons. */
import type { ElementId, XmlDocument } from "../../xml/document.js";
import { attr, cbc } from "../../xml/names.js";
import type { CodeList } from "../codes/code-list.js";
import { fatal, rule, ruleWhen } from "../rule.js";
import type { Assert, AssertFacts, Pattern, Rule } from "../rule.js";
import { ADDRESS_SCHEMES, ALLOWANCE_REASONS, CHARGE_REASONS, CURRENCIES, MIME_CODES, PERIOD_CODES } from "./codes.js";
import type { PeppolFacts } from "./facts.js";
import type { Variant } from "./variant.js";
import { childText, codePoints, normalizeSpace, parseDate, someChildIs } from "../values.js";
import { childNormalized, textNode } from "./xpath.js";

/** `normalize-space(text())` is in the list. */
const textIsIn = (doc: XmlDocument, e: ElementId, list: ReadonlySet<string>): boolean =>
  list.has(normalizeSpace(textNode(doc, e)));

const attributeIsIn = (doc: XmlDocument, e: ElementId, name: number, list: CodeList): boolean => {
  const value = doc.attr(e, name);
  return value !== undefined && list.has(value);
};

/** The reason code belongs to an allowance ("false") or a charge ("true"), as written. */
const belongsTo =
  (indicator: string) =>
  (doc: XmlDocument, e: ElementId): boolean =>
    someChildIs(doc, doc.parent(e), cbc.ChargeIndicator, indicator);

const AMOUNTS =
  "cbc:Amount | cbc:BaseAmount | cbc:PriceAmount | cbc:TaxAmount | cbc:TaxableAmount | cbc:LineExtensionAmount | " +
  "cbc:TaxExclusiveAmount | cbc:TaxInclusiveAmount | cbc:AllowanceTotalAmount | cbc:ChargeTotalAmount | cbc:PrepaidAmount | " +
  "cbc:PayableRoundingAmount | cbc:PayableAmount";

const DATES = "cbc:IssueDate | cbc:DueDate | cbc:TaxPointDate | cbc:StartDate | cbc:EndDate | cbc:ActualDeliveryDate";

/** Exemption reasons that allow one VAT category only, compared in upper case. */
const CATEGORY_OF_REASON = [
  ["PEPPOL-EN16931-P0104", "VATEX-EU-G", "G"],
  ["PEPPOL-EN16931-P0105", "VATEX-EU-O", "O"],
  ["PEPPOL-EN16931-P0106", "VATEX-EU-IC", "K"],
  ["PEPPOL-EN16931-P0107", "VATEX-EU-AE", "AE"],
  ["PEPPOL-EN16931-P0108", "VATEX-EU-D", "E"],
  ["PEPPOL-EN16931-P0109", "VATEX-EU-F", "E"],
  ["PEPPOL-EN16931-P0110", "VATEX-EU-I", "E"],
  ["PEPPOL-EN16931-P0111", "VATEX-EU-J", "E"],
] as const;

const REASON_ASSERTS: readonly AssertFacts[] = CATEGORY_OF_REASON.map(([id, reason, category]) => ({
  id,
  severity: "fatal",
  terms: ["BT-118", "BT-121"],
  message: `The exemption reason ${reason} belongs to VAT category ${category}. Change the category or the reason.`,
}));

const REASONS: ReadonlyMap<string, number> = new Map(CATEGORY_OF_REASON.map(([, reason], index) => [reason, index]));

/** One rule per reason officially; the reasons exclude each other, so one look-up finds it. */
const EXEMPTION_RULE: Rule<PeppolFacts> = {
  context: "cac:TaxCategory",
  when: (doc, e) =>
    doc.has(e, cbc.TaxExemptionReasonCode) && REASONS.has(childText(doc, e, cbc.TaxExemptionReasonCode).toUpperCase()),
  asserts: [],
  survey: { asserts: REASON_ASSERTS, judge: (doc, e, _, fail) => judgeExemption(doc, e, fail) },
};

function judgeExemption(doc: XmlDocument, e: ElementId, fail: (index: number) => void): void {
  const index = REASONS.get(childText(doc, e, cbc.TaxExemptionReasonCode).toUpperCase()) ?? 0;
  if (childNormalized(doc, e, cbc.ID) !== CATEGORY_OF_REASON[index]?.[2]) fail(index);
}

const isTyped = (doc: XmlDocument, facts: PeppolFacts): boolean =>
  facts.variant.typedProfiles.includes(facts.profile.of(doc));

const invoiceTypeAsserts = (variant: Variant): readonly Assert<PeppolFacts>[] => [
  fatal(
    "PEPPOL-EN16931-P0100",
    "BT-3",
    `The invoice type code is not allowed in this business process. Choose one of ${[...variant.invoiceTypes].join(", ")}.`,
    (doc, e, facts) => !isTyped(doc, facts) || textIsIn(doc, e, facts.variant.invoiceTypes),
  ),
  ...(variant.restrictsPartialAndCorrected ? [PARTIAL_AND_CORRECTED] : []),
];

const PARTIAL_AND_CORRECTED: Assert<PeppolFacts> = fatal(
  "PEPPOL-EN16931-P0112",
  "BT-3",
  "The invoice types 326 and 384 are reserved to German sellers with German buyers. Choose another type.",
  (doc, e, facts) => {
    const type = normalizeSpace(doc.text(e));
    return (type !== "326" && type !== "384") || facts.isWithinGermany(doc);
  },
);

/** The last pattern: restricted lists and forms. */
export const codePattern = (variant: Variant): Pattern<PeppolFacts> => ({
  id: "codes",
  rules: [
    ruleWhen(
      "cbc:EmbeddedDocumentBinaryObject",
      (doc, e) => doc.attr(e, attr.mimeCode) !== undefined,
      fatal(
        "PEPPOL-EN16931-CL001",
        "BT-125-1",
        "The media type of the attachment is not allowed. Attach PDF, PNG, JPEG, CSV, XLSX or ODS.",
        (doc, e) => attributeIsIn(doc, e, attr.mimeCode, MIME_CODES),
      ),
    ),
    ruleWhen(
      "cac:AllowanceCharge/cbc:AllowanceChargeReasonCode",
      belongsTo("false"),
      fatal(
        "PEPPOL-EN16931-CL002",
        "BT-98 BT-140",
        "The reason code of the allowance is not in the allowed part of UNCL 5189.",
        (doc, e) => textIsIn(doc, e, ALLOWANCE_REASONS.codes),
      ),
    ),
    ruleWhen(
      "cac:AllowanceCharge/cbc:AllowanceChargeReasonCode",
      belongsTo("true"),
      fatal("PEPPOL-EN16931-CL003", "BT-105 BT-145", "The reason code of the charge is not in UNCL 7161.", (doc, e) =>
        textIsIn(doc, e, CHARGE_REASONS.codes),
      ),
    ),
    rule(
      "cac:InvoicePeriod/cbc:DescriptionCode",
      fatal("PEPPOL-EN16931-CL006", "BT-8", "The code for the VAT point date must be 3, 35 or 432.", (doc, e) =>
        textIsIn(doc, e, PERIOD_CODES.codes),
      ),
    ),
    rule(
      AMOUNTS,
      fatal(
        "PEPPOL-EN16931-CL007",
        "BT-5 BT-6",
        "The amount has no currency of ISO 4217. Correct currencyID.",
        (doc, e) => attributeIsIn(doc, e, attr.currencyID, CURRENCIES),
      ),
    ),
    rule("cbc:InvoiceTypeCode", ...invoiceTypeAsserts(variant)),
    rule(
      "cbc:CreditNoteTypeCode",
      fatal(
        "PEPPOL-EN16931-P0101",
        "BT-3",
        "The credit note type code is not allowed in this business process. Choose one of the codes of the process.",
        (doc, e, facts) => !isTyped(doc, facts) || textIsIn(doc, e, facts.variant.creditNoteTypes),
      ),
    ),
    rule(
      DATES,
      fatal(
        "PEPPOL-EN16931-F001",
        "BT-2 BT-7 BT-9 BT-72 BT-73 BT-74 BT-134 BT-135",
        "Write the date as YYYY-MM-DD, without time zone, and make it a day of the calendar.",
        (doc, e) => codePoints(textNode(doc, e)) === 10 && parseDate(doc.text(e)) !== undefined,
      ),
    ),
    ruleWhen(
      "cbc:EndpointID",
      (doc, e) => doc.attr(e, attr.schemeID) !== undefined,
      fatal(
        "PEPPOL-EN16931-CL008",
        "BT-34-1 BT-49-1",
        "The scheme of the electronic address is not one that Peppol allows. Use a code of the Peppol EAS list.",
        (doc, e) => attributeIsIn(doc, e, attr.schemeID, ADDRESS_SCHEMES),
      ),
    ),
    EXEMPTION_RULE,
  ],
});
