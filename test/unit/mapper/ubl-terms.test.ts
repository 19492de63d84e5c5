/**
 * Goal: what a UBL source says and a create body has no member for is named by the mapper's answer. Method: two samples, in
 * each of which one term is another.
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

import { mapSource } from "../../../engine/invoices/mapper/map.js";
import type { Mapped } from "../../../engine/invoices/mapper/protocol.js";
import { OWN_FIRM } from "../../support/documents/json-invoices.js";

function map(file: string, from: string | RegExp, to: string): Mapped {
  const source = readFileSync(new URL(`../../fixtures/mapper/xml-ubl/${file}`, import.meta.url), "utf8");
  const sourceText = source.replace(from, to);
  expect(sourceText).not.toBe(source);
  const given = { sourceType: "xml", sourceText, sourceJson: undefined, customerRef: "c" } as const;
  const mapped = mapSource({ ...given, fieldMap: {}, defaults: {}, own: OWN_FIRM });
  if (mapped.kind === "unreadable") throw new Error(mapped.message);
  return mapped;
}
const told = ({ issues, unmapped }: Mapped): readonly string[] => [
  ...issues.map(({ code, source }) => `${code} ${source ?? ""}`),
  ...unmapped,
];

test("samples as they are have nothing that is not carried but their ids", () => {
  for (const file of ["plain.xml", "credit-note.xml"]) {
    const { ready, unmapped } = map(file, "</cbc:ID>", " </cbc:ID>");
    expect([file, ready, unmapped]).toEqual([file, true, []]);
  }
});

test.each([
  ["plain.xml", /(InvoiceTypeCode>)380/u, "$1384", "TYPE_CHANGED InvoiceTypeCode"],
  ["credit-note.xml", /(CreditNoteTypeCode>)381/u, "$1396", "TYPE_CHANGED CreditNoteTypeCode"],
  ["plain.xml", /poacc:billing:3\.0</u, "poacc:billing:3.0#conformant#urn:other<", "CustomizationID"],
  ["plain.xml", /poacc:billing:01:1\.0</u, "poacc:billing:02:1.0<", "ProfileID"],
  ["credit-note.xml", /(<cbc:PaymentMeansCode)>/u, '$1 name="Transfer">', "PaymentMeans.PaymentMeansCode@name"],
  [
    "plain.xml",
    /(AccountingCustomerParty>.*schemeID=")0158/u,
    "$10183",
    "AccountingCustomerParty.Party.PartyLegalEntity.CompanyID@schemeID",
  ],
  [
    "plain.xml",
    /(AccountingSupplierParty>.*<cbc:RegistrationName>)/u,
    "$1Not ",
    "AccountingSupplierParty.Party.PartyLegalEntity.RegistrationName",
  ],
  ["plain.xml", /(<cbc:DocumentCurrencyCode>)/u, "<cbc:Note>a</cbc:Note><cbc:Note>b</cbc:Note>$1", "CONVERTED Note"],
  ["plain.xml", /(InvoiceLine><cbc:ID>)1</u, "$1A<", "CONVERTED InvoiceLine.ID"],
  ["attachment.xml", /filename="[^"]*"/u, 'filename="other.pdf"', "AdditionalDocumentReference.ID"],
] as const)("in %s, %s that becomes %s is named: %s", (file, from, to, expected) => {
  expect(told(map(file, from, to))).toContain(expected);
});

const PAYEE = "<cac:PayeeParty><cac:PartyName><cbc:Name>Faktor, a. s.</cbc:Name></cac:PartyName></cac:PayeeParty>";
const IN_EUR = '<cac:TaxTotal><cbc:TaxAmount currencyID="EUR">16.49</cbc:TaxAmount></cac:TaxTotal>';
const IN_CZK = '<cac:TaxTotal><cbc:TaxAmount currencyID="CZK">500.00</cbc:TaxAmount></cac:TaxTotal>';
const BUYER = "</cac:AccountingCustomerParty>";

test.each([
  ["a payee, to whom the amount is owed", BUYER, BUYER + PAYEE, "PayeeParty"],
  [
    "a tax representative of the seller",
    BUYER,
    BUYER + PAYEE.replaceAll("PayeeParty", "TaxRepresentativeParty"),
    "TaxRepresentativeParty",
  ],
  ["VAT in a second currency", /<cac:Legal/u, `${IN_EUR}${IN_CZK}$&`, "TaxTotal[2]"],
  ["VAT in a second currency, named before the other,", /<cac:Legal/u, `${IN_CZK}${IN_EUR}$&`, "TaxTotal[1]"],
] as const)("%s makes another invoice: not ready, and one error names the element", (_, from, to, source) => {
  const { ready, issues, unmapped } = map("plain.xml", from, to);
  const doubts = issues.filter(({ severity }) => severity !== "information");
  expect([ready, doubts]).toMatchObject([false, [{ code: "UNSAYABLE", severity: "error", source }]]);
  expect(unmapped).toEqual([]);
});

test("a charge whose indicator is written 1 is a line that adds, as one that is written true", () => {
  const charged = (indicator: string): Mapped["document"] =>
    map(
      "plain.xml",
      BUYER,
      `${BUYER}<cac:AllowanceCharge><cbc:ChargeIndicator>${indicator}</cbc:ChargeIndicator><cbc:AllowanceChargeReason>Freight</cbc:AllowanceChargeReason><cbc:Amount currencyID="EUR">5.00</cbc:Amount><cac:TaxCategory><cbc:ID>S</cbc:ID><cbc:Percent>23</cbc:Percent><cac:TaxScheme><cbc:ID>VAT</cbc:ID></cac:TaxScheme></cac:TaxCategory></cac:AllowanceCharge>`,
    ).document;
  expect(charged("1")).toEqual(charged("true"));
  expect(charged("0")).toEqual(charged("false"));
  expect(charged("1")).not.toEqual(charged("0"));
});

test("a credit note stays one whatever its code says, and a person is told", () => {
  const mapped = map("credit-note.xml", /(CreditNoteTypeCode>)381/u, "$1380");
  expect([mapped.document["type"], mapped.ready]).toEqual(["credit_note", false]);
  expect(told(mapped)).toContain("TYPE_CHANGED CreditNoteTypeCode");
});

test("why no tax is due is a term of its own: a reason that is not the usual one has to be confirmed", () => {
  const exempt = (reason: string): Mapped =>
    map(
      "plain.xml",
      /(<cac:LegalMonetaryTotal>)/u,
      `<cac:TaxTotal><cac:TaxSubtotal><cac:TaxCategory><cbc:ID>E</cbc:ID>${reason}</cac:TaxCategory></cac:TaxSubtotal></cac:TaxTotal>$1`,
    );
  const other = exempt("<cbc:TaxExemptionReasonCode>VATEX-EU-132</cbc:TaxExemptionReasonCode>");
  expect(told(other)).toContain("REASON_CHANGED TaxTotal.TaxSubtotal.TaxCategory.TaxExemptionReasonCode");
  expect(other.ready).toBe(false);
  const usual = exempt("<cbc:TaxExemptionReason>Exempt from VAT</cbc:TaxExemptionReason>");
  expect(told(usual).filter((one) => one.includes("Exemption"))).toEqual([]);
});
