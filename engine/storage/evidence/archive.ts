/**
 * Evidence as the rest of the engine sees it: store an exchange, find it again, read it and know that it is what was
 * stored.
 */
import { BoundedMap } from "../../base/bounded.js";
import type { Clock } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import { UNCOUNTED } from "./counted.js";
import type { EvidenceCounts } from "./counted.js";
import { findEvidence, findRepeatedEvidence } from "./evidence.js";
import type { ChainPlace, EvidenceEntry, NewEvidence } from "./evidence.js";
import { createEvidenceJournal } from "./journal.js";
import type { EvidenceJournal, JournalEntry } from "./journal.js";
import { EvidenceDamaged, readEvidence, sha256Hex } from "./record.js";
import type { EvidencePart, ReadEvidence } from "./record.js";
import { evidenceRef } from "./store.js";
import type { EvidenceRef, EvidenceStore } from "./store.js";
import { sha256InSlices } from "../../base/memory/slices.js";
import type { Sealer } from "../sealer.js";
import type { Sql } from "../sql.js";

/** Octets as they stand in a record that not everybody may read. */
type SealedOctets = Required<Pick<EvidencePart, "bytes" | "sealed">>;

export interface EvidenceArchive {
  /** Resolves when the record is durable and in the chain. @throws EvidenceStoreFailure, or what Postgres says */
  store(entry: JournalEntry): Promise<ChainPlace>;
  /**
   * Resolves when the record is durable; its place in the chain is taken by the statement that writes what it proves.
   * @throws EvidenceStoreFailure
   */
  keep(entry: JournalEntry): Promise<NewEvidence>;
  /** The record that says most about a document of a firm. */
  find(firmId: string, documentId: string): Promise<EvidenceEntry | undefined>;
  /** The record of an inbound message that came with this very signature before. */
  findRepeated(messageId: string, referencesSha256: string): Promise<EvidenceEntry | undefined>;
  /**
   * The record of an entry. @throws EvidenceDamaged when it is not what was stored, EvidenceMissing,
   * EvidenceStoreFailure
   */
  read(entry: EvidenceEntry): Promise<ReadEvidence>;
  /**
   * Seals octets for a record; the event loop turns meanwhile.
   * @param sha256  of the octets, hex. @default computed here
   */
  seal(id: string, plain: Uint8Array, sha256?: string): Promise<SealedOctets>;
  /** Opens what `seal` made, and compares it with its digest. @throws EvidenceDamaged */
  unseal(
    bytes: Buffer,
    sealed: { readonly keyId: string; readonly context: string; readonly plainSha256: string },
  ): Buffer;
  /**
   * Stores octets that many records refer to and that are too large to be in each of them: once an hour, under their
   * digest.
   * @throws EvidenceStoreFailure
   */
  share(bytes: Buffer): Promise<EvidenceRef>;
  stop(): Promise<void>;
}

/** Reads one record of an object and compares it with its entry. */
async function readEntry(store: EvidenceStore, entry: EvidenceEntry): Promise<ReadEvidence> {
  const segment = await store.get(entry.object, { offset: entry.offset, length: entry.length });
  if (sha256Hex(segment) !== entry.recordSha256)
    throw new EvidenceDamaged("An evidence record is not what was stored.");
  return readEvidence(segment);
}

export function createEvidenceArchive(ports: {
  readonly sql: Sql;
  readonly store: EvidenceStore;
  readonly sealer: Sealer;
  readonly clock: Clock;
  /** @default nothing is counted */
  readonly counts?: EvidenceCounts;
}): EvidenceArchive {
  const { sql, sealer, clock, counts = UNCOUNTED } = ports;
  const store = counts.store(ports.store);
  const journal: EvidenceJournal = createEvidenceJournal({ sql, store, clock });
  const shared = new BoundedMap<EvidenceRef, Promise<void>>(LIMITS.evidence_shared_max);

  async function share(bytes: Buffer): Promise<EvidenceRef> {
    const ref = evidenceRef(bytes, clock.now());
    const known = shared.get(ref);
    if (known !== undefined) return known.then(() => ref);
    const stored = store.put(ref, bytes);
    shared.set(ref, stored);
    try {
      await stored;
    } catch (error) {
      shared.delete(ref);
      throw error;
    }
    return ref;
  }

  return {
    share,
    store: (entry) => journal.store(entry),
    keep: (entry) => journal.keep(entry),
    find: (firmId, documentId) => findEvidence(sql, firmId, documentId),
    findRepeated: (messageId, referencesSha256) => findRepeatedEvidence(sql, messageId, referencesSha256),
    read: (entry) => counts.read(() => readEntry(store, entry)),
    seal: async (id, plain, sha256) => {
      const context = `evidence ${id}`;
      const plainSha256 = sha256 ?? (await sha256InSlices(plain));
      return {
        bytes: await sealer.sealInSlices(plain, context),
        sealed: { keyId: sealer.keyId, context, plainSha256 },
      };
    },
    unseal: (bytes, sealed) => {
      let plain: Buffer;
      try {
        plain = sealer.open(sealed.keyId, bytes, sealed.context);
      } catch {
        throw new EvidenceDamaged("A sealed part cannot be opened.");
      }
      if (sha256Hex(plain) !== sealed.plainSha256) throw new EvidenceDamaged("A sealed part is not what was sealed.");
      return plain;
    },
    stop: () => journal.stop(),
  };
}
