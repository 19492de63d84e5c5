/**
 * One string for each short value that documents repeat: a currency, a unit, a VAT category. What is looked up again is
 * the string itself, whose hash is known, and nothing is allocated for it.
 *
 * A table of fixed size, in which a new value takes the place of another: whatever documents hold, it does not grow.
 */

/** Longer values are seldom repeated. */
export const SHORT_TEXT_BYTES_MAX = 12;

const SLOTS = 2_048;
const HASH_FACTOR = 0x01000193;

export class ShortTexts {
  readonly #texts: string[] = new Array<string>(SLOTS).fill("");

  /** The text of bytes[start … end), which are ASCII. */
  of(bytes: Buffer, start: number, end: number): string {
    let hash = end - start;
    for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, HASH_FACTOR);
    const slot = (hash ^ (hash >>> 15)) & (SLOTS - 1);
    const known = this.#texts[slot]!;
    if (isTextOf(known, bytes, start, end)) return known;
    return (this.#texts[slot] = bytes.toString("latin1", start, end));
  }
}

function isTextOf(text: string, bytes: Uint8Array, start: number, end: number): boolean {
  const { length } = text;
  if (length !== end - start) return false;
  for (let i = 0; i < length; i++) if (text.charCodeAt(i) !== bytes[start + i]!) return false;
  return true;
}
