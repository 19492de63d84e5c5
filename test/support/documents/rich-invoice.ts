/** An invoice that has, once at least, what rules of any country look at: no rule ends early for want of an element. */
import { NS } from "../../../validators/xml/names.js";

const UBL = `xmlns="${NS.Invoice}" xmlns:cac="${NS.cac}" xmlns:cbc="${NS.cbc}" xmlns:ext="${NS.ext}"`;

/** Elements with text, in one line: name, attributes, text. */
const leaves = (...written: readonly string[]): string =>
  written
    .map((leaf) => {
      const [, name = "", attributes = "", text = ""] = /^(\S+?)((?: \w+=\S+)*) = (.*)$/u.exec(leaf) ?? [];
      return `<cbc:${name}${attributes.replace(/=(\S+)/gu, '="$1"')}>${text}</cbc:${name}>`;
    })
    .join("");
const group = (name: string, ...content: readonly string[]): string => `<cac:${name}>${content.join("")}</cac:${name}>`;
const amount = (name: string, value: string): string => leaves(`${name} currencyID=EUR = ${value}`);

const scheme = (id: string): string => group("TaxScheme", leaves(`ID = ${id}`));
const category = (name: string): string => group(name, leaves("ID = S", "Percent = 25"), scheme("VAT"));
const address = (name: string, country: string): string =>
  group(
    name,
    leaves("StreetName = Main 1", "CityName = City", "PostalZone = 1000"),
    group("AddressLine", leaves("Line = Gate 2")),
    group("Country", leaves(`IdentificationCode = ${country}`)),
  );
const party = (name: string, country: string, vat: string, scheme9: string): string =>
  group(
    name,
    leaves(`EndpointID schemeID=${scheme9} = 094259216`),
    group("PartyIdentification", leaves("ID schemeID=0088 = 5790000435975")),
    group("PartyIdentification", leaves("ID schemeID=SEPA = DE98ZZZ09999999999")),
    group("PartyName", leaves("Name = Trader")),
    address("PostalAddress", country),
    group("PartyTaxScheme", leaves(`CompanyID = ${vat}`), scheme("VAT")),
    group("PartyTaxScheme", leaves("CompanyID = Foretaksregisteret"), scheme("TAX")),
    group("PartyLegalEntity", leaves("RegistrationName = Trader Ltd", "CompanyID schemeID=0184 = 12345674")),
    group("Contact", leaves("Name = Anna", "Telephone = 123456", "ElectronicMail = a@b.eu")),
  );
const period = group("InvoicePeriod", leaves("StartDate = 2026-11-01", "EndDate = 2026-11-30", "DescriptionCode = 3"));
const allowance = (indicator: string, code: string): string =>
  group(
    "AllowanceCharge",
    leaves(`ChargeIndicator = ${indicator}`, `AllowanceChargeReasonCode = ${code}`, "AllowanceChargeReason = Reason"),
    leaves("MultiplierFactorNumeric = 10"),
    amount("Amount", "10.00"),
    amount("BaseAmount", "100.00"),
    category("TaxCategory"),
  );
const means = (code: string, branch: string): string =>
  group(
    "PaymentMeans",
    leaves(`PaymentMeansCode = ${code}`, "PaymentDueDate = 2026-12-01", "PaymentID = 01#1"),
    group("CardAccount", leaves("PrimaryAccountNumberID = 1234", "NetworkID = VISA")),
    group(
      "PayeeFinancialAccount",
      leaves("ID = SK3112000000198742637541", "Name = Account"),
      group("FinancialInstitutionBranch", leaves(`ID = ${branch}`)),
    ),
    group("PaymentMandate", leaves("ID = M1"), group("PayerFinancialAccount", leaves("ID = SK3112000000198742637541"))),
  );
const reference = (name: string, ...more: readonly string[]): string =>
  group(name, leaves("ID schemeID=AUN = R1"), ...more);
const described = (description: string): string =>
  reference(
    "AdditionalDocumentReference",
    leaves("DocumentTypeCode = 130", `DocumentDescription = ${description}`),
    group(
      "Attachment",
      leaves("EmbeddedDocumentBinaryObject mimeCode=text/csv filename=a.csv = QUJD"),
      group("ExternalReference", leaves("URI = https://a.eu/b")),
    ),
  );
const line = group(
  "InvoiceLine",
  leaves("ID = 1", "Note = Note", "InvoicedQuantity unitCode=C62 = 1"),
  amount("LineExtensionAmount", "100.00"),
  leaves("AccountingCost = 1"),
  period,
  group("OrderLineReference", leaves("LineID = 1")),
  reference("DocumentReference", leaves("DocumentTypeCode = 130")),
  allowance("false", "95"),
  allowance("true", "ZZZ"),
  group(
    "Item",
    leaves("Description = Item", "Name = Item"),
    group("BuyersItemIdentification", leaves("ID = 1")),
    group("StandardItemIdentification", leaves("ID schemeID=0160 = 1")),
    group("OriginCountry", leaves("IdentificationCode = SK")),
    group("CommodityClassification", leaves("ItemClassificationCode listID=TST listVersionID=19.05.01 = 1")),
    category("ClassifiedTaxCategory"),
    group("AdditionalItemProperty", leaves("Name = Color", "Value = Red")),
  ),
  group(
    "Price",
    amount("PriceAmount", "100.00"),
    leaves("BaseQuantity unitCode=C62 = 1"),
    group(
      "AllowanceCharge",
      leaves("ChargeIndicator = false"),
      amount("Amount", "10.00"),
      amount("BaseAmount", "110.00"),
    ),
  ),
);
const subtotal = group(
  "TaxSubtotal",
  amount("TaxableAmount", "100.00"),
  amount("TaxAmount", "25.00"),
  group(
    "TaxCategory",
    leaves("ID = S", "Percent = 25", "TaxExemptionReasonCode = VATEX-EU-G", "TaxExemptionReason = Reason"),
    scheme("VAT"),
  ),
);
const totals = group(
  "LegalMonetaryTotal",
  ...["LineExtensionAmount", "TaxExclusiveAmount", "AllowanceTotalAmount", "ChargeTotalAmount"].map((name) =>
    amount(name, "100.00"),
  ),
  ...["TaxInclusiveAmount", "PrepaidAmount", "PayableRoundingAmount", "PayableAmount"].map((name) =>
    amount(name, "125.00"),
  ),
);

/** What rules of a country look for: codes of payment means, descriptions of supporting documents. */
const PAYMENTS: Readonly<Record<string, readonly string[]>> = {
  DE: ["58", "48", "59"],
  DK: ["31", "49", "50", "93"],
  IS: ["9", "42"],
  SE: ["30", "30"],
};
const DESCRIPTIONS: Readonly<Record<string, readonly string[]>> = {
  GR: ["##M.AR.K##", "##INVOICE|URL##"],
  IS: ["EINDAGI"],
};

/**
 * @param country  of both parties and their VAT numbers; Greece is GR
 */
export function richInvoice(country: string): string {
  const vat = `${country === "GR" ? "EL" : country}094259216`;
  const endpoint = country === "GR" ? "9933" : "0088";
  return [
    `<Invoice ${UBL}>`,
    leaves("UBLVersionID = 2.1"),
    leaves("CustomizationID = urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0"),
    leaves("ProfileID = urn:fdc:peppol.eu:2017:poacc:billing:01:1.0", "ID = 094259216|21/11/2026|1|1.1|A|1"),
    leaves("IssueDate = 2026-11-21", "DueDate = 2026-12-01", "InvoiceTypeCode = 380", "Note = #AAI#Note"),
    leaves("TaxPointDate = 2026-11-21", "DocumentCurrencyCode = EUR", "TaxCurrencyCode = SEK"),
    leaves("AccountingCost = 1", "BuyerReference = B"),
    period,
    group("OrderReference", leaves("ID = O1", "SalesOrderID = S1")),
    group("BillingReference", reference("InvoiceDocumentReference", leaves("IssueDate = 2026-11-01"))),
    ...["DespatchDocumentReference", "ReceiptDocumentReference", "OriginatorDocumentReference"].map((name) =>
      reference(name),
    ),
    reference("ContractDocumentReference"),
    ...(DESCRIPTIONS[country] ?? ["File"]).map(described),
    reference("ProjectReference"),
    group("AccountingSupplierParty", party("Party", country, vat, endpoint)),
    group("AccountingCustomerParty", party("Party", country, vat, endpoint)),
    party("PayeeParty", country, vat, endpoint),
    party("TaxRepresentativeParty", country, vat, endpoint),
    group(
      "Delivery",
      leaves("ActualDeliveryDate = 2026-11-20"),
      group("DeliveryLocation", leaves("ID schemeID=0088 = 1"), address("Address", country)),
    ),
    ...(PAYMENTS[country] ?? ["30", "49"]).map((code, i) => means(code, i === 0 ? "SE:BANKGIRO" : "SE:PLUSGIRO")),
    group("PaymentTerms", leaves("Note = #SKONTO#TAGE=1#PROZENT=1.00#")),
    allowance("false", "95"),
    allowance("true", "ZZZ"),
    group("TaxTotal", amount("TaxAmount", "25.00"), subtotal),
    group("TaxTotal", leaves("TaxAmount currencyID=SEK = 280.00")),
    totals,
    line,
    "</Invoice>",
  ].join("");
}

/** A rich invoice in which the first of each place is replaced: place and content in turns. */
export function richInvoiceWith(country: string, ...changes: readonly (string | RegExp)[]): string {
  let text = richInvoice(country);
  for (let i = 0; i < changes.length; i += 2) {
    const place = changes[i] ?? "";
    if (text.split(place).length === 1) throw new Error(`no ${String(place)}`);
    text = text.replace(place, String(changes[i + 1]));
  }
  return text;
}
