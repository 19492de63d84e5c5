/** Goal: a payload that was stored comes back byte for byte, of any size, and the event loop turns while it is worked on. */
import { createHash, randomBytes } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { openPayload, packPayload, sealCompressed, sealPayload } from "../../../engine/storage/payloads/payloads.js";
import { inSlices, sha256InSlices } from "../../../engine/base/memory/slices.js";
import { joinColumnPieces } from "../../../engine/storage/payloads/pieces.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { turnsDuring } from "../../support/turns.js";

const sealer = createSealer([Buffer.alloc(32, 1)]);
const ID = "0197b2f0-0000-7000-8000-000000000001";
const SIZES = [
  0,
  1,
  LIMITS.payload_inline_bytes,
  LIMITS.payload_inline_bytes + 1,
  LIMITS.payload_slice_bytes,
  LIMITS.payload_slice_bytes + 1,
  3 * LIMITS.payload_slice_bytes + 7,
];
/** Text that shrinks and octets that do not. */
const payloads = SIZES.flatMap((size) => [Buffer.alloc(size, "<cbc:ID>1</cbc:ID>"), randomBytes(size)]);

test("a stored payload is opened byte for byte, whatever its size and however well it shrinks", async () => {
  for (const payload of payloads) {
    const sealed = await sealPayload(sealer, ID, payload);
    expect((await openPayload(sealer, ID, sealer.keyId, sealed)).equals(payload)).toBe(true);
  }
});

test("the digest that is stored with a payload is that of its exact bytes", async () => {
  for (const payload of payloads) {
    const expected = createHash("sha256").update(payload).digest("hex");
    const { sha256, sealed } = await packPayload(sealer, ID, payload);
    expect([sha256, await sha256InSlices(payload)]).toEqual([expected, expected]);
    expect((await openPayload(sealer, ID, sealer.keyId, sealed)).equals(payload)).toBe(true);
  }
});

test("what was sealed in one piece is opened in slices and the other way round", async () => {
  for (const payload of payloads) {
    const whole = sealer.seal(gzipSync(payload), ID);
    expect((await openPayload(sealer, ID, sealer.keyId, whole)).equals(payload)).toBe(true);
    const sliced = await sealCompressed(sealer, ID, gzipSync(payload));
    expect(gunzipSync(sealer.open(sealer.keyId, sliced, ID)).equals(payload)).toBe(true);
  }
});

test("a stored payload is not opened under another id, with one octet changed or with its end cut off", async () => {
  for (const payload of payloads) {
    const sealed = await sealPayload(sealer, ID, payload);
    const changed = Buffer.from(sealed);
    changed[changed.length >> 1] = (changed[changed.length >> 1] ?? 0) ^ 1;
    await expect(openPayload(sealer, "another", sealer.keyId, sealed)).rejects.toThrow();
    await expect(openPayload(sealer, ID, sealer.keyId, changed)).rejects.toThrow();
    await expect(openPayload(sealer, ID, sealer.keyId, sealed.subarray(0, -1))).rejects.toThrow();
    await expect(openPayload(sealer, ID, "0000000000000000", sealed)).rejects.toThrow();
  }
});

test("what grows beyond the largest payload when it is opened is refused, also when its end claims less", async () => {
  const bomb = gzipSync(Buffer.alloc(LIMITS.as4_payload_bytes_max + 1));
  const lying = Buffer.from(bomb);
  lying.writeUInt32LE(10, lying.length - 4);
  for (const compressed of [bomb, lying]) {
    const sealed = await sealCompressed(sealer, ID, compressed);
    await expect(openPayload(sealer, ID, sealer.keyId, sealed)).rejects.toThrow();
  }
});

test("the event loop turns between any two slices of a digest, of a sealing and of an opening", async () => {
  const slices = 5;
  const large = randomBytes(slices * LIMITS.payload_slice_bytes);
  const sealed = sealer.seal(large, ID);
  expect(await turnsDuring(() => sha256InSlices(large))).toBeGreaterThanOrEqual(slices - 1);
  expect(await turnsDuring(() => sealer.sealInSlices(large, ID))).toBeGreaterThanOrEqual(slices - 1);
  expect(await turnsDuring(() => sealer.openInSlices(sealer.keyId, sealed, ID))).toBeGreaterThanOrEqual(slices - 1);
  const seen: number[] = [];
  await inSlices(large, (slice) => seen.push(slice.length));
  expect(seen).toEqual(Array.from({ length: slices }, () => LIMITS.payload_slice_bytes));
});

test("a large payload is compressed and decompressed beside the event loop", async () => {
  const large = Buffer.alloc(8 * LIMITS.payload_slice_bytes, "<cbc:ID>1</cbc:ID>");
  const sealed = await sealPayload(sealer, ID, large);
  // Its gzip is smaller than a slice: what turns the loop here is not the sealing.
  expect(sealed.length).toBeLessThan(LIMITS.payload_slice_bytes);
  expect(await turnsDuring(() => sealPayload(sealer, ID, large))).toBeGreaterThan(0);
  expect(await turnsDuring(() => openPayload(sealer, ID, sealer.keyId, sealed))).toBeGreaterThan(0);
});

test("payloads that a function brings in pieces are each put together again, in the order of what they belong to", async () => {
  const row = (id: string, at: number, text: string | null) => ({
    ...{ id, at, name: `name of ${id}` },
    sealed: text === null ? null : Buffer.from(text),
  });
  const rows = [row("b", 4, "octets"), row("b", 0, "more"), row("c", 0, null), row("a", 0, "other"), row("b", 10, ".")];
  expect(await joinColumnPieces(rows)).toEqual([
    { ...row("b", 0, "moreoctets.") },
    { ...row("c", 0, null) },
    { ...row("a", 0, "other") },
  ]);
  expect(await joinColumnPieces([])).toEqual([]);
});
