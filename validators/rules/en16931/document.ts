/** Asserts of the document element: what every invoice must have, and the VAT categories it uses. */
import { NONE } from "../../xml/document.js";
import type { ElementId, XmlDocument } from "../../xml/document.js";
import { cac, cbc } from "../../xml/names.js";
import { at } from "../path.js";
import { fatal } from "../rule.js";
import type { Rule } from "../rule.js";
import type { En16931Facts } from "./facts.js";
import { filled, longerThanOne, present } from "./tests.js";
import type { En16931Assert, En16931Test } from "./tests.js";
import { DOCUMENT_TOTALS } from "./totals.js";
import { documentAsserts } from "./vat.js";
import { CATEGORY } from "./vat-categories.js";

/** Document elements of an invoice. */
export const INVOICE = "/Invoice | /CreditNote";

const SUPPLIER = "cac:AccountingSupplierParty/cac:Party";
const CUSTOMER = "cac:AccountingCustomerParty/cac:Party";

const MANDATORY: readonly En16931Assert[] = [
  fatal(
    "BR-01",
    "BT-24",
    "The specification identifier is missing; add cbc:CustomizationID.",
    filled("cbc:CustomizationID"),
  ),
  fatal("BR-02", "BT-1", "The invoice number is missing; add cbc:ID.", filled("cbc:ID")),
  fatal("BR-03", "BT-2", "The issue date is missing; add cbc:IssueDate.", filled("cbc:IssueDate")),
  fatal(
    "BR-04",
    "BT-3",
    "The type code is missing; add cbc:InvoiceTypeCode or cbc:CreditNoteTypeCode.",
    filled("cbc:InvoiceTypeCode", "cbc:CreditNoteTypeCode"),
  ),
  fatal(
    "BR-05",
    "BT-5",
    "The invoice currency is missing; add cbc:DocumentCurrencyCode.",
    filled("cbc:DocumentCurrencyCode"),
  ),
  fatal(
    "BR-06",
    "BT-27",
    "The name of the seller is missing; add cac:PartyLegalEntity/cbc:RegistrationName to the supplier.",
    filled(`${SUPPLIER}/cac:PartyLegalEntity/cbc:RegistrationName`),
  ),
  fatal(
    "BR-07",
    "BT-44",
    "The name of the buyer is missing; add cac:PartyLegalEntity/cbc:RegistrationName to the customer.",
    filled(`${CUSTOMER}/cac:PartyLegalEntity/cbc:RegistrationName`),
  ),
  fatal(
    "BR-08",
    "BG-5",
    "The address of the seller is missing; add cac:PostalAddress to the supplier.",
    present(`${SUPPLIER}/cac:PostalAddress`),
  ),
  fatal(
    "BR-10",
    "BG-8",
    "The address of the buyer is missing; add cac:PostalAddress to the customer.",
    present(`${CUSTOMER}/cac:PostalAddress`),
  ),
  fatal(
    "BR-16",
    "BG-25",
    "The invoice has no line; add at least one.",
    present("cac:InvoiceLine", "cac:CreditNoteLine"),
  ),
  fatal(
    "BR-53",
    "BT-6 BT-111",
    "There is an accounting currency; add a cac:TaxTotal with the VAT total in that currency.",
    hasTaxInAccountingCurrency,
  ),
];

const TAX_POINT: En16931Assert = fatal(
  "BR-CO-03",
  "BT-7 BT-8",
  "Give either the tax point date (cbc:TaxPointDate) or its code (cac:InvoicePeriod/cbc:DescriptionCode), not both.",
  hasOneTaxPoint(),
);

const INTRA_COMMUNITY: readonly En16931Assert[] = [
  fatal(
    "BR-IC-11",
    "BG-14 BT-72",
    "An intra-community supply (VAT category K) needs the delivery date or the invoicing period; add cac:Delivery/cbc:ActualDeliveryDate or cac:InvoicePeriod.",
    inBreakdown(CATEGORY.K, hasDeliveryDateOrPeriod()),
  ),
  fatal(
    "BR-IC-12",
    "BT-80",
    "An intra-community supply (VAT category K) needs the country it is delivered to; add it to the address of cac:DeliveryLocation.",
    inBreakdown(
      CATEGORY.K,
      longerThanOne("cac:Delivery/cac:DeliveryLocation/cac:Address/cac:Country/cbc:IdentificationCode"),
    ),
  ),
];

const ALONE = 'where the VAT breakdown is "not subject to VAT" (category O); use category O throughout or not at all.';
const NOT_SUBJECT: readonly En16931Assert[] = [
  fatal(
    "BR-O-11",
    "BG-23 BT-118",
    `No other VAT category may be in the VAT breakdown ${ALONE}`,
    onlyNotSubject((facts) => facts.breakdown.checked(~CATEGORY.O).vat),
  ),
  fatal(
    "BR-O-12",
    "BG-25 BT-151",
    `No line may have another VAT category ${ALONE}`,
    onlyNotSubject((facts) => facts.lines.checked(~CATEGORY.O).vat),
  ),
  fatal(
    "BR-O-13",
    "BG-20 BT-95",
    `No allowance may have another VAT category ${ALONE}`,
    onlyNotSubject((facts) => facts.allowances(false).checked(~CATEGORY.O).vat),
  ),
  fatal(
    "BR-O-14",
    "BG-21 BT-102",
    `No charge may have another VAT category ${ALONE}`,
    onlyNotSubject((facts) => facts.allowances(true).checked(~CATEGORY.O).vat),
  ),
];

const SPLIT_PAYMENT: readonly En16931Assert[] = [
  fatal(
    "BR-B-01",
    "BT-95 BT-102 BT-118 BT-151",
    "VAT category B (split payment) is for invoices within Italy; all country codes must be IT.",
    (doc, _, facts) => ((facts.everywhereRaw | facts.lines.raw) & CATEGORY.B) === 0 || isItalian(doc),
  ),
  fatal(
    "BR-B-02",
    "BT-95 BT-102 BT-118 BT-151",
    "VAT categories B (split payment) and S (standard rated) cannot be used in one invoice; use one of them.",
    (_, __, facts) => {
      const codes = facts.breakdown.raw | facts.documentAllowancesAndCharges.raw | facts.lines.raw;
      return (codes & CATEGORY.B) === 0 || (codes & CATEGORY.S) === 0;
    },
  ),
];

/** The rule of the document element in pattern UBL-model, asserts in the official order. */
export const DOCUMENT: Rule<En16931Facts> = {
  context: INVOICE,
  asserts: [
    ...MANDATORY,
    ...documentAsserts("AE"),
    TAX_POINT,
    ...DOCUMENT_TOTALS,
    ...documentAsserts("E"),
    ...documentAsserts("G"),
    ...documentAsserts("K"),
    ...INTRA_COMMUNITY,
    ...documentAsserts("L"),
    ...documentAsserts("M"),
    ...documentAsserts("O"),
    ...NOT_SUBJECT,
    ...documentAsserts("S"),
    ...documentAsserts("Z"),
    ...SPLIT_PAYMENT,
  ],
};

function hasTaxInAccountingCurrency(doc: XmlDocument, root: ElementId, facts: En16931Facts): boolean {
  for (let code = doc.child(root, cbc.TaxCurrencyCode); code !== NONE; code = doc.nextSame(code)) {
    if (!facts.taxCurrencies.of(doc, 0).has(doc.text(code))) return false;
  }
  return true;
}

function hasOneTaxPoint(): En16931Test {
  const code = at("cac:InvoicePeriod/cbc:DescriptionCode");
  return (doc, root) => !doc.has(root, cbc.TaxPointDate) || !code.exists(doc, root);
}

/** A condition on invoices whose VAT breakdown has that category. */
function inBreakdown(bit: number, condition: En16931Test): En16931Test {
  return (doc, root, facts) => facts.breakdownCount(bit) === 0 || condition(doc, root, facts);
}

function hasDeliveryDateOrPeriod(): En16931Test {
  const hasDate = longerThanOne("cac:Delivery/cbc:ActualDeliveryDate");
  return (doc, root, facts) => {
    if (hasDate(doc, root, facts)) return true;
    for (let c = doc.child(root, cac.InvoicePeriod); c !== NONE; c = doc.nextSame(c))
      if (doc.hasElements(c)) return true;
    return false;
  };
}

function onlyNotSubject(codes: (facts: En16931Facts) => number): En16931Test {
  return inBreakdown(CATEGORY.O, (_, __, facts) => (codes(facts) & ~CATEGORY.O) === 0);
}

/** Every cbc:IdentificationCode of the document is IT. */
function isItalian(doc: XmlDocument): boolean {
  const all = doc.all(cbc.IdentificationCode);
  for (let i = 0; i < all.length; i += 1) if (doc.text(all[i] ?? NONE) !== "IT") return false;
  return true;
}
