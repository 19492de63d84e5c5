/** Child paths of rules, "cac:Party/cac:PostalAddress", resolved to name ids once and walked without allocation. */
import { NONE } from "../xml/document.js";
import type { ElementId, XmlDocument } from "../xml/document.js";
import { internName, NS } from "../xml/names.js";
import type { NameId } from "../xml/names.js";
import { RuleError } from "./rule.js";

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

/** A relative path of child steps. */
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
    return firstAt(doc, e, this.#steps, 0);
  }

  count(doc: XmlDocument, e: ElementId): number {
    return countAt(doc, e, this.#steps, 0);
  }

  /**
   * The element at the path, or NONE, where XPath requires at most one item.
   * @throws RuleError XPTY0004 when there are several.
   */
  one(doc: XmlDocument, e: ElementId): ElementId {
    const found = this.first(doc, e);
    if (found !== NONE && this.count(doc, e) > 1) throw new RuleError("XPTY0004");
    return found;
  }

  /** True when `test` holds for some element at the path; `value` is handed through, so that no closure is needed. */
  some<V>(
    doc: XmlDocument,
    e: ElementId,
    test: (doc: XmlDocument, e: ElementId, value: V) => boolean,
    value: V,
  ): boolean {
    return someAt(doc, e, this.#steps, 0, test, value);
  }

  /** Calls `visit` for every element at the path, in document order. */
  each<V>(doc: XmlDocument, e: ElementId, visit: (doc: XmlDocument, e: ElementId, value: V) => void, value: V): void {
    eachAt(doc, e, this.#steps, 0, visit, value);
  }
}

/** A path, for tables: `at("cac:Item/cbc:Name").exists(doc, line)`. */
export const at = (text: string): Path => new Path(text);

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

function countAt(doc: XmlDocument, e: ElementId, steps: readonly NameId[], i: number): number {
  let sum = 0;
  for (let child = doc.child(e, steps[i] ?? NONE); child !== NONE; child = doc.nextSame(child)) {
    sum += i === steps.length - 1 ? 1 : countAt(doc, child, steps, i + 1);
  }
  return sum;
}

function someAt<V>(
  doc: XmlDocument,
  e: ElementId,
  steps: readonly NameId[],
  i: number,
  test: (doc: XmlDocument, e: ElementId, value: V) => boolean,
  value: V,
): boolean {
  for (let child = doc.child(e, steps[i] ?? NONE); child !== NONE; child = doc.nextSame(child)) {
    if (i === steps.length - 1 ? test(doc, child, value) : someAt(doc, child, steps, i + 1, test, value)) return true;
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
