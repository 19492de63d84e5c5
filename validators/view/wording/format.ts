/** Numbers, dates and accounts as people of a language write them. Digits are moved, not computed: no value changes. */
import type { Language } from "../../report.js";

/** A blank at which no line is broken. */
export const NO_BREAK = "\u00a0";
const SIGNS: Readonly<Record<Language, { readonly group: string; readonly point: string }>> = {
  en: { group: ",", point: "." },
  sk: { group: NO_BREAK, point: "," },
};
const NUMBER = /^([+-]?)(\d*)(?:\.(\d*))?$/u;

const THOUSANDS = /\d{3}/gu;

/** Digits in groups of three, counted from their end. */
function inGroups(digits: string, group: string): string {
  const first = digits.length % 3;
  const groups = digits.slice(first).match(THOUSANDS) ?? [];
  return (first === 0 ? groups : [digits.slice(0, first), ...groups]).join(group);
}

/** Not by an expression, which would look for the end of the text behind each of its zeros. */
function withoutLastZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === "0") end--;
  return digits.slice(0, end);
}

/** @param decimals  shown at least; decimals that the document writes beyond them stay, unless they are zeros */
function written(text: string, decimals: number, language: Language): string {
  const [, sign, whole = "", fraction = ""] = NUMBER.exec(text) ?? [];
  if (sign === undefined || whole + fraction === "") return text;
  const { group, point } = SIGNS[language];
  const grouped = inGroups(whole.replace(/^0+(?=\d)/u, "") || "0", group);
  const shown = withoutLastZeros(fraction).padEnd(decimals, "0");
  return `${sign === "-" ? "-" : ""}${grouped}${shown === "" ? "" : point + shown}`;
}

/** Money: at least two decimals. What is no number stays as it is. */
export const amountText = (text: string, language: Language): string => written(text, 2, language);

/** A quantity or a percentage: no zeros that say nothing. */
export const numberText = (text: string, language: Language): string => written(text, 0, language);

/** The same number with the other sign: a discount that is taken off. */
export function negated(text: string): string {
  if (!NUMBER.test(text) || /^[+-]?[0.]*$/u.test(text)) return text;
  return text.startsWith("-") ? text.slice(1) : `-${text.replace(/^\+/u, "")}`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"] as const;
const DATES: Readonly<Record<Language, (year: string, month: string, day: string) => string>> = {
  en: (year, month, day) => [Number(day), MONTHS[Number(month) - 1], year].join(NO_BREAK),
  sk: (year, month, day) => [`${Number(day)}.`, `${Number(month)}.`, year].join(NO_BREAK),
};

/** A day, 2026-11-20. What is none stays as it is. */
export function dateText(text: string, language: Language): string {
  const [, year, month, day] = /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/u.exec(text) ?? [];
  if (year === undefined || month === undefined || day === undefined) return text;
  return DATES[language](year, month, day);
}

const IBAN = /^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/u;
export const isIban = (account: string): boolean => IBAN.test(account.replaceAll(" ", ""));

/** An IBAN in groups of four, as it is written on paper. */
export const ibanText = (account: string): string =>
  account.replaceAll(" ", "").replace(/(.{4})(?=.)/gu, `$1${NO_BREAK}`);

const SIZES = ["B", "kB", "MB"] as const;

/** A file's size in the unit that gives at most three digits. */
export function sizeText(octets: number, language: Language): string {
  const step = octets < 1_000 ? 0 : octets < 1_000_000 ? 1 : 2;
  const tenths = Math.round((octets * 10) / 1_000 ** step);
  const value = step === 0 ? String(octets) : `${Math.floor(tenths / 10)}.${tenths % 10}`;
  return `${numberText(value, language)}${NO_BREAK}${SIZES[step]}`;
}
