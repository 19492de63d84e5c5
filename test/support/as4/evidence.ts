/** An evidence archive that keeps records in memory; for tests of what is stored, not of how. */
import { randomUUID } from "node:crypto";

import type { EvidenceArchive } from "../../../engine/storage/evidence/archive.js";
import type { EvidenceEntry } from "../../../engine/storage/evidence/evidence.js";
import { rowOf } from "../../../engine/storage/evidence/journal.js";
import type { JournalEntry } from "../../../engine/storage/evidence/journal.js";
import { readEvidence, sha256Hex, writeEvidence } from "../../../engine/storage/evidence/record.js";

export interface MemoryArchive extends EvidenceArchive {
  readonly stored: JournalEntry[];
  /** The next so many records cannot be stored. */
  failing: number;
  /** A part of the last record. */
  last(name: string): Buffer | undefined;
}

export function memoryArchive(): MemoryArchive {
  const stored: JournalEntry[] = [];
  const archive: MemoryArchive = {
    stored,
    failing: 0,
    last: (name) => {
      const part = stored.at(-1)?.record.parts.find((one) => one.name === name);
      return part === undefined ? undefined : Buffer.from(part.bytes);
    },
    store: async (entry) => {
      if (archive.failing > 0) {
        archive.failing -= 1;
        throw new Error("the disk is full");
      }
      stored.push(entry);
      return { index: stored.length, hash: randomUUID(), previousHash: randomUUID() };
    },
    keep: async (entry) => {
      await archive.store(entry);
      const at = { object: "memory", offset: 0, storedAt: entry.record.facts.requestAt };
      return rowOf(entry, await writeEvidence(entry.record), at);
    },
    find: async () => undefined,
    findRepeated: async (messageId, referencesSha256) => {
      const index = stored.findIndex(
        (entry) => entry.record.facts.messageId === messageId && entry.referencesSha256 === referencesSha256,
      );
      return index < 0 ? undefined : ({ index } as EvidenceEntry);
    },
    read: async ({ index }) => {
      const entry = stored[index];
      if (entry === undefined) throw new Error("no such record");
      return readEvidence(Buffer.concat((await writeEvidence(entry.record)).pieces));
    },
    seal: async (id, plain, sha256 = "") => ({
      bytes: plain,
      sealed: { keyId: "test", context: id, plainSha256: sha256 },
    }),
    unseal: (bytes) => bytes,
    share: async (bytes) => sha256Hex(bytes),
    stop: async () => undefined,
  };
  return archive;
}
