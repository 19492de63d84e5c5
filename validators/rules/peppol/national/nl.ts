/** Netherlands: sellers with a Dutch address. */
import type { ElementId, XmlDocument } from "../../../xml/document.js";
import { attr, cac, cbc, roots } from "../../../xml/names.js";
import { sign } from "../../decimal.js";
import { at } from "../../path.js";
import { fatal, ruleWhen } from "../../rule.js";
import type { Pattern } from "../../rule.js";
import type { PeppolFacts } from "../facts.js";
import { childDecimal, isBlank } from "../../values.js";
import { childNormalized } from "../xpath.js";

const ROOT = 0;
const INVOICE_REFERENCE = at("cac:BillingReference/cac:InvoiceDocumentReference/cbc:ID");

const isDutch = (doc: XmlDocument, facts: PeppolFacts): boolean => facts.supplierIs(doc, "NL");
const isBetweenDutch = (doc: XmlDocument, facts: PeppolFacts): boolean =>
  isDutch(doc, facts) && facts.customerIs(doc, "NL");
const isRepresentedByDutch = (doc: XmlDocument, facts: PeppolFacts): boolean =>
  isDutch(doc, facts) && facts.representativeIs(doc, "NL");

const hasFullAddress = (doc: XmlDocument, e: ElementId): boolean =>
  doc.has(e, cbc.StreetName) && doc.has(e, cbc.CityName) && doc.has(e, cbc.PostalZone);

/** KVK (0106) or OIN (0190), as a word of schemeID, and a number. */
function isDutchRegistration(doc: XmlDocument, e: ElementId): boolean {
  const schemes = ` ${doc.attr(e, attr.schemeID) ?? ""} `;
  return (schemes.includes(" 0106 ") || schemes.includes(" 0190 ")) && !isBlank(doc.text(e));
}

/** Nothing to pay, or some means of payment. @throws RuleError when the amount cannot be read */
function canBePaid(doc: XmlDocument, e: ElementId): boolean {
  const root = doc.name(ROOT);
  const amount =
    root === roots.Invoice || root === roots.CreditNote ? childDecimal(doc, e, cbc.PayableAmount) : undefined;
  if (amount !== undefined && (root === roots.Invoice ? sign(amount) <= 0 : sign(amount) >= 0)) return true;
  return doc.all(cac.PaymentMeans).length > 0;
}

const PAYMENT_CODES: ReadonlySet<string> = new Set(["30", "48", "49", "57", "58", "59"]);

export const NETHERLANDS: Pattern<PeppolFacts> = {
  id: "netherlands",
  concerns: isDutch,
  rules: [
    ruleWhen(
      "cbc:CreditNoteTypeCode",
      (doc, _, facts) => isDutch(doc, facts),
      fatal(
        "NL-R-001",
        "BT-25",
        "A credit note of a Dutch seller must name the invoice it corrects. Add cac:BillingReference.",
        (doc) => INVOICE_REFERENCE.exists(doc, ROOT),
      ),
    ),
    ruleWhen(
      "cac:AccountingSupplierParty/cac:Party/cac:PostalAddress",
      (doc, _, facts) => isDutch(doc, facts),
      fatal(
        "NL-R-002",
        "BT-35 BT-37 BT-38",
        "A Dutch seller needs street, city and post code in its address.",
        hasFullAddress,
      ),
    ),
    ruleWhen(
      "cac:AccountingSupplierParty/cac:Party/cac:PartyLegalEntity/cbc:CompanyID",
      (doc, _, facts) => isDutch(doc, facts),
      fatal(
        "NL-R-003",
        "BT-30",
        "The legal registration of a Dutch seller must be a KVK (0106) or OIN (0190) number.",
        isDutchRegistration,
      ),
    ),
    ruleWhen(
      "cac:AccountingCustomerParty/cac:Party/cac:PostalAddress",
      (doc, _, facts) => isBetweenDutch(doc, facts),
      fatal(
        "NL-R-004",
        "BT-50 BT-52 BT-53",
        "A Dutch buyer of a Dutch seller needs street, city and post code in its address.",
        hasFullAddress,
      ),
    ),
    ruleWhen(
      "cac:AccountingCustomerParty/cac:Party/cac:PartyLegalEntity/cbc:CompanyID",
      (doc, _, facts) => isBetweenDutch(doc, facts),
      fatal(
        "NL-R-005",
        "BT-47",
        "The legal registration of a Dutch buyer of a Dutch seller must be a KVK (0106) or OIN (0190) number.",
        isDutchRegistration,
      ),
    ),
    ruleWhen(
      "cac:TaxRepresentativeParty/cac:PostalAddress",
      (doc, _, facts) => isRepresentedByDutch(doc, facts),
      fatal(
        "NL-R-006",
        "BT-64 BT-66 BT-67",
        "A Dutch tax representative of a Dutch seller needs street, city and post code in its address.",
        hasFullAddress,
      ),
    ),
    ruleWhen(
      "cac:LegalMonetaryTotal",
      (doc, _, facts) => isDutch(doc, facts),
      fatal(
        "NL-R-007",
        "BG-16",
        "A Dutch seller that is to be paid must give the means of payment. Add cac:PaymentMeans.",
        canBePaid,
      ),
    ),
    ruleWhen(
      "cac:PaymentMeans",
      (doc, _, facts) => isBetweenDutch(doc, facts),
      fatal(
        "NL-R-008",
        "BT-81",
        "Between a Dutch seller and a Dutch buyer the payment means must be 30, 48, 49, 57, 58 or 59.",
        (doc, e) => PAYMENT_CODES.has(childNormalized(doc, e, cbc.PaymentMeansCode)),
      ),
    ),
    ruleWhen(
      "cac:OrderLineReference/cbc:LineID",
      (doc, _, facts) => isDutch(doc, facts),
      fatal(
        "NL-R-009",
        "BT-13 BT-132",
        "Order lines are referenced, but no order. Add cac:OrderReference/cbc:ID.",
        (doc, _, facts) => facts.hasOrderReference.of(doc),
      ),
    ),
  ],
};
