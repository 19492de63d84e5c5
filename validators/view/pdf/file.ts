/** Writes a PDF file: pages of drawn text with their fonts, in the order in which a reader needs them. */
import { deflateSync } from "node:zlib";

import type { Font } from "./font.js";
import type { FontName, Fonts } from "./fonts.js";

/** Points: a page of A4. */
export const PAGE = { width: 595.28, height: 841.89 } as const;

interface PdfPages {
  readonly title: string;
  /** Of the text, "sk". */
  readonly language: string;
  /** What draws each page. */
  readonly contents: readonly string[];
  /** Glyphs that the contents use, each with the characters that it stands for. */
  readonly used: Readonly<Record<FontName, ReadonlyMap<number, number>>>;
}

/** @returns the file; the same bytes for the same pages @source ISO 32000-1 */
export function writePdf({ title, language, contents, used }: PdfPages, fonts: Fonts): Buffer {
  const file = new PdfFile();
  const [catalog, tree, info] = [file.reserve(), file.reserve(), file.reserve()];
  const resources = `<</Font<</regular ${writeFont(file, fonts.regular, used.regular)} 0 R/bold ${writeFont(file, fonts.bold, used.bold)} 0 R>>>>`;
  const pages = contents.map((content) => {
    const stream = file.addStream("", Buffer.from(content, "latin1"));
    return file.add(
      `<</Type/Page/Parent ${tree} 0 R/MediaBox[0 0 ${PAGE.width} ${PAGE.height}]/Resources${resources}/Contents ${stream} 0 R>>`,
    );
  });
  file.put(
    catalog,
    `<</Type/Catalog/Pages ${tree} 0 R/Lang${textString(language)}/ViewerPreferences<</DisplayDocTitle true>>>>`,
  );
  file.put(tree, `<</Type/Pages/Count ${pages.length}/Kids[${pages.map((page) => `${page} 0 R`).join(" ")}]>>`);
  file.put(info, `<</Title${textString(title)}/Producer(Kurier)>>`);
  return file.end(catalog, info);
}

/** Text outside of a page: UTF-16, as hexadecimal, so that nothing of it can be taken for syntax. */
const textString = (text: string): string =>
  `<FEFF${Buffer.from(text, "utf16le").swap16().toString("hex").toUpperCase()}>`;

/** A font of glyph numbers, with what is needed to copy and search its text. @source ISO 32000-1, 9.7 and 9.10 */
function writeFont(file: PdfFile, font: Font, used: ReadonlyMap<number, number>): number {
  const glyphs = [...used.keys()].sort((a, b) => a - b);
  // Six letters say that the font is not whole.
  const name = `KURIER+${font.name}`;
  const program = font.subset(glyphs);
  const stream = file.addStream(`/Length1 ${program.length}`, program);
  const descriptor = file.add(
    `<</Type/FontDescriptor/FontName/${name}/Flags 4/FontBBox[${font.box.join(" ")}]/ItalicAngle 0/Ascent ${font.ascent}/Descent ${font.descent}/CapHeight ${font.ascent}/StemV 80/FontFile2 ${stream} 0 R>>`,
  );
  const widths = glyphs.map((glyph) => `${glyph}[${font.width(glyph)}]`).join(" ");
  const descendant = file.add(
    `<</Type/Font/Subtype/CIDFontType2/BaseFont/${name}/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>/FontDescriptor ${descriptor} 0 R/CIDToGIDMap/Identity/DW 600/W[${widths}]>>`,
  );
  const characters = file.addStream("", Buffer.from(characterMap(glyphs, used), "latin1"));
  return file.add(
    `<</Type/Font/Subtype/Type0/BaseFont/${name}/Encoding/Identity-H/DescendantFonts[${descendant} 0 R]/ToUnicode ${characters} 0 R>>`,
  );
}

/** Entries that one block of a map of characters may have. @source Adobe Technical Note 5014, section 3 */
const BLOCK = 100;

function characterMap(glyphs: readonly number[], used: ReadonlyMap<number, number>): string {
  const entries = glyphs.map((glyph) => {
    const character = String.fromCodePoint(used.get(glyph) ?? 0);
    return `<${hex(glyph)}> <${Buffer.from(character, "utf16le").swap16().toString("hex")}>`;
  });
  const blocks = Array.from({ length: Math.ceil(entries.length / BLOCK) }, (_, n) =>
    entries.slice(n * BLOCK, (n + 1) * BLOCK),
  );
  return `/CIDInit /ProcSet findresource begin 12 dict begin begincmap
/CIDSystemInfo <</Registry(Adobe)/Ordering(UCS)/Supplement 0>> def
/CMapName /Adobe-Identity-UCS def /CMapType 2 def
1 begincodespacerange <0000> <FFFF> endcodespacerange
${blocks.map((block) => `${block.length} beginbfchar\n${block.join("\n")}\nendbfchar`).join("\n")}
endcmap CMapName currentdict /CMap defineresource pop end end`;
}

/** A glyph's number as it stands in a text. */
export const hex = (glyph: number): string => glyph.toString(16).padStart(4, "0");

/** Numbered objects and the table by which they are found. */
class PdfFile {
  // Bounded by the objects of a file: pages and fonts.
  readonly #pieces: Buffer[] = [Buffer.from("%PDF-1.7\n%\u00e2\u00e3\u00cf\u00d3\n", "latin1")];
  // Bounded by the objects of a file.
  readonly #offsets: number[] = [];
  #length = this.#pieces[0]?.length ?? 0;

  /** @returns the number of an object that is put later */
  reserve(): number {
    return this.#offsets.push(0);
  }

  add(body: string): number {
    const id = this.reserve();
    this.put(id, body);
    return id;
  }

  addStream(entries: string, bytes: Buffer): number {
    const id = this.reserve();
    const packed = deflateSync(bytes);
    const head = Buffer.from(`<</Length ${packed.length}/Filter/FlateDecode${entries}>>stream\n`, "latin1");
    this.#write(id, Buffer.concat([head, packed, Buffer.from("\nendstream", "latin1")]));
    return id;
  }

  put(id: number, body: string): void {
    this.#write(id, Buffer.from(body, "latin1"));
  }

  end(catalog: number, info: number): Buffer {
    const start = this.#length;
    const rows = this.#offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
    const size = this.#offsets.length + 1;
    const tail = `xref\n0 ${size}\n0000000000 65535 f \n${rows}trailer\n<</Size ${size}/Root ${catalog} 0 R/Info ${info} 0 R>>\nstartxref\n${start}\n%%EOF\n`;
    return Buffer.concat([...this.#pieces, Buffer.from(tail, "latin1")]);
  }

  #write(id: number, body: Buffer): void {
    this.#offsets[id - 1] = this.#length;
    const object = Buffer.concat([Buffer.from(`${id} 0 obj\n`, "latin1"), body, Buffer.from("\nendobj\n", "latin1")]);
    this.#pieces.push(object);
    this.#length += object.length;
  }
}
