/** Compares rule sets over documents: imported against built-in, and against the tests a release brings along. */
import type { RuleSet } from "../../rules/rule.js";
import type { XmlDocument } from "../../xml/document.js";
import { marksBroken } from "./test-set.js";
import type { EmbeddedTest } from "./test-set.js";

/** Findings compared per document and rule set; no document of the corpora comes near. */
const FINDINGS_MAX = 100_000;

export type Difference = {
  readonly document: string;
  readonly ruleId: string;
  /** Where, as in reports; empty for a dynamic error, which has no place. */
  readonly location: string;
  readonly severity: string;
  readonly builtIn: number;
  readonly imported: number;
};

/** A document to compare on; `scan` gives the same document to both rule sets. */
export type CorpusDocument = { readonly name: string; readonly document: XmlDocument };

/**
 * Runs both on every document and compares multisets of id, severity and place.
 * @param only  ids to compare; default: all. Imported releases may know ids that the built-in rules do not.
 */
export function verifyRules(
  builtIn: RuleSet,
  imported: RuleSet,
  corpus: Iterable<CorpusDocument>,
  only?: ReadonlySet<string>,
): { readonly documents: number; readonly differences: Difference[] } {
  const differences: Difference[] = [];
  let documents = 0;
  for (const { name, document } of corpus) {
    documents++;
    const [left, right] = [tally(builtIn, document, only), tally(imported, document, only)];
    for (const key of new Set([...left.keys(), ...right.keys()])) {
      const [a = 0, b = 0] = [left.get(key), right.get(key)];
      const [ruleId = "", severity = "", location = ""] = key.split("\n");
      if (a !== b) differences.push({ document: name, ruleId, severity, location, builtIn: a, imported: b });
    }
  }
  return { documents, differences };
}

function tally(rules: RuleSet, document: XmlDocument, only: ReadonlySet<string> | undefined): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { ruleId, severity, element } of rules.run(document, FINDINGS_MAX).findings) {
    if (only !== undefined && !only.has(ruleId) && !ruleId.startsWith("!")) continue;
    const key = `${ruleId}\n${severity}\n${ruleId.startsWith("!") ? "" : document.path(element)}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

/** Ids that both know: what can be compared at all. */
export function sharedIds(a: RuleSet, b: RuleSet): Set<string> {
  const known = new Set(a.catalogue.map(({ id }) => id));
  return new Set(b.catalogue.map(({ id }) => id).filter((id) => known.has(id)));
}

/**
 * Runs official tests and returns what is broken, as sentences. A mark counts only for rules that the sets know.
 * @param read  bytes of a test → the document, or undefined when it cannot be read
 */
export function verifyTests(
  ruleSets: readonly RuleSet[],
  tests: readonly EmbeddedTest[],
  read: (bytes: Buffer) => XmlDocument | undefined,
): string[] {
  const known = new Set(ruleSets.flatMap((rules) => rules.catalogue.map(({ id }) => id)));
  return tests.flatMap((test) => {
    const document = read(test.document);
    if (document === undefined) return [`test ${test.position} cannot be read`];
    const failed = ruleSets.flatMap((rules) => rules.run(document, FINDINGS_MAX).findings.map(({ ruleId }) => ruleId));
    return marksBroken(
      test.marks.filter(({ rule }) => known.has(rule)),
      failed,
    ).map((problem) => `test ${test.position}: ${problem}`);
  });
}
