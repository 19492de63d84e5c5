/**
 * Goal: the mapper reads a sample as a person reads it. Method: two or more samples of each shape were read by a person,
 * who wrote down what they say without looking at what the mapper makes of them; numbers are compared as numbers, units
 * as codes.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

import { mapSource } from "../../../engine/invoices/mapper/map.js";
import type { SourceType } from "../../../engine/invoices/mapper/protocol.js";
import { OWN_FIRM } from "../../support/documents/json-invoices.js";

type Said = Readonly<Record<string, string>>;
/** `description | quantity | unit | price | rate`, and the treatment where there is no tax. */
type LineSaid = string;

/** The buyer of most Slovak samples. */
const PRIJEMCA = { "recipient.name": "Prijemca, a. s.", "recipient.country": "SK" };
const KAUFER = { "recipient.name": "Käufer AG" };
const KUPUJICI = {
  "recipient.name": "Kupující s.r.o.",
  "recipient.vatId": "CZ12345678",
  "recipient.country": "CZ",
  currency: "CZK",
};
const HLAVNA = {
  "recipient.address.street": "Hlavná 48",
  "recipient.address.city": "Košice",
  "recipient.address.postalCode": "040 01",
};
const IBAN = "SK3112000000198742637541";

const READ: Readonly<Record<string, readonly [SourceType, Said, ...LineSaid[]]>> = {
  "json-nested/slovak-program.json": [
    "json",
    {
      number: "FA-1",
      issueDate: "2026-11-20",
      dueDate: "2026-12-04",
      ...PRIJEMCA,
      ...HLAVNA,
      "recipient.companyId": "12345678",
      "recipient.taxId": "2020202020",
      "recipient.vatId": "SK2020202020",
    },
    "Papier A4 | 3 | H87 | 23.9 | 23",
  ],
  "json-nested/german-erp.json": [
    "json",
    {
      number: "R-3",
      issueDate: "2026-11-20",
      dueDate: "2026-12-04",
      ...KAUFER,
      "recipient.country": "DE",
      "recipient.vatId": "DE123456789",
      "recipient.address.street": "Hauptstraße 1",
      "recipient.address.city": "Berlin",
      "recipient.address.postalCode": "10115",
    },
    "Beratung | 1.5 | HUR | 1234.56 | 23",
  ],
  "json-flat/slovak-flat.json": [
    "json",
    {
      number: "10",
      issueDate: "2026-11-20",
      dueDate: "2026-12-04",
      ...PRIJEMCA,
      "recipient.companyId": "12345678",
      "recipient.taxId": "2020202020",
      variableSymbol: "10",
      paymentMethod: "bank_transfer",
      iban: IBAN,
    },
    "Papier A4 | 3 | H87 | 23.9 | 23",
  ],
  "json-flat/reverse-charge-flag.json": [
    "json",
    {
      number: "15",
      issueDate: "2026-11-20",
      dueDate: "2026-12-04",
      ...KAUFER,
      "recipient.country": "DE",
      "recipient.vatId": "DE123456789",
    },
    "Beratung | 1 |  | 100 | 0 | reverse_charge",
  ],
  "csv-rows/slovak-semicolons.csv": [
    "csv",
    {
      number: "2026001",
      issueDate: "2026-12-01",
      dueDate: "2026-12-15",
      ...PRIJEMCA,
      "recipient.companyId": "12345678",
      "recipient.taxId": "2020202020",
    },
    "Papier A4 | 3 | H87 | 23.9 | 23",
    "Účtovníctvo | 1 | HUR | 1032.8 | 5",
  ],
  "csv-rows/german-tabs.csv": [
    "csv",
    {
      number: "R-100",
      issueDate: "2026-12-01",
      dueDate: "2026-12-31",
      ...KAUFER,
      "recipient.country": "AT",
      "recipient.vatId": "ATU12345678",
    },
    "Beratung | 1.5 | HUR | 1234.56 | 23",
  ],
  "csv-rows/czech-pipes.csv": [
    "csv",
    { number: "FV2026-9", issueDate: "2026-12-01", dueDate: "2026-12-15", ...KUPUJICI },
    "Školení | 2 | DAY | 4500 | 23",
  ],
  "csv-blocks/czech-head.csv": [
    "csv",
    {
      number: "FV-14",
      issueDate: "2026-12-01",
      dueDate: "2026-12-15",
      ...KUPUJICI,
      paymentMethod: "bank_transfer",
      iban: IBAN,
    },
    "Školení | 2 | DAY | 4500 | 23",
  ],
  "csv-blocks/reverse-charge.csv": [
    "csv",
    {
      number: "2026016",
      issueDate: "2026-12-01",
      dueDate: "2026-12-15",
      "recipient.name": "Stavby, s. r. o.",
      "recipient.country": "SK",
      "recipient.companyId": "12345678",
      "recipient.vatId": "SK2020202020",
    },
    "Stavebné práce | 1 | LS | 1000 | 0 | reverse_charge",
  ],
  "xml-ubl/plain.xml": [
    "xml",
    {
      number: "U-1",
      buyerReference: "4100",
      issueDate: "2026-11-20",
      dueDate: "2026-12-04",
      ...PRIJEMCA,
      "recipient.companyId": "12345678",
      "recipient.networkId": "0245:2020202020",
      "recipient.address.city": "Košice",
    },
    "Papier A4 | 3 | H87 | 23.9 | 23",
  ],
  "xml-ubl/self-billing.xml": [
    "xml",
    {
      type: "self_billing_invoice",
      number: "U-7",
      buyerReference: "4100",
      issueDate: "2026-11-20",
      dueDate: "2026-12-04",
      ...PRIJEMCA,
      "recipient.companyId": "12345678",
      "recipient.networkId": "0245:2020202020",
      "recipient.address.city": "Košice",
    },
    "Papier A4 | 3 | H87 | 23.9 | 23",
  ],
  "xml-ubl/credit-note.xml": [
    "xml",
    {
      type: "credit_note",
      number: "U-2",
      precedingDocumentNumber: "U-1",
      buyerReference: "4100",
      issueDate: "2026-11-20",
      dueDate: "2026-12-04",
      ...PRIJEMCA,
      "recipient.companyId": "12345678",
      "recipient.networkId": "0245:2020202020",
      "recipient.address.city": "Košice",
      paymentMethod: "bank_transfer",
      iban: IBAN,
    },
    "Papier A4 | 1 | H87 | 23.9 | 23",
  ],
  "xml-programs/slovak-elements.xml": [
    "xml",
    {
      number: "X-1",
      issueDate: "2026-11-20",
      dueDate: "2026-12-04",
      ...PRIJEMCA,
      "recipient.companyId": "12345678",
      ...HLAVNA,
      "recipient.address.postalCode": "04001",
    },
    "Papier A4 | 3 | H87 | 23.9 | 23",
    "Perá | 10 | H87 | 0.85 | 23",
  ],
  "xml-programs/attributes.xml": [
    "xml",
    {
      number: "X-2",
      issueDate: "2026-11-20",
      dueDate: "2026-12-04",
      ...KAUFER,
      "recipient.country": "DE",
      "recipient.vatId": "DE123456789",
    },
    "Licence | 10 | H87 | 99.9 | 23",
    "Support | 1 | HUR | 500 | 23",
  ],
  "text/slovak.txt": [
    "text",
    {
      number: "2026001",
      issueDate: "2026-12-01",
      deliveryDate: "2026-11-30",
      dueDate: "2026-12-15",
      ...PRIJEMCA,
      ...HLAVNA,
      "recipient.companyId": "12345678",
      "recipient.taxId": "2020202020",
      variableSymbol: "2026001",
      iban: IBAN,
    },
    "Papier A4 | 3 | H87 | 23.9 | 23",
    "Účtovníctvo pre malé firmy | 1 | H87 | 1032.8 | 5",
  ],
  "text/german.txt": [
    "text",
    {
      number: "R-3",
      issueDate: "2026-12-01",
      deliveryDate: "2026-11-30",
      dueDate: "2026-12-31",
      ...KAUFER,
      "recipient.country": "DE",
      "recipient.vatId": "DE123456789",
      "recipient.address.street": "Hauptstraße 1",
      "recipient.address.city": "Berlin",
      "recipient.address.postalCode": "10115",
    },
    "Beratung | 1.5 | HUR | 100 | 23",
    "Reisekosten | 1 | H87 | 50 | 23",
  ],
  "pdf-text/two-columns.txt": [
    "pdf_text",
    {
      number: "2026011",
      issueDate: "2026-12-01",
      dueDate: "2026-12-15",
      ...PRIJEMCA,
      ...HLAVNA,
      variableSymbol: "2026011",
    },
    "Papier A4 | 3 | H87 | 23.9 | 23",
    "Doprava | 1 | H87 | 5 | 23",
  ],
  "pdf-text/czech-columns.txt": [
    "pdf_text",
    {
      number: "FV-15",
      issueDate: "2026-12-01",
      dueDate: "2026-12-15",
      ...KUPUJICI,
      "recipient.address.street": "Dlouhá 5",
      "recipient.address.city": "Praha",
      "recipient.address.postalCode": "110 00",
    },
    "Školení | 2 | DAY | 4500 | 23",
  ],
  "pdf-text/credit-note.txt": [
    "pdf_text",
    {
      type: "credit_note",
      number: "D-17",
      precedingDocumentNumber: "2026001",
      issueDate: "2026-12-01",
      dueDate: "2026-12-15",
      ...PRIJEMCA,
      "recipient.taxId": "2020202020",
    },
    "Papier A4 | 1 | H87 | 23.9 | 23",
  ],
};

/** Units as the samples write them. */
const UNITS: Said = { ks: "H87", Stk: "H87", pcs: "H87", hod: "HUR", Std: "HUR", h: "HUR", den: "DAY" };
/** One means of payment in the forms in which a body may name it. */
const METHODS: Said = { "30": "bank_transfer", credit_transfer: "bank_transfer", transfer: "bank_transfer" };

const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "";
/** `1032.80` and `1032.8` are one number. */
const numberOf = (value: unknown): string =>
  textOf(value)
    .replace(/(\.\d*?)0+$/u, "$1")
    .replace(/\.$/u, "");

function headOf(value: object, path = ""): Record<string, string> {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]: [string, unknown]): [string, string][] => {
      if (name === "lines" || name === "customerRef") return [];
      if (typeof member === "object" && member !== null) return Object.entries(headOf(member, `${path}${name}.`));
      const text = textOf(member);
      return [[path + name, name === "paymentMethod" ? (METHODS[text] ?? text) : text]];
    }),
  );
}

const lineOf = (line: Readonly<Record<string, unknown>>): LineSaid => {
  const unit = textOf(line["unit"]);
  const rest = line["taxTreatment"] === undefined ? [] : [textOf(line["taxTreatment"])];
  return [
    textOf(line["description"]),
    numberOf(line["quantity"]),
    UNITS[unit] ?? unit,
    numberOf(line["unitPrice"]),
    numberOf(line["vatRate"]),
    ...rest,
  ].join(" | ");
};

describe("a sample that a person has read", () => {
  test.each(Object.entries(READ))(
    "%s says to the mapper what it says to a person",
    (file, [sourceType, head, ...lines]) => {
      const source = readFileSync(new URL(`../../fixtures/mapper/${file}`, import.meta.url), "utf8");
      const [sourceText, sourceJson] =
        sourceType === "json" ? [undefined, JSON.parse(source) as unknown] : [source, undefined];
      const nothing = { fieldMap: {}, defaults: {}, customerRef: "customer", own: OWN_FIRM };
      const mapped = mapSource({ sourceType, sourceText, sourceJson, ...nothing });
      if (mapped.kind === "unreadable") throw new Error(mapped.message);
      const { document } = mapped;
      expect({ currency: "EUR", ...headOf(document) }).toEqual({
        currency: "EUR",
        externalId: head["number"],
        ...head,
      });
      const read = (document as { readonly lines?: readonly Readonly<Record<string, unknown>>[] }).lines ?? [];
      expect(read.map(lineOf)).toEqual(lines);
      expect(mapped.issues.filter(({ code }) => code === "TOTALS_DIFFER")).toEqual([]);
    },
  );

  test("each shape has at least two samples that a person has read", () => {
    const counts: Record<string, number> = {};
    for (const file of Object.keys(READ)) {
      const [shape = ""] = file.split("/");
      counts[shape] = (counts[shape] ?? 0) + 1;
    }
    expect([Object.keys(counts).length, Math.min(...Object.values(counts))]).toEqual([8, 2]);
  });
});
