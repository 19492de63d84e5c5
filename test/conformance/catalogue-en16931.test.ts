/**
 * The built-in EN 16931 tables and the published file name the same facts, in both directions: ids and flags, code lists,
 * forbidden paths and paths that may occur once.
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as countries from "../../validators/rules/codes/countries.js";
import * as currencies from "../../validators/rules/codes/currencies.js";
import * as documents from "../../validators/rules/codes/documents.js";
import * as schemes from "../../validators/rules/codes/schemes.js";
import * as taxes from "../../validators/rules/codes/taxes.js";
import * as units from "../../validators/rules/codes/units.js";
import type { CodeList } from "../../validators/rules/codes/code-list.js";
import { en16931, EN16931_VERSION } from "../../validators/rules/en16931/index.js";
import {
  FORBIDDEN_ANYWHERE,
  FORBIDDEN_ATTRIBUTES,
  FORBIDDEN_ELEMENTS,
  SINGLE_ELEMENTS,
} from "../../validators/rules/en16931/restrictions.js";
import { elementsOf, parseSource } from "../../validators/schematron/release/source-xml.js";
import type { SourceElement } from "../../validators/schematron/release/source-xml.js";
import { conformance, describeConformance } from "../support/conformance.js";

const FILE = "schematron/peppol-3.0.21/CEN-EN16931-UBL.sch";
const everything = (element: SourceElement): SourceElement[] => [element, ...elementsOf(element).flatMap(everything)];
const LISTS: readonly CodeList[] = [countries, currencies, documents, schemes, taxes, units].flatMap((file) =>
  Object.values<CodeList>(file),
);

/** Words of a table in groups. */
function rows(table: string, size: number): string[][] {
  const words = table.trim().split(/\s+/u);
  return Array.from({ length: words.length / size }, (_, i) => words.slice(i * size, (i + 1) * size));
}

/** "id path" of every forbidden element, LINE written as the official union. */
function forbiddenElements(): string[] {
  let parent = "";
  return FORBIDDEN_ELEMENTS.trim()
    .split(/\s+/u)
    .flatMap((word) => {
      const [child = "", number] = word.split("=");
      if (number !== undefined)
        return [`UBL-CR-${number} ${(parent + child).replace("LINE", "(cac:InvoiceLine|cac:CreditNoteLine)")}`];
      parent = child === "/" ? "" : child;
      return [];
    });
}

describeConformance("catalogue of the built-in EN 16931 rules", "schematron", () => {
  const text = readFileSync(conformance(FILE), "utf8");
  const asserts = everything(parseSource(text, FILE))
    .filter((element) => element.local === "assert")
    .map(({ attributes }) => ({
      id: attributes.get("id") ?? "",
      flag: attributes.get("flag") ?? "",
      test: (attributes.get("test") ?? "").replace(/\s+/gu, " "),
    }));
  const testOf = new Map(asserts.map(({ id, test: condition }) => [id, condition]));
  const catalogue = en16931().catalogue;

  test("every published rule is built in with its flag, and nothing else", () => {
    expect(catalogue.map(({ id, severity }) => `${id} ${severity}`).sort()).toEqual(
      asserts.map(({ id, flag }) => `${id} ${flag}`).sort(),
    );
    expect(text).toContain(`Schematron version ${EN16931_VERSION} `);
  });

  test("every list of codes that a rule spells out is one of the built-in lists, and the other way round", () => {
    const key = (codes: Iterable<string>): string => [...codes].sort().join(" ");
    const published = asserts.flatMap(({ test: condition }) =>
      [...condition.matchAll(/contains\( ?'( [^']* )'/gu)].map((match) => key((match[1] ?? "").trim().split(" "))),
    );
    const mime = key(
      [...(testOf.get("BR-CL-24") ?? "").matchAll(/@mimeCode = '([^']*)'/gu)].map((match) => match[1] ?? ""),
    );
    const known = new Set([...published.filter((list) => list !== "SEPA"), mime]);
    expect(new Set(LISTS.map(({ codes }) => key(codes)))).toEqual(known);
  });

  test("every forbidden path is that of the published rule", () => {
    const places = [...rows(FORBIDDEN_ATTRIBUTES, 2), ...rows(FORBIDDEN_ANYWHERE, 2)].map(
      ([path, id]) => `${id} ${path}`,
    );
    for (const row of [...forbiddenElements(), ...places]) {
      const [id = "", path = ""] = row.split(" ");
      expect({ id, condition: testOf.get(id) }).toEqual({ id, condition: `not(${path})` });
    }
  });

  test("every path that may occur once is that of the published rule", () => {
    for (const [path = "", id = ""] of rows(SINGLE_ELEMENTS, 3)) {
      expect({ id, condition: (testOf.get(id) ?? "").replace(/^\((.*)\)$/u, "$1").replace(/ ?<= ?/u, " <= ") }).toEqual(
        { id, condition: `count(${path}) <= 1` },
      );
    }
  });

  test("no message is a published sentence, and every message says what to change", () => {
    const sentences = new Set(
      everything(parseSource(text, FILE))
        .filter((element) => element.local === "assert")
        .map((element) =>
          element.children
            .filter((child) => typeof child === "string")
            .join("")
            .replace(/^\[[^\]]*\]-?/u, "")
            .trim(),
        ),
    );
    for (const { id, message } of catalogue) {
      expect({ id, copied: sentences.has(message), length: message.length > 20, full: message.endsWith(".") }).toEqual({
        id,
        copied: false,
        length: true,
        full: true,
      });
    }
  });
});
