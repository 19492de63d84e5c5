/** Work on many octets in slices: the event loop turns between two of them, and no caller waits for a whole payload. */
import { createHash } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";

import { LIMITS } from "../../base/limits.js";

/** Hands the slices of `bytes` to `work` in order; what fits into one is done at once. */
export async function inSlices(bytes: Uint8Array, work: (slice: Uint8Array) => void): Promise<void> {
  for (let from = 0; from < bytes.length; from += LIMITS.payload_slice_bytes) {
    if (from > 0) await turn();
    work(bytes.subarray(from, from + LIMITS.payload_slice_bytes));
  }
}

/** The pieces in order as one buffer; a piece that is alone is not copied. */
export async function joinInSlices(pieces: readonly Uint8Array[]): Promise<Buffer> {
  const [only] = pieces;
  if (pieces.length === 1 && Buffer.isBuffer(only)) return only;
  const joined = Buffer.allocUnsafeSlow(pieces.reduce((bytes, piece) => bytes + piece.length, 0));
  let at = 0;
  let sinceTurn = 0;
  for (const piece of pieces) {
    sinceTurn += piece.length;
    if (sinceTurn > LIMITS.payload_slice_bytes && at > 0) {
      await turn();
      sinceTurn = piece.length;
    }
    await inSlices(piece, (slice) => {
      joined.set(slice, at);
      at += slice.length;
    });
  }
  return joined;
}

/**
 * SHA-256, hex. A thread would have to be given a copy first, and copying takes as long as hashing: 20 MB in 32 ms
 * against 36 ms on the build machine.
 */
export async function sha256InSlices(bytes: Uint8Array): Promise<string> {
  const hash = createHash("sha256");
  await inSlices(bytes, (slice) => {
    hash.update(slice);
  });
  return hash.digest("hex");
}
