/** Whether other rules may stand in for built-in ones: only when they know every id, and are nowhere milder. */
import { invalidates } from "../report.js";
import type { AssertFacts, RawFinding, RuleResult, RuleSet } from "../rules/rule.js";

/** What would be lost if the offered rules took the place of the built-in ones. */
export interface Coverage {
  /** Built-in ids that the offer does not have. */
  readonly missing: readonly string[];
  /** Built-in ids that make a document invalid, and that the offer only warns about. */
  readonly milder: readonly string[];
}

/**
 * Compares by id: what an assert tests cannot be compared, `kurier rules verify` does that on documents.
 * @param without  ids whose loss the operator has confirmed
 */
export function coverageOf(
  builtIn: Iterable<AssertFacts>,
  offered: Iterable<AssertFacts>,
  without: ReadonlySet<string> = new Set(),
): Coverage {
  const strict = new Map<string, boolean>();
  for (const { id, severity } of offered) strict.set(id, strict.get(id) === true || invalidates(severity));
  const missing = new Set<string>();
  const milder = new Set<string>();
  for (const { id, severity } of builtIn) {
    if (without.has(id)) continue;
    if (!strict.has(id)) missing.add(id);
    else if (invalidates(severity) && strict.get(id) === false) milder.add(id);
  }
  return { missing: [...missing].sort(), milder: [...milder].sort() };
}

/** Whether nothing is lost. */
export const isWhole = ({ missing, milder }: Coverage): boolean => missing.length === 0 && milder.length === 0;

/**
 * Several schemas of one layer as one rule set. A finding that two of them give about one element is given once: a
 * release may hold the same rules twice, flat and split.
 */
export function mergeRuleSets(sets: readonly RuleSet[]): RuleSet {
  const [first] = sets;
  if (first === undefined) throw new TypeError("nothing to merge");
  return sets.length === 1
    ? first
    : {
        id: sets.map(({ id }) => id).join("+"),
        version: first.version,
        layer: first.layer,
        catalogue: sets.flatMap(({ catalogue }) => catalogue),
        run: (doc, findingsMax) => merged(sets.map((rules) => rules.run(doc, findingsMax))),
      };
}

function merged(results: readonly RuleResult[]): RuleResult {
  const seen = new Map<string, number>();
  const findings: RawFinding[] = [];
  for (const [index, result] of results.entries()) {
    for (const finding of result.findings) {
      const key = `${finding.ruleId}\n${finding.element}`;
      const by = seen.get(key);
      // One schema may report an id twice about one element; only another schema's report is a repetition.
      if (by !== undefined && by !== index) continue;
      seen.set(key, index);
      findings.push(finding);
    }
  }
  findings.sort((a, b) => a.element - b.element);
  return {
    findings,
    dropped: results.reduce((sum, { dropped }) => sum + dropped, 0),
    droppedInvalid: results.some(({ droppedInvalid }) => droppedInvalid),
    droppedRules: new Map(results.flatMap(({ droppedRules }) => [...(droppedRules ?? [])])),
  };
}
