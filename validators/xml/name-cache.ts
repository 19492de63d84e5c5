/**
 * From the bytes of a qualified name to what the scanner must know about it, without making a string.
 *
 * Every usual spelling of a UBL name (`cbc:ID`) is entered once per thread and stays. Other spellings last for one
 * document and are bounded. The hash is multiplied by a random odd number and finished like murmur3, so that a document
 * cannot choose names that meet in one slot.
 */
import { randomInt } from "node:crypto";
import { grown } from "./document.js";
import type { NameId } from "./names.js";

/**
 * Multiplier of the rolling hash `h = imul(h ^ byte, HASH_FACTOR)`; the scanner computes it while it looks for the end
 * of a name.
 */
export const HASH_FACTOR = randomInt(0x2000_0000, 0x7fff_ffff) | 1;
export const HASH_START = randomInt(1, 0x7fff_ffff) | 0;

const slotOf = (hash: number): number => {
  const h = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return h ^ (h >>> 13);
};

/** Index of an entry of a {@link NameCache}. */
export type NameEntry = number;
export const NO_ENTRY = -1;
const UNRESOLVED = -2;

/** One kind of qualified names: those of elements, or those of attributes. */
export class NameCache {
  /** Entry → namespace for which `names` holds; UNRESOLVED, which no prefix is ever bound to, until there is one. */
  namespaces = new Int32Array(1_024);
  /** Entry → id of the expanded name under that namespace. */
  names = new Int32Array(1_024);
  /** Entry → id of its prefix. */
  prefixes = new Int32Array(1_024);
  /** Entry → length in bytes. */
  lengths = new Int32Array(1_024);
  /** Entry → local part. */
  readonly locals: string[] = [];
  count = 0;

  #hashes = new Int32Array(1_024);
  #offsets = new Int32Array(1_024);
  #bytes = new Uint8Array(32_768);
  #view = new DataView(this.#bytes.buffer);
  #bytesUsed = 0;
  /** Slots hold entry + 1; 0 is free. Lasting entries and those of the document have a table each. */
  readonly #lastingSlots = new Int32Array(4_096);
  #documentSlots = new Int32Array(256);
  #lasting = 0;
  #lastingBytes = 0;

  /** Entry of the name bytes[start … start + length), or NO_ENTRY. */
  find(bytes: Uint8Array, start: number, length: number, hash: number): NameEntry {
    const found = this.#probe(this.#lastingSlots, bytes, start, length, hash);
    if (found !== NO_ENTRY || this.count === this.#lasting) return found;
    return this.#probe(this.#documentSlots, bytes, start, length, hash);
  }

  #probe(slots: Int32Array, bytes: Uint8Array, start: number, length: number, hash: number): NameEntry {
    const mask = slots.length - 1;
    for (let slot = slotOf(hash) & mask; ; slot = (slot + 1) & mask) {
      const entry = slots[slot]! - 1;
      if (entry < 0) return NO_ENTRY;
      if (this.#hashes[entry]! === hash && this.lengths[entry]! === length && this.#same(entry, bytes, start, length))
        return entry;
    }
  }

  #same(entry: NameEntry, bytes: Uint8Array, start: number, length: number): boolean {
    const own = this.#bytes;
    const from = this.#offsets[entry]!;
    for (let i = 0; i < length; i++) if (own[from + i]! !== bytes[start + i]!) return false;
    return true;
  }

  /** Whether the bytes at `start` are the name of an entry, whatever follows them. Four bytes at a time. */
  isAt(entry: NameEntry, view: DataView, start: number): boolean {
    const own = this.#view;
    const from = this.#offsets[entry]!;
    const length = this.lengths[entry]!;
    if (start + length > view.byteLength) return false;
    if (length < 4) {
      for (let i = 0; i < length; i++) if (own.getUint8(from + i) !== view.getUint8(start + i)) return false;
      return true;
    }
    const last = length - 4;
    for (let i = 0; i < last; i += 4) if (own.getInt32(from + i, true) !== view.getInt32(start + i, true)) return false;
    // The last four bytes, some of which may have been compared already.
    return own.getInt32(from + last, true) === view.getInt32(start + last, true);
  }

  /** Entries up to here are the same in every document. */
  get lasting(): number {
    return this.#lasting;
  }

  /** Enters a name that `find` did not find; it lasts until {@link forgetDocument}. */
  add(bytes: Uint8Array, start: number, length: number, hash: number, prefix: number, local: string): NameEntry {
    const entry = this.count++;
    if (entry === this.names.length) this.#growEntries();
    while (this.#bytesUsed + length > this.#bytes.length) {
      this.#bytes = grown(this.#bytes, this.#bytes.length * 2);
      this.#view = new DataView(this.#bytes.buffer);
    }
    this.#bytes.set(bytes.subarray(start, start + length), this.#bytesUsed);
    this.#offsets[entry] = this.#bytesUsed;
    this.#bytesUsed += length;
    this.#hashes[entry] = hash;
    this.lengths[entry] = length;
    this.prefixes[entry] = prefix;
    this.namespaces[entry] = UNRESOLVED;
    this.names[entry] = -1;
    this.locals[entry] = local;
    this.#enter(entry);
    return entry;
  }

  /** Enters a name for the life of the thread. Only before the first document. */
  addLasting(qname: string, prefix: number, namespace: number, name: NameId): void {
    const bytes = Buffer.from(qname, "latin1");
    let hash = HASH_START;
    for (const byte of bytes) hash = Math.imul(hash ^ byte, HASH_FACTOR);
    const entry = this.add(bytes, 0, bytes.length, hash, prefix, qname.slice(qname.indexOf(":") + 1));
    this.namespaces[entry] = namespace;
    this.names[entry] = name;
    this.#lasting = this.count;
    this.#lastingBytes = this.#bytesUsed;
    this.#documentSlots.fill(0);
    this.#insert(this.#lastingSlots, entry);
  }

  /** Names that only the current document spells so. */
  get documentCount(): number {
    return this.count - this.#lasting;
  }

  /** The name as the document writes it. */
  written(entry: NameEntry): string {
    const from = this.#offsets[entry]!;
    return Buffer.from(this.#bytes.buffer, from, this.lengths[entry]!).toString("utf8");
  }

  /** Keeps what a name means under a namespace. Lasting entries keep their usual meaning, whatever a document binds. */
  remember(entry: NameEntry, namespace: number, name: NameId): void {
    if (entry < this.#lasting) return;
    this.namespaces[entry] = namespace;
    this.names[entry] = name;
  }

  /** Drops the names of the last document. */
  forgetDocument(): void {
    if (this.count === this.#lasting) return;
    this.count = this.#lasting;
    this.#bytesUsed = this.#lastingBytes;
    this.locals.length = this.#lasting;
    if (this.#documentSlots.length > 4_096) this.#documentSlots = new Int32Array(256);
    else this.#documentSlots.fill(0);
  }

  #enter(entry: NameEntry): void {
    if ((this.count - this.#lasting) * 2 > this.#documentSlots.length) {
      this.#documentSlots = new Int32Array(this.#documentSlots.length * 2);
      for (let e = this.#lasting; e < entry; e++) this.#insert(this.#documentSlots, e);
    }
    this.#insert(this.#documentSlots, entry);
  }

  #insert(slots: Int32Array, entry: NameEntry): void {
    const mask = slots.length - 1;
    let slot = slotOf(this.#hashes[entry]!) & mask;
    while (slots[slot]! !== 0) slot = (slot + 1) & mask;
    slots[slot] = entry + 1;
  }

  #growEntries(): void {
    const length = this.names.length * 2;
    this.namespaces = grown(this.namespaces, length);
    this.names = grown(this.names, length);
    this.prefixes = grown(this.prefixes, length);
    this.lengths = grown(this.lengths, length);
    this.#hashes = grown(this.#hashes, length);
    this.#offsets = grown(this.#offsets, length);
  }
}
