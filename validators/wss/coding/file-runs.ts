/**
 * Where a document holds the text of files: nearly all octets of a long document are base64 of an attachment, in which
 * no tag begins.
 */

/** Octets one behind the other of one kind. */
export interface Run {
  readonly bytes: Uint8Array;
  /** Whether they look like the text of a file. */
  readonly isFile: boolean;
}

/** A document is looked at in pieces of so many octets; in one of XML a tag begins. */
const PIECE_BYTES = 65_536;
const TAG = 0x3c;

/** The runs of a document in order; together they are all of it. */
export function runsOf(bytes: Uint8Array): readonly Run[] {
  const runs: { from: number; to: number; isFile: boolean }[] = [];
  for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
    const to = Math.min(bytes.length, from + PIECE_BYTES);
    const isFile = to - from === PIECE_BYTES && !bytes.subarray(from, to).includes(TAG);
    const last = runs.at(-1);
    if (last?.isFile === isFile) last.to = to;
    else runs.push({ from, to, isFile });
  }
  return runs.map(({ from, to, isFile }) => ({ bytes: bytes.subarray(from, to), isFile }));
}
