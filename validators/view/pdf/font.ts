/** A TrueType font in a WOFF file: glyphs of characters, their widths, and the part of the font that a text needs. */
import { inflateSync } from "node:zlib";

/** Tables that a viewer needs to draw glyphs by their number. @source ISO 32000-1, 9.9 */
const EMBEDDED = ["cvt ", "fpgm", "glyf", "head", "hhea", "hmtx", "loca", "maxp", "prep"] as const;
const WOFF_SIGNATURE = 0x774f4646;
/** Bits of a composite glyph's parts. @source OpenType, glyf */
const PART = { words: 0x0001, scale: 0x0008, more: 0x0020, scales: 0x0040, matrix: 0x0080 } as const;

export class Font {
  readonly name: string;
  /** Thousandths of the font size, as PDF counts. */
  readonly ascent: number;
  readonly descent: number;
  readonly box: readonly number[];
  readonly #tables: ReadonlyMap<string, Buffer>;
  readonly #unitsPerEm: number;
  readonly #widths: number;
  readonly #longOffsets: boolean;
  readonly #glyphs = new Map<number, number>();
  readonly #characters: CharacterMap;

  /** @param name  in the file that embeds it @throws Error for what is no WOFF file of a TrueType font */
  constructor(name: string, woff: Buffer) {
    this.name = name;
    this.#tables = tablesOf(woff);
    const [head, hhea] = [this.#table("head"), this.#table("hhea")];
    this.#unitsPerEm = head.readUInt16BE(18);
    this.#longOffsets = head.readInt16BE(50) === 1;
    this.box = [36, 38, 40, 42].map((at) => this.#thousandths(head.readInt16BE(at)));
    this.ascent = this.#thousandths(hhea.readInt16BE(4));
    this.descent = this.#thousandths(hhea.readInt16BE(6));
    this.#widths = hhea.readUInt16BE(34);
    this.#characters = new CharacterMap(this.#table("cmap"));
  }

  /** @returns the number of a character's glyph; 0, a box, for a character that the font lacks */
  glyph(codePoint: number): number {
    let glyph = this.#glyphs.get(codePoint);
    if (glyph === undefined) {
      glyph = this.#characters.glyph(codePoint);
      if (this.#glyphs.size < GLYPHS_KEPT_MAX) this.#glyphs.set(codePoint, glyph);
    }
    return glyph;
  }

  /** Width of a glyph in thousandths of the font size. */
  width(glyph: number): number {
    return this.#thousandths(this.#table("hmtx").readUInt16BE(4 * Math.min(glyph, this.#widths - 1)));
  }

  /** The font with these glyphs only, which keep their numbers. */
  subset(glyphs: Iterable<number>): Buffer {
    const needed = this.#withParts(glyphs);
    const glyf = this.#table("glyf");
    const count = this.#table("maxp").readUInt16BE(4);
    const loca = Buffer.alloc(4 * (count + 1));
    const pieces: Buffer[] = [];
    let at = 0;
    for (let glyph = 0; glyph < count; glyph++) {
      loca.writeUInt32BE(at, 4 * glyph);
      if (!needed.has(glyph)) continue;
      const [from, to] = this.#place(glyph);
      const piece = glyf.subarray(from, to);
      const padding = Buffer.alloc((4 - (piece.length % 4)) % 4);
      pieces.push(piece, padding);
      at += piece.length + padding.length;
    }
    loca.writeUInt32BE(at, 4 * count);
    const head = Buffer.from(this.#table("head"));
    head.writeInt16BE(1, 50);
    const changed = new Map([
      ["glyf", Buffer.concat(pieces)],
      ["loca", loca],
      ["head", head],
    ]);
    return fontFile(
      EMBEDDED.flatMap((tag) => {
        const table = changed.get(tag) ?? this.#tables.get(tag);
        return table === undefined ? [] : [[tag, table] as const];
      }),
    );
  }

  /** Glyphs with those of which they are put together. */
  #withParts(glyphs: Iterable<number>): ReadonlySet<number> {
    const all = new Set<number>([0]);
    const waiting = [...glyphs];
    for (let glyph = waiting.pop(); glyph !== undefined; glyph = waiting.pop()) {
      if (all.has(glyph)) continue;
      all.add(glyph);
      waiting.push(...this.#partsOf(glyph));
    }
    return all;
  }

  #partsOf(glyph: number): readonly number[] {
    const [from, to] = this.#place(glyph);
    const outline = this.#table("glyf").subarray(from, to);
    if (outline.length === 0 || outline.readInt16BE(0) >= 0) return [];
    const parts: number[] = [];
    for (let at = 10, flags: number = PART.more; (flags & PART.more) !== 0;) {
      flags = outline.readUInt16BE(at);
      parts.push(outline.readUInt16BE(at + 2));
      at += (flags & PART.words) === 0 ? 6 : 8;
      if ((flags & PART.scale) !== 0) at += 2;
      else if ((flags & PART.scales) !== 0) at += 4;
      else if ((flags & PART.matrix) !== 0) at += 8;
    }
    return parts;
  }

  /** Where a glyph's outline lies in the table of outlines. */
  #place(glyph: number): readonly [from: number, to: number] {
    const loca = this.#table("loca");
    return this.#longOffsets
      ? [loca.readUInt32BE(4 * glyph), loca.readUInt32BE(4 * glyph + 4)]
      : [2 * loca.readUInt16BE(2 * glyph), 2 * loca.readUInt16BE(2 * glyph + 2)];
  }

  #thousandths(units: number): number {
    return Math.round((units * 1_000) / this.#unitsPerEm);
  }

  #table(tag: string): Buffer {
    const table = this.#tables.get(tag);
    if (table === undefined) throw new Error(`the font ${this.name} has no table ${tag}`);
    return table;
  }
}

/** Characters of which the glyph is remembered: more than the texts of one language have. */
const GLYPHS_KEPT_MAX = 4_096;

/** @source WOFF File Format 1.0, section 4 */
function tablesOf(woff: Buffer): ReadonlyMap<string, Buffer> {
  if (woff.readUInt32BE(0) !== WOFF_SIGNATURE) throw new Error("not a WOFF file");
  const count = woff.readUInt16BE(12);
  const tables = new Map<string, Buffer>();
  for (let n = 0; n < count; n++) {
    const entry = 44 + 20 * n;
    const [offset, stored, length] = [4, 8, 12].map((at) => woff.readUInt32BE(entry + at)) as [number, number, number];
    const bytes = woff.subarray(offset, offset + stored);
    tables.set(woff.toString("latin1", entry, entry + 4), stored < length ? inflateSync(bytes) : bytes);
  }
  return tables;
}

/** From characters to glyphs: the segments of the table's format 4, or the groups of its format 12. */
class CharacterMap {
  readonly #table: Buffer;
  readonly #format: number;

  constructor(cmap: Buffer) {
    const offsets = Array.from({ length: cmap.readUInt16BE(2) }, (_, n) => cmap.readUInt32BE(8 + 8 * n));
    const subtables = offsets.map((offset) => cmap.subarray(offset));
    const best = [12, 4].flatMap((format) => subtables.filter((subtable) => subtable.readUInt16BE(0) === format))[0];
    if (best === undefined) throw new Error("the font has no table of characters that is read here");
    this.#table = best;
    this.#format = best.readUInt16BE(0);
  }

  glyph(codePoint: number): number {
    return this.#format === 12 ? this.#inGroups(codePoint) : this.#inSegments(codePoint);
  }

  #inGroups(codePoint: number): number {
    const count = this.#table.readUInt32BE(12);
    for (let n = 0; n < count; n++) {
      const at = 16 + 12 * n;
      if (codePoint > this.#table.readUInt32BE(at + 4)) continue;
      const first = this.#table.readUInt32BE(at);
      return codePoint < first ? 0 : this.#table.readUInt32BE(at + 8) + codePoint - first;
    }
    return 0;
  }

  #inSegments(codePoint: number): number {
    const table = this.#table;
    const doubled = table.readUInt16BE(6);
    for (let n = 0; n < doubled; n += 2) {
      if (codePoint > table.readUInt16BE(14 + n)) continue;
      const first = table.readUInt16BE(16 + doubled + n);
      if (codePoint < first) return 0;
      const delta = table.readUInt16BE(16 + 2 * doubled + n);
      const rangeAt = 16 + 3 * doubled + n;
      const range = table.readUInt16BE(rangeAt);
      if (range === 0) return (codePoint + delta) & 0xffff;
      const glyph = table.readUInt16BE(rangeAt + range + 2 * (codePoint - first));
      return glyph === 0 ? 0 : (glyph + delta) & 0xffff;
    }
    return 0;
  }
}

/** Tables put together as a font file. @source OpenType, Organization of an OpenType Font */
function fontFile(tables: readonly (readonly [tag: string, table: Buffer])[]): Buffer {
  const power = Math.floor(Math.log2(tables.length));
  const head = Buffer.alloc(12 + 16 * tables.length);
  head.writeUInt32BE(0x0001_0000, 0);
  head.writeUInt16BE(tables.length, 4);
  head.writeUInt16BE(16 * 2 ** power, 6);
  head.writeUInt16BE(power, 8);
  head.writeUInt16BE(16 * (tables.length - 2 ** power), 10);
  const bodies: Buffer[] = [];
  let offset = head.length;
  tables.forEach(([tag, table], n) => {
    const padded = Buffer.concat([table, Buffer.alloc((4 - (table.length % 4)) % 4)]);
    const entry = 12 + 16 * n;
    head.write(tag, entry, "latin1");
    head.writeUInt32BE(checksumOf(padded), entry + 4);
    head.writeUInt32BE(offset, entry + 8);
    head.writeUInt32BE(table.length, entry + 12);
    bodies.push(padded);
    offset += padded.length;
  });
  return Buffer.concat([head, ...bodies]);
}

function checksumOf(padded: Buffer): number {
  let sum = 0;
  for (let at = 0; at < padded.length; at += 4) sum = (sum + padded.readUInt32BE(at)) >>> 0;
  return sum;
}
