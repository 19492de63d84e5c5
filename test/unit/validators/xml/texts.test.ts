// Goal: every sentence that a finding can have is told in Slovak too, and a reader is led to the value that is wrong.
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { invoiceWithLines } from "../../../../bench/documents.js";
import { Lines } from "../../../../validators/lines.js";
import { adviceRules } from "../../../../validators/rules/advice/advice.js";
import { isMistypedIban } from "../../../../validators/rules/advice/iban.js";
import { en16931 } from "../../../../validators/rules/en16931/index.js";
import { invoiceResponseRules } from "../../../../validators/rules/invoice-response/invoice-response.js";
import { mlsRules } from "../../../../validators/rules/mls/mls.js";
import { peppolBilling, peppolSelfBilling } from "../../../../validators/rules/peppol/billing.js";
import { engineFinding } from "../../../../validators/rules/runner.js";
import { valueAt } from "../../../../validators/texts/details.js";
import { inLanguage } from "../../../../validators/texts/language.js";
import { sharperMessage } from "../../../../validators/texts/sharper.js";
import { validateDocument } from "../../../../validators/validate.js";
import { XML_FAULTS } from "../../../../validators/xml/faults.js";
import { SCAN_LIMITS } from "../../../../validators/xml/limits.js";
import { documentOf } from "../../../support/validators/packs.js";
import { seedFrom } from "../../../support/random.js";

const VALID = invoiceWithLines(1).toString();
const OPTIONS = { limits: SCAN_LIMITS, day: "2026-11-20" } as const;
const judge = (xml: string) => validateDocument(Buffer.from(xml), { ...OPTIONS, details: true });
const changed = (pattern: RegExp | string, by: string): string => {
  const text = VALID.replace(pattern, by);
  if (text === VALID) throw new Error(`${String(pattern)} is not in the sample`);
  return text;
};

/** Words of English that no Slovak sentence has. */
const ENGLISH = /\b(?:the|must|should|is not|may|needs|add|remove|this|with|where)\b/iu;

describe("Slovak", () => {
  const sets = [en16931(), peppolBilling(), peppolSelfBilling(), invoiceResponseRules(), mlsRules(), adviceRules()];
  test.each(sets.map((rules) => [rules.id, rules] as const))("every rule of %s has a Slovak sentence", (_, rules) => {
    const messages = [...new Set(rules.catalogue.map(({ message }) => message))];
    expect(messages.length).toBeGreaterThan(3);
    expect(messages.filter((message) => inLanguage(message, "sk") === message)).toEqual([]);
    expect(
      messages.map((message) => inLanguage(message, "sk")).filter((text) => ENGLISH.test(text) || !/\.$/u.test(text)),
    ).toEqual([]);
  });

  test("everything that the scanner refuses, and every dynamic error, has a Slovak sentence", () => {
    const messages = [
      ...Object.values(XML_FAULTS),
      ...["FORG0001", "XPTY0004", "FOAR0001", "FOCA0002"].flatMap((code) => [
        engineFinding(code).message,
        engineFinding(code, { ruleId: "BR-01" }).message,
      ]),
    ];
    expect(messages.filter((message) => inLanguage(message, "sk") === message)).toEqual([]);
    expect(messages.map((message) => inLanguage(message, "sk")).filter((text) => ENGLISH.test(text))).toEqual([]);
  });

  test.each([
    ["an unknown element", changed("<cbc:BuyerReference>", "<cbc:Unheard/><cbc:BuyerReference>")],
    ["an element that may be there once", changed(/(<cbc:IssueDate>.*<\/cbc:IssueDate>)/u, "$1$1")],
    [
      "an element in the wrong place",
      changed(/(<cbc:IssueDate>.*<\/cbc:IssueDate>\s*)(<cbc:DueDate>.*<\/cbc:DueDate>)/u, "$2$1"),
    ],
    ["a missing element", changed(/<cbc:IssueDate>.*<\/cbc:IssueDate>/u, "")],
    ["a wrong value", changed(/(<cbc:IssueDate>)[^<]*/u, "$120.11.2026")],
    ["a missing attribute", changed(/(<cbc:PayableAmount) currencyID="EUR"/u, "$1")],
    ["an unknown attribute", changed("<cbc:BuyerReference>", '<cbc:BuyerReference x="1">')],
    ["text between elements", changed("<cac:TaxScheme>", "<cac:TaxScheme>text")],
    ["the root in another namespace", changed("xsd:Invoice-2", "xsd:Invoice-3")],
    ["components in another namespace", changed("CommonBasicComponents-2", "CommonBasicComponents-1")],
    ["another document", '<Order xmlns="urn:example"/>'],
    [
      "no extension content",
      changed(
        "<cbc:CustomizationID>",
        '<ext:UBLExtensions xmlns:ext="urn:oasis:names:specification:ubl:schema:xsd:CommonExtensionComponents-2"><ext:UBLExtension><ext:ExtensionContent/></ext:UBLExtension></ext:UBLExtensions><cbc:CustomizationID>',
      ),
    ],
    [
      "an envelope",
      '<StandardBusinessDocument xmlns="http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader"/>',
    ],
  ])("what the schema says of %s is told in Slovak", (_, xml) => {
    const findings = validateDocument(Buffer.from(xml), { ...OPTIONS, language: "sk" }).findings;
    const english = judge(xml).findings;
    expect(findings.length).toBeGreaterThan(0);
    for (const [i, { message }] of findings.entries()) {
      expect(message).not.toBe(english[i]?.message);
      expect(message).not.toMatch(ENGLISH);
    }
  });

  test("parts stand where the Slovak sentence has them, also in another order", () => {
    expect(inLanguage("The X1 is not in ISO 1; use a code of that list.", "sk")).toBe(
      "Kód nie je v zozname ISO 1: X1; použite kód z tohto zoznamu.",
    );
  });

  test("a sentence that is not ours stays as it is", () => {
    expect(inLanguage("[XR-1] Eine fremde Regel.", "sk")).toBe("[XR-1] Eine fremde Regel.");
  });
});

describe("details", () => {
  test("a finding about a value shows it, shortened, with its attributes, line and column", () => {
    const [finding] = judge(changed(/unitCode="[^"]*"/u, `unitCode="${"P".repeat(200)}"`)).findings.filter(
      ({ ruleId }) => ruleId === "BR-CL-23",
    );
    expect(finding?.value).toMatch(/^\d+ \(unitCode P{80}…\)$/u);
    const line = VALID.split("\n").findIndex((text) => text.includes("<cbc:InvoicedQuantity")) + 1;
    const column = (VALID.split("\n")[line - 1] ?? "").indexOf("<cbc:InvoicedQuantity") + 1;
    expect(finding).toMatchObject({ line, column });
  });

  test("a finding about an attribute of 2 MB of words shows its beginning, and the rest is not looked at for that", () => {
    const document = changed(/unitCode="[^"]*"/u, `unitCode="${"P ".repeat(1_000_000)}"`);
    const replace = vi.spyOn(String.prototype, "replace");
    try {
      const { findings } = judge(document);
      const long = replace.mock.contexts.filter((text) => String(text).length > 100_000);
      expect(findings.find(({ ruleId }) => ruleId === "BR-CL-23")?.value).toMatch(/^\d+ \(unitCode (?:P ){40}…\)$/u);
      expect(long.length).toBe(0);
    } finally {
      replace.mockRestore();
    }
  });

  test("a finding about a sum shows the values that were compared", () => {
    const [finding] = judge(changed(/(<cbc:PayableAmount[^>]*>)[^<]*/u, "$11.00")).findings.filter(
      ({ ruleId }) => ruleId === "BR-CO-16",
    );
    expect(finding?.value).toMatch(/^BT-112 \d[\d.]*, .*BT-115 1\.00/u);
  });

  test("values are not in a report that nobody asked details of", () => {
    const { findings } = validateDocument(Buffer.from(changed(/(<cbc:PayableAmount[^>]*>)[^<]*/u, "$11.00")), OPTIONS);
    expect(findings.filter(({ value, column }) => value !== undefined || column !== undefined)).toEqual([]);
  });

  test("what EN 16931 does not use is shown where it stands, the second one where one is allowed", () => {
    const { findings } = judge(
      changed("<cbc:IssueDate>", "<cbc:UUID>1</cbc:UUID><cbc:IssueDate>").replace(
        "</cac:PaymentMeans>",
        "<cac:CardAccount><cbc:PrimaryAccountNumberID>1234</cbc:PrimaryAccountNumberID><cbc:NetworkID>V</cbc:NetworkID></cac:CardAccount></cac:PaymentMeans><cac:PaymentMeans><cbc:PaymentMeansCode>48</cbc:PaymentMeansCode><cac:CardAccount><cbc:PrimaryAccountNumberID>1234</cbc:PrimaryAccountNumberID><cbc:NetworkID>V</cbc:NetworkID></cac:CardAccount></cac:PaymentMeans>",
      ),
    );
    const at = (id: string) => findings.find(({ ruleId }) => ruleId === id)?.location;
    expect(at("UBL-CR-005")).toBe("/Invoice/cbc:UUID");
    expect(at("UBL-SR-54")).toBe("/Invoice/cac:PaymentMeans[2]/cac:CardAccount");
  });

  test("a value that a rule cannot read is shown at its own element", () => {
    const [finding] = judge(changed(/(<cbc:TaxableAmount[^>]*>)[^<]*/u, "$112,50")).findings.filter(({ ruleId }) =>
      ruleId.startsWith("!"),
    );
    expect(finding?.location).toBe("/Invoice/cac:TaxTotal/cac:TaxSubtotal/cbc:TaxableAmount");
    expect(finding?.value).toMatch(/^12,50/u);
    expect(finding?.message).toMatch(/^The rule [A-Z0-9-]+ about/u);
  });

  test("381 in an Invoice says what to send instead", () => {
    const [finding] = judge(changed(/(<cbc:InvoiceTypeCode[^>]*>)[^<]*/u, "$1381")).findings;
    expect(finding?.message).toMatch(/Send a CreditNote, or write 380/u);
  });

  test("381 in a CreditNote is what it should be", () => {
    const text =
      '<CreditNote xmlns="urn:oasis:names:specification:ubl:schema:xsd:CreditNote-2"><c:CreditNoteTypeCode xmlns:c="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">381</c:CreditNoteTypeCode></CreditNote>';
    expect(sharperMessage(documentOf(Buffer.from(text)), 1, "BR-CL-01")).toBeUndefined();
  });

  test("a value over several lines is shown in one, and of many terms the first four", () => {
    const document = documentOf(Buffer.from(changed(/(<cbc:BuyerReference>)[^<]*/u, "$1 one\n\t two ")));
    expect(valueAt(document, 0, ["BT-10"])).toBe("BT-10 one two");
    const terms = valueAt(document, 0, ["BT-1", "BT-2", "BT-5", "BT-10", "BT-24"])?.match(/BT-\d+/gu);
    expect(terms).toEqual(["BT-1", "BT-2", "BT-5", "BT-10"]);
  });

  test("findings that are cut are counted by rule", () => {
    const lines = invoiceWithLines(20)
      .toString()
      .replace(/<cbc:InvoicedQuantity[^>]*>[^<]*<\/cbc:InvoicedQuantity>/gu, "");
    const report = validateDocument(Buffer.from(lines), { ...OPTIONS, limits: { ...SCAN_LIMITS, findings: 30 } });
    const omitted = Object.values(report.omitted ?? {}).reduce((sum, count) => sum + count, 0);
    expect(report.dropped).toBeGreaterThan(0);
    expect(omitted).toBe(report.dropped);
    expect(Object.keys(report.omitted ?? {})).toContain("BR-22");
  });
});

describe("advice", () => {
  test.each(["-0", "-0.00", " -0.0 ", "-.0"])(
    "a price of %s is valid, and a warning says that others refuse it",
    (price) => {
      const { valid, findings } = judge(
        changed(/(<cbc:PriceAmount[^>]*>)[^<]*/u, `$1${price}`)
          .replace(/(<cbc:LineExtensionAmount[^>]*>)[^<]*/gu, "$10.00")
          .replace(
            /(<cbc:(?:Amount|BaseAmount|AllowanceTotalAmount|TaxableAmount|TaxAmount|TaxExclusiveAmount|TaxInclusiveAmount|PayableAmount)[^>]*>)[^<]*/gu,
            "$10.00",
          ),
      );
      expect(findings.map(({ ruleId, layer, severity }) => [ruleId, layer, severity])).toEqual([
        ["ADVICE-PRICE-MINUS-ZERO", "advice", "warning"],
      ]);
      expect(valid).toBe(true);
    },
  );

  test("an IBAN with a digit too wrong is a warning, another account is none", () => {
    const withAccount = (id: string) =>
      judge(VALID.replace(/(<cac:PayeeFinancialAccount>\s*<cbc:ID>)[^<]*/u, `$1${id}`));
    expect(withAccount("SK3112000000198742637541").findings).toEqual([]);
    expect(withAccount("SK3112000000198742637542")).toMatchObject({
      valid: true,
      findings: [{ ruleId: "ADVICE-IBAN", layer: "advice", severity: "warning", btIds: ["BT-84"] }],
    });
    expect(withAccount("SK31 1200 0000 1987 4263 7542").findings).toMatchObject([{ ruleId: "ADVICE-IBAN" }]);
    expect(withAccount("IBAN32423940").findings).toEqual([]);
    expect(withAccount("0200 1234 5678").findings).toEqual([]);
  });

  test.each([
    [
      "ADVICE-IBAN-DEBITED",
      "</cac:PaymentMeans>",
      "<cac:PaymentMandate><cac:PayerFinancialAccount><cbc:ID>SK3112000000198742637542</cbc:ID></cac:PayerFinancialAccount></cac:PaymentMandate></cac:PaymentMeans>",
    ],
    [
      "ADVICE-GROSS-MINUS-ZERO",
      "</cac:Price>",
      '<cac:AllowanceCharge><cbc:ChargeIndicator>false</cbc:ChargeIndicator><cbc:Amount currencyID="EUR">0</cbc:Amount><cbc:BaseAmount currencyID="EUR">-0.00</cbc:BaseAmount></cac:AllowanceCharge></cac:Price>',
    ],
  ])("%s warns of an account to be debited, and of a price before its discount, as of the others", (id, end, by) => {
    const advice = judge(changed(end, by)).findings.filter(({ layer }) => layer === "advice");
    expect(advice).toMatchObject([{ ruleId: id, severity: "warning" }]);
  });

  test.each([
    ["DE89370400440532013000", false],
    ["DE89 3704 0044 0532 0130 00", false],
    ["DE89370400440532013001", true],
    ["DE8937040044053201300", false],
    ["XX89370400440532013001", false],
    ["de89370400440532013001", false],
  ])("%s is a mistyped IBAN: %s", (text, is) => {
    expect(isMistypedIban(text)).toBe(is);
  });
});

describe("lines and columns", () => {
  test.each([
    ["a\nb", 2, 2, 1],
    ["a\r\nbc", 4, 2, 2],
    ["a\rb\n\nc", 5, 4, 1],
    ["\u00e9\ud83d\ude00x", 6, 1, 4],
    ["", 0, 1, 1],
  ])("in %j the octet %i stands in line %i, column %i", (text, offset, line, column) => {
    expect(new Lines(Buffer.from(text)).positionAt(offset)).toEqual({ line, column });
  });

  test("a line that begins many blocks before is found, as is one whose end is cut by a block", () => {
    const text = `${"x".repeat(4_095)}\r\n${"é".repeat(10_000)}z`;
    const bytes = Buffer.from(text);
    expect(new Lines(bytes).positionAt(bytes.length - 1)).toEqual({ line: 2, column: 10_001 });
    expect(new Lines(bytes).positionAt(4_097)).toEqual({ line: 2, column: 1 });
    expect(new Lines(Buffer.from("y".repeat(20_000))).positionAt(19_999)).toEqual({ line: 1, column: 20_000 });
  });

  test("places asked for in any order are those that counting from the start gives", () => {
    const piece = fc.constantFrom("\n", "\r", "\r\n", "\t", "a", "abcdefgh", "é", "😀", "x".repeat(4_090));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.array(fc.nat(), { maxLength: 20 }), (pieces, places) => {
        const text = pieces.join("");
        const bytes = Buffer.from(text);
        const lines = new Lines(bytes);
        for (const place of places) {
          const before = [...text].slice(0, place % ([...text].length + 1)).join("");
          // A place between the two characters of one line end counts as the new line.
          const started = before.split(/\r\n|\r|\n/u);
          const column = 1 + (started.at(-1)?.length ?? 0);
          expect(lines.positionAt(Buffer.byteLength(before))).toEqual({ line: started.length, column });
        }
      }),
      { seed: seedFrom(20_261_122), numRuns: 200 },
    );
  });
});
