/**
 * Exact decimals: the numbers of every rule. A value is coefficient × 10^-scale, without floats and without rounding
 * except where XPath 2.0 prescribes it (`div`, `round`).
 *
 * Small values (coefficient below 2^53) are computed with plain numbers, anything larger with BigInt; which of the two
 * a value uses is invisible to callers. xs:integer is a decimal of scale 0: there is no size limit but DIGITS_MAX.
 *
 * | Need                          | Call                                                      |
 * |-------------------------------|-----------------------------------------------------------|
 * | text → value                  | parseDecimal(text), parseInteger(text): undefined if not  |
 * | number of the program → value | fromInt(3), fromBigInt(3n), decimal("0.02") for literals  |
 * | + - * unary minus, abs        | add, sub, mul, neg, abs                                   |
 * | XPath div, idiv, mod          | div, idiv, mod: undefined when the divisor is zero        |
 * | comparison                    | cmp, eq, ne, lt, le, gt, ge, isZero, sign                 |
 * | XPath round, floor, ceiling   | round, floor, ceiling (to an integer)                     |
 * | round(x * 100) div 100        | roundTo(x, 2)                                             |
 * | sum(sequence)                 | sum(values), ZERO when there are none                     |
 * | value → text                  | toText: canonical xs:decimal, "-0.5", "12"                |
 * | significant decimals          | fractionDigits: 2 for 1.230                               |
 *
 * @source W3C XPath and XQuery Functions and Operators (2.0), sections 6.2 and 6.4; XML Schema part 2, 3.2.3
 */
import { isSpace } from "../xml/space.js";

/** Digits a number in a document may have, leading zeros apart; longer ones are no number to us (FOAR0002 in XPath). */
export const DIGITS_MAX = 4096;

/** Decimals of a quotient that does not end: as Saxon-HE, `max(18, scale of either operand)`, half rounded down. */
const DIVIDE_SCALE = 18;

/** Largest scale that fits the small form: 10^15 is the largest power of ten below 2^53. */
const SMALL_SCALE_MAX = 15;

const POWERS = Array.from({ length: SMALL_SCALE_MAX + 1 }, (_, exponent) => 10 ** exponent);

/** An immutable exact number. Made by the functions of this file only. */
export class Decimal {
  /** Safe integer; 0 when `big` holds the coefficient. */
  readonly small: number;
  readonly scale: number;
  readonly big: bigint | undefined;

  constructor(small: number, scale: number, big: bigint | undefined) {
    this.small = small;
    this.scale = scale;
    this.big = big;
  }

  toString(): string {
    return toText(this);
  }
}

export const ZERO = new Decimal(0, 0, undefined);
export const ONE = new Decimal(1, 0, undefined);
export const HUNDRED = new Decimal(100, 0, undefined);

/** A safe integer as a decimal. */
export const fromInt = (value: number): Decimal => new Decimal(value, 0, undefined);

/** An integer of any size as a decimal. */
export const fromBigInt = (value: bigint): Decimal => fromBig(value, 0);

/** A literal of the program: `decimal("0.02")`. @throws RangeError when the text is no decimal */
export function decimal(text: string): Decimal {
  const value = parseDecimal(text);
  if (value === undefined) throw new RangeError("not a decimal literal");
  return value;
}

/**
 * The value of an xs:decimal in its lexical form: optional sign, digits, optional fraction; "5." and ".5" count, an
 * exponent does not. XML white space around it is ignored.
 * @returns undefined when the text is no decimal or has more than DIGITS_MAX digits.
 */
export function parseDecimal(text: string): Decimal | undefined {
  let at = 0;
  let end = text.length;
  while (at < end && isSpace(text.charCodeAt(at))) at++;
  while (end > at && isSpace(text.charCodeAt(end - 1))) end--;
  const first = text.charCodeAt(at);
  const negative = first === 45;
  if (at < end && (negative || first === 43)) at++;
  const start = at;
  let value = 0;
  let point = -1;
  for (; at < end; at++) {
    const digit = text.charCodeAt(at) - 48;
    if (digit >= 0 && digit <= 9) value = value * 10 + digit;
    else if (digit === -2 && point < 0) point = at;
    else return undefined;
  }
  const digits = end - start - (point < 0 ? 0 : 1);
  if (digits < 1) return undefined;
  const scale = point < 0 ? 0 : end - point - 1;
  if (digits <= SMALL_SCALE_MAX) return new Decimal(negative && value !== 0 ? -value : value, scale, undefined);
  return parseLong(text.slice(start, end), scale, negative);
}

/**
 * The value of bytes[start … end) where they are digits, at most one point and a leading minus, as most amounts are.
 * @returns undefined for anything else, which says nothing: {@link parseDecimal} then decides.
 */
export function decimalIn(bytes: Uint8Array, start: number, end: number): Decimal | undefined {
  const negative = bytes[start]! === 45;
  const first = negative ? start + 1 : start;
  if (end - first > SMALL_SCALE_MAX || end === first) return undefined;
  let value = 0;
  let point = -1;
  for (let at = first; at < end; at++) {
    const digit = bytes[at]! - 48;
    if (digit >= 0 && digit <= 9) value = value * 10 + digit;
    else if (digit === -2 && point < 0) point = at;
    else return undefined;
  }
  if (point >= 0 && end - first === 1) return undefined;
  return new Decimal(negative && value !== 0 ? -value : value, point < 0 ? 0 : end - point - 1, undefined);
}

/** The value of an xs:integer in its lexical form: optional sign and digits. XML white space around it is ignored. */
export function parseInteger(text: string): Decimal | undefined {
  return text.includes(".") ? undefined : parseDecimal(text);
}

/**
 * More digits than the small form surely holds: zeros that carry no value are cut first, so that "0…01" stays cheap.
 */
function parseLong(text: string, scale: number, negative: boolean): Decimal | undefined {
  let from = 0;
  while (from < text.length && (text.charCodeAt(from) === 48 || text.charCodeAt(from) === 46)) from++;
  let to = text.length;
  let kept = scale;
  while (kept > 0 && text.charCodeAt(to - 1) === 48) {
    to--;
    kept--;
  }
  if (from >= to) return ZERO;
  const digits = text.slice(from, to).replace(".", "");
  if (digits.length > DIGITS_MAX || kept > DIGITS_MAX) return undefined;
  return fromBig(negative ? -BigInt(digits) : BigInt(digits), kept);
}

/** Coefficient of any size → the canonical form: trailing zeros of a fraction cut, small when it fits. */
function fromBig(coefficient: bigint, scale: number): Decimal {
  let value = coefficient;
  let left = scale;
  while (left >= SMALL_SCALE_MAX && value % 1_000_000_000_000_000n === 0n) {
    value /= 1_000_000_000_000_000n;
    left -= SMALL_SCALE_MAX;
    if (value === 0n) return ZERO;
  }
  while (left > 0 && value % 10n === 0n) {
    value /= 10n;
    left--;
  }
  if (value <= 9_007_199_254_740_991n && value >= -9_007_199_254_740_991n)
    return new Decimal(Number(value), left, undefined);
  return new Decimal(0, left, value);
}

const coefficientOf = (value: Decimal): bigint => value.big ?? BigInt(value.small);

/** Coefficient of `value` at a scale not below its own. */
const bigAt = (value: Decimal, scale: number): bigint =>
  scale === value.scale ? coefficientOf(value) : coefficientOf(value) * 10n ** BigInt(scale - value.scale);

/** Small coefficient of `value` at a scale not below its own, NaN when it does not stay small. */
function smallAt(value: Decimal, scale: number): number {
  if (value.big !== undefined) return NaN;
  if (scale === value.scale) return value.small;
  const shifted = value.small * (POWERS[scale - value.scale] ?? NaN);
  return Number.isSafeInteger(shifted) ? shifted : NaN;
}

/** The exact sum. */
export function add(a: Decimal, b: Decimal): Decimal {
  const scale = a.scale > b.scale ? a.scale : b.scale;
  const total = smallAt(a, scale) + smallAt(b, scale);
  return Number.isSafeInteger(total)
    ? new Decimal(total, scale, undefined)
    : fromBig(bigAt(a, scale) + bigAt(b, scale), scale);
}

/** The exact difference. */
export function sub(a: Decimal, b: Decimal): Decimal {
  const scale = a.scale > b.scale ? a.scale : b.scale;
  const rest = smallAt(a, scale) - smallAt(b, scale);
  return Number.isSafeInteger(rest)
    ? new Decimal(rest, scale, undefined)
    : fromBig(bigAt(a, scale) - bigAt(b, scale), scale);
}

/** The exact product. */
export function mul(a: Decimal, b: Decimal): Decimal {
  const scale = a.scale + b.scale;
  if (a.big === undefined && b.big === undefined) {
    const product = a.small * b.small;
    if (Number.isSafeInteger(product)) return new Decimal(product + 0, scale, undefined);
  }
  return fromBig(coefficientOf(a) * coefficientOf(b), scale);
}

/**
 * XPath `div`: exact when the quotient ends within the scale, otherwise cut at `max(18, scale of a, scale of b)`
 * decimals, a half rounded towards zero, as Saxon-HE does.
 * @returns undefined when b is zero (FOAR0001)
 */
export function div(a: Decimal, b: Decimal): Decimal | undefined {
  if (isZero(b)) return undefined;
  if (a.big === undefined && b.big === undefined) {
    const quick = divideEvenly(a, b);
    if (quick !== undefined) return quick;
  }
  const scale = Math.max(DIVIDE_SCALE, a.scale, b.scale);
  const dividend = coefficientOf(a) * 10n ** BigInt(scale + b.scale);
  const divisor = coefficientOf(b) * 10n ** BigInt(a.scale);
  const quotient = dividend / divisor;
  const rest = magnitude(dividend % divisor) * 2n;
  if (rest <= magnitude(divisor)) return fromBig(quotient, scale);
  return fromBig(dividend < 0n === divisor < 0n ? quotient + 1n : quotient - 1n, scale);
}

/** Quotients of small values that come out even: x div 100 (only the scale moves) and multiples of the divisor. */
function divideEvenly(a: Decimal, b: Decimal): Decimal | undefined {
  if (b.scale === 0 && a.scale <= SMALL_SCALE_MAX) {
    if (b.small === 100) return new Decimal(a.small, a.scale + 2, undefined);
    if (b.small === 10) return new Decimal(a.small, a.scale + 1, undefined);
  }
  if (a.small % b.small !== 0) return undefined;
  const quotient = a.small / b.small + 0;
  const scale = a.scale - b.scale;
  if (scale >= 0) return new Decimal(quotient, scale, undefined);
  const shifted = quotient * (POWERS[-scale] ?? NaN);
  return Number.isSafeInteger(shifted) ? new Decimal(shifted, 0, undefined) : undefined;
}

/** XPath `idiv`: the quotient without its fraction, towards zero; undefined when b is zero (FOAR0001). */
export function idiv(a: Decimal, b: Decimal): Decimal | undefined {
  if (isZero(b)) return undefined;
  const scale = a.scale > b.scale ? a.scale : b.scale;
  const x = smallAt(a, scale);
  const y = smallAt(b, scale);
  if (x === x && y === y) return new Decimal((x - (x % y)) / y + 0, 0, undefined);
  return fromBig(bigAt(a, scale) / bigAt(b, scale), 0);
}

/** XPath `mod`: the remainder of idiv, with the sign of `a`; undefined when b is zero (FOAR0001). */
export function mod(a: Decimal, b: Decimal): Decimal | undefined {
  if (isZero(b)) return undefined;
  const scale = a.scale > b.scale ? a.scale : b.scale;
  const x = smallAt(a, scale);
  const y = smallAt(b, scale);
  if (x === x && y === y) return new Decimal((x % y) + 0, scale, undefined);
  return fromBig(bigAt(a, scale) % bigAt(b, scale), scale);
}

/** The same number with the other sign. */
export const neg = (a: Decimal): Decimal =>
  a.big === undefined ? new Decimal(0 - a.small, a.scale, undefined) : new Decimal(0, a.scale, -a.big);

/** The number without its sign. */
export const abs = (a: Decimal): Decimal => (sign(a) < 0 ? neg(a) : a);

/** -1, 0 or 1. */
export function sign(a: Decimal): number {
  if (a.big !== undefined) return a.big < 0n ? -1 : 1;
  return a.small < 0 ? -1 : a.small > 0 ? 1 : 0;
}

/** Big coefficients are never zero: zero always fits the small form. */
export const isZero = (a: Decimal): boolean => a.small === 0 && a.big === undefined;

/** -1 when a < b, 0 when equal, 1 when a > b. Scale does not matter: 1.0 equals 1. */
export function cmp(a: Decimal, b: Decimal): number {
  const scale = a.scale > b.scale ? a.scale : b.scale;
  const x = smallAt(a, scale);
  const y = smallAt(b, scale);
  if (x === x && y === y) return x < y ? -1 : x > y ? 1 : 0;
  const left = bigAt(a, scale);
  const right = bigAt(b, scale);
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Whether both are the same number; 1.0 equals 1. */
export const eq = (a: Decimal, b: Decimal): boolean =>
  (a.scale === b.scale && a.small === b.small && a.big === b.big) || cmp(a, b) === 0;
/** Whether they are different numbers. */
export const ne = (a: Decimal, b: Decimal): boolean => !eq(a, b);
/** Whether a is less than b. */
export const lt = (a: Decimal, b: Decimal): boolean => cmp(a, b) < 0;
/** Whether a is at most b. */
export const le = (a: Decimal, b: Decimal): boolean => cmp(a, b) <= 0;
/** Whether a is more than b. */
export const gt = (a: Decimal, b: Decimal): boolean => cmp(a, b) > 0;
/** Whether a is at least b. */
export const ge = (a: Decimal, b: Decimal): boolean => cmp(a, b) >= 0;

/** The largest integer not above `a`. */
export function floor(a: Decimal): Decimal {
  if (a.scale === 0) return a;
  const unit = POWERS[a.scale];
  if (a.big === undefined && unit !== undefined) {
    const rest = a.small % unit;
    return new Decimal((a.small - rest) / unit - (rest < 0 ? 1 : 0) + 0, 0, undefined);
  }
  const divisor = 10n ** BigInt(a.scale);
  const value = coefficientOf(a);
  const quotient = value / divisor;
  return fromBig(value < 0n && value % divisor !== 0n ? quotient - 1n : quotient, 0);
}

/** The smallest integer not below `a`. */
export const ceiling = (a: Decimal): Decimal => neg(floor(neg(a)));

/** The integer towards zero, as a cast to xs:integer takes it. */
export const truncate = (a: Decimal): Decimal => (sign(a) < 0 ? ceiling(a) : floor(a));

const HALF = new Decimal(5, 1, undefined);

/** XPath `round`: the nearest integer, a half towards +∞: 2.5 → 3, -2.5 → -2. */
export const round = (a: Decimal): Decimal => (a.scale === 0 ? a : floor(add(a, HALF)));

/** `round(a * 10^digits) div 10^digits`: the nearest value of that many decimals (0 to 15), a half towards +∞. */
export function roundTo(a: Decimal, digits: number): Decimal {
  if (a.scale <= digits) return a;
  const whole = round(new Decimal(a.small, a.scale - digits, a.big));
  return whole.big === undefined ? new Decimal(whole.small, digits, undefined) : fromBig(whole.big, digits);
}

/** XPath `round-half-to-even` with a precision of 0 or more decimals. */
export function roundHalfToEven(a: Decimal, digits: number): Decimal {
  if (a.scale <= digits) return a;
  const shifted = new Decimal(a.small, a.scale - digits, a.big);
  const below = floor(shifted);
  const side = cmp(sub(shifted, below), HALF);
  const odd = coefficientOf(below) % 2n !== 0n;
  return fromBig(coefficientOf(below) + (side > 0 || (side === 0 && odd) ? 1n : 0n), digits);
}

/** XPath `sum`; ZERO when there is nothing to add. */
export function sum(values: Iterable<Decimal>): Decimal {
  let total = ZERO;
  for (const value of values) total = add(total, value);
  return total;
}

/** Canonical text of an xs:decimal: no exponent, no trailing zeros, "-0.5", "12". */
export function toText(a: Decimal): string {
  const digits = a.big === undefined ? String(Math.abs(a.small)) : String(magnitude(a.big));
  const minus = sign(a) < 0 ? "-" : "";
  if (a.scale === 0) return minus + digits;
  const padded = digits.padStart(a.scale + 1, "0");
  let end = padded.length;
  const point = padded.length - a.scale;
  while (end > point && padded.charCodeAt(end - 1) === 48) end--;
  return minus + padded.slice(0, point) + (end > point ? "." + padded.slice(point, end) : "");
}

/** Decimals that carry value: 2 for 1.230, 0 for 7.00. For digits as written count the text instead. */
export function fractionDigits(a: Decimal): number {
  const text = toText(a);
  const point = text.indexOf(".");
  return point < 0 ? 0 : text.length - point - 1;
}

/** Whether the value has no fraction. */
export const isInteger = (a: Decimal): boolean => a.scale === 0 || isZero(mod(a, ONE) ?? ZERO);

/** The nearest xs:double. */
export function toDouble(a: Decimal): number {
  const unit = POWERS[a.scale];
  return a.big === undefined && unit !== undefined ? a.small / unit : Number(toText(a));
}

/** The exact value of a finite double; undefined for NaN and the infinities. */
export function fromDouble(value: number): Decimal | undefined {
  if (!Number.isFinite(value)) return undefined;
  if (Number.isSafeInteger(value)) return fromInt(value + 0);
  let whole = value;
  let halvings = 0;
  while (!Number.isInteger(whole)) {
    whole *= 2;
    halvings++;
  }
  return fromBig(BigInt(whole) * 5n ** BigInt(halvings), halvings);
}

const magnitude = (value: bigint): bigint => (value < 0n ? -value : value);
