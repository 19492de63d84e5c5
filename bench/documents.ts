/** Documents for benchmarks and tests: invoices of any length, valid in every layer, with exact totals. */

/** Slovak VAT rates in per cent that the lines take in turn. */
const RATES = [23, 19, 5] as const;

/** Cents as a decimal with two digits. */
const money = (cents: number): string => `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, "0")}`;

interface Line {
  readonly rate: number;
  readonly net: number;
  readonly xml: string;
}

/** A line with an order reference, an allowance of ten per cent, and the identifiers that real lines carry. */
function line(n: number): Line {
  const rate = RATES[n % RATES.length] ?? 23;
  const quantity = 1 + (n % 9);
  const price = 1_000 + (n % 97) * 10;
  const gross = quantity * price;
  const allowance = gross / 10;
  const net = gross - allowance;
  const xml = `  <cac:InvoiceLine>
    <cbc:ID>${n}</cbc:ID>
    <cbc:InvoicedQuantity unitCode="C62">${quantity}</cbc:InvoicedQuantity>
    <cbc:LineExtensionAmount currencyID="EUR">${money(net)}</cbc:LineExtensionAmount>
    <cbc:AccountingCost>4010:200:${n % 100}</cbc:AccountingCost>
    <cac:OrderLineReference>
      <cbc:LineID>${n}</cbc:LineID>
    </cac:OrderLineReference>
    <cac:AllowanceCharge>
      <cbc:ChargeIndicator>false</cbc:ChargeIndicator>
      <cbc:AllowanceChargeReasonCode>95</cbc:AllowanceChargeReasonCode>
      <cbc:AllowanceChargeReason>Discount</cbc:AllowanceChargeReason>
      <cbc:MultiplierFactorNumeric>10</cbc:MultiplierFactorNumeric>
      <cbc:Amount currencyID="EUR">${money(allowance)}</cbc:Amount>
      <cbc:BaseAmount currencyID="EUR">${money(gross)}</cbc:BaseAmount>
    </cac:AllowanceCharge>
    <cac:Item>
      <cbc:Description>Steel shelf, four boards, height 180 cm</cbc:Description>
      <cbc:Name>Shelf ${n}</cbc:Name>
      <cac:SellersItemIdentification>
        <cbc:ID>S-${n}</cbc:ID>
      </cac:SellersItemIdentification>
      <cac:ClassifiedTaxCategory>
        <cbc:ID>S</cbc:ID>
        <cbc:Percent>${rate}</cbc:Percent>
        <cac:TaxScheme>
          <cbc:ID>VAT</cbc:ID>
        </cac:TaxScheme>
      </cac:ClassifiedTaxCategory>
      <cac:AdditionalItemProperty>
        <cbc:Name>Colour</cbc:Name>
        <cbc:Value>Grey</cbc:Value>
      </cac:AdditionalItemProperty>
    </cac:Item>
    <cac:Price>
      <cbc:PriceAmount currencyID="EUR">${money(price)}</cbc:PriceAmount>
      <cbc:BaseQuantity unitCode="C62">1</cbc:BaseQuantity>
    </cac:Price>
  </cac:InvoiceLine>
`;
  return { rate, net, xml };
}

/** Seller or buyer: name, tax number (the part behind SK), company number. */
function party(role: "Supplier" | "Customer", name: string, taxNumber: string, companyNumber: string): string {
  return `  <cac:Accounting${role}Party>
    <cac:Party>
      <cbc:EndpointID schemeID="0245">${taxNumber}</cbc:EndpointID>
      <cac:PartyName>
        <cbc:Name>${name}</cbc:Name>
      </cac:PartyName>
      <cac:PostalAddress>
        <cbc:StreetName>Obchodná 12</cbc:StreetName>
        <cbc:CityName>Bratislava</cbc:CityName>
        <cbc:PostalZone>811 06</cbc:PostalZone>
        <cac:Country>
          <cbc:IdentificationCode>SK</cbc:IdentificationCode>
        </cac:Country>
      </cac:PostalAddress>
      <cac:PartyTaxScheme>
        <cbc:CompanyID>SK${taxNumber}</cbc:CompanyID>
        <cac:TaxScheme>
          <cbc:ID>VAT</cbc:ID>
        </cac:TaxScheme>
      </cac:PartyTaxScheme>
      <cac:PartyLegalEntity>
        <cbc:RegistrationName>${name}</cbc:RegistrationName>
        <cbc:CompanyID>${companyNumber}</cbc:CompanyID>
      </cac:PartyLegalEntity>
      <cac:Contact>
        <cbc:Name>Účtáreň</cbc:Name>
        <cbc:ElectronicMail>faktury@example.sk</cbc:ElectronicMail>
      </cac:Contact>
    </cac:Party>
  </cac:Accounting${role}Party>
`;
}

const subtotal = (rate: number, net: number, tax: number): string => `    <cac:TaxSubtotal>
      <cbc:TaxableAmount currencyID="EUR">${money(net)}</cbc:TaxableAmount>
      <cbc:TaxAmount currencyID="EUR">${money(tax)}</cbc:TaxAmount>
      <cac:TaxCategory>
        <cbc:ID>S</cbc:ID>
        <cbc:Percent>${rate}</cbc:Percent>
        <cac:TaxScheme>
          <cbc:ID>VAT</cbc:ID>
        </cac:TaxScheme>
      </cac:TaxCategory>
    </cac:TaxSubtotal>
`;

/** What a document of {@link invoiceWithLines} may say about itself; the rest is fixed. */
interface InvoiceNames {
  /** BT-1; default `K-<lines>`. */
  readonly number?: string;
  /** Endpoint and tax number of the seller, scheme 0245; default 2020202020. */
  readonly seller?: string;
  /** The same of the buyer; default 2021212121. */
  readonly buyer?: string;
  /** BT-2 as YYYY-MM-DD; default 2026-11-20. */
  readonly issueDate?: string;
}

/**
 * A Peppol BIS Billing 3.0 invoice with n lines and recomputed totals; about 4.4 KB and 1.5 KB for each line.
 * @param n  lines, at least 1
 */
export function invoiceWithLines(n: number, names: InvoiceNames = {}): Buffer {
  const lines = Array.from({ length: n }, (_, i) => line(i + 1));
  const groups = RATES.map((rate) => {
    const net = lines.reduce((sum, l) => (l.rate === rate ? sum + l.net : sum), 0);
    return { rate, net, tax: Math.floor((net * rate + 50) / 100) };
  }).filter(({ net }) => net > 0);
  const net = groups.reduce((sum, g) => sum + g.net, 0);
  const tax = groups.reduce((sum, g) => sum + g.tax, 0);
  const issued = names.issueDate ?? "2026-11-20";
  return Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>
<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"
         xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"
         xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">
  <cbc:CustomizationID>urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0</cbc:CustomizationID>
  <cbc:ProfileID>urn:fdc:peppol.eu:2017:poacc:billing:01:1.0</cbc:ProfileID>
  <cbc:ID>${names.number ?? `K-${n}`}</cbc:ID>
  <cbc:IssueDate>${issued}</cbc:IssueDate>
  <cbc:DueDate>${issued}</cbc:DueDate>
  <cbc:InvoiceTypeCode>380</cbc:InvoiceTypeCode>
  <cbc:DocumentCurrencyCode>EUR</cbc:DocumentCurrencyCode>
  <cbc:BuyerReference>PO-2026-17</cbc:BuyerReference>
  <cac:OrderReference>
    <cbc:ID>PO-2026-17</cbc:ID>
  </cac:OrderReference>
${party("Supplier", "Regály s. r. o.", names.seller ?? "2020202020", "31333333")}${party("Customer", "Sklady a. s.", names.buyer ?? "2021212121", "35757575")}  <cac:Delivery>
    <cbc:ActualDeliveryDate>${issued}</cbc:ActualDeliveryDate>
  </cac:Delivery>
  <cac:PaymentMeans>
    <cbc:PaymentMeansCode>30</cbc:PaymentMeansCode>
    <cbc:PaymentID>20260017</cbc:PaymentID>
    <cac:PayeeFinancialAccount>
      <cbc:ID>SK3112000000198742637541</cbc:ID>
    </cac:PayeeFinancialAccount>
  </cac:PaymentMeans>
  <cac:PaymentTerms>
    <cbc:Note>Due on the day of issue</cbc:Note>
  </cac:PaymentTerms>
  <cac:TaxTotal>
    <cbc:TaxAmount currencyID="EUR">${money(tax)}</cbc:TaxAmount>
${groups.map((g) => subtotal(g.rate, g.net, g.tax)).join("")}  </cac:TaxTotal>
  <cac:LegalMonetaryTotal>
    <cbc:LineExtensionAmount currencyID="EUR">${money(net)}</cbc:LineExtensionAmount>
    <cbc:TaxExclusiveAmount currencyID="EUR">${money(net)}</cbc:TaxExclusiveAmount>
    <cbc:TaxInclusiveAmount currencyID="EUR">${money(net + tax)}</cbc:TaxInclusiveAmount>
    <cbc:PayableAmount currencyID="EUR">${money(net + tax)}</cbc:PayableAmount>
  </cac:LegalMonetaryTotal>
${lines.map((l) => l.xml).join("")}</Invoice>
`);
}
