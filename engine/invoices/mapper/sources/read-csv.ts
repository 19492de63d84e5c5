/**
 * CSV of programs and spreadsheets: one row a line with the head repeated, or a head of names and values above a table
 * of lines.
 */
import { LIMITS } from "../../../base/limits.js";
import { issueOf } from "../issues.js";
import type { MapIssue } from "../issues.js";
import type { Meaning } from "../names.js";
import { readNumber } from "../numbers.js";
import { cellsOf } from "./csv.js";
import { placeOf, SourcePath } from "./path.js";
import { foundAt, isLineNumber } from "./reading.js";
import type { Dictionary, FoundValue, Reading } from "./reading.js";
import { UnreadableSource } from "./unreadable.js";

type Row = readonly string[];

/** A column of a table: what it means for a line, or for the head. */
interface Column {
  /** Its name as an answer has it. A name may be long, and a table has thousands of rows. */
  readonly place: string;
  /** Whether it only counts the rows. */
  readonly isNumber: boolean;
  readonly line: Meaning | undefined;
  readonly head: Meaning | undefined;
}

interface Table {
  readonly columns: readonly Column[];
  readonly hasLines: boolean;
}

const DELIMITERS = [";", "\t", ",", "|"] as const;
/** Rows by which the delimiter is told. */
const LOOKED_AT = 30;
const SEPARATOR_LINE = /^sep=(.)\r?\n/iu;

export function readCsv(source: string, dictionary: Dictionary): Reading {
  if (Buffer.byteLength(source, "utf8") > LIMITS.mapper_text_bytes_max)
    throw new UnreadableSource("MAPPER-SIZE", `A CSV has at most ${LIMITS.mapper_text_bytes_max} octets.`);
  const whole = source.replace(/^\u{feff}/u, "");
  const named = SEPARATOR_LINE.exec(whole);
  const text = named === null ? whole : whole.substring(named[0].length);
  const delimiter = named?.[1] ?? delimiterOf(text, dictionary);
  const rows = cellsOf(text, delimiter, LIMITS.mapper_rows_max + 1);
  if (rows.length > LIMITS.mapper_rows_max)
    throw new UnreadableSource("MAPPER-ROWS", `A CSV has at most ${LIMITS.mapper_rows_max} rows; send one invoice.`);
  return new CsvReader(dictionary).read(rows);
}

/** The delimiter by which the most names of members come out. */
function delimiterOf(text: string, dictionary: Dictionary): string {
  const scored = DELIMITERS.map((delimiter) => {
    const rows = rowsOrNone(text, delimiter);
    const names = rows.flatMap((row) => row.filter((cell) => isName(cell, dictionary)));
    const cells = rows.reduce((most, row) => Math.max(most, row.length), 1);
    return { delimiter, score: names.length * LIMITS.mapper_columns_max + cells };
  });
  return scored.reduce((a, b) => (b.score > a.score ? b : a)).delimiter;
}

function rowsOrNone(text: string, delimiter: string): readonly Row[] {
  try {
    return cellsOf(text, delimiter, LOOKED_AT);
  } catch (error) {
    if (error instanceof UnreadableSource) return [];
    throw error;
  }
}

const isName = (cell: string, dictionary: Dictionary): boolean =>
  cell !== "" && readNumber(cell, undefined) === undefined && meansSomething(cell, dictionary);
const meansSomething = (cell: string, dictionary: Dictionary): boolean =>
  dictionary.line(SourcePath.of(cell)) !== undefined || dictionary.head(SourcePath.of(cell)) !== undefined;

const TELLING: ReadonlySet<string> = new Set([
  "description",
  "quantity",
  "unitPrice",
  "unitPriceWithTax",
  "vatRate",
  "checkNet",
]);

class CsvReader {
  readonly #dictionary: Dictionary;
  // Each is bounded by the cells of one source.
  readonly #head: FoundValue[] = [];
  // Bounded by the same.
  readonly #lines: FoundValue[][] = [];
  // Bounded by the same.
  readonly #unmapped = new Set<string>();
  // Bounded by the same.
  readonly #issues: MapIssue[] = [];
  // Bounded by the same: values of the head that every line repeats.
  readonly #repeated = new Set<string>();
  #number: string | undefined;
  #table: Table | undefined;

  constructor(dictionary: Dictionary) {
    this.#dictionary = dictionary;
  }

  read(rows: readonly Row[]): Reading {
    const hasHeader = rows.some((row) => this.#isHeader(row));
    if (!hasHeader) this.#table = this.#indexed(rows[0]?.length ?? 0);
    for (const row of rows) this.#readRow(row);
    return { head: this.#head, lines: this.#lines, unmapped: [...this.#unmapped], issues: this.#issues };
  }

  /** Columns by their numbers, where the caller names them so. */
  #indexed(count: number): Table | undefined {
    const columns = Array.from({ length: count }, (_, at) => this.#column("", at));
    return columns.some(({ line, head }) => (line ?? head) !== undefined) ? tableOf(columns) : undefined;
  }

  #column(name: string, at: number): Column {
    const number = `#${at + 1}`;
    const byPlace = { line: this.#dictionary.stated("line", number), head: this.#dictionary.stated("head", number) };
    const isByPlace = (byPlace.line ?? byPlace.head) !== undefined;
    const path = SourcePath.of(isByPlace && name === "" ? number : name);
    const named = isByPlace ? byPlace : { line: this.#dictionary.line(path), head: this.#dictionary.head(path) };
    return { place: path.place, isNumber: isLineNumber(path.name), ...named };
  }

  #isHeader(row: Row): boolean {
    const cells = row.filter((cell) => cell !== "");
    const names = cells.filter((cell) => isName(cell, this.#dictionary));
    return names.length > 1 && names.length * 2 >= cells.length && isName(cells[1] ?? "", this.#dictionary);
  }

  #readRow(row: Row): void {
    if (row.every((cell) => cell === "")) {
      this.#table = undefined;
    } else if (this.#isHeader(row)) {
      this.#table = tableOf(row.map((cell, at) => this.#column(cell, at)));
    } else if (this.#table === undefined || this.#isBelow(row)) {
      this.#readPairs(row);
    } else {
      this.#readValues(row, this.#table);
    }
  }

  /** Sums below a table: a name of the head, and one value. */
  #isBelow(row: Row): boolean {
    const cells = row.filter((cell) => cell !== "");
    const [name = ""] = cells;
    const isNamed = cells.length === 2 && this.#dictionary.head(SourcePath.of(name)) !== undefined;
    return isNamed && this.#table?.hasLines === true && readNumber(name, undefined) === undefined;
  }

  /** `Číslo faktúry;2026001;;Dátum;1. 12. 2026` */
  #readPairs(row: Row): void {
    const cells = row.filter((cell) => cell !== "");
    for (let at = 0; at < cells.length; at++) {
      const name = cells[at] ?? "";
      const value = cells[at + 1];
      const meaning = this.#dictionary.head(SourcePath.of(name.replace(/:$/u, "")));
      if (meaning === undefined || value === undefined) {
        this.#unmapped.add(placeOf(name));
        continue;
      }
      this.#head.push(foundAt(meaning, name, value));
      at++;
    }
  }

  #readValues(row: Row, { columns, hasLines }: Table): void {
    const number = row[columns.findIndex(({ head }) => head?.target === "number")] ?? "";
    if (number !== "" && this.#number !== undefined && number !== this.#number) {
      this.#tellSeveral(number);
      return;
    }
    if (number !== "") this.#number = number;
    const line: FoundValue[] = [];
    for (const [at, cell] of row.entries()) {
      const column = columns[at];
      if (cell === "" || column === undefined || column.isNumber) continue;
      const meaning = hasLines ? (column.line ?? column.head) : column.head;
      if (meaning === undefined) this.#unmapped.add(column.place);
      else if (hasLines && column.line !== undefined) line.push(foundAt(meaning, column.place, cell));
      else this.#repeat(meaning, column.place, cell);
    }
    if (line.length > 0) this.#lines.push(line);
  }

  #repeat(meaning: Meaning, place: string, cell: string): void {
    const key = `${meaning.target}\n${place}\n${cell}`;
    if (this.#repeated.has(key)) return;
    this.#repeated.add(key);
    this.#head.push(foundAt(meaning, place, cell));
  }

  #tellSeveral(number: string): void {
    if (this.#issues.length > 0) return;
    this.#issues.push(issueOf("SEVERAL_DOCUMENTS", { field: "number", detail: `The next one is ${placeOf(number)}.` }));
  }
}

/** A column is one of the head where that is surer; a table is one of lines where two columns tell so. */
function tableOf(named: readonly Column[]): Table {
  const columns = named.map((column) => {
    const isOfHead = (column.head?.certainty ?? 0) > (column.line?.certainty ?? 0);
    return isOfHead ? { ...column, line: undefined } : column;
  });
  const telling = new Set(columns.flatMap(({ line }) => (line === undefined ? [] : [line.target])));
  const hasLines = [...telling].filter((target) => TELLING.has(target)).length > 1;
  return { columns, hasLines };
}
