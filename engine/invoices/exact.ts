/** Exact numbers of an invoice that came as JSON: nothing is computed with a float. */
import { LIMITS } from "../base/limits.js";

/** coefficient × 10^-scale. */
export interface Exact {
  readonly coefficient: bigint;
  readonly scale: number;
}

/** Hundredths of the currency's unit. */
export type Cents = bigint;

const WRITTEN = /^(-?)(\d{1,12})(?:\.(\d{1,8}))?$/u;
/**
 * A number of a JSON document: a JSON number, or the same as text.
 * @returns undefined for everything that is not exactly a number of at most 12 digits before and 8 behind the point
 */
export function exactOf(value: unknown): Exact | undefined {
  if (typeof value !== "number" && typeof value !== "string") return undefined;
  const [, minus, whole, fraction = ""] = WRITTEN.exec(typeof value === "number" ? plain(value) : value) ?? [];
  if (whole === undefined) return undefined;
  const digits = (whole + fraction).replace(/^0+/u, "");
  if (typeof value === "number" && digits.length > LIMITS.json_number_digits_max) return undefined;
  const coefficient = BigInt(whole + fraction);
  return { coefficient: minus === "-" ? -coefficient : coefficient, scale: fraction.length };
}

/** A double as it would be written: below a millionth JavaScript writes an exponent. */
const plain = (value: number): string => {
  const written = String(value);
  const places = value.toFixed(PLACES);
  return written.includes("e-") && Number(places) === value ? places : written;
};

export const product = (a: Exact, b: Exact): Exact => ({
  coefficient: a.coefficient * b.coefficient,
  scale: a.scale + b.scale,
});

/** The nearest hundredth, a half away from zero: 0.125 → 0.13, -0.125 → -0.13. */
export function toCents({ coefficient, scale }: Exact): Cents {
  if (scale <= 2) return coefficient * 10n ** BigInt(2 - scale);
  const divisor = 10n ** BigInt(scale - 2);
  const size = coefficient < 0n ? -coefficient : coefficient;
  const rounded = (size * 2n + divisor) / (divisor * 2n);
  return coefficient < 0n ? -rounded : rounded;
}

/** `percent` of an amount, rounded to the hundredth. */
export const percentOf = (cents: Cents, percent: Exact): Cents =>
  toCents({ coefficient: cents * percent.coefficient, scale: percent.scale + 4 });

/** Text without zeros that carry nothing: `12.5`, `-3`, `0`; the same for equal numbers. */
export function exactText({ coefficient, scale }: Exact): string {
  const minus = coefficient < 0n ? "-" : "";
  const digits = String(coefficient < 0n ? -coefficient : coefficient).padStart(scale + 1, "0");
  const fraction = digits.slice(digits.length - scale).replace(/0+$/u, "");
  const whole = digits.slice(0, digits.length - scale);
  return scale === 0 || fraction === "" ? minus + whole : `${minus}${whole}.${fraction}`;
}

/** Text of an amount: always two decimals. */
export function centsText(cents: Cents): string {
  const size = cents < 0n ? -cents : cents;
  return `${cents < 0n ? "-" : ""}${size / 100n}.${String(size % 100n).padStart(2, "0")}`;
}

/** Places behind the point that a quotient has: as many as are read. */
const PLACES = 8;

/** a ÷ b to the eighth place, a half away from zero; undefined for a division by 0. */
export function quotient(a: Exact, b: Exact): Exact | undefined {
  if (b.coefficient === 0n) return undefined;
  const dividend = a.coefficient * 10n ** BigInt(PLACES + b.scale);
  const divisor = b.coefficient * 10n ** BigInt(a.scale);
  const isNegative = dividend < 0n !== divisor < 0n;
  const [size, by] = [dividend < 0n ? -dividend : dividend, divisor < 0n ? -divisor : divisor];
  const rounded = (size * 2n + by) / (by * 2n);
  return { coefficient: isNegative ? -rounded : rounded, scale: PLACES };
}
