/** The vocabulary of a rule table: what a rule is, before anything runs it. */
import type { Layer, Severity } from "../report.js";
import type { ElementId, XmlDocument } from "../xml/document.js";

/**
 * What a rule set remembers about the document it is judging: values that several asserts need and that are worked out
 * once. One object serves a worker for ever; `reset` forgets the previous document and must not allocate.
 */
export interface Facts {
  reset(doc: XmlDocument): void;
}

/** Facts of a rule set that remembers nothing. */
export const NO_FACTS: Facts = { reset: () => undefined };

/** A claim about one element: true when it holds. May throw RuleError. */
export interface Test<F extends Facts = Facts> {
  (doc: XmlDocument, e: ElementId, facts: F): boolean;
  /**
   * What the form of a branch says about the claim for one of its elements: whether it holds, undefined when values
   * decide, or a quicker test of the values for this element of all branches of the form. The form is known to be
   * plain: an element holds other elements, or text that is more than white space.
   */
  readonly byForm?: FormTest<F>;
}
type FormTest<F extends Facts> = (doc: XmlDocument, e: ElementId) => boolean | Test<F> | undefined;

/** A test that looks at names only: of the element, what is below and above it, and their attributes. */
export const ofNames = (test: (doc: XmlDocument, e: ElementId) => boolean): Test =>
  Object.assign((doc: XmlDocument, e: ElementId) => test(doc, e), { byForm: test });

/** A test that names answer at times, or make quicker: see {@link Test.byForm}. */
export const ofNamesFirst = <F extends Facts>(byForm: FormTest<F>, test: Test<F>): Test<F> =>
  Object.assign((doc: XmlDocument, e: ElementId, facts: F) => test(doc, e, facts), { byForm });

/** What is known about an assert without running it; the catalogue of a rule set is a list of these. */
export interface AssertFacts {
  /** The official id, "BR-CO-15". */
  readonly id: string;
  readonly severity: Severity;
  /** Business terms and groups of EN 16931 the assert is about, "BT-106". */
  readonly terms: readonly string[];
  /** Our own sentence: what is wrong and what to change. Never quotes the document. */
  readonly message: string;
}

export interface Assert<F extends Facts = Facts> extends AssertFacts {
  readonly holds: Test<F>;
}

/**
 * Many asserts of one context judged in one walk, because judging each alone would cost a walk each (the forbidden
 * paths of EN 16931: 706 asserts on the document element). Calls `fail` with the index in `asserts`, in rising order,
 * and with the element that shows the mistake.
 */
export interface Survey<F extends Facts = Facts> {
  readonly asserts: readonly AssertFacts[];
  judge(doc: XmlDocument, e: ElementId, facts: F, fail: (index: number, at?: ElementId) => void): void;
}

/**
 * One rule: a context and what is asserted of every element that matches it.
 *
 * The context is a union of paths separated by "|", in the notation of reports: prefixes cac, cbc, ext, document
 * elements without a prefix.
 */
// cac:Price/cbc:PriceAmount   a PriceAmount whose parent is a Price, at any depth
// /Invoice/cac:TaxTotal       a TaxTotal right below the document element Invoice
// /*/cac:TaxTotal             … right below any document element
// *                           every element
// *Amount                     every element whose local name ends in Amount
export interface Rule<F extends Facts = Facts> {
  readonly context: string;
  /** The predicate of the last step. An error thrown here means "does not match" (XSLT 2.0, 5.5.4). */
  readonly when?: Test<F>;
  readonly asserts: readonly Assert<F>[];
  readonly survey?: Survey<F>;
}

/** Rules in order; an element is judged by the first that matches, later ones of the same pattern do not see it. */
export interface Pattern<F extends Facts = Facts> {
  readonly id: string;
  /** False when no rule of the pattern can match anything in this document (a national group of another country). */
  readonly concerns?: (doc: XmlDocument, facts: F) => boolean;
  readonly rules: readonly Rule<F>[];
}

/** A failed assert, before location and line are worked out. */
export interface RawFinding {
  readonly ruleId: string;
  readonly severity: Severity;
  /** The element that the rule is about. */
  readonly element: ElementId;
  /** The element that shows the mistake, where the rule is about one further up; a reader is led there. */
  readonly at?: ElementId;
  readonly message: string;
  readonly terms: readonly string[];
}

export interface RuleResult {
  /** In document order; at most the number asked for. */
  readonly findings: readonly RawFinding[];
  /** How many more there were. */
  readonly dropped: number;
  /** Whether a dropped one was worse than a warning: a thousand warnings must not make a document invalid. */
  readonly droppedInvalid: boolean;
  /** How many more there were of each rule. */
  readonly droppedRules?: ReadonlyMap<string, number>;
}

/** Something that judges a document: a native table or an imported pack. */
export interface RuleSet {
  /** "en16931", "peppol-billing", or the id of a pack. */
  readonly id: string;
  /** Version of the published rules that the set encodes. */
  readonly version: string;
  /** The layer its findings are reported under. */
  readonly layer: Layer;
  readonly catalogue: readonly AssertFacts[];
  /** Judges one document. Never throws RuleError: it becomes the one finding `!err:CODE`. */
  run(doc: XmlDocument, findingsMax: number): RuleResult;
}

/**
 * A dynamic error of XPath inside an assert: the layer cannot be judged. Codes are those of XPath 2.0:
 * FORG0001 (a value is not of the required type), XPTY0004 (several values where one is required), FOAR0001, …
 */
export class RuleError extends Error {
  readonly code: string;
  /** The element whose value, or whose repetition, cannot be worked with; where that is known. */
  readonly element: ElementId | undefined;

  /** Without a stack: it is a fact about the document, and a hostile one raises it for every element. */
  constructor(code: string, element?: ElementId) {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    super(code);
    Error.stackTraceLimit = limit;
    this.name = "RuleError";
    this.code = code;
    this.element = element;
  }
}

/** Short forms for tables: an assert is one line of facts and one of judgement. */
export const fatal = <F extends Facts>(id: string, terms: string, message: string, holds: Test<F>): Assert<F> =>
  assert("fatal", id, terms, message, holds);

/** An assert whose failure leaves the document valid; see `fatal`. */
export const warning = <F extends Facts>(id: string, terms: string, message: string, holds: Test<F>): Assert<F> =>
  assert("warning", id, terms, message, holds);

/** A rule without predicate. */
export const rule = <F extends Facts>(context: string, ...asserts: readonly Assert<F>[]): Rule<F> => ({
  context,
  asserts,
});

/** A rule whose context has a predicate on its last step. */
export const ruleWhen = <F extends Facts>(
  context: string,
  when: Test<F>,
  ...asserts: readonly Assert<F>[]
): Rule<F> => ({ context, when, asserts });

const assert = <F extends Facts>(
  severity: Severity,
  id: string,
  terms: string,
  message: string,
  holds: Test<F>,
): Assert<F> => ({ id, severity, terms: terms === "" ? [] : terms.split(" "), message, holds });
