/** String functions of XPath 2.0 that JavaScript does not have as they are: by code point, with rounded positions. */
import { fromInt, toDouble } from "../../rules/decimal.js";
import type { Decimal } from "../../rules/decimal.js";
import { translateRegex } from "./regex.js";
import { roundDouble } from "./operators.js";
import { fail } from "./values.js";

const SURROGATE = /[\ud800-\udfff]/;

/** fn:string-length as a plain number. */
export function stringLength(text: string): number {
  if (!SURROGATE.test(text)) return text.length;
  return [...text].length;
}

/** fn:substring: characters whose position p satisfies round(start) <= p < round(start) + round(length). */
export function substring(text: string, start: number, length: number): string {
  const from = roundDouble(start);
  const to = from + roundDouble(length);
  if (Number.isNaN(to)) return "";
  const first = Math.max(from, 1) - 1;
  const end = Math.max(to - 1, first);
  if (!SURROGATE.test(text)) return text.slice(first, Number.isFinite(end) ? end : undefined);
  return [...text].slice(first, Number.isFinite(end) ? end : undefined).join("");
}

/** fn:substring without a length. */
export const substringFrom = (text: string, start: number): string =>
  Number.isNaN(start) ? "" : substring(text, start, Infinity);

/** The text before the first occurrence of a mark; "" when there is none. */
export function substringBefore(text: string, mark: string): string {
  const at = text.indexOf(mark);
  return at < 0 ? "" : text.slice(0, at);
}

/** The text behind the first occurrence of a mark; "" when there is none. */
export function substringAfter(text: string, mark: string): string {
  const at = text.indexOf(mark);
  return at < 0 ? "" : text.slice(at + mark.length);
}

/**
 * fn:translate: the n-th character of `from` becomes the n-th of `to`, or nothing. The first occurrence in `from`
 * counts.
 */
export function translate(text: string, from: string, to: string): string {
  const targets = [...to];
  const map = new Map<string, string>();
  [...from].forEach((char, index) => {
    if (!map.has(char)) map.set(char, targets[index] ?? "");
  });
  let result = "";
  for (const char of text) result += map.get(char) ?? char;
  return result;
}

/** The numbers of the characters of a text. */
export const stringToCodepoints = (text: string): Decimal[] =>
  Array.from(text, (char) => fromInt(char.codePointAt(0) ?? 0));

/** The text of character numbers. @throws FOCH0001 for a number that is no character of XML */
export function codepointsToString(codes: readonly Decimal[]): string {
  return codes
    .map((code) => {
      const point = toDouble(code);
      const allowed =
        point === 9 ||
        point === 10 ||
        point === 13 ||
        (point >= 32 && point <= 0xd7ff) ||
        (point >= 0xe000 && point <= 0xfffd) ||
        (point >= 0x10000 && point <= 0x10ffff);
      return allowed ? String.fromCodePoint(point) : fail("FOCH0001");
    })
    .join("");
}

/**
 * Whether ` text ` stands in `haystack`, a list with single blanks between and around its words; `words` are its words.
 */
export const listContains = (words: ReadonlySet<string>, haystack: string, text: string): boolean =>
  text === "" || text.includes(" ") ? haystack.includes(` ${text} `) : words.has(text);

/** Patterns built while a document is checked are kept, up to this many; constant ones are compiled at load. */
const CACHE_MAX = 256;
const cache = new Map<string, RegExp>();

/** A pattern that is only known now. */
export function regex(pattern: string, flags: string): RegExp {
  const key = `${flags}/${pattern}`;
  const known = cache.get(key);
  if (known !== undefined) return known;
  const compiled = translateRegex(pattern, flags);
  if (cache.size >= CACHE_MAX) cache.clear();
  cache.set(key, compiled);
  return compiled;
}

/** Whether a pattern occurs anywhere in a text. */
export const matches = (text: string, pattern: RegExp): boolean => pattern.test(text);

/** fn:tokenize: the pieces between matches; a pattern that matches the empty string is an error. */
export function tokenize(text: string, pattern: RegExp): string[] {
  if (pattern.test("")) fail("FORX0003");
  if (text === "") return [];
  const pieces: string[] = [];
  let from = 0;
  for (const match of text.matchAll(new RegExp(pattern.source, `${pattern.flags}g`))) {
    pieces.push(text.slice(from, match.index));
    from = match.index + match[0].length;
  }
  pieces.push(text.slice(from));
  return pieces;
}

/** fn:replace: `$1` is a group, `\$` and `\\` stand for themselves, anything else of the kind is an error. */
export function replace(text: string, pattern: RegExp, replacement: string): string {
  if (pattern.test("")) fail("FORX0003");
  const pieces = parseReplacement(replacement);
  return text.replace(new RegExp(pattern.source, `${pattern.flags}g`), (...args: unknown[]) => {
    const groups = args.slice(
      0,
      args.findIndex((arg) => typeof arg === "number"),
    );
    return pieces.map((piece) => (typeof piece === "string" ? piece : expandGroup(piece.digits, groups))).join("");
  });
}

/** As many digits as name a group that exists; the others follow as text. */
function expandGroup(digits: string, groups: readonly unknown[]): string {
  let taken = digits.length;
  while (taken > 1 && Number(digits.slice(0, taken)) >= groups.length) taken--;
  const group = groups[Number(digits.slice(0, taken))];
  return (typeof group === "string" ? group : "") + digits.slice(taken);
}

function parseReplacement(text: string): (string | { readonly digits: string })[] {
  const pieces: (string | { readonly digits: string })[] = [];
  let at = 0;
  while (at < text.length) {
    const match = /^(?:\\([\\$])|\$([0-9]+)|([^\\$]+))/.exec(text.slice(at));
    if (match === null) return fail("FORX0004");
    pieces.push(match[2] === undefined ? (match[1] ?? match[3] ?? "") : { digits: match[2] });
    at += match[0].length;
  }
  return pieces;
}
