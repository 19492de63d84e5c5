/** Arithmetic and comparison of XPath 2.0 at run time; the generated code calls the variant its types ask for. */
import * as exact from "../../rules/decimal.js";
import { Decimal } from "../../rules/decimal.js";
import {
  cast,
  Double,
  fail,
  isNode,
  isTrue,
  Moment,
  nodeText,
  numberOf,
  parseBoolean,
  parseDouble,
  textOf,
  Untyped,
} from "./values.js";
import type { Atomic, AtomicType, Item } from "./values.js";
import type { Arithmetic, Comparison } from "../xpath/ast.js";
import { compareCodePoints } from "../../xml/c14n.js";
import type { XmlDocument } from "../../xml/document.js";

type Maybe<T> = T | undefined;

/** xs:untypedAtomic → xs:double, as arithmetic and numeric comparison cast it. */
export const doubleOf = (text: string): number => parseDouble(text) ?? fail("FORG0001");

/** fn:number of a text: NaN instead of an error. */
export const numberOfText = (text: Maybe<string>): number => (text === undefined ? NaN : (parseDouble(text) ?? NaN));

/** xs:untypedAtomic → xs:boolean. */
export const booleanOf = (text: string): boolean => parseBoolean(text) ?? fail("FORG0001");

const DIVISIONS = { div: exact.div, idiv: exact.idiv, mod: exact.mod } as const;

/** Exact arithmetic. */
export function arithExact(op: Arithmetic, a: Decimal, b: Decimal): Decimal {
  if (op === "+") return exact.add(a, b);
  if (op === "-") return exact.sub(a, b);
  if (op === "*") return exact.mul(a, b);
  return DIVISIONS[op](a, b) ?? fail("FOAR0001");
}

/** Arithmetic in xs:double. */
function arithDouble(op: Exclude<Arithmetic, "idiv">, a: number, b: number): number {
  switch (op) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "div":
      return a / b;
    case "mod":
      return a % b;
  }
}

/** Whole-number division of doubles. @throws FOAR0001 by zero, FOAR0002 when the result is no number */
export function idivDouble(a: number, b: number): Decimal {
  if (b === 0) fail("FOAR0001");
  return exact.fromDouble(Math.trunc(a / b)) ?? fail("FOAR0002");
}

/** Arithmetic between items of types only known now. */
export function arithAny(op: Arithmetic, a: Maybe<Atomic>, b: Maybe<Atomic>): Maybe<Atomic> {
  if (a === undefined || b === undefined) return undefined;
  const [x, y] = [numeric(a), numeric(b)];
  if (x instanceof Decimal && y instanceof Decimal) return arithExact(op, x, y);
  if (op === "idiv") return idivDouble(numberOf(x), numberOf(y));
  return new Double(arithDouble(op, numberOf(x), numberOf(y)));
}

/** The number an operand of arithmetic stands for: untyped values become xs:double, other types are errors. */
export function numeric(value: Atomic): Decimal | Double {
  if (value instanceof Decimal || value instanceof Double) return value;
  if (value instanceof Untyped) return new Double(doubleOf(value.value));
  return fail("XPTY0004");
}

/** The negative of a number whose type is only known now; nothing stays nothing. */
export function negateAny(value: Maybe<Atomic>): Maybe<Atomic> {
  if (value === undefined) return undefined;
  const number = numeric(value);
  return number instanceof Decimal ? exact.neg(number) : new Double(-number.value);
}

/** Order of two strings, by the name that compiled rules call it. */
export const compareText = compareCodePoints;

/** Whether `order` (-1, 0, 1; NaN = not comparable) satisfies the operator. */
export function holds(op: Comparison, order: number): boolean {
  switch (op) {
    case "=":
      return order === 0;
    case "!=":
      return order !== 0;
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
    case ">":
      return order > 0;
    case ">=":
      return order >= 0;
  }
}

const compareDoubles = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : a === b ? 0 : NaN);

/** Order of two values of the same kind; XPTY0004 when there is none. */
function order(a: Atomic, b: Atomic): number {
  if (typeof a === "string" && typeof b === "string") return compareText(a, b);
  if (a instanceof Decimal && b instanceof Decimal) return exact.cmp(a, b);
  if (isNumber(a) && isNumber(b)) return compareDoubles(numberOf(a), numberOf(b));
  if (typeof a === "boolean" && typeof b === "boolean") return Number(a) - Number(b);
  if (a instanceof Moment && b instanceof Moment && a.kind === b.kind) return Math.sign(a.instant - b.instant);
  return fail("XPTY0004");
}

const isNumber = (value: Atomic): value is Decimal | Double => value instanceof Decimal || value instanceof Double;

/** One pair of a general comparison: an untyped side takes the type of the other, xs:double if that is a number. */
export function compareGeneral(op: Comparison, a: Atomic, b: Atomic): boolean {
  return holds(op, order(a instanceof Untyped ? adopt(a, b) : a, b instanceof Untyped ? adopt(b, a) : b));
}

function adopt(value: Untyped, other: Atomic): Atomic {
  if (typeof other === "string" || other instanceof Untyped) return value.value;
  if (isNumber(other)) return new Double(doubleOf(value.value));
  const target: AtomicType = typeof other === "boolean" ? "boolean" : other.kind;
  const result = cast(value, target);
  return "error" in result ? fail(result.error) : result.value;
}

/** A value comparison (`eq`): untyped is a string; undefined when a side is empty. */
export function compareValue(op: Comparison, a: Maybe<Atomic>, b: Maybe<Atomic>): Maybe<boolean> {
  if (a === undefined || b === undefined) return undefined;
  return holds(op, order(a instanceof Untyped ? a.value : a, b instanceof Untyped ? b.value : b));
}

/** Effective boolean value of a sequence. */
export function booleanOfItems(items: readonly Item[]): boolean {
  const [first] = items;
  if (first === undefined) return false;
  if (isNode(first)) return true;
  return items.length === 1 ? booleanOfAtomic(first) : fail("FORG0006");
}

/** Effective boolean value of a single item. */
export function booleanOfAtomic(value: Maybe<Item>): boolean {
  if (value === undefined) return false;
  if (isNode(value)) return true;
  if (typeof value === "boolean") return value;
  if (typeof value === "string") return value !== "";
  if (value instanceof Untyped) return value.value !== "";
  return value instanceof Moment ? fail("FORG0006") : isTrue(value);
}

/** fn:sum, min, max, avg over values whose types are only known now: untyped values count as xs:double. */
export function aggregate(kind: "sum" | "min" | "max" | "avg", values: readonly Atomic[]): Maybe<Atomic> {
  const items = values.map((value) => (value instanceof Untyped ? new Double(doubleOf(value.value)) : value));
  if (items.length === 0) return kind === "sum" ? exact.ZERO : undefined;
  if (kind === "min" || kind === "max") return extreme(kind, items);
  const total = items.reduce<Atomic | undefined>(
    (sum, item) => (sum === undefined ? numeric(item) : arithAny("+", sum, item)),
    undefined,
  );
  return kind === "sum" ? total : arithAny("div", total, exact.fromInt(items.length));
}

/** NaN wins over every number. */
function extreme(kind: "min" | "max", items: readonly Atomic[]): Maybe<Atomic> {
  const asDouble = items.some((item) => item instanceof Double);
  const nan = items.find((item) => item instanceof Double && Number.isNaN(item.value));
  if (nan !== undefined) return nan;
  const best = items.reduce((left, right) => (holds(kind === "max" ? ">=" : "<=", order(left, right)) ? left : right));
  return asDouble && best instanceof Decimal ? new Double(numberOf(best)) : best;
}

/** fn:round of an xs:double: a half towards plus infinity. */
export const roundDouble = (value: number): number =>
  Number.isInteger(value) || !Number.isFinite(value) ? value : Math.floor(value + 0.5);

/** fn:round, floor, ceiling, abs of a number whose type is only known now. */
export function roundAny(kind: "round" | "floor" | "ceiling" | "abs", value: Maybe<Atomic>): Maybe<Atomic> {
  if (value === undefined) return undefined;
  const number = numeric(value);
  if (number instanceof Decimal) return exact[kind](number);
  return new Double({ round: roundDouble, floor: Math.floor, ceiling: Math.ceil, abs: Math.abs }[kind](number.value));
}

/** Casts, or aborts with the error of the cast. */
export function castOrFail(value: Maybe<Atomic>, target: AtomicType): Maybe<Atomic> {
  if (value === undefined) return undefined;
  const result = cast(value, target);
  return "error" in result ? fail(result.error) : result.value;
}

/** Whether the cast of a value would not fail. */
export const isCastable = (value: Atomic, target: AtomicType): boolean => !("error" in cast(value, target));

/** Text → exact number, as `xs:decimal(.)` and `xs:integer(.)` do. */
export const decimalOf = (text: Maybe<string>): Maybe<Decimal> =>
  text === undefined ? undefined : (exact.parseDecimal(text) ?? fail("FORG0001"));
/** A text as xs:integer; nothing stays nothing. */
export const integerOf = (text: Maybe<string>): Maybe<Decimal> =>
  text === undefined ? undefined : (exact.parseInteger(text) ?? fail("FORG0001"));

/** Whether a decimal lies within the bounds of a type derived from xs:integer. */
export function bounded(value: Maybe<Decimal>, lowest: string, highest: string): Maybe<Decimal> {
  if (value === undefined || withinBounds(value, lowest, highest)) return value;
  return fail("FORG0001");
}

/** Whether a number lies between two bounds, both included, which are written as text. */
export const withinBounds = (value: Decimal, lowest: string, highest: string): boolean =>
  (lowest === "" || exact.ge(value, exact.decimal(lowest))) &&
  (highest === "" || exact.le(value, exact.decimal(highest)));

/** `1 to 3`: a range longer than the bound is refused rather than allocated. */
const RANGE_MAX = 100_000;

/** The whole numbers of `from to to`, both included. @throws when there are too many */
export function range(from: Maybe<Decimal>, to: Maybe<Decimal>): Decimal[] {
  if (from === undefined || to === undefined) return [];
  if (!exact.isInteger(from) || !exact.isInteger(to)) fail("XPTY0004");
  const [start, end] = [exact.toDouble(from), exact.toDouble(to)];
  if (end - start >= RANGE_MAX) fail("FOAR0002");
  return Array.from({ length: Math.max(0, end - start + 1) }, (_, i) => exact.fromInt(start + i));
}

/** Text of an item as a string parameter takes it: a number or boolean there is a type error. */
export function stringParameter(doc: XmlDocument, item: Maybe<Item>): string {
  if (item === undefined) return "";
  if (typeof item === "string") return item;
  if (isNode(item)) return nodeText(doc, item);
  return item instanceof Untyped ? item.value : fail("XPTY0004");
}

/** fn:string of an item. */
export const stringOf = (doc: XmlDocument, item: Maybe<Item>): string =>
  item === undefined ? "" : isNode(item) ? nodeText(doc, item) : textOf(item);
