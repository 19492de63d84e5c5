/** Labels and values in one line of text: `IČO: 12345678  DIČ: 2020202020`, `Faktúra č. 2026001`. */
import type { PartyRole } from "../fields.js";
import type { Meaning } from "../names.js";
import { readValue } from "../values.js";
import { SourcePath } from "./path.js";
import type { Dictionary } from "./reading.js";

/** A piece of a line: what stands between two gaps of two spaces and more. */
export interface Segment {
  readonly text: string;
  /** Characters from the beginning of the line. */
  readonly start: number;
  readonly end: number;
}

/** A label with what it means, and the value behind it; empty where the value stands elsewhere. */
export interface Labelled {
  readonly label: string;
  readonly meaning: Meaning;
  readonly value: string;
}

const SEGMENT = /\S+(?: \S+)*/gu;

/** @param line  without tabs */
export const segmentsOf = (line: string): readonly Segment[] =>
  [...line.matchAll(SEGMENT)].map(({ 0: text, index }) => ({ text, start: index, end: index + text.length }));

/** Words of a label at most: `Dátum zdaniteľného plnenia`, `Faktúra - daňový doklad č.`. */
const LABEL_WORDS = 6;

/** The labels of a text with their values, and what stands before the first label. */
interface LabelledText {
  readonly before: string;
  readonly labels: readonly Labelled[];
}

/**
 * Finds each label before a colon, as the longest row of words there that means something.
 * @param within  the party whose block it is
 */
export function labelsOf(text: string, dictionary: Dictionary, within: PartyRole | undefined): LabelledText {
  const pieces = text.split(/:(?=\s|$)/u);
  if (pieces.length === 1) return labelInFront(text, dictionary, within);
  const labels: Labelled[] = [];
  let before = "";
  for (const [at, piece] of pieces.entries()) {
    const isLast = at === pieces.length - 1;
    const found = isLast ? undefined : labelAtEnd(piece, dictionary, within);
    const rest = found === undefined ? piece : found.rest;
    const open = labels.at(-1);
    // What no label ends belongs to the value before, with its colon.
    const text = found === undefined && !isLast ? `${rest}:` : rest;
    if (open === undefined) before += text;
    else labels[labels.length - 1] = { ...open, value: `${open.value}${text}`.trim() };
    if (found !== undefined) labels.push({ label: found.label, meaning: found.meaning, value: "" });
  }
  return { before: before.trim(), labels };
}

function labelAtEnd(piece: string, dictionary: Dictionary, within: PartyRole | undefined) {
  const words = piece.trim().split(/\s+/u);
  for (let count = Math.min(words.length, LABEL_WORDS); count > 0; count--) {
    const label = words.slice(words.length - count).join(" ");
    const meaning = dictionary.head(SourcePath.of(label), within);
    if (meaning !== undefined) return { label, meaning, rest: words.slice(0, words.length - count).join(" ") };
  }
  return undefined;
}

/** `Faktúra č. 2026001`, `Splatnosť 15. 12. 2026`: a label without a colon, before a value that is one of its kind. */
function labelInFront(text: string, dictionary: Dictionary, within: PartyRole | undefined): LabelledText {
  const words = text.split(/\s+/u);
  for (let count = Math.min(words.length, LABEL_WORDS); count > 0; count--) {
    const label = words.filter((_, at) => at < count).join(" ");
    const value = words.slice(count).join(" ");
    const meaning = dictionary.head(SourcePath.of(label), within);
    if (meaning === undefined || (value !== "" && !isValueOf(meaning, value))) continue;
    return { before: "", labels: [{ label, meaning, value }] };
  }
  return { before: text, labels: [] };
}

/** Text is a value where a digit says that it is no sentence. */
const isValueOf = ({ kind }: Meaning, value: string): boolean =>
  kind === "text" || kind === "address"
    ? /\d/u.test(value) && !/\s/u.test(value)
    : readValue(kind, value, undefined).value !== undefined;
