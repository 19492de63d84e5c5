/** Numbers as people write them: decimal commas, thousands apart, currencies behind. No guess goes unsaid. */
import { LIMITS } from "../../base/limits.js";
import { exactOf, exactText } from "../exact.js";

/** The sign before the decimals. */
export type DecimalMark = "," | ".";

interface ReadNumber {
  /** As exactOf reads it: `-1234.5`. */
  readonly text: string;
  /** Whether it can be read in one way only. */
  readonly isCertain: boolean;
  /** The sign that it shows to be the one before decimals. */
  readonly mark: DecimalMark | undefined;
  /** What is written around it: `EUR`, `%`, `ks`. */
  readonly around: string;
}

/** Spaces of every width, and the apostrophes that some put between thousands. */
const GAPS = /[\s\u{a0}\u{2000}-\u{200a}\u{202f}\u{205f}'’]+/gu;
const MINUS = /[−–]/gu;
/** An optional sign, digits with their signs, and words before or behind. */
const FORM =
  /^(\()?\s*([^\d\s.,+()%-]{0,12}?|)\s*([+-])?\s*([^\d\s.,+()%-]{0,12}?|)\s*(\d[\d.,\u{20}]*?)\s*(-)?\s*([%\p{L}\p{Sc}][\p{L}\p{Sc}.%]{0,11}[23²³]?)?\s*(\))?$/u;
/** A power of ten, which no invoice has. */
const POWER = /\d[eE][+-]?\d/u;
const GROUPED = /^\d{1,3}(?: \d{3})+$/u;

/**
 * @param written  the value of a source
 * @param known  the mark that other numbers of the same source show
 * @returns undefined for what is no number, or no exact one
 */
export function readNumber(written: string, known: DecimalMark | undefined): ReadNumber | undefined {
  if (written.length > LIMITS.mapper_number_chars_max) return undefined;
  const text = written.trim().replace(MINUS, "-").replace(GAPS, " ");
  if (POWER.test(text)) return undefined;
  const [, open, before = "", sign, between = "", digits = "", trailing, behind = "", close] = FORM.exec(text) ?? [];
  if (digits === "" || (open === undefined) !== (close === undefined)) return undefined;
  const minuses = [open, sign === "-" ? sign : undefined, trailing].filter((mark) => mark !== undefined).length;
  if (minuses > 1) return undefined;
  const read = readDigits(digits, known);
  if (read === undefined) return undefined;
  const exact = exactOf((minuses === 1 ? "-" : "") + read.text);
  if (exact === undefined) return undefined;
  const around = [before, between, behind].filter((part) => part !== "");
  return { ...read, text: exactText(exact), around: around.join(" ") };
}

type Digits = Pick<ReadNumber, "text" | "isCertain" | "mark">;
const plain = (text: string, mark?: DecimalMark): Digits => ({ text, isCertain: true, mark });

function readDigits(digits: string, known: DecimalMark | undefined): Digits | undefined {
  const marks = [...new Set(digits.replace(/[^.,]/gu, ""))] as DecimalMark[];
  if (marks.length === 2) return readBoth(digits);
  const [mark] = marks;
  if (mark === undefined) return readWhole(digits);
  const parts = digits.split(mark);
  const [head = "", tail = ""] = parts;
  if (parts.length > 2) return isGroups(parts) ? plain(parts.join("")) : undefined;
  const whole = readWhole(head);
  if (whole === undefined || !/^\d+$/u.test(tail)) return undefined;
  // 1.234 and 1,234: a thousand and more, or one and a bit.
  const isEither = tail.length === 3 && /^[1-9]\d{0,2}$/u.test(head);
  if (isEither && known !== undefined && known !== mark) return plain(head + tail);
  return { text: `${whole.text}.${tail}`, isCertain: !isEither || known === mark, mark: isEither ? undefined : mark };
}

/** Both signs: the last one stands before the decimals, the other between thousands. */
function readBoth(digits: string): Digits | undefined {
  const mark: DecimalMark = digits.lastIndexOf(",") > digits.lastIndexOf(".") ? "," : ".";
  const parts = digits.split(mark);
  const [head = "", tail = ""] = parts;
  const groups = head.split(mark === "," ? "." : ",");
  if (parts.length !== 2 || !/^\d+$/u.test(tail) || !isGroups(groups)) return undefined;
  return plain(`${groups.join("")}.${tail}`, mark);
}

const readWhole = (digits: string): Digits | undefined =>
  /^\d+$/u.test(digits) || GROUPED.test(digits) ? plain(digits.replaceAll(" ", "")) : undefined;

const isGroups = (parts: readonly string[]): boolean =>
  parts.every((part, at) => (at === 0 ? /^\d{1,3}$/u : /^\d{3}$/u).test(part));

/** The mark that the numbers of a source show; undefined when they show none, or both. */
export function markOf(values: Iterable<string>): DecimalMark | undefined {
  const shown = new Set<DecimalMark>();
  for (const value of values) {
    const mark = readNumber(value, undefined)?.mark;
    if (mark !== undefined) shown.add(mark);
  }
  const [only] = shown;
  return shown.size === 1 ? only : undefined;
}
