/** A complete Peppol BIS Billing 3.0 invoice of any length: for the demo, for load tests, for trying things out. */
import { addDays } from "../base/clock.js";
import type { LocalDay } from "../base/clock.js";
import type { ParticipantId } from "../base/ids.js";

interface SampleInvoice {
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  readonly senderName: string;
  readonly receiverName: string;
  /** Company ids. @default made of the participants' */
  readonly senderIco?: string;
  readonly receiverIco?: string;
  readonly number: string;
  readonly issueDate: LocalDay;
  /** Invoice lines, at least 1. */
  readonly lines: number;
}

/** Amounts are integer cents; nothing here is a float. */
type Cents = bigint;

interface Article {
  readonly name: string;
  readonly description: string;
  readonly sku: string;
  readonly unit: string;
  readonly price: Cents;
  /** Percent. */
  readonly vat: 23n | 19n | 5n;
}

const ARTICLES: readonly Article[] = [
  {
    name: "Office paper A4, 80 g",
    description: "White, box of five reams",
    sku: "PAP-A4-80",
    unit: "XBX",
    price: 2_390n,
    vat: 23n,
  },
  {
    name: "Laser toner, black",
    description: "Original cartridge, 3,000 pages",
    sku: "TON-BK-3000",
    unit: "H87",
    price: 7_945n,
    vat: 23n,
  },
  {
    name: "Delivery to the third floor",
    description: "Same working day, within Bratislava",
    sku: "SRV-DEL-3",
    unit: "HUR",
    price: 1_850n,
    vat: 23n,
  },
  {
    name: "Accounting for small firms, 2027 edition",
    description: "Printed textbook, 412 pages",
    sku: "BOK-ACC-27",
    unit: "H87",
    price: 3_280n,
    vat: 5n,
  },
  {
    name: "Electricity for the office",
    description: "Monthly advance under contract 2026/114",
    sku: "ENE-OFF-01",
    unit: "KWH",
    price: 17n,
    vat: 19n,
  },
];

const money = (cents: Cents): string => `${cents / 100n}.${String(cents % 100n).padStart(2, "0")}`;
const percentOf = (cents: Cents, rate: bigint): Cents => (cents * rate + 50n) / 100n;
const amount = (name: string, cents: Cents): string => `<cbc:${name} currencyID="EUR">${money(cents)}</cbc:${name}>`;
const escapeText = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const taxCategory = (element: string, rate: bigint): string =>
  `<cac:${element}><cbc:ID>S</cbc:ID><cbc:Percent>${rate}</cbc:Percent><cac:TaxScheme><cbc:ID>VAT</cbc:ID></cac:TaxScheme></cac:${element}>`;

function endpoint(participant: ParticipantId): { readonly xml: string; readonly value: string } {
  const [scheme = "", value = ""] = participant.split(":");
  return { xml: `<cbc:EndpointID schemeID="${scheme}">${value}</cbc:EndpointID>`, value };
}

interface Party {
  readonly element: string;
  readonly participant: ParticipantId;
  readonly name: string;
  readonly ico: string | undefined;
  readonly street: string;
  readonly city: string;
  readonly postalCode: string;
  readonly contact: { readonly name: string; readonly telephone: string; readonly mail: string };
}

const party = (p: Party): string => {
  const { xml, value } = endpoint(p.participant);
  return `  <cac:${p.element}>
    <cac:Party>
      ${xml}
      <cac:PartyName><cbc:Name>${escapeText(p.name)}</cbc:Name></cac:PartyName>
      <cac:PostalAddress>
        <cbc:StreetName>${p.street}</cbc:StreetName>
        <cbc:CityName>${p.city}</cbc:CityName>
        <cbc:PostalZone>${p.postalCode}</cbc:PostalZone>
        <cac:Country><cbc:IdentificationCode>SK</cbc:IdentificationCode></cac:Country>
      </cac:PostalAddress>
      <cac:PartyTaxScheme>
        <cbc:CompanyID>SK${value}</cbc:CompanyID>
        <cac:TaxScheme><cbc:ID>VAT</cbc:ID></cac:TaxScheme>
      </cac:PartyTaxScheme>
      <cac:PartyLegalEntity>
        <cbc:RegistrationName>${escapeText(p.name)}</cbc:RegistrationName>
        <cbc:CompanyID schemeID="0158">${p.ico ?? value.slice(0, 8)}</cbc:CompanyID>
      </cac:PartyLegalEntity>
      <cac:Contact>
        <cbc:Name>${p.contact.name}</cbc:Name>
        <cbc:Telephone>${p.contact.telephone}</cbc:Telephone>
        <cbc:ElectronicMail>${p.contact.mail}</cbc:ElectronicMail>
      </cac:Contact>
    </cac:Party>
  </cac:${p.element}>
`;
};

function line(article: Article, index: number, quantity: bigint, net: Cents): string {
  return `  <cac:InvoiceLine>
    <cbc:ID>${index + 1}</cbc:ID>
    <cbc:InvoicedQuantity unitCode="${article.unit}">${quantity}</cbc:InvoicedQuantity>
    ${amount("LineExtensionAmount", net)}
    <cac:OrderLineReference><cbc:LineID>${index + 1}</cbc:LineID></cac:OrderLineReference>
    <cac:Item>
      <cbc:Description>${article.description}</cbc:Description>
      <cbc:Name>${article.name}</cbc:Name>
      <cac:SellersItemIdentification><cbc:ID>${article.sku}</cbc:ID></cac:SellersItemIdentification>
      ${taxCategory("ClassifiedTaxCategory", article.vat)}
    </cac:Item>
    <cac:Price>${amount("PriceAmount", article.price)}</cac:Price>
  </cac:InvoiceLine>
`;
}

/** The invoice as UBL 2.1 text; it passes schema, EN 16931 and Peppol rules. */
export function sampleInvoice(request: SampleInvoice): string {
  const netByRate = new Map<bigint, Cents>();
  const lines = Array.from({ length: request.lines }, (_, index) => {
    const article = ARTICLES[index % ARTICLES.length] as Article;
    const quantity = BigInt(1 + ((index * 7) % 12));
    const net = article.price * quantity;
    netByRate.set(article.vat, (netByRate.get(article.vat) ?? 0n) + net);
    return line(article, index, quantity, net);
  });
  const subtotals = [...netByRate].map(([rate, net]) => ({ rate, net, tax: percentOf(net, rate) }));
  const net = subtotals.reduce((sum, subtotal) => sum + subtotal.net, 0n);
  const tax = subtotals.reduce((sum, subtotal) => sum + subtotal.tax, 0n);
  return `<?xml version="1.0" encoding="UTF-8"?>
<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2" xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2" xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">
  <cbc:CustomizationID>urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0</cbc:CustomizationID>
  <cbc:ProfileID>urn:fdc:peppol.eu:2017:poacc:billing:01:1.0</cbc:ProfileID>
  <cbc:ID>${escapeText(request.number)}</cbc:ID>
  <cbc:IssueDate>${request.issueDate}</cbc:IssueDate>
  <cbc:DueDate>${addDays(request.issueDate, 14)}</cbc:DueDate>
  <cbc:InvoiceTypeCode>380</cbc:InvoiceTypeCode>
  <cbc:Note>Thank you for your order.</cbc:Note>
  <cbc:DocumentCurrencyCode>EUR</cbc:DocumentCurrencyCode>
  <cbc:BuyerReference>Purchasing 4100</cbc:BuyerReference>
  <cac:OrderReference><cbc:ID>PO-${request.issueDate.slice(0, 4)}-0815</cbc:ID></cac:OrderReference>
${party({ element: "AccountingSupplierParty", participant: request.sender, name: request.senderName, ico: request.senderIco, street: "Obchodná 12", city: "Bratislava", postalCode: "811 06", contact: { name: "Jana Kováčová", telephone: "+421 2 5555 0101", mail: "fakturacia@odosielatel.example" } })}${party({ element: "AccountingCustomerParty", participant: request.receiver, name: request.receiverName, ico: request.receiverIco, street: "Hlavná 48", city: "Košice", postalCode: "040 01", contact: { name: "Peter Horváth", telephone: "+421 55 555 0202", mail: "uctaren@prijemca.example" } })}  <cac:Delivery>
    <cbc:ActualDeliveryDate>${request.issueDate}</cbc:ActualDeliveryDate>
    <cac:DeliveryLocation>
      <cac:Address>
        <cbc:StreetName>Hlavná 48</cbc:StreetName>
        <cbc:CityName>Košice</cbc:CityName>
        <cbc:PostalZone>040 01</cbc:PostalZone>
        <cac:Country><cbc:IdentificationCode>SK</cbc:IdentificationCode></cac:Country>
      </cac:Address>
    </cac:DeliveryLocation>
  </cac:Delivery>
  <cac:PaymentMeans>
    <cbc:PaymentMeansCode name="Credit transfer">30</cbc:PaymentMeansCode>
    <cbc:PaymentID>${request.number.replace(/\D/g, "").slice(-10)}</cbc:PaymentID>
    <cac:PayeeFinancialAccount>
      <cbc:ID>SK3112000000198742637541</cbc:ID>
      <cbc:Name>${escapeText(request.senderName)}</cbc:Name>
    </cac:PayeeFinancialAccount>
  </cac:PaymentMeans>
  <cac:PaymentTerms><cbc:Note>Payable within 14 days without deduction.</cbc:Note></cac:PaymentTerms>
  <cac:TaxTotal>
    ${amount("TaxAmount", tax)}
${subtotals
  .map(
    (subtotal) => `    <cac:TaxSubtotal>
      ${amount("TaxableAmount", subtotal.net)}
      ${amount("TaxAmount", subtotal.tax)}
      ${taxCategory("TaxCategory", subtotal.rate)}
    </cac:TaxSubtotal>
`,
  )
  .join("")}  </cac:TaxTotal>
  <cac:LegalMonetaryTotal>
    ${amount("LineExtensionAmount", net)}
    ${amount("TaxExclusiveAmount", net)}
    ${amount("TaxInclusiveAmount", net + tax)}
    ${amount("PayableAmount", net + tax)}
  </cac:LegalMonetaryTotal>
${lines.join("")}</Invoice>
`;
}
