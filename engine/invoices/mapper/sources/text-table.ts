/** Tables of lines in text: columns by where they stand, or by their order where the spaces between them are lost. */
import type { Meaning } from "../names.js";
import { SourcePath } from "./path.js";
import { foundAt, isLineNumber } from "./reading.js";
import type { Dictionary, FoundValue } from "./reading.js";
import { cellsByOrder } from "./text-order.js";
import type { CellForm } from "./text-order.js";
import { segmentsOf } from "./text-labels.js";
import type { Segment } from "./text-labels.js";

interface TextColumn extends Segment {
  /** Undefined for a column that means nothing to a line. */
  readonly meaning: Meaning | undefined;
}

/** The columns of a table, in their order. */
export interface TextTable {
  readonly columns: readonly TextColumn[];
  /** Whether the columns stand apart, so that values can be told by their places. */
  readonly hasPlaces: boolean;
}

const TELLING: ReadonlySet<string> = new Set(["description", "quantity", "unitPrice", "unitPriceWithTax", "checkNet"]);
/** Numbers in text were set by a person for people: sure enough to take, not to send unseen. */
const READ = 0.75;
const NAME_WORDS = 4;

/** The table that a line begins, as the names of columns tell; undefined for any other line. */
export function tableAt(line: string, dictionary: Dictionary): TextTable | undefined {
  const segments = segmentsOf(line);
  const apart = segments.map((segment) => ({ ...segment, meaning: dictionary.line(SourcePath.of(segment.text)) }));
  if (isTable(apart)) return { columns: apart, hasPlaces: true };
  const names = namesIn(line, dictionary);
  return names !== undefined && isTable(names) ? { columns: names, hasPlaces: false } : undefined;
}

function isTable(columns: readonly TextColumn[]): boolean {
  const targets = columns.flatMap(({ meaning }) => (meaning === undefined ? [] : [meaning.target]));
  const telling = new Set(targets.filter((target) => TELLING.has(target)));
  return telling.size > 1 && targets.length > 2 && targets.length * 2 > columns.length;
}

/** A line that is nothing but names of columns, with one space between them. */
function namesIn(line: string, dictionary: Dictionary): readonly TextColumn[] | undefined {
  const words = line.trim().split(/\s+/u);
  const columns: TextColumn[] = [];
  for (let at = 0; at < words.length;) {
    let taken = 0;
    for (let count = Math.min(NAME_WORDS, words.length - at); count > 0 && taken === 0; count--) {
      const text = words.slice(at, at + count).join(" ");
      const meaning = dictionary.line(SourcePath.of(text));
      if (meaning === undefined && !(count === 1 && isLineNumber(text))) continue;
      columns.push({ text, meaning, start: at, end: at + count });
      taken = count;
    }
    if (taken === 0) return undefined;
    at += taken;
  }
  return columns;
}

/** The values of a row; undefined for a line that is none. */
export function rowAt(line: string, { columns, hasPlaces }: TextTable): readonly FoundValue[] | undefined {
  const cells = hasPlaces ? cellsByPlace(segmentsOf(line), columns) : cellsByOrder(line, columns.map(formOf));
  if (cells === undefined) return undefined;
  const found = columns.flatMap(({ meaning, text }, at) => {
    const value = cells[at] ?? "";
    if (meaning === undefined || value === "") return [];
    return [foundAt({ ...meaning, certainty: Math.min(meaning.certainty, READ) }, text, value)];
  });
  return found.some(({ target }) => target === "description") && found.length > 1 ? found : undefined;
}

/** Where as many pieces stand as there are columns, each is in its own; otherwise in the one that it is nearest to. */
function cellsByPlace(segments: readonly Segment[], columns: readonly TextColumn[]): readonly string[] | undefined {
  if (segments.length === columns.length) return segments.map(({ text }) => text);
  if (segments.length > columns.length) return undefined;
  const cells = columns.map(() => "");
  let next = 0;
  for (const segment of segments) {
    // Columns and pieces both stand in their order: one of the two between which a piece stands is its nearest.
    while ((columns[next]?.end ?? Infinity) <= segment.start) next++;
    const nearest = distance(segment, columns[next - 1]) <= distance(segment, columns[next]) ? next - 1 : next;
    if (cells[nearest] !== "") return undefined;
    cells[nearest] = segment.text;
  }
  return cells;
}

/** Numbers stand under the end of their names, text under the beginning; what overlaps is near. */
function distance(a: Segment, b: Segment | undefined): number {
  if (b === undefined) return Infinity;
  return a.start < b.end && b.start < a.end ? 0 : Math.min(Math.abs(a.start - b.start), Math.abs(a.end - b.end));
}

/** Columns that hold a word, not a number. */
const WORDS: ReadonlySet<string> = new Set(["unit", "taxTreatment"]);

function formOf({ meaning }: TextColumn): CellForm {
  if (meaning?.target === "description") return "text";
  return WORDS.has(meaning?.target ?? "") ? "word" : "number";
}
