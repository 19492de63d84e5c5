/**
 * Documents in which examples of rules are looked for: invoices in every VAT category and between firms of each country
 * with rules of its own, with the parts that few invoices have; a response; statuses. A rule that one of them breaks as
 * it is gets its example from another.
 */
import { invoiceWithLines } from "../../../bench/documents.js";

/** Puts an addition in front of the first place that says this. */
export const put = (text: string, anchor: string, addition: string): string =>
  text.replace(anchor, `${addition}${anchor}`);

const PLAIN = invoiceWithLines(1).toString();
const REASON = "<cbc:TaxExemptionReason>See the terms</cbc:TaxExemptionReason>";

const allowanceOf = (charge: boolean): string => `  <cac:AllowanceCharge>
    <cbc:ChargeIndicator>${String(charge)}</cbc:ChargeIndicator>
    <cbc:AllowanceChargeReasonCode>${charge ? "FC" : "95"}</cbc:AllowanceChargeReasonCode>
    <cbc:AllowanceChargeReason>${charge ? "Freight" : "Discount"}</cbc:AllowanceChargeReason>
    <cbc:Amount currencyID="EUR">10.00</cbc:Amount>
    <cac:TaxCategory>
      <cbc:ID>S</cbc:ID>
      <cbc:Percent>19</cbc:Percent>
      <cac:TaxScheme>
        <cbc:ID>VAT</cbc:ID>
      </cac:TaxScheme>
    </cac:TaxCategory>
  </cac:AllowanceCharge>
`;
/** An allowance and a charge of one amount: no total moves. */
export const ALLOWANCES = allowanceOf(false) + allowanceOf(true);

const withAllowances = put(PLAIN, "  <cac:TaxTotal>", ALLOWANCES).replace(
  /(<cbc:TaxInclusiveAmount[^>]*>[^<]*<\/cbc:TaxInclusiveAmount>\s*)/u,
  '$1<cbc:AllowanceTotalAmount currencyID="EUR">10.00</cbc:AllowanceTotalAmount>\n    <cbc:ChargeTotalAmount currencyID="EUR">10.00</cbc:ChargeTotalAmount>\n    ',
);

/** The same invoice with all its lines, allowances and charges in another VAT category. */
function inCategory(code: string): string {
  const isRated = code === "L" || code === "M";
  const coded = withAllowances.replaceAll("<cbc:ID>S</cbc:ID>", `<cbc:ID>${code}</cbc:ID>`);
  if (isRated) return coded;
  const net = /<cbc:TaxExclusiveAmount currencyID="EUR">([\d.]+)/u.exec(coded)?.[1] ?? "";
  const free = coded
    .replaceAll(/<cbc:Percent>\d+<\/cbc:Percent>/gu, code === "O" ? "" : "<cbc:Percent>0</cbc:Percent>")
    .replaceAll(/(<cbc:TaxAmount currencyID="EUR">)[\d.]+/gu, "$10.00")
    .replace(/(<cbc:TaxInclusiveAmount currencyID="EUR">)[\d.]+/u, `$1${net}`)
    .replace(/(<cbc:PayableAmount currencyID="EUR">)[\d.]+/u, `$1${net}`);
  const reasoned =
    code === "Z" ? free : free.replace(/(<cac:TaxSubtotal>[\s\S]*?)(\s*<cac:TaxScheme>)/u, `$1\n        ${REASON}$2`);
  return reasoned.replace(
    /(<cbc:ActualDeliveryDate>[^<]*<\/cbc:ActualDeliveryDate>)/u,
    "$1\n    <cac:DeliveryLocation>\n      <cac:Address>\n        <cac:Country>\n          <cbc:IdentificationCode>SK</cbc:IdentificationCode>\n        </cac:Country>\n      </cac:Address>\n    </cac:DeliveryLocation>",
  );
}

/** Numbers that the firms of a country have: VAT, legal registration, and their schemes of addresses. */
const COUNTRIES: readonly (readonly [country: string, vat: string, legal: string, scheme: string])[] = [
  ["DE", "DE123456789", "HRB 123", "9930"],
  ["DK", "DK88776655", "88776655", "0184"],
  ["GR", "EL123456783", "1", "9933"],
  ["IS", "IS12345", "1234567890", "0196"],
  ["IT", "IT06363391001", "06363391001", "0211"],
  ["NL", "NL123456782B90", "12345678", "0106"],
  ["NO", "NO987654325MVA", "987654325", "0192"],
  ["SE", "SE556036079301", "5560360793", "0007"],
];

/** The invoice between two firms of a country, with what several countries ask of contacts and registrations. */
function between([country, vat, legal, scheme]: (typeof COUNTRIES)[number]): string {
  return PLAIN.replaceAll("<cbc:IdentificationCode>SK", `<cbc:IdentificationCode>${country}`)
    .replaceAll(/<cbc:CompanyID>SK\d+/gu, `<cbc:CompanyID>${vat}`)
    .replaceAll(/<cbc:CompanyID>\d{8}</gu, `<cbc:CompanyID schemeID="${scheme}">${legal}<`)
    .replaceAll("<cbc:ElectronicMail>", "<cbc:Telephone>+49 30 123456</cbc:Telephone>\n        <cbc:ElectronicMail>")
    .replace("  <cac:PaymentMeans>", `  <cac:PaymentMeans>\n    <cbc:ID>1</cbc:ID>`.replace(/\n.*/u, ""))
    .replace(
      "    </cac:PayeeFinancialAccount>",
      "      <cbc:Name>Account</cbc:Name>\n      <cac:FinancialInstitutionBranch>\n        <cbc:ID>DEUTDEFF</cbc:ID>\n      </cac:FinancialInstitutionBranch>\n    </cac:PayeeFinancialAccount>",
    );
}

/** Parts that stand in few invoices, each where UBL has it. */
const RARE_PARTS: readonly (readonly [before: string, addition: string])[] = [
  ["  <cbc:DocumentCurrencyCode>", "  <cbc:Note>#AAI#Thank you</cbc:Note>\n"],
  ["  <cbc:BuyerReference>", "  <cbc:TaxCurrencyCode>CZK</cbc:TaxCurrencyCode>\n"],
  ["  <cac:OrderReference>", "  <cac:InvoicePeriod>\n    <cbc:StartDate>2026-11-01</cbc:StartDate>\n    <cbc:EndDate>2026-11-30</cbc:EndDate>\n  </cac:InvoicePeriod>\n"],
  ["      <cac:PartyName>", '      <cac:PartyIdentification>\n        <cbc:ID schemeID="0088">7300010000001</cbc:ID>\n      </cac:PartyIdentification>\n'],
  ["  <cac:PaymentTerms>", '  <cac:PaymentMeans>\n    <cbc:PaymentMeansCode name="Card">48</cbc:PaymentMeansCode>\n    <cac:CardAccount>\n      <cbc:PrimaryAccountNumberID>1234</cbc:PrimaryAccountNumberID>\n      <cbc:NetworkID>VISA</cbc:NetworkID>\n    </cac:CardAccount>\n    <cac:PaymentMandate>\n      <cbc:ID>M-1</cbc:ID>\n      <cac:PayerFinancialAccount>\n        <cbc:ID>SK3112000000198742637541</cbc:ID>\n      </cac:PayerFinancialAccount>\n    </cac:PaymentMandate>\n  </cac:PaymentMeans>\n'],
  ["  <cac:LegalMonetaryTotal>", '  <cac:TaxTotal>\n    <cbc:TaxAmount currencyID="CZK">1.00</cbc:TaxAmount>\n  </cac:TaxTotal>\n'],
  ["    <cac:OrderLineReference>", "    <cac:InvoicePeriod>\n      <cbc:StartDate>2026-11-01</cbc:StartDate>\n      <cbc:EndDate>2026-11-30</cbc:EndDate>\n    </cac:InvoicePeriod>\n"],
  ["    <cac:AllowanceCharge>\n      <cbc:ChargeIndicator>", '    <cac:DocumentReference>\n      <cbc:ID schemeID="AAA">OBJ-1</cbc:ID>\n      <cbc:DocumentTypeCode>130</cbc:DocumentTypeCode>\n    </cac:DocumentReference>\n    <cac:AllowanceCharge>\n      <cbc:ChargeIndicator>true</cbc:ChargeIndicator>\n      <cbc:AllowanceChargeReasonCode>FC</cbc:AllowanceChargeReasonCode>\n      <cbc:Amount currencyID="EUR">0.00</cbc:Amount>\n      <cbc:BaseAmount currencyID="EUR">0.00</cbc:BaseAmount>\n    </cac:AllowanceCharge>\n'.replace("<cbc:BaseAmount", "<cbc:BaseAmount").replace("      <cbc:Amount", "      <cbc:MultiplierFactorNumeric>0</cbc:MultiplierFactorNumeric>\n      <cbc:Amount")],
  ["      <cac:ClassifiedTaxCategory>", '      <cac:StandardItemIdentification>\n        <cbc:ID schemeID="0160">7300010000001</cbc:ID>\n      </cac:StandardItemIdentification>\n      <cac:OriginCountry>\n        <cbc:IdentificationCode>SK</cbc:IdentificationCode>\n      </cac:OriginCountry>\n      <cac:CommodityClassification>\n        <cbc:ItemClassificationCode listID="STI">1</cbc:ItemClassificationCode>\n      </cac:CommodityClassification>\n'],
]; // oxfmt-ignore

/** The plain invoice with all of them, and a discount in its price. */
function withRareParts(): string {
  const all = RARE_PARTS.reduce((text, [before, addition]) => put(text, before, addition), PLAIN);
  const price = /<cbc:PriceAmount currencyID="EUR">([\d.]+)/u.exec(all)?.[1] ?? "";
  return all
    .replace(
      /(<cbc:BaseQuantity[^>]*>1<\/cbc:BaseQuantity>)/u,
      `$1\n      <cac:AllowanceCharge>\n        <cbc:ChargeIndicator>false</cbc:ChargeIndicator>\n        <cbc:Amount currencyID="EUR">0.00</cbc:Amount>\n        <cbc:BaseAmount currencyID="EUR">${price}</cbc:BaseAmount>\n      </cac:AllowanceCharge>`,
    )
    .replace(
      /(<cbc:ActualDeliveryDate>[^<]*<\/cbc:ActualDeliveryDate>)/u,
      '$1\n    <cac:DeliveryLocation>\n      <cbc:ID schemeID="0088">7300010000001</cbc:ID>\n    </cac:DeliveryLocation>\n    <cac:DeliveryParty>\n      <cac:PartyName>\n        <cbc:Name>Store</cbc:Name>\n      </cac:PartyName>\n    </cac:DeliveryParty>',
    )
    .replaceAll(/<cbc:CompanyID>(\d{8})</gu, '<cbc:CompanyID schemeID="0158">$1<');
}

/** The same as a credit note. */
const asCreditNote = (invoice: string): string =>
  invoice
    .replaceAll(/(<\/?)Invoice\b/gu, "$1CreditNote")
    .replace("xsd:Invoice-2", "xsd:CreditNote-2")
    .replace(/\s*<cbc:DueDate>[^<]*<\/cbc:DueDate>/u, "")
    .replace(/<cbc:InvoiceTypeCode>380<\/cbc:InvoiceTypeCode>/u, "<cbc:CreditNoteTypeCode>381</cbc:CreditNoteTypeCode>")
    .replaceAll("cac:InvoiceLine>", "cac:CreditNoteLine>")
    .replaceAll("cbc:InvoicedQuantity", "cbc:CreditedQuantity");

/** One element a line, two spaces a level. */
function indented(xml: string): string {
  let depth = 0;
  return xml
    .replaceAll(/>\s*</gu, ">\n<")
    .split("\n")
    .map((line) => {
      if (line.startsWith("</")) depth -= 1;
      const text = "  ".repeat(depth) + line;
      if (/^<[^/?!]/u.test(line) && !/<\/[^>]*>$|\/>$/u.test(line)) depth += 1;
      return text;
    })
    .join("\n");
}

const RESPONSE_START =
  '<ApplicationResponse xmlns="urn:oasis:names:specification:ubl:schema:xsd:ApplicationResponse-2" xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2" xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">';
const responseParty = (role: string, endpoint: string): string =>
  `<cac:${role}><cbc:EndpointID schemeID="0088">${endpoint}</cbc:EndpointID><cac:PartyIdentification><cbc:ID schemeID="0184">DK88776655</cbc:ID></cac:PartyIdentification><cac:PartyLegalEntity><cbc:RegistrationName>Name</cbc:RegistrationName></cac:PartyLegalEntity>${role === "SenderParty" ? "<cac:Contact><cbc:Name>Jens</cbc:Name><cbc:Telephone>23</cbc:Telephone><cbc:ElectronicMail>a@example.sk</cbc:ElectronicMail></cac:Contact>" : ""}</cac:${role}>`;
const namedParty = (role: string): string =>
  `<cac:${role}><cac:PartyIdentification><cbc:ID schemeID="0192">987654325</cbc:ID></cac:PartyIdentification><cac:PartyName><cbc:Name>Name</cbc:Name></cac:PartyName></cac:${role}>`;

/** An Invoice Response that refuses an invoice. */
const RESPONSE = indented(
  `${RESPONSE_START}<cbc:CustomizationID>urn:fdc:peppol.eu:poacc:trns:invoice_response:3</cbc:CustomizationID><cbc:ProfileID>urn:fdc:peppol.eu:poacc:bis:invoice_response:3</cbc:ProfileID><cbc:ID>1</cbc:ID><cbc:IssueDate>2026-11-20</cbc:IssueDate><cbc:IssueTime>12:00:00</cbc:IssueTime><cbc:Note>Note</cbc:Note>${responseParty("SenderParty", "7330001000000")}${responseParty("ReceiverParty", "5798000012349")}<cac:DocumentResponse><cac:Response><cbc:ResponseCode>RE</cbc:ResponseCode><cbc:EffectiveDate>2026-11-20</cbc:EffectiveDate><cac:Status><cbc:StatusReasonCode listID="OPStatusReason">REF</cbc:StatusReasonCode><cbc:StatusReason>Text</cbc:StatusReason><cac:Condition><cbc:AttributeID>BT-48</cbc:AttributeID><cbc:Description>EU1</cbc:Description></cac:Condition></cac:Status></cac:Response><cac:DocumentReference><cbc:ID>K-1</cbc:ID><cbc:IssueDate>2026-11-01</cbc:IssueDate><cbc:DocumentTypeCode>380</cbc:DocumentTypeCode></cac:DocumentReference>${namedParty("IssuerParty")}${namedParty("RecipientParty")}</cac:DocumentResponse></ApplicationResponse>`,
);

/** A Message Level Status of a code, with the reason of its one issue. */
const statusOf = (code: string, reason: string): string =>
  indented(
    `${RESPONSE_START}<cbc:CustomizationID>urn:peppol:edec:mls:1.0</cbc:CustomizationID><cbc:ProfileID>urn:peppol:edec:mls</cbc:ProfileID><cbc:ID>1</cbc:ID><cbc:IssueDate>2026-11-20</cbc:IssueDate><cbc:IssueTime>12:00:00Z</cbc:IssueTime><cac:SenderParty><cbc:EndpointID schemeID="0242">987654</cbc:EndpointID></cac:SenderParty><cac:ReceiverParty><cbc:EndpointID schemeID="0242">123456</cbc:EndpointID></cac:ReceiverParty><cac:DocumentResponse><cac:Response><cbc:ResponseCode>${code}</cbc:ResponseCode><cbc:Description>Text</cbc:Description></cac:Response><cac:DocumentReference><cbc:ID>instance</cbc:ID></cac:DocumentReference><cac:LineResponse><cac:LineReference><cbc:LineID>NA</cbc:LineID></cac:LineReference><cac:Response><cbc:Description>Text</cbc:Description><cac:Status><cbc:StatusReasonCode>${reason}</cbc:StatusReasonCode></cac:Status></cac:Response></cac:LineResponse></cac:DocumentResponse></ApplicationResponse>`,
  );

/** All of them. */
export const moreSamples = (): readonly string[] => [
  withRareParts(),
  asCreditNote(PLAIN),
  ...["Z", "E", "AE", "K", "G", "L", "M", "O"].map(inCategory),
  ...COUNTRIES.map(between),
  RESPONSE,
  statusOf("RE", "BV"),
  statusOf("AP", "BW"),
];

/** What no change of an element does: mistakes of XML itself, of namespaces, and what schema instances may say. */
export const FILE_MISTAKES: readonly (readonly [text: string, instead: string])[] = [
  ['currencyID="EUR"', "currencyID=EUR"],
  ["Shelf 1", "Shelf ]]> 1"],
  ["Shelf 1", "R&D shelf"],
  ["Shelf 1", "Shelf &#1;"],
  ["<cbc:ID>1</cbc:ID>", "<!-- first -- line --><cbc:ID>1</cbc:ID>"],
  ["<cbc:ID>1</cbc:ID>", "<cbc:ID>1</cbc:Id>"],
  ["<cbc:ID>1</cbc:ID>", "<?1 print?><cbc:ID>1</cbc:ID>"],
  ["<cbc:ID>1</cbc:ID>", "<cbc:1ID>1</cbc:1ID>"],
  ["<cbc:ID>1</cbc:ID>", "<cbx:ID>1</cbx:ID>"],
  ["<cbc:ID>1</cbc:ID>", "< cbc:ID>1</cbc:ID>"],
  ["<cbc:ID>1</cbc:ID>", '<cbc:ID xmlns:x="">1</cbc:ID>'],
  ["<cbc:ID>1</cbc:ID>", '<cbc:ID xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="true"></cbc:ID>'],
  ["<cbc:ID>1</cbc:ID>", '<cbc:ID xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="cbc:NameType">1</cbc:ID>'],
  ['version="1.0" encoding="UTF-8"', 'encoding="UTF-8"'],
  ['encoding="UTF-8"', 'encoding="ISO-8859-1"'],
  ["<Invoice ", "<!DOCTYPE Invoice>\n<Invoice "],
  ["xsd:Invoice-2", "xsd:Invoice-3"],
  ["CommonBasicComponents-2", "CommonBasicComponents-1"],
  ["</Invoice>", "</Invoice>\n<Invoice/>"],
  ["</Invoice>", "</Invoice>\nend of file"],
  ["</Invoice>", ""],
]; // oxfmt-ignore
