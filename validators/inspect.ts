/** Takes the values that the owner of a document needs out of it, from the same scan that is judged. */
import type { DocumentFacts, Endpoint } from "./report.js";
import { parseDate } from "./rules/values.js";
import { firstChars } from "./text.js";
import { NONE } from "./xml/document.js";
import type { ElementId, XmlDocument } from "./xml/document.js";
import { attr, cac, cbc, roots } from "./xml/names.js";
import type { NameId } from "./xml/names.js";

/** Longer values are cut: they are wrong anyway, and they travel into rows and events. */
const VALUE_CHARS_MAX = 1_024;
/** Billing references taken from one document. */
const PRECEDING_INVOICES_MAX = 1_000;

/** The element at the end of a path of first children, or NONE. */
function at(document: XmlDocument, from: ElementId, ...path: readonly NameId[]): ElementId {
  let e = from;
  for (const name of path) {
    if (e === NONE) return NONE;
    e = document.child(e, name);
  }
  return e;
}

function textAt(document: XmlDocument, from: ElementId, ...path: readonly NameId[]): string | undefined {
  const e = at(document, from, ...path);
  if (e === NONE) return undefined;
  const text = document.text(e).trim();
  return text === "" ? undefined : firstChars(text, VALUE_CHARS_MAX);
}

function endpointAt(document: XmlDocument, party: ElementId): Endpoint | undefined {
  const e = party === NONE ? NONE : document.child(party, cbc.EndpointID);
  if (e === NONE) return undefined;
  return {
    schemeId: firstChars((document.attr(e, attr.schemeID) ?? "").trim(), VALUE_CHARS_MAX),
    value: firstChars(document.text(e).trim(), VALUE_CHARS_MAX),
  };
}

/**
 * The latest of the dates that the elements of a name have, or one that is no date: then none of them is taken for the
 * latest.
 */
function latestDate(document: XmlDocument, name: NameId, date: NameId): string | undefined {
  let latest: { readonly text: string; readonly minutes: number } | undefined;
  for (let e = document.child(0, name); e !== NONE; e = document.nextSame(e)) {
    const text = textAt(document, e, date);
    if (text === undefined) continue;
    const minutes = parseDate(text);
    if (minutes === undefined) return text;
    if (latest === undefined || minutes > latest.minutes) latest = { text, minutes };
  }
  return latest?.text;
}

function precedingInvoices(document: XmlDocument): string[] {
  const ids: string[] = [];
  for (
    let e = document.child(0, cac.BillingReference);
    e !== NONE && ids.length < PRECEDING_INVOICES_MAX;
    e = document.nextSame(e)
  ) {
    const id = textAt(document, e, cac.InvoiceDocumentReference, cbc.ID);
    if (id !== undefined) ids.push(id);
  }
  return ids;
}

/** Facts of any document with a root; values of elements that it does not have are undefined. */
export function inspect(document: XmlDocument): DocumentFacts {
  const { namespace, local } = document.expanded(document.name(0));
  const response = document.name(0) === roots.ApplicationResponse;
  const supplier = response
    ? at(document, 0, cac.SenderParty)
    : at(document, 0, cac.AccountingSupplierParty, cac.Party);
  const customer = response
    ? at(document, 0, cac.ReceiverParty)
    : at(document, 0, cac.AccountingCustomerParty, cac.Party);
  return {
    rootNamespace: firstChars(namespace, VALUE_CHARS_MAX),
    rootLocal: local,
    customizationId: textAt(document, 0, cbc.CustomizationID),
    profileId: textAt(document, 0, cbc.ProfileID),
    documentNumber: textAt(document, 0, cbc.ID),
    issueDate: textAt(document, 0, cbc.IssueDate),
    // A credit note has no due date of its own; it stands with the means of payment.
    dueDate: textAt(document, 0, cbc.DueDate) ?? textAt(document, 0, cac.PaymentMeans, cbc.PaymentDueDate),
    taxPointDate: textAt(document, 0, cbc.TaxPointDate),
    deliveryDate: latestDate(document, cac.Delivery, cbc.ActualDeliveryDate),
    invoicePeriodEnd: latestDate(document, cac.InvoicePeriod, cbc.EndDate),
    typeCode: textAt(document, 0, cbc.InvoiceTypeCode) ?? textAt(document, 0, cbc.CreditNoteTypeCode),
    supplierEndpoint: endpointAt(document, supplier),
    customerEndpoint: endpointAt(document, customer),
    precedingInvoiceIds: precedingInvoices(document),
    currency: textAt(document, 0, cbc.DocumentCurrencyCode),
    payableAmount: textAt(document, 0, cac.LegalMonetaryTotal, cbc.PayableAmount),
    buyerReference: textAt(document, 0, cbc.BuyerReference),
    orderReference: textAt(document, 0, cac.OrderReference, cbc.ID),
    supplierCountry:
      supplier === NONE
        ? undefined
        : textAt(document, supplier, cac.PostalAddress, cac.Country, cbc.IdentificationCode),
    customerCountry:
      customer === NONE
        ? undefined
        : textAt(document, customer, cac.PostalAddress, cac.Country, cbc.IdentificationCode),
    supplierName:
      supplier === NONE ? undefined : textAt(document, supplier, cac.PartyLegalEntity, cbc.RegistrationName),
    customerName:
      customer === NONE ? undefined : textAt(document, customer, cac.PartyLegalEntity, cbc.RegistrationName),
  };
}
