/**
 * Sources of the mapper whose cost could be more than their size: names are counted as they are folded, and what has
 * many readings is read within a time that none of them would end in.
 */
import { describe, expect, test, vi } from "vitest";

import { mapSource } from "../../../engine/invoices/mapper/map.js";
import type { FieldMap, MapOutput, SourceType } from "../../../engine/invoices/mapper/protocol.js";
import { within } from "../../../validators/schematron/runtime/deadline.js";
import { OWN_FIRM } from "../../support/documents/json-invoices.js";

/** Thousands of times what these sources take, so that no load decides; what is tried in every way takes days. */
const MUCH_MS = 60_000;

const map = (sourceType: SourceType, source: unknown, fieldMap: FieldMap = {}): MapOutput =>
  mapSource({
    sourceType,
    sourceText: sourceType === "json" ? undefined : String(source),
    sourceJson: sourceType === "json" ? source : undefined,
    ...{ customerRef: "customer", fieldMap, defaults: {}, own: OWN_FIRM },
  });

const linesOf = (mapped: MapOutput): unknown => (mapped.kind === "mapped" ? mapped.document["lines"] : mapped.message);

describe("a table in text", () => {
  test.each([
    ["several descriptions", "Popis Popis Popis Popis Popis Množstvo Cena bez DPH", `${"a ".repeat(950)}x`],
    ["numbers that could be one", `Popis Množstvo Cena bez DPH ${"DPH ".repeat(20)}`, `a ${"111 ".repeat(480)}x`],
    ["numbers with signs", `Popis Množstvo Cena bez DPH ${"DPH ".repeat(20)}`, `a ${"1 % ".repeat(480)}x`],
    ["three hundred columns", `Popis Množstvo ${"Cena ".repeat(300)}`, `a ${"111 ".repeat(480)}x`],
  ])("a table whose spaces are lost is read once with %s, however many readings a row has", (_, names, row) => {
    expect(within(MUCH_MS, () => linesOf(map("text", `${names}\n${`${row}\n`.repeat(20)}`)))).toEqual([]);
  });

  test.each([
    ["Papier A4 biely 3 ks 1 234,50 € 23 %", "Papier A4 biely", 3, "1234.5"],
    ["Papier 80 g 3 ks 12 345 678.90 23%", "Papier 80 g", 3, "12345678.9"],
    ["12 500 ks 1,00 23", "12", 500, "1"],
    ["Doprava 1 2 3 4 ks 5,00 EUR 23 %", "Doprava 1 2 3", 4, "5"],
  ])(
    "a row without spaces between its columns, %s, gives a number its thousands and a description what is left",
    (row, description, quantity, unitPrice) => {
      expect(linesOf(map("text", `Popis Množstvo MJ Cena bez DPH DPH\n${row}`))).toMatchObject([
        { description, quantity, unitPrice: Number(unitPrice), vatRate: 23 },
      ]);
    },
  );
});

test("a word of two thousand digits is gone over once, in each of a thousand lines", () => {
  const lines = `Faktúra č. ${"1".repeat(1_980)} x\n`.repeat(1_000);
  expect(within(MUCH_MS, () => map("text", lines).kind)).toBe("mapped");
});

test("a table of text whose columns stand apart costs as much as its rows have pieces", () => {
  const [rows, columns] = [3, 480];
  const row = `Papier  20000000  ${"ks  ".repeat(columns - 1)}`;
  const source = `Popis  Množstvo  ${"MJ  ".repeat(columns)}\n${`${row}\n`.repeat(rows)}`;
  const compared = vi.spyOn(Math, "abs");
  try {
    expect(linesOf(map("text", source))).toHaveLength(rows);
    expect(compared.mock.calls.length).toBeLessThan(20 * rows * columns);
  } finally {
    compared.mockRestore();
  }
});

test("an address is read once, however its blanks could be divided between place and country", () => {
  const address = `Hlavná 1,04001${" ".repeat(1_300)}x,${" ".repeat(2_600)},`;
  expect(within(MUCH_MS, () => map("json", { recipient: { address } }).kind)).toBe("mapped");
});

test("a long name of a column is no part of what is kept of each of its cells", () => {
  const names = ["Popis", "Množstvo", ...Array.from({ length: 30 }, () => `IČO${".".repeat(30_000)}`)];
  const rows = Array.from({ length: 300 }, (_, row) => names.map((_, at) => `${row}-${at}`).join(";"));
  const source = [names.join(";"), ...rows].join("\n");
  expect(within(MUCH_MS, () => linesOf(map("csv", source)))).toHaveLength(300);
});

test("lines of a list are found by what stands behind hundreds of other members", () => {
  const before = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`x${at}`, "x"]));
  const wide = [1, 2].map((quantity) => ({ ...before, popis: "Papier", mnozstvo: quantity, cenazamj: 5 }));
  expect(linesOf(map("json", { vbrp: wide }))).toMatchObject([{ quantity: 1 }, { quantity: 2 }]);
});

/** Characters of all names that are folded while `act` runs. */
function folded(act: () => unknown): number {
  const normalize = vi.spyOn(String.prototype, "normalize");
  try {
    act();
    return normalize.mock.contexts.reduce<number>((sum, text) => sum + String(text).length, 0);
  } finally {
    normalize.mockRestore();
  }
}

const FIELD_MAP: FieldMap = { number: "Doklad.Cislo", "lines[].unitPrice": "Cena" };
const LEVELS = 55;

/** So many values with names of their own below so many levels whose names have so many characters. */
function nested(levels: number, chars: number, values: number): { readonly json: unknown; readonly xml: string } {
  const names = Array.from({ length: levels }, (_, at) => `n${at}`.padEnd(chars, "x"));
  const leaves = Array.from({ length: values }, (_, at) => `a${at}`);
  const json = names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), {
    ...Object.fromEntries(leaves.map((name) => [name, 1])),
    groups: leaves.map((name) => ({ [name]: { b: 1 } })),
  });
  const inner = leaves.map((name) => `<${name}>1</${name}><${name}><b>1</b></${name}>`).join("");
  const xml = names.reduceRight((content, name) => `<${name}>${content}</${name}>`, inner);
  return { json, xml: `<r>${xml}</r>` };
}

test.each(["json", "xml"] as const)("names of %s are folded once, however many values stand below them", (form) => {
  for (const fieldMap of [{}, FIELD_MAP]) {
    const work = (levels: number, values: number): number => {
      const source = nested(levels, 10, values)[form];
      return folded(() => map(form, source, fieldMap));
    };
    const flat = work(1, 400);
    expect(work(LEVELS, 400) - flat).toBeLessThan(4 * LEVELS * 10);
    expect(work(LEVELS, 800)).toBeLessThan(2.5 * work(LEVELS, 400));
  }
});

test.each(["json", "xml"] as const)("names of %s of any length cost as much as they are long", (form) => {
  for (const fieldMap of [{}, FIELD_MAP]) {
    const source = nested(LEVELS, 2_000, 400)[form];
    expect(folded(() => map(form, source, fieldMap))).toBeLessThan(8 * LEVELS * 2_000);
  }
});

test("a name that stands in XML many times is folded once", () => {
  const attributes = Array.from({ length: 60 }, (_, at) => `name${at}="1"`).join(" ");
  const work = (elements: number): number =>
    folded(() => map("xml", `<r>${`<item ${attributes}><price>1</price></item>`.repeat(elements)}</r>`));
  expect(work(200)).toBe(work(100));
});

test("XML with more places of their own than any document has is told so before it is asked what they mean", () => {
  const attributes = Array.from({ length: 60 }, (_, at) => `a${at}="1"`).join(" ");
  const xml = (elements: number): string =>
    `<r>${Array.from({ length: elements }, (_, at) => `<n${at} ${attributes}/>`).join("")}</r>`;
  expect(map("xml", xml(300)).kind).toBe("mapped");
  expect(map("xml", xml(400))).toMatchObject({
    ruleId: "MAPPER-PLACES",
    message: "The source has more than 20000 members or elements whose names and places differ.",
  });
});

test("a long name of a column is folded for the table, not for each of its rows", () => {
  const names = ["Popis", "Množstvo", "x".repeat(30_000), "Cena", "DPH"];
  const work = (rows: number): number =>
    folded(() => map("csv", `${names.join(";")}\n${`${names.map(() => "1").join(";")}\n`.repeat(rows)}`));
  expect(work(40)).toBeLessThan(work(20) + 30_000);
});

test.each<readonly [string, SourceType, (marks: string) => unknown]>([
  ["a value", "json", (marks) => ({ type: `a${marks}` })],
  ["a name", "json", (marks) => ({ [`a${marks}`]: 1 })],
  ["a cell", "csv", (marks) => `a${marks.slice(-15_000)};x`],
])("a row of marks in %s is brought into no order, for that takes the square of its length", (_, form, source) => {
  const marks = "\u{315}".repeat(10_000) + "\u{316}".repeat(10_000);
  expect(folded(() => map(form, source(marks)))).toBeLessThan(1_000);
});
