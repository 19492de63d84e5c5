/** Lines and columns of byte offsets, worked out only as far as somebody asks. */

/** Bytes per entry of the indexes: a look-up counts at most one block. */
const BLOCK_BYTES = 4_096;

/** A place in a document as editors count: lines from 1, columns from 1 in UTF-16 units. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** The lines of one source. They end as XML reads them: LF, CR LF or CR. */
export class Lines {
  readonly #source: Buffer;
  /** Line ends, and characters, before each block; bounded by the length of the source. */
  readonly #ends: number[] = [0];
  readonly #characters: number[] = [0];

  constructor(source: Buffer) {
    this.#source = source;
  }

  /** Line of a byte offset, from 1. */
  lineAt(offset: number): number {
    const end = Math.min(offset, this.#source.length);
    const block = this.#reach(end);
    return 1 + (this.#ends[block] ?? 0) + lineEnds(this.#source, block * BLOCK_BYTES, end);
  }

  /** Line and column of a byte offset. */
  positionAt(offset: number): Position {
    const end = Math.min(offset, this.#source.length);
    return {
      line: this.lineAt(end),
      column: 1 + this.#charactersBefore(end) - this.#charactersBefore(this.#start(end)),
    };
  }

  /** Where the line of an offset starts. */
  #start(offset: number): number {
    const last = this.#reach(offset);
    const own = behindLastEnd(this.#source, last * BLOCK_BYTES, offset);
    if (own !== undefined) return own;
    const start = this.#startInBlocksBefore(last);
    // The two characters of one line end may stand in two blocks.
    return start < offset && this.#source[start] === 0x0a && this.#source[start - 1] === 0x0d ? start + 1 : start;
  }

  /** Behind the last line end of an earlier block, which a binary search finds. */
  #startInBlocksBefore(last: number): number {
    const count = this.#ends[last] ?? 0;
    if (count === 0) return 0;
    let low = 0;
    let high = last;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#ends[middle] ?? 0) < count) low = middle + 1;
      else high = middle;
    }
    return behindLastEnd(this.#source, (low - 1) * BLOCK_BYTES, low * BLOCK_BYTES) ?? 0;
  }

  #charactersBefore(offset: number): number {
    const block = this.#reach(offset);
    return (this.#characters[block] ?? 0) + characters(this.#source, block * BLOCK_BYTES, offset);
  }

  /** Counts as far as the block of an offset. */
  #reach(offset: number): number {
    const block = Math.floor(offset / BLOCK_BYTES);
    for (let b = this.#ends.length; b <= block; b++) {
      const [start, end] = [(b - 1) * BLOCK_BYTES, b * BLOCK_BYTES];
      this.#ends[b] = (this.#ends[b - 1] ?? 0) + lineEnds(this.#source, start, end);
      this.#characters[b] = (this.#characters[b - 1] ?? 0) + characters(this.#source, start, end);
    }
    return block;
  }
}

/** A line feed behind a carriage return ends the line that the carriage return has ended already. */
const endsLine = (bytes: Buffer, at: number): boolean =>
  bytes[at] === 0x0d || (bytes[at] === 0x0a && bytes[at - 1] !== 0x0d);

function lineEnds(bytes: Buffer, start: number, end: number): number {
  let count = 0;
  for (let i = start; i < end; i++) if (endsLine(bytes, i)) count++;
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
