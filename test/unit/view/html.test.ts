/** Invoices as pages: official examples and long ones are true to the document, valid HTML, and nothing of them becomes markup. */
import { HtmlValidate } from "html-validate";
import { describe, expect, test } from "vitest";

import { LANGUAGES } from "../../../validators/report.js";
import { describeConformance } from "../../support/conformance.js";
import { amountsIn, asRead, drawn, exampleBytes, invoiceSaying, VIEW_EXAMPLES } from "../../support/documents/views.js";

const validator = new HtmlValidate({
  extends: ["html-validate:recommended"],
  rules: {
    // The page is written as HTML and as XML alike; one sheet of style stands in it so that it needs no other file.
    "void-style": "off",
    "no-inline-style": "off",
    "doctype-style": "off",
    "no-trailing-whitespace": "off",
    "long-title": "off",
  },
});
const faultsOf = async (html: string): Promise<readonly string[]> =>
  (await validator.validateString(html)).results.flatMap(({ messages }) =>
    messages.map(({ ruleId, message, line, column }) => `${line}:${column} ${ruleId}: ${message}`),
  );
const htmlOf = (bytes: Buffer, language: "en" | "sk"): string => drawn(bytes, language, "html").toString("utf8");

/** What a reader sees, without the markup. */
const textOf = (html: string): string =>
  html
    .replace(/<style>.*<\/style>/su, "")
    .replaceAll(/<[^>]*>/gu, " ")
    .replaceAll("&#39;", "'")
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");

const AMOUNTS = [
  "LineExtensionAmount",
  "TaxExclusiveAmount",
  "TaxInclusiveAmount",
  "PayableAmount",
  "TaxableAmount",
  "TaxAmount",
];

describeConformance("official examples as pages", "documents", () => {
  const cases = VIEW_EXAMPLES.flatMap(([name, ...path]) =>
    LANGUAGES.map((language) => [name, language, path] as const),
  );

  test.each(cases)("%s in %s is valid HTML", async (_, language, path) => {
    expect(await faultsOf(htmlOf(exampleBytes(path), language))).toEqual([]);
  });

  test.each(cases)("%s in %s shows each amount of the document to the last digit", (_, language, path) => {
    const xml = exampleBytes(path);
    const text = textOf(htmlOf(xml, language));
    const amounts = amountsIn(xml.toString("utf8").replaceAll(/<!--.*?-->/gsu, ""), ...AMOUNTS);
    expect(amounts.length).toBeGreaterThan(5);
    for (const amount of amounts) expect(text).toContain(asRead(amount, language));
  });

  test.each(cases)("%s in %s has no table of which two columns bear one name", (_, language, path) => {
    const tables = htmlOf(exampleBytes(path), language).match(/<thead>.*?<\/thead>/gsu) ?? [];
    const names = tables.map((head) => [...head.matchAll(/<th[^>]*>([^<]*)</gu)].map(([, name]) => name));
    expect(names.length).toBeGreaterThan(1);
    expect(names).toEqual(names.map((columns) => [...new Set(columns)]));
  });

  test("a kind of document has its name: self-billing says by whom, a credit note what it credits", () => {
    const of = (index: number, language: "en" | "sk"): string => {
      const [, ...path] = VIEW_EXAMPLES[index] ?? [""];
      return textOf(htmlOf(exampleBytes(path), language)).replaceAll(/\s+/gu, " ");
    };
    expect(of(2, "en")).toMatch(/Credit note .*Amount credited.*Earlier invoice/u);
    expect(of(2, "sk")).toMatch(/Dobropis .*Suma dobropisu/u);
    expect(of(7, "en")).toMatch(/Self-billed invoice .*Self-billing: issued by the buyer\./u);
    expect(of(7, "sk")).toMatch(/Faktúra vyhotovená odberateľom .*Vyhotovenie faktúry odberateľom\./u);
    expect(of(8, "sk")).toMatch(/Dobropis vyhotovený odberateľom .*Vyhotovenie dobropisu odberateľom\./u);
  });

  test("an invoice that says everything shows references, payee, representative, payments, notes and attachments", () => {
    const text = textOf(htmlOf(exampleBytes(["documents", "en16931", "Invoice-Max_content.xml"]), "en"));
    for (const said of [
      "Buyer reference", "20180117", "INK/0117/JM", "Preceding invoice no.1 of 31\u00a0Jan\u00a02018",
      "2017-123", "Project 99", "Despatch_advice Feb 01-07", "ABC123", "Finansiell Support u.p.a.",
      "Tax Administrators Inc.", "Deliver-to Name A.S.", "Godkänd för F-skatt",
      "SE12\u00a01234\u00a01234\u00a01234\u00a01234\u00a01234", "BANKSBIC", "1800355", "Document level Note",
      "testfilnamn.abc", "text/csv", "6\u00a0B", "not in the document: http://www.example.com/index.html",
      "VAT in EUR", "249.00\u00a0EUR", "B.E.Stallman@projekttjanst.se", "after a discount of 0.50", "Surface grade: A11",
    ]) expect(text).toContain(said);
  }); // oxfmt-ignore
});

describe("an invoice of three hundred lines", () => {
  const xml = invoiceSaying({}, 300);

  test.each(LANGUAGES)(
    "three hundred lines in %s are valid HTML, and each is shown with its amount",
    async (language) => {
      const html = htmlOf(xml, language);
      expect(await faultsOf(html)).toEqual([]);
      const text = textOf(html);
      for (const amount of amountsIn(xml.toString("utf8"), ...AMOUNTS, "PriceAmount"))
        expect(text).toContain(asRead(amount, language));
      for (let n = 1; n <= 300; n++) expect(text).toMatch(new RegExp(`Shelf ${n}\\b`, "u"));
    },
  );
});

describe("what strangers write", () => {
  const SCRIPT = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`;
  const ESCAPED = SCRIPT.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

  test("a script in every text of a document stays text", async () => {
    const elements = new Set(
      [
        ...invoiceSaying({})
          .toString("utf8")
          .matchAll(/<cbc:(\w+)(?: [^>]*)?>[^<]+<\/cbc:\1>/gu),
      ].map(([, name = ""]) => name),
    );
    expect(elements.size).toBeGreaterThan(25);
    for (const element of elements) {
      const html = htmlOf(invoiceSaying({ [element]: ESCAPED }), "en");
      expect([element, html.match(/<script|<img/u)]).toEqual([element, null]);
    }
    expect(await faultsOf(htmlOf(invoiceSaying({ Name: ESCAPED, ID: ESCAPED, Description: ESCAPED }), "sk"))).toEqual(
      [],
    );
  });

  test("a script in an attribute of a document stays text", () => {
    const xml = invoiceSaying({})
      .toString("utf8")
      .replaceAll(/(unitCode|schemeID|currencyID)="[^"]*"/gu, '$1="&quot;&gt;&lt;script&gt;"');
    expect(htmlOf(Buffer.from(xml), "en")).not.toMatch(/"><script>/u);
  });

  test("the page has one style and no script, and its own policy allows nothing else", () => {
    const html = htmlOf(invoiceSaying({}), "en");
    expect(html.match(/<style/gu)).toHaveLength(1);
    expect(html).not.toMatch(/<script|<link|<img|<iframe|<a | on[a-z]+=| style=/u);
    expect(html).toMatch(
      /http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; style-src &#39;sha256-/u,
    );
  });

  test("numbers and dates that are none are shown as they stand", () => {
    const text = textOf(htmlOf(invoiceSaying({ PayableAmount: "1e5", DueDate: "soon", InvoicedQuantity: "-" }), "sk"));
    for (const said of ["1e5", "soon"]) expect(text).toContain(said);
  });

  test.each([
    ["a payment reference", "PaymentID", "ref \u202e12345\u202c", "ref 12345"],
    ["an item", "Name", "\u2067A 1111 2222\u2069\u200f", "A 1111 2222"],
  ])("no sign of direction turns the digits of %s around: such signs are left out", (_, element, written, shown) => {
    const html = htmlOf(invoiceSaying({ [element]: written }), "en");
    expect(textOf(html)).toContain(shown);
    expect(html).not.toMatch(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u);
  });
});

describe("a page is whole, or says what it lacks", () => {
  const withElement = (before: string, xml: string): Buffer =>
    Buffer.from(invoiceSaying({}).toString("utf8").replace(before, `${xml}${before}`), "utf8");

  test("the file name of an attachment is read in the order of its letters", () => {
    const attached = `<cac:AdditionalDocumentReference><cbc:ID>A</cbc:ID><cac:Attachment><cbc:EmbeddedDocumentBinaryObject mimeCode="application/pdf" filename="invoice\u202efdp.exe">QUJD</cbc:EmbeddedDocumentBinaryObject></cac:Attachment></cac:AdditionalDocumentReference>`;
    expect(htmlOf(withElement("<cac:AccountingSupplierParty>", attached), "en")).toContain(">invoicefdp.exe<");
  });

  test("a note of ten thousand letters is shown to its end; a longer text than is shown has a mark where it is cut", () => {
    const words = Array.from({ length: 1_500 }, (_, n) => `word${n}`).join(" ");
    expect(textOf(htmlOf(invoiceSaying({ Note: words }), "en"))).toContain("word1499 ");
    expect(textOf(htmlOf(invoiceSaying({ Note: "x".repeat(100_000) }), "en"))).toMatch(/x \[…\]/u);
  });

  test.each(LANGUAGES)("entries beyond those that are shown are counted in %s", (language) => {
    const preceding = `<cac:BillingReference><cac:InvoiceDocumentReference><cbc:ID>P</cbc:ID></cac:InvoiceDocumentReference></cac:BillingReference>`;
    const text = textOf(htmlOf(withElement("<cac:AccountingSupplierParty>", preceding.repeat(213)), language));
    expect(text).toMatch(language === "en" ? /13 more entries/u : /Ďalších údajov, ktoré tu nie sú: 13/u);
    expect(textOf(htmlOf(withElement("<cac:AccountingSupplierParty>", preceding.repeat(200)), "en"))).not.toMatch(
      /more entries/u,
    );
  });

  test.each(["true", "1"])("what is added is no discount: an indicator of %s is a charge", (indicator) => {
    const charge = `<cac:AllowanceCharge><cbc:ChargeIndicator>${indicator}</cbc:ChargeIndicator><cbc:AllowanceChargeReason>Freight</cbc:AllowanceChargeReason><cbc:Amount currencyID="EUR">77.50</cbc:Amount></cac:AllowanceCharge>`;
    const text = textOf(htmlOf(withElement("<cac:TaxTotal>", charge), "en"));
    expect(text).toContain(" 77.50");
    expect(text).not.toContain("-77.50");
  });

  test("a line shows its classification, the country it comes from and the object that is invoiced", () => {
    const xml = invoiceSaying({})
      .toString("utf8")
      .replace(
        "<cac:ClassifiedTaxCategory>",
        '<cac:OriginCountry><cbc:IdentificationCode>CN</cbc:IdentificationCode></cac:OriginCountry><cac:CommodityClassification><cbc:ItemClassificationCode listID="HS">85171300</cbc:ItemClassificationCode></cac:CommodityClassification>$&',
      )
      .replace(
        "<cac:Item>",
        "<cac:DocumentReference><cbc:ID>METER-7</cbc:ID><cbc:DocumentTypeCode>130</cbc:DocumentTypeCode></cac:DocumentReference>$&",
      );
    const text = textOf(htmlOf(Buffer.from(xml), "en"));
    for (const said of ["Classification: 85171300 (HS)", "Country of origin: China", "Invoiced object: METER-7"])
      expect(text).toContain(said);
  });

  test("the day on which VAT becomes due is shown also where the document says it by a code", () => {
    const period = "<cac:InvoicePeriod><cbc:DescriptionCode>432</cbc:DescriptionCode></cac:InvoicePeriod>";
    const xml = invoiceSaying({})
      .toString("utf8")
      .replace(/<cac:InvoicePeriod>[^]*?<\/cac:InvoicePeriod>/u, "");
    const text = textOf(htmlOf(Buffer.from(xml.replace("<cac:OrderReference>", `${period}$&`)), "en"));
    expect(text).toMatch(/Tax point\s+Day of payment/u);
  });
});
