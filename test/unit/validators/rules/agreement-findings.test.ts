/** What the differential runs found, kept small. The expected answers are those of the official stylesheets under Saxon. */
import { expect, test } from "vitest";
import { en16931 } from "../../../../validators/rules/en16931/index.js";
import { peppolBilling } from "../../../../validators/rules/peppol/billing.js";
import { NS } from "../../../../validators/xml/names.js";
import { failedIds, documentOf } from "../../../support/validators/packs.js";

const invoice = (content: string): Buffer =>
  Buffer.from(`<Invoice xmlns="${NS.Invoice}" xmlns:cac="${NS.cac}" xmlns:cbc="${NS.cbc}">${content}</Invoice>`);
const vat = (taxable: string, line: string): Buffer =>
  invoice(
    `<cac:TaxTotal><cac:TaxSubtotal><cbc:TaxableAmount>${taxable}</cbc:TaxableAmount><cac:TaxCategory><cbc:ID>S</cbc:ID><cbc:Percent>25</cbc:Percent><cac:TaxScheme><cbc:ID>VAT</cbc:ID></cac:TaxScheme></cac:TaxCategory></cac:TaxSubtotal></cac:TaxTotal>` +
      `<cac:InvoiceLine><cbc:LineExtensionAmount>${line}</cbc:LineExtensionAmount><cac:Item><cac:ClassifiedTaxCategory><cbc:ID>S</cbc:ID><cbc:Percent>25</cbc:Percent><cac:TaxScheme><cbc:ID>VAT</cbc:ID></cac:TaxScheme></cac:ClassifiedTaxCategory></cac:Item></cac:InvoiceLine>`,
  );
const ids = (bytes: Buffer): string[] => failedIds(en16931(), documentOf(bytes));

test("BR-S-08 on a taxable amount of 400 digits is the error that xs:double arithmetic makes of it", () => {
  expect(ids(vat("9".repeat(400), "1"))).toEqual(["!err:FOCA0002"]);
  expect(ids(vat(`-${"9".repeat(400)}`, "1"))).toEqual(["!err:FOCA0002"]);
});

test("BR-S-08 reads the taxable amount before it adds up: its error is met before that of a repeated rate", () => {
  const charge =
    "<cac:AllowanceCharge><cbc:ChargeIndicator>true</cbc:ChargeIndicator><cac:TaxCategory><cbc:ID>S</cbc:ID><cbc:Percent>25</cbc:Percent><cbc:Percent>25</cbc:Percent></cac:TaxCategory></cac:AllowanceCharge>";
  expect(
    ids(Buffer.from(vat("9".repeat(400), "1").toString().replace("<cac:TaxTotal>", `${charge}<cac:TaxTotal>`))),
  ).toEqual(["!err:FOCA0002"]);
});

const line = (percents: string, amount: string): string =>
  `<cac:InvoiceLine><cbc:LineExtensionAmount>${amount}</cbc:LineExtensionAmount><cac:Item><cac:ClassifiedTaxCategory><cbc:ID>S</cbc:ID>${percents}<cac:TaxScheme><cbc:ID>VAT</cbc:ID></cac:TaxScheme></cac:ClassifiedTaxCategory></cac:Item></cac:InvoiceLine>`;
const withLine = (added: string, taxable = "1"): Buffer =>
  Buffer.from(vat(taxable, "1").toString().replace("<cac:InvoiceLine>", `${added}<cac:InvoiceLine>`));
const TWICE = "<cbc:Percent>25</cbc:Percent><cbc:Percent>25</cbc:Percent>";

test("BR-S-08 looks for a line of its rate in the order of the document: an error before the first ends the search, one behind it does not", () => {
  const noAmount = (bytes: Buffer): Buffer =>
    Buffer.from(bytes.toString().replace("<cbc:TaxableAmount>1</cbc:TaxableAmount>", ""));
  expect(ids(noAmount(withLine(line(TWICE, "1"))))).toEqual(["!err:XPTY0004"]);
  // Behind the first match only sums meet it, and without a taxable amount nothing is added up.
  expect(
    ids(
      noAmount(
        Buffer.from(
          vat("1", "1")
            .toString()
            .replace("</Invoice>", `${line(TWICE, "1")}</Invoice>`),
        ),
      ),
    ),
  ).not.toContain("!err:XPTY0004");
});

test("an amount that cannot be read ends the sums of its own rate only", () => {
  expect(ids(withLine(line("<cbc:Percent>7</cbc:Percent>", "x"))).filter((id) => id.startsWith("!"))).toEqual([]);
  expect(ids(withLine(line("<cbc:Percent>25</cbc:Percent>", "x")))).toEqual(["!err:FORG0001"]);
});

test("a category that cannot be read behind one of the rate leaves the sum of that rate alone; in a later line it ends it", () => {
  const second = "<cac:ClassifiedTaxCategory><cbc:Percent/></cac:ClassifiedTaxCategory></cac:Item>";
  const both = Buffer.from(vat("1", "1").toString().replace("</cac:Item>", second));
  expect(ids(both).filter((id) => id.startsWith("!"))).toEqual([]);
  expect(ids(Buffer.from(both.toString().replace("</Invoice>", `${line("<cbc:Percent/>", "1")}</Invoice>`)))).toEqual([
    "!err:FORG0001",
  ]);
});

test.each([
  // A double cannot add 1 to it, so that it is not within 1 of itself.
  ["100000000000000000000", "100000000000000000000", true],
  ["1000.00", "1000.999", false],
  ["1000.00", "1001.00", true],
  ["1000.00", "999.01", false],
  ["1000.00", "0", true],
  ["0.1", "1.1", false],
])("BR-S-08 compares %s with %s as the official rule does (fires: %s)", (taxable, line, fires) => {
  expect(ids(vat(taxable, line)).includes("BR-S-08")).toBe(fires);
});

test.each([
  ["<cbc:Amount>1</cbc:Amount><cbc:Amount/>", "!err:FORG0001"],
  ["<cbc:Amount/><cbc:Amount>1</cbc:Amount>", "!err:FORG0001"],
  ["<cbc:Amount>1</cbc:Amount><cbc:Amount>2</cbc:Amount>", "!err:XPTY0004"],
  ["<cbc:Amount>1</cbc:Amount><cbc:Amount>2</cbc:Amount><cbc:Amount/>", "!err:XPTY0004"],
])("PEPPOL-EN16931-R040 on %s meets %s first", (amounts, error) => {
  const bytes = invoice(
    `<cac:AllowanceCharge><cbc:MultiplierFactorNumeric>2</cbc:MultiplierFactorNumeric>${amounts}<cbc:BaseAmount>50</cbc:BaseAmount></cac:AllowanceCharge>`,
  );
  expect(failedIds(peppolBilling(), documentOf(bytes))).toEqual([error]);
});

test.each([
  ["<cac:TaxScheme><cbc:ID>VAT</cbc:ID><cbc:ID>VAT</cbc:ID></cac:TaxScheme>", "!err:XPTY0004"],
  ["<cac:TaxScheme><cbc:ID>GST</cbc:ID></cac:TaxScheme>", "!err:FORG0006"],
  [
    "<cac:TaxScheme><cbc:ID>VAT</cbc:ID></cac:TaxScheme><cac:TaxScheme><cbc:ID>V</cbc:ID><cbc:ID>V</cbc:ID></cac:TaxScheme>",
    "!err:FORG0006",
  ],
])("a second tax scheme %s is read before it is one too many", (schemes, error) => {
  const category = `<cac:ClassifiedTaxCategory><cac:TaxScheme><cbc:ID>VAT</cbc:ID></cac:TaxScheme>${schemes}</cac:ClassifiedTaxCategory>`;
  expect(ids(invoice(`<cac:InvoiceLine><cac:Item>${category}</cac:Item></cac:InvoiceLine>`))).toEqual([error]);
});
