/** Breaks what is drawn into pages: texts into lines of a width, rows of columns over as many pages as they need. */
import { hex, PAGE } from "./file.js";
import type { FontName, Fonts } from "./fonts.js";

/** How a text looks: the font, its size in points, and how dark it is, 0 for black. */
export interface Look {
  readonly font: FontName;
  readonly size: number;
  readonly grey: number;
}

/** A piece of text that stands in one line, at a distance from the left of its column. */
interface Piece {
  readonly text: string;
  readonly look: Look;
  readonly x: number;
}

/** A line of a column: what stands in it, and how much room it takes, in points. */
export interface Line {
  readonly pieces: readonly Piece[];
  readonly height: number;
}

/** A column of a row: where it begins, and its lines. */
export interface ColumnOfLines {
  readonly x: number;
  readonly lines: readonly Line[];
}

/** Distance of the text from the edge of the paper, points. */
const MARGIN = 42;
const TOP = PAGE.height - MARGIN;
/** Below it stands what is on every page. */
const BOTTOM = MARGIN + 22;
/** Room of a line in parts of its letters' size. */
const LEADING = 1.32;

export class Pages {
  /** Inner width, points. */
  readonly width = PAGE.width - 2 * MARGIN;
  readonly #fonts: Fonts;
  // Bounded by the lines of a document that are shown.
  readonly #contents: string[][] = [[]];
  readonly #used: Readonly<Record<FontName, Map<number, number>>> = { regular: new Map(), bold: new Map() };
  #y = TOP;
  #onBreak: () => void = () => undefined;

  constructor(fonts: Fonts) {
    this.#fonts = fonts;
  }

  get used(): Readonly<Record<FontName, ReadonlyMap<number, number>>> {
    return this.#used;
  }
  /** What draws each page. */
  get contents(): readonly string[] {
    return this.#contents.map((page) => page.join("\n"));
  }

  /** Width of a text in points. */
  widthOf(text: string, { font, size }: Look): number {
    let width = 0;
    for (const character of text) width += this.#fonts[font].width(this.#glyph(font, character));
    return (width * size) / 1_000;
  }

  /** The lines of a text, none wider than `width`; the text's own line ends stay. */
  wrap(text: string, look: Look, width: number): readonly string[] {
    return text.split("\n").flatMap((line) => this.#wrapLine(line, look, width));
  }

  /** Lines of one text in a column; `align` says where they stand in its width. */
  lines(text: string, look: Look, width: number, align: "left" | "right" = "left"): readonly Line[] {
    if (text === "") return [];
    return this.wrap(text, look, width).map((line) => ({
      pieces: [{ text: line, look, x: align === "left" ? 0 : width - this.widthOf(line, look) }],
      height: look.size * LEADING,
    }));
  }

  /** Lets room. */
  space(height: number): void {
    this.#y -= height;
  }

  /** Goes to the next page where less than `height` is left. */
  keep(height: number): void {
    if (this.#y - height < BOTTOM) this.#next();
  }

  /** What is drawn at the head of each page that is begun until it is said otherwise. */
  onBreak(draw: (() => void) | undefined): void {
    this.#onBreak = draw ?? (() => undefined);
  }

  /** Draws columns side by side. A row stays in one piece where a page has room for it, and goes on where none has. */
  row(columns: readonly ColumnOfLines[]): void {
    const height = heightOf(columns);
    if (height <= TOP - BOTTOM - ROOM_OF_HEADS) this.keep(height);
    let rest = columns;
    while (rest.some(({ lines }) => lines.length > 0)) {
      const drawn = rest.map(({ x, lines }) => this.#drawColumn(x, lines));
      const used = Math.max(...drawn.map(({ height: taken }) => taken));
      rest = rest.map(({ x, lines }, n) => ({ x, lines: lines.slice(drawn[n]?.count) }));
      this.#y -= used;
      if (rest.some(({ lines }) => lines.length > 0)) this.#next();
    }
  }

  /** A rule from `x` on, as wide as is said. */
  rule(x: number, width: number, thickness: number): void {
    this.#draw(
      `${thickness > 1 ? "0.1 0.34 0.74" : "0.8 0.8 0.8"} rg ${n(MARGIN + x)} ${n(this.#y)} ${n(width)} ${thickness} re f`,
    );
  }

  /** A soft ground below the next `height` points. */
  ground(x: number, width: number, height: number): void {
    this.#draw(`0.95 0.96 0.98 rg ${n(MARGIN + x)} ${n(this.#y - height)} ${n(width)} ${n(height)} re f`);
  }

  /** Texts at the foot of every page. */
  foot(
    draw: (page: number, pages: number) => readonly { readonly text: string; readonly align: "left" | "right" }[],
    look: Look,
  ): void {
    this.#contents.forEach((page, index) => {
      for (const { text, align } of draw(index + 1, this.#contents.length)) {
        const x = align === "left" ? 0 : this.width - this.widthOf(text, look);
        page.push(this.#textAt({ text, look, x }, 0, MARGIN - 6));
      }
    });
  }

  #drawColumn(x: number, lines: readonly Line[]): { readonly count: number; readonly height: number } {
    let height = 0;
    let count = 0;
    for (const line of lines) {
      if (this.#y - height - line.height < BOTTOM) break;
      height += line.height;
      // Letters stand on a line a little above the lower edge of their room.
      for (const piece of line.pieces) this.#draw(this.#textAt(piece, x, this.#y - height + line.height * 0.24));
      count++;
    }
    return { count, height };
  }

  #textAt({ text, look, x }: Piece, columnX: number, y: number): string {
    const glyphs = [...text].map((character) => hex(this.#use(look.font, character))).join("");
    return `BT ${look.grey} g /${look.font} ${look.size} Tf ${n(MARGIN + columnX + x)} ${n(y)} Td <${glyphs}> Tj ET`;
  }

  #next(): void {
    this.#contents.push([]);
    this.#y = TOP;
    this.#onBreak();
  }

  #draw(operators: string): void {
    this.#contents.at(-1)?.push(operators);
  }

  #glyph(font: FontName, character: string): number {
    return this.#fonts[font].glyph(character.codePointAt(0) ?? 0);
  }

  #use(font: FontName, character: string): number {
    const glyph = this.#glyph(font, character);
    const used = this.#used[font];
    if (!used.has(glyph)) used.set(glyph, character.codePointAt(0) ?? 0);
    return glyph;
  }

  #wrapLine(line: string, look: Look, width: number): readonly string[] {
    const lines: string[] = [];
    let open = "";
    for (const word of line.split(/[ \t]+/u)) {
      const longer = open === "" ? word : `${open} ${word}`;
      if (this.widthOf(longer, look) <= width) {
        open = longer;
        continue;
      }
      if (open !== "") lines.push(open);
      const pieces = this.#broken(word, look, width);
      lines.push(...pieces.slice(0, -1));
      open = pieces.at(-1) ?? "";
    }
    return [...lines, open];
  }

  /** A word that is wider than its column, in pieces that fit; of a column that fits nothing, one letter each. */
  #broken(word: string, look: Look, width: number): readonly string[] {
    const pieces: string[] = [];
    let piece = "";
    let taken = 0;
    for (const character of word) {
      const wide = this.widthOf(character, look);
      if (piece !== "" && taken + wide > width) {
        pieces.push(piece);
        piece = "";
        taken = 0;
      }
      piece += character;
      taken += wide;
    }
    return [...pieces, piece];
  }
}

/** Heads of tables are repeated on each page: a row that fits below them is not broken. */
const ROOM_OF_HEADS = 60;
const n = (points: number): string => points.toFixed(2);

export const heightOf = (columns: readonly ColumnOfLines[]): number =>
  Math.max(0, ...columns.map(({ lines }) => lines.reduce((sum, { height }) => sum + height, 0)));
