/** Tax registrations of a party (cac:PartyTaxScheme), as several countries look at them. */
import { NONE } from "../../../xml/document.js";
import type { ElementId, XmlDocument } from "../../../xml/document.js";
import { cac, cbc } from "../../../xml/names.js";
import { at } from "../../path.js";
import { pathNormalized } from "../xpath.js";

const SCHEME_ID = at("cac:TaxScheme/cbc:ID");

/** Whether the registration is of this kind: VAT, TAX. @throws RuleError XPTY0004 when it has several schemes */
export const isRegistration = (doc: XmlDocument, scheme: ElementId, kind: string): boolean =>
  pathNormalized(doc, scheme, SCHEME_ID) === kind;

/** Texts of all CompanyIDs in the registrations of a party that pass. */
export function companyIds(
  doc: XmlDocument,
  party: ElementId,
  passes: (doc: XmlDocument, scheme: ElementId) => boolean,
): string[] {
  const numbers: string[] = [];
  for (let scheme = doc.child(party, cac.PartyTaxScheme); scheme !== NONE; scheme = doc.nextSame(scheme)) {
    if (!passes(doc, scheme)) continue;
    for (let number = doc.child(scheme, cbc.CompanyID); number !== NONE; number = doc.nextSame(number))
      numbers.push(doc.text(number));
  }
  return numbers;
}

/** All numbers of VAT registrations. @throws RuleError XPTY0004 when a registration has several schemes */
export const vatNumbers = (doc: XmlDocument, party: ElementId): string[] => companyIds(doc, party, isVat);
/**
 * All numbers of other tax registrations (scheme TAX). @throws RuleError XPTY0004 when a registration has several
 * schemes
 */
export const taxNumbers = (doc: XmlDocument, party: ElementId): string[] => companyIds(doc, party, isTax);

const isVat = (doc: XmlDocument, scheme: ElementId): boolean => isRegistration(doc, scheme, "VAT");
const isTax = (doc: XmlDocument, scheme: ElementId): boolean => isRegistration(doc, scheme, "TAX");
