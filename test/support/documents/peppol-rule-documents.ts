/**
 * One document per Peppol rule that no official unit test fires: it breaks the rule, and its twin does not. Fragments, as
 * the official tests are: only what the rule looks at.
 */

const NS =
  'xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2" xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"';

export const invoice = (...content: readonly string[]): string =>
  `<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2" ${NS}>${content.join("")}</Invoice>`;
export const creditNote = (...content: readonly string[]): string =>
  `<CreditNote xmlns="urn:oasis:names:specification:ubl:schema:xsd:CreditNote-2" ${NS}>${content.join("")}</CreditNote>`;

const address = (country: string, more = ""): string =>
  `<cac:PostalAddress>${more}<cac:Country><cbc:IdentificationCode>${country}</cbc:IdentificationCode></cac:Country></cac:PostalAddress>`;
export const seller = (...content: readonly string[]): string =>
  `<cac:AccountingSupplierParty><cac:Party>${content.join("")}</cac:Party></cac:AccountingSupplierParty>`;
export const buyer = (...content: readonly string[]): string =>
  `<cac:AccountingCustomerParty><cac:Party>${content.join("")}</cac:Party></cac:AccountingCustomerParty>`;
export const vat = (number: string): string =>
  `<cac:PartyTaxScheme><cbc:CompanyID>${number}</cbc:CompanyID><cac:TaxScheme><cbc:ID>VAT</cbc:ID></cac:TaxScheme></cac:PartyTaxScheme>`;
const legal = (number: string, scheme: string): string =>
  `<cac:PartyLegalEntity><cbc:CompanyID schemeID="${scheme}">${number}</cbc:CompanyID></cac:PartyLegalEntity>`;
const between = (country: string): string => seller(address(country)) + buyer(address(country));
const endpoint = (scheme: string, number: string): string =>
  invoice(seller(`<cbc:EndpointID schemeID="${scheme}">${number}</cbc:EndpointID>`));
const means = (code: string, account: string): string =>
  `<cac:PaymentMeans><cbc:PaymentMeansCode>${code}</cbc:PaymentMeansCode><cac:PayeeFinancialAccount><cbc:ID>${account}</cbc:ID></cac:PayeeFinancialAccount></cac:PaymentMeans>`;
const supporting = (description: string, id: string): string =>
  `<cac:AdditionalDocumentReference><cbc:ID>${id}</cbc:ID><cbc:DocumentDescription>${description}</cbc:DocumentDescription></cac:AdditionalDocumentReference>`;
const linked = (uri: string): string =>
  `<cac:AdditionalDocumentReference><cac:Attachment><cac:ExternalReference><cbc:URI>${uri}</cbc:URI></cac:ExternalReference></cac:Attachment></cac:AdditionalDocumentReference>`;
const contact = (name: string): string =>
  `<cac:Contact><cbc:Name>${name}</cbc:Name><cbc:Telephone>123</cbc:Telephone><cbc:ElectronicMail>a@b.c</cbc:ElectronicMail></cac:Contact>`;
const mandate = "<cac:PaymentMeans><cac:PaymentMandate><cbc:ID>1</cbc:ID></cac:PaymentMandate></cac:PaymentMeans>";
const period = (start: string, end: string): string =>
  `<cac:InvoicePeriod><cbc:StartDate>${start}</cbc:StartDate><cbc:EndDate>${end}</cbc:EndDate></cac:InvoicePeriod>`;
const line = (...content: readonly string[]): string => `<cac:InvoiceLine>${content.join("")}</cac:InvoiceLine>`;
const objectOfLine = "<cac:DocumentReference><cbc:DocumentTypeCode>130</cbc:DocumentTypeCode></cac:DocumentReference>";
const icelandic = (...content: readonly string[]): string => invoice(...content, seller(address("IS")));
const icelandicBuyer = (...content: readonly string[]): string => invoice(seller(address("IS")), buyer(...content));
const street = "<cbc:StreetName>s</cbc:StreetName><cbc:PostalZone>1</cbc:PostalZone>";

export interface RuleDocuments {
  readonly id: string;
  readonly breaks: string;
  readonly holds: string;
}

const row = (id: string, breaks: string, holds: string): RuleDocuments => ({ id, breaks, holds });

export const RULE_DOCUMENTS: readonly RuleDocuments[] = [
  row(
    "DE-R-005",
    invoice(seller(address("DE"), contact(" ")), buyer(address("DE"))),
    invoice(seller(address("DE"), contact("n")), buyer(address("DE"))),
  ),
  row(
    "DE-R-017",
    invoice("<cbc:InvoiceTypeCode>383</cbc:InvoiceTypeCode>", between("DE")),
    invoice("<cbc:InvoiceTypeCode> 877 </cbc:InvoiceTypeCode>", between("de")),
  ),
  row(
    "DE-R-030",
    invoice(between("DE"), mandate),
    invoice(
      between("DE"),
      mandate,
      '<cac:PayeeParty><cac:PartyIdentification><cbc:ID schemeID="SEPA">1</cbc:ID></cac:PartyIdentification></cac:PayeeParty>',
    ),
  ),
  row("DE-R-T02", invoice(between("DE"), linked("www.example.org")), invoice(between("DE"), linked("mailto:a"))),
  row(
    "DK-R-013",
    invoice(
      between("DK").replace(
        "<cac:Party>",
        "<cac:Party><cac:PartyIdentification><cbc:ID>1</cbc:ID></cac:PartyIdentification>",
      ),
    ),
    invoice(
      between("DK").replace(
        "<cac:Party>",
        '<cac:Party><cac:PartyIdentification><cbc:ID schemeID="0184">12345678</cbc:ID></cac:PartyIdentification>',
      ),
    ),
  ),
  row(
    "GR-R-004-2",
    invoice(supporting("##M.AR.K##", "0123"), seller(address("GR"))),
    invoice(supporting("##M.AR.K##", "123x"), seller(address("GR"))),
  ),
  row(
    "IS-R-001",
    icelandic("<cbc:InvoiceTypeCode>383</cbc:InvoiceTypeCode>"),
    icelandic("<cbc:InvoiceTypeCode> 381 </cbc:InvoiceTypeCode>"),
  ),
  row(
    "IS-R-002",
    invoice(seller(address("IS"), legal("1", "0088"))),
    invoice(seller(address("IS"), legal("1", "0196"))),
  ),
  row("IS-R-003", icelandic(), invoice(seller(address("IS", street)))),
  row("IS-R-004", icelandicBuyer(address("IS"), legal("1", "0088")), icelandicBuyer(address("NO"), legal("1", "0088"))),
  row("IS-R-005", icelandicBuyer(address("IS")), icelandicBuyer(address("IS", street))),
  row("IS-R-006", icelandic(means("9", "12345678901")), icelandic(means("9", " 123456789012 "))),
  row("IS-R-007", icelandic(means("42", "1234567890123")), icelandic(means("42", "123456789012"))),
  row("IS-R-008", icelandic(supporting("EINDAGI", "2026-02-30")), icelandic(supporting("EINDAGI", "2026-02-28"))),
  row(
    "IS-R-009",
    icelandic(supporting("EINDAGI", "2026-02-28")),
    icelandic("<cbc:DueDate>2026-02-28</cbc:DueDate>", supporting("EINDAGI", "2026-02-28")),
  ),
  row(
    "IS-R-010",
    icelandic("<cbc:DueDate>2026-03-01</cbc:DueDate>", supporting("EINDAGI", "2026-02-28")),
    icelandic("<cbc:DueDate>2026-02-28</cbc:DueDate>", supporting("EINDAGI", "2026-02-28")),
  ),
  row("PEPPOL-COMMON-R041", endpoint("0192", "974760674"), endpoint("0192", "974760673")),
  row("PEPPOL-COMMON-R046", endpoint("9907", "RSSMRA80A01H501"), endpoint("9907", "RSSMRA80A01H501U")),
  row("PEPPOL-COMMON-R052", endpoint("0096", "123456789"), endpoint("0096", "1234567890")),
  row("PEPPOL-COMMON-R055", endpoint("0190", "1234567890123456789"), endpoint("0190", "12345678901234567890")),
  row("PEPPOL-COMMON-R056-1", endpoint("9944", "NL123456789C01"), endpoint("9944", "NL123456789B01")),
  row("PEPPOL-COMMON-R057", endpoint("0217", "12345678901"), endpoint("0217", "123456789012")),
  row(
    "PEPPOL-EN16931-P0100",
    invoice(
      "<cbc:ProfileID>urn:fdc:peppol.eu:2017:poacc:billing:01:1.0</cbc:ProfileID><cbc:InvoiceTypeCode>389</cbc:InvoiceTypeCode>",
    ),
    invoice("<cbc:ProfileID>other</cbc:ProfileID><cbc:InvoiceTypeCode>389</cbc:InvoiceTypeCode>"),
  ),
  row("PEPPOL-EN16931-R100", invoice(line(objectOfLine, objectOfLine)), invoice(line(objectOfLine))),
  row(
    "PEPPOL-EN16931-R111",
    invoice(period("2026-01-01", "2026-01-31"), line(period("2026-01-01", "2026-02-01"))),
    invoice(period("2026-01-01", "2026-01-31"), line(period("2026-01-01", "2026-01-31"))),
  ),
];
