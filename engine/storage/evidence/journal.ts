/**
 * Stores evidence in batches: exchanges that end together share one object, one sync and one statement. A record is
 * safe when `store` resolves, and not before.
 *
 * Measured on one disk: a file of its own for each exchange with sync, 860 a second; files of 32, 360 a second, which
 * is 11,500 exchanges.
 */
import { setImmediate as turn } from "node:timers/promises";

import type { Clock } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import { budget } from "../../base/memory/budgets.js";
import { createOctets } from "../../base/memory/octets.js";
import type { Taken } from "../../base/memory/octets.js";
import { chainEvidence } from "./evidence.js";
import type { ChainPlace, NewEvidence } from "./evidence.js";
import { TAR_END, writeEvidence } from "./record.js";
import type { EvidenceRecord, WrittenEvidence } from "./record.js";
import { evidencePlace, EvidenceStoreFailure } from "./store.js";
import type { EvidenceStore } from "./store.js";
import { hashPieces, joinInSlices } from "../../base/memory/slices.js";
import type { Sql } from "../sql.js";

/** A record and what is looked for by it. */
export interface JournalEntry {
  readonly record: EvidenceRecord;
  /** Digest of the references of the message's signature; see `referencesDigest`. */
  readonly referencesSha256: string;
}

export interface EvidenceJournal {
  /**
   * Stores one record; resolves when it is durable and in the chain.
   * @throws EvidenceStoreFailure, or what Postgres says
   */
  store(entry: JournalEntry): Promise<ChainPlace>;
  /**
   * Stores one record and leaves its place in the chain to the statement that writes what it proves; resolves when it
   * is durable. Without that statement it proves nothing.
   * @throws EvidenceStoreFailure
   */
  keep(entry: JournalEntry): Promise<NewEvidence>;
  /** Waits for what is under way. */
  stop(): Promise<void>;
}

interface Waiting {
  readonly entry: JournalEntry;
  readonly written: WrittenEvidence;
  /** The record is durable. */
  readonly resolve: (row: NewEvidence) => void;
  readonly reject: (error: unknown) => void;
}

export function createEvidenceJournal(ports: {
  readonly sql: Sql;
  readonly store: EvidenceStore;
  readonly clock: Clock;
  /** Octets of records that are written and stored at once; others wait. @default budget("evidence_bytes_max") */
  readonly bytes_max?: number;
}): EvidenceJournal {
  const { sql, store, clock, bytes_max = budget("evidence_bytes_max") } = ports;
  // A record is held twice until it is durable: as its parts, and as it is written.
  const room = createOctets(bytes_max, LIMITS.evidence_queue_max);
  const waiting: Waiting[] = [];
  let running: Promise<void> | undefined;
  /** Records that wait for room or are being written, and do not wait for their batch yet. */
  let writing = 0;
  /** Records that are being stored with their place in the chain. */
  let chaining = 0;

  /** Takes room for a record and writes it. */
  async function write(record: EvidenceRecord): Promise<{ readonly written: WrittenEvidence; readonly taken: Taken }> {
    writing += 1;
    try {
      const taken = await room.take(record.parts.reduce((sum, { bytes }) => sum + bytes.length, 0));
      try {
        return { written: await writeEvidence(record), taken };
      } catch (error) {
        taken.giveBack();
        throw error;
      }
    } finally {
      writing -= 1;
    }
  }

  function nextBatch(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const {
      written: { length },
    } of waiting) {
      if (count === LIMITS.evidence_batch || (count > 0 && bytes + length > LIMITS.evidence_batch_bytes_max)) break;
      bytes += length;
      count += 1;
    }
    return waiting.splice(0, count);
  }

  async function commit(batch: readonly Waiting[]): Promise<void> {
    const storedAt = clock.now();
    const pieces = [...batch.flatMap(({ written }) => written.pieces), TAR_END];
    const [first] = batch;
    const digest =
      first !== undefined && batch.length === 1 ? first.written.aloneSha256 : (await hashPieces(pieces)).digest("hex");
    const object = evidencePlace(digest, storedAt);
    let offset = 0;
    const entries = batch.map(({ entry, written }) => {
      const row = rowOf(entry, written, { object, offset, storedAt });
      offset += written.length;
      return row;
    });
    if (store.putPieces === undefined) await store.put(object, await joinInSlices(pieces));
    else await store.putPieces(object, pieces);
    batch.forEach(({ resolve }, index) => {
      resolve(entries[index] as NewEvidence);
    });
  }

  async function run(): Promise<void> {
    // Exchanges that were opened by one job of a thread end in one turn, and are one object.
    await turn();
    while (waiting.length > 0) {
      const batch = nextBatch();
      try {
        await commit(batch);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    running = undefined;
  }

  async function keep(entry: JournalEntry): Promise<NewEvidence> {
    if (waiting.length >= LIMITS.evidence_queue_max - writing)
      throw new EvidenceStoreFailure("More evidence waits to be stored than may.");
    const { written, taken } = await write(entry.record);
    try {
      return await new Promise<NewEvidence>((resolve, reject) => {
        waiting.push({ entry, written, resolve, reject });
        running ??= run();
      });
    } finally {
      taken.giveBack();
    }
  }

  return {
    keep,
    store: async (entry) => {
      chaining += 1;
      try {
        return await chainEvidence(sql, await keep(entry));
      } finally {
        chaining -= 1;
      }
    },
    stop: async () => {
      while (writing > 0 || chaining > 0 || running !== undefined) await (running ?? turn());
    },
  };
}

/** The row of a record that was written. */
export function rowOf(
  { record, referencesSha256 }: JournalEntry,
  { length, recordSha256, sha256 }: WrittenEvidence,
  at: Pick<NewEvidence, "object" | "offset" | "storedAt">,
): NewEvidence {
  const { facts, parts } = record;
  const envelope = parts.find(({ name }) => name === "request");
  const envelopeSha256 = sha256.get("request");
  if (envelope === undefined || envelopeSha256 === undefined) throw new Error("evidence without an envelope");
  return {
    ...at,
    direction: facts.direction,
    outcome: facts.outcome,
    documentId: facts.documentId,
    firmId: facts.firmId,
    messageId: facts.messageId,
    referencesSha256,
    length,
    recordSha256,
    envelopeSha256,
    envelopeBytes: envelope.bytes.length,
    envelopeContentType: facts.requestContentType,
    answerSha256: sha256.get("answer"),
    requestAt: facts.requestAt,
    answerAt: facts.answerAt,
  };
}
