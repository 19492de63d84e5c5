/** What operators hear of the store of evidence: what is written and what is not, its time, and what is unreadable. */
import type { Clock } from "../../base/clock.js";
import type { Metrics } from "../../base/metrics.js";
import { EvidenceDamaged } from "./record.js";
import { EvidenceMissing } from "./store.js";
import type { EvidenceStore } from "./store.js";

/** What came of writing an object. */
export const WRITE_OUTCOMES = ["stored", "failed"] as const;
/** Why a record that is in the chain cannot be read; a store that does not answer is no reason to think so. */
export const UNREADABLE_CAUSES = ["missing", "damaged"] as const;

export interface EvidenceCounts {
  /** Counts what the store does with objects. */
  store(store: EvidenceStore): EvidenceStore;
  /** Counts what turns out to be unreadable. @throws whatever `read` throws */
  read<T>(read: () => Promise<T>): Promise<T>;
}

/** Where nobody scrapes, as in a command, nothing is counted. */
export const UNCOUNTED: EvidenceCounts = { store: (store) => store, read: (read) => read() };

export function createEvidenceCounts({
  metrics,
  clock,
}: {
  readonly metrics: Metrics;
  readonly clock: Clock;
}): EvidenceCounts {
  // The first failure of all is a step from 0 for whoever watches the counter, or none.
  for (const outcome of WRITE_OUTCOMES) metrics.count("evidence_writes_total", { outcome }, 0);
  for (const cause of UNREADABLE_CAUSES) metrics.count("evidence_unreadable_total", { cause }, 0);

  async function written(write: () => Promise<void>): Promise<void> {
    const began = clock.monotonic();
    try {
      await write();
    } catch (error) {
      metrics.count("evidence_writes_total", { outcome: "failed" });
      throw error;
    }
    metrics.count("evidence_writes_total", { outcome: "stored" });
    metrics.observe("evidence_write_duration_seconds", {}, (clock.monotonic() - began) / 1_000);
  }

  return {
    store: (store) => {
      const putPieces = store.putPieces?.bind(store);
      return {
        form: store.form,
        put: (ref, bytes) => written(() => store.put(ref, bytes)),
        ...(putPieces === undefined ? {} : { putPieces: (ref, pieces) => written(() => putPieces(ref, pieces)) }),
        get: (ref, range) => store.get(ref, range),
        remove: (ref, now) => store.remove(ref, now),
      };
    },
    read: async (read) => {
      try {
        return await read();
      } catch (error) {
        if (error instanceof EvidenceDamaged) metrics.count("evidence_unreadable_total", { cause: "damaged" });
        if (error instanceof EvidenceMissing) metrics.count("evidence_unreadable_total", { cause: "missing" });
        throw error;
      }
    },
  };
}
