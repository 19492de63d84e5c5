/** Peppol rules that no official unit test fires, and what the tables promise beyond single rules. */
import { expect, test } from "vitest";
import { peppolBilling, peppolSelfBilling } from "../../../../validators/rules/peppol/billing.js";
import {
  buyer,
  creditNote,
  invoice,
  RULE_DOCUMENTS,
  seller,
  vat,
} from "../../../support/documents/peppol-rule-documents.js";
import { documentOf } from "../../../support/validators/packs.js";

const billing = peppolBilling();

function findings(xml: string, rules = billing): { id: string; at: string; severity: string }[] {
  const document = documentOf(Buffer.from(xml));
  return rules
    .run(document, 1_000)
    .findings.map(({ ruleId, element, severity }) => ({ id: ruleId, at: document.path(element), severity }));
}
const failed = (xml: string): string[] => findings(xml).map(({ id }) => id);
const placesOf = (xml: string, id: string): string[] =>
  findings(xml)
    .filter((finding) => finding.id === id)
    .map(({ at }) => at);

test.each(RULE_DOCUMENTS)("$id is broken by one document and kept by its twin", ({ id, breaks, holds }) => {
  expect(failed(breaks)).toContain(id);
  expect(failed(holds)).not.toContain(id);
});

test("a rule fires once for every element that breaks it, at that element", () => {
  const line =
    '<cac:InvoiceLine><cbc:LineExtensionAmount currencyID="SEK">1</cbc:LineExtensionAmount></cac:InvoiceLine>';
  const xml = invoice("<cbc:DocumentCurrencyCode>EUR</cbc:DocumentCurrencyCode>", line, line);
  expect(placesOf(xml, "PEPPOL-EN16931-R051")).toEqual([
    "/Invoice/cac:InvoiceLine[1]/cbc:LineExtensionAmount",
    "/Invoice/cac:InvoiceLine[2]/cbc:LineExtensionAmount",
  ]);
});

test("an allowance with a percentage and no base amount is told that, and not that its amount is wrong as well", () => {
  const xml = invoice(
    "<cac:AllowanceCharge><cbc:ChargeIndicator>maybe</cbc:ChargeIndicator><cbc:MultiplierFactorNumeric>5</cbc:MultiplierFactorNumeric></cac:AllowanceCharge>",
  );
  expect(failed(xml).filter((id) => /R04\d/u.test(id))).toEqual(["PEPPOL-EN16931-R041"]);
});

test("a Dutch VAT number is examined once: by its scheme, or else as a VAT number", () => {
  const number = (scheme: string): string =>
    invoice(seller(vat("NL1").replace("<cbc:CompanyID>", `<cbc:CompanyID schemeID="${scheme}">`)));
  expect(failed(number("9944")).filter((id) => id.startsWith("PEPPOL-COMMON"))).toEqual(["PEPPOL-COMMON-R056-1"]);
  expect(failed(number("0217")).filter((id) => id.startsWith("PEPPOL-COMMON"))).toEqual(["PEPPOL-COMMON-R056-2"]);
  expect(failed(number("0106")).filter((id) => id.startsWith("PEPPOL-COMMON"))).toEqual(["PEPPOL-COMMON-R054"]);
});

test.each([
  [
    "a quantity that is no number",
    invoice("<cac:InvoiceLine><cbc:InvoicedQuantity>x</cbc:InvoicedQuantity></cac:InvoiceLine>"),
    "!err:FORG0001",
  ],
  [
    "two amounts where one is calculated with",
    invoice(
      "<cac:AllowanceCharge><cbc:MultiplierFactorNumeric>5</cbc:MultiplierFactorNumeric><cbc:Amount>1</cbc:Amount><cbc:Amount>1</cbc:Amount><cbc:BaseAmount>20</cbc:BaseAmount></cac:AllowanceCharge>",
    ),
    "!err:XPTY0004",
  ],
  ["a text in two pieces", invoice("<cbc:IssueDate>2026-<!-- -->01-01</cbc:IssueDate>"), "!err:XPTY0004"],
  [
    "a Greek number with a broken third segment",
    invoice("<cbc:ID>1|2|1.5|4|5|6</cbc:ID>", seller(vat("EL123456789"))),
    "!err:FORG0001",
  ],
])("%s ends the layer with one fatal finding and nothing else", (_, xml, id) => {
  expect(findings(xml)).toEqual([{ id, at: expect.any(String) as string, severity: "fatal" }]);
});

test("an error in the condition of a rule only means that the rule does not apply", () => {
  const twoNumbers = invoice(seller(vat("NO1"), vat("NO2")));
  expect(failed(twoNumbers).filter((id) => id.startsWith("NO-") || id.startsWith("!"))).toEqual([]);
});

test("national rules stay out of documents of other countries", () => {
  const ids = failed(invoice(seller(vat("SK2020202020")), buyer())).filter((id) => !id.startsWith("PEPPOL-"));
  expect(ids).toEqual([]);
});

test("self-billing has no national rules and its own type codes", () => {
  expect(peppolSelfBilling().catalogue.every(({ id }) => id.startsWith("PEPPOL-"))).toBe(true);
  const own = invoice(
    "<cbc:ProfileID>urn:fdc:peppol.eu:2017:poacc:selfbilling:01:1.0</cbc:ProfileID><cbc:InvoiceTypeCode>380</cbc:InvoiceTypeCode>",
  );
  expect(findings(own, peppolSelfBilling()).map(({ id }) => id)).toContain("PEPPOL-EN16931-P0100");
  expect(failed(own)).not.toContain("PEPPOL-EN16931-P0100");
});

test("an element of white space or of nothing is empty, also when the space is written as a reference", () => {
  const empty = (content: string): string => creditNote(`<cbc:Note>${content}</cbc:Note>`);
  for (const content of ["", " \n", "&#32;", "<!-- c -->", "<![CDATA[ ]]>"])
    expect(placesOf(empty(content), "PEPPOL-EN16931-R008"), content).toEqual(["/CreditNote/cbc:Note"]);
  for (const content of ["x", "&#160;", "<![CDATA[x]]>"])
    expect(placesOf(empty(content), "PEPPOL-EN16931-R008"), content).toEqual([]);
});

test("facts of one document are forgotten before the next", () => {
  const german = invoice(
    "<cbc:InvoiceTypeCode>384</cbc:InvoiceTypeCode>",
    RULE_DOCUMENTS.find(({ id }) => id === "DE-R-T02")?.holds.replace(/<\/?Invoice[^>]*>/gu, "") ?? "",
  );
  const other = invoice("<cbc:InvoiceTypeCode>384</cbc:InvoiceTypeCode>");
  expect(failed(german)).not.toContain("PEPPOL-EN16931-P0112");
  expect(failed(other)).toContain("PEPPOL-EN16931-P0112");
  expect(failed(german)).not.toContain("PEPPOL-EN16931-P0112");
});
