/** Iceland: sellers with an Icelandic address. */
import { NONE } from "../../../xml/document.js";
import type { ElementId, XmlDocument } from "../../../xml/document.js";
import { attr, cac, cbc } from "../../../xml/names.js";
import { at } from "../../path.js";
import { fatal, ruleWhen, RuleError, warning } from "../../rule.js";
import type { Pattern } from "../../rule.js";
import type { PeppolFacts } from "../facts.js";
import { codePoints, normalizeSpace, parseDate, someChildIs } from "../../values.js";
import { childNormalized } from "../xpath.js";

const ACCOUNT = at("cac:PayeeFinancialAccount/cbc:ID");
const SELLER_ID = at("cac:AccountingSupplierParty/cac:Party/cac:PartyLegalEntity/cbc:CompanyID");
const SELLER_STREET = at("cac:AccountingSupplierParty/cac:Party/cac:PostalAddress/cbc:StreetName");
const SELLER_POST_CODE = at("cac:AccountingSupplierParty/cac:Party/cac:PostalAddress/cbc:PostalZone");
const BUYER_ID = at("cac:Party/cac:PartyLegalEntity/cbc:CompanyID");
const BUYER_STREET = at("cac:Party/cac:PostalAddress/cbc:StreetName");
const BUYER_POST_CODE = at("cac:Party/cac:PostalAddress/cbc:PostalZone");

const isKennitala = (doc: XmlDocument, e: ElementId): boolean => doc.attr(e, attr.schemeID) === "0196";
const isInvoiceType = (code: string): boolean => code === "380" || code === "381";

/**
 * The account at the payment means of this code: twelve characters, if there are such payment means.
 * @throws RuleError XPTY0004 for several accounts
 */
function hasLongAccount(doc: XmlDocument, e: ElementId, code: string): boolean {
  const accounts: string[] = [];
  let found = false;
  for (let means = doc.child(e, cac.PaymentMeans); means !== NONE; means = doc.nextSame(means)) {
    if (!someChildIs(doc, means, cbc.PaymentMeansCode, code)) continue;
    found = true;
    ACCOUNT.each(doc, means, (_, account, into) => into.push(doc.text(account)), accounts);
  }
  if (accounts.length > 1) throw new RuleError("XPTY0004");
  return !found || (accounts[0] !== undefined && codePoints(normalizeSpace(accounts[0])) === 12);
}

/**
 * Ids of the supporting documents described as EINDAGI (the last day of payment); undefined without such a document.
 */
function finalDueDates(doc: XmlDocument, e: ElementId): string[] | undefined {
  let dates: string[] | undefined;
  for (
    let reference = doc.child(e, cac.AdditionalDocumentReference);
    reference !== NONE;
    reference = doc.nextSame(reference)
  ) {
    if (!someChildIs(doc, reference, cbc.DocumentDescription, "EINDAGI")) continue;
    dates ??= [];
    for (let id = doc.child(reference, cbc.ID); id !== NONE; id = doc.nextSame(id)) dates.push(doc.text(id));
  }
  return dates;
}

function isFinalDueDateADate(doc: XmlDocument, e: ElementId): boolean {
  const dates = finalDueDates(doc, e);
  if (dates === undefined) return true;
  if (dates.length > 1) throw new RuleError("XPTY0004");
  const date = dates[0] ?? "";
  return codePoints(date) === 10 && parseDate(date) !== undefined;
}

/** Compared as text, code point by code point: some due date not after some final one. */
function isDueBeforeFinalDate(doc: XmlDocument, e: ElementId): boolean {
  const dates = finalDueDates(doc, e);
  if (dates === undefined) return true;
  const last = dates
    .map((date) => Buffer.from(date))
    .sort(Buffer.compare)
    .at(-1);
  for (let due = doc.child(e, cbc.DueDate); due !== NONE; due = doc.nextSame(due)) {
    if (last !== undefined && Buffer.compare(Buffer.from(doc.text(due)), last) <= 0) return true;
  }
  return false;
}

const isIcelandic = (doc: XmlDocument, facts: PeppolFacts): boolean => facts.supplierAddress.of(doc) === "IS";

export const ICELAND: Pattern<PeppolFacts> = {
  id: "iceland",
  concerns: isIcelandic,
  rules: [
    ruleWhen(
      "CreditNote | Invoice",
      (doc, _, facts) => isIcelandic(doc, facts),
      warning(
        "IS-R-001",
        "BT-3",
        "The document of an Icelandic seller should be of type 380 or 381.",
        (doc, e) =>
          isInvoiceType(childNormalized(doc, e, cbc.InvoiceTypeCode)) ||
          isInvoiceType(childNormalized(doc, e, cbc.CreditNoteTypeCode)),
      ),
      fatal(
        "IS-R-002",
        "BT-30",
        "An Icelandic seller must give its kennitala: a legal registration identifier with scheme 0196.",
        (doc, e) => SELLER_ID.some(doc, e, isKennitala, undefined),
      ),
      fatal(
        "IS-R-003",
        "BT-35 BT-38",
        "An Icelandic seller needs street and post code in its address.",
        (doc, e) => SELLER_STREET.exists(doc, e) && SELLER_POST_CODE.exists(doc, e),
      ),
      fatal("IS-R-006", "BT-81 BT-84", "Payment means 9 needs an account identifier of 12 digits.", (doc, e) =>
        hasLongAccount(doc, e, "9"),
      ),
      fatal("IS-R-007", "BT-81 BT-84", "Payment means 42 needs an account identifier of 12 digits.", (doc, e) =>
        hasLongAccount(doc, e, "42"),
      ),
      fatal(
        "IS-R-008",
        "BT-122",
        "The supporting document EINDAGI must have a date as its identifier, written YYYY-MM-DD.",
        isFinalDueDateADate,
      ),
      fatal(
        "IS-R-009",
        "BT-9 BT-122",
        "A document with EINDAGI must have a due date. Add cbc:DueDate.",
        (doc, e) => finalDueDates(doc, e) === undefined || doc.has(e, cbc.DueDate),
      ),
      fatal(
        "IS-R-010",
        "BT-9 BT-122",
        "The date of EINDAGI lies before the due date. It must be the same day or later.",
        isDueBeforeFinalDate,
      ),
    ),
    ruleWhen(
      "CreditNote/cac:AccountingCustomerParty | Invoice/cac:AccountingCustomerParty",
      (doc, _, facts) => isIcelandic(doc, facts) && facts.customerAddress.of(doc) === "IS",
      fatal(
        "IS-R-004",
        "BT-47",
        "An Icelandic buyer of an Icelandic seller must give its kennitala: a legal registration identifier with scheme 0196.",
        (doc, e) => BUYER_ID.some(doc, e, isKennitala, undefined),
      ),
      fatal(
        "IS-R-005",
        "BT-50 BT-53",
        "An Icelandic buyer of an Icelandic seller needs street and post code in its address.",
        (doc, e) => BUYER_STREET.exists(doc, e) && BUYER_POST_CODE.exists(doc, e),
      ),
    ),
  ],
};
