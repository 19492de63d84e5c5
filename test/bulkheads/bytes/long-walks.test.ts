/**
 * Two long lists of siblings, of which the rules of one look something up in the other: what they look at grows with
 * the lists, not with their product. Steps to a next sibling and texts are counted, not timed.
 */
import { expect, test, vi } from "vitest";

import { at } from "../../../validators/rules/path.js";
import { RuleError } from "../../../validators/rules/rule.js";
import { booleanOf, hasChargeIndicator, someChildIs } from "../../../validators/rules/values.js";
import { remembered } from "../../../validators/rules/walks.js";
import { validateDocument } from "../../../validators/validate.js";
import { XmlDocument } from "../../../validators/xml/document.js";
import { SCAN_LIMITS } from "../../../validators/xml/limits.js";
import { cbc, NS } from "../../../validators/xml/names.js";
import { scan } from "../../../validators/xml/scanner.js";
import { richInvoiceWith } from "../../support/documents/rich-invoice.js";

const OPTIONS = { limits: SCAN_LIMITS, day: "2026-11-20", details: true } as const;
/** More than are walked past without being remembered. */
const MANY = 200;

/** Siblings and texts that are looked at while `act` runs. */
function looks(act: () => unknown): number {
  const spies = (["nextSame", "next", "text", "attr"] as const).map((name) => vi.spyOn(XmlDocument.prototype, name));
  try {
    act();
    return spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

/** Rules look into extensions as well, where the grammar admits any element. */
const extended = (country: string, content: string): string =>
  richInvoiceWith(
    country,
    "<cbc:UBLVersionID>",
    `<ext:UBLExtensions><ext:UBLExtension><ext:ExtensionContent>${content}</ext:ExtensionContent></ext:UBLExtension></ext:UBLExtensions>$&`,
  );

const asCreditNote = (invoice: string): string =>
  invoice
    .replaceAll("InvoiceLine", "CreditNoteLine")
    .replaceAll(NS.Invoice, NS.CreditNote)
    .replace("<Invoice ", "<CreditNote ")
    .replace("</Invoice>", "</CreditNote>")
    .replaceAll("InvoiceTypeCode", "CreditNoteTypeCode")
    .replaceAll("InvoicedQuantity", "CreditedQuantity");

const leaf = (name: string, text: string, many: number): string => `<cbc:${name}>${text}</cbc:${name}>`.repeat(many);
const empty = (name: string, many: number): string => `<cac:${name}/>`.repeat(many);
const category = (rate: number | string): string =>
  `<cac:ClassifiedTaxCategory><cbc:ID>S</cbc:ID><cbc:Percent>${rate}</cbc:Percent></cac:ClassifiedTaxCategory>`;
const ACCOUNT = "<cac:PayeeFinancialAccount>";
const VAT_SCHEME = "<cac:TaxScheme><cbc:ID>VAT<";
const TAX_SCHEME = "<cac:TaxScheme><cbc:ID>TAX<";

/** Documents in which `asking` elements look for something among `others`. */
type Asked = (asking: number, others: number) => string;
const ASKED: Readonly<Record<string, Asked>> = {
  "SE-R-007: identifiers of an account, branches of it": (asking, others) =>
    richInvoiceWith("SE", ACCOUNT, ACCOUNT + leaf("ID", "1", asking) + empty("FinancialInstitutionBranch", others)),
  "SE-R-005: numbers of a registration, tax schemes of it": (asking, others) =>
    richInvoiceWith("SE", TAX_SCHEME, leaf("CompanyID", "1", asking) + empty("TaxScheme", others) + TAX_SCHEME),
  "SE-R-005: numbers of a registration, legal entities of the party": (asking, others) =>
    richInvoiceWith(
      "SE",
      TAX_SCHEME,
      leaf("CompanyID", "1", asking) + TAX_SCHEME,
      "<cac:PartyLegalEntity>",
      `${empty("PartyLegalEntity", others)}<cac:PartyLegalEntity>`,
    ),
  "SE-R-003: legal entities of a party, addresses of it": (asking, others) =>
    richInvoiceWith(
      "SE",
      "<cac:PartyLegalEntity>",
      `${"<cac:PartyLegalEntity><cbc:CompanyID>1</cbc:CompanyID></cac:PartyLegalEntity>".repeat(asking)}<cac:PartyLegalEntity>`,
      "<cac:PostalAddress>",
      `${empty("PostalAddress", others)}<cac:PostalAddress>`,
    ),
  "PEPPOL-COMMON-R056: numbers of a registration, tax schemes of it": (asking, others) =>
    richInvoiceWith("NL", VAT_SCHEME, leaf("CompanyID", "NL1", asking) + empty("TaxScheme", others) + VAT_SCHEME),
  "NL-R-001: types of a credit note, references of it to invoices": (asking, others) =>
    asCreditNote(
      richInvoiceWith(
        "NL",
        "<cbc:InvoiceTypeCode>",
        `${leaf("InvoiceTypeCode", "381", asking)}<cbc:InvoiceTypeCode>`,
        /<cac:BillingReference>.*<\/cac:BillingReference>/u,
        empty("BillingReference", others),
      ),
    ),
  "GR-R-003: numbers of a registration in an extension, tax schemes of it": (asking, others) =>
    extended(
      "GR",
      `<cac:AccountingSupplierParty><cac:Party><cac:PartyTaxScheme>${leaf("CompanyID", "EL1", asking)}${empty("TaxScheme", others)}` +
        "</cac:PartyTaxScheme></cac:Party></cac:AccountingSupplierParty>",
    ),
  "GR-R-004-2: identifiers of a supporting document, descriptions of it": (asking, others) =>
    richInvoiceWith(
      "GR",
      "<cac:AdditionalDocumentReference>",
      `<cac:AdditionalDocumentReference>${leaf("ID", "1", asking)}`,
      "<cbc:DocumentDescription>",
      `${leaf("DocumentDescription", "x", others)}<cbc:DocumentDescription>`,
    ),
  "BR-CL-07: identifiers of the object of a line, types of it": (asking, others) =>
    richInvoiceWith(
      "SK",
      /(<cac:DocumentReference>)(.*?)(<cbc:DocumentTypeCode>)/u,
      `$1${'<cbc:ID schemeID="AUN">1</cbc:ID>'.repeat(asking)}$2${leaf("DocumentTypeCode", "9", others)}$3`,
    ),
  "BR-CO-11: totals in totals, allowances of the document": (asking, others) =>
    richInvoiceWith(
      "SK",
      "<cac:LegalMonetaryTotal>",
      `${"<cac:LegalMonetaryTotal><cac:LegalMonetaryTotal/></cac:LegalMonetaryTotal>".repeat(asking)}<cac:LegalMonetaryTotal>`,
      "<cac:AllowanceCharge>",
      `${empty("AllowanceCharge", others)}<cac:AllowanceCharge>`,
    ),
  "PEPPOL-EN16931-CL003: reasons of a charge in an extension, indicators of it": (asking, others) =>
    extended(
      "SK",
      `<cac:AllowanceCharge>${leaf("ChargeIndicator", "0", others)}${leaf("AllowanceChargeReasonCode", "95", asking)}</cac:AllowanceCharge>`,
    ),
  "PEPPOL-EN16931-R130: base quantities in an extension, quantities of the line": (asking, others) =>
    extended(
      "SK",
      `<cac:LineItem>${'<cbc:InvoicedQuantity unitCode="EA">1</cbc:InvoicedQuantity>'.repeat(others)}` +
        `${'<cac:Price><cbc:BaseQuantity unitCode="C62">1</cbc:BaseQuantity></cac:Price>'.repeat(asking)}</cac:LineItem>`,
    ),
};

test.each(Object.entries(ASKED))("%s: each of one list costs the same, however long the other is", (_, asked) => {
  const work = (asking: number, others: number): number => {
    const bytes = Buffer.from(asked(asking, others));
    return looks(() => validateDocument(bytes, OPTIONS));
  };
  const beside = (others: number): number => work(2 * MANY, others) - work(MANY, others);
  // A product would add one look at least for each of the elements that ask and each of the others.
  expect(beside(2 * MANY) - beside(MANY)).toBeLessThan(MANY * 10);
});

test("BR-S-08: a rate that cannot be read ends the sums of the rates before it once, however many follow", () => {
  const rates = Array.from({ length: MANY }, (_, rate) => category(rate)).join("");
  const line = (categories: string): string => `<cac:InvoiceLine><cac:Item>${categories}</cac:Item></cac:InvoiceLine>`;
  const work = (lines: number): number => {
    const has = vi.spyOn(Set.prototype, "has");
    try {
      const bytes = Buffer.from(
        richInvoiceWith(
          "SK",
          "<cac:InvoiceLine>",
          `${line(rates + category("x"))}${line(category("x")).repeat(lines)}$&`,
        ),
      );
      validateDocument(bytes, OPTIONS);
      return has.mock.calls.length;
    } finally {
      has.mockRestore();
    }
  };
  expect(work(2 * MANY) - work(MANY)).toBeLessThan((MANY * MANY) / 2);
});

/** A document of one element with these children. */
function documentOf(children: string): XmlDocument {
  const scanned = scan(
    Buffer.from(`<Invoice xmlns="${NS.Invoice}" xmlns:cac="${NS.cac}" xmlns:cbc="${NS.cbc}">${children}</Invoice>`),
  );
  if (scanned.kind === "refused") throw new Error("not well-formed");
  return scanned.document;
}

test("what a long walk has found is forgotten with its document", () => {
  const countries = at("cac:PostalAddress/cac:Country");
  const [with1, without] = [
    `${empty("PostalAddress", MANY)}<cac:PostalAddress><cac:Country/></cac:PostalAddress>`,
    empty("PostalAddress", MANY),
  ];
  expect(countries.exists(documentOf(with1), 0)).toBe(true);
  expect(countries.exists(documentOf(without), 0)).toBe(false);
  const doc = documentOf(leaf("ID", "1", MANY));
  expect([someChildIs(doc, 0, cbc.ID, "2"), someChildIs(doc, 0, cbc.ID, "1")]).toEqual([false, true]);
  expect(someChildIs(documentOf(leaf("ID", "2", MANY)), 0, cbc.ID, "2")).toBe(true);
});

test("a long walk that ended in an error ends in it again, and is not made again", () => {
  const doc = documentOf(`${leaf("ChargeIndicator", "0", MANY)}${leaf("ChargeIndicator", "maybe", 1)}`);
  const asked = (): unknown => {
    try {
      return hasChargeIndicator(doc, 0, true);
    } catch (error) {
      return error;
    }
  };
  const first = asked();
  expect(first).toBeInstanceOf(RuleError);
  expect(looks(() => expect(asked()).toBe(first))).toBe(0);
  expect(hasChargeIndicator(doc, 0, false)).toBe(true);
});

test("a path is walked no further than to the second element where one is allowed", () => {
  const doc = documentOf("<cac:Party><cbc:ID>1</cbc:ID><cbc:ID>2</cbc:ID></cac:Party>".repeat(MANY));
  const path = at("cac:Party/cbc:ID");
  expect(looks(() => expect(() => path.one(doc, 0)).toThrow("XPTY0004"))).toBeLessThan(5);
  expect([path.count(doc, 0, 2), path.count(doc, 0, 5), path.count(doc, 0, 10 * MANY)]).toEqual([2, 5, 2 * MANY]);
});

test("short walks leave nothing behind", () => {
  const doc = documentOf(leaf("ChargeIndicator", "false", 60));
  const isTrue = remembered((d, e) => booleanOf(d, d.child(e, cbc.ChargeIndicator)));
  expect([hasChargeIndicator(doc, 0, true), isTrue(doc, 0), doc.walks.isEmpty]).toEqual([false, false, true]);
});
