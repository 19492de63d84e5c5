/**
 * Goal: what names a document, or a file in it, can be told from others by whoever reads it, whichever interface it comes
 * by. @source spec/rulings.md, section 14: "documentId: no control, format or zero-width characters … something visible"
 */
import { expect, test, vi } from "vitest";

import { whyExternalIdIsRefused } from "../../../../engine/base/ids.js";
import { LIMITS } from "../../../../engine/base/limits.js";
import { buildInvoice } from "../../../../engine/invoices/build.js";
import { connectorCreateBody } from "../../../../engine/invoices/connector/create-body.js";
import { JSON_INVOICE, OWN_FIRM } from "../../../support/documents/json-invoices.js";

const problemsOf = (more: object): readonly string[] =>
  buildInvoice({ ...JSON_INVOICE, ...more }, OWN_FIRM).problems.map(({ field, ruleId }) => `${field} ${ruleId}`);

const BODY = {
  customerRef: "c",
  externalId: "E-1",
  number: "F-1",
  recipient: { country: "SK", taxId: "2020202020" },
  lines: [{ description: "a", quantity: 1, unitPrice: 1, vatRate: 23 }],
};
const fieldsOf = (more: object): readonly string[] =>
  connectorCreateBody.safeParse({ ...BODY, ...more }).error?.issues.map(({ path }) => path.join(".")) ?? [];

const INVISIBLE = ["F\u200b1", "\u202eF1", "F\u00ad1", "F\u20601", "F\n1", "\u2800", "\u3164"];

test.each(INVISIBLE)("%j names no document", (name) => {
  expect(problemsOf({ invoiceNumber: name })).toEqual(["invoiceNumber JSON-INVISIBLE"]);
  expect(fieldsOf({ number: name })).toEqual(["number"]);
  expect(fieldsOf({ externalId: name })).toEqual(["externalId"]);
});

test.each(["2026/0042", "č. 7 漢", "😀", " F1 "])("%j names a document", (name) => {
  expect([...problemsOf({ invoiceNumber: name }), ...fieldsOf({ number: name, externalId: name })]).toEqual([]);
});

const PDF = "JVBERi0=";
const file = (more: object): readonly string[] =>
  problemsOf({ attachments: [{ fileName: "a.pdf", mimeType: "application/pdf", content: PDF, ...more }] });

test.each(["a.exe", "a.pdf.exe", "a.\u200bpdf", "a\u00ad.pdf", "\u200ea.pdf", "a.csv"])(
  "a PDF is not called %j: what lies about its type is 422 naming `attachments[n].fileName` (D-254)",
  (fileName) => {
    expect(file({ fileName })).toEqual(["attachments[0].fileName JSON-FILE-NAME"]);
  },
);

test.each(["a.PDF", "a", "Novák s.r.o", "a.2026", "a.pdf.pdf"])("a PDF may be called %j", (fileName) => {
  expect(file({ fileName })).toEqual([]);
});

test("base64 with bits behind its last octet is refused by the name of its member", () => {
  const csv = { fileName: "a.csv", mimeType: "text/csv" };
  expect(file({ ...csv, content: "YR==" })).toEqual(["attachments[0].content JSON-ATTACHMENT"]);
  expect(file({ ...csv, content: "YQ==" })).toEqual([]);
});

test("a supply within the union has one meaning under both of its words, in both bodies", () => {
  for (const taxTreatment of ["intra_community", "intra_community_supply"]) {
    const items = [{ description: "a", quantity: 1, unitPrice: 1, vatRate: 0, taxTreatment }];
    expect(problemsOf({ items, deliveryDate: "2026-11-20" })).toEqual([]);
    expect(fieldsOf({ lines: items })).toEqual([]);
  }
});

test("a seller without a VAT id is told so once for a line", () => {
  const { problems } = buildInvoice(
    { ...JSON_INVOICE, items: JSON_INVOICE.items.slice(0, 1) },
    { ...OWN_FIRM, icDph: undefined },
  );
  expect(problems.map(({ field, ruleId }) => `${field} ${ruleId}`)).toEqual(["items[0].vatRate JSON-VAT-SELLER"]);
});

test("an id as long as a request may be is refused without being taken apart, which would hold the event loop up", () => {
  const apart = vi.spyOn(String.prototype, Symbol.iterator);
  try {
    expect(whyExternalIdIsRefused("a".repeat(LIMITS.request_body_bytes_max))).toContain("at most 255 characters");
    expect(apart).not.toHaveBeenCalled();
  } finally {
    apart.mockRestore();
  }
});

test("the characters of an id are counted whole: 255 of two units each are taken, 256 are not", () => {
  expect(whyExternalIdIsRefused("😀".repeat(LIMITS.document_id_chars_max))).toBeUndefined();
  expect(whyExternalIdIsRefused("😀".repeat(LIMITS.document_id_chars_max + 1))).toContain("at most 255 characters");
});
