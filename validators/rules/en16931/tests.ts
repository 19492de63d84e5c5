/** Conditions that many asserts of EN 16931 share, cut to paths. */
import { NONE } from "../../xml/document.js";
import type { NameId } from "../../xml/names.js";
import { at, nameId } from "../path.js";
import { fatal, ofNames, ofNamesFirst } from "../rule.js";
import type { Assert, Test } from "../rule.js";
import { codePoints, fractionLengthOf, isBlankText, onlyChild } from "../values.js";
import type { En16931Facts } from "./facts.js";

export type En16931Test = Test<En16931Facts>;
export type En16931Assert = Assert<En16931Facts>;

/** exists(path) for one of the paths. */
export function present(...paths: readonly string[]): En16931Test {
  const all = paths.map(at);
  const [only] = all;
  if (all.length === 1 && only !== undefined) return ofNames((doc, e) => only.exists(doc, e));
  return ofNames((doc, e) => all.some((path) => path.exists(doc, e)));
}

/**
 * normalize-space(path) != "" for one of the paths. @throws RuleError XPTY0004 when a path leads to several elements.
 */
export function filled(...paths: readonly string[]): En16931Test {
  const all = paths.map(at);
  return ofNamesFirst(
    // What is there and holds no elements is no white space, where the form is known.
    (doc, e) => {
      const found = all.map((path) => path.one(doc, e)).filter((element) => element !== NONE);
      return found.some((element) => doc.hasElements(element)) ? undefined : found.length > 0;
    },
    (doc, e) =>
      all.some((path) => {
        const found = path.one(doc, e);
        return found !== NONE && !isBlankText(doc, found);
      }),
  );
}

/** string-length(path) > 1. @throws RuleError XPTY0004 */
export function longerThanOne(text: string): En16931Test {
  const path = at(text);
  return (doc, e) => {
    const found = path.one(doc, e);
    return found !== NONE && codePoints(doc.text(found)) > 1;
  };
}

/** exists(@name) */
export function hasAttribute(name: string): En16931Test {
  const id = nameId(name);
  return ofNames((doc, e) => doc.hasAttr(e, id));
}

/** count(path) <= 1 */
export function atMostOne(text: string): En16931Test {
  const path = at(text);
  return ofNames((doc, e) => path.count(doc, e, 2) <= 1);
}

/** string-length(substring-after(child, ".")) <= 2. @throws RuleError XPTY0004 */
function twoDecimals(name: NameId): En16931Test {
  return ofNamesFirst(
    (doc, e) => {
      const child = onlyChild(doc, e, name);
      return child === NONE || ((d, at) => fractionLengthOf(d, at + child - e) <= 2);
    },
    (doc, e) => {
      const child = onlyChild(doc, e, name);
      return child === NONE || fractionLengthOf(doc, child) <= 2;
    },
  );
}

/** One BR-DEC assert about a child of the context. */
export const decimalsOf = (id: string, terms: string, name: string): En16931Assert =>
  fatal(id, terms, `${name} may have at most two decimals; round it.`, twoDecimals(nameId(name)));

/** Asserts of the official file that always hold: kept so that the catalogue is complete. */
export const alwaysHolds = (id: string, terms: string, message: string): En16931Assert =>
  fatal(
    id,
    terms,
    message,
    ofNames(() => true),
  );
