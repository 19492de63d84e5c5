/**
 * Pattern UBL-syntax: how often parts of UBL may occur and which attributes they need. Order as in the official file.
 */
import { NONE } from "../../xml/document.js";
import type { ElementId, XmlDocument } from "../../xml/document.js";
import { attr, cac, cbc } from "../../xml/names.js";
import { at } from "../path.js";
import { fatal, ofNames, rule, ruleWhen } from "../rule.js";
import type { Pattern, Rule } from "../rule.js";
import { fractionLengthOf, isAllowance, isCharge, someChildIs } from "../values.js";
import { INVOICE } from "./document.js";
import type { En16931Facts } from "./facts.js";
import { restrictionSurvey } from "./survey.js";
import { atMostOne, hasAttribute, present } from "./tests.js";

const itemCategory = at("cac:Item/cac:ClassifiedTaxCategory");
const taxSchemeId = at("cac:TaxScheme/cbc:ID");

/** Some name of the payee differs from some legal name of the seller. */
function differsFromSeller(doc: XmlDocument, payee: ElementId, facts: En16931Facts): boolean {
  const parent = doc.parent(payee);
  if (parent === NONE) return false;
  const names = facts.payeeNames.of(doc, payee);
  const sellers = facts.sellerLegalNames.of(doc, parent);
  if (names.size === 0 || sellers.size === 0) return false;
  return names.size > 1 || sellers.size > 1 || ![...names].every((name) => sellers.has(name));
}

/** Identifiers of the payee that are not the SEPA creditor identifier. */
function payeeIdentifiers(doc: XmlDocument, payee: ElementId): number {
  let count = 0;
  for (let e = doc.child(payee, cac.PartyIdentification); e !== NONE; e = doc.nextSame(e)) {
    for (let id = doc.child(e, cbc.ID); id !== NONE; id = doc.nextSame(id)) {
      const scheme = doc.attr(id, attr.schemeID);
      if (scheme === undefined || scheme.toUpperCase() !== "SEPA") count += 1;
    }
  }
  return count;
}

const atMostOneName = atMostOne("cac:PartyName/cbc:Name");
const atMostOneLegalId = atMostOne("cac:PartyLegalEntity/cbc:CompanyID");

/** Below a cac:Price that has an allowance: its amounts are unit prices and may have more decimals. */
function isInDiscountedPrice(doc: XmlDocument, e: ElementId): boolean {
  for (let a = doc.parent(e); a !== NONE; a = doc.parent(a)) {
    if (doc.name(a) === cac.Price && doc.has(a, cac.AllowanceCharge)) return true;
  }
  return false;
}

/** A scheme on the reference, or a document type, only where an object is invoiced. */
function isSchemeAllowed(doc: XmlDocument, e: ElementId): boolean {
  if (someChildIs(doc, e, cbc.DocumentTypeCode, "130")) return true;
  if (doc.expanded(doc.name(0)).local === "CreditNote" && someChildIs(doc, e, cbc.DocumentTypeCode, "50")) return true;
  if (doc.has(e, cbc.DocumentTypeCode)) return false;
  for (let id = doc.child(e, cbc.ID); id !== NONE; id = doc.nextSame(id))
    if (doc.hasAttr(id, attr.schemeID)) return false;
  return true;
}

const RULES: readonly Rule<En16931Facts>[] = [
  rule(
    "cac:PostalAddress | cac:Address",
    fatal(
      "UBL-SR-51",
      "BT-162 BT-163 BT-164 BT-165",
      "An address has at most one third line; keep one cac:AddressLine.",
      atMostOne("cac:AddressLine"),
    ),
  ),
  rule(
    "cac:AccountingSupplierParty/cac:Party",
    fatal(
      "UBL-SR-42",
      "BT-31 BT-32",
      "The seller has at most two tax identifiers; keep one cac:PartyTaxScheme for VAT and one other.",
      (doc, e) => doc.countChildren(e, cac.PartyTaxScheme) <= 2,
    ),
  ),
  rule(
    "cac:AdditionalDocumentReference",
    fatal(
      "UBL-SR-33",
      "BT-123",
      "A supporting document has at most one description; keep one cbc:DocumentDescription.",
      atMostOne("cbc:DocumentDescription"),
    ),
    fatal(
      "UBL-SR-43",
      "BT-18",
      "A scheme or type code is used for an invoiced object only; set cbc:DocumentTypeCode to 130 (50 in a credit note), or remove it and the schemeID of cbc:ID.",
      isSchemeAllowed,
    ),
  ),
  // Prices may have more decimals. A rule without asserts takes them out, because the first match of a pattern wins.
  rule("*PriceAmount"),
  rule(
    "*Amount",
    fatal(
      "UBL-DT-01",
      "",
      "An amount may have at most two decimals; round it.",
      (doc, e) => fractionLengthOf(doc, e) <= 2 || isInDiscountedPrice(doc, e),
    ),
  ),
  rule(
    "*BinaryObject",
    fatal(
      "UBL-DT-06",
      "BT-125",
      "The attached document has no format; add the attribute mimeCode.",
      hasAttribute("@mimeCode"),
    ),
    fatal(
      "UBL-DT-07",
      "BT-125",
      "The attached document has no file name; add the attribute filename.",
      hasAttribute("@filename"),
    ),
  ),
  rule(
    "cac:Delivery",
    fatal(
      "UBL-SR-25",
      "BT-70",
      "The party delivered to has at most one name; keep one.",
      atMostOne("cac:DeliveryParty/cac:PartyName/cbc:Name"),
    ),
  ),
  ruleWhen(
    "cac:AllowanceCharge",
    isAllowance,
    fatal(
      "UBL-SR-30",
      "BT-97 BT-139",
      "An allowance has at most one reason text; keep one cbc:AllowanceChargeReason.",
      atMostOne("cbc:AllowanceChargeReason"),
    ),
  ),
  ruleWhen(
    "cac:AllowanceCharge",
    isCharge,
    fatal(
      "UBL-SR-31",
      "BT-104 BT-144",
      "A charge has at most one reason text; keep one cbc:AllowanceChargeReason.",
      atMostOne("cbc:AllowanceChargeReason"),
    ),
  ),
  rule(
    "cac:PartyTaxScheme",
    fatal(
      "UBL-SR-53",
      "BT-31 BT-32 BT-48 BT-63",
      "A tax scheme needs its own identifier and that of the party; add cac:TaxScheme/cbc:ID and cbc:CompanyID.",
      (doc, e) => taxSchemeId.exists(doc, e) && doc.has(e, cbc.CompanyID),
    ),
  ),
  { context: INVOICE, asserts: [], survey: restrictionSurvey() },
  rule(
    "cac:InvoiceLine | cac:CreditNoteLine",
    fatal("UBL-SR-34", "BT-127", "A line has at most one note; keep one cbc:Note.", atMostOne("cbc:Note")),
    fatal(
      "UBL-SR-35",
      "BT-132",
      "A line refers to at most one order line; keep one cac:OrderLineReference/cbc:LineID.",
      atMostOne("cac:OrderLineReference/cbc:LineID"),
    ),
    fatal(
      "UBL-SR-36",
      "BG-26",
      "A line has at most one period; keep one cac:InvoicePeriod.",
      atMostOne("cac:InvoicePeriod"),
    ),
    fatal(
      "UBL-SR-37",
      "BT-147",
      "A price has at most one discount; keep one cac:Price/cac:AllowanceCharge.",
      atMostOne("cac:Price/cac:AllowanceCharge/cbc:Amount"),
    ),
    fatal(
      "UBL-SR-48",
      "BT-151",
      "A line has exactly one VAT category; keep one cac:Item/cac:ClassifiedTaxCategory.",
      ofNames((doc, e) => itemCategory.count(doc, e, 2) === 1),
    ),
    fatal(
      "UBL-SR-50",
      "BT-154",
      "An item has at most one description; keep one cbc:Description.",
      atMostOne("cac:Item/cbc:Description"),
    ),
    fatal(
      "UBL-SR-52",
      "BT-128",
      "A line refers to at most one object; keep one cac:DocumentReference.",
      atMostOne("cac:DocumentReference"),
    ),
  ),
  rule(
    "cac:PayeeParty",
    fatal(
      "UBL-SR-19",
      "BT-59",
      "The payee must have one name, different from the legal name of the seller; correct it, or remove cac:PayeeParty.",
      (doc, e, facts) => atMostOneName(doc, e, facts) && differsFromSeller(doc, e, facts),
    ),
    fatal(
      "UBL-SR-20",
      "BT-60",
      "The payee may have one identifier and must differ in name from the seller; correct it, or remove cac:PayeeParty.",
      (doc, e, facts) => payeeIdentifiers(doc, e) <= 1 && differsFromSeller(doc, e, facts),
    ),
    fatal(
      "UBL-SR-21",
      "BT-61",
      "The payee may have one legal registration and must differ in name from the seller; correct it, or remove cac:PayeeParty.",
      (doc, e, facts) => atMostOneLegalId(doc, e, facts) && differsFromSeller(doc, e, facts),
    ),
  ),
  rule(
    "cac:PaymentMeans",
    fatal(
      "UBL-SR-26",
      "BT-83",
      "Payment means have at most one remittance information; keep one cbc:PaymentID.",
      atMostOne("cbc:PaymentID"),
    ),
    fatal(
      "UBL-SR-27",
      "BT-81",
      "Payment means have one type; keep one cbc:PaymentMeansCode.",
      atMostOne("cbc:PaymentMeansCode"),
    ),
    fatal(
      "UBL-SR-28",
      "BT-89",
      "A direct debit has at most one mandate; keep one cac:PaymentMandate/cbc:ID.",
      atMostOne("cac:PaymentMandate/cbc:ID"),
    ),
  ),
  rule(
    "cac:BillingReference",
    fatal(
      "UBL-SR-06",
      "BG-3",
      "A billing reference names one preceding invoice; keep one cac:InvoiceDocumentReference.",
      atMostOne("cac:InvoiceDocumentReference"),
    ),
    fatal(
      "UBL-SR-07",
      "BT-25",
      "The reference to a preceding invoice has no number; add cac:InvoiceDocumentReference/cbc:ID.",
      present("cac:InvoiceDocumentReference/cbc:ID"),
    ),
  ),
  rule(
    "cac:TaxRepresentativeParty",
    fatal(
      "UBL-SR-22",
      "BT-62",
      "The tax representative has one name; keep one cac:PartyName.",
      atMostOne("cac:PartyName/cbc:Name"),
    ),
    fatal(
      "UBL-SR-23",
      "BT-63",
      "The tax representative has one VAT identifier; keep one cac:PartyTaxScheme.",
      atMostOne("cac:PartyTaxScheme/cbc:CompanyID"),
    ),
  ),
  rule(
    "cac:TaxSubtotal",
    fatal(
      "UBL-SR-32",
      "BT-120",
      "A VAT breakdown has at most one exemption reason text; keep one cbc:TaxExemptionReason.",
      atMostOne("cac:TaxCategory/cbc:TaxExemptionReason"),
    ),
  ),
];

export const SYNTAX: Pattern<En16931Facts> = { id: "UBL-syntax", rules: RULES };
