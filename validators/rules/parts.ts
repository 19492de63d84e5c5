/**
 * Tests that first find the elements they need and then look at their values. What was found once serves wherever the
 * form of the branch is the same: the same elements lie at the same distance.
 */
import { NONE } from "../xml/document.js";
import type { ElementId, XmlDocument } from "../xml/document.js";
import type { Decimal } from "./decimal.js";
import { ofNamesFirst, RuleError } from "./rule.js";
import type { Facts, Test } from "./rule.js";
import { decimalOf } from "./values.js";

/** An element, NONE, or the error of looking for it, which is raised when its value is asked for. */
export type Part = ElementId | RuleError;

/** Looks for an element. */
export function partOf(find: () => ElementId): Part {
  try {
    return find();
  } catch (error) {
    if (error instanceof RuleError) return error;
    throw error;
  }
}

/**
 * A test in two steps.
 * @param find  the elements of a place; looks at names only
 * @param holds  judges their values; `distance` is to be added to every element that was found
 */
export function ofParts<P>(
  find: (doc: XmlDocument, e: ElementId) => P,
  holds: (doc: XmlDocument, parts: P, distance: number) => boolean,
): Test<Facts> {
  return ofNamesFirst(
    (doc, first) => {
      const parts = find(doc, first);
      return (d, e) => holds(d, parts, e - first);
    },
    (doc, e) => holds(doc, find(doc, e), 0),
  );
}

/** xs:decimal of a part, undefined where there is none. @throws RuleError of the search, FORG0001 */
export function partDecimal(doc: XmlDocument, part: Part, distance: number): Decimal | undefined {
  if (typeof part !== "number") throw part;
  return part === NONE ? undefined : decimalOf(doc, part + distance);
}

/** Text of a part, "" where there is none. @throws RuleError of the search */
export function partText(doc: XmlDocument, part: Part, distance: number): string {
  if (typeof part !== "number") throw part;
  return part === NONE ? "" : doc.text(part + distance);
}
