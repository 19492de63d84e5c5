/**
 * The EN 16931 rules on an invoice of our own: a clean one, and one change per row with exactly the findings it causes.
 * Completeness is the business of test/conformance; here stand the promises that a user would ask about.
 */
import { describe, expect, test } from "vitest";
import { en16931 } from "../../../../validators/rules/en16931/index.js";
import { bytesOf, insertPath, restrictedPaths, treeOf } from "../../../support/documents/mutate.js";
import type { Tree } from "../../../support/documents/mutate.js";
import { documentOf } from "../../../support/validators/packs.js";

const UBL = "urn:oasis:names:specification:ubl:schema:xsd";
const party = (
  name: string,
  vat: string,
): string => `<cac:Party><cbc:EndpointID schemeID="0088">7300010000001</cbc:EndpointID>
  <cac:PostalAddress><cac:Country><cbc:IdentificationCode>SK</cbc:IdentificationCode></cac:Country></cac:PostalAddress>
  <cac:PartyTaxScheme><cbc:CompanyID>${vat}</cbc:CompanyID><cac:TaxScheme><cbc:ID>VAT</cbc:ID></cac:TaxScheme></cac:PartyTaxScheme>
  <cac:PartyLegalEntity><cbc:RegistrationName>${name}</cbc:RegistrationName></cac:PartyLegalEntity></cac:Party>`;
const category = (element: string): string =>
  `<cac:${element}><cbc:ID>S</cbc:ID><cbc:Percent>23</cbc:Percent><cac:TaxScheme><cbc:ID>VAT</cbc:ID></cac:TaxScheme></cac:${element}>`;
const eur = (name: string, amount: string): string => `<cbc:${name} currencyID="EUR">${amount}</cbc:${name}>`;
const line = (
  id: string,
  amount: string,
): string => `<cac:InvoiceLine><cbc:ID>${id}</cbc:ID><cbc:InvoicedQuantity unitCode="C62">1</cbc:InvoicedQuantity>
  ${eur("LineExtensionAmount", amount)}<cac:Item><cbc:Name>Thing</cbc:Name>${category("ClassifiedTaxCategory")}</cac:Item>
  <cac:Price>${eur("PriceAmount", amount)}</cac:Price></cac:InvoiceLine>`;

const INVOICE = treeOf(
  Buffer.from(`<Invoice xmlns="${UBL}:Invoice-2" xmlns:cac="${UBL}:CommonAggregateComponents-2" xmlns:cbc="${UBL}:CommonBasicComponents-2">
  <cbc:CustomizationID>urn:cen.eu:en16931:2017</cbc:CustomizationID><cbc:ID>1</cbc:ID><cbc:IssueDate>2026-11-20</cbc:IssueDate>
  <cbc:InvoiceTypeCode>380</cbc:InvoiceTypeCode><cbc:DocumentCurrencyCode>EUR</cbc:DocumentCurrencyCode>
  <cac:AccountingSupplierParty>${party("Seller", "SK1234567890")}</cac:AccountingSupplierParty>
  <cac:AccountingCustomerParty>${party("Buyer", "SK0987654321")}</cac:AccountingCustomerParty>
  <cac:TaxTotal>${eur("TaxAmount", "34.50")}<cac:TaxSubtotal>${eur("TaxableAmount", "150.00")}${eur("TaxAmount", "34.50")}${category("TaxCategory")}</cac:TaxSubtotal></cac:TaxTotal>
  <cac:LegalMonetaryTotal>${eur("LineExtensionAmount", "150.00")}${eur("TaxExclusiveAmount", "150.00")}${eur("TaxInclusiveAmount", "184.50")}${eur("PayableAmount", "184.50")}</cac:LegalMonetaryTotal>
  ${line("1", "100.00")}${line("2", "50.00")}</Invoice>`),
);

const rules = en16931();

const failed = (tree: Tree): string[] =>
  rules.run(documentOf(bytesOf(tree)), 1_000).findings.map(({ ruleId }) => ruleId);

/** Every element at a path below the root. */
const all = (tree: Tree, path: string): Tree[] =>
  path
    .split("/")
    .reduce<Tree[]>(
      (found, step) => found.flatMap(({ children }) => children.filter(({ name }) => name === step)),
      [tree],
    );

const set =
  (path: string, text: string) =>
  (tree: Tree): void => {
    for (const element of all(tree, path)) element.text = text;
  };
const remove =
  (path: string) =>
  (tree: Tree): void => {
    const parents = path.includes("/") ? all(tree, path.slice(0, path.lastIndexOf("/"))) : [tree];
    for (const parent of parents)
      parent.children = parent.children.filter(({ name }) => name !== path.split("/").at(-1));
  };
const repeat =
  (path: string) =>
  (tree: Tree): void => {
    const element = all(tree, path)[0];
    const parent = path.includes("/") ? all(tree, path.slice(0, path.lastIndexOf("/")))[0] : tree;
    if (element !== undefined) parent?.children.push(structuredClone(element));
  };
const put =
  (parent: string, xml: Tree) =>
  (tree: Tree): void => {
    (parent === "" ? tree : all(tree, parent)[0])?.children.push(xml);
  };
const leaf = (name: string, text: string, ...attributes: [string, string][]): Tree => ({
  name,
  attributes,
  children: [],
  text,
});
const group = (name: string, ...children: Tree[]): Tree => ({ name, attributes: [], children, text: "" });

const SUBTOTAL = "cac:TaxTotal/cac:TaxSubtotal";
const TOTAL = "cac:LegalMonetaryTotal";

describe("an invoice", () => {
  const cases: readonly (readonly [what: string, change: (tree: Tree) => void, found: readonly string[]])[] = [
    ["is clean as it stands", () => undefined, []],
    ["without number", remove("cbc:ID"), ["BR-02"]],
    ["with a number of white space only", set("cbc:ID", " \t\n "), ["BR-02"]],
    ["with two numbers: XPath cannot choose, so the layer is one error", repeat("cbc:ID"), ["!err:XPTY0004"]],
    ["with an unknown type", set("cbc:InvoiceTypeCode", "381"), ["BR-CL-01"]],
    ["with white space around a code", set("cbc:InvoiceTypeCode", " 380 "), []],
    ["with a code in two words", set("cbc:InvoiceTypeCode", "380 380"), ["BR-CL-01"]],
    ["in a currency that no VAT total uses", set("cbc:DocumentCurrencyCode", "SEK"), ["BR-CO-15"]],
    ["with an accounting currency and no VAT total in it", put("", leaf("cbc:TaxCurrencyCode", "SEK")), ["BR-53"]],
    ["whose payable amount is a cent off", set(`${TOTAL}/cbc:PayableAmount`, "184.49"), ["BR-CO-16"]],
    ["whose amounts carry three decimals", set(`${TOTAL}/cbc:PayableAmount`, "184.500"), ["BR-DEC-18", "UBL-DT-01"]],
    [
      "whose total is half a cent off, which rounding does not forgive",
      set(`${TOTAL}/cbc:LineExtensionAmount`, "150.005"),
      ["BR-CO-10", "BR-CO-13", "BR-DEC-09", "UBL-DT-01"],
    ],
    ["with an unreadable amount: the layer is one error", set(`${TOTAL}/cbc:PayableAmount`, "abc"), ["!err:FORG0001"]],
    [
      "whose tax is a euro off, which the rules forgive per category but not in the total",
      set(`${SUBTOTAL}/cbc:TaxAmount`, "35.49"),
      ["BR-CO-14"],
    ],
    [
      "whose category tax is more than a euro off",
      set(`${SUBTOTAL}/cbc:TaxAmount`, "35.51"),
      ["BR-CO-14", "BR-CO-17", "BR-S-09"],
    ],
    ["without VAT breakdown", remove(SUBTOTAL), ["BR-S-01", "BR-CO-18"]],
    [
      "without lines: the breakdown is of nothing",
      remove("cac:InvoiceLine"),
      ["BR-16", "BR-S-01", "BR-S-08", "BR-CO-10"],
    ],
    [
      "whose seller has no VAT identifier",
      remove("cac:AccountingSupplierParty/cac:Party/cac:PartyTaxScheme"),
      ["BR-S-02", "BR-CO-26"],
    ],
    [
      "whose VAT identifier starts with no country",
      set("cac:AccountingSupplierParty/cac:Party/cac:PartyTaxScheme/cbc:CompanyID", "QQ1"),
      ["BR-CO-09"],
    ],
    [
      "with a document allowance that the totals ignore",
      put(
        "",
        group(
          "cac:AllowanceCharge",
          leaf("cbc:ChargeIndicator", "false"),
          leaf("cbc:AllowanceChargeReason", "x"),
          leaf("cbc:Amount", "5", ["currencyID", "EUR"]),
        ),
      ),
      ["BR-CO-11", "BR-32"],
    ],
    [
      "with a charge indicator nobody can read: an error where sums ask for it",
      put(
        "",
        group(
          "cac:AllowanceCharge",
          leaf("cbc:ChargeIndicator", "maybe"),
          leaf("cbc:Amount", "5", ["currencyID", "EUR"]),
        ),
      ),
      ["!err:FORG0001"],
    ],
    [
      "with a period that ends before it starts",
      put("", group("cac:InvoicePeriod", leaf("cbc:StartDate", "2026-02-01"), leaf("cbc:EndDate", "2026-01-31"))),
      ["BR-29"],
    ],
    [
      "with an impossible date in a period",
      put("", group("cac:InvoicePeriod", leaf("cbc:StartDate", "2026-02-01"), leaf("cbc:EndDate", "2026-02-30"))),
      ["!err:FORG0001"],
    ],
    ["with a note whose subject is unknown", put("", leaf("cbc:Note", "#XXX#text")), ["BR-CL-08"]],
    ["with a note that only looks like one with a subject", put("", leaf("cbc:Note", "#1 and #2")), []],
    [
      "with two due dates of payment means",
      put(
        "",
        group(
          "cac:PaymentMeans",
          leaf("cbc:PaymentMeansCode", "1"),
          leaf("cbc:PaymentDueDate", "2026-12-01"),
          leaf("cbc:PaymentDueDate", "2026-12-02"),
        ),
      ),
      ["UBL-SR-45", "UBL-CR-412"],
    ],
    [
      "with two different payment means",
      (tree) => {
        for (const code of ["1", "10"])
          tree.children.push(group("cac:PaymentMeans", leaf("cbc:PaymentMeansCode", code)));
      },
      ["UBL-SR-47"],
    ],
    [
      "with an attribute that means nothing",
      (tree) => {
        tree.children[0]?.attributes.push(["schemeName", "x"]);
      },
      ["UBL-DT-08"],
    ],
    ["of the UBL version 2.1", put("", leaf("cbc:UBLVersionID", "2.1")), []],
    ["of another UBL version", put("", leaf("cbc:UBLVersionID", "2.3")), ["UBL-CR-002"]],
    [
      "whose forbidden element occurs on both lines: once per document",
      (tree) => {
        for (const one of all(tree, "cac:InvoiceLine")) one.children.push(leaf("cbc:UUID", "1"));
      },
      ["UBL-CR-515"],
    ],
    [
      "with a line of category O next to S",
      (tree) => {
        const id = all(tree, "cac:InvoiceLine/cac:Item/cac:ClassifiedTaxCategory/cbc:ID")[0];
        if (id !== undefined) id.text = "O";
      },
      ["BR-O-01", "BR-O-02", "BR-S-08", "BR-O-05"],
    ],
    [
      "whose tax representative has two schemes in one tax entry: their truth is none",
      put(
        "",
        group(
          "cac:TaxRepresentativeParty",
          group("cac:PartyName", leaf("cbc:Name", "R")),
          group("cac:PostalAddress", group("cac:Country", leaf("cbc:IdentificationCode", "SK"))),
          group(
            "cac:PartyTaxScheme",
            leaf("cbc:CompanyID", "SK1"),
            group("cac:TaxScheme", leaf("cbc:ID", "VAT")),
            group("cac:TaxScheme", leaf("cbc:ID", "GST")),
          ),
        ),
      ),
      ["!err:FORG0006"],
    ],
    [
      "with two amounts in one VAT total without breakdown: XPath asks for the one",
      (tree) => {
        remove(SUBTOTAL)(tree);
        repeat("cac:TaxTotal/cbc:TaxAmount")(tree);
      },
      ["!err:XPTY0004"],
    ],
    ["with a negative price", set("cac:InvoiceLine/cac:Price/cbc:PriceAmount", "-1"), ["BR-27", "BR-27"]],
    ["with prices of many decimals", set("cac:InvoiceLine/cac:Price/cbc:PriceAmount", "0.123456789"), []],
  ];

  test.each(cases)("an invoice is judged as the rules say: %s", (_, change, found) => {
    const tree = structuredClone(INVOICE);
    change(tree);
    expect(failed(tree).sort()).toEqual([...found].sort());
  });

  test("an amount of a thousand digits is compared digit by digit", () => {
    const digits = "9".repeat(1_000);
    const tree = structuredClone(INVOICE);
    for (const name of ["TaxInclusiveAmount", "PayableAmount"]) set(`${TOTAL}/cbc:${name}`, `${digits}.01`)(tree);
    expect(failed(tree)).toEqual(["BR-CO-15"]);
    set(`${TOTAL}/cbc:PayableAmount`, `${digits}.02`)(tree);
    expect(failed(tree)).toEqual(["BR-CO-15", "BR-CO-16"]);
  });

  test("an invoice gives the same answer after any other document: nothing is remembered", () => {
    const broken = structuredClone(INVOICE);
    set("cac:InvoiceLine/cac:Item/cac:ClassifiedTaxCategory/cbc:ID", "Z")(broken);
    const before = failed(broken);
    expect(failed(INVOICE)).toEqual([]);
    expect(failed(broken)).toEqual(before);
    expect(before.length).toBeGreaterThan(3);
  });
});

test("every restricted path of the tables raises its warning or error when it is put into an invoice", () => {
  const silent = restrictedPaths().filter((path) => {
    const tree = structuredClone(INVOICE);
    insertPath(tree, path);
    insertPath(tree, path);
    const credit: Tree = { ...structuredClone(INVOICE), name: "CreditNote" };
    insertPath(credit, path);
    return ![...failed(tree), ...failed(credit)].some((id) => id.startsWith("UBL-") || id.startsWith("!err"));
  });
  expect(silent).toEqual([]);
});

test("an ApplicationResponse is not judged as an invoice", () => {
  const response: Tree = { name: "ApplicationResponse", attributes: [], children: [leaf("cbc:ID", "1")], text: "" };
  expect(failed(response)).toEqual([]);
});
