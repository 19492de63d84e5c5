/**
 * Runs a rule table over a document: one pass in document order, one dispatch list per element name.
 *
 * The lists are worked out once per rule set. Every name of the process-wide table has a slot; the names a document
 * brings along have none and take the wildcard rules, matched by their local name.
 */
import { invalidates } from "../report.js";
import type { Layer } from "../report.js";
import { NONE } from "../xml/document.js";
import type { ElementId, XmlDocument } from "../xml/document.js";
import { internedNames, nameOf } from "../xml/names.js";
import type { NameId } from "../xml/names.js";
import { formedBranches } from "../xml/repeats/forms.js";
import type { Form } from "../xml/repeats/forms.js";
import { nameId } from "./path.js";
import { Plans } from "./plan.js";
import type { Plan, PlanStep } from "./plan.js";
import { RuleError } from "./rule.js";
import type { Assert, AssertFacts, Facts, Pattern, RawFinding, Rule, RuleResult, RuleSet } from "./rule.js";
import { rulingOf } from "./ruling.js";
import type { Ruling } from "./ruling.js";

/** A rule set as its author writes it. */
interface RuleTable<F extends Facts> {
  readonly id: string;
  readonly version: string;
  readonly layer: Layer;
  readonly facts: F;
  readonly patterns: readonly Pattern<F>[];
}

/** Compiles a table. Once per worker: about a millisecond per hundred rules. */
export function ruleSet<F extends Facts>(table: RuleTable<F>): RuleSet {
  const runner = new Runner(table);
  return {
    id: table.id,
    version: table.version,
    layer: table.layer,
    catalogue: table.patterns.flatMap((pattern) => pattern.rules.flatMap(assertsOf)),
    run: (doc, findingsMax) => runner.run(doc, findingsMax),
  };
}

/** The asserts of a rule, those of its survey included. */
const assertsOf = <F extends Facts>(rule: Rule<F>): readonly AssertFacts[] => [
  ...rule.asserts,
  ...(rule.survey?.asserts ?? []),
];

/** One path of a context: a last step and the steps above it. */
interface Step {
  /** Name of the element itself; undefined when `suffix` decides. */
  readonly name: NameId | undefined;
  /** Ending of the local name ("" = any element), used when `name` is undefined. */
  readonly suffix: string;
  /** Names of the ancestors, nearest first; NONE stands for `*`. */
  readonly ancestors: readonly NameId[];
  /** The topmost step must be the document element. */
  readonly rooted: boolean;
}

/** A step of some rule, in the list of an element name. */
interface Candidate<F extends Facts> extends Step {
  readonly rule: Ruling<F>;
  readonly pattern: number;
  /** Position in the list where the next pattern starts. */
  readonly next: number;
}

/** Stands for "this name has no list"; compared by identity. */
const NO_CANDIDATES: readonly never[] = [];

class Runner<F extends Facts> {
  readonly #table: RuleTable<F>;
  readonly #steps: readonly Candidate<F>[];
  readonly #lists: readonly (readonly Candidate<F>[])[];
  readonly #wildcards: readonly Candidate<F>[];
  readonly #concerned: Uint8Array;
  readonly #plans = new Plans<F>();
  /** What plans depend on beside the form: the document element, and the patterns that are concerned. */
  #planKey = "";
  #lastForm: Form | undefined;
  #lastPlan: Plan<F> | undefined;

  constructor(table: RuleTable<F>) {
    this.#table = table;
    this.#concerned = new Uint8Array(table.patterns.length);
    this.#steps = table.patterns.flatMap((pattern, index) =>
      pattern.rules.flatMap((rule) => {
        const ruling = rulingOf(rule);
        return parseContext(rule.context).map((step) => ({ ...step, rule: ruling, pattern: index, next: 0 }));
      }),
    );
    this.#wildcards = this.#steps.filter((step) => step.name === undefined);
    this.#lists = Array.from({ length: internedNames() }, (_, name) => this.#listFor(name));
  }

  run(doc: XmlDocument, findingsMax: number): RuleResult {
    const { facts, patterns } = this.#table;
    const findings = new Findings(findingsMax);
    facts.reset(doc);
    for (let i = 0; i < patterns.length; i += 1) this.#concerned[i] = isConcerned(doc, facts, patterns[i]) ? 1 : 0;
    this.#planKey = `${doc.name(0)} ${this.#concerned.join("")}`;
    this.#lastForm = undefined;
    try {
      this.#judgeAll(doc, findings);
      return findings;
    } catch (error) {
      if (!(error instanceof RuleError)) throw error;
      return this.#runCarefully(doc, findingsMax);
    }
  }

  /** The pass of a document without dynamic errors: elements outside, patterns inside. */
  #judgeAll(doc: XmlDocument, findings: Findings): void {
    const facts = this.#table.facts;
    const concerned = this.#concerned;
    const { elements, forms } = formedBranches(doc);
    let next = 0;
    for (let e = 0; e < doc.count; e += 1) {
      if (e === elements[next]) {
        const plan = this.#planFor(doc, e, forms[next] as Form);
        next += 1;
        if (plan !== undefined) {
          this.#follow(plan, doc, e, findings);
          e = doc.end(e) - 1;
          continue;
        }
      }
      const list = this.#list(doc, doc.name(e));
      for (let i = 0; i < list.length;) {
        const candidate = list[i] as Candidate<F>;
        if (
          concerned[candidate.pattern] === 1 &&
          isBelow(doc, e, candidate) &&
          (candidate.rule.when === undefined || candidate.rule.when(doc, e, facts))
        ) {
          judge(doc, e, facts, candidate.rule, findings);
          i = candidate.next;
        } else {
          i += 1;
        }
      }
    }
  }

  /** Judges a branch by what its form has left open. */
  #follow(plan: Plan<F>, doc: XmlDocument, branch: ElementId, findings: Findings): void {
    const facts = this.#table.facts;
    for (let i = 0; i < plan.length;) {
      const step = plan[i] as PlanStep<F>;
      const e = branch + step.offset;
      if (step.when === undefined || step.when(doc, e, facts)) {
        judge(doc, e, facts, step, findings);
        i = step.next;
      } else {
        i += 1;
      }
    }
  }

  /** Branches of one form come in runs, as lines do: the last plan is often the next. */
  #planFor(doc: XmlDocument, element: ElementId, form: Form): Plan<F> | undefined {
    if (this.#lastForm !== form) {
      this.#lastForm = form;
      this.#lastPlan = this.#plans.of(doc, { element, form }, this.#planKey, (e) =>
        this.#list(doc, doc.name(e)).filter(
          (candidate) => this.#concerned[candidate.pattern] === 1 && isBelow(doc, e, candidate),
        ),
      );
    }
    return this.#lastPlan;
  }

  /**
   * The pass after a dynamic error, in the order of the official stylesheets (patterns outside, elements inside), so
   * that the error reported is the one they report. An error in a predicate of a context means that it does not match;
   * an error in an assert ends the layer.
   */
  #runCarefully(doc: XmlDocument, findingsMax: number): RuleResult {
    const facts = this.#table.facts;
    const findings = new Findings(findingsMax);
    let at: Failure<F> | undefined;
    try {
      for (let pattern = 0; pattern < this.#table.patterns.length; pattern += 1) {
        for (let e = 0; e < doc.count && this.#concerned[pattern] === 1; e += 1) {
          const match = this.#list(doc, doc.name(e)).find(
            (candidate) =>
              candidate.pattern === pattern &&
              isBelow(doc, e, candidate) &&
              holdsQuietly(doc, e, facts, candidate.rule),
          );
          if (match === undefined) continue;
          at = { element: e, asserts: match.rule.asserts };
          judge(doc, e, facts, match.rule, findings);
        }
      }
    } catch (error) {
      if (!(error instanceof RuleError)) throw error;
      const failed = at?.asserts.find((assert) => fails(assert, doc, at?.element ?? 0, facts));
      const finding = engineFinding(error.code, { element: at?.element, at: error.element, ruleId: failed?.id });
      return { findings: [finding], dropped: 0, droppedInvalid: false };
    }
    return findings.inDocumentOrder();
  }

  /** The candidates of an element name, patterns in order. */
  #list(doc: XmlDocument, name: NameId): readonly Candidate<F>[] {
    if (name < this.#lists.length) return this.#lists[name] ?? NO_CANDIDATES;
    if (this.#wildcards.length === 0) return NO_CANDIDATES;
    return withNext(this.#wildcards.filter((step) => endsIn(doc.prefixed(name), step.suffix)));
  }

  #listFor(name: NameId): readonly Candidate<F>[] {
    const local = nameOf(name).local;
    const fits = this.#steps.filter((step) =>
      step.name === undefined ? endsIn(local, step.suffix) : step.name === name,
    );
    return fits.length === 0 ? NO_CANDIDATES : withNext(fits);
  }
}

/** The element whose rule could not be evaluated, with the asserts that were made of it. */
interface Failure<F extends Facts> {
  readonly element: ElementId;
  readonly asserts: readonly Assert<F>[];
}

/** Whether an assert ends in a dynamic error. */
function fails<F extends Facts>(assert: Assert<F>, doc: XmlDocument, e: ElementId, facts: F): boolean {
  try {
    assert.holds(doc, e, facts);
    return false;
  } catch (error) {
    if (error instanceof RuleError) return true;
    throw error;
  }
}

/** Copies of the candidates that know where in this list the next pattern starts. */
function withNext<F extends Facts>(candidates: readonly Candidate<F>[]): readonly Candidate<F>[] {
  return candidates.map((candidate) => {
    const next = candidates.findIndex((other) => other.pattern > candidate.pattern);
    return { ...candidate, next: next < 0 ? candidates.length : next };
  });
}

/** A pattern whose guard cannot be evaluated is run: the error, if it matters, then comes from its rules. */
function isConcerned<F extends Facts>(doc: XmlDocument, facts: F, pattern: Pattern<F> | undefined): boolean {
  try {
    return pattern?.concerns === undefined || pattern.concerns(doc, facts);
  } catch (error) {
    if (error instanceof RuleError) return true;
    throw error;
  }
}

const endsIn = (name: string, suffix: string): boolean => suffix === "" || name.endsWith(suffix);

function judge<F extends Facts>(doc: XmlDocument, e: ElementId, facts: F, rule: Ruling<F>, findings: Findings): void {
  const asserts = rule.asserts;
  for (let i = 0; i < asserts.length; i += 1) {
    const assert = asserts[i] as (typeof asserts)[number];
    if (!assert.holds(doc, e, facts)) findings.add(assert, e);
  }
  const survey = rule.survey;
  if (survey !== undefined)
    survey.judge(doc, e, facts, (index, at) => findings.add(survey.asserts[index] as AssertFacts, e, at));
}

function holdsQuietly<F extends Facts>(doc: XmlDocument, e: ElementId, facts: F, rule: Ruling<F>): boolean {
  try {
    return rule.when === undefined || rule.when(doc, e, facts);
  } catch (error) {
    if (error instanceof RuleError) return false;
    throw error;
  }
}

/** True when the ancestors of the element are those of the step. */
function isBelow(doc: XmlDocument, e: ElementId, step: Step): boolean {
  let ancestor = doc.parent(e);
  const { ancestors } = step;
  for (let i = 0; i < ancestors.length; i += 1) {
    if (ancestor === NONE) return false;
    const name = ancestors[i];
    if (name !== NONE && name !== doc.name(ancestor)) return false;
    ancestor = doc.parent(ancestor);
  }
  return !step.rooted || ancestor === NONE;
}

/** "/Invoice/cac:TaxTotal | cac:Price" as steps. */
function parseContext(context: string): readonly Step[] {
  return context.split("|").map((text) => {
    const path = text.trim();
    const names = path.replace(/^\//u, "").split("/");
    const last = names.pop() ?? "";
    return {
      name: last.startsWith("*") ? undefined : nameId(last),
      suffix: last.startsWith("*") ? last.slice(1) : "",
      ancestors: names.reverse().map((name) => (name === "*" ? NONE : nameId(name))),
      rooted: path.startsWith("/"),
    };
  });
}

/** The findings of one run, bounded. */
class Findings implements RuleResult {
  readonly findings: RawFinding[] = [];
  dropped = 0;
  droppedInvalid = false;
  readonly droppedRules = new Map<string, number>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  add(assert: AssertFacts, element: ElementId, at?: ElementId): void {
    if (this.findings.length >= this.#max) {
      this.dropped += 1;
      this.droppedRules.set(assert.id, (this.droppedRules.get(assert.id) ?? 0) + 1);
      if (invalidates(assert.severity)) this.droppedInvalid = true;
    } else {
      this.findings.push({
        ruleId: assert.id,
        severity: assert.severity,
        element,
        ...(at === undefined ? {} : { at }),
        message: assert.message,
        terms: assert.terms,
      });
    }
  }

  inDocumentOrder(): RuleResult {
    return {
      findings: this.findings.sort((a, b) => a.element - b.element),
      dropped: this.dropped,
      droppedInvalid: this.droppedInvalid,
      droppedRules: this.droppedRules,
    };
  }
}

/** What is known of the place of a dynamic error. */
interface FailurePlace {
  /** The element that was judged; default the document element. */
  readonly element?: ElementId | undefined;
  /** The element whose value cannot be worked with. */
  readonly at?: ElementId | undefined;
  /** The rule that could not be evaluated. */
  readonly ruleId?: string | undefined;
}

/** What each dynamic error of XPath means to the author of a document. */
const ERROR_WORDS: Readonly<Record<string, string>> = {
  FORG0001: "a value in it or below it is no number, date or indicator, as 12,50 or 31.12.2026 is none",
  XPTY0004: "something in it or below it stands there several times that may stand there once",
  FOAR0001: "a number in it or below it is zero that something is divided by",
};

/**
 * What remains of a layer after a dynamic error; stored results carry the same id (design/validation.md, section 6).
 */
export const engineFinding = (code: string, { element = 0, at, ruleId }: FailurePlace = {}): RawFinding => ({
  ruleId: `!err:${code}`,
  severity: "fatal",
  element,
  ...(at === undefined ? {} : { at }),
  message: `${ruleId === undefined ? "A rule" : `The rule ${ruleId}`} about this element cannot be evaluated: ${ERROR_WORDS[code] ?? "a value in it or below it has the wrong form, or stands there several times"}. Correct it and validate again; until then nothing else is said about this layer.`,
  terms: [],
});
