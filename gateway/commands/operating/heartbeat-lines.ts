/** The heartbeat as lines of a terminal: what the console draws as a page, from the same sections. */
import { instantText } from "../../web/console/cells.js";
import { figuresOf, sectionsOf } from "../../web/console/heartbeat.js";
import type { Heartbeat } from "../../web/console/heartbeat.js";
import type { Cell, Section, Tone } from "../../web/console/sections.js";
import { plain } from "../terminal.js";

/** Marks of a value that a reader without colours sees, too. */
const MARKS: Readonly<Record<Tone, string>> = { well: "", late: " ?", bad: " !" };

/** Puts a tone on a text; left out where nobody sees colours. */
type Paint = (tone: Tone, text: string) => string;

const shown = ({ text, tone = "well" }: Cell): string => `${text}${MARKS[tone]}`;

function tableLines({ title, columns, rows, empty }: Section, paint: Paint): readonly string[] {
  if (rows.length === 0) return ["", title, `  ${empty}`];
  const widths = columns.map((column, at) =>
    Math.max(column.length, ...rows.map((row) => shown(row[at] ?? NONE).length)),
  );
  const line = (texts: readonly string[], cells: readonly Cell[]): string =>
    texts
      .map((text, at) => {
        const cell = cells[at] ?? NONE;
        const width = widths[at] ?? 0;
        const padded = cell.isNumber === true ? text.padStart(width) : text.padEnd(width);
        return paint(cell.tone ?? "well", plain(padded));
      })
      .join("  ")
      .trimEnd();
  const heads = columns.map((_, at): Cell => ({ text: "", isNumber: rows[0]?.[at]?.isNumber === true }));
  return ["", title, `  ${line(columns, heads)}`, ...rows.map((row) => `  ${line(row.map(shown), row)}`)];
}

const NONE: Cell = { text: "" };

/** @returns lines without their ends */
export function heartbeatLines(beat: Heartbeat, paint: Paint = (_, text) => text): readonly string[] {
  const figures = figuresOf(beat);
  const width = Math.max(...figures.map((figure) => shown(figure).length));
  return [
    `Kurier, ${beat.environment}, ${instantText(beat.at)}`,
    "",
    ...figures.map((figure) => `  ${paint(figure.tone ?? "well", shown(figure).padStart(width))}  ${figure.name}`),
    ...sectionsOf(beat).flatMap((section) => tableLines(section, paint)),
  ];
}
