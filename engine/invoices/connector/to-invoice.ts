/** Leads a create body of the Connector to the builder, and what the builder says of it back to the body's members. */
import type { ConnectorType } from "./create-body.js";
import type { InvoiceKind } from "../terms.js";
import { isObject } from "../members.js";
import type { InvoiceObject } from "../members.js";

const KINDS: Readonly<Record<ConnectorType, InvoiceKind>> = {
  invoice: "invoice",
  credit_note: "credit_note",
  self_billing_invoice: "self_billing",
  self_billing_credit_note: "self_billing_credit_note",
};

/** Members of the body beside those of the builder, for those that have another name there. */
const NAMES = {
  number: "invoiceNumber",
  type: "documentType",
  precedingDocumentNumber: "precedingInvoiceRef",
  lines: "items",
  "recipient.name": "receiverName",
  "recipient.companyId": "receiverIco",
  "recipient.taxId": "receiverDic",
  "recipient.vatId": "receiverIcDph",
  "recipient.country": "receiverCountry",
  "recipient.networkId": "receiverPeppolId",
  "recipient.address.street": "receiverStreet",
  "recipient.address.city": "receiverCity",
  "recipient.address.postalCode": "receiverPostalCode",
} as const;
const BODY_NAMES = new Map<string, string>(Object.entries(NAMES).map(([body, invoice]) => [invoice, body]));

/** Members under the same name there and here. */
const SAME = `issueDate dueDate taxPointDate deliveryDate documentDiscountPercent currency note iban paymentMethod
  variableSymbol prepaidAmount prepayments attachments`.split(/\s+/u);

const renamed = <Names extends string>(table: Partial<Readonly<Record<Names, string>>>, value: unknown): unknown =>
  typeof value === "string" && Object.hasOwn(table, value) ? table[value as Names] : value;

/**
 * @param body  a create body, whole or as far as it is known
 * @param participant  the recipient in the network
 * @returns the members of `POST /documents/send`, which buildInvoice reads; what is absent there is absent here
 */
export function invoiceOfBody(body: InvoiceObject, participant: string | undefined): InvoiceObject {
  const recipient = isObject(body["recipient"]) ? body["recipient"] : {};
  const address = isObject(recipient["address"]) ? recipient["address"] : {};
  const lines = Array.isArray(body["lines"]) ? body["lines"].filter(isObject) : [];
  return {
    ...Object.fromEntries(SAME.map((name) => [name, body[name]])),
    documentType: renamed(KINDS, body["type"]),
    invoiceNumber: body["number"],
    // Peppol asks for a reference; the sender's own id of the document is the one that both can find again.
    buyerReference: body["buyerReference"] ?? body["externalId"],
    precedingInvoiceRef: body["precedingDocumentNumber"],
    receiverPeppolId: participant ?? recipient["networkId"],
    receiverName: recipient["name"],
    receiverIco: recipient["companyId"],
    receiverDic: recipient["taxId"],
    receiverIcDph: recipient["vatId"],
    receiverCountry: recipient["country"],
    receiverStreet: address["street"],
    receiverCity: address["city"],
    receiverPostalCode: address["postalCode"],
    items: lines,
  };
}

/** The invoice's member for one of the body: `lines[2].vatRate` is `items[2].vatRate`. */
export function invoiceField(field: string): string {
  if (field.startsWith("lines")) return field.replace(/^lines/u, "items").replace(/taxTreatment$/u, "vatCategoryCode");
  return Object.hasOwn(NAMES, field) ? NAMES[field as keyof typeof NAMES] : field;
}

/** The body's member for one of the invoice: `items[2].vatRate` is `lines[2].vatRate`. */
export function bodyField(field: string): string {
  if (field.startsWith("items")) return field.replace(/^items/u, "lines").replace(/vatCategoryCode$/u, "taxTreatment");
  return BODY_NAMES.get(field) ?? field;
}
