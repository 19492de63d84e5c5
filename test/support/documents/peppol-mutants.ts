/**
 * Damaged and enriched Peppol documents for differential tests: values that the rules look at (countries, identifiers,
 * payment codes, dates, amounts), groups that switch rules on, and the plain damages of xml-mutations.ts.
 */
import { IDENTIFIER_CHECKS, isGreekTin, isIban } from "../../../validators/rules/peppol/identifiers.js";
import type { Random } from "../random.js";
import { mutate } from "./xml-mutations.js";

/** First number of the form that passes a check: right values without copying anybody's. */
function valid(check: (text: string) => boolean, form: (n: number) => string): string {
  for (let n = 0; n < 1_000_000; n += 1) if (check(form(n))) return form(n);
  throw new Error("no valid number found");
}

const digits =
  (length: number, start: string) =>
  (n: number): string =>
    start + String(n).padStart(length - start.length, "0");
const checkOf = (scheme: string): ((text: string) => boolean) => IDENTIFIER_CHECKS.get(scheme) ?? (() => true);

const TIN = valid(isGreekTin, digits(9, "09"));
const NO_ORG = valid(checkOf("0192"), digits(9, "97"));
const SE_ORG = valid(checkOf("0007"), digits(10, "55"));
const IT_VAT = valid(checkOf("0211"), (n) => `IT${digits(11, "03")(n)}`);
const IBAN = valid(
  isIban,
  (n) => `DE${String(n % 100).padStart(2, "0")}${digits(18, "37040044")(Math.floor(n / 100))}`,
);

const NUMBERS = [
  TIN,
  `EL${TIN}`,
  `EL${TIN.slice(0, 8)}x`,
  `GR${TIN}`,
  `NO${NO_ORG}MVA`,
  `NO${NO_ORG}`,
  "NO123456789MVA",
  NO_ORG,
  SE_ORG,
  `SE${SE_ORG}01`,
  "SE12",
  "SE1234567890xx",
  "DE123456789",
  "DK12345678",
  "12345678",
  "1234567890",
  "NL123456789B12",
  "NL12",
  IT_VAT,
  "IT12345678901",
  "IT 2345678901",
  "IT+1234567890",
  "RSSMRA80A01H501U",
  "ABC123",
  "Foretaksregisteret",
  "Godkänd för F-skatt",
  "GODKÄND FÖR F-SKATT",
  " ",
  "SE",
  "0",
  "\u0661\u0662\u0663",
  "12345678901",
  valid(checkOf("0088"), digits(13, "73")),
  valid(checkOf("0208"), digits(10, "04")),
  valid(checkOf("0151"), digits(11, "5")),
  "12345678901234567890",
  "123456789012",
] as const;

const SCHEMES = [...IDENTIFIER_CHECKS.keys(), "9933", "0196", "0009", "9999", "SEPA", ""] as const;
const COUNTRIES = [
  "DE",
  "DK",
  "SE",
  "NO",
  "IT",
  "IS",
  "NL",
  "GR",
  "EL",
  "de",
  " NL ",
  "\nDE",
  "dk",
  "se",
  "SK",
  "XX",
] as const;
const AMOUNTS = [
  "0",
  "0.00",
  "-1",
  "1",
  "0.01",
  "0.02",
  "0.03",
  "100",
  "99.98",
  "99.97",
  "1e3",
  "NaN",
  "INF",
  "x",
  "1.",
  ".5",
  " 7 ",
  "-0",
  "0.1234567890123456789",
  "1000000000000000000000",
] as const;
const DATES = [
  "2017-11-01",
  "2017-12-01",
  "2018-11-01",
  "2017-02-30",
  "2017-11-01Z",
  "2017-11-01+01:00",
  "2017-11-1",
  "20171101",
  "EINDAGI",
] as const;
const MARKS = ["##M.AR.K##", "##INVOICE|URL##", "EINDAGI", "other"] as const;
const DISCOUNTS = [
  "#SKONTO#TAGE=14#PROZENT=2.25#\n",
  "#SKONTO#TAGE=14#PROZENT=2.25#",
  "#SKONTO#TAGE=14#PROZENT=2.25#BASISBETRAG=-1.00#\n#SKONTO#TAGE=7#PROZENT=3.00#\n",
  "#SKONTO#TAGE=14#PROZENT=2#\n",
  "Text\n#SKONTO#TAGE=14#PROZENT=2.25#\nmore",
  "#\n",
  "##\n",
  "a#b\n",
  "# #x#\n  \n",
  "#SKONTO#TAGE=14#PROZENT=2.25# \n",
  "  #SKONTO#TAGE=1#PROZENT=1.00#\n",
  "#SKONTO#TAGE=1#PROZENT=1.00#&#13;\n",
] as const;
const GREEK_NUMBERS = [
  `${TIN}|01/11/2017|1|1.1|A|5`,
  `${TIN}|13/11/2017|0|2.1|A|5`,
  `${TIN}|1/11/2017|x|9.9||`,
  `${TIN}|01/11/2017|1.5|1.1|A|5`,
  "a|b|c",
  `${TIN}|01-11-2017|-1|5.2|A|5|6`,
  `|| | |||`,
] as const;
const CODES = [
  "1",
  "9",
  "10",
  "30",
  "31",
  "42",
  "48",
  "49",
  "50",
  "54",
  "55",
  "56",
  "57",
  "58",
  "59",
  "93",
  "97",
  " 30 ",
  "ZZZ",
] as const;

/** Values by the local name of the element; every other leaf takes one of the common ones. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  IdentificationCode: COUNTRIES,
  CompanyID: NUMBERS,
  EndpointID: NUMBERS,
  ID: [
    ...NUMBERS,
    ...GREEK_NUMBERS,
    "VAT",
    "VAT",
    "TAX",
    "GST",
    " VAT ",
    "vat",
    "S",
    "E",
    "Z",
    "AE",
    "K",
    "G",
    "O",
    "L",
    "M",
    "SE:BANKGIRO",
    "SE:PLUSGIRO",
    IBAN,
    IBAN.toLowerCase(),
    `${IBAN.slice(0, -1)}x`,
    `${IBAN.slice(0, 4)} ${IBAN.slice(4)}`,
    "1234567",
    "123456789012",
    "2017-12-01",
    "1",
    "0",
  ],
  PaymentMeansCode: CODES,
  PaymentID: [
    "01#",
    "04#1234567890123456",
    "04#12",
    "15#1234567890123456",
    "71#123456789012345",
    "71#1",
    "73#",
    "75#1234567890123456",
    "x",
  ],
  InvoiceTypeCode: ["380", "384", "326", "389", "381", "875", "393", " 380 ", "999"],
  CreditNoteTypeCode: ["381", "384", "396", "261", "326", "999"],
  DocumentDescription: MARKS,
  DocumentTypeCode: ["50", "130", "380"],
  Note: DISCOUNTS,
  TaxExemptionReasonCode: [
    "VATEX-EU-G",
    "vatex-eu-o",
    "VATEX-EU-IC",
    "VATEX-EU-AE",
    "VATEX-EU-D",
    "VATEX-EU-F",
    "VATEX-EU-I",
    "VATEX-EU-J",
    "VATEX-EU-132",
    " VATEX-EU-G",
  ],
  AllowanceChargeReasonCode: ["95", "ZZZ", "AA", "FC", "41", "\n95 ", "1"],
  AllowanceChargeReason: ["1234", "12345", "a#b", "#a", "a#", "#", " 123", "1e3 "],
  ChargeIndicator: ["true", "false", " true ", "1", "TRUE", "x"],
  Percent: ["25", "12", "6", "0", "25.0", "2.5e1", "x", "20"],
  MultiplierFactorNumeric: ["0", "10", "100", "33.333"],
  ItemClassificationCode: ["1"],
  Telephone: ["123", "12", "a1b2c3", "one"],
  ElectronicMail: ["a@b.c", "a@b", "a b@c.d", "a@@b.c", "@b.c", "a@.c", "a@b..c"],
  URI: ["http://a", "a:", "ab:", "www.a", "1a:b", "mailto:x"],
  ProfileID: [
    "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0",
    "urn:peppol:bis:billing_with_response",
    "urn:peppol:france:billing:regulated",
    "urn:fdc:peppol.eu:2017:poacc:selfbilling:01:1.0",
    "other",
    "constructor",
  ],
  CustomizationID: [
    "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0#x",
    "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:selfbilling:3.0",
    "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0::2",
  ],
  DocumentCurrencyCode: ["EUR", "SEK", " EUR"],
  TaxCurrencyCode: ["EUR", "SEK"],
  DescriptionCode: ["3", "35", "432", "5", " 35"],
};
const COMMON = ["", " ", "1", "x", "a<!-- c -->b", "<![CDATA[x]]>", "&#32;"] as const;
const isAmount = (name: string): boolean => /Amount|Quantity$/u.test(name);

const scheme = (id: string, vat: string): string =>
  `<cac:PartyTaxScheme><cbc:CompanyID>${id}</cbc:CompanyID><cac:TaxScheme><cbc:ID>${vat}</cbc:ID></cac:TaxScheme></cac:PartyTaxScheme>`;
const address = (country: string): string =>
  `<cac:PostalAddress><cac:Country><cbc:IdentificationCode>${country}</cbc:IdentificationCode></cac:Country></cac:PostalAddress>`;
const reference = (mark: string): string =>
  `<cac:AdditionalDocumentReference><cbc:ID>123</cbc:ID><cbc:DocumentDescription>${mark}</cbc:DocumentDescription></cac:AdditionalDocumentReference>`;
const attachment = (file: string): string =>
  `<cac:AdditionalDocumentReference><cbc:ID>f</cbc:ID><cac:Attachment><cbc:EmbeddedDocumentBinaryObject mimeCode="text/csv" filename="${file}">QQ==</cbc:EmbeddedDocumentBinaryObject><cac:ExternalReference><cbc:URI>www.a</cbc:URI></cac:ExternalReference></cac:Attachment></cac:AdditionalDocumentReference>`;
const payment = (code: string): string =>
  `<cac:PaymentMeans><cbc:PaymentMeansCode>${code}</cbc:PaymentMeansCode><cbc:PaymentID>71#1</cbc:PaymentID><cac:PayeeFinancialAccount><cbc:ID>${IBAN}</cbc:ID><cac:FinancialInstitutionBranch><cbc:ID>SE:BANKGIRO</cbc:ID></cac:FinancialInstitutionBranch></cac:PayeeFinancialAccount></cac:PaymentMeans>`;
const charge = (indicator: string): string =>
  `<cac:AllowanceCharge><cbc:ChargeIndicator>${indicator}</cbc:ChargeIndicator><cbc:AllowanceChargeReasonCode>95</cbc:AllowanceChargeReasonCode><cbc:AllowanceChargeReason>x</cbc:AllowanceChargeReason><cbc:MultiplierFactorNumeric>10</cbc:MultiplierFactorNumeric><cbc:Amount currencyID="EUR">10</cbc:Amount><cbc:BaseAmount currencyID="EUR">100</cbc:BaseAmount></cac:AllowanceCharge>`;
const period =
  "<cac:InvoicePeriod><cbc:StartDate>2017-11-05</cbc:StartDate><cbc:EndDate>2017-11-20</cbc:EndDate><cbc:DescriptionCode>35</cbc:DescriptionCode></cac:InvoicePeriod>";

/** Groups by the parent they go into. */
const GROUPS: Readonly<Record<string, readonly ((random: Random) => string)[]>> = {
  "cac:Party": [
    (r) => scheme(r.pick(NUMBERS), r.pick(["VAT", "TAX"])),
    (r) => address(r.pick(COUNTRIES)),
    () => "<cac:PartyName><cbc:Name>n</cbc:Name></cac:PartyName>",
    (r) =>
      `<cac:PartyLegalEntity><cbc:CompanyID schemeID="${r.pick(SCHEMES)}">${r.pick(NUMBERS)}</cbc:CompanyID></cac:PartyLegalEntity>`,
    () =>
      "<cac:Contact><cbc:Name>n</cbc:Name><cbc:Telephone>123</cbc:Telephone><cbc:ElectronicMail>a@b.c</cbc:ElectronicMail></cac:Contact>",
    (r) =>
      `<cac:PartyIdentification><cbc:ID schemeID="${r.pick(SCHEMES)}">${r.pick(NUMBERS)}</cbc:ID></cac:PartyIdentification>`,
  ],
  "": [
    (r) => reference(r.pick(MARKS)),
    (r) => attachment(r.pick(["a", "b", "A"])),
    (r) => payment(r.pick(CODES)),
    (r) => charge(r.pick(["true", "false"])),
    () => period,
    (r) => `<cac:PaymentTerms><cbc:Note>${r.pick(DISCOUNTS)}</cbc:Note></cac:PaymentTerms>`,
    (r) =>
      `<cac:TaxRepresentativeParty>${scheme(r.pick(NUMBERS), "VAT")}${address(r.pick(COUNTRIES))}</cac:TaxRepresentativeParty>`,
    (r) =>
      `<cbc:TaxCurrencyCode>${r.pick(["SEK", "EUR"])}</cbc:TaxCurrencyCode><cac:TaxTotal><cbc:TaxAmount currencyID="SEK">${r.pick(AMOUNTS)}</cbc:TaxAmount></cac:TaxTotal>`,
    () =>
      "<cac:Delivery><cac:DeliveryLocation><cac:Address><cbc:CityName>c</cbc:CityName></cac:Address></cac:DeliveryLocation></cac:Delivery>",
    () => "<cbc:DueDate>2017-12-01</cbc:DueDate>",
    () => "<cbc:Note>n</cbc:Note>",
    () =>
      "<cac:BillingReference><cac:InvoiceDocumentReference><cbc:ID>1</cbc:ID></cac:InvoiceDocumentReference></cac:BillingReference>",
  ],
  "cac:InvoiceLine": [
    (r) => charge(r.pick(["true", "false"])),
    () => period,
    () => "<cac:OrderLineReference><cbc:LineID>1</cbc:LineID></cac:OrderLineReference>",
    (r) =>
      `<cac:DocumentReference><cbc:ID>1</cbc:ID><cbc:DocumentTypeCode>${r.pick(["130", "50"])}</cbc:DocumentTypeCode></cac:DocumentReference>`,
  ],
  "cac:Price": [
    (r) => charge(r.pick(["true", "false"])),
    (r) => `<cbc:BaseQuantity unitCode="${r.pick(["C62", "DAY"])}">${r.pick(AMOUNTS)}</cbc:BaseQuantity>`,
  ],
  "cac:Item": [
    (r) =>
      `<cac:CommodityClassification><cbc:ItemClassificationCode listID="${r.pick(["TST", "STI"])}" listVersionID="${r.pick(["19.05.01", "26.0801", "1"])}">1</cbc:ItemClassificationCode></cac:CommodityClassification>`,
  ],
  "cac:PaymentMeans": [
    () =>
      "<cac:PaymentMandate><cbc:ID>m</cbc:ID><cac:PayerFinancialAccount><cbc:ID>x</cbc:ID></cac:PayerFinancialAccount></cac:PaymentMandate>",
    () => "<cac:CardAccount/>",
    (r) => `<cbc:PaymentMeansCode>${r.pick(CODES)}</cbc:PaymentMeansCode>`,
  ],
  "cac:TaxCategory": [
    (r) =>
      `<cbc:TaxExemptionReasonCode>${r.pick(VALUES["TaxExemptionReasonCode"] ?? COMMON)}</cbc:TaxExemptionReasonCode>`,
  ],
};

const LEAF = /<(cbc:[A-Za-z]+)([^<>]*)>([^<>]*)<\/\1>/gu;

/** Gives one leaf another value. */
function changeValue(text: string, random: Random): string {
  const leaves = [...text.matchAll(LEAF)];
  if (leaves.length === 0) return text;
  const leaf = random.pick(leaves);
  const [whole, name = "", attributes = ""] = leaf;
  const local = name.slice(4);
  const values = VALUES[local] ?? (isAmount(local) ? AMOUNTS : local.endsWith("Date") ? DATES : COMMON);
  const value =
    random.int(12) === 0
      ? random.pick(COMMON)
      : isAmount(local) && random.int(2) === 0
        ? nudged(leaf[3] ?? "", random)
        : random.pick(values);
  return splice(text, leaf.index, whole.length, `<${name}${attributes}>${value}</${name}>`);
}

/** An amount a few cents away: rules tolerate 0.02. */
function nudged(written: string, random: Random): string {
  const cents = Math.round(Number(written) * 100) + random.pick([-3, -2, -1, 1, 2, 3]);
  return Number.isSafeInteger(cents) ? (cents / 100).toFixed(2) : written;
}

/** Gives one identifier another scheme, or one amount another currency or unit. */
function changeAttribute(text: string, random: Random): string {
  const found = [...text.matchAll(/ (schemeID|currencyID|unitCode|mimeCode|filename|listID|listVersionID)="[^"]*"/gu)];
  if (found.length === 0) return text;
  const attribute = random.pick(found);
  const name = attribute[1] ?? "";
  const values =
    name === "schemeID"
      ? SCHEMES
      : name === "currencyID"
        ? ["EUR", "SEK", "XXX", "EEE", ""]
        : ["C62", "DAY", "text/csv", "a", "TST", "19.0501"];
  return splice(
    text,
    attribute.index,
    attribute[0].length,
    random.int(8) === 0 ? "" : ` ${name}="${random.pick(values)}"`,
  );
}

/** Puts a group behind the start tag of its parent. */
function insertGroup(text: string, random: Random): string {
  const parent = random.pick(Object.keys(GROUPS));
  const group = random.pick(GROUPS[parent] ?? [() => ""])(random);
  const opened = [
    ...text.matchAll(
      parent === "" ? /<(?:[a-z-]+:)?(?:Invoice|CreditNote)\s[^>]*[^/]>/gu : new RegExp(`<${parent}>`, "gu"),
    ),
  ];
  if (opened.length === 0) return text;
  const place = random.pick(opened);
  return splice(text, place.index + place[0].length, 0, group);
}

/** Moves seller, and often buyer, into one country; their VAT numbers often too. */
function nationalise(text: string, random: Random): string {
  const country = random.pick(["DE", "DK", "SE", "NO", "IT", "IS", "NL", "GR"]);
  const prefix = country === "GR" ? "EL" : country;
  const numbers = NUMBERS.filter((number) => number.startsWith(prefix));
  const move = (party: string): string =>
    party
      .replace(/(<cbc:IdentificationCode[^>]*>)[^<]*/gu, `$1${country}`)
      .replace(/(<cac:PartyTaxScheme>\s*<cbc:CompanyID[^>]*>)[^<]*/gu, (whole, tag: string) =>
        numbers.length > 0 && random.int(3) > 0 ? tag + random.pick(numbers) : whole,
      );
  const both = random.int(10) < 7;
  return text
    .replace(/<cac:AccountingSupplierParty>.*?<\/cac:AccountingSupplierParty>/su, move)
    .replace(/<cac:AccountingCustomerParty>.*?<\/cac:AccountingCustomerParty>/su, (party) =>
      both ? move(party) : party,
    );
}

const splice = (text: string, at: number, length: number, by: string): string =>
  text.slice(0, at) + by + text.slice(at + length);

/** One to six changes, the first often a move to another country. */
export function peppolMutant(document: Buffer, random: Random): Buffer {
  let text = document.toString("utf8");
  if (random.int(10) < 6) text = nationalise(text, random);
  for (let left = 1 + random.int(5); left > 0; left -= 1) {
    const kind = random.int(20);
    if (kind < 9) text = changeValue(text, random);
    else if (kind < 11) text = changeAttribute(text, random);
    else if (kind < 16) text = insertGroup(text, random);
    else text = Buffer.from(mutate(Buffer.from(text).toString("latin1"), random).text, "latin1").toString("utf8");
  }
  return Buffer.from(text);
}
