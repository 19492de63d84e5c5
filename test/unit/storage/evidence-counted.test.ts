/** The store of evidence as operators hear of it, on a store that can be told to fail. */
import { expect, test } from "vitest";

import { createMetrics } from "../../../engine/base/metrics.js";
import { createEvidenceCounts } from "../../../engine/storage/evidence/counted.js";
import { EvidenceDamaged } from "../../../engine/storage/evidence/record.js";
import { EvidenceMissing, evidenceRef, EvidenceStoreFailure } from "../../../engine/storage/evidence/store.js";
import type { EvidenceStore } from "../../../engine/storage/evidence/store.js";

const BYTES = Buffer.from("an exchange");
const REF = evidenceRef(BYTES, Date.parse("2026-11-24T10:30:00Z"));

/** Counts over a store whose next call ends as it is told to, and what a scrape says. */
function counted() {
  const metrics = createMetrics();
  let now = 0;
  const clock = { now: () => now, monotonic: () => now };
  const counts = createEvidenceCounts({ metrics, clock });
  let fault: Error | undefined;
  const end = (): Promise<void> => {
    now += 20;
    return fault === undefined ? Promise.resolve() : Promise.reject(fault);
  };
  const form: EvidenceStore = {
    form: "file",
    put: end,
    putPieces: end,
    get: async () => (await end(), BYTES),
    remove: end,
  };
  return {
    counts,
    form,
    store: counts.store(form),
    failWith: (error: Error | undefined) => {
      fault = error;
    },
    scrape: async () =>
      Object.fromEntries(
        [...(await metrics.exposition()).matchAll(/^kurier_evidence_([\w]+(?:\{\w+="\w+"\})?) ([\d.]+)$/gm)].map(
          ([, name = "", value]) => [name, Number(value)],
        ),
      ),
  };
}

test("what is stored and what is not is counted from 0 on, in one piece and in several, with the time that it took", async () => {
  const { store, failWith, scrape } = counted();
  const none = { 'writes_total{outcome="stored"}': 0, 'writes_total{outcome="failed"}': 0 };
  expect(await scrape()).toMatchObject(none);
  await store.put(REF, BYTES);
  await store.putPieces?.(REF, [BYTES]);
  failWith(new EvidenceStoreFailure("Evidence could not be written: ENOSPC."));
  await expect(store.put(REF, BYTES)).rejects.toThrow("ENOSPC");
  await expect(store.putPieces?.(REF, [BYTES])).rejects.toThrow("ENOSPC");
  expect(await scrape()).toMatchObject({
    'writes_total{outcome="stored"}': 2,
    'writes_total{outcome="failed"}': 2,
    write_duration_seconds_count: 2,
    write_duration_seconds_sum: 0.04,
  });
});

test("a record that is missing or damaged is counted, and one of a store that does not answer is not", async () => {
  const { counts, store, failWith, scrape } = counted();
  for (const error of [
    new EvidenceMissing("There is no such object."),
    new EvidenceDamaged("An evidence record is not what was stored."),
    new EvidenceStoreFailure("Evidence could not be read: EIO."),
    undefined,
  ]) {
    failWith(error);
    const read = counts.read(() => store.get(REF));
    await (error === undefined ? expect(read).resolves.toEqual(BYTES) : expect(read).rejects.toBe(error));
  }
  expect(await scrape()).toMatchObject({
    'unreadable_total{cause="missing"}': 1,
    'unreadable_total{cause="damaged"}': 1,
  });
});

test("a store that takes no pieces is not made to", () => {
  const { counts, form } = counted();
  const { putPieces: _, ...whole } = form;
  expect(counts.store(whole).putPieces).toBeUndefined();
});
