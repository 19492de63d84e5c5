/** What of a sheet stands where on paper. */
import type { Card, Cell, Column, Row, Sheet, Table } from "../sheet.js";
import { writePdf } from "./file.js";
import { fonts } from "./fonts.js";
import { heightOf, Pages } from "./pages.js";
import type { ColumnOfLines, Line, Look } from "./pages.js";

const INK = 0.08;
const QUIET = 0.38;
const LOOKS = {
  kind: { font: "regular", size: 10, grey: QUIET },
  title: { font: "bold", size: 17, grey: INK },
  headline: { font: "regular", size: 11.5, grey: INK },
  main: { font: "bold", size: 11.5, grey: INK },
  heading: { font: "bold", size: 7, grey: QUIET },
  name: { font: "bold", size: 9.5, grey: INK },
  text: { font: "regular", size: 8.5, grey: INK },
  strong: { font: "bold", size: 8.5, grey: INK },
  label: { font: "regular", size: 7.8, grey: QUIET },
  cell: { font: "regular", size: 7.8, grey: INK },
  column: { font: "bold", size: 7, grey: QUIET },
  small: { font: "regular", size: 6.8, grey: QUIET },
} as const satisfies Readonly<Record<string, Look>>;

/** Room between columns, between rows and between parts, points. */
const GAP = { column: 8, row: 3, part: 14 } as const;

/** @returns the file */
export function drawPdf(sheet: Sheet): Buffer {
  const loaded = fonts();
  const pages = new Pages(loaded);
  const title = `${sheet.kind} ${sheet.number}`.trim();
  drawHead(pages, sheet);
  drawCards(pages, [...sheet.parties, sheet.details]);
  drawTable(pages, sheet.lines);
  if (sheet.allowances !== undefined) drawTable(pages, sheet.allowances);
  if (sheet.taxes !== undefined) drawTable(pages, sheet.taxes);
  drawTotals(pages, sheet);
  drawCards(pages, [...sheet.payments, ...(sheet.notes === undefined ? [] : [sheet.notes])]);
  if (sheet.attachments !== undefined) drawTable(pages, sheet.attachments);
  const [foot = ""] = pages.wrap(`${title} · ${sheet.footer}`.replaceAll("\n", " "), LOOKS.small, pages.width - 90);
  pages.foot(
    (page, all) => [
      { text: foot, align: "left" },
      { text: sheet.pageText(page, all), align: "right" },
    ],
    LOOKS.small,
  );
  return writePdf({ title, language: sheet.language, contents: pages.contents, used: pages.used }, loaded);
}

function drawHead(pages: Pages, { kind, number, headline, remark }: Sheet): void {
  const half = pages.width / 2 - GAP.column;
  const rightX = pages.width / 2;
  pages.row([
    { x: 0, lines: [...pages.lines(kind, LOOKS.kind, half), ...pages.lines(number, LOOKS.title, half)] },
    {
      x: rightX,
      lines: headline.flatMap((row) =>
        pairLines(pages, row, {
          width: pages.width / 2,
          label: row.isMain === true ? LOOKS.main : LOOKS.headline,
          value: row.isMain === true ? LOOKS.main : LOOKS.headline,
        }),
      ),
    },
  ]);
  pages.space(6);
  pages.rule(0, pages.width, 1.5);
  if (remark !== undefined) {
    pages.space(6);
    pages.row([{ x: 0, lines: pages.lines(remark, LOOKS.strong, pages.width) }]);
  }
  pages.space(GAP.part);
}

/** A label at the left and its value at the right of the same lines. */
function pairLines(
  pages: Pages,
  { label, value }: Row,
  look: { readonly width: number; readonly label: Look; readonly value: Look },
): readonly Line[] {
  const half = look.width / 2 - GAP.column / 2;
  const labels = pages.lines(label, look.label, half);
  const values = pages.lines(value, look.value, half, "right");
  return beside(labels, values, look.width - half);
}

/** Two columns of lines as one, the second beginning at `x`. */
const beside = (left: readonly Line[], right: readonly Line[], x: number): readonly Line[] =>
  Array.from({ length: Math.max(left.length, right.length) }, (_, n) => ({
    height: Math.max(left[n]?.height ?? 0, right[n]?.height ?? 0),
    pieces: [...(left[n]?.pieces ?? []), ...(right[n]?.pieces ?? []).map((piece) => ({ ...piece, x: piece.x + x }))],
  }));

/** Two cards beside each other. */
function drawCards(pages: Pages, cards: readonly Card[]): void {
  const width = (pages.width - 2 * GAP.column) / 2;
  for (let n = 0; n < cards.length; n += 2) {
    pages.row(
      cards.slice(n, n + 2).map((card, index) => ({
        x: index * (width + 2 * GAP.column),
        lines: cardLines(pages, card, width),
      })),
    );
    pages.space(GAP.part);
  }
}

const blank = (height: number): Line => ({ pieces: [], height });

function cardLines(pages: Pages, { heading, name, text, rows }: Card, width: number): readonly Line[] {
  const labelWidth = width * 0.36;
  return [
    ...headingLines(pages, heading, width),
    ...(name === undefined ? [] : pages.lines(name, LOOKS.name, width)),
    ...text.flatMap((line) => pages.lines(line, LOOKS.text, width)),
    ...(rows.length > 0 && (name !== undefined || text.length > 0) ? [blank(3)] : []),
    ...rows.flatMap(({ label, value }) =>
      beside(
        pages.lines(label, LOOKS.label, labelWidth - GAP.column),
        pages.lines(value, LOOKS.cell, width - labelWidth),
        labelWidth,
      ),
    ),
  ];
}

const headingLines = (pages: Pages, heading: string, width: number): readonly Line[] => [
  ...pages.lines(heading.toUpperCase(), LOOKS.heading, width),
  blank(2),
];

/** Room of a table's heading and of the rules around its head, points. */
const HEADING_ROOM = 24;
const FIRST_ROW_MAX = 400;

/** Its head stands again on every page that it reaches. */
function drawTable(pages: Pages, { heading, columns, rows, omitted }: Table): void {
  const places = placesOf(columns, pages.width);
  const head = places.map(({ column, x, width }) => ({
    x,
    lines: pages.lines(column.label, LOOKS.column, width, column.isNumber ? "right" : "left"),
  }));
  const drawHeadRow = (): void => {
    pages.row(head);
    pages.space(GAP.row);
    pages.rule(0, pages.width, 0.75);
    pages.space(GAP.row);
  };
  const rowOf = (cells: readonly Cell[]): readonly ColumnOfLines[] =>
    places.map((place, index) => ({ x: place.x, lines: cellLines(pages, cells[index], place) }));
  // A head stands with its first row, or with the beginning of one that is longer than a page.
  pages.keep(heightOf(head) + HEADING_ROOM + Math.min(heightOf(rowOf(rows[0] ?? [])), FIRST_ROW_MAX));
  pages.row([{ x: 0, lines: headingLines(pages, heading, pages.width) }]);
  drawHeadRow();
  pages.onBreak(drawHeadRow);
  for (const cells of rows) {
    pages.row(rowOf(cells));
    pages.space(GAP.row);
    pages.rule(0, pages.width, 0.4);
    pages.space(GAP.row);
  }
  pages.onBreak(undefined);
  if (omitted !== undefined) pages.row([{ x: 0, lines: pages.lines(omitted, LOOKS.strong, pages.width) }]);
  pages.space(GAP.part);
}

interface Place {
  readonly column: Column;
  readonly x: number;
  readonly width: number;
}

/** Columns by their parts of the width, with room between them. */
function placesOf(columns: readonly Column[], whole: number): readonly Place[] {
  const shares = columns.reduce((sum, { width }) => sum + width, 0);
  let x = 0;
  return columns.map((column, index) => {
    const place = (whole * column.width) / shares;
    const width = index === columns.length - 1 ? place : place - GAP.column;
    const placed = { column, x, width };
    x += place;
    return placed;
  });
}

function cellLines(pages: Pages, cell: Cell | undefined, { column, width }: Place): ColumnOfLines["lines"] {
  if (cell === undefined) return [];
  const align = column.isNumber ? "right" : "left";
  return [
    ...pages.lines(cell.text, LOOKS.cell, width, align),
    ...cell.more.flatMap((text) => pages.lines(text, LOOKS.small, width, align)),
  ];
}

/** In the right half, where the amounts of the lines stand. */
function drawTotals(pages: Pages, { totals }: Sheet): void {
  const x = pages.width / 2;
  const width = pages.width - x;
  const inset = 5;
  pages.keep(totals.rows.length * 16 + 20);
  pages.row([{ x, lines: headingLines(pages, totals.heading, width) }]);
  for (const row of totals.rows) {
    const look = row.isMain === true ? LOOKS.main : LOOKS.text;
    const lines = pairLines(pages, row, { width: width - 2 * inset, label: look, value: look });
    const height = lines.reduce((sum, line) => sum + line.height, 0) + 2 * GAP.row;
    pages.keep(height);
    if (row.isMain === true) pages.ground(x, width, height);
    pages.space(GAP.row);
    pages.row([{ x: x + inset, lines }]);
    pages.space(GAP.row);
    pages.rule(x, width, row.isMain === true ? 1.5 : 0.4);
  }
  pages.space(GAP.part);
}
