/**
 * What is left of the rules for branches of one form: the names in such a branch decide which rules concern which of
 * its elements and how every test about names alone comes out, so that only tests of values remain to be made.
 */
import type { ElementId, XmlDocument } from "../xml/document.js";
import type { Form } from "../xml/repeats/forms.js";
import { RuleError } from "./rule.js";
import type { Facts, Test } from "./rule.js";
import { assertWith } from "./ruling.js";
import type { Ruling } from "./ruling.js";

/** A rule whose context an element matches, and its pattern. */
interface Match<F extends Facts> {
  readonly rule: Ruling<F>;
  readonly pattern: number;
}

/** One rule for one element of a branch. */
export interface PlanStep<F extends Facts> extends Ruling<F> {
  /** The element, counted from the first of the branch. */
  readonly offset: number;
  /** The step after the pattern for this element: a pattern judges an element once. */
  readonly next: number;
}
export type Plan<F extends Facts> = readonly PlanStep<F>[];

/** The plans of one rule set, by form. */
export class Plans<F extends Facts> {
  /** A form lives no longer than its document and the memory of forms; its plan goes with it. */
  readonly #known = new WeakMap<Form, { readonly key: string; readonly plan: Plan<F> | undefined }>();

  /**
   * The plan for a branch, undefined when a test about names cannot be made: then it is judged element by element.
   * @param key  what the plan depends on beside the form: equal keys, equal matches
   * @param matching  the rules whose contexts an element matches, in order
   */
  of(
    doc: XmlDocument,
    branch: { readonly element: ElementId; readonly form: Form },
    key: string,
    matching: (e: ElementId) => readonly Match<F>[],
  ): Plan<F> | undefined {
    const known = this.#known.get(branch.form);
    if (known?.key === key) return known.plan;
    const plan = makePlan(doc, branch.element, matching);
    this.#known.set(branch.form, { key, plan });
    return plan;
  }
}

function makePlan<F extends Facts>(
  doc: XmlDocument,
  branch: ElementId,
  matching: (e: ElementId) => readonly Match<F>[],
): Plan<F> | undefined {
  const steps: PlanStep<F>[] = [];
  try {
    for (let e = branch; e < doc.end(branch); e += 1) {
      for (const group of byPattern(matching(e))) {
        const left = remaining(doc, e, group);
        const next = steps.length + left.length;
        for (const { when, asserts, survey } of left) steps.push({ when, asserts, survey, offset: e - branch, next });
      }
    }
    return steps;
  } catch (error) {
    if (error instanceof RuleError) return undefined;
    throw error;
  }
}

/** Matches in groups of one pattern each. */
function byPattern<F extends Facts>(matches: readonly Match<F>[]): readonly (readonly Match<F>[])[] {
  const patterns = [...new Set(matches.map(({ pattern }) => pattern))];
  return patterns.map((pattern) => matches.filter((match) => match.pattern === pattern));
}

/** What the rules of one pattern still have to ask of an element; nothing when the names have answered everything. */
function remaining<F extends Facts>(doc: XmlDocument, e: ElementId, group: readonly Match<F>[]): readonly Ruling<F>[] {
  const left: Ruling<F>[] = [];
  for (const { rule } of group) {
    const applies = rule.when === undefined ? true : leftOf(rule.when, doc, e);
    if (applies === false) continue;
    left.push({
      when: applies === true ? undefined : applies,
      asserts: rule.asserts.flatMap((assert) => {
        const holds = leftOf(assert.holds, doc, e);
        return holds === true ? [] : [assertWith(assert, holds === false ? assert.holds : holds)];
      }),
      survey: rule.survey,
    });
    if (applies === true) break;
  }
  return left.some(({ asserts, survey }) => asserts.length > 0 || survey !== undefined) ? left : [];
}

/** What the form leaves of a test: its answer, a quicker test, or the test itself. */
const leftOf = <F extends Facts>(test: Test<F>, doc: XmlDocument, e: ElementId): boolean | Test<F> =>
  test.byForm?.(doc, e) ?? test;
