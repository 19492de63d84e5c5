/**
 * What the text of an element is worth to XPath 2.0: strings, indicators, decimals, dates, and the errors that a value
 * of the wrong form raises. Rules use these instead of reading text themselves.
 */
import { NONE } from "../xml/document.js";
import type { ElementId, XmlDocument } from "../xml/document.js";
import { cbc } from "../xml/names.js";
import type { NameId } from "../xml/names.js";
import { isSpace } from "../xml/space.js";
import { daysIn, daysSinceEpoch, ZONE, zoneMinutes } from "./calendar.js";
import { decimalIn, fromDouble, parseDecimal, sign } from "./decimal.js";
import type { Decimal } from "./decimal.js";
import { RuleError } from "./rule.js";
import { walked } from "./walks.js";

/**
 * XPath normalize-space(): XML white space trimmed, runs of it one space. Returns the same string when nothing changes.
 */
export function normalizeSpace(text: string): string {
  let previous = true;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    const space = isSpace(code);
    if (space && (previous || code !== 32)) return collapse(text);
    previous = space;
  }
  return previous && text.length > 0 ? text.slice(0, -1) : text;
}

const collapse = (text: string): string =>
  text
    .split(/[ \t\r\n]+/u)
    .filter((word) => word !== "")
    .join(" ");

/** normalize-space(.) of an element. */
export const normalizedText = (doc: XmlDocument, e: ElementId): string =>
  doc.isLong(e) ? doc.ofLong(e, normalizeSpace) : normalizeSpace(doc.text(e));

/** normalize-space(upper-case(.)) of an element. */
export const normalizedUpper = (doc: XmlDocument, e: ElementId): string =>
  doc.isLong(e) ? doc.ofLong(e, upperAndNormal) : upperAndNormal(doc.text(e));
const upperAndNormal = (text: string): string => normalizeSpace(text.toUpperCase());

/** True when normalize-space() would leave nothing. */
export function isBlank(text: string): boolean {
  for (let i = 0; i < text.length; i += 1) if (!isSpace(text.charCodeAt(i))) return false;
  return true;
}

/** True when normalize-space() of an element would be empty. */
export const isBlankText = (doc: XmlDocument, e: ElementId): boolean =>
  doc.isLong(e) ? doc.ofLong(e, isBlank) : isBlank(doc.text(e));

/** XPath string-length(): code points, not UTF-16 units. */
export function codePoints(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i += 1) {
    const code = text.charCodeAt(i);
    if (code >= 0xd800 && code < 0xdc00) count -= 1;
  }
  return count;
}

/**
 * The child of that name, or NONE, where XPath requires at most one. @throws RuleError XPTY0004 when there are several.
 */
export function onlyChild(doc: XmlDocument, e: ElementId, name: NameId): ElementId {
  const child = doc.child(e, name);
  if (child === NONE) return NONE;
  const second = doc.nextSame(child);
  if (second !== NONE) throw new RuleError("XPTY0004", second);
  return child;
}

/** Text of the only child of that name, "" when absent. @throws RuleError XPTY0004 */
export function childText(doc: XmlDocument, e: ElementId, name: NameId): string {
  const child = onlyChild(doc, e, name);
  return child === NONE ? "" : doc.text(child);
}

/** Whether some child of that name has exactly this text (`child = 'x'`). */
export const someChildIs = (doc: XmlDocument, e: ElementId, name: NameId, wanted: string): boolean =>
  walked(doc, e, someIsExactly, [name, wanted] as const);

function someIsExactly(doc: XmlDocument, e: ElementId, [name, wanted]: readonly [NameId, string]): boolean {
  for (let child = doc.child(e, name); child !== NONE; child = doc.nextSame(child))
    if (doc.text(child) === wanted) return true;
  return false;
}

/** xs:decimal(.) @throws RuleError FORG0001 when the text is no decimal. */
export function decimalOf(doc: XmlDocument, e: ElementId): Decimal {
  const value = decimalAt(doc, e);
  if (value === undefined) throw new RuleError("FORG0001", e);
  return value;
}

/** The decimal that the text of an element is, undefined when it is none. Most are read where they lie. */
function decimalAt(doc: XmlDocument, e: ElementId): Decimal | undefined {
  const plain = doc.isPlain(e) ? decimalIn(doc.source, doc.contentStarts[e]!, doc.contentEnds[e]!) : undefined;
  return plain ?? (doc.isLong(e) ? doc.ofLong(e, parseDecimal) : parseDecimal(doc.text(e)));
}

/** xs:decimal(child), undefined when the child is absent. @throws RuleError XPTY0004, FORG0001 */
export function childDecimal(doc: XmlDocument, e: ElementId, name: NameId): Decimal | undefined {
  const child = onlyChild(doc, e, name);
  return child === NONE ? undefined : decimalOf(doc, child);
}

const TRUE = /^[ \t\r\n]*(?:true|1)[ \t\r\n]*$/u;
const FALSE = /^[ \t\r\n]*(?:false|0)[ \t\r\n]*$/u;

/** xs:boolean(.) @throws RuleError FORG0001 when the text is no indicator. */
export function booleanOf(doc: XmlDocument, e: ElementId): boolean {
  const text = doc.text(e);
  if (text === "false") return false;
  if (text === "true") return true;
  const value = doc.isLong(e) ? doc.ofLong(e, parseBoolean) : parseBoolean(text);
  if (value === undefined) throw new RuleError("FORG0001", e);
  return value;
}

const parseBoolean = (text: string): boolean | undefined =>
  TRUE.test(text) ? true : FALSE.test(text) ? false : undefined;

/** cbc:ChargeIndicator = value. @throws RuleError FORG0001 */
export const hasChargeIndicator = (doc: XmlDocument, e: ElementId, value: boolean): boolean =>
  walked(doc, e, someIndicatorIs, [value] as const);

function someIndicatorIs(doc: XmlDocument, e: ElementId, [value]: readonly [boolean]): boolean {
  for (let c = doc.child(e, cbc.ChargeIndicator); c !== NONE; c = doc.nextSame(c)) {
    if (booleanOf(doc, c) === value) return true;
  }
  return false;
}

/** Whether an AllowanceCharge lowers the amount. */
export const isAllowance = (doc: XmlDocument, e: ElementId): boolean => hasChargeIndicator(doc, e, false);
/** Whether an AllowanceCharge raises the amount. */
export const isCharge = (doc: XmlDocument, e: ElementId): boolean => hasChargeIndicator(doc, e, true);

/**
 * Sign of a number as a general comparison with a number literal sees untyped text: the lexical space is that of
 * xs:double, so exponents, INF and NaN are numbers too.
 * @returns -1, 0, 1, or NaN for NaN
 * @throws RuleError FORG0001 when the text is no number.
 */
export function signOf(doc: XmlDocument, e: ElementId): number {
  const plain = decimalAt(doc, e);
  if (plain !== undefined) return sign(plain);
  const found = doc.isLong(e) ? doc.ofLong(e, signIn) : signIn(doc.text(e));
  if (found === undefined) throw new RuleError("FORG0001", e);
  return found;
}

/** The sign of a number that is no plain decimal, undefined when the text is none. */
function signIn(text: string): number | undefined {
  const match = DOUBLE.exec(text);
  if (match === null || (match[2] === "NaN" && match[1] !== "")) return undefined;
  if (match[2] === "NaN") return NaN;
  const size = match[2] === "INF" || /[1-9]/u.test(match[3] ?? "") ? 1 : 0;
  return match[1] === "-" ? 0 - size : size;
}

/**
 * The number that arithmetic makes of untyped text, exactly as written; with an exponent, the nearest double.
 * @throws RuleError FORG0001 when the text is no number, FOCA0002 when it is INF or NaN, which no decimal holds: also
 * with more than 308 digits, which as a double are INF.
 */
export function numberOf(doc: XmlDocument, e: ElementId): Decimal {
  const number = doc.isLong(e) ? doc.ofLong(e, numberIn) : numberIn(doc.text(e));
  if (typeof number === "string") throw new RuleError(number, e);
  return number;
}

/** The number, or the error of looking for one. */
function numberIn(text: string): Decimal | "FORG0001" | "FOCA0002" {
  const plain = text.length < DOUBLE_DIGITS_SAFE || Number.isFinite(Number(text)) ? parseDecimal(text) : undefined;
  if (plain !== undefined) return plain;
  if (!DOUBLE.test(text)) return "FORG0001";
  return fromDouble(Number(text)) ?? "FOCA0002";
}

/** Fewer characters than this are never too many for a double. */
const DOUBLE_DIGITS_SAFE = 300;
const DOUBLE = /^[ \t\r\n]*([+-]?)(INF|NaN|(\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)[ \t\r\n]*$/u;

/** string-length(substring-after(., ".")), counted no further than needed to compare it with a maximum. */
export function fractionLengthOf(doc: XmlDocument, e: ElementId): number {
  if (!doc.isPlain(e)) return fractionLength(doc.text(e));
  const end = doc.contentEnds[e]!;
  const { source } = doc;
  let at = doc.contentStarts[e]!;
  while (at < end && source[at]! !== POINT) at += 1;
  return at < end ? end - at - 1 : 0;
}

const POINT = 0x2e;

/** The same for a text. */
export function fractionLength(text: string): number {
  const point = text.indexOf(".");
  if (point < 0) return 0;
  const length = text.length - point - 1;
  return length <= 2 ? length : codePoints(text.slice(point + 1));
}

const DATE = new RegExp(`^[ \\t\\r\\n]*(-?)(\\d{4,})-(\\d\\d)-(\\d\\d)${ZONE}[ \\t\\r\\n]*$`, "u");

/**
 * xs:date(.) as minutes since 1970-01-01T00:00Z of the start of the day; a date without time zone counts as UTC.
 * @throws RuleError FORG0001 when the text is no date.
 */
export function dateOf(doc: XmlDocument, e: ElementId): number {
  const minutes = doc.isLong(e) ? doc.ofLong(e, parseDate) : parseDate(doc.text(e));
  if (minutes === undefined) throw new RuleError("FORG0001", e);
  return minutes;
}

/** The same for a text; undefined when it is no xs:date (impossible days and the year 0 included). */
export function parseDate(text: string): number | undefined {
  const match = DATE.exec(text);
  if (match === null) return undefined;
  const [, minus, digits = "", monthDigits, dayDigits, zone] = match;
  if (digits.length > 9 || (digits.length > 4 && digits.startsWith("0")) || Number(digits) === 0) return undefined;
  const year = minus === "-" ? 1 - Number(digits) : Number(digits);
  const month = Number(monthDigits);
  const day = Number(dayDigits);
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined;
  return daysSinceEpoch(year, month, day) * 1440 - zoneMinutes(zone);
}
