import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { Body } from "../../../gateway/http/body.js";

const octets = randomBytes(4 * LIMITS.payload_slice_bytes);

/** The body that comes in pieces which end at these places; its pieces are overwritten as soon as it has them. */
async function received(all: Buffer, told: number | undefined, ends: readonly number[]): Promise<Buffer> {
  const body = new Body(told);
  let from = 0;
  for (const to of [...ends.toSorted((left, right) => left - right), all.length]) {
    const piece = Buffer.from(all.subarray(from, to));
    body.add(piece);
    piece.fill(0);
    from = to;
  }
  expect(body.bytes).toBe(all.length);
  return body.end();
}

test("a body is what came, in whatever pieces, whether its length was told or not", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(octets.length),
      fc.boolean(),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 }),
      async (length, isTold, shares) => {
        const all = octets.subarray(0, length);
        const ends = shares.map((share) => Math.floor(share * length));
        expect((await received(all, isTold ? length : undefined, ends)).equals(all)).toBe(true);
      },
    ),
    { numRuns: 50 },
  );
});

test("a long body whose length was told is there at once when its last piece comes, and lies in memory once", () => {
  const body = new Body(octets.length);
  const half = octets.length / 2;
  body.add(octets.subarray(0, half));
  body.add(octets.subarray(half));
  const whole = body.end();
  expect(whole).toBeInstanceOf(Buffer);
  expect((whole as Buffer).buffer.byteLength).toBe(octets.length);
});
