/** Large payloads are compressed and taken apart in pieces that the allocator of C gives back by themselves. */
import { randomBytes } from "node:crypto";
import { afterEach, expect, test, vi } from "vitest";

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
