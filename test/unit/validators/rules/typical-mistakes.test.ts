/**
 * The mistakes that people make, and what they are told. Each row changes a valid invoice in one way; the finding must have
 * the rule that names the cause, a place, and a sentence that says what to do.
 */
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { invoiceWithLines } from "../../../../bench/documents.js";
import { validateDocument } from "../../../../validators/validate.js";
import { SCAN_LIMITS } from "../../../../validators/xml/limits.js";

const VALID = invoiceWithLines(1).toString();
const OPTIONS = { limits: SCAN_LIMITS, day: "2026-11-20" } as const;

/** Changes the text once; a row that changes nothing is a mistake of the table. */
const change =
  (pattern: string | RegExp, by: string) =>
  (text: string): string => {
    const changed = text.replace(pattern, by);
    if (changed === text) throw new Error(`${String(pattern)} is not in the sample`);
    return changed;
  };
const without = (element: string): ((text: string) => string) =>
  change(new RegExp(`<${element}(?: [^>]*)?>[\\s\\S]*?</${element}>`, "u"), "");
const value = (element: string, text: string): ((text: string) => string) =>
  change(new RegExp(`(<${element}(?: [^>]*)?>)[^<]*`, "u"), `$1${text}`);

type Row = readonly [mistake: string, make: (text: string) => string | Buffer, ruleId: string, told: RegExp];

const MISTAKES: readonly Row[] = [
  ["nothing at all", () => "", "XML-EMPTY", /Send the XML document/u],
  ["a PDF", () => "%PDF-1.7 …", "XML-IS-PDF", /is a PDF\. Send the UBL XML/u],
  ["a compressed document", (text) => gzipSync(text), "XML-IS-GZIP", /gzip\. Send the XML document uncompressed/u],
  ["an archive", () => Buffer.from("PK\u0003\u0004rest"), "XML-IS-ZIP", /ZIP archive/u],
  ["JSON", () => '{"invoice": 1}', "XML-IS-JSON", /is JSON/u],
  [
    "Latin-1 text",
    (text) => Buffer.from(text, "latin1"),
    "XML-UTF8",
    /From this line on .* Encode the document in UTF-8/u,
  ],
  ["UTF-16", (text) => Buffer.from(text, "utf16le"), "XML-ENCODING", /UTF-8/u],
  ["another encoding declared", change('encoding="UTF-8"', 'encoding="windows-1250"'), "XML-ENCODING", /UTF-8/u],
  ["an end that is missing", (text) => text.slice(0, -40), "XML-TRUNCATED", /Send all of it/u],
  [
    "an end tag that is wrong",
    change("</cbc:ID>", "</cbc:Id>"),
    "XML-END-TAG",
    /does not match .* exactly as in the start tag/u,
  ],
  [
    "an ampersand that is not escaped",
    value("cbc:StreetName", "A & B"),
    "XML-REFERENCE",
    /Write &amp; where the character itself is meant/u,
  ],
  [
    "a prefix that is not declared",
    change("<cbc:ID>", "<cbx:ID/><cbc:ID>"),
    "XML-PREFIX",
    /Declare it with xmlns:prefix, or correct its spelling/u,
  ],
  ["a DOCTYPE", change("<Invoice", "<!DOCTYPE Invoice><Invoice"), "XML-DOCTYPE", /Remove the DOCTYPE/u],
  ["text before the declaration", (text) => ` ${text}`, "XML-DECLARATION", /first thing/u],
  [
    "a Cross Industry Invoice",
    () => '<a:CrossIndustryInvoice xmlns:a="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100"/>',
    "UBL-ROOT",
    /CII.*Convert it to a UBL 2\.1 Invoice/u,
  ],
  [
    "an envelope of the network",
    () => '<StandardBusinessDocument xmlns="http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader"/>',
    "UBL-ROOT",
    /without the envelope/u,
  ],
  [
    "an order",
    () => '<Order xmlns="urn:oasis:names:specification:ubl:schema:xsd:Order-2"/>',
    "UBL-ROOT",
    /Invoice, CreditNote or/u,
  ],
  [
    "the root in another namespace",
    change("xsd:Invoice-2", "xsd:Invoice-3"),
    "UBL-ROOT",
    /xsd:Invoice-3; UBL 2\.1 has it in urn:oasis:names:specification:ubl:schema:xsd:Invoice-2/u,
  ],
  [
    "the basic components in another namespace",
    change("CommonBasicComponents-2", "CommonBasicComponents-1"),
    "UBL-NAMESPACE",
    /CommonBasicComponents-1; UBL 2\.1 has it in .*CommonBasicComponents-2/u,
  ],
  [
    "the aggregate components in another namespace",
    change("CommonAggregateComponents-2", "CommonAggregateComponents-1"),
    "UBL-NAMESPACE",
    /CommonAggregateComponents-1; UBL 2\.1 has it in .*CommonAggregateComponents-2/u,
  ],
  [
    "an element that does not exist",
    change("<cbc:BuyerReference>", "<cbc:Unheard>1</cbc:Unheard><cbc:BuyerReference>"),
    "UBL-GRAMMAR-UNEXPECTED",
    /Remove it, or use one of these/u,
  ],
  [
    "an element in the wrong place",
    change(/(<cbc:IssueDate>.*<\/cbc:IssueDate>\s*)(<cbc:DueDate>.*<\/cbc:DueDate>)/u, "$2$1"),
    "UBL-GRAMMAR-ORDER",
    /Move it/u,
  ],
  ["an element twice", change(/(<cbc:IssueDate>.*<\/cbc:IssueDate>)/u, "$1$1"), "UBL-GRAMMAR-REPEATED", /Keep one/u],
  ["no issue date", without("cbc:IssueDate"), "UBL-GRAMMAR-MISSING", /lacks cbc:IssueDate\. Add it/u],
  ["a date with dots", value("cbc:IssueDate", "20.11.2026"), "UBL-GRAMMAR-VALUE", /YYYY-MM-DD/u],
  ["a decimal comma", value("cbc:PayableAmount", "12,50"), "UBL-GRAMMAR-VALUE", /12\.50/u],
  [
    "a value that a rule cannot read",
    value("cbc:TaxableAmount", "12,50"),
    "!err:FORG0001",
    /cannot be evaluated: .* no number/u,
  ],
  [
    "an amount without currency",
    change(/(<cbc:PayableAmount) currencyID="EUR"/u, "$1"),
    "UBL-GRAMMAR-ATTRIBUTE-MISSING",
    /currencyID\. Add it/u,
  ],
  ["an empty element", value("cbc:BuyerReference", ""), "PEPPOL-EN16931-R008", /Give it a value or leave it out/u],
  ["no specification", without("cbc:CustomizationID"), "BR-01", /add cbc:CustomizationID/u],
  [
    "another specification",
    value("cbc:CustomizationID", "urn:example"),
    "PEPPOL-EN16931-R004",
    /Write urn:cen\.eu:en16931:2017#compliant/u,
  ],
  [
    "another process",
    value("cbc:ProfileID", "urn:example"),
    "PEPPOL-EN16931-R007",
    /Write urn:fdc:peppol\.eu:2017:poacc:billing:01:1\.0/u,
  ],
  ["a type code that is none", value("cbc:InvoiceTypeCode", "999"), "BR-CL-01", /380/u],
  [
    "a credit note as an Invoice",
    value("cbc:InvoiceTypeCode", "381"),
    "PEPPOL-EN16931-P0100",
    /Send a CreditNote, or write 380/u,
  ],
  [
    "a currency that is none",
    value("cbc:DocumentCurrencyCode", "EURO"),
    "BR-CL-04",
    /ISO 4217; use a code of that list, such as EUR/u,
  ],
  [
    "a country that is none",
    value("cbc:IdentificationCode", "SVK"),
    "BR-CL-14",
    /ISO 3166-1; use a code of that list, such as SK/u,
  ],
  ["a total that is not the sum", value("cbc:TaxInclusiveAmount", "1.00"), "BR-CO-15", /recalculate/u],
  ["an amount due that is not the rest", value("cbc:PayableAmount", "1.00"), "BR-CO-16", /recalculate/u],
  ["no seller name", without("cbc:RegistrationName"), "BR-06", /add cac:PartyLegalEntity/u],
  [
    "no buyer reference and no order",
    (text) => without("cac:OrderReference")(without("cbc:BuyerReference")(text)),
    "PEPPOL-EN16931-R003",
    /Add one of them/u,
  ],
  ["no electronic address", without("cbc:EndpointID"), "PEPPOL-EN16931-R020", /Add cbc:EndpointID to the seller/u],
  [
    "a unit that is none",
    change(/unitCode="[^"]*"/u, 'unitCode="PIECE"'),
    "BR-CL-23",
    /use a code of that list, such as C62/u,
  ],
];

describe("a typical mistake is named, with its place and what to do", () => {
  test.each(MISTAKES)("the mistake is told for what it is: %s", (_, make, ruleId, told) => {
    const { valid, findings } = validateDocument(Buffer.from(make(VALID)), OPTIONS);
    const found = findings.find((finding) => finding.ruleId === ruleId);
    expect(findings.map((finding) => finding.ruleId)).toContain(ruleId);
    expect(found?.message).toMatch(told);
    expect(found?.message).toMatch(/^(?:[A-Z]|c[ab]c:).*\.$/u);
    expect(found?.line).toBeGreaterThan(0);
    expect(found?.location).toMatch(/^\//u);
    expect(valid).toBe(false);
  });

  test("wrong namespaces are one finding each, not one for every element", () => {
    const wrong = change("CommonBasicComponents-2", "CommonBasicComponents-1")(VALID);
    expect(validateDocument(Buffer.from(wrong), OPTIONS).findings.map(({ ruleId }) => ruleId)).toEqual([
      "UBL-NAMESPACE",
    ]);
  });

  test("the line of Latin-1 text is that of the first octet that is wrong", () => {
    const line = VALID.split("\n").findIndex((text) => /[^\u0000-\u007f]/u.test(text)) + 1;
    expect(validateDocument(Buffer.from(VALID, "latin1"), OPTIONS).findings[0]?.line).toBe(line);
  });

  test("a value that a rule cannot read is named by its element and the rule", () => {
    const [found] = validateDocument(Buffer.from(value("cbc:TaxableAmount", "12,50")(VALID)), OPTIONS).findings.filter(
      ({ ruleId }) => ruleId.startsWith("!"),
    );
    expect(found?.location).not.toBe("/Invoice");
    expect(found?.message).toMatch(/^The rule [A-Z0-9-]+ about this element cannot be evaluated/u);
  });
});
