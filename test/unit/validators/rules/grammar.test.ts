/** The schema layer's findings as a sender reads them, and the tables as they are generated. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { invoiceWithLines } from "../../../../bench/documents.js";
import { checkGrammar } from "../../../../validators/ubl/check.js";
import { generateGrammar } from "../../../../validators/ubl/generate.js";
import { VALUE_CHECKS } from "../../../../validators/ubl/values.js";
import type { ValueBase } from "../../../../validators/ubl/values.js";
import { SCAN_LIMITS, Scanner } from "../../../../validators/xml/scanner.js";
import { conformance, describeConformance } from "../../../support/conformance.js";

const scanner = new Scanner();
const invoice = invoiceWithLines(2).toString();

/** Findings as "RULE location: message", for the sample invoice after a replacement. */
function findings(from: string | RegExp, to: string): string[] {
  const changed = invoice.replace(from, to);
  expect(changed).not.toBe(invoice);
  const scanned = scanner.scan(Buffer.from(changed), SCAN_LIMITS);
  if (scanned.kind !== "document") throw new Error(JSON.stringify(scanned.findings));
  const { document } = scanned;
  return checkGrammar(document, 100).findings.map(
    ({ ruleId, element, message }) => `${ruleId} ${document.path(element)}: ${message}`,
  );
}

describe("one damage, one finding that says what to do", () => {
  test.each([
    [
      "a misplaced element is told where it belongs",
      /(<cbc:ID>K-2<\/cbc:ID>)([^]*?)(<cbc:DueDate>[^<]*<\/cbc:DueDate>)/,
      "$3$1$2",
      "UBL-GRAMMAR-ORDER /Invoice/cbc:DueDate: cbc:DueDate is in the wrong place in Invoice. Move it behind cbc:IssueDate and before cbc:InvoiceTypeCode.",
    ],
    [
      "a late element at the very beginning is one fault, not one for each that follows",
      /(<cbc:CustomizationID>)/,
      '<cac:TaxTotal><cbc:TaxAmount currencyID="EUR">1</cbc:TaxAmount></cac:TaxTotal>$1',
      "UBL-GRAMMAR-ORDER /Invoice/cac:TaxTotal[1]: cac:TaxTotal is in the wrong place in Invoice. Move it behind cac:TaxTotal and before cac:LegalMonetaryTotal.",
    ],
    [
      "a missing element is named with its place",
      /<cbc:IssueDate>[^<]*<\/cbc:IssueDate>/,
      "",
      "UBL-GRAMMAR-MISSING /Invoice: Invoice lacks cbc:IssueDate. Add it behind cbc:ID.",
    ],
    [
      "a missing first element",
      /<cbc:ID>1<\/cbc:ID>\s*(<cbc:InvoicedQ)/,
      "$1",
      "UBL-GRAMMAR-MISSING /Invoice/cac:InvoiceLine[1]: cac:InvoiceLine lacks cbc:ID. Add it as its first element.",
    ],
    [
      "an element that occurs twice",
      /(<cbc:DueDate>[^<]*<\/cbc:DueDate>)/,
      "$1$1",
      "UBL-GRAMMAR-REPEATED /Invoice/cbc:DueDate[2]: cbc:DueDate must occur only once in Invoice. Keep one of them.",
    ],
    [
      "an element that is not allowed, with what is",
      "<cac:Item>",
      "<cbc:Colour>red</cbc:Colour><cac:Item>",
      "UBL-GRAMMAR-UNEXPECTED /Invoice/cac:InvoiceLine[1]/cbc:Colour: cbc:Colour is not allowed in cac:InvoiceLine. Remove it, or use one of these here: cac:AllowanceCharge, cac:TaxTotal, cac:WithholdingTaxTotal, cac:Item.",
    ],
    [
      "an element inside a value",
      "<cbc:DueDate>2026-11-20</cbc:DueDate>",
      "<cbc:DueDate><cbc:ID>1</cbc:ID></cbc:DueDate>",
      "UBL-GRAMMAR-UNEXPECTED /Invoice/cbc:DueDate: cbc:DueDate must hold a value only. Remove the elements inside it.",
    ],
    [
      "text between elements",
      "<cac:Item>",
      "<cac:Item>shelf",
      "UBL-GRAMMAR-TEXT /Invoice/cac:InvoiceLine[1]/cac:Item: cac:Item must hold elements only. Remove the text between them.",
    ],
    [
      "an impossible date",
      "<cbc:DueDate>2026-11-20<",
      "<cbc:DueDate>2026-02-30<",
      "UBL-GRAMMAR-VALUE /Invoice/cbc:DueDate: The value of cbc:DueDate is not valid. Write a calendar date as YYYY-MM-DD.",
    ],
    [
      "an exponent",
      /(<cbc:PayableAmount[^>]*>)[^<]*/,
      "$11e999999",
      "UBL-GRAMMAR-VALUE /Invoice/cac:LegalMonetaryTotal/cbc:PayableAmount: The value of cbc:PayableAmount is not valid. Write a decimal number such as 12.50, without exponent and without separators.",
    ],
    [
      "a missing currency",
      /<cbc:PayableAmount currencyID="EUR">/,
      "<cbc:PayableAmount>",
      "UBL-GRAMMAR-ATTRIBUTE-MISSING /Invoice/cac:LegalMonetaryTotal/cbc:PayableAmount: cbc:PayableAmount lacks the attribute currencyID. Add it.",
    ],
    [
      "an attribute that has no place",
      "<cbc:DueDate>",
      '<cbc:DueDate format="iso">',
      "UBL-GRAMMAR-ATTRIBUTE /Invoice/cbc:DueDate: cbc:DueDate must not have the attribute format. Remove it.",
    ],
    [
      "an attribute with a wrong value",
      "<cbc:Name>Shelf 1",
      '<cbc:Name languageID="slovak language">Shelf 1',
      "UBL-GRAMMAR-ATTRIBUTE-VALUE /Invoice/cac:InvoiceLine[1]/cac:Item/cbc:Name: Attribute languageID is not valid. Write a language code such as sk or en-GB.",
    ],
    [
      "xsi:nil",
      "<cbc:DueDate>",
      '<cbc:DueDate xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="false">',
      "UBL-GRAMMAR-NIL /Invoice/cbc:DueDate: cbc:DueDate must not have xsi:nil. Remove the attribute, and the element if it is empty.",
    ],
    [
      "another type by xsi:type",
      "<cbc:DueDate>",
      '<cbc:DueDate xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="cbc:IDType">',
      "UBL-GRAMMAR-TYPE /Invoice/cbc:DueDate: xsi:type of cbc:DueDate is not its UBL type. Remove the attribute.",
    ],
  ] as const)("a damage has one finding that says what to do: %s", (_, from, to, finding) => {
    expect(findings(from, to)).toEqual([finding]);
  });

  test.each([" cbc:DueDateType", "cbc:DueDateType&#9;", "\n cbc:DueDateType\r\n "])(
    "an element may name its own type with white space around the name: %j",
    (type) => {
      const named = (written: string): string[] =>
        findings(
          "<cbc:DueDate>",
          `<cbc:DueDate xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="${written}">`,
        );
      expect(named(type)).toEqual([]);
      // No white space of XML, and none that may stand inside a name.
      for (const other of ["\u00a0cbc:DueDateType", "cbc: DueDateType", "cbc :DueDateType"])
        expect(named(other)).toHaveLength(1);
    },
  );

  test("an element of another namespace is written as the document writes it, and what it contains is not judged", () => {
    expect(
      findings("<cac:Item>", '<q:Extra xmlns:q="urn:q"><cbc:DueDate>soon</cbc:DueDate></q:Extra><cac:Item>'),
    ).toEqual([
      expect.stringMatching(
        /^UBL-GRAMMAR-UNEXPECTED \/Invoice\/cac:InvoiceLine\[1\]\/q:Extra: q:Extra is not allowed in cac:InvoiceLine\./,
      ),
    ]);
  });

  test("findings come in document order and their number is bounded; the rest is counted", () => {
    const many = invoiceWithLines(50).toString().replaceAll("<cbc:LineID>", '<cbc:LineID x="1">');
    const scanned = scanner.scan(Buffer.from(many), SCAN_LIMITS);
    if (scanned.kind !== "document") throw new Error("refused");
    const { findings: kept, dropped } = checkGrammar(scanned.document, 20);
    expect([kept.length, dropped]).toEqual([20, 30]);
    expect(kept.map(({ element }) => element)).toEqual(kept.map(({ element }) => element).sort((a, b) => a - b));
  });

  test("messages never quote the document's values", () => {
    const secret = "ZZ_SECRET_ZZ";
    const texts = [
      ...findings(/(<cbc:PayableAmount[^>]*>)[^<]*/, `$1${secret}`),
      ...findings("<cac:Item>", `<cac:Item>${secret}`),
      ...findings("<cbc:Name>Shelf 1", `<cbc:Name languageID="${secret}">Shelf 1`),
    ];
    expect(texts).toHaveLength(3);
    expect(texts.join("\n")).not.toContain(secret);
  });
});

describe("values", () => {
  const valid = (base: ValueBase, value: string): boolean =>
    VALUE_CHECKS[base](Buffer.from(`<${value}>`), 1, 1 + Buffer.byteLength(value));

  test.each<[ValueBase, readonly string[], readonly string[]]>([
    [
      "decimal",
      ["0", "-0", "+1", "1.", ".5", " 12.50\n", "9".repeat(400), "0.".padEnd(400, "1")],
      ["", " ", ".", "-", "1e3", "1e999999", "1,5", "NaN", "INF", "1 2", "--1", "0x1", "١"],
    ],
    [
      "date",
      [
        "2026-11-20",
        "2024-02-29",
        "2000-02-29",
        "2026-01-01Z",
        "2026-01-01+14:00",
        "2026-01-01-13:59",
        "-0044-03-15",
        "12026-01-01",
        " 2026-01-01",
        "2026-01-01\n",
      ],
      [
        "",
        "2026-02-30",
        "2023-02-29",
        "1900-02-29",
        "2026-13-01",
        "2026-00-10",
        "2026-1-1",
        "20261120",
        "2026-01-01T00:00:00",
        "2026-01-01+14:01",
        "2026-01-01+1",
        "0000-01-01",
        "+2026-01-01",
        "02026-01-01",
        "2026-01-32",
        "2026-01-0",
        "9999999999-01-01",
      ],
    ],
    [
      "time",
      ["12:00:00", "24:00:00", "23:59:59.999", "12:00:00Z", "12:00:00-05:00", " 12:00:00", "12:00:00 "],
      ["", "12:00", "24:00:01", "24:00:00.5", "25:00:00", "12:60:00", "12:00:60", "12:00:00.", "1:00:00"],
    ],
    [
      "dateTime",
      ["2026-01-01T12:00:00", "2026-01-01T24:00:00Z"],
      ["2026-01-01", "2026-01-01 12:00:00", "2026-01-01T12:00", "2026-02-30T12:00:00"],
    ],
    ["boolean", ["true", "false", "1", "0", " true "], ["", "TRUE", "yes", "01", " ".repeat(1_000)]],
    [
      "base64Binary",
      ["", "QUJD", "QUI=", "QQ==", " Q U J D\n", "Q Q = ="],
      ["Q", "QQ", "QQ=", "QUI", "QR==", "QUJ=", "Q===", "====", "QQ==QQ=="],
    ],
    ["language", ["sk", "en-GB", "i-klingon", " en "], ["", "e1", "en_GB", "abcdefghi", "en-", "slovenčina"]],
    [
      "anyURI",
      ["", "http://a/b?c#d", "a b", "#f", "urn:x:y", "http://[::1]:80/"],
      ["%zz", "::", "http://[", "http://a:port", "#a#b"],
    ],
  ])("values are taken and refused as the schemas say: %s", (base, accepted, refused) => {
    expect(accepted.filter((value) => !valid(base, value))).toEqual([]);
    expect(refused.filter((value) => valid(base, value))).toEqual([]);
  });
});

describeConformance("the committed tables", "ubl-2.1-xsd", () => {
  test("the committed tables are what the generator makes of the official schemas", () => {
    const { names, grammar } = generateGrammar(conformance("ubl-2.1-xsd"));
    const committed = (file: string): string =>
      readFileSync(fileURLToPath(new URL(`../../../../validators/ubl/${file}`, import.meta.url)), "utf8");
    expect(committed("names.generated.ts")).toBe(names);
    expect(committed("grammar.generated.ts")).toBe(grammar);
  });
});
