/**
 * Lexical checks of the value types of UBL, on bytes.
 *
 * The oracle is libxml2: where it differs from the letter of XML Schema, it decides, so that both give one verdict.
 * Known differences: white space around dates and behind times is refused; bytes outside the base64 alphabet are
 * skipped; years beyond ±2,147,483,647 are refused. Every check is one walk over the value.
 */
import { isSpace } from "../xml/space.js";

/** Built-in types that UBL values and their attributes have. */
export const VALUE_BASES = [
  "string",
  "normalizedString",
  "decimal",
  "date",
  "time",
  "dateTime",
  "boolean",
  "base64Binary",
  "language",
  "anyURI",
] as const;
export type ValueBase = (typeof VALUE_BASES)[number];

/** Whether bytes[start … end) are a value of the type. */
export type ValueCheck = (bytes: Uint8Array, start: number, end: number) => boolean;

/** How each type is described to a person. */
export const VALUE_WORDS: Readonly<Record<ValueBase, string>> = {
  string: "text",
  normalizedString: "text",
  decimal: "a decimal number such as 12.50, without exponent and without separators",
  date: "a calendar date as YYYY-MM-DD",
  time: "a time as hh:mm:ss",
  dateTime: "a date and time as YYYY-MM-DDThh:mm:ss",
  boolean: "true or false",
  base64Binary: "base64, of letters, digits, + and / only, padded with =",
  language: "a language code such as sk or en-GB",
  anyURI: "a URI",
};

const PLUS = 0x2b,
  MINUS = 0x2d,
  DOT = 0x2e,
  COLON = 0x3a,
  LETTER_T = 0x54,
  LETTER_Z = 0x5a,
  PAD = 0x3d;
const isDigit = (b: number | undefined): boolean => b !== undefined && b >= 0x30 && b <= 0x39;

function decimal(bytes: Uint8Array, start: number, end: number): boolean {
  let at = start;
  let last = end;
  while (at < last && isSpace(bytes[at])) at++;
  while (last > at && isSpace(bytes[last - 1])) last--;
  if (at < last && (bytes[at] === PLUS || bytes[at] === MINUS)) at++;
  const whole = at;
  while (at < last && isDigit(bytes[at])) at++;
  let digits = at - whole;
  if (at < last && bytes[at] === DOT) {
    const fraction = ++at;
    while (at < last && isDigit(bytes[at])) at++;
    digits += at - fraction;
  }
  return at === last && digits > 0;
}

const text = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("utf8");
/** White space of XML as a schema collapses it: none around the value, one blank for what stands inside. */
export const collapsed = (value: string): string => value.replace(/[ \t\n\r]+/g, " ").replace(/^ | $/g, "");

function boolean(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start > 256) return false;
  return /^[ \t\n\r]*(?:true|false|1|0)[ \t\n\r]*$/.test(text(bytes, start, end));
}

/** Two digits as a number, or -1. */
function twoDigits(bytes: Uint8Array, at: number, end: number): number {
  if (at + 2 > end || !isDigit(bytes[at]) || !isDigit(bytes[at + 1])) return -1;
  return ((bytes[at] ?? 0) - 0x30) * 10 + ((bytes[at + 1] ?? 0) - 0x30);
}

/** Years that Xerces and libxml2 read; a receiver would refuse a later one, which XML Schema leaves to it. */
const YEAR_MAX = 2_147_483_647;
const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

/** Offset behind the date at `start`, or -1. */
function dateEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  if (bytes[at] === MINUS && at < end) at++;
  const first = at;
  let year = 0;
  while (at < end && isDigit(bytes[at])) {
    year = year * 10 + ((bytes[at] ?? 0) - 0x30);
    if (year > YEAR_MAX) return -1;
    at++;
  }
  const digits = at - first;
  if (digits < 4 || (digits > 4 && bytes[first] === 0x30) || year === 0) return -1;
  const month = bytes[at] === MINUS ? twoDigits(bytes, at + 1, end) : -1;
  const day = bytes[at + 3] === MINUS ? twoDigits(bytes, at + 4, end) : -1;
  const days = MONTH_DAYS[month - 1];
  if (days === undefined || day < 1 || day > days) return -1;
  if (month === 2 && day === 29 && !(year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0))) return -1;
  return at + 6;
}

/** Offset behind the time at `at`, or -1. The end of the day may be written 24:00:00. */
function timeEnd(bytes: Uint8Array, start: number, end: number): number {
  const hour = twoDigits(bytes, start, end);
  const minute = bytes[start + 2] === COLON ? twoDigits(bytes, start + 3, end) : -1;
  const second = bytes[start + 5] === COLON ? twoDigits(bytes, start + 6, end) : -1;
  if (hour < 0 || hour > 24 || minute < 0 || minute > 59 || second < 0 || second > 59) return -1;
  let at = start + 8;
  let fraction = false;
  if (at < end && bytes[at] === DOT) {
    const first = ++at;
    for (; at < end && isDigit(bytes[at]); at++) if (bytes[at] !== 0x30) fraction = true;
    if (at === first) return -1;
  }
  return hour === 24 && (minute > 0 || second > 0 || fraction) ? -1 : at;
}

/** Whether bytes[at … end) are a time zone or nothing. */
function isZone(bytes: Uint8Array, at: number, end: number): boolean {
  if (at === end) return true;
  if (bytes[at] === LETTER_Z) return at + 1 === end;
  if (bytes[at] !== PLUS && bytes[at] !== MINUS) return false;
  const hours = twoDigits(bytes, at + 1, end);
  const minutes = bytes[at + 3] === COLON ? twoDigits(bytes, at + 4, end) : -1;
  return hours >= 0 && minutes >= 0 && minutes <= 59 && hours * 60 + minutes <= 14 * 60 && at + 6 === end;
}

/** The same check on a value without the white space around it. */
const collapsing =
  (check: ValueCheck): ValueCheck =>
  (bytes, start, end) => {
    let first = start;
    let last = end;
    while (first < last && isSpace(bytes[first])) first++;
    while (last > first && isSpace(bytes[last - 1])) last--;
    return check(bytes, first, last);
  };

const date = collapsing((bytes, start, end) => {
  const at = dateEnd(bytes, start, end);
  return at >= 0 && at <= end && isZone(bytes, at, end);
});
const time = collapsing((bytes, start, end) => {
  const at = timeEnd(bytes, start, end);
  return at >= 0 && at <= end && isZone(bytes, at, end);
});
const dateTime = collapsing((bytes, start, end) => {
  const t = dateEnd(bytes, start, end);
  if (t < 0 || t >= end || bytes[t] !== LETTER_T) return false;
  const at = timeEnd(bytes, t + 1, end);
  return at >= 0 && at <= end && isZone(bytes, at, end);
});

/** Byte → its six bits; -1 outside the alphabet. */
const BASE64 = new Int8Array(256).fill(-1);
[..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].forEach((c, i) => {
  BASE64[c.charCodeAt(0)] = i;
});

/** White space may stand anywhere between the characters; any other byte outside the alphabet is a fault. */
function base64Binary(bytes: Uint8Array, start: number, end: number): boolean {
  let count = 0;
  let last = 0;
  let at = start;
  for (; at < end; at++) {
    const byte = bytes[at] ?? 0;
    const bits = BASE64[byte] ?? -1;
    if (bits >= 0) {
      count++;
      last = bits;
    } else if (byte === PAD) break;
    else if (!isSpace(byte)) return false;
  }
  let pads = 0;
  for (; at < end; at++) {
    if (bytes[at] === PAD) pads++;
    else if (!isSpace(bytes[at])) return false;
  }
  // The bits that do not fill a byte must be zero: "QR==" would decode like "QQ==".
  if (pads === 0) return count % 4 === 0;
  if (pads === 1) return count % 4 === 3 && (last & 0x03) === 0;
  return pads === 2 && count % 4 === 2 && (last & 0x0f) === 0;
}

const language: ValueCheck = (bytes, start, end) =>
  /^[a-zA-Z]{1,8}(?:-[a-zA-Z0-9]{1,8})*$/.test(collapsed(text(bytes, start, end)));

const PCHAR = "(?:[A-Za-z0-9\\-._~!$&'()*+,;=:@]|%[0-9a-fA-F]{2})";
const SEGMENT_NO_COLON = "(?:[A-Za-z0-9\\-._~!$&'()*+,;=@]|%[0-9a-fA-F]{2})";
const REGISTERED = "(?:[A-Za-z0-9\\-._~!$&'()*+,;=]|%[0-9a-fA-F]{2})";
const AUTHORITY = `//(?:(?:${REGISTERED}|:)*@)?(?:\\[[^\\]]*\\]|${REGISTERED}*)(?::([0-9]+))?`;
const TAIL = `(?:\\?(?:${PCHAR}|[/?])*)?(?:#(?:${PCHAR}|[/?\\[\\]])*)?`;
const PATHS = `${AUTHORITY}(?:/${PCHAR}*)*|/(?:${PCHAR}+(?:/${PCHAR}*)*)?`;
/** @source RFC 3986 appendix A, with the liberties of libxml2: anything in brackets is a host, brackets in fragments */
const ABSOLUTE = new RegExp(`^[A-Za-z][A-Za-z0-9+.\\-]*:(?:${PATHS}|${PCHAR}+(?:/${PCHAR}*)*)?${TAIL}$`);
const RELATIVE = new RegExp(`^(?:${PATHS}|${SEGMENT_NO_COLON}+(?:/${PCHAR}*)*)?${TAIL}$`);
const PORT_MAX = 2_147_483_647;

const anyUri: ValueCheck = (bytes, start, end) => {
  // A long value would cost the regular expression more than its length deserves; URIs of UBL are short.
  if (end - start > 65_536) return false;
  const escaped = collapsed(text(bytes, start, end)).replace(/[^\x21-\x7e]|[<>"{}|\\^`]/gu, "_");
  const match = ABSOLUTE.exec(escaped) ?? RELATIVE.exec(escaped);
  return match !== null && Number(match[1] ?? "0") <= PORT_MAX;
};

/** Types that any text is a value of. */
export const isText = (base: ValueBase): boolean => base === "string" || base === "normalizedString";

const anything: ValueCheck = () => true;

export const VALUE_CHECKS: Readonly<Record<ValueBase, ValueCheck>> = {
  string: anything,
  normalizedString: anything,
  decimal,
  date,
  time,
  dateTime,
  boolean,
  base64Binary,
  language,
  anyURI: anyUri,
};
