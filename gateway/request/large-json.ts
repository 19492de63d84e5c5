/**
 * Reads a large body as a JSON object without standing still: a document of 20 MB is one string of it, which is found
 * by its quotes and read in slices, and what stands around it is small. Everything that `parseJsonObject` refuses is
 * refused alike. Measured with an attachment of 19 MB (Node 20), processor time of the longest turn of its send, all
 * that follows included: 92 and 95 ms whole, 50 and 58 ms so.
 */
import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";

import { LIMITS } from "../../engine/base/limits.js";
import { ownTurn } from "../../engine/base/memory/turns.js";
import { BACKSLASH, BODY_FAULTS, COLON, malformed, parseJsonObject, QUOTE, UNSTORABLE } from "./json.js";

const LETTER_U = 0x75;
const SPACES: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0a, 0x0d]);
/** More strings than this are more members than a body may have. */
const STRINGS_MAX = 2 * (LIMITS.json_members_max + LIMITS.json_depth_max + 1);

/** Octets of a string, without its quotes. */
interface Range {
  readonly from: number;
  readonly to: number;
}

/**
 * Reads a body that must be a JSON object, in slices of LIMITS.payload_slice_bytes.
 * @throws Refusal BODY_MALFORMED
 */
export async function parseLargeJsonObject(bytes: Buffer): Promise<Readonly<Record<string, unknown>>> {
  if (!isUtf8(bytes)) throw malformed(BODY_FAULTS.encoding);
  const large = await largeStrings(bytes);
  const mark = randomUUID();
  const around: Buffer[] = [];
  const texts: string[] = [];
  let at = 0;
  for (const { from, to } of large) {
    around.push(bytes.subarray(at, from), Buffer.from(`${mark}${texts.length}`));
    texts.push(await textOf(bytes, { from, to }));
    at = to;
  }
  const value = parseJsonObject(Buffer.concat([...around, bytes.subarray(at)]));
  putBack(value, mark, texts);
  return value;
}

/** Strings that are longer than a slice and no names of members. */
async function largeStrings(bytes: Buffer): Promise<readonly Range[]> {
  const found: Range[] = [];
  let strings = 0;
  let turned = 0;
  for (let open = bytes.indexOf(QUOTE); open !== -1;) {
    const from = open + 1;
    let to = bytes.indexOf(QUOTE, from);
    while (to !== -1 && isEscaped(bytes, from, to)) {
      if (to - turned > LIMITS.payload_slice_bytes) {
        await ownTurn();
        turned = to;
      }
      to = bytes.indexOf(QUOTE, to + 1);
    }
    if (to === -1) break;
    if (to - from > LIMITS.payload_slice_bytes && !isName(bytes, to)) found.push({ from, to });
    if (++strings > STRINGS_MAX) throw malformed(BODY_FAULTS.members);
    open = bytes.indexOf(QUOTE, to + 1);
  }
  return found;
}

/** Whether an odd number of backslashes stands before a quote. */
function isEscaped(bytes: Buffer, from: number, quote: number): boolean {
  let before = quote;
  while (before > from && bytes[before - 1] === BACKSLASH) before -= 1;
  return ((quote - before) & 1) === 1;
}

function isName(bytes: Buffer, quote: number): boolean {
  let at = quote + 1;
  while (SPACES.has(bytes[at])) at += 1;
  return bytes[at] === COLON;
}

/** What a string says, read slice by slice. */
async function textOf(bytes: Buffer, { from, to }: Range): Promise<string> {
  const pieces: string[] = [];
  // The first half of a pair whose second half begins the next slice.
  let half = "";
  for (let at = from; at < to;) {
    const end = endOfSlice(bytes, at, to);
    const hasEscapes = bytes.subarray(at, end).includes(BACKSLASH);
    const isCarried = half !== "";
    let piece = half + read(bytes.toString("utf8", at, end));
    half = "";
    if (end < to && isHighSurrogate(piece)) {
      half = piece.slice(-1);
      piece = piece.slice(0, -1);
    }
    if ((hasEscapes || isCarried) && UNSTORABLE.test(piece)) throw malformed(BODY_FAULTS.characters);
    pieces.push(piece);
    at = end;
    await ownTurn();
  }
  return pieces.join("");
}

const isHighSurrogate = (text: string): boolean => (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800;

/** Where a slice ends that begins at `from`: behind whole characters and whole escapes. */
function endOfSlice(bytes: Buffer, from: number, to: number): number {
  const target = from + LIMITS.payload_slice_bytes;
  if (target >= to) return to;
  const slice = bytes.subarray(from, target);
  for (let at = 0; at !== -1; at = slice.indexOf(BACKSLASH, at)) {
    while (slice[at] === BACKSLASH) at += bytes[from + at + 1] === LETTER_U ? 6 : 2;
    if (at >= slice.length) return Math.min(from + at, to);
  }
  let end = target;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end += 1;
  return end;
}

function read(text: string): string {
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    throw malformed(BODY_FAULTS.form);
  }
}

/** Puts the large strings where their marks stand. */
function putBack(root: object, mark: string, texts: readonly string[]): void {
  // Bounded by the members of a body.
  const open: object[] = [root];
  for (let container = open.pop(); container !== undefined; container = open.pop())
    for (const [name, value] of Object.entries(container as Record<string, unknown>)) {
      if (typeof value === "object" && value !== null) open.push(value);
      else if (typeof value === "string" && value.startsWith(mark))
        (container as Record<string, unknown>)[name] = texts[Number(value.slice(mark.length))];
    }
}
