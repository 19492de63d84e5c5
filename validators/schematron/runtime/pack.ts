/** Runs compiled rules over a document: a RuleSet like the built-in ones. */
import { invalidates } from "../../report.js";
import type { Layer } from "../../report.js";
import type { ElementId, XmlDocument } from "../../xml/document.js";
import { internedNames } from "../../xml/names.js";
import type { NameId } from "../../xml/names.js";
import { RuleError } from "../../rules/rule.js";
import type { AssertFacts, RawFinding, RuleResult, RuleSet } from "../../rules/rule.js";
import { engineFinding } from "../../rules/runner.js";
import { STATE } from "../compile/module.js";
import { runtime } from "./runtime.js";
import { DOCUMENT } from "./values.js";

type State = unknown[];
type Sink = (index: number, e: ElementId, message?: () => string) => void;
type Judge = (doc: XmlDocument, state: State, e: ElementId) => void;
type Entry = {
  /** Undefined: any element. "document": the document node. */
  readonly name: NameId | "document" | undefined;
  /** Undefined: every element of that name. */
  readonly matches: ((doc: XmlDocument, state: State, e: ElementId) => boolean) | undefined;
  readonly judge: Judge;
};
type Generated = {
  readonly slots: number;
  readonly rules: { readonly asserts: readonly AssertFacts[]; readonly patterns: readonly (readonly Entry[])[] };
};

/** Candidates of one pattern for one element name, in the order of the rules. */
type Candidates = readonly Entry[];

export type PackIdentity = { readonly id: string; readonly version: string; readonly layer: Layer };

/**
 * Makes a rule set of compiled code.
 *
 * The code is loaded with `new Function` and not as an .mjs file: what runs is then exactly the text whose hash was
 * compared, not a file read a second time; a worker can load and drop packs, where the module cache keeps every version
 * for ever; and loading stays synchronous.
 */
export function instantiate(identity: PackIdentity, code: string): RuleSet {
  const load: unknown = new Function("R", `${code}//# sourceURL=pack/${identity.id.replace(/[^\w.-]/g, "_")}.js\n`);
  if (typeof load !== "function") throw new TypeError("compiled rules are no function");
  const generated = load(runtime) as Generated;
  const runner = new PackRunner(generated);
  return { ...identity, catalogue: generated.rules.asserts, run: (doc, findingsMax) => runner.run(doc, findingsMax) };
}

class PackRunner {
  readonly #generated: Generated;
  /**
   * Per element name the candidates of each pattern that has any; names without rules of their own share `wildcards`.
   */
  readonly #lists: readonly (readonly Candidates[] | undefined)[];
  readonly #wildcards: readonly Candidates[];
  readonly #ofDocument: readonly Candidates[];

  constructor(generated: Generated) {
    this.#generated = generated;
    const { patterns } = generated.rules;
    const select = (wanted: Entry["name"]): Candidates[] =>
      patterns
        .map((entries) =>
          entries.filter(({ name }) => name === wanted || (name === undefined && wanted !== "document")),
        )
        .filter((entries) => entries.length > 0);
    const names = new Set(
      patterns.flatMap((entries) => entries.flatMap(({ name }) => (typeof name === "number" ? [name] : []))),
    );
    this.#lists = Array.from({ length: internedNames() }, (_, name) => (names.has(name) ? select(name) : undefined));
    this.#wildcards = select(undefined);
    this.#ofDocument = select("document");
  }

  run(doc: XmlDocument, findingsMax: number): RuleResult {
    const findings: RawFinding[] = [];
    let dropped = 0;
    let droppedInvalid = false;
    const droppedRules = new Map<string, number>();
    const sink: Sink = (index, e, message) => {
      const facts = this.#generated.rules.asserts[index];
      // The message is worked out even beyond the bound: an error in it is an error of the layer.
      const text = message?.() ?? facts?.message ?? "";
      if (facts === undefined || findings.length >= findingsMax) {
        dropped++;
        droppedRules.set(facts?.id ?? "", (droppedRules.get(facts?.id ?? "") ?? 0) + 1);
        if (facts === undefined || invalidates(facts.severity)) droppedInvalid = true;
      } else
        findings.push({
          ruleId: facts.id,
          severity: facts.severity,
          element: Math.max(e, 0),
          message: text,
          terms: facts.terms,
        });
    };
    try {
      this.#judgeAll(doc, this.#newState(sink));
    } catch (error) {
      if (error instanceof RuleError)
        return { findings: [this.#firstError(doc) ?? engineFinding(error.code)], dropped: 0, droppedInvalid: false };
      // Recursion of a pack's own function that never ends.
      if (error instanceof RangeError)
        return { findings: [engineFinding("FOER0000")], dropped: 0, droppedInvalid: false };
      throw error;
    }
    return { findings, dropped, droppedInvalid, droppedRules };
  }

  #newState(sink: Sink): State {
    const state: State = new Array(this.#generated.slots).fill(runtime.UNSET);
    state[STATE.attributes] = new Map();
    state[STATE.sink] = sink;
    return state;
  }

  /** The error that the official stylesheets report of several: they run pattern by pattern, each over all elements. */
  #firstError(doc: XmlDocument): RawFinding | undefined {
    let at: ElementId = 0;
    const state = this.#newState((_index, _e, message) => void message?.());
    try {
      for (const entries of this.#generated.rules.patterns) {
        const named = new Map<NameId, Candidates>();
        const candidatesOf = (name: NameId): Candidates =>
          named.get(name) ??
          remember(
            named,
            name,
            entries.filter((entry) => entry.name === name || entry.name === undefined),
          );
        judgeFirst(
          entries.filter((entry) => entry.name === "document"),
          doc,
          state,
          DOCUMENT,
        );
        for (let e = 0; e < doc.count; e++) {
          at = e;
          judgeFirst(candidatesOf(doc.name(e)), doc, state, e);
        }
      }
    } catch (error) {
      if (error instanceof RuleError)
        return engineFinding(error.code, { element: at, at: error.element, ruleId: this.#assertOf(state) });
      if (!(error instanceof RangeError)) throw error;
    }
    return undefined;
  }

  /** The assert that was being judged; undefined when it was a context or a variable before the first. */
  #assertOf(state: State): string | undefined {
    const index = state[STATE.assert];
    return typeof index === "number" ? this.#generated.rules.asserts[index]?.id : undefined;
  }

  #judgeAll(doc: XmlDocument, state: State): void {
    for (const candidates of this.#ofDocument) judgeFirst(candidates, doc, state, DOCUMENT);
    for (let e = 0; e < doc.count; e++) {
      for (const candidates of this.#lists[doc.name(e)] ?? this.#wildcards) judgeFirst(candidates, doc, state, e);
    }
  }
}

function remember<K, V>(map: Map<K, V>, key: K, value: V): V {
  map.set(key, value);
  return value;
}

/** The first rule of a pattern that matches judges the element; later ones do not see it. */
function judgeFirst(candidates: Candidates, doc: XmlDocument, state: State, e: ElementId): void {
  for (const { matches, judge } of candidates) {
    if (matches !== undefined && !matches(doc, state, e)) continue;
    judge(doc, state, e);
    return;
  }
}
