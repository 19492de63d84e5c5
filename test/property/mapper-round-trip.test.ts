/**
 * Goal: an invoice goes round from UBL through the mapper and the create body, or through JSON, to UBL again and says the
 * same in every place, or the answer names what it could not keep. Through JSON it never comes to another amount.
 * Method: generated invoices of every kind, built, mapped and built again; every element by its place, lines by their
 * number; for JSON also with charges, base quantities and elements that it cannot say
 * (`SEED=7 RUNS=5000` repeats or extends a run).
 */
import fc from "fast-check";
import { expect, test } from "vitest";

import { buildInvoice } from "../../engine/invoices/build.js";
import { connectorCreateBody } from "../../engine/invoices/connector/create-body.js";
import { invoiceOfBody } from "../../engine/invoices/connector/to-invoice.js";
import { mapSource } from "../../engine/invoices/mapper/map.js";
import { parseDocument } from "../../validators/summary.js";
import { convertToJson } from "../../validators/to-json.js";
import { SCAN_LIMITS } from "../../validators/xml/limits.js";
import { childElements, parseXml } from "../../validators/xml/tree.js";
import type { XmlElement } from "../../validators/xml/tree.js";
import { anyInvoice } from "../support/documents/any-invoices.js";
import { OWN_FIRM } from "../support/documents/json-invoices.js";

const seed = Number(process.env["SEED"] ?? 20_261_122);
const numRuns = Number(process.env["RUNS"] ?? 400);

/** A discount that comes to no cent. */
const isNothing = (element: XmlElement): boolean =>
  element.local === "AllowanceCharge" &&
  childElements(element).some(({ local, children: [text] }) => {
    return local === "Amount" && text?.kind === "text" && text.value === "0.00";
  });

/** Every value with its place: `InvoiceLine[2].Price.PriceAmount`, attributes included; the place of a name is its first. */
function placesOf(xml: Buffer): ReadonlyMap<string, string> {
  const document = parseXml(xml);
  if (document.kind === "refused") throw new Error(document.fault);
  // Bounded by the elements of one document.
  const places = new Map<string, string>();
  const walk = (element: XmlElement, path: string): void => {
    for (const { local, value } of element.attributes) places.set(`${path}@${local}`, value);
    const counts: Record<string, number> = {};
    const children = childElements(element).filter((child) => !isNothing(child));
    if (children.length === 0)
      places.set(path, element.children.map((child) => (child.kind === "text" ? child.value : "")).join(""));
    for (const child of children) {
      const nth = (counts[child.local] = (counts[child.local] ?? 0) + 1);
      const step = nth === 1 ? child.local : `${child.local}[${nth}]`;
      walk(child, path === "" ? step : `${path}.${step}`);
    }
  };
  walk(document.root, "");
  return places;
}

/** A place without the numbers of repeated elements, as the mapper names it. */
const named = (place: string): string => place.replace(/\[\d+\]|@.*$/gu, "");

test(`UBL that goes round says the same in every place, or what is lost is named (SEED=${seed})`, () => {
  let whole = 0;
  fc.assert(
    fc.property(anyInvoice, (value) => {
      const { ubl } = buildInvoice(JSON.parse(JSON.stringify(value)), OWN_FIRM);
      if (ubl === undefined) return;
      const mapped = mapSource({
        sourceType: "xml",
        sourceText: ubl.toString("utf8"),
        sourceJson: undefined,
        customerRef: "customer",
        fieldMap: {},
        defaults: {},
        own: OWN_FIRM,
      });
      if (mapped.kind === "unreadable") throw new Error(mapped.message);
      const problems = mapped.issues.filter(({ severity }) => severity !== "information");
      if (!mapped.ready) {
        // A person is told what to look at.
        expect(problems).not.toEqual([]);
        return;
      }
      const body = connectorCreateBody.parse(mapped.document);
      // The Connector writes terms of payment where there is no day, and the mapper says so.
      const terms = mapped.issues.some(({ code, field }) => code === "FILLED_IN" && field === "dueDate");
      expect(terms).toBe(body.dueDate === undefined);
      const again = buildInvoice(
        { ...invoiceOfBody(body, undefined), ...(terms ? { paymentTerms: "As agreed" } : {}) },
        OWN_FIRM,
      );
      expect(again.problems).toEqual([]);
      const [before, after] = [placesOf(ubl), placesOf(again.ubl ?? Buffer.alloc(0))];
      const told = new Set([...mapped.unmapped, ...(terms ? ["PaymentTerms.Note"] : [])]);
      const lost = [...before].filter(([place, said]) => after.get(place) !== said && !told.has(named(place)));
      const invented = [...after].filter(([place]) => !before.has(place) && !told.has(named(place)));
      expect({ lost, invented }).toEqual({ lost: [], invented: [] });
      whole++;
    }),
    { seed, numRuns },
  );
  // A mapper that is never ready keeps the promise and helps nobody.
  expect(whole).toBeGreaterThan(numRuns / 50);
});

/** Changes of a document that JSON has to say in another way, or cannot say. */
const CHANGES: readonly (readonly [RegExp, string])[] = [
  [/^/u, ""],
  [/(<cbc:PriceAmount[^>]*>[^<]*<\/cbc:PriceAmount>)/gu, "$1<cbc:BaseQuantity>100</cbc:BaseQuantity>"],
  [
    /(<cac:TaxTotal>)/u,
    `<cac:AllowanceCharge><cbc:ChargeIndicator>true</cbc:ChargeIndicator><cbc:Amount>7.77</cbc:Amount><cac:TaxCategory><cbc:ID>S</cbc:ID><cbc:Percent>23</cbc:Percent></cac:TaxCategory></cac:AllowanceCharge>$1`,
  ],
  [/(<cbc:PayableAmount)/u, "<cbc:PayableRoundingAmount>0.04</cbc:PayableRoundingAmount>$1"],
  [/<cbc:DocumentCurrencyCode>[A-Z]{3}/u, "<cbc:DocumentCurrencyCode>HUF"],
  [/\bEUR\b/gu, "HUF"],
  [/(TypeCode>)\d{3}/u, "$1384"],
  [/(<cac:PaymentTerms><cbc:Note>)/u, "$1Other "],
  [/(<cac:AllowanceCharge><cbc:ChargeIndicator>)false/u, "$1true"],
  [/(<cac:AllowanceCharge>.*?<cbc:Amount[^>]*>)[^<]*/u, "$10.01"],
  [/(<cac:ClassifiedTaxCategory><cbc:ID>)\w+/u, "$1L"],
  [/(<cbc:CompanyID>)(SK|DE)/u, "$1CZ"],
];
const changed = fc.constantFrom(...CHANGES);
const summaryOf = (ubl: Uint8Array) => {
  const read = parseDocument({ bytes: ubl, limits: SCAN_LIMITS, linesMax: 1_000 });
  if (read.kind === "refused") throw new Error("not read");
  const { typeCode, currency, number, issueDate, totals, lineCount, supplier, customer } = read.summary;
  const { taxExclusive, tax, taxInclusive, prepaid, rounding, payable } = totals;
  return {
    head: { typeCode, currency, number, issueDate, taxExclusive, tax, taxInclusive, prepaid, rounding, payable },
    parties: [supplier, customer].map(({ participantId, companyId, vatId, country }) => [
      ...[participantId, companyId, vatId, country],
    ]),
    lineCount,
  };
};

test(`UBL as JSON comes to the same document again, or is refused (SEED=${seed})`, () => {
  const seen = { same: 0, refused: 0 };
  fc.assert(
    fc.property(anyInvoice, changed, (value, [from, to]) => {
      const { ubl } = buildInvoice(JSON.parse(JSON.stringify(value)), OWN_FIRM);
      if (ubl === undefined) return;
      const source = Buffer.from(ubl.toString("utf8").replace(from, to));
      const read = convertToJson({ bytes: source, limits: SCAN_LIMITS, own: OWN_FIRM });
      if (read.kind === "refused") throw new Error(read.findings[0]?.message);
      if (read.isAnother) {
        expect(read.problems.filter(({ severity }) => severity === "fatal")).not.toEqual([]);
        // What we have written ourselves is refused only where something is said that JSON cannot hold.
        expect(to).not.toBe("");
        seen.refused++;
        return;
      }
      const again = buildInvoice(JSON.parse(JSON.stringify(read.invoice)), OWN_FIRM);
      expect(again.problems.filter(({ severity }) => severity === "fatal")).toEqual([]);
      const [before, after] = [summaryOf(source), summaryOf(again.ubl ?? Buffer.alloc(0))];
      expect([after.head, after.parties]).toEqual([before.head, before.parties]);
      if (read.problems.length > 0) return;
      // Without a warning it is the same in every place.
      expect(after.lineCount).toBe(before.lineCount);
      expect([...placesOf(again.ubl ?? Buffer.alloc(0))]).toEqual([...placesOf(source)]);
      seen.same++;
    }),
    { seed, numRuns },
  );
  expect(Math.min(seen.same, seen.refused)).toBeGreaterThan(numRuns / 50);
});
