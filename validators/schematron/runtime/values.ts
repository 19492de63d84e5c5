/**
 * The values of XPath 2.0 at run time, and casts between them.
 *
 * | Item                 | In a sequence of mixed type ("any") | When the compiler knows the type |
 * |----------------------|-------------------------------------|----------------------------------|
 * | element, document    | number: ElementId, -1 = document    | the same                         |
 * | attribute, text node | Attribute, TextNode                 | the same                         |
 * | xs:untypedAtomic     | Untyped                             | string                           |
 * | xs:string            | string                              | string                           |
 * | xs:boolean           | boolean                             | boolean                          |
 * | xs:decimal, integer  | Decimal (an integer has scale 0)    | Decimal                          |
 * | xs:double            | Double                              | number                           |
 * | xs:date, time, …     | Moment                              | Moment                           |
 * The empty sequence, where at most one item can be, is undefined.
 */
import { daysIn, daysSinceEpoch, ZONE, zoneMinutes } from "../../rules/calendar.js";
import {
  Decimal,
  fromDouble,
  isInteger,
  parseDecimal,
  parseInteger,
  toDouble,
  toText,
  truncate,
} from "../../rules/decimal.js";
import { RuleError } from "../../rules/rule.js";
import type { ElementId, XmlDocument } from "../../xml/document.js";
import { trim } from "../../xml/space.js";

/** The document node, parent of the root. */
export const DOCUMENT = -1;

export class Attribute {
  readonly owner: ElementId;
  readonly name: number;
  readonly value: string;

  constructor(owner: ElementId, name: number, value: string) {
    this.owner = owner;
    this.name = name;
    this.value = value;
  }
}

/** A text node, or (with parent undefined) the temporary tree that a variable with content holds. */
export class TextNode {
  readonly parent: ElementId | undefined;
  readonly index: number;
  readonly value: string;

  constructor(parent: ElementId | undefined, index: number, value: string) {
    this.parent = parent;
    this.index = index;
    this.value = value;
  }
}

export class Untyped {
  readonly value: string;

  constructor(value: string) {
    this.value = value;
  }
}

export class Double {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** xs:date, xs:time or xs:dateTime. `instant` is in milliseconds of UTC; a value without time zone counts as UTC. */
export class Moment {
  readonly kind: "date" | "time" | "dateTime";
  readonly instant: number;
  /** Canonical enough to be printed: the collapsed lexical form. */
  readonly text: string;

  constructor(kind: Moment["kind"], instant: number, text: string) {
    this.kind = kind;
    this.instant = instant;
    this.text = text;
  }
}

export type Node = number | Attribute | TextNode;
export type Atomic = string | boolean | Decimal | Untyped | Double | Moment;
export type Item = Node | Atomic;

/** Aborts the layer with an XPath error code. */
export function fail(code: string): never {
  throw new RuleError(code);
}

/** Whether an item is a node of the document. */
export const isNode = (item: Item): item is Node =>
  typeof item === "number" || item instanceof Attribute || item instanceof TextNode;

/** String value of a node. */
export function nodeText(doc: XmlDocument, node: Node): string {
  if (typeof node === "number") return doc.text(node < 0 ? 0 : node);
  return node.value;
}

/** fn:data of one item. */
export const atomize = (doc: XmlDocument, item: Item): Atomic =>
  isNode(item) ? new Untyped(nodeText(doc, item)) : item;

/** The name of the simple type of an atomic value, as casts and error messages use it. */
export type AtomicType =
  | "string"
  | "untyped"
  | "boolean"
  | "integer"
  | "decimal"
  | "double"
  | "date"
  | "time"
  | "dateTime";

/** The string value of an item that is no node. */
export function textOf(value: Atomic): string {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return value ? "true" : "false";
  if (value instanceof Decimal) return toText(value);
  if (value instanceof Untyped) return value.value;
  return value instanceof Double ? doubleText(value.value) : value.text;
}

/** xs:double → xs:string: plain digits from 1e-6 to 1e6, otherwise mantissa and exponent. */
export function doubleText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "INF" : "-INF";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const size = Math.abs(value);
  if (size >= 1e-6 && size < 1e6) {
    const plain = String(value);
    const [mantissa = "", exponent] = plain.split("e");
    if (exponent === undefined) return plain;
    const digits = mantissa.replace(/[-.]/g, "");
    return `${value < 0 ? "-" : ""}0.${"0".repeat(-Number(exponent) - 1)}${digits}`;
  }
  const [mantissa = "", exponent = "0"] = value.toExponential().split("e");
  return `${mantissa.includes(".") ? mantissa : `${mantissa}.0`}E${Number(exponent)}`;
}

const DOUBLE = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;

/** xs:double from its lexical form; undefined when it is none. */
export function parseDouble(text: string): number | undefined {
  const written = trim(text);
  if (DOUBLE.test(written)) return Number(written);
  if (written === "INF") return Infinity;
  if (written === "-INF") return -Infinity;
  return written === "NaN" ? NaN : undefined;
}

/** A text as xs:boolean; undefined when it is none. */
export function parseBoolean(text: string): boolean | undefined {
  if (text === "true" || text === "false") return text === "true";
  const written = trim(text);
  if (written === "true" || written === "1") return true;
  return written === "false" || written === "0" ? false : undefined;
}

const DATE = "(-?(?:[1-9][0-9]{3,8}|0[0-9]{3}))-([0-9]{2})-([0-9]{2})";
const TIME = "([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\\.([0-9]{1,20}))?";
const MOMENTS = {
  date: new RegExp(`^${DATE}()()()()${ZONE}$`),
  time: new RegExp(`^()()()${TIME}${ZONE}$`),
  dateTime: new RegExp(`^${DATE}T${TIME}${ZONE}$`),
} as const;

/** xs:date, xs:time or xs:dateTime from its lexical form; undefined when it is none, or names an impossible day. */
export function parseMoment(kind: Moment["kind"], text: string): Moment | undefined {
  const written = trim(text);
  const match = MOMENTS[kind].exec(written);
  if (match === null) return undefined;
  const [year = 0, month = 1, day = 1] = kind === "time" ? [1972, 12, 31] : match.slice(1, 4).map(Number);
  const [hour = 0, minute = 0, second = 0] = match.slice(4, 7).map(Number);
  if (!isDay(year, month, day) || hour > 24 || minute > 59 || second > 59 || (hour === 24 && minute + second > 0))
    return undefined;
  const millis = Number(`0.${match[7] ?? ""}0`) * 1000;
  const clock = ((hour % 24) * 60 + minute) * 60_000 + second * 1000 + millis;
  const nextDay = hour === 24 && kind === "dateTime" ? 86_400_000 : 0;
  return new Moment(
    kind,
    daysSinceEpoch(year, month, day) * 86_400_000 + clock + nextDay - zoneMinutes(match[8]) * 60_000,
    written,
  );
}

const isDay = (year: number, month: number, day: number): boolean =>
  year !== 0 && month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month);

/** Casts from text, by target; undefined when the text is not in the lexical space (FORG0001). */
const FROM_TEXT: Readonly<Record<Exclude<AtomicType, "untyped">, (text: string) => Atomic | undefined>> = {
  string: (text) => text,
  boolean: parseBoolean,
  integer: parseInteger,
  decimal: parseDecimal,
  double: (text) => {
    const value = parseDouble(text);
    return value === undefined ? undefined : new Double(value);
  },
  date: (text) => parseMoment("date", text),
  time: (text) => parseMoment("time", text),
  dateTime: (text) => parseMoment("dateTime", text),
};

/** Outcome of a cast: the value, or the code of the error it ends in. */
export type Cast = { readonly value: Atomic } | { readonly error: string };

/** Casts an atomic value. Ranges of types derived from xs:integer are the compiler's business. */
export function cast(value: Atomic, target: AtomicType): Cast {
  if (target === "string") return { value: textOf(value) };
  if (target === "untyped") return { value: new Untyped(textOf(value)) };
  if (typeof value === "string" || value instanceof Untyped) {
    const parsed = FROM_TEXT[target](textOf(value));
    return parsed === undefined ? { error: "FORG0001" } : { value: parsed };
  }
  if (target === "boolean" || target === "double" || target === "decimal" || target === "integer")
    return castNumber(value, target);
  return castMoment(value, target);
}

function castNumber(
  value: boolean | Decimal | Double | Moment,
  target: "boolean" | "double" | "decimal" | "integer",
): Cast {
  if (value instanceof Moment) return { error: "XPTY0004" };
  if (target === "boolean") return { value: typeof value === "boolean" ? value : isTrue(value) };
  if (target === "double") return { value: new Double(numberOf(value)) };
  const exact =
    typeof value === "boolean"
      ? parseDecimal(value ? "1" : "0")
      : value instanceof Double
        ? fromDouble(value.value)
        : value;
  if (exact === undefined) return { error: "FOCA0002" };
  return { value: target === "decimal" || (isInteger(exact) && exact.scale === 0) ? exact : truncate(exact) };
}

/** A date and time can become a date or a time, a date a date and time. */
function castMoment(value: boolean | Decimal | Double | Moment, target: "date" | "time" | "dateTime"): Cast {
  if (!(value instanceof Moment)) return { error: "XPTY0004" };
  if (value.kind === target) return { value };
  if (value.kind === "time" || (value.kind === "date" && target === "time")) return { error: "XPTY0004" };
  const zone = /(?:Z|[+-][0-9:]{5})$/.exec(value.text.slice(10))?.[0] ?? "";
  const text =
    target === "date"
      ? value.text.slice(0, value.text.indexOf("T")) + zone
      : target === "time"
        ? value.text.slice(value.text.indexOf("T") + 1)
        : `${value.text.slice(0, value.text.length - zone.length)}T00:00:00${zone}`;
  const moment = parseMoment(target, text);
  return moment === undefined ? { error: "FORG0001" } : { value: moment };
}

/** Effective boolean value of a number. */
export const isTrue = (value: Decimal | Double): boolean =>
  value instanceof Double
    ? value.value !== 0 && !Number.isNaN(value.value)
    : value.small !== 0 || value.big !== undefined;

/** A number or truth value as a double. */
export const numberOf = (value: boolean | Decimal | Double): number =>
  typeof value === "boolean" ? (value ? 1 : 0) : value instanceof Double ? value.value : toDouble(value);
