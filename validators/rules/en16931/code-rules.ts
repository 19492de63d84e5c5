/** Pattern Codesmodel: every code is a value of its list. */
import { NONE } from "../../xml/document.js";
import type { ElementId, XmlDocument } from "../../xml/document.js";
import { attr, cac, cbc } from "../../xml/names.js";
import type { NameId } from "../../xml/names.js";
import { COUNTRIES } from "../codes/countries.js";
import { CURRENCIES } from "../codes/currencies.js";
import {
  ATTACHMENT_TYPES,
  CREDIT_NOTE_TYPES,
  INVOICE_TYPES,
  PAYMENT_MEANS,
  TAX_POINT_DATES,
} from "../codes/documents.js";
import { EAS, ICD, ITEM_CLASSIFICATIONS, OBJECT_SCHEMES } from "../codes/schemes.js";
import { ALLOWANCE_REASONS, CHARGE_REASONS, EXEMPTION_REASONS, VAT_CATEGORIES } from "../codes/taxes.js";
import { UNITS } from "../codes/units.js";
import type { CodeList } from "../codes/code-list.js";
import { fatal, ofNames, ofNamesFirst } from "../rule.js";
import type { Pattern, Rule } from "../rule.js";
import { normalizeSpace } from "../values.js";
import { isInvoicedObject } from "./conditional.js";
import type { En16931Facts } from "./facts.js";
import type { En16931Test } from "./tests.js";

/** Which code must be a value of which list. */
interface CodeFacts {
  readonly list: CodeList;
  /** What the code says, as it stands in the message. */
  readonly what: string;
  /** A code of the list that many invoices have; default none is named. */
  readonly like?: string;
  /** Elements that the rule concerns; default all of the context. */
  readonly when?: En16931Test;
}

/** A rule about a code that is the text of an element. */
const textIn = (
  id: string,
  terms: string,
  context: string,
  { list, what, like, when }: CodeFacts,
): Rule<En16931Facts> =>
  codeRule(id, terms, context, {
    message: notInList(list, what, like),
    when,
    holds: (doc, e) => isCode(list, doc.text(e)),
  });

/** A rule about a code in an attribute; it concerns elements that have the attribute. */
const attributeIn = (
  id: string,
  terms: string,
  context: string,
  { name, list, what, like, when }: CodeFacts & { readonly name: NameId },
): Rule<En16931Facts> =>
  codeRule(id, terms, context, {
    message: notInList(list, what, like),
    when:
      when === undefined
        ? ofNames((doc, e) => doc.hasAttr(e, name))
        : ofNamesFirst(
            (doc, e) => (doc.hasAttr(e, name) ? undefined : false),
            (doc, e, facts) => doc.hasAttr(e, name) && when(doc, e, facts),
          ),
    holds: (doc, e) => isCode(list, doc.attr(e, name) ?? ""),
  });

const notInList = (list: CodeList, what: string, like: string | undefined): string =>
  `The ${what} is not in ${list.name}; use a code of that list${like === undefined ? "" : `, such as ${like}`}.`;

interface CodeClaim {
  readonly message: string;
  readonly when: En16931Test | undefined;
  readonly holds: En16931Test;
}

function codeRule(id: string, terms: string, context: string, { message, when, holds }: CodeClaim): Rule<En16931Facts> {
  const asserts = [fatal(id, terms, message, holds)];
  return when === undefined ? { context, asserts } : { context, when, asserts };
}

/** White space around a code is ignored, as in the official lists. */
const isCode = (list: CodeList, text: string): boolean => list.has(text) || list.has(normalizeSpace(text));

const AMOUNTS = [
  "Amount",
  "BaseAmount",
  "PriceAmount",
  "TaxAmount",
  "TaxableAmount",
  "LineExtensionAmount",
  "TaxExclusiveAmount",
  "TaxInclusiveAmount",
  "AllowanceTotalAmount",
  "ChargeTotalAmount",
  "PrepaidAmount",
  "PayableRoundingAmount",
  "PayableAmount",
]
  .map((name) => `cbc:${name}`)
  .join(" | ");

/** The creditor identifier of a direct debit stands as SEPA at seller or payee. */
function isSepaCreditor(doc: XmlDocument, id: ElementId): boolean {
  if (normalizeSpace(doc.attr(id, attr.schemeID) ?? "") !== "SEPA") return false;
  for (let e = doc.parent(id); e !== NONE; e = doc.parent(e)) {
    if (doc.name(e) === cac.AccountingSupplierParty || doc.name(e) === cac.PayeeParty) return true;
  }
  return false;
}

const RULES: readonly Rule<En16931Facts>[] = [
  codeRule("BR-CL-01", "BT-3", "cbc:InvoiceTypeCode | cbc:CreditNoteTypeCode", {
    message:
      "The document type is not one of the invoice or credit note codes of UNTDID 1001; an Invoice takes 380 and its like. A credit note, 381, is a document of its own: send a CreditNote.",
    when: undefined,
    holds: (doc, e) => isCode(doc.name(e) === cbc.InvoiceTypeCode ? INVOICE_TYPES : CREDIT_NOTE_TYPES, doc.text(e)),
  }),
  codeRule("BR-CL-03", "", AMOUNTS, {
    message: `The currency of an amount is not in ${CURRENCIES.name}; set the attribute currencyID.`,
    when: undefined,
    holds: (doc, e) => isCode(CURRENCIES, doc.attr(e, attr.currencyID) ?? ""),
  }),
  textIn("BR-CL-04", "BT-5", "cbc:DocumentCurrencyCode", { list: CURRENCIES, what: "invoice currency", like: "EUR" }),
  textIn("BR-CL-05", "BT-6", "cbc:TaxCurrencyCode", { list: CURRENCIES, what: "accounting currency", like: "EUR" }),
  textIn("BR-CL-06", "BT-8", "cac:InvoicePeriod/cbc:DescriptionCode", {
    list: TAX_POINT_DATES,
    what: "code of the tax point date",
  }),
  attributeIn("BR-CL-07", "BT-18 BT-128", "cac:AdditionalDocumentReference/cbc:ID | cac:DocumentReference/cbc:ID", {
    name: attr.schemeID,
    list: OBJECT_SCHEMES,
    what: "scheme of the invoiced object",
    when: (doc, e) => isInvoicedObject(doc, doc.parent(e)),
  }),
  codeRule("BR-CL-10", "BT-29 BT-46 BT-60", "cac:PartyIdentification/cbc:ID", {
    message: `The scheme of the identifier is not in ${ICD.name}; use a code of that list.`,
    when: (doc, e) => doc.hasAttr(e, attr.schemeID),
    holds: (doc, e) => isCode(ICD, doc.attr(e, attr.schemeID) ?? "") || isSepaCreditor(doc, e),
  }),
  attributeIn("BR-CL-11", "BT-30 BT-47 BT-61", "cac:PartyLegalEntity/cbc:CompanyID", {
    name: attr.schemeID,
    list: ICD,
    what: "scheme of the legal registration",
  }),
  attributeIn("BR-CL-13", "BT-158", "cac:CommodityClassification/cbc:ItemClassificationCode", {
    name: attr.listID,
    list: ITEM_CLASSIFICATIONS,
    what: "scheme of the item classification",
  }),
  textIn("BR-CL-14", "BT-40 BT-55 BT-69 BT-80", "cac:Country/cbc:IdentificationCode", {
    list: COUNTRIES,
    what: "country code",
    like: "SK",
  }),
  textIn("BR-CL-15", "BT-159", "cac:OriginCountry/cbc:IdentificationCode", {
    list: COUNTRIES,
    what: "country of origin",
    like: "SK",
  }),
  textIn("BR-CL-16", "BT-81", "cac:PaymentMeans/cbc:PaymentMeansCode", {
    list: PAYMENT_MEANS,
    what: "type of the payment means",
    like: "30",
  }),
  textIn("BR-CL-17", "BT-95 BT-102 BT-118", "cac:TaxCategory/cbc:ID", {
    list: VAT_CATEGORIES,
    what: "VAT category",
    like: "S",
  }),
  textIn("BR-CL-18", "BT-151", "cac:ClassifiedTaxCategory/cbc:ID", {
    list: VAT_CATEGORIES,
    what: "VAT category of the item",
    like: "S",
  }),
  textIn("BR-CL-19", "BT-98 BT-140", "cac:AllowanceCharge/cbc:AllowanceChargeReasonCode", {
    list: ALLOWANCE_REASONS,
    what: "reason code of the allowance",
    when: (doc, e, facts) => facts.isAllowance.of(doc, doc.parent(e)),
  }),
  textIn("BR-CL-20", "BT-105 BT-145", "cac:AllowanceCharge/cbc:AllowanceChargeReasonCode", {
    list: CHARGE_REASONS,
    what: "reason code of the charge",
    when: (doc, e, facts) => facts.isCharge.of(doc, doc.parent(e)),
  }),
  attributeIn("BR-CL-21", "BT-157", "cac:StandardItemIdentification/cbc:ID", {
    name: attr.schemeID,
    list: ICD,
    what: "scheme of the item identifier",
  }),
  codeRule("BR-CL-22", "BT-121", "cbc:TaxExemptionReasonCode", {
    message: `The exemption reason code is not in ${EXEMPTION_REASONS.name}; use a code of that list.`,
    when: undefined,
    holds: (doc, e) => isCode(EXEMPTION_REASONS, doc.text(e).toUpperCase()),
  }),
  attributeIn("BR-CL-23", "BT-130 BT-150", "cbc:InvoicedQuantity | cbc:BaseQuantity | cbc:CreditedQuantity", {
    name: attr.unitCode,
    list: UNITS,
    what: "unit of the quantity",
    like: "C62",
  }),
  codeRule("BR-CL-24", "BT-125", "cbc:EmbeddedDocumentBinaryObject", {
    message: "The format of the attached document is not admitted; attach PDF, PNG, JPEG, CSV, XLSX or ODS.",
    when: (doc, e) => doc.hasAttr(e, attr.mimeCode),
    holds: (doc, e) => ATTACHMENT_TYPES.has(doc.attr(e, attr.mimeCode) ?? ""),
  }),
  attributeIn("BR-CL-25", "BT-34 BT-49", "cbc:EndpointID", {
    name: attr.schemeID,
    list: EAS,
    what: "scheme of the electronic address",
    like: "0245",
  }),
  attributeIn("BR-CL-26", "BT-71", "cac:DeliveryLocation/cbc:ID", {
    name: attr.schemeID,
    list: ICD,
    what: "scheme of the delivery location",
  }),
];

export const CODES: Pattern<En16931Facts> = { id: "Codesmodel", rules: RULES };
