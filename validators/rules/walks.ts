/**
 * Walks over siblings whose outcome depends on the document, the element they begin at and constants of a rule, and on
 * nothing else: where they are long they are made once, however many elements ask.
 */
import type { ElementId, XmlDocument } from "../xml/document.js";
import { NEAR_SIBLINGS } from "../xml/repeats/long-walks.js";
import type { Given } from "../xml/repeats/long-walks.js";
import { RuleError } from "./rule.js";

/**
 * What a walk finds from an element. A dynamic error is remembered as well: the predicate of a context may meet it for
 * every element.
 * @param walk  a function of a module, as is each that it is given: a closure made for one call is never met again
 * @throws RuleError of the walk
 */
export function walked<T, G extends Given>(
  doc: XmlDocument,
  e: ElementId,
  walk: (doc: XmlDocument, e: ElementId, given: G) => T,
  given: G,
): T {
  const { walks } = doc;
  if (!walks.isEmpty) {
    const known = walks.recall(e, walk, given);
    if (known?.error !== undefined) throw known.error;
    if (known !== undefined) return known.found as T;
  }
  const before = doc.steps;
  try {
    const found = walk(doc, e, given);
    if (doc.steps - before > NEAR_SIBLINGS) walks.keep(e, { walk, given, found });
    return found;
  } catch (error) {
    if (error instanceof RuleError && doc.steps - before > NEAR_SIBLINGS) walks.keep(e, { walk, given, error });
    throw error;
  }
}

const NOTHING: Given = [];

/**
 * A function that remembers what its long walks have found. To be made once, for a module or an object that lives as
 * long: the walk is its own key.
 */
export function remembered<T>(walk: (doc: XmlDocument, e: ElementId) => T): (doc: XmlDocument, e: ElementId) => T {
  return (doc, e) => walked(doc, e, walk, NOTHING);
}
