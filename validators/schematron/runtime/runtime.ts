/** The object `R` that generated code works with: everything it may call, by name. */
import * as decimals from "../../rules/decimal.js";
import { Decimal } from "../../rules/decimal.js";
import { RuleError } from "../../rules/rule.js";
import { normalizeSpace } from "../../rules/values.js";
import { internName } from "../../xml/names.js";
import * as nodes from "./nodes.js";
import * as operators from "./operators.js";
import { translateRegex } from "./regex.js";
import * as strings from "./strings.js";
import { makeTrie, survey } from "./survey.js";
import * as values from "./values.js";
import { Double, fail, isNode, Untyped } from "./values.js";
import type { Atomic } from "./values.js";

/** Marks a slot whose value has not been worked out. */
const UNSET: unique symbol = Symbol("unset");

/** A value that must be there. */
const required = <T>(value: T | undefined): T => (value === undefined ? fail("XPTY0004") : value);

const atLeastOne = <T>(items: readonly T[]): readonly T[] => (items.length === 0 ? fail("XPTY0004") : items);

/** A value of any type as an argument of a declared type: untyped is cast, numbers are promoted. */
function convertTo(value: Atomic, target: values.AtomicType): Atomic {
  if (value instanceof Untyped) return operators.castOrFail(value, target) ?? fail("XPTY0004");
  if (target === "double" && value instanceof Decimal) return new Double(decimals.toDouble(value));
  const isType =
    target === "string"
      ? typeof value === "string"
      : target === "boolean"
        ? typeof value === "boolean"
        : target === "decimal"
          ? value instanceof Decimal
          : target === "integer"
            ? value instanceof Decimal && decimals.isInteger(value)
            : target === "double"
              ? value instanceof Double
              : value instanceof values.Moment && value.kind === target;
  return isType ? value : fail("XPTY0004");
}

/** A numeric predicate: whether it names this position. */
const isPosition = (value: Atomic | undefined, position: number): boolean =>
  value instanceof Decimal
    ? decimals.toDouble(value) === position
    : value instanceof Double && value.value === position;

/** A predicate whose type is only known now. */
const isSelected = (value: Atomic | undefined, position: number): boolean =>
  value instanceof Decimal || value instanceof Double ? isPosition(value, position) : operators.booleanOfAtomic(value);

/** Array index of a numeric predicate; -1 selects nothing. */
const indexOf = (value: Decimal): number => (decimals.isInteger(value) ? decimals.toDouble(value) - 1 : -1);

function numberOfAny(value: Atomic | undefined): number {
  if (value === undefined) return NaN;
  const result = values.cast(value, "double");
  return "value" in result && result.value instanceof Double ? result.value.value : NaN;
}

const stringsOf = (items: readonly Atomic[]): string[] =>
  items.map((item) => (typeof item === "string" ? item : item instanceof Untyped ? item.value : fail("XPTY0004")));

/** The items that are text; others are left out. */
const textsOf = (items: readonly Atomic[]): string[] =>
  items.flatMap((item) => (typeof item === "string" ? [item] : item instanceof Untyped ? [item.value] : []));

function integersOf(items: readonly Atomic[]): Decimal[] {
  return items.map((item) => {
    const value = convertTo(item, "integer");
    return value instanceof Decimal ? value : fail("XPTY0004");
  });
}

/** Key under which equal values meet: strings and untyped values compare as strings, numbers by value. */
function valueKey(value: Atomic): string {
  if (value instanceof Decimal) return `n${decimals.toText(value)}`;
  if (value instanceof Double) return `n${Number.isInteger(value.value) ? BigInt(value.value) : value.value}`;
  return typeof value === "boolean"
    ? `b${value}`
    : value instanceof values.Moment
      ? `${value.kind}${value.instant}`
      : `s${values.textOf(value)}`;
}

function distinctValues(items: readonly Atomic[]): Atomic[] {
  const seen = new Map<string, Atomic>();
  for (const item of items) if (!seen.has(valueKey(item))) seen.set(valueKey(item), item);
  return [...seen.values()];
}

const positionsOf = (items: readonly Atomic[], wanted: Atomic | undefined): Decimal[] =>
  wanted === undefined
    ? []
    : items.flatMap((item, index) => (valueKey(item) === valueKey(wanted) ? [decimals.fromInt(index + 1)] : []));

function subsequence<T>(items: readonly T[], start: number, length: number): T[] {
  const from = operators.roundDouble(start);
  const to = from + operators.roundDouble(length);
  return items.filter((_, index) => index + 1 >= from && index + 1 < to);
}

const isRuleError = (error: unknown): boolean => error instanceof RuleError;

const joinAtoms = (items: readonly Atomic[], separator: string): string => items.map(values.textOf).join(separator);

/** The text of a message: pieces joined, white space collapsed. */
const messageText = (...pieces: readonly string[]): string => pieces.join("").replace(/\s+/g, " ").trim();

/** The text of a temporary tree: text nodes as they are, neighbouring atomic values with a blank between. */
function treeText(items: readonly values.Item[]): string {
  let text = "";
  let afterAtomic = false;
  for (const item of items) {
    if (typeof item === "number") fail("XTDE0000");
    const isAtomic = !isNode(item);
    text += (isAtomic && afterAtomic ? " " : "") + (isAtomic ? values.textOf(item) : item.value);
    afterAtomic = isAtomic;
  }
  return text;
}

export const runtime = {
  ...decimals,
  ...nodes,
  ...operators,
  ...strings,
  ...values,
  // Two modules have a `range`, `sign` or `round` of their own; the exact ones win where generated code means numbers.
  round: decimals.round,
  floor: decimals.floor,
  ceiling: decimals.ceiling,
  abs: decimals.abs,
  makeTrie,
  survey,
  isRuleError,
  joinAtoms,
  messageText,
  normalizeSpace,
  treeText,
  UNSET,
  internName,
  translateRegex,
  isNode,
  required,
  atLeastOne,
  convertTo,
  isPosition,
  isSelected,
  indexOf,
  numberOfAny,
  stringsOf,
  textsOf,
  integersOf,
  distinctValues,
  positionsOf,
  subsequence,
} as const;
