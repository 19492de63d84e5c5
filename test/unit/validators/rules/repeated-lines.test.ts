/**
 * Lines that repeat each other's names are judged together, others one by one: both ways must give one verdict.
 *
 * Method: every document is judged twice, as it is and with a comment in each line. A comment says nothing, and a line
 * that has one is judged alone.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { invoiceWithLines } from "../../../../bench/documents.js";
import { validateDocument } from "../../../../validators/validate.js";
import { SCAN_LIMITS } from "../../../../validators/xml/limits.js";
import { cac } from "../../../../validators/xml/names.js";
import { formedBranches } from "../../../../validators/xml/repeats/forms.js";
import { scan } from "../../../../validators/xml/scanner.js";
import { seedFrom } from "../../../support/random.js";

/** Changes of one line: of its values, of its elements, of its attributes. */
const CHANGES: readonly (readonly [what: RegExp, to: string])[] = [
  [/<cbc:ID>\d+<\/cbc:ID>/u, ""],
  [/<cbc:ID>\d+<\/cbc:ID>/u, "<cbc:ID/>"],
  [/<cbc:ID>\d+<\/cbc:ID>/u, "<cbc:ID> &#32;</cbc:ID>"],
  [/ unitCode="C62">(\d+)</u, ' unitCode="">$1<'],
  [/ unitCode="C62">(\d+)</u, ' unitCode="QQQ">$1<'],
  [/ unitCode="C62">(\d+)</u, ">$1<"],
  [/ unitCode="C62">(\d+)</u, ' unitCode="C62" unitCodeListID="x">$1<'],
  [/ unitCode="C62">(\d+)</u, ' unitCodeListID="C62">$1<'],
  [/<cbc:InvoicedQuantity[^>]*>\d+<\/cbc:InvoicedQuantity>/u, ""],
  [/<cbc:InvoicedQuantity[^>]*>\d+<\/cbc:InvoicedQuantity>/u, "$&$&"],
  [/<cbc:LineExtensionAmount currencyID="EUR">([\d.]+)/u, '<cbc:LineExtensionAmount currencyID="EUR">$19'],
  [/<cbc:LineExtensionAmount currencyID="EUR">([\d.]+)/u, '<cbc:LineExtensionAmount currencyID="CZK">$1'],
  [/<cbc:LineExtensionAmount currencyID="EUR">([\d.]+)/u, '<cbc:LineExtensionAmount currencyID="XXQ">$1'],
  [/<cbc:LineExtensionAmount currencyID="EUR">([\d.]+)/u, '<cbc:LineExtensionAmount currencyID="EUR">1,5'],
  [/<cbc:ChargeIndicator>false/u, "<cbc:ChargeIndicator>true"],
  [/<cbc:ChargeIndicator>false/u, "<cbc:ChargeIndicator>no"],
  [/<cbc:AllowanceChargeReasonCode>95/u, "<cbc:AllowanceChargeReasonCode>1"],
  [/<cbc:MultiplierFactorNumeric>10<\/cbc:MultiplierFactorNumeric>/u, ""],
  [/<cbc:BaseAmount currencyID="EUR">[\d.]+<\/cbc:BaseAmount>/u, ""],
  [/<cbc:Amount currencyID="EUR">[\d.]+<\/cbc:Amount>/u, ""],
  [/<cbc:Name>Shelf \d+<\/cbc:Name>/u, "<cbc:Name>Shelf</cbc:Name><cbc:Name>Board</cbc:Name>"],
  [/<cbc:Name>Shelf \d+<\/cbc:Name>/u, "<cbc:Name>Regál &amp; polica</cbc:Name>"],
  [/<cbc:Name>Shelf \d+<\/cbc:Name>/u, "<cbc:Name><![CDATA[ ]]></cbc:Name>"],
  [/<cbc:Description>/u, "<cbc:Description>Once</cbc:Description><cbc:Description>"],
  [/<cbc:Percent>\d+/u, "<cbc:Percent>0"],
  [/<cbc:Percent>\d+<\/cbc:Percent>/u, ""],
  [/<cbc:ID>S<\/cbc:ID>/u, "<cbc:ID>E</cbc:ID>"],
  [/<cbc:ID>VAT<\/cbc:ID>/u, "<cbc:ID>GST</cbc:ID>"],
  [/<cbc:PriceAmount currencyID="EUR">/u, '<cbc:PriceAmount currencyID="EUR">-'],
  [/<cbc:BaseQuantity unitCode="C62">1/u, '<cbc:BaseQuantity unitCode="KGM">0'],
  [
    /<\/cbc:BaseQuantity>/u,
    '$&<cac:AllowanceCharge><cbc:ChargeIndicator>true</cbc:ChargeIndicator><cbc:Amount currencyID="EUR">1</cbc:Amount><cbc:BaseAmount currencyID="EUR">-5.123</cbc:BaseAmount></cac:AllowanceCharge>',
  ],
  [
    /<cac:OrderLineReference>/u,
    "<cac:DocumentReference><cbc:ID schemeID='QQQ'>1</cbc:ID><cbc:DocumentTypeCode>50</cbc:DocumentTypeCode></cac:DocumentReference>$&",
  ],
  [/<cac:ClassifiedTaxCategory>[\s\S]*<\/cac:ClassifiedTaxCategory>/u, ""],
  [/<cac:ClassifiedTaxCategory>[\s\S]*<\/cac:ClassifiedTaxCategory>/u, "$&$&"],
  [/<cbc:Value>[^<]*<\/cbc:Value>/u, ""],
  [/<cac:Price>/u, "stray text<cac:Price>"],
  [/<cac:OrderLineReference>/u, "<cac:InvoicePeriod>November</cac:InvoicePeriod>$&"],
  [/<cac:Price>/u, '<x:Extra xmlns:x="urn:x">1</x:Extra><cac:Price>'],
  [/<cac:Item>/u, "<cac:Delivery><cbc:ID>D</cbc:ID></cac:Delivery><cac:Item>"],
  [/<cac:OrderLineReference>/u, "<cac:InvoicePeriod><cbc:StartDate>2026-11-01</cbc:StartDate></cac:InvoicePeriod>$&"],
];

const LINE = /<cac:InvoiceLine>[\s\S]*?<\/cac:InvoiceLine>/gu;
const LINES = 6;

function changed(changes: readonly (readonly [line: number, change: number])[]): string {
  let line = -1;
  return invoiceWithLines(LINES)
    .toString()
    .replace(LINE, (text) => {
      line += 1;
      return changes
        .filter(([at]) => at === line)
        .reduce((xml, [, change]) => xml.replace(...(CHANGES[change] as [RegExp, string])), text);
    });
}

function verdict(xml: string): unknown {
  const { valid, findings } = validateDocument(Buffer.from(xml), { limits: SCAN_LIMITS, day: "2026-11-20" });
  return {
    valid,
    findings: findings.map(({ ruleId, severity, location, line }) => [ruleId, severity, location, line]),
  };
}

const commented = (xml: string): string => xml.replace(/^ {2}<cac:\w+>/gmu, "$&<!---->");

/** Changes of what is no line, each of the first place that fits. */
const OTHER_CHANGES: readonly (readonly [what: RegExp, to: string])[] = [
  [/<cbc:EndpointID[^>]*>\d+<\/cbc:EndpointID>/u, ""],
  [/<cbc:EndpointID schemeID="0245">/u, "<cbc:EndpointID>"],
  [/<cbc:EndpointID schemeID="0245">/u, '<cbc:EndpointID schemeID="9999">'],
  [/<cbc:StreetName>[^<]*<\/cbc:StreetName>/u, "$&<cac:AddressLine><cbc:Line>1</cbc:Line></cac:AddressLine>"],
  [/<cbc:IdentificationCode>SK/u, "<cbc:IdentificationCode>XQ"],
  [/<cac:Country>[\s\S]*?<\/cac:Country>/u, ""],
  [/<cac:PostalAddress>[\s\S]*?<\/cac:PostalAddress>/u, ""],
  [/<cac:PartyTaxScheme>[\s\S]*?<\/cac:PartyTaxScheme>/u, "$&$&$&"],
  [/<cac:PartyTaxScheme>[\s\S]*?<\/cac:PartyTaxScheme>/u, ""],
  [/<cbc:RegistrationName>[^<]*<\/cbc:RegistrationName>/u, ""],
  [/<cbc:CompanyID>\d+/u, '<cbc:CompanyID schemeID="0007">1'],
  [/<cac:PartyTaxScheme>/u, "<cac:Language>Slovak</cac:Language>$&"],
  [/<cac:Contact>[\s\S]*?<\/cac:Contact>/u, "<cac:Contact>Anna</cac:Contact>"],
  [/<cbc:ActualDeliveryDate>[^<]*/u, "<cbc:ActualDeliveryDate>2026-13-01"],
  [/<cbc:ActualDeliveryDate>[^<]*/u, "<cbc:ActualDeliveryDate>2026-11-01+01:00"],
  [/<cac:Delivery>/u, "$&<cbc:ID>D1</cbc:ID>"],
  [/<cbc:PaymentMeansCode>30/u, "<cbc:PaymentMeansCode>49"],
  [/<cbc:PaymentMeansCode>30/u, "<cbc:PaymentMeansCode>ABC"],
  [/<cac:PayeeFinancialAccount>[\s\S]*?<\/cac:PayeeFinancialAccount>/u, ""],
  [/<cbc:ID>SK31/u, "<cbc:ID>SK32"],
  [/<cac:TaxTotal>\s*<cbc:TaxAmount currencyID="EUR">/u, "$&9"],
  [/<cac:TaxSubtotal>[\s\S]*?<\/cac:TaxSubtotal>/u, ""],
  [/<cbc:TaxableAmount currencyID="EUR">/u, '<cbc:TaxableAmount currencyID="CZK">'],
  [/<cbc:TaxableAmount currencyID="EUR">/u, '<cbc:TaxableAmount currencyID="EUR">x'],
  [/<cac:TaxTotal>[\s\S]*<\/cac:TaxTotal>/u, "$&$&"],
  [/<cbc:TaxExclusiveAmount[^>]*>[^<]*<\/cbc:TaxExclusiveAmount>/u, ""],
  [/<cbc:PayableAmount currencyID="EUR">/u, "$&1"],
  [/<cbc:PayableAmount currencyID="EUR">[^<]*/u, '<cbc:PayableAmount currencyID="EUR">1.234'],
  [/<cbc:Note>/u, "<cbc:Note>#QQQ#"],
  [
    /<cac:OrderReference>[\s\S]*?<\/cac:OrderReference>/u,
    "<cac:OrderReference><cbc:SalesOrderID>1</cbc:SalesOrderID></cac:OrderReference>",
  ],
];

function linesKnown(xml: string): number {
  const scanned = scan(Buffer.from(xml));
  if (scanned.kind === "refused") return -1;
  const { document } = scanned;
  return formedBranches(document).elements.filter((e) => document.name(e) === cac.InvoiceLine).length;
}

describe("lines that repeat each other", () => {
  test("text where only elements may stand is refused each time, also where none of these elements is required", () => {
    const xml = changed([]).replace(/<cac:Contact>[\s\S]*?<\/cac:Contact>/u, "<cac:Contact>Anna</cac:Contact>");
    expect(verdict(changed([]))).toMatchObject({ valid: true });
    for (const time of ["first", "second", "third"])
      expect(verdict(xml), time).toEqual({
        valid: false,
        findings: [["UBL-GRAMMAR-TEXT", "error", expect.stringMatching(/Contact$/u), expect.any(Number)]],
      });
  });

  test("each change of a line is found the same, whether lines are judged together or one by one", () => {
    for (const [change, [what, to]] of CHANGES.entries()) {
      const xml = changed([
        [2, change],
        [3, change],
        [4, change],
      ]);
      expect(xml, what.source).not.toBe(changed([]));
      expect(verdict(xml), `${what.source} → ${to}`).toEqual(verdict(commented(xml)));
    }
  });

  test("each change of a party, a total or a payment is found the same, met for the first time or again", () => {
    for (const [what, to] of OTHER_CHANGES) {
      const xml = changed([]).replace(what, to);
      expect(xml, what.source).not.toBe(changed([]));
      const alone = verdict(commented(xml));
      for (const time of ["first", "second", "third"])
        expect(verdict(xml), `${what.source} → ${to}, ${time} time`).toEqual(alone);
    }
  });

  test("any number of changes in any lines is found the same, whether lines are judged together or one by one", () => {
    const change = fc.tuple(fc.nat(LINES - 1), fc.nat(CHANGES.length - 1));
    fc.assert(
      fc.property(fc.array(change, { maxLength: 8 }), (changes) => {
        const xml = changed(changes);
        expect(verdict(xml)).toEqual(verdict(commented(xml)));
      }),
      { seed: seedFrom(20261122), numRuns: 150 },
    );
  });

  test("a line is judged together with others when it has been met before, also in another document", () => {
    const xml = changed([]).replaceAll("cac:AdditionalItemProperty>", "cac:AdditionalItemProperty >");
    scan(Buffer.from(xml));
    expect(linesKnown(xml)).toBeGreaterThanOrEqual(LINES - 1);
    expect(linesKnown(xml)).toBe(LINES);
  });

  test.each([
    ["text beside elements", "<cac:Price>", "text<cac:Price>"],
    ["an empty element", /<cbc:Description>[^<]*/u, "<cbc:Description>"],
    ["a comment", "<cac:Price>", "<!-- --><cac:Price>"],
    ["a reference", "Shelf", "&#83;helf"],
    ["CDATA", /<cbc:Description>[^<]*/u, "<cbc:Description><![CDATA[x]]>"],
    ["an element that nobody knows", "<cac:Price>", '<x:A xmlns:x="urn:x">1</x:A><cac:Price>'],
    ["an attribute that nobody knows", "<cac:Price>", '<cac:Price stranger="1">'],
  ] as const)("lines with %s are judged one by one", (_, what, to) => {
    const xml = changed([]).replace(LINE, (line) => line.replace(what, to));
    linesKnown(xml);
    expect(linesKnown(xml)).toBe(0);
  });
});
