/** Reads an invoice or credit note for people: nothing is judged, what is wrong is shown as it stands. */
import { Fields } from "../ubl/fields.js";
import { NONE } from "../xml/document.js";
import type { ElementId, XmlDocument } from "../xml/document.js";
import { attr, cac, cbc, roots } from "../xml/names.js";
import type { NameId } from "../xml/names.js";
import { ENTRIES_MAX, LINES_MAX } from "./bounds.js";
import type {
  AllowanceView,
  AttachmentView,
  InvoiceView,
  LineView,
  PaymentView,
  PeriodView,
  ReferenceView,
  Said,
  TaxView,
} from "./invoice-view.js";
import { countOmitted } from "./read-omitted.js";
import { identifierAt, readDelivery, readParty } from "./read-parties.js";
import { shownText } from "./shown-text.js";

/** UNTDID 1001 codes of documents that the buyer writes for the seller. */
const SELF_BILLED: readonly Said[] = ["389", "261", "527", "500", "501", "502", "471", "473"];
/** A reference with this type code names the object that is invoiced. */
const INVOICED_OBJECT = "130";

const REFERENCES: readonly (readonly [kind: ReferenceView["kind"], path: readonly NameId[]])[] = [
  ["buyer", [cbc.BuyerReference]],
  ["order", [cac.OrderReference, cbc.ID]],
  ["salesOrder", [cac.OrderReference, cbc.SalesOrderID]],
  ["contract", [cac.ContractDocumentReference, cbc.ID]],
  ["project", [cac.ProjectReference, cbc.ID]],
  ["despatch", [cac.DespatchDocumentReference, cbc.ID]],
  ["receipt", [cac.ReceiptDocumentReference, cbc.ID]],
  ["tender", [cac.OriginatorDocumentReference, cbc.ID]],
  ["costs", [cbc.AccountingCost]],
];

/** @param document  an Invoice or a CreditNote */
export function readInvoice(document: XmlDocument): InvoiceView {
  const fields = new Fields(document, shownText);
  const isCreditNote = document.name(0) === roots.CreditNote;
  const typeCode = fields.text(0, isCreditNote ? cbc.CreditNoteTypeCode : cbc.InvoiceTypeCode);
  const currency = fields.text(0, cbc.DocumentCurrencyCode);
  const line = isCreditNote ? cac.CreditNoteLine : cac.InvoiceLine;
  const payee = fields.at(0, cac.PayeeParty);
  const representative = fields.at(0, cac.TaxRepresentativeParty);
  const delivery = fields.at(0, cac.Delivery);
  return {
    isCreditNote,
    isSelfBilled:
      SELF_BILLED.includes(typeCode) || fields.text(0, cbc.CustomizationID)?.includes(":selfbilling:") === true,
    typeCode,
    number: fields.text(0, cbc.ID),
    issueDate: fields.text(0, cbc.IssueDate),
    dueDate: fields.text(0, cbc.DueDate) ?? fields.text(0, cac.PaymentMeans, cbc.PaymentDueDate),
    taxPointDate: fields.text(0, cbc.TaxPointDate),
    taxPointCode: fields.text(0, cac.InvoicePeriod, cbc.DescriptionCode),
    deliveryDate: fields.text(0, cac.Delivery, cbc.ActualDeliveryDate),
    period: readPeriod(fields, fields.at(0, cac.InvoicePeriod)),
    currency,
    taxCurrency: fields.text(0, cbc.TaxCurrencyCode),
    notes: textsOf(fields, 0, cbc.Note),
    references: readReferences(fields),
    seller: readParty(fields, fields.at(0, cac.AccountingSupplierParty, cac.Party)),
    buyer: readParty(fields, fields.at(0, cac.AccountingCustomerParty, cac.Party)),
    payee: payee === NONE ? null : readParty(fields, payee),
    taxRepresentative: representative === NONE ? null : readParty(fields, representative),
    deliverTo: delivery === NONE ? null : readDelivery(fields, delivery),
    payments: fields.each(0, cac.PaymentMeans, ENTRIES_MAX, (e) => readPayment(fields, e)),
    terms: fields
      .each(0, cac.PaymentTerms, ENTRIES_MAX, (e) => fields.text(e, cbc.Note))
      .filter((text) => text !== null),
    allowances: readAllowances(fields, 0),
    taxes: readTaxes(fields),
    totals: readTotals(fields, currency),
    lineCount: fields.count(0, line),
    lines: fields.each(0, line, LINES_MAX, (e) =>
      readLine(fields, e, isCreditNote ? cbc.CreditedQuantity : cbc.InvoicedQuantity),
    ),
    attachments: readAttachments(fields, document),
    omittedCount: countOmitted(fields, line),
  };
}

const textsOf = (fields: Fields, from: ElementId, name: NameId): readonly string[] =>
  fields.each(from, name, ENTRIES_MAX, (e) => fields.text(e)).filter((text) => text !== null);

function readPeriod(fields: Fields, period: ElementId): PeriodView | null {
  const [start, end] = [fields.text(period, cbc.StartDate), fields.text(period, cbc.EndDate)];
  return start === null && end === null ? null : { start, end };
}

function readReferences(fields: Fields): readonly ReferenceView[] {
  const single = REFERENCES.map(([kind, path]) => ({ kind, id: fields.text(0, ...path), date: null }));
  const preceding = fields.each(0, cac.BillingReference, ENTRIES_MAX, (e) => ({
    kind: "preceding" as const,
    id: fields.text(e, cac.InvoiceDocumentReference, cbc.ID),
    date: fields.text(e, cac.InvoiceDocumentReference, cbc.IssueDate),
  }));
  const objects = fields.each(0, cac.AdditionalDocumentReference, ENTRIES_MAX, (e) => ({
    kind: "object" as const,
    id: fields.text(e, cbc.DocumentTypeCode) === INVOICED_OBJECT ? fields.text(e, cbc.ID) : null,
    date: null,
  }));
  return [...single, ...preceding, ...objects].flatMap(({ kind, id, date }) =>
    id === null ? [] : [{ kind, id, date }],
  );
}

const readPayment = (fields: Fields, e: ElementId): PaymentView => ({
  code: fields.text(e, cbc.PaymentMeansCode),
  name: fields.attribute(fields.at(e, cbc.PaymentMeansCode), attr.name),
  reference: fields.text(e, cbc.PaymentID),
  account: fields.text(e, cac.PayeeFinancialAccount, cbc.ID),
  accountName: fields.text(e, cac.PayeeFinancialAccount, cbc.Name),
  bank: fields.text(e, cac.PayeeFinancialAccount, cac.FinancialInstitutionBranch, cbc.ID),
  card: fields.text(e, cac.CardAccount, cbc.PrimaryAccountNumberID),
  cardNetwork: fields.text(e, cac.CardAccount, cbc.NetworkID),
  cardHolder: fields.text(e, cac.CardAccount, cbc.HolderName),
  mandate: fields.text(e, cac.PaymentMandate, cbc.ID),
  debited: fields.text(e, cac.PaymentMandate, cac.PayerFinancialAccount, cbc.ID),
});

const readAllowances = (fields: Fields, from: ElementId): readonly AllowanceView[] =>
  fields.each(from, cac.AllowanceCharge, ENTRIES_MAX, (e) => ({
    isCharge: fields.isTrue(e, cbc.ChargeIndicator),
    reason: fields.text(e, cbc.AllowanceChargeReason),
    reasonCode: fields.text(e, cbc.AllowanceChargeReasonCode),
    percent: fields.text(e, cbc.MultiplierFactorNumeric),
    amount: fields.text(e, cbc.Amount),
    base: fields.text(e, cbc.BaseAmount),
    category: fields.text(e, cac.TaxCategory, cbc.ID),
    rate: fields.text(e, cac.TaxCategory, cbc.Percent),
  }));

/** The breakdown stands in one of the two totals of VAT. */
const readTaxes = (fields: Fields): readonly TaxView[] =>
  fields
    .each(0, cac.TaxTotal, ENTRIES_MAX, (total) =>
      fields.each(total, cac.TaxSubtotal, ENTRIES_MAX, (e) => ({
        category: fields.text(e, cac.TaxCategory, cbc.ID),
        rate: fields.text(e, cac.TaxCategory, cbc.Percent),
        taxable: fields.text(e, cbc.TaxableAmount),
        tax: fields.text(e, cbc.TaxAmount),
        reason: fields.text(e, cac.TaxCategory, cbc.TaxExemptionReason),
        reasonCode: fields.text(e, cac.TaxCategory, cbc.TaxExemptionReasonCode),
      })),
    )
    .flat();

function readTotals(fields: Fields, currency: Said): InvoiceView["totals"] {
  const total = (name: NameId): Said => fields.text(0, cac.LegalMonetaryTotal, name);
  const taxes = fields.each(0, cac.TaxTotal, ENTRIES_MAX, (e) => ({
    amount: fields.text(e, cbc.TaxAmount),
    currency: fields.attribute(fields.at(e, cbc.TaxAmount), attr.currencyID),
  }));
  const own = taxes.find((tax) => tax.currency === currency) ?? taxes[0];
  return {
    lines: total(cbc.LineExtensionAmount),
    allowances: total(cbc.AllowanceTotalAmount),
    charges: total(cbc.ChargeTotalAmount),
    net: total(cbc.TaxExclusiveAmount),
    tax: own?.amount ?? null,
    taxConverted: taxes.find((tax) => tax !== own)?.amount ?? null,
    gross: total(cbc.TaxInclusiveAmount),
    prepaid: total(cbc.PrepaidAmount),
    rounding: total(cbc.PayableRoundingAmount),
    payable: total(cbc.PayableAmount),
  };
}

function readLine(fields: Fields, e: ElementId, quantity: NameId): LineView {
  const item = fields.at(e, cac.Item);
  const price = fields.at(e, cac.Price);
  return {
    id: fields.text(e, cbc.ID),
    name: fields.text(item, cbc.Name),
    description: fields.text(item, cbc.Description),
    sellersId: fields.text(item, cac.SellersItemIdentification, cbc.ID),
    buyersId: fields.text(item, cac.BuyersItemIdentification, cbc.ID),
    standardId: identifierAt(fields, item, cac.StandardItemIdentification, cbc.ID),
    properties: fields.each(item, cac.AdditionalItemProperty, ENTRIES_MAX, (property) => ({
      name: fields.text(property, cbc.Name),
      value: fields.text(property, cbc.Value),
    })),
    classifications: readClassifications(fields, item),
    origin: fields.text(item, cac.OriginCountry, cbc.IdentificationCode),
    objects: readObjects(fields, e),
    note: fields.text(e, cbc.Note),
    period: readPeriod(fields, fields.at(e, cac.InvoicePeriod)),
    orderLine: fields.text(e, cac.OrderLineReference, cbc.LineID),
    costs: fields.text(e, cbc.AccountingCost),
    quantity: fields.text(e, quantity),
    unit: fields.attribute(fields.at(e, quantity), attr.unitCode),
    price: fields.text(price, cbc.PriceAmount),
    priceQuantity: fields.text(price, cbc.BaseQuantity),
    priceUnit: fields.attribute(fields.at(price, cbc.BaseQuantity), attr.unitCode),
    priceDiscount: fields.text(price, cac.AllowanceCharge, cbc.Amount),
    allowances: readAllowances(fields, e),
    category: fields.text(item, cac.ClassifiedTaxCategory, cbc.ID),
    rate: fields.text(item, cac.ClassifiedTaxCategory, cbc.Percent),
    amount: fields.text(e, cbc.LineExtensionAmount),
  };
}

const readClassifications = (fields: Fields, item: ElementId): LineView["classifications"] =>
  fields
    .each(item, cac.CommodityClassification, ENTRIES_MAX, (e) => {
      const code = fields.at(e, cbc.ItemClassificationCode);
      return { id: fields.text(code), scheme: fields.attribute(code, attr.listID) };
    })
    .flatMap(({ id, scheme }) => (id === null ? [] : [{ id, scheme }]));

/** What a line invoices, as a meter or a subscription. */
const readObjects = (fields: Fields, line: ElementId): readonly string[] =>
  fields.each(line, cac.DocumentReference, ENTRIES_MAX, (e) => fields.text(e, cbc.ID)).filter((id) => id !== null);

function readAttachments(fields: Fields, document: XmlDocument): readonly AttachmentView[] {
  return fields
    .each(0, cac.AdditionalDocumentReference, ENTRIES_MAX, (e) => {
      const embedded = fields.at(e, cac.Attachment, cbc.EmbeddedDocumentBinaryObject);
      return {
        isObject: fields.text(e, cbc.DocumentTypeCode) === INVOICED_OBJECT,
        id: fields.text(e, cbc.ID),
        description: fields.text(e, cbc.DocumentDescription),
        fileName: fields.attribute(embedded, attr.filename),
        mediaType: fields.attribute(embedded, attr.mimeCode),
        bytes: embedded === NONE ? null : base64Octets(document.text(embedded)),
        location: fields.text(e, cac.Attachment, cac.ExternalReference, cbc.URI),
      };
    })
    .flatMap(({ isObject, ...attachment }) => (isObject ? [] : [attachment]));
}

/** Octets that a text in base64 stands for; it is not decoded. */
function base64Octets(text: string): number {
  let digits = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    // White space lies below the digits of base64, and "=" fills the last group.
    if (c > 0x20 && c !== 0x3d) digits++;
  }
  return Math.floor((digits * 3) / 4);
}
