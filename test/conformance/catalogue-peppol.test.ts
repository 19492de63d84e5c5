/** The built-in Peppol tables and the published files name the same rules: ids, flags, code lists, in both directions. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { peppolBilling, peppolSelfBilling } from "../../validators/rules/peppol/billing.js";
import * as codes from "../../validators/rules/peppol/codes.js";
import { BILLING, SELF_BILLING } from "../../validators/rules/peppol/variant.js";
import { mlsRules } from "../../validators/rules/mls/mls.js";
import type { RuleSet } from "../../validators/rules/rule.js";
import { elementsOf, parseSource } from "../../validators/schematron/release/source-xml.js";
import type { SourceElement } from "../../validators/schematron/release/source-xml.js";
import { conformance, describeConformance } from "../support/conformance.js";

const everything = (element: SourceElement): SourceElement[] => [element, ...elementsOf(element).flatMap(everything)];

const schema = (path: string): SourceElement[] =>
  everything(parseSource(readFileSync(conformance(path), "utf8"), path));

const published = (path: string): string[] =>
  schema(path)
    .filter((element) => element.local === "assert")
    .map((element) => `${element.attributes.get("id") ?? ""} ${element.attributes.get("flag") ?? ""}`)
    .sort();

const builtIn = (rules: RuleSet): string[] => rules.catalogue.map((assert) => `${assert.id} ${assert.severity}`).sort();

/** The codes of `<let value="tokenize('A B C', '\s')">`. */
function publishedCodes(path: string, name: string): string[] {
  const value = schema(path)
    .find((element) => element.local === "let" && element.attributes.get("name") === name)
    ?.attributes.get("value");
  return [...new Set((/tokenize\('([^']*)'/u.exec(value ?? "")?.[1] ?? "").split(/\s+/u))].sort();
}

/** The codes that the test of an assert spells out. */
function spelledCodes(path: string, id: string): string[] {
  const condition = schema(path)
    .find((element) => element.attributes.get("id") === id)
    ?.attributes.get("test");
  return (/tokenize\('([^']*)'/u.exec(condition ?? "")?.[1] ?? "").split(/\s+/u).sort();
}

const FILES = {
  billing: "schematron/peppol-3.0.21/PEPPOL-EN16931-UBL.sch",
  selfBilling: "schematron/peppol-3.0.21/PEPPOL-EN16931-UBL-SB.sch",
  mls: "schematron/mls-1.0.1/peppol-mls-1.0.1.sch",
} as const;

const CASES = [
  { name: "billing", file: FILES.billing, rules: peppolBilling(), asserts: 165 },
  { name: "self-billing", file: FILES.selfBilling, rules: peppolSelfBilling(), asserts: 62 },
  { name: "message level status", file: FILES.mls, rules: mlsRules(), asserts: 31 },
];

describeConformance("catalogue of the built-in Peppol rules", "schematron", () => {
  test.each(CASES)(
    "$name: every published rule is built in with its flag, and nothing else",
    ({ file, rules, asserts }) => {
      expect(builtIn(rules)).toEqual(published(file));
      expect(rules.catalogue).toHaveLength(asserts);
    },
  );

  test.each(CASES)("$name: every rule says in a sentence of its own what to change", ({ file, rules }) => {
    const official = schema(file)
      .filter((element) => element.local === "assert")
      .map((element) =>
        element.children
          .join("")
          .replace(/^\s*\[[^\]]*\]-?\s*/u, "")
          .trim(),
      );
    for (const { id, message } of rules.catalogue) {
      expect(message, id).toMatch(/^(?:[A-Z]|cbc:|cac:).{15,}\.$/u);
      expect(official, id).not.toContain(message);
    }
    expect(new Set(rules.catalogue.map(({ message }) => message)).size).toBe(rules.catalogue.length);
  });

  test.each([
    ["MIMECODE", codes.MIME_CODES],
    ["ISO4217", codes.CURRENCIES],
    ["UNCL2005", codes.PERIOD_CODES],
    ["UNCL5189", codes.ALLOWANCE_REASONS],
    ["UNCL7161", codes.CHARGE_REASONS],
    ["eaid", codes.ADDRESS_SCHEMES],
  ])("the code list %s is the published one, in both files", (name, list) => {
    expect([...list.codes].sort()).toEqual(publishedCodes(FILES.billing, name));
    expect([...list.codes].sort()).toEqual(publishedCodes(FILES.selfBilling, name));
  });

  test.each([
    ["billing", FILES.billing, BILLING],
    ["self-billing", FILES.selfBilling, SELF_BILLING],
  ])("%s: the type codes are the published ones", (_, file, variant) => {
    expect([...variant.invoiceTypes].sort()).toEqual(spelledCodes(file, "PEPPOL-EN16931-P0100"));
    expect([...variant.creditNoteTypes].sort()).toEqual(spelledCodes(file, "PEPPOL-EN16931-P0101"));
  });
});
