/** Peppol rules about the document as a whole: identifiers, notes, references, totals of VAT, parties. */
import { NONE } from "../../xml/document.js";
import type { ElementId, XmlDocument } from "../../xml/document.js";
import { attr, cac, cbc } from "../../xml/names.js";
import { at } from "../path.js";
import { fatal, ofNamesFirst, rule, ruleWhen } from "../rule.js";
import type { Pattern, Rule } from "../rule.js";
import type { PeppolFacts } from "./facts.js";
import { normalizeSpace, signOf, someChildIs } from "../values.js";
import { childNormalized, isEmpty, pathTextNode, textNode } from "./xpath.js";

const ORDER_REFERENCE = at("cac:OrderReference/cbc:ID");
const CUSTOMIZATION = at("cbc:CustomizationID");

/** Elements that say nothing. A rule of every element, so it is one look at flags that the scanner has set. */
export const EMPTY_ELEMENTS: Pattern<PeppolFacts> = {
  id: "empty-elements",
  rules: [
    ruleWhen(
      "*",
      // Where the form is known, no element is empty.
      ofNamesFirst(() => false, isEmpty),
      fatal("PEPPOL-EN16931-R008", "", "The element is empty. Give it a value or leave it out.", () => false),
    ),
  ],
};

/** A credit note refers to one project. */
export const PROJECT_REFERENCE: Pattern<PeppolFacts> = {
  id: "project-reference",
  rules: [
    rule(
      "CreditNote",
      fatal(
        "PEPPOL-EN16931-R080",
        "BT-11",
        "The credit note names several projects (additional document references of type 50). Keep one.",
        (doc, e) => projectReferences(doc, e) <= 1,
      ),
    ),
  ],
};

function projectReferences(doc: XmlDocument, e: ElementId): number {
  let references = 0;
  for (
    let reference = doc.child(e, cac.AdditionalDocumentReference);
    reference !== NONE;
    reference = doc.nextSame(reference)
  ) {
    if (someChildIs(doc, reference, cbc.DocumentTypeCode, "50")) references += 1;
  }
  return references;
}

/** Rules of the document element and of the two parties, the first rules of the transaction pattern. */
export const DOCUMENT_RULES: readonly Rule<PeppolFacts>[] = [
  rule(
    "CreditNote | Invoice",
    fatal("PEPPOL-EN16931-R001", "BT-23", "The business process is missing. Add cbc:ProfileID.", (doc, e) =>
      doc.has(e, cbc.ProfileID),
    ),
    fatal(
      "PEPPOL-EN16931-R007",
      "BT-23",
      "The business process (cbc:ProfileID) is not one that Peppol has approved. Write urn:fdc:peppol.eu:2017:poacc:billing:01:1.0, or urn:fdc:peppol.eu:2017:poacc:selfbilling:01:1.0 for self-billing.",
      (doc, _, facts) => facts.profile.of(doc) !== "Unknown",
    ),
    fatal(
      "PEPPOL-EN16931-R002",
      "BG-1 BT-22",
      "There is more than one note. Merge the notes into one; only documents between German parties may carry several.",
      (doc, e, facts) => doc.countChildren(e, cbc.Note) <= 1 || facts.isWithinGermany(doc),
    ),
    fatal(
      "PEPPOL-EN16931-R003",
      "BT-10 BT-13",
      "Neither a buyer reference nor a purchase order reference is given. Add one of them.",
      (doc, e) => doc.has(e, cbc.BuyerReference) || ORDER_REFERENCE.exists(doc, e),
    ),
    fatal(
      "PEPPOL-EN16931-R004",
      "BT-24",
      "The specification identifier (cbc:CustomizationID) does not begin with the one of this Peppol process, or contains '::'. Write urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0, or …:poacc:selfbilling:3.0 for self-billing.",
      isPeppolSpecification,
    ),
    fatal(
      "PEPPOL-EN16931-R053",
      "BG-22 BG-23",
      "Exactly one cac:TaxTotal must carry the VAT breakdown. Put all VAT subtotals into one.",
      (doc, e) => taxTotals(doc, e, true) === 1,
    ),
    fatal(
      "PEPPOL-EN16931-R054",
      "BT-6 BT-111",
      "A VAT total without breakdown belongs to a VAT accounting currency: give exactly one if cbc:TaxCurrencyCode is present, none otherwise.",
      (doc, e) => taxTotals(doc, e, false) === (doc.has(e, cbc.TaxCurrencyCode) ? 1 : 0),
    ),
    fatal(
      "PEPPOL-EN16931-R055",
      "BT-110 BT-111",
      "The VAT totals in document currency and in accounting currency have different signs. Correct one of them.",
      taxTotalsAgreeInSign,
    ),
  ),
  rule(
    "cbc:TaxCurrencyCode",
    fatal(
      "PEPPOL-EN16931-R005",
      "BT-5 BT-6",
      "The VAT accounting currency equals the document currency. Leave cbc:TaxCurrencyCode out, or correct it.",
      (doc, e, facts) => normalizeSpace(textNode(doc, e)) !== facts.currencyBeside(doc, e),
    ),
  ),
  rule(
    "cac:AccountingCustomerParty/cac:Party",
    fatal(
      "PEPPOL-EN16931-R010",
      "BT-49",
      "The buyer's electronic address is missing. Add cbc:EndpointID to the buyer.",
      (doc, e) => doc.has(e, cbc.EndpointID),
    ),
  ),
  rule(
    "cac:AccountingSupplierParty/cac:Party",
    fatal(
      "PEPPOL-EN16931-R020",
      "BT-34",
      "The seller's electronic address is missing. Add cbc:EndpointID to the seller.",
      (doc, e) => doc.has(e, cbc.EndpointID),
    ),
  ),
];

function isPeppolSpecification(doc: XmlDocument, e: ElementId, facts: PeppolFacts): boolean {
  const id = normalizeSpace(pathTextNode(doc, e, CUSTOMIZATION));
  return id.startsWith(facts.variant.customization) && !id.includes("::");
}

/** Number of TaxTotal with, or without, a breakdown. */
function taxTotals(doc: XmlDocument, e: ElementId, withBreakdown: boolean): number {
  let totals = 0;
  for (let total = doc.child(e, cac.TaxTotal); total !== NONE; total = doc.nextSame(total)) {
    if (doc.has(total, cac.TaxSubtotal) === withBreakdown) totals += 1;
  }
  return totals;
}

const isNotPositive = (sign: number): boolean => sign <= 0;
const isNotNegative = (sign: number): boolean => sign >= 0;

/** Some total of each currency on the same side of zero; zero lies on both. */
function taxTotalsAgreeInSign(doc: XmlDocument, e: ElementId): boolean {
  if (!doc.has(e, cbc.TaxCurrencyCode)) return true;
  return (
    (someTotal(doc, e, cbc.TaxCurrencyCode, isNotPositive) &&
      someTotal(doc, e, cbc.DocumentCurrencyCode, isNotPositive)) ||
    (someTotal(doc, e, cbc.TaxCurrencyCode, isNotNegative) &&
      someTotal(doc, e, cbc.DocumentCurrencyCode, isNotNegative))
  );
}

/** Whether a tax amount in the currency that the named child of the document gives passes. */
function someTotal(doc: XmlDocument, e: ElementId, currencyName: number, passes: (sign: number) => boolean): boolean {
  let currency: string | undefined;
  for (let total = doc.child(e, cac.TaxTotal); total !== NONE; total = doc.nextSame(total)) {
    for (let amount = doc.child(total, cbc.TaxAmount); amount !== NONE; amount = doc.nextSame(amount)) {
      const written = doc.attr(amount, attr.currencyID);
      currency ??= childNormalized(doc, e, currencyName);
      if (written === currency && passes(signOf(doc, amount))) return true;
    }
  }
  return false;
}
