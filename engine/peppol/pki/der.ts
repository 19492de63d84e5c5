/**
 * DER, read strictly and without a tree: a node is a tag and a range of bytes. Lengths are definite and minimal, tags
 * have one octet, nothing lies outside its parent. A revocation list of 8 MB is walked in place; pkijs refuses lists of
 * more than a few thousand entries and takes a hundred times as long for the others.
 * @source ITU-T X.690
 */
import { LIMITS } from "../../base/limits.js";

/** The DER tags that we meet. */
export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  enumerated: 0x0a,
  utf8: 0x0c,
  printable: 0x13,
  ia5: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** `[n]` in a constructed and in a primitive encoding. */
export const contextTag = (n: number, constructed = true): number => (constructed ? 0xa0 : 0x80) | n;

/** The bytes are no DER, or not the structure that is read. Never leaves this folder. */
class DerFault extends Error {
  override readonly name = "DerFault";
}

/** One element inside the octets that it was read from. */
export interface Der {
  readonly bytes: Buffer;
  readonly tag: number;
  /** Offset of the tag. */
  readonly start: number;
  /** Range of the content. */
  readonly from: number;
  readonly end: number;
}

const fault = (): never => {
  throw new DerFault("not DER of the expected form");
};

/** The node at an offset. */
function nodeAt(bytes: Buffer, start: number, stop: number): Der {
  if (start + 2 > stop) return fault();
  const tag = bytes.readUInt8(start);
  const first = bytes.readUInt8(start + 1);
  if ((tag & 0x1f) === 0x1f || first === 0x80 || first > 0x84) return fault();
  const octets = first < 0x80 ? 0 : first & 0x7f;
  const from = start + 2 + octets;
  if (from > stop) return fault();
  const length = octets === 0 ? first : bytes.readUIntBE(start + 2, octets);
  const isMinimal = octets === 0 || (length >= 0x80 && length >= 2 ** (8 * (octets - 1)));
  if (!isMinimal || from + length > stop) return fault();
  return { bytes, tag, start, from, end: from + length };
}

/** The one node that these bytes are. @throws DerFault */
export function readDer(bytes: Uint8Array, tag: number): Der {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const node = nodeAt(buffer, 0, buffer.length);
  return node.tag === tag && node.end === buffer.length ? node : fault();
}

/** Reads the members of a constructed node one after the other. @throws DerFault */
export class DerReader {
  readonly #node: Der;
  #at: number;

  constructor(node: Der, tag?: number) {
    if ((node.tag & 0x20) === 0 || (tag !== undefined && node.tag !== tag)) fault();
    this.#node = node;
    this.#at = node.from;
  }

  get done(): boolean {
    return this.#at === this.#node.end;
  }

  /** The next member, which must have this tag when one is given. */
  next(tag?: number): Der {
    const node = nodeAt(this.#node.bytes, this.#at, this.#node.end);
    if (tag !== undefined && node.tag !== tag) return fault();
    this.#at = node.end;
    return node;
  }

  /** The next member when it has this tag. */
  optional(tag: number): Der | undefined {
    return !this.done && this.#node.bytes[this.#at] === tag ? this.next(tag) : undefined;
  }

  /** @throws DerFault when something is left */
  finish(): void {
    if (!this.done) fault();
  }

  /** The remaining members. */
  *rest(): Generator<Der> {
    for (let count = 0; !this.done; count += 1) {
      if (count === LIMITS.der_items_max) fault();
      yield this.next();
    }
  }
}

/** The members of a constructed node of this tag. */
export const members = (node: Der, tag: number = TAG.sequence): Generator<Der> => new DerReader(node, tag).rest();

/** The octets inside an element. */
export const contentOf = (node: Der): Buffer => node.bytes.subarray(node.from, node.end);
/** The octets of an element with its tag and length, as they were signed or hashed. */
export const wholeOf = (node: Der): Buffer => node.bytes.subarray(node.start, node.end);

/** The dotted form of an object identifier. */
export function oidOf(node: Der): string {
  const bytes = contentOf(node);
  if (node.tag !== TAG.oid || bytes.length === 0 || bytes.length > 64) return fault();
  const parts: number[] = [];
  let value = 0;
  for (const [i, byte] of bytes.entries()) {
    value = value * 128 + (byte & 0x7f);
    if ((byte & 0x80) !== 0) {
      if (i === bytes.length - 1 || value > 2 ** 40) fault();
      continue;
    }
    if (parts.length === 0) {
      const first = Math.min(2, Math.floor(value / 40));
      parts.push(first, value - 40 * first);
    } else {
      parts.push(value);
    }
    value = 0;
  }
  return parts.join(".");
}

/** An INTEGER as hex of its content octets. */
export const integerOf = (node: Der): string =>
  node.tag === TAG.integer && node.end > node.from ? contentOf(node).toString("hex") : fault();

/** The octets of a BIT STRING without unused bits. */
export const bitsOf = (node: Der): Buffer =>
  node.tag === TAG.bitString && node.bytes[node.from] === 0 ? contentOf(node).subarray(1) : fault();

const UTC = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/;
const GENERALIZED = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/;

/** UTCTime or GeneralizedTime in the form of RFC 5280, as milliseconds. */
export function timeOf(node: Der): number {
  const text = contentOf(node).toString("latin1");
  const match =
    node.tag === TAG.utcTime ? UTC.exec(text) : node.tag === TAG.generalizedTime ? GENERALIZED.exec(text) : null;
  const [, year = "", month, day, hour, minute, second] = match ?? fault();
  const full = year.length === 4 ? year : `${Number(year) < 50 ? "20" : "19"}${year}`;
  const instant = Date.parse(`${full}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(instant) ? fault() : instant;
}

/** Hash of a signature algorithm that is believed: RSA with SHA-2. */
const SIGNATURE_HASHES: ReadonlyMap<string, string> = new Map([
  ["1.2.840.113549.1.1.11", "sha256"],
  ["1.2.840.113549.1.1.12", "sha384"],
  ["1.2.840.113549.1.1.13", "sha512"],
]);

/** The hash of an AlgorithmIdentifier, or undefined when the algorithm is not believed. */
export const signatureHashOf = (node: Der): string | undefined =>
  SIGNATURE_HASHES.get(oidOf(new DerReader(node, TAG.sequence).next(TAG.oid)));

/** Runs a reader; bytes that are not what it reads give undefined. */
export function readOrUndefined<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof DerFault || error instanceof RangeError) return undefined;
    throw error;
  }
}
