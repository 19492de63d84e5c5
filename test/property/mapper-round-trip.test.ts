/**
 * Goal: an invoice goes round from UBL through the mapper and the create body to UBL again and says the same in every
 * place, or the mapper's answer names what it could not keep.
 * Method: generated invoices of every kind, built, mapped and built again; every element by its place, lines by their
 * number (`SEED=7 RUNS=5000` repeats or extends a run).
 */
import fc from "fast-check";
import { expect, test } from "vitest";

import { buildInvoice } from "../../engine/invoices/build.js";
import { connectorCreateBody } from "../../engine/invoices/connector/create-body.js";
import { invoiceOfBody } from "../../engine/invoices/connector/to-invoice.js";
import { mapSource } from "../../engine/invoices/mapper/map.js";
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
      const again = buildInvoice(invoiceOfBody(body, undefined), OWN_FIRM);
      expect(again.problems).toEqual([]);
      const [before, after] = [placesOf(ubl), placesOf(again.ubl ?? Buffer.alloc(0))];
      const told = new Set(mapped.unmapped);
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
