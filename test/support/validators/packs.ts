import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { importRules } from "../../../validators/schematron/release/import.js";
import { loadPack } from "../../../validators/schematron/release/load.js";
import type { LoadedPack } from "../../../validators/schematron/release/load.js";
import type { RuleSet } from "../../../validators/rules/rule.js";
import { scan, SCAN_LIMITS } from "../../../validators/xml/scanner.js";
import type { XmlDocument } from "../../../validators/xml/document.js";
import { conformance } from "../conformance.js";

/** More findings than any document of the tests has. */
export const FINDINGS_MAX = 100_000;

/** Runs `body` with an empty directory for packs that is gone afterwards. */
export function withRulesDir<T>(body: (directory: string) => T): T {
  const directory = mkdtempSync(join(tmpdir(), "kurier-rules-"));
  try {
    return body(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Imports a release of conformance/schematron and loads it, the whole way an operator's import goes. */
export const importedPack = (release: string): LoadedPack =>
  withRulesDir((rulesDir) => {
    importRules({ source: conformance("schematron", release), rulesDir });
    return loadPack(rulesDir, release);
  });

/** The rule set of one schema file of a pack. */
export function ruleSetOf(pack: LoadedPack, file: string): RuleSet {
  const found = pack.schemas.find(({ entry }) => entry.file === file);
  if (found === undefined) throw new Error(`the pack has no ${file}`);
  return found.rules;
}

/** The document of some bytes; it is valid until the next call. */
export function documentOf(bytes: Buffer): XmlDocument {
  const result = scan(bytes, SCAN_LIMITS);
  if (result.kind !== "document") throw new Error(result.findings[0]?.message);
  return result.document;
}

/** Sorted ids of the asserts that fail. */
export const failedIds = (rules: RuleSet, document: XmlDocument): string[] =>
  rules
    .run(document, FINDINGS_MAX)
    .findings.map(({ ruleId }) => ruleId)
    .sort();
