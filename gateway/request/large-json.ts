/**
 * Reads a large body as a JSON object without standing still: a document of 20 MB is one string of it, which is found
 * by its quotes and read in slices, and what stands around it is small. Everything that `parseJsonObject` refuses is
 * refused alike. Measured with an attachment of 19 MB (Node 20), processor time of the longest turn of its send, all
 * that follows included: 92 and 95 ms whole, 50 and 58 ms so.
 */
import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";

import { LIMITS } from "../../engine/base/limits.js";
import { joinInSlices } from "../../engine/base/memory/slices.js";
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

/** A large body as it was read. */
export interface LargeJson {
  readonly value: Readonly<Record<string, unknown>>;
  /** The octets of one text, and what stands for it in the value. */
  readonly octets: { readonly standIn: string; readonly bytes: Buffer } | undefined;
}

/**
 * Reads a body that must be a JSON object, in slices of LIMITS.payload_slice_bytes.
 * @param asOctets  a member of the object that is never made a text where it is long: a text of 20 MB, its slices and
 * what V8 makes of them when they are joined are 60 MB of heap and a turn of 35 ms. A name that nobody can guess stands
 * in its place. @default none
 * @throws Refusal BODY_MALFORMED
 */
export async function parseLargeJsonObject(bytes: Buffer, asOctets?: string): Promise<LargeJson> {
  if (!isUtf8(bytes)) throw malformed(BODY_FAULTS.encoding);
  const large = await largeStrings(bytes);
  const mark = randomUUID();
  const around: Buffer[] = [];
  let at = 0;
  for (const [index, { from, to }] of large.entries()) {
    around.push(bytes.subarray(at, from), Buffer.from(`${mark}${index}`));
    at = to;
  }
  const value = parseJsonObject(Buffer.concat([...around, bytes.subarray(at)]));
  const standIn = asOctets === undefined ? undefined : value[asOctets];
  // Bounded by the members of a body.
  const texts = new Map<string, string>();
  let octets: LargeJson["octets"];
  for (const [index, range] of large.entries()) {
    const name = `${mark}${index}`;
    if (name === standIn) octets = { standIn, bytes: await octetsOf(bytes, range) };
    else texts.set(name, await textOf(bytes, range));
  }
  putBack(value, texts);
  return { value, octets };
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
  // Bounded by the slices of a body.
  const pieces: string[] = [];
  // The first half of a pair whose second half begins the next slice.
  let half = "";
  for (let at = from; at < to;) {
    const end = endOfSlice(bytes, at, to);
    const read = readSlice(bytes.subarray(at, end), half, end === to);
    half = read.half;
    pieces.push(read.piece);
    at = end;
    await ownTurn();
  }
  return pieces.join("");
}

/** The octets of what a string says, slice by slice: a slice without escapes is its own octets. */
async function octetsOf(bytes: Buffer, { from, to }: Range): Promise<Buffer> {
  // Bounded by the slices of a body.
  const pieces: Buffer[] = [];
  let half = "";
  for (let at = from; at < to;) {
    await ownTurn();
    const end = endOfSlice(bytes, at, to);
    const slice = bytes.subarray(at, end);
    if (half === "" && !slice.includes(BACKSLASH)) {
      if (CONTROL.test(slice.toString("latin1"))) throw malformed(BODY_FAULTS.form);
      pieces.push(slice);
    } else {
      const read = readSlice(slice, half, end === to);
      half = read.half;
      pieces.push(Buffer.from(read.piece));
    }
    at = end;
  }
  return joinInSlices(pieces);
}

/** What JSON takes in a string only as an escape. */
const CONTROL = /[\0-\x1f]/;

/**
 * What one slice of a string says.
 * @param before  the first half of a pair with which the slice before ended
 * @returns with the first half of a pair whose second half begins the next slice
 */
function readSlice(slice: Buffer, before: string, isLast: boolean): { readonly piece: string; readonly half: string } {
  const text = before + parsed(slice.toString("utf8"));
  const half = !isLast && isHighSurrogate(text) ? text.slice(-1) : "";
  const piece = half === "" ? text : text.slice(0, -1);
  const mayHold = before !== "" || slice.includes(BACKSLASH);
  if (mayHold && UNSTORABLE.test(piece)) throw malformed(BODY_FAULTS.characters);
  return { piece, half };
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

function parsed(text: string): string {
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    throw malformed(BODY_FAULTS.form);
  }
}

/** Puts the large strings where their marks stand. */
function putBack(root: object, texts: ReadonlyMap<string, string>): void {
  // Bounded by the members of a body.
  const open: object[] = [root];
  for (let container = open.pop(); container !== undefined; container = open.pop())
    for (const [name, value] of Object.entries(container as Record<string, unknown>)) {
      if (typeof value === "object" && value !== null) open.push(value);
      else if (typeof value === "string" && texts.has(value))
        (container as Record<string, unknown>)[name] = texts.get(value);
    }
}
