/** Cuts the text of a CSV into cells. @source RFC 4180, and what spreadsheets make of it */
import { LIMITS } from "../../../base/limits.js";
import { UnreadableSource } from "./unreadable.js";

const QUOTE = '"';
const LINE_END = /\r\n?|\n/u;

type Row = readonly string[];

/**
 * @param delimiter  what stands between cells
 * @param most  rows that are read; the rest is left
 * @throws UnreadableSource when a quoted cell does not end, or something is beyond its bound
 */
export function cellsOf(text: string, delimiter: string, most: number): readonly Row[] {
  const rows: Row[] = [];
  let row: string[] = [];
  let at = 0;
  while (at <= text.length && rows.length < most) {
    const cell = text[at] === QUOTE ? quotedCell(text, at, delimiter) : plainCell(text, at, delimiter);
    if (cell.value.length > LIMITS.mapper_cell_chars_max)
      throw new UnreadableSource(
        "MAPPER-CELL",
        `The cell in row ${rows.length + 1}, column ${row.length + 1} has more than ${LIMITS.mapper_cell_chars_max} characters.`,
      );
    row.push(cell.value);
    if (row.length > LIMITS.mapper_columns_max)
      throw new UnreadableSource(
        "MAPPER-COLUMNS",
        `Row ${rows.length + 1} has more than ${LIMITS.mapper_columns_max} columns.`,
      );
    at = cell.end;
    if (text.startsWith(delimiter, at)) {
      at += delimiter.length;
      continue;
    }
    rows.push(row);
    row = [];
    const end = LINE_END.exec(text.charAt(at) + text.charAt(at + 1))?.[0] ?? "";
    // Behind the last line end there is no row.
    if (end === "" || at + end.length >= text.length) break;
    at += end.length;
  }
  return rows;
}

interface Cell {
  readonly value: string;
  /** Where the delimiter or the end of the line stands. */
  readonly end: number;
}

const END_OF_LINE = /[\r\n]/gu;

function plainCell(text: string, from: number, delimiter: string): Cell {
  const cut = text.indexOf(delimiter, from);
  END_OF_LINE.lastIndex = from;
  const line = END_OF_LINE.exec(text)?.index ?? text.length;
  const end = cut === -1 ? line : Math.min(cut, line);
  return { value: text.substring(from, end).trim(), end };
}

/** Two quotes inside are one; what stands behind the last one up to the delimiter belongs to the cell. */
function quotedCell(text: string, from: number, delimiter: string): Cell {
  const parts: string[] = [];
  let at = from + 1;
  for (;;) {
    const quote = text.indexOf(QUOTE, at);
    if (quote === -1)
      throw new UnreadableSource("MAPPER-QUOTE", "A quoted cell does not end: its closing quote is missing.");
    parts.push(text.substring(at, quote));
    at = quote + 1;
    if (text[at] !== QUOTE) break;
    parts.push(QUOTE);
    at++;
  }
  const rest = plainCell(text, at, delimiter);
  return { value: (parts.join("") + rest.value).trim(), end: rest.end };
}
