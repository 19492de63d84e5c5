/**
 * Goal: memory that a large document needed on its way is given back when the step is done, and not when V8 next looks
 * for garbage; memory that somebody else reads is never given back.
 */
import { randomBytes } from "node:crypto";
import { memoryUsage } from "node:process";
import { MessagePort } from "node:worker_threads";
import { expect, test, vi } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { freeOctets } from "../../../engine/base/memory/release.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { openPayload, sealCompressed, sealPayload } from "../../../engine/storage/payloads/payloads.js";

const ID = "0197b2f0-0000-7000-8000-000000000001";
const sealer = createSealer([Buffer.alloc(32, 1)]);
const LARGE = 8 * LIMITS.payload_slice_bytes;

test("octets that were given back have no length, and count no more", () => {
  const before = memoryUsage().arrayBuffers;
  const octets = Buffer.allocUnsafeSlow(LARGE);
  freeOctets(octets);
  expect(octets.length).toBe(0);
  expect(memoryUsage().arrayBuffers - before).toBeLessThan(LARGE);
});

test("octets that share their memory with others are left as they are, and so are few", () => {
  const shared = Buffer.alloc(LARGE, 7);
  const window = shared.subarray(0, LARGE - 1);
  const few = Buffer.alloc(LIMITS.released_bytes_min - 1, 7);
  freeOctets(window);
  freeOctets(few);
  expect([shared.length, window.length, few.length]).toEqual([LARGE, LARGE - 1, LIMITS.released_bytes_min - 1]);
});

test("octets that other threads share are left as they are", () => {
  const octets = new Uint8Array(new SharedArrayBuffer(LARGE));
  freeOctets(octets);
  expect(octets.length).toBe(LARGE);
});

/** How many octets are given back while something is done. */
async function givenBack(act: () => Promise<unknown>): Promise<number> {
  let octets = 0;
  const post = vi.spyOn(MessagePort.prototype, "postMessage");
  post.mockImplementation((_, buffers) => {
    for (const buffer of buffers as readonly ArrayBuffer[]) octets += buffer.byteLength;
  });
  try {
    await act();
    return octets;
  } finally {
    post.mockRestore();
  }
}

test("what was compressed is given back when it is sealed, and so is what was opened; of a cipher each slice is", async () => {
  const payload = randomBytes(LARGE);
  let sealed: Uint8Array = new Uint8Array(0);
  const sealing = await givenBack(async () => {
    sealed = await sealPayload(sealer, ID, payload);
  });
  const opening = await givenBack(() => openPayload(sealer, ID, sealer.keyId, sealed));
  // Once as slices of the cipher, the last of which may be too short to be worth it, once as a whole.
  for (const octets of [sealing, opening]) {
    expect(octets).toBeGreaterThan(2 * LARGE - LIMITS.payload_slice_bytes);
    expect(octets).toBeLessThan(2 * LARGE + LIMITS.payload_slice_bytes);
  }
});

test("a large payload that is sealed and opened leaves what was made of it, and nothing that was needed on the way", async () => {
  // Octets that gzip cannot shrink: what is compressed and sealed is as long as they are.
  const payload = randomBytes(LARGE);
  const before = memoryUsage().arrayBuffers;
  const sealed = await sealPayload(sealer, ID, payload);
  const opened = await openPayload(sealer, ID, sealer.keyId, sealed);
  const left = memoryUsage().arrayBuffers - before;
  expect(opened.equals(payload)).toBe(true);
  // Of seven copies that were made two are left, and the pieces in which gzip gave its own.
  expect(left).toBeLessThan(4 * LARGE);
});

test("octets that were given back are never stored as a payload of nothing", async () => {
  const compressed = randomBytes(LARGE);
  freeOctets(compressed);
  await expect(sealCompressed(sealer, ID, compressed)).rejects.toThrow("given back");
});
