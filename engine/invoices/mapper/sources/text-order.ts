/**
 * Rows of a table whose columns stand in their order, but with one space between them: which words are whose is told by
 * what each column holds. What can follow is known for every word before the first is given away, from the last column
 * to the first, so that a row costs its words times its columns, however many readings it has.
 */
import { LIMITS } from "../../../base/limits.js";

/** What a column holds. */
export type CellForm = "text" | "word" | "number";

/** A word of a line with what separates it from the one before. */
interface Word {
  readonly text: string;
  readonly gap: string;
  readonly start: number;
  readonly end: number;
}

const WORD = /\S+/gu;

function wordsOf(line: string): readonly Word[] {
  let before = 0;
  return Array.from(line.matchAll(WORD), ({ 0: text, index }) => {
    const word = { text, gap: line.slice(before, index), start: index, end: index + text.length };
    before = word.end;
    return word;
  });
}

const SIGN = "(?:%|€|EUR|Kč|CZK|USD)";
/** The beginning, the middle and the end of a number with its thousands apart, and one that is a single word. */
const FIRST_DIGITS = /^-?\d{1,3}$/u;
const MORE_DIGITS = /^\d{3}$/u;
const LAST_DIGITS = /^\d{3}(?:[.,]\d+)*$/u;
const LAST_DIGITS_SIGNED = new RegExp(`^\\d{3}(?:[.,]\\d+)*${SIGN}?\\.?$`, "u");
const WHOLE = /^-?\d+(?:[.,]\d+)*$/u;
const WHOLE_SIGNED = new RegExp(`^-?\\d+(?:[.,]\\d+)*${SIGN}?\\.?$`, "u");
/** The sign of a percentage or a currency that stands behind a number as a word. */
const SIGN_ALONE = new RegExp(`^${SIGN}\\.?$`, "u");
const ONE_WORD = /^\p{L}[\p{L}\d.²³]{0,11}$/u;
/** What stands between thousands; any other space separates. */
const THIN: ReadonlySet<string> = new Set([" ", "\u{a0}"]);

/** Ends of the numbers that begin with a word: of the most thousands first, and with a sign before without one. */
function numberEnds(words: readonly Word[], from: number): readonly number[] {
  // Bounded by the thousands of a number.
  const ends: number[] = [];
  const add = (at: number, isPlain: boolean, isWhole: boolean): void => {
    const next = words[at + 1];
    if (isPlain && next?.gap.length === 1 && SIGN_ALONE.test(next.text)) ends.push(at + 2);
    if (isWhole) ends.push(at + 1);
  };
  const groups: number[] = [];
  if (FIRST_DIGITS.test(words[from]?.text ?? ""))
    for (let at = from + 1; at <= from + LIMITS.mapper_number_groups_max; at++) {
      const word = words[at];
      if (word === undefined || !THIN.has(word.gap) || !LAST_DIGITS_SIGNED.test(word.text)) break;
      groups.push(at);
      if (!MORE_DIGITS.test(word.text)) break;
    }
  for (const at of groups.reverse()) add(at, LAST_DIGITS.test(words[at]?.text ?? ""), true);
  const first = words[from]?.text ?? "";
  add(from, WHOLE.test(first), WHOLE_SIGNED.test(first));
  return ends;
}

/** For each word and the end, whether the columns from one on can hold what is left from there. */
type Fits = readonly boolean[];

/** Whether a column can begin at each word so that those behind it hold the rest. */
function fitsOf(form: CellForm, words: readonly Word[], behind: Fits): Fits {
  const fits = new Array<boolean>(words.length + 1).fill(false);
  // Of the places behind a word, whether one will do.
  let isAny = false;
  for (let at = words.length - 1; at >= 0; at--) {
    isAny ||= behind[at + 1] === true;
    fits[at] = form === "text" ? isAny : endsOf(form, words, at).some((end) => behind[end] === true);
  }
  return fits;
}

function endsOf(form: Exclude<CellForm, "text">, words: readonly Word[], at: number): readonly number[] {
  if (form === "number") return numberEnds(words, at);
  return ONE_WORD.test(words[at]?.text ?? "") ? [at + 1] : [];
}

/**
 * The cells of a row, each as it stands in the line; undefined for a row that the columns do not fit.
 * @param forms  what the columns hold: a text is as short as it may be, a number as long
 */
export function cellsByOrder(line: string, forms: readonly CellForm[]): readonly string[] | undefined {
  const words = wordsOf(line);
  if (forms.length > words.length || forms.length > LIMITS.mapper_ordered_columns_max) return undefined;
  let behind: Fits = [...words.map(() => false), true];
  const fits: Fits[] = [behind];
  for (const form of [...forms].reverse()) {
    behind = fitsOf(form, words, behind);
    if (!behind.includes(true)) return undefined;
    fits.unshift(behind);
  }
  if (behind[0] !== true) return undefined;
  let at = 0;
  return forms.map((form, column) => {
    const rest = fits[column + 1] ?? [];
    const end = form === "text" ? rest.indexOf(true, at + 1) : (endsOf(form, words, at).find((to) => rest[to]) ?? at);
    const cell = line.slice(words[at]?.start, words[end - 1]?.end);
    at = end;
    return cell;
  });
}
