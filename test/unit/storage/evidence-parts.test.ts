/** Goal: what is sealed into a record of evidence is hashed once, and a worker that has done so need only say it. */
import { Hash, randomBytes } from "node:crypto";
import { expect, test, vi } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { createEvidenceArchive } from "../../../engine/storage/evidence/archive.js";
import { EvidenceDamaged, sha256Hex } from "../../../engine/storage/evidence/record.js";
import { createSealer } from "../../../engine/storage/sealer.js";

const ID = "0197b2f0-0000-7000-8000-000000000001";
const PLAIN = randomBytes(2 * LIMITS.payload_slice_bytes + 7);
/** A digest of other octets: whoever computes it meets another. */
const TOLD = "ab".repeat(32);

/** Sealing needs neither a database nor a store. */
const archive = createEvidenceArchive({
  sql: undefined as never,
  store: undefined as never,
  sealer: createSealer([Buffer.alloc(32, 1)]),
  clock: systemClock,
});

/** Seals octets, with a digest if it is told; how many of them were hashed for it. */
async function sealed(sha256?: string): Promise<{ readonly plainSha256: string; readonly hashed: number }> {
  const update = vi.spyOn(Hash.prototype, "update");
  try {
    const part = await archive.seal(ID, PLAIN, sha256);
    const updates: readonly unknown[] = update.mock.calls.map(([octets]) => octets);
    const hashed = updates
      .filter((octets) => octets instanceof Uint8Array)
      .reduce((sum, { buffer, byteLength }) => sum + (buffer === PLAIN.buffer ? byteLength : 0), 0);
    return { plainSha256: part.sealed.plainSha256, hashed };
  } finally {
    update.mockRestore();
  }
}

test("a part of evidence has the digest that a worker has told, and its octets are hashed only where nobody has", async () => {
  expect(await sealed(TOLD)).toEqual({ plainSha256: TOLD, hashed: 0 });
  expect(await sealed()).toEqual({ plainSha256: sha256Hex(PLAIN), hashed: PLAIN.length });
});

test("a part of evidence that was sealed with the digest of other octets is not believed when it is opened", async () => {
  const wrong = await archive.seal(ID, PLAIN, TOLD);
  expect(() => archive.unseal(Buffer.from(wrong.bytes), wrong.sealed)).toThrow(EvidenceDamaged);
  const right = await archive.seal(ID, PLAIN, sha256Hex(PLAIN));
  expect(archive.unseal(Buffer.from(right.bytes), right.sealed).equals(PLAIN)).toBe(true);
});
