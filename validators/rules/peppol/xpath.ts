/**
 * Corners of XPath 2.0 that the Peppol rules stand on, beyond values.ts: `text()`, paths where one item is allowed,
 * `number()`, `castable as`, `substring`; with the dynamic errors of the language.
 *
 * `number()` and comparisons of untyped text with a number are xs:double by the language, so they are plain numbers
 * here and nowhere else; every amount is a Decimal.
 * @source W3C XPath 2.0; XPath and XQuery Functions and Operators (2.0)
 */
import { FLAG, NONE } from "../../xml/document.js";
import type { ElementId, XmlDocument } from "../../xml/document.js";
import type { NameId } from "../../xml/names.js";
import type { Path } from "../path.js";
import { RuleError } from "../rule.js";
import { isBlankText, normalizedText, onlyChild, parseDate } from "../values.js";

/** `normalize-space(child)`. @throws RuleError XPTY0004 when there are several children of that name */
export function childNormalized(doc: XmlDocument, e: ElementId, name: NameId): string {
  const child = onlyChild(doc, e, name);
  return child === NONE ? "" : normalizedText(doc, child);
}

/** Text of the only element at a path, "" without one. @throws RuleError XPTY0004 when there are several */
export function pathText(doc: XmlDocument, e: ElementId, path: Path): string {
  const found = path.one(doc, e);
  return found === NONE ? "" : doc.text(found);
}

/** `normalize-space(path)`. @throws RuleError XPTY0004 when there are several elements at the path */
export function pathNormalized(doc: XmlDocument, e: ElementId, path: Path): string {
  const found = path.one(doc, e);
  return found === NONE ? "" : normalizedText(doc, found);
}

/**
 * An attribute of the only element at a path, "" without one. @throws RuleError XPTY0004 when several elements carry it
 */
export function pathAttribute(doc: XmlDocument, e: ElementId, path: Path, attribute: NameId): string {
  const found: string[] = [];
  path.each(doc, e, pushAttribute, { attribute, found });
  if (found.length > 1) throw new RuleError("XPTY0004");
  return found[0] ?? "";
}

function pushAttribute(
  doc: XmlDocument,
  e: ElementId,
  into: { readonly attribute: NameId; readonly found: string[] },
): void {
  const value = doc.attr(e, into.attribute);
  if (value !== undefined && into.found.length < 2) into.found.push(value);
}

/** Nothing but character data inside: one text node, or none. Spares the walk over the markup. */
const hasPlainText = (doc: XmlDocument, e: ElementId): boolean =>
  ((doc.flags[e] ?? 0) & (FLAG.elements | FLAG.marked)) === 0;

/**
 * `text()` where one item is allowed: a comment splits text in two. @throws RuleError XPTY0004 when there are several
 */
export function textNode(doc: XmlDocument, e: ElementId): string {
  if (hasPlainText(doc, e)) return doc.text(e);
  const nodes = doc.textNodes(e);
  if (nodes.length > 1) throw new RuleError("XPTY0004");
  return nodes[0] ?? "";
}

/**
 * `path/text()` where one item is allowed, over all elements at the path. @throws RuleError XPTY0004 when there are
 * several
 */
export function pathTextNode(doc: XmlDocument, e: ElementId, path: Path): string {
  const found: string[] = [];
  path.each(doc, e, pushTextNodes, found);
  if (found.length > 1) throw new RuleError("XPTY0004");
  return found[0] ?? "";
}

function pushTextNodes(doc: XmlDocument, e: ElementId, found: string[]): void {
  if (found.length > 1) return;
  if (!hasPlainText(doc, e)) found.push(...doc.textNodes(e).slice(0, 2));
  else if (doc.text(e) !== "") found.push(doc.text(e));
}

/** An element without child elements whose text is white space: `not(*) and not(normalize-space())`. */
export function isEmpty(doc: XmlDocument, e: ElementId): boolean {
  if (doc.hasElements(e) || (doc.hasOwnText(e) && hasPlainText(doc, e))) return false;
  return isBlankText(doc, e);
}

/** Test for Path.some: the text of the element is exactly `wanted`. */
export const textIs = (doc: XmlDocument, e: ElementId, wanted: string): boolean => doc.text(e) === wanted;

/** Test for Path.some: the element says something besides white space. */
export const saysSomething = (doc: XmlDocument, e: ElementId): boolean => !isBlankText(doc, e);

const DOUBLE = /^[ \t\n\r]*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN)[ \t\n\r]*$/u;

/** XPath `number()`: NaN for anything that is not in the lexical form of xs:double. */
export function toNumber(text: string): number {
  const found = DOUBLE.exec(text)?.[1];
  if (found === undefined) return NaN;
  return Number(found.endsWith("INF") ? found.replace("INF", "Infinity") : found);
}

/** Whether `number()` gives a value. */
export const isNumeric = (text: string): boolean => !Number.isNaN(toNumber(text));

const INTEGER = /^[ \t\n\r]*[+-]?[0-9]+[ \t\n\r]*$/u;

/** `text castable as xs:integer`. */
export const isCastableAsInteger = (text: string): boolean => INTEGER.test(text);

/** `xs:date(text)` for comparison, in minutes. @throws RuleError FORG0001 when it cannot be cast */
export function toDate(text: string): number {
  const value = parseDate(text);
  if (value === undefined) throw new RuleError("FORG0001");
  return value;
}

/** XPath `substring(text, start, length)` in code points; `start` counts from 1. Reads no further than it cuts. */
export function substring(text: string, start: number, length = Infinity): string {
  const from = offsetOf(text, 0, start - 1);
  return text.slice(from, length === Infinity ? text.length : offsetOf(text, from, length));
}

/** Offset that lies `count` code points behind another. */
function offsetOf(text: string, from: number, count: number): number {
  let offset = from;
  for (let left = count; left > 0 && offset < text.length; left -= 1)
    offset += (text.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1;
  return offset;
}
