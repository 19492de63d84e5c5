/** The builder of UBL from an invoice as JSON, member by member. @source spec/shapes.md, section 6 */
import { describe, expect, test } from "vitest";
import { buildInvoice } from "../../../../engine/invoices/build.js";
import { validateDocument } from "../../../../validators/validate.js";
import { SCAN_LIMITS } from "../../../../validators/xml/limits.js";
import { JSON_INVOICE, OWN_FIRM } from "../../../support/documents/json-invoices.js";

const ITEM = { description: "Papier A4", quantity: 1, unit: "ks", unitPrice: "23.90", vatRate: 23 };
const build = (change: object, own: Parameters<typeof buildInvoice>[1] = OWN_FIRM) => {
  const { ubl, problems } = buildInvoice({ ...JSON_INVOICE, ...change }, own);
  const findings = ubl && validateDocument(ubl, { limits: SCAN_LIMITS, day: "2026-11-20" }).findings;
  return { xml: ubl?.toString() ?? "", findings, problems: problems.map(({ field, ruleId }) => `${field} ${ruleId}`) };
};

describe("an invoice as JSON becomes UBL", () => {
  test("one of 999 lines passes every rule", () => {
    const { xml, findings } = build({ items: Array.from({ length: 999 }, () => ITEM) });
    expect([findings, xml.match(/<cac:InvoiceLine>/gu)?.length]).toEqual([[], 999]);
  });

  test("a text may have 4,000 characters, each counted once, also those that are two units of UTF-16", () => {
    const [fits, long] = ["😀".repeat(4_000), "😀".repeat(4_001)];
    expect(build({ note: fits, items: [{ ...ITEM, description: fits }] }).problems).toEqual([]);
    expect(build({ note: long, items: [{ ...ITEM, description: "x".repeat(4_001) }] }).problems.sort()).toEqual([
      "items[0].description JSON-TEXT",
      "note JSON-TEXT",
    ]);
  });

  test("a half of a cent is rounded away from zero, once for each amount", () => {
    const { xml } = build({ items: [{ ...ITEM, quantity: "0.5", unitPrice: "0.25" }] });
    expect(xml).toContain('<cbc:LineExtensionAmount currencyID="EUR">0.13</cbc:LineExtensionAmount>');
    const { xml: returned } = build({ items: [{ ...ITEM, quantity: "-0.5", unitPrice: "0.25" }] });
    expect(returned).toContain('<cbc:LineExtensionAmount currencyID="EUR">-0.13</cbc:LineExtensionAmount>');
  });

  test("prepayments are subtracted, and their invoices named", () => {
    const prepayments = [{ amount: "10.10", invoiceNumber: "Z-1", date: "2026-10-01" }, { amount: 0.2 }];
    const { xml, findings } = build({ items: [ITEM], prepayments });
    expect(findings).toEqual([]);
    expect(xml).toContain('<cbc:PrepaidAmount currencyID="EUR">10.30</cbc:PrepaidAmount>');
    expect(xml).toContain('<cbc:PayableAmount currencyID="EUR">19.10</cbc:PayableAmount>');
    expect(xml).toContain("<cbc:ID>Z-1</cbc:ID><cbc:IssueDate>2026-10-01</cbc:IssueDate>");
  });

  test("in self-billing the receiver is the seller", () => {
    const { xml, findings } = build({ documentType: "self_billing" });
    expect(findings).toEqual([]);
    const [supplier = ""] = /<cac:AccountingSupplierParty>.*?<\/cac:AccountingSupplierParty>/su.exec(xml) ?? [];
    expect([supplier.includes("2020202020"), supplier.includes("2120000001")]).toEqual([true, false]);
    expect(xml).toContain("<cbc:InvoiceTypeCode>389</cbc:InvoiceTypeCode>");
  });

  test.each([
    "sk3112000000198742637541",
    "SK31 1200 0000 1987 4263 7541",
    "Sk31\u00a01200\u00a00000\u00a01987\u00a04263\u00a07541",
  ])("an account is the same in small letters and with any blanks: %j", (iban) => {
    const { xml, problems } = build({ iban, paymentMethod: "sepa" });
    expect([problems, xml.includes("<cbc:ID>SK3112000000198742637541</cbc:ID>")]).toEqual([[], true]);
  });

  test("attachments go in as they are", () => {
    const attachments = [
      { fileName: "a&b.pdf", mimeType: "application/pdf", content: "JVBERi0=", description: "Scan" },
    ];
    const { xml, findings } = build({ attachments });
    expect(findings).toEqual([]);
    expect(xml).toContain('mimeCode="application/pdf" filename="a&amp;b.pdf">JVBERi0=<');
  });

  test.each([
    ["application/pdf", "junk before it\n%PDF-1.4"],
    ["image/png", "\u0089PNG\r\n\u001a\n\u0000"],
    ["image/jpeg", "\u00ff\u00d8\u00ff\u00e0"],
    ["text/csv", "Názov;Počet\r\nČaj;1\r\n"],
    ["text/csv", "\u00ff\u00fea\u0000;\u0000"],
    ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "PK\u0003\u0004\u0014\u0000"],
    ["application/vnd.oasis.opendocument.spreadsheet", "PK\u0003\u0004\u0014\u0000"],
  ])("a file of the type %s is attached that begins as such files do", (mimeType, octets) => {
    const content = Buffer.from(octets, octets.includes("Č") ? "utf8" : "latin1").toString("base64");
    const { findings, problems } = build({ attachments: [{ fileName: "príloha (1)", mimeType, content }] });
    expect([findings, problems]).toEqual([[], []]);
  });

  test.each(["invoice", "credit_note", "self_billing"])(
    "terms of payment in words stand for the day on which it is due in the kind %s",
    (documentType) => {
      const { xml, findings } = build({ documentType, dueDate: undefined, paymentTerms: "Do 14 dní & bez skonta" });
      expect(findings).toEqual([]);
      expect(xml).toContain("<cac:PaymentTerms><cbc:Note>Do 14 dní &amp; bez skonta</cbc:Note></cac:PaymentTerms>");
    },
  );

  test("a number of 17 digits is exact as text", () => {
    const { xml, findings } = build({ items: [{ ...ITEM, quantity: "123456789.12345678" }] });
    expect([findings, xml.includes(">123456789.12345678<")]).toEqual([[], true]);
  });

  test("a number below a millionth is one, a number with more places than are read is none", () => {
    const { xml, findings } = build({ items: [{ ...ITEM, quantity: 2_000_000, unitPrice: 0.0000005 }] });
    expect([findings, xml.includes(">0.0000005<")]).toEqual([[], true]);
    expect(xml).toContain('<cbc:LineExtensionAmount currencyID="EUR">1.00</cbc:LineExtensionAmount>');
    expect(build({ items: [{ ...ITEM, unitPrice: 5e-9 }] }).problems).toEqual(["items[0].unitPrice JSON-NUMBER"]);
  });

  test("markup in a text stays text", () => {
    const { xml, findings } = build({ note: "</cbc:Note><x>&\"'" });
    expect([findings, xml.includes("<cbc:Note>&lt;/cbc:Note&gt;&lt;x&gt;&amp;&quot;'</cbc:Note>")]).toEqual([[], true]);
  });

  test("a credit note keeps the rate of its day, an invoice of today has those of today", () => {
    const items = [{ ...ITEM, vatRate: 20 }];
    expect(build({ items, documentType: "credit_note" }).findings).toEqual([]);
    expect(build({ items, taxPointDate: "2024-12-31" }).findings).toEqual([]);
    expect(build({ items }).problems).toEqual(["items[0].vatRate JSON-VAT-RATE"]);
  });
});

describe("what cannot be is refused with the name of the member", () => {
  const big = Buffer.alloc(8_000_000, "%PDF-").toString("base64");
  const pdf = { fileName: "a.pdf", mimeType: "application/pdf" };
  const content = Buffer.from("%PDF-1.7").toString("base64");
  test.each<[string, object, string]>([
    ["a kind of document", { documentType: "proforma" }, "documentType JSON-CODE"],
    ["a day", { issueDate: "2026-02-30" }, "issueDate JSON-DATE"],
    ["a day with a zone", { issueDate: "2026-02-20Z" }, "issueDate JSON-DATE"],
    ["a participant", { receiverPeppolId: "2020202020" }, "receiverPeppolId JSON-PARTICIPANT"],
    ["a character", { note: "a\u0001" }, "note JSON-TEXT"],
    ["half a character", { note: "a\ud800" }, "note JSON-TEXT"],
    ["an account", { iban: "SK3112000000198742637542" }, "iban JSON-IBAN"],
    ["a transfer to nowhere", { iban: undefined, paymentMethod: "sepa" }, "iban JSON-MISSING"],
    ["a direct debit", { paymentMethod: "49" }, "paymentMethod JSON-CODE"],
    ["a list", { items: {} }, "items JSON-LIST"],
    ["an empty list", { items: [] }, "items JSON-LIST"],
    ["an entry", { items: [null] }, "items[0] JSON-OBJECT"],
    [
      "more digits than a float has",
      { items: [{ ...ITEM, quantity: Number("1234567.123456789") }] },
      "items[0].quantity JSON-NUMBER",
    ],
    [
      "17 digits of a float",
      { items: [{ ...ITEM, quantity: Number("123456789.12345678") }] },
      "items[0].quantity JSON-NUMBER",
    ],
    ["a price below zero", { items: [{ ...ITEM, unitPrice: -1 }] }, "items[0].unitPrice JSON-NEGATIVE"],
    ["a discount", { items: [{ ...ITEM, discount: "100.01" }] }, "items[0].discount JSON-PERCENT"],
    ["a third decimal", { prepaidAmount: "1.001" }, "prepaidAmount JSON-AMOUNT"],
    ["another sum", { prepaidAmount: 2, prepayments: [{ amount: 1 }] }, "prepaidAmount JSON-PREPAID"],
    [
      "a line",
      { items: [{ ...ITEM, quantity: "1000000", unitPrice: "1000001" }] },
      "items[0].unitPrice JSON-TOO-LARGE",
    ],
    ["zero without a reason", { items: [{ ...ITEM, vatRate: 0 }] }, "items[0].vatCategoryCode JSON-VAT-ZERO"],
    ["a rate that is none", { items: [{ ...ITEM, vatCategoryCode: "E" }] }, "items[0].vatRate JSON-VAT-CATEGORY"],
    [
      "a type of file",
      { attachments: [{ ...pdf, mimeType: "text/html", content: "AAAA" }] },
      "attachments[0].mimeType JSON-CODE",
    ],
    ["no base64", { attachments: [{ ...pdf, content: "AAA" }] }, "attachments[0].content JSON-ATTACHMENT"],
    [
      "16 MB in two files",
      { attachments: [big, big].map((content) => ({ ...pdf, content })) },
      "attachments[1].content JSON-ATTACHMENT",
    ],
    ...["../../etc/passwd", "C:\\a.pdf", "/a.pdf", "..", "a\nb.pdf", "a\u202efdp.exe"].map(
      (fileName): [string, object, string] => [
        `the file name ${JSON.stringify(fileName)}`,
        { attachments: [{ ...pdf, content, fileName }] },
        "attachments[0].fileName JSON-FILE-NAME",
      ],
    ),
    ...(
      [
        ["application/pdf", "MZ\u0090\u0000"],
        ["application/pdf", "<html><script>alert(1)</script>"],
        ["image/png", "%PDF-1.7"],
        ["image/jpeg", "\u0089PNG\r\n\u001a\n"],
        ["text/csv", "PK\u0003\u0004"],
        ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "a;b"],
      ] as const
    ).map(([mimeType, octets]): [string, object, string] => [
      `what begins with ${JSON.stringify(octets)} as ${mimeType}`,
      { attachments: [{ fileName: "a", mimeType, content: Buffer.from(octets, "latin1").toString("base64") }] },
      "attachments[0].content JSON-FILE-TYPE",
    ]),
    ["a sum without a day or words", { dueDate: undefined }, "dueDate JSON-MISSING"],
    ["a name of Object itself", { documentType: "constructor" }, "documentType JSON-CODE"],
  ])("%s that cannot be is refused, and named", (_, change, problem) => {
    const { xml, problems } = build(change);
    expect([xml, problems]).toEqual(["", [problem]]);
  });

  const item = (more: object) => ({ items: [{ ...ITEM, ...more }] });
  const words = (change: object, own: Parameters<typeof buildInvoice>[1] = OWN_FIRM) =>
    buildInvoice({ ...JSON_INVOICE, ...change }, own).problems.map(({ message }) => message);
  test.each<[string, object, readonly string[]]>([
    ["a kind of document", { documentType: "proforma" }, ["self_billing_credit_note"]],
    ["a way to pay", { paymentMethod: "prevod" }, ["bank_transfer", "58"]],
    ["a unit", item({ unit: "kusy" }), ["ks", "C62"]],
    ["a category", item({ vatCategoryCode: "X" }), ["AE"]],
    ["a treatment", item({ taxTreatment: "reverse" }), ["reverse_charge"]],
    ["a type of file", { attachments: [{ ...pdf, content, mimeType: "application/msword" }] }, ["application/pdf"]],
    ["a currency", { currency: "eur" }, ["EUR"]],
    ["a country", { receiverCountry: "Slovensko" }, ["SK"]],
    ["a rate", item({ vatRate: 20 }), ["23, 19, 5"]],
    ["a rate of 0", item({ vatRate: 0 }), ["taxTreatment", "reverse_charge"]],
    ["a VAT id", { receiverIcDph: "2020202020" }, ["SK2020202020"]],
    ["a variable symbol", { variableSymbol: "VS1" }, ["10"]],
    ["an account", { iban: "1234" }, ["SK3112000000198742637541"]],
    ["a list", { attachments: Array.from({ length: 21 }, () => ({ ...pdf, content })) }, ["20"]],
    ["a day on which it is due", { dueDate: undefined }, ["paymentTerms"]],
  ])("%s that cannot be is refused with what may stand there, in both languages", (_, change, named) => {
    const [message, ...others] = words(change);
    expect(others).toEqual([]);
    for (const word of named)
      expect([message?.en, message?.sk]).toEqual([expect.stringContaining(word), expect.stringContaining(word)]);
    expect(message?.sk).not.toBe(message?.en);
  });

  test("an account is said to have another form, or check digits that do not fit, each alone", () => {
    const [form, digits] = ["SK31-1200-0000-1987-4263-7541", "SK3212000000198742637541"].map((iban) => words({ iban }));
    expect(digits).toEqual([
      { en: "Is no IBAN. Its check digits do not fit.", sk: "Nie je IBAN. Kontrolné číslice nesedia." },
    ]);
    expect(form).toEqual([
      { en: expect.not.stringContaining("do not fit"), sk: expect.not.stringContaining("nesedia") },
    ]);
  });

  test.each(["SK31120000001987426375\u212a1", "\u017fK3112000000198742637541"])(
    "an account with a letter that only looks like one of an IBAN is refused by its form: %j",
    (iban) => {
      expect(build({ iban }).problems).toEqual(["iban JSON-IBAN"]);
    },
  );

  test("a day before all known rates names none of them", () => {
    const [message] = words({ issueDate: "2010-12-31", taxPointDate: "2010-12-31", deliveryDate: "2010-12-31" });
    expect(message).toEqual({
      en: "No VAT rate that the seller's country has on the day of the supply.",
      sk: "Takú sadzbu DPH krajina predávajúceho v deň dodania nemá.",
    });
  });

  test("a buyer that bills itself and has no VAT id is named, not the lines", () => {
    const own = { ...OWN_FIRM, icDph: undefined, ico: undefined };
    const change = { documentType: "self_billing", ...item({ vatRate: 0, taxTreatment: "reverse_charge" }) };
    expect(build(change, own).problems).toEqual(["items JSON-VAT-BUYER"]);
  });

  test("a seller without a VAT id invoices no VAT", () => {
    const { problems } = build({ items: [ITEM] }, { ...OWN_FIRM, icDph: undefined });
    expect(problems).toContain("items[0].vatRate JSON-VAT-SELLER");
  });

  test.each(["23 %", "23,0", "120", "x"])(
    "a rate that cannot be read, %s, is told as that and as nothing else",
    (vatRate) => {
      const told = (more: object): unknown => build({ items: [{ ...ITEM, vatRate, ...more }] }).problems;
      const unreadable = [`items[0].vatRate JSON-${vatRate === "120" ? "PERCENT" : "NUMBER"}`];
      expect([told({}), told({ vatCategoryCode: "S" }), told({ taxTreatment: "standard" })]).toEqual([
        unreadable,
        unreadable,
        unreadable,
      ]);
    },
  );

  test("what is no object is refused", () => {
    for (const value of [null, 1, "x", []])
      expect(buildInvoice(value, OWN_FIRM).problems).toMatchObject([{ field: "document", ruleId: "JSON-OBJECT" }]);
  });

  test("more problems than one report has: the rest is counted", () => {
    const { problems, dropped } = buildInvoice({ items: Array.from({ length: 999 }, () => ({})) }, OWN_FIRM);
    expect([problems.length, dropped > 1_000]).toEqual([1_000, true]);
  });
});
