/** The restrictions of the document element that ask for more than the presence or the number of a path. */
import { NONE } from "../../xml/document.js";
import type { ElementId, XmlDocument } from "../../xml/document.js";
import { attr, cac, cbc, roots } from "../../xml/names.js";
import type { NameId } from "../../xml/names.js";
import { at } from "../path.js";
import { fatal, warning } from "../rule.js";
import type { Assert, Facts } from "../rule.js";
import { childText, someChildIs } from "../values.js";

const supplierTaxSchemes = at("cac:AccountingSupplierParty/cac:Party/cac:PartyTaxScheme");
const customerTaxSchemes = at("cac:AccountingCustomerParty/cac:Party/cac:PartyTaxScheme");
const paymentDueDate = at("cac:PaymentMeans/cbc:PaymentDueDate");

/** An AdditionalDocumentReference that names the invoiced object (BT-18). */
export const isInvoicedObject = (doc: XmlDocument, e: ElementId): boolean =>
  someChildIs(doc, e, cbc.DocumentTypeCode, "130");

/** Some DocumentTypeCode differs from 130, or there is none. */
function isSupportingDocument(doc: XmlDocument, e: ElementId): boolean {
  let code = doc.child(e, cbc.DocumentTypeCode);
  if (code === NONE) return true;
  for (; code !== NONE; code = doc.nextSame(code)) if (doc.text(code) !== "130") return true;
  return false;
}

/** False when an element of that name, anywhere, is one that `isMeant` and `isFaulty`. */
function noneOf(
  doc: XmlDocument,
  name: NameId,
  isMeant: (doc: XmlDocument, e: ElementId) => boolean,
  isFaulty: (doc: XmlDocument, e: ElementId) => boolean,
): boolean {
  const all = doc.all(name);
  for (let i = 0; i < all.length; i += 1) {
    const e = all[i] ?? NONE;
    if (isMeant(doc, e) && isFaulty(doc, e)) return false;
  }
  return true;
}

const hasIdScheme = (doc: XmlDocument, e: ElementId): boolean => {
  for (let id = doc.child(e, cbc.ID); id !== NONE; id = doc.nextSame(id))
    if (doc.hasAttr(id, attr.schemeID)) return true;
  return false;
};

/** Adds the company ids of a tax scheme that is (or is not) VAT, compared without trimming. */
function companyIds(
  doc: XmlDocument,
  root: ElementId,
  schemes: typeof supplierTaxSchemes,
  isWanted: (id: string) => boolean,
): number {
  const found = { count: 0, isWanted };
  schemes.each(doc, root, addCompanyIds, found);
  return found.count;
}

function addCompanyIds(
  doc: XmlDocument,
  scheme: ElementId,
  found: { count: number; readonly isWanted: (id: string) => boolean },
): void {
  for (let tax = doc.child(scheme, cac.TaxScheme); tax !== NONE; tax = doc.nextSame(tax)) {
    if (found.isWanted(childText(doc, tax, cbc.ID).toUpperCase())) {
      found.count += doc.countChildren(scheme, cbc.CompanyID);
      return;
    }
  }
}

const isVat = (id: string): boolean => id === "VAT";
const isOther = (id: string): boolean => id !== "VAT";

/** False when two elements of that name differ in text. */
function allEqual(doc: XmlDocument, name: NameId): boolean {
  const all = doc.all(name);
  for (let i = 1; i < all.length; i += 1) if (doc.text(all[i] ?? 0) !== doc.text(all[0] ?? 0)) return false;
  return true;
}

function sepaIdentifiers(doc: XmlDocument): number {
  let count = 0;
  const parties = doc.all(cac.PartyIdentification);
  for (let i = 0; i < parties.length; i += 1) {
    for (let id = doc.child(parties[i] ?? 0, cbc.ID); id !== NONE; id = doc.nextSame(id)) {
      if (doc.attr(id, attr.schemeID)?.toUpperCase() === "SEPA") count += 1;
    }
  }
  return count;
}

function invoicedObjects(doc: XmlDocument, root: ElementId): number {
  let count = 0;
  for (let e = doc.child(root, cac.AdditionalDocumentReference); e !== NONE; e = doc.nextSame(e)) {
    if (isInvoicedObject(doc, e)) count += doc.countChildren(e, cbc.ID);
  }
  return count;
}

/** In the order of the official file, for the sake of the first error. */
export const CONDITIONAL_RESTRICTIONS: readonly Assert<Facts>[] = [
  warning(
    "UBL-CR-002",
    "",
    "cbc:UBLVersionID is not used in EN 16931 invoices; remove it or set it to 2.1.",
    (doc, root) => !doc.has(root, cbc.UBLVersionID) || someChildIs(doc, root, cbc.UBLVersionID, "2.1"),
  ),
  warning(
    "UBL-CR-412",
    "BT-9",
    "cac:PaymentMeans/cbc:PaymentDueDate is used in credit notes only; use cbc:DueDate in an invoice.",
    (doc, root) => doc.name(root) === roots.CreditNote || !paymentDueDate.exists(doc, root),
  ),
  warning(
    "UBL-CR-665",
    "BT-122",
    "Only the reference of an invoiced object (cbc:DocumentTypeCode 130) has a scheme; remove schemeID from the cbc:ID of other cac:AdditionalDocumentReference.",
    (doc) => noneOf(doc, cac.AdditionalDocumentReference, isSupportingDocument, hasIdScheme),
  ),
  fatal(
    "UBL-CR-666",
    "BT-18",
    "The reference of an invoiced object (cbc:DocumentTypeCode 130) has no document; remove its cac:Attachment.",
    (doc) => noneOf(doc, cac.AdditionalDocumentReference, isInvoicedObject, (d, e) => d.has(e, cac.Attachment)),
  ),
  fatal(
    "UBL-CR-673",
    "BT-18",
    "The reference of an invoiced object (cbc:DocumentTypeCode 130) has no description; remove its cbc:DocumentDescription.",
    (doc) =>
      noneOf(doc, cac.AdditionalDocumentReference, isInvoicedObject, (d, e) => d.has(e, cbc.DocumentDescription)),
  ),
  fatal(
    "UBL-SR-04",
    "BT-18",
    "Only one invoiced object may be named; keep one cac:AdditionalDocumentReference with cbc:DocumentTypeCode 130.",
    (doc, root) => invoicedObjects(doc, root) <= 1,
  ),
  fatal(
    "UBL-SR-12",
    "BT-31",
    "The seller may have only one VAT identifier; keep one cac:PartyTaxScheme of scheme VAT.",
    (doc, root) => companyIds(doc, root, supplierTaxSchemes, isVat) <= 1,
  ),
  fatal(
    "UBL-SR-13",
    "BT-32",
    "The seller may have only one tax registration identifier; keep one cac:PartyTaxScheme of a scheme other than VAT.",
    (doc, root) => companyIds(doc, root, supplierTaxSchemes, isOther) <= 1,
  ),
  fatal(
    "UBL-SR-18",
    "BT-48",
    "The buyer may have only one VAT identifier; keep one cac:PartyTaxScheme of scheme VAT.",
    (doc, root) => companyIds(doc, root, customerTaxSchemes, isVat) <= 1,
  ),
  fatal(
    "UBL-SR-29",
    "BT-90",
    "Only one creditor identifier may be given; keep one cac:PartyIdentification/cbc:ID of scheme SEPA.",
    (doc) => sepaIdentifiers(doc) <= 1,
  ),
  fatal("UBL-SR-44", "BT-83", "All cbc:PaymentID must carry the same remittance information; make them equal.", (doc) =>
    allEqual(doc, cbc.PaymentID),
  ),
  fatal(
    "UBL-SR-47",
    "BT-81",
    "All cbc:PaymentMeansCode must be the same; make them equal or send several invoices.",
    (doc) => allEqual(doc, cbc.PaymentMeansCode),
  ),
];
