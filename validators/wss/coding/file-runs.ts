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
  const runs: Run[] = [];
  let from = 0;
  for (let at = PIECE_BYTES; from < bytes.length; at += PIECE_BYTES) {
    const isFile = isFileAt(bytes, at - PIECE_BYTES);
    if (at < bytes.length && isFileAt(bytes, at) === isFile) continue;
    runs.push({ bytes: bytes.subarray(from, at), isFile });
    from = at;
  }
  return runs;
}

/** What is shorter than a piece, as most documents are, is not looked at. */
const isFileAt = (bytes: Uint8Array, at: number): boolean =>
  at + PIECE_BYTES <= bytes.length && !bytes.subarray(at, at + PIECE_BYTES).includes(TAG);
