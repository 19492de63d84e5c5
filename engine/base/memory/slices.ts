/**
 * Work on many octets, or for a long list, in slices: each has a turn of the event loop in which no other is worked on,
 * and no caller waits for a whole payload.
 */
import { createHash } from "node:crypto";
import type { Hash } from "node:crypto";

import { LIMITS } from "../limits.js";
import { ownTurn } from "./turns.js";

/** Hands the slices of `bytes` to `work` in order; what fits into one is done at once. */
export async function inSlices(bytes: Uint8Array, work: (slice: Uint8Array) => void): Promise<void> {
  const isLarge = bytes.length > LIMITS.payload_slice_bytes;
  for (let from = 0; from < bytes.length; from += LIMITS.payload_slice_bytes) {
    if (isLarge) await ownTurn();
    work(bytes.subarray(from, from + LIMITS.payload_slice_bytes));
  }
}

/**
 * What `make` makes of each, in order. Of a long list so many are made in a turn, in which no other slice is worked on;
 * of a short one all at once.
 */
export async function mapInSlices<Item, Made>(items: readonly Item[], make: (item: Item) => Made): Promise<Made[]> {
  const isLong = items.length > LIMITS.listed_slice_items;
  const made: Made[] = [];
  for (const [at, item] of items.entries()) {
    if (isLong && at % LIMITS.listed_slice_items === 0) await ownTurn();
    made.push(make(item));
  }
  return made;
}

/** The UTF-8 octets of a text. One of 20 MB at once is a turn of 20 ms. */
export async function utf8InSlices(text: string): Promise<Buffer> {
  const ends = endsOfSlices(text);
  let length = 0;
  for (const [at, end] of ends.entries()) {
    if (ends.length > 1) await ownTurn();
    length += Buffer.byteLength(text.slice(ends[at - 1] ?? 0, end));
  }
  const octets = Buffer.allocUnsafeSlow(length);
  let written = 0;
  for (const [at, end] of ends.entries()) {
    if (ends.length > 1) await ownTurn();
    written += octets.write(text.slice(ends[at - 1] ?? 0, end), written);
  }
  return octets;
}

/** Where the slices of a text end: never between the two halves of a character. */
function endsOfSlices(text: string): readonly number[] {
  const ends: number[] = [];
  for (let at = 0; at < text.length;) {
    const end = at + LIMITS.payload_slice_bytes;
    at = end < text.length && isHighSurrogate(text.charCodeAt(end - 1)) ? end + 1 : Math.min(end, text.length);
    ends.push(at);
  }
  return ends;
}

const isHighSurrogate = (unit: number): boolean => (unit & 0xfc00) === 0xd800;

/** Hands pieces to `work` in order, each whole or in slices; the event loop turns before more than a slice at once. */
async function eachInSlices(pieces: readonly Uint8Array[], work: (slice: Uint8Array) => void): Promise<void> {
  let sinceTurn = 0;
  for (const piece of pieces) {
    if (sinceTurn > 0 && sinceTurn + piece.length > LIMITS.payload_slice_bytes) {
      await ownTurn();
      sinceTurn = 0;
    }
    sinceTurn += piece.length;
    // An await costs more than a small piece.
    if (piece.length <= LIMITS.payload_slice_bytes) work(piece);
    else await inSlices(piece, work);
  }
}

/** The pieces in order as one buffer; a piece that is alone is not copied. */
export async function joinInSlices(pieces: readonly Uint8Array[]): Promise<Buffer> {
  const [only] = pieces;
  if (pieces.length === 1 && Buffer.isBuffer(only)) return only;
  const joined = Buffer.allocUnsafeSlow(pieces.reduce((bytes, piece) => bytes + piece.length, 0));
  let at = 0;
  await eachInSlices(pieces, (slice) => {
    joined.set(slice, at);
    at += slice.length;
  });
  return joined;
}

/**
 * SHA-256, hex. A thread would have to be given a copy first, and copying takes as long as hashing: 20 MB in 32 ms
 * against 36 ms on the build machine.
 */
export const sha256InSlices = async (bytes: Uint8Array): Promise<string> => (await hashPieces([bytes])).digest("hex");

/** SHA-256 of the pieces one behind the other, to which more can be added. */
export async function hashPieces(pieces: readonly Uint8Array[]): Promise<Hash> {
  const hash = createHash("sha256");
  await eachInSlices(pieces, (slice) => {
    hash.update(slice);
  });
  return hash;
}
