/** Lines and columns of byte offsets, worked out only as far as somebody asks. */

/** Bytes per entry of the indexes: a look-up counts at most one block. */
const BLOCK_BYTES = 4_096;

/** A place in a document as editors count: lines from 1, columns from 1 in UTF-16 units. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** How often something occurs before each block, and before the place that was asked for last. */
class Counter {
  readonly #source: Buffer;
  readonly #countIn: (source: Buffer, start: number, end: number) => number;
  /** Bounded by the length of the source. */
  readonly #blocks: number[] = [0];
  #lastOffset = 0;
  #lastCount = 0;

  constructor(source: Buffer, countIn: (source: Buffer, start: number, end: number) => number) {
    this.#source = source;
    this.#countIn = countIn;
  }

  /** How often it occurs before the block. */
  beforeBlock(block: number): number {
    for (let b = this.#blocks.length; b <= block; b++) {
      const start = (b - 1) * BLOCK_BYTES;
      this.#blocks[b] = (this.#blocks[b - 1] ?? 0) + this.#countIn(this.#source, start, start + BLOCK_BYTES);
    }
    return this.#blocks[block] ?? 0;
  }

  /** How often it occurs before an offset. Who asks for rising offsets has nothing counted twice. */
  before(offset: number): number {
    const block = Math.floor(offset / BLOCK_BYTES);
    const goesOn = this.#lastOffset <= offset && this.#lastOffset >= block * BLOCK_BYTES;
    const start = goesOn ? this.#lastOffset : block * BLOCK_BYTES;
    const known = goesOn ? this.#lastCount : this.beforeBlock(block);
    this.#lastOffset = offset;
    this.#lastCount = known + this.#countIn(this.#source, start, offset);
    return this.#lastCount;
  }
}

/** The lines of one source. They end as XML reads them: LF, CR LF or CR. */
export class Lines {
  readonly #source: Buffer;
  readonly #ends: Counter;
  readonly #characters: Counter;

  constructor(source: Buffer) {
    this.#source = source;
    const view = new DataView(source.buffer, source.byteOffset, source.length);
    this.#ends = new Counter(source, (bytes, start, end) => lineEnds(bytes, view, start, end));
    this.#characters = new Counter(source, characters);
  }

  /** Line of a byte offset, from 1. */
  lineAt(offset: number): number {
    return 1 + this.#ends.before(Math.min(offset, this.#source.length));
  }

  /** Line and column of a byte offset. */
  positionAt(offset: number): Position {
    const end = Math.min(offset, this.#source.length);
    return {
      line: this.lineAt(end),
      column: 1 + this.#characters.before(end) - this.#characters.before(this.#start(end)),
    };
  }

  /** Where the line of an offset starts. */
  #start(offset: number): number {
    const last = Math.floor(offset / BLOCK_BYTES);
    const own = behindLastEnd(this.#source, last * BLOCK_BYTES, offset);
    if (own !== undefined) return own;
    const start = this.#startInBlocksBefore(last);
    // The two characters of one line end may stand in two blocks.
    return start < offset && this.#source[start] === 0x0a && this.#source[start - 1] === 0x0d ? start + 1 : start;
  }

  /** Behind the last line end of an earlier block, which a binary search finds. */
  #startInBlocksBefore(last: number): number {
    const count = this.#ends.beforeBlock(last);
    if (count === 0) return 0;
    let low = 0;
    let high = last;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#ends.beforeBlock(middle) < count) low = middle + 1;
      else high = middle;
    }
    return behindLastEnd(this.#source, (low - 1) * BLOCK_BYTES, low * BLOCK_BYTES) ?? 0;
  }
}

/** A line feed behind a carriage return ends the line that the carriage return has ended already. */
const endsLine = (bytes: Buffer, at: number): boolean =>
  bytes[at] === 0x0d || (bytes[at] === 0x0a && bytes[at - 1] !== 0x0d);

/** Four bytes without a control character among them, which is most of a document, are passed over at once. */
function lineEnds(bytes: Buffer, view: DataView, start: number, end: number): number {
  let count = 0;
  let at = start;
  while (at < end) {
    const four = at + 4 <= end ? view.getInt32(at, true) : 0;
    if (at + 4 > end || ((four - 0x10101010) & ~four & 0x80808080) !== 0) {
      for (const stop = Math.min(at + 4, end); at < stop; at++) if (endsLine(bytes, at)) count++;
    } else at += 4;
  }
  return count;
}

/** The offset behind the last line end in a range, a pair of carriage return and line feed counted as one. */
function behindLastEnd(bytes: Buffer, start: number, end: number): number | undefined {
  for (let i = end - 1; i >= start; i--) if (bytes[i] === 0x0a || bytes[i] === 0x0d) return i + 1;
  return undefined;
}

/** UTF-16 units of UTF-8: continuations are part of a character, a lead of four octets stands for two units. */
function characters(bytes: Buffer, start: number, end: number): number {
  let count = 0;
  for (let i = start; i < end; i++) {
    const octet = bytes[i] ?? 0;
    if ((octet & 0xc0) !== 0x80) count += octet >= 0xf0 ? 2 : 1;
  }
  return count;
}
