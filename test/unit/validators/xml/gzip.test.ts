/**
 * Large payloads are compressed and taken apart in pieces that the allocator of C gives back by themselves, and the text
 * of files in them is not searched for what repeats.
 */
import { createHash, randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { afterEach, expect, test, vi } from "vitest";

import { runsOf } from "../../../../validators/wss/coding/file-runs.js";
import { compress, decompress } from "../../../../validators/wss/coding/gzip.js";

/** glibc gives single blocks of so many octets back when they are freed, as `npm start` has it. */
const GIVEN_BACK_BYTES = 131_072;
const PAYLOAD = randomBytes(3_000_000);

afterEach(() => {
  vi.restoreAllMocks();
});

/** Lengths of the buffers that the pieces of an output lie in, where it is put together of several. */
function piecesOf(work: () => unknown): readonly number[] {
  const joining = vi.spyOn(Buffer, "concat");
  work();
  return joining.mock.calls.flatMap(([pieces]) => pieces.map(({ buffer }) => buffer.byteLength));
}

test.each([
  ["compressed", () => compress(PAYLOAD, 1)],
  ["taken apart", () => decompress(compress(PAYLOAD, 1), PAYLOAD.length)],
])("a large payload is %s in pieces of which none stays with the allocator", (_what, work) => {
  const pieces = piecesOf(work);
  expect(pieces.length).toBeGreaterThan(1);
  expect(Math.min(...pieces)).toBeGreaterThanOrEqual(GIVEN_BACK_BYTES);
});

test.each([0, 1, 65_535, 65_536, PAYLOAD.length])("%s octets are the same when they were compressed", (length) => {
  const plain = PAYLOAD.subarray(0, length);
  for (const level of [undefined, 1, 9]) expect(decompress(compress(plain, level), length)?.equals(plain)).toBe(true);
});

/** Octets that repeat nowhere, the same in every run. */
function fileOf(length: number): string {
  const pieces: Buffer[] = [];
  for (let at = 0; at * 32 < length; at += 1) pieces.push(createHash("sha256").update(String(at)).digest());
  return Buffer.concat(pieces).subarray(0, length).toString("base64");
}

const LINES = "<cac:Line><cbc:ID>1</cbc:ID></cac:Line>".repeat(5_000);
/** A document as its writers make it: lines, a file, more lines, another file that ends it. */
const WITH_FILES = Buffer.from(`<Invoice>${LINES}<f>${fileOf(900_000)}</f>${LINES}<f>${fileOf(300_000)}</f></Invoice>`);

test("a document with files is one member of gzip, which gives its exact octets back", () => {
  for (const level of [undefined, 1, 9]) {
    const compressed = compress(WITH_FILES, level);
    expect(decompress(compressed, WITH_FILES.length)?.equals(WITH_FILES)).toBe(true);
    // The magic number of a member stands nowhere but at its beginning, or a second member would be read as well.
    expect(compressed.subarray(0, 3)).toEqual(Buffer.from([0x1f, 0x8b, 0x08]));
    expect(compressed.readUInt32LE(compressed.length - 4)).toBe(WITH_FILES.length);
    expect(decompress(Buffer.concat([compressed, Buffer.of(0)]), WITH_FILES.length)).toBeUndefined();
    expect(decompress(compressed, WITH_FILES.length - 1)).toBeUndefined();
  }
});

test("the text of a file takes no more octets than where zlib looks for what repeats, and lines take as few", () => {
  const plain = gzipSync(WITH_FILES, { level: 1 }).length;
  expect(compress(WITH_FILES, 1).length).toBeLessThan(plain * 1.002);
  const file = Buffer.from(fileOf(900_000));
  const lines = Buffer.from(LINES);
  expect(compress(file, 1).length / file.length).toBeLessThan(0.76);
  expect(compress(lines, 1)).toEqual(gzipSync(lines, { level: 1, chunkSize: 262_144 }));
});

test("only the pieces of a document in which no tag begins are taken for the text of a file", () => {
  const runs = runsOf(WITH_FILES);
  expect(Buffer.concat(runs.map(({ bytes }) => bytes)).equals(WITH_FILES)).toBe(true);
  expect(runs.map(({ isFile }) => isFile)).toEqual([false, true, false, true, false]);
  for (const { bytes, isFile } of runs) if (isFile) expect(bytes.includes(0x3c)).toBe(false);
  const files = runs.filter(({ isFile }) => isFile).reduce((sum, { bytes }) => sum + bytes.length, 0);
  expect(files).toBeGreaterThan(1_600_000 - 4 * 65_536);
});

test("whoever repeats a letter where a file should be is sent on no larger than an eighth of it", () => {
  const letters = Buffer.alloc(1_000_000, "a");
  expect(compress(letters, 1).length).toBeLessThan(letters.length / 7);
});
