/** Tax identifiers of the parties, wherever in the document the parties stand. */
import { NONE } from "../../xml/document.js";
import type { ElementId, XmlDocument } from "../../xml/document.js";
import { cac, cbc } from "../../xml/names.js";
import type { NameId } from "../../xml/names.js";
import { isOnlyVat } from "./vat-categories.js";

/** The seller has an identifier of some tax scheme (BT-31, BT-32). */
export const sellerHasTaxId = (doc: XmlDocument): boolean => anyParty(doc, cac.AccountingSupplierParty, hasTaxId);
/** Whether the seller gives a VAT identifier (BT-31). */
export const sellerHasVatId = (doc: XmlDocument): boolean => anyParty(doc, cac.AccountingSupplierParty, hasVatId);
/** Whether the buyer gives a VAT identifier (BT-48). */
export const buyerHasVatId = (doc: XmlDocument): boolean => anyParty(doc, cac.AccountingCustomerParty, hasVatId);
/** Whether the buyer gives a legal registration identifier (BT-47). */
export const buyerHasLegalId = (doc: XmlDocument): boolean => anyParty(doc, cac.AccountingCustomerParty, hasLegalId);
/** Whether the seller's tax representative gives a VAT identifier (BT-63). */
export function representativeHasVatId(doc: XmlDocument): boolean {
  const all = doc.all(cac.TaxRepresentativeParty);
  for (let i = 0; i < all.length; i += 1) if (hasVatId(doc, all[i] ?? NONE)) return true;
  return false;
}

/** True when a cac:Party below an element of that name satisfies the test. */
function anyParty(doc: XmlDocument, role: NameId, test: (doc: XmlDocument, party: ElementId) => boolean): boolean {
  const all = doc.all(role);
  for (let i = 0; i < all.length; i += 1) {
    for (let party = doc.child(all[i] ?? NONE, cac.Party); party !== NONE; party = doc.nextSame(party)) {
      if (test(doc, party)) return true;
    }
  }
  return false;
}

function hasTaxId(doc: XmlDocument, party: ElementId): boolean {
  for (let e = doc.child(party, cac.PartyTaxScheme); e !== NONE; e = doc.nextSame(e))
    if (doc.has(e, cbc.CompanyID)) return true;
  return false;
}

/** Some tax scheme of the party is VAT and has an identifier. @throws RuleError FORG0006, XPTY0004 */
export function hasVatId(doc: XmlDocument, party: ElementId): boolean {
  for (let e = doc.child(party, cac.PartyTaxScheme); e !== NONE; e = doc.nextSame(e)) {
    if (isOnlyVat(doc, e) && doc.has(e, cbc.CompanyID)) return true;
  }
  return false;
}

function hasLegalId(doc: XmlDocument, party: ElementId): boolean {
  for (let e = doc.child(party, cac.PartyLegalEntity); e !== NONE; e = doc.nextSame(e))
    if (doc.has(e, cbc.CompanyID)) return true;
  return false;
}
