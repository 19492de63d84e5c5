/** Child paths of rules, "cac:Party/cac:PostalAddress", resolved to name ids once and walked without allocation. */
import { NONE } from "../xml/document.js";
import type { ElementId, XmlDocument } from "../xml/document.js";
import { internName, NS } from "../xml/names.js";
import type { NameId } from "../xml/names.js";
import { RuleError } from "./rule.js";
import { walked } from "./walks.js";

const NAMESPACES: Readonly<Record<string, string>> = { cbc: NS.cbc, cac: NS.cac, ext: NS.ext };
const ROOTS: Readonly<Record<string, string>> = {
  Invoice: NS.Invoice,
  CreditNote: NS.CreditNote,
  ApplicationResponse: NS.ApplicationResponse,
};

/**
 * The name id of "cac:Party", "Invoice" (a document element) or "@schemeID".
 * @throws Error when the prefix is not one of reports; a mistake in a table, found when it is loaded.
 */
export function nameId(qualified: string): NameId {
  if (qualified.startsWith("@")) return internName("", qualified.slice(1));
  const colon = qualified.indexOf(":");
  const namespace = colon < 0 ? ROOTS[qualified] : NAMESPACES[qualified.slice(0, colon)];
  if (namespace === undefined) throw new Error(`unknown name in a rule table: ${qualified}`);
  return internName(namespace, qualified.slice(colon + 1));
}

/** A test of one element at a path; `value` is handed through, so that no closure is needed. */
type TestOf<V> = (doc: XmlDocument, e: ElementId, value: V) => boolean;

/** What is claimed of some element along the steps. */
type Claim<V> = readonly [steps: readonly NameId[], test: TestOf<V>, value: V];

/** A relative path of child steps. What it takes a long walk to find is found once for each element to begin at. */
export class Path {
  readonly #steps: readonly NameId[];

  /** @param text steps separated by "/", "cac:Item/cbc:Name". */
  constructor(text: string) {
    this.#steps = text.split("/").map(nameId);
  }

  exists(doc: XmlDocument, e: ElementId): boolean {
    return this.first(doc, e) !== NONE;
  }

  /** The first element at the path in document order, or NONE. */
  first(doc: XmlDocument, e: ElementId): ElementId {
    const steps = this.#steps;
    // One step has the memory of the document.
    return steps.length === 1 ? doc.child(e, steps[0] ?? NONE) : walked(doc, e, firstAlong, steps);
  }

  /** How many elements are at the path, counted no further than `max`. */
  count(doc: XmlDocument, e: ElementId, max: number): number {
    return Math.min(walked(doc, e, countAlong, [this.#steps, max]), max);
  }

  /**
   * The element at the path, or NONE, where XPath requires at most one item.
   * @throws RuleError XPTY0004 when there are several.
   */
  one(doc: XmlDocument, e: ElementId): ElementId {
    const found = this.first(doc, e);
    if (found !== NONE && this.count(doc, e, 2) > 1) throw new RuleError("XPTY0004");
    return found;
  }

  /** True when `test`, a function of a module, holds for some element at the path. */
  some<V>(doc: XmlDocument, e: ElementId, test: TestOf<V>, value: V): boolean {
    return walked<boolean, Claim<V>>(doc, e, someAlong, [this.#steps, test, value]);
  }

  /** Calls `visit` for every element at the path, in document order. */
  each<V>(doc: XmlDocument, e: ElementId, visit: (doc: XmlDocument, e: ElementId, value: V) => void, value: V): void {
    eachAt(doc, e, this.#steps, 0, visit, value);
  }
}

/** A path, for tables: `at("cac:Item/cbc:Name").exists(doc, line)`. */
export const at = (text: string): Path => new Path(text);

const firstAlong = (doc: XmlDocument, e: ElementId, steps: readonly NameId[]): ElementId => firstAt(doc, e, steps, 0);

function firstAt(doc: XmlDocument, e: ElementId, steps: readonly NameId[], i: number): ElementId {
  const name = steps[i] ?? NONE;
  let child = doc.child(e, name);
  if (i === steps.length - 1) return child;
  for (; child !== NONE; child = doc.nextSame(child)) {
    const found = firstAt(doc, child, steps, i + 1);
    if (found !== NONE) return found;
  }
  return NONE;
}

/** Steps, and how many elements are enough. */
type Count = readonly [steps: readonly NameId[], max: number];
const countAlong = (doc: XmlDocument, e: ElementId, given: Count): number => countAt(doc, e, given, 0);

function countAt(doc: XmlDocument, e: ElementId, given: Count, i: number): number {
  const [steps, max] = given;
  let sum = 0;
  for (let child = doc.child(e, steps[i] ?? NONE); child !== NONE && sum < max; child = doc.nextSame(child)) {
    sum += i === steps.length - 1 ? 1 : countAt(doc, child, given, i + 1);
  }
  return sum;
}

const someAlong = <V>(doc: XmlDocument, e: ElementId, claim: Claim<V>): boolean => someAt(doc, e, claim, 0);

function someAt<V>(doc: XmlDocument, e: ElementId, claim: Claim<V>, i: number): boolean {
  const [steps, test, value] = claim;
  for (let child = doc.child(e, steps[i] ?? NONE); child !== NONE; child = doc.nextSame(child)) {
    if (i === steps.length - 1 ? test(doc, child, value) : someAt(doc, child, claim, i + 1)) return true;
  }
  return false;
}

function eachAt<V>(
  doc: XmlDocument,
  e: ElementId,
  steps: readonly NameId[],
  i: number,
  visit: (doc: XmlDocument, e: ElementId, value: V) => void,
  value: V,
): void {
  for (let child = doc.child(e, steps[i] ?? NONE); child !== NONE; child = doc.nextSame(child)) {
    if (i === steps.length - 1) visit(doc, child, value);
    else eachAt(doc, child, steps, i + 1, visit, value);
  }
}
