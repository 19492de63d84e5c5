/** Leads a finding about the UBL that we wrote back to the member of the JSON from which it came. */

/** Places in a line, the first that fits. */
const IN_LINE: readonly (readonly [RegExp, string])[] = [
  [/Price\b/u, "unitPrice"],
  [/ClassifiedTaxCategory/u, "vatRate"],
  [/Item\b/u, "description"],
  [/AllowanceCharge/u, "discount"],
  [/Quantity\b.*unitCode/u, "unit"],
  [/Quantity\b/u, "quantity"],
];
const IN_PARTY: readonly (readonly [RegExp, string])[] = [
  [/EndpointID/u, "receiverPeppolId"],
  [/PartyTaxScheme/u, "receiverIcDph"],
  [/PartyIdentification/u, "receiverDic"],
  [/PartyLegalEntity.*CompanyID/u, "receiverIco"],
  [/PartyLegalEntity/u, "receiverName"],
  [/IdentificationCode/u, "receiverCountry"],
  [/CityName/u, "receiverCity"],
  [/PostalZone/u, "receiverPostalCode"],
  [/PostalAddress/u, "receiverStreet"],
];
const IN_DOCUMENT: readonly (readonly [RegExp, string])[] = [
  [/^\/\w+\/cbc:ID\b/u, "invoiceNumber"],
  [/IssueDate/u, "issueDate"],
  [/DueDate/u, "dueDate"],
  [/TaxPointDate/u, "taxPointDate"],
  [/TypeCode/u, "documentType"],
  [/PaymentTerms/u, "paymentTerms"],
  [/cbc:Note/u, "note"],
  [/CurrencyCode/u, "currency"],
  [/BuyerReference/u, "buyerReference"],
  [/BillingReference/u, "precedingInvoiceRef"],
  [/AdditionalDocumentReference/u, "attachments"],
  [/Delivery\b/u, "deliveryDate"],
  [/PayeeFinancialAccount/u, "iban"],
  [/PaymentMeansCode/u, "paymentMethod"],
  [/PaymentMeans/u, "variableSymbol"],
  [/PrepaidAmount/u, "prepaidAmount"],
  [/AllowanceCharge/u, "documentDiscountPercent"],
];
const LINE = /^\/\w+\/cac:(?:Invoice|CreditNote)Line(?:\[(\d+)\])?/u;

/** Rules whose place is wider than their cause. */
const BY_RULE: Readonly<Record<string, string>> = {
  "BR-CL-03": "currency",
  "BR-CL-04": "currency",
  "PEPPOL-EN16931-CL007": "currency",
  "BR-CL-23": "unit",
};

/** A finding as far as its place goes. */
export interface PlacedFinding {
  readonly ruleId: string;
  /** XPath with the prefixes cac and cbc. */
  readonly location: string;
}

/**
 * @param isSelfBilling  whether the receiver is the supplier
 * @returns the member, `items[2].unit`; `document` where none of them alone is meant
 */
export function fieldOf({ ruleId, location }: PlacedFinding, isSelfBilling: boolean): string {
  const line = LINE.exec(location);
  const byRule = Object.hasOwn(BY_RULE, ruleId) ? BY_RULE[ruleId] : undefined;
  if (byRule === "currency") return byRule;
  if (line !== null) {
    const member = byRule ?? memberIn(IN_LINE, location.slice(line[0].length));
    const item = `items[${Number(line[1] ?? "1") - 1}]`;
    return member === undefined ? item : `${item}.${member}`;
  }
  const receiver = isSelfBilling ? "AccountingSupplierParty" : "AccountingCustomerParty";
  if (location.includes(receiver)) return memberIn(IN_PARTY, location) ?? "receiverPeppolId";
  return memberIn(IN_DOCUMENT, location) ?? "document";
}

const memberIn = (table: readonly (readonly [RegExp, string])[], location: string): string | undefined =>
  table.find(([place]) => place.test(location))?.[1];
