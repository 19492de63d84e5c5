/** The evidence index: batches, the chain, what a lost connection leaves. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import {
  CHAIN_START,
  chainHash,
  evidenceHead,
  findEvidence,
  listEvidence,
} from "../../../engine/storage/evidence/evidence.js";
import { createEvidenceJournal } from "../../../engine/storage/evidence/journal.js";
import type { EvidenceJournal, JournalEntry } from "../../../engine/storage/evidence/journal.js";
import {
  EvidenceDamaged,
  readEvidence,
  referencesDigest,
  sha256Hex,
  writeEvidence,
} from "../../../engine/storage/evidence/record.js";
import { openFileEvidence } from "../../../engine/storage/evidence/store-file.js";
import { digestOf } from "../../../engine/storage/evidence/store.js";
import type { EvidenceStore } from "../../../engine/storage/evidence/store.js";
import { fakeClock } from "../../support/fake-clock.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";

let db: TestDatabase;
let root: string;
let store: EvidenceStore;
let journal: EvidenceJournal;
const clock = fakeClock("2026-11-20T10:30:00.123Z");

beforeAll(async () => {
  db = await freshDatabase();
  root = mkdtempSync(join(tmpdir(), "kurier-journal-"));
  store = openFileEvidence(root);
  journal = createEvidenceJournal({ sql: db.sql, store, clock });
});
afterAll(async () => {
  await journal.stop();
  await db.drop();
  rmSync(root, { recursive: true, force: true });
});

const REFERENCES = [
  { uri: "#a", digestMethod: "sha256", digest: "AAAA" },
  { uri: "cid:x", digestMethod: "sha256", digest: "BBBB" },
];

const entry = (changes: Partial<JournalEntry["record"]["facts"]> = {}): JournalEntry => ({
  referencesSha256: referencesDigest(REFERENCES),
  record: {
    facts: {
      direction: "outbound",
      id: randomUUID(),
      outcome: "receipt",
      documentId: randomUUID(),
      firmId: randomUUID(),
      messageId: `${randomUUID()}@kurier`,
      instanceId: randomUUID(),
      sender: "0245:1",
      receiver: "0245:2",
      documentTypeId: "type",
      processId: "process",
      requestAt: clock.now(),
      answerAt: clock.now() + 5,
      requestContentType: "multipart/related",
      ...changes,
    },
    parts: [
      { name: "request", bytes: Buffer.from("the envelope") },
      { name: "answer", bytes: Buffer.from("the receipt") },
    ],
  },
});

describe("the evidence journal", () => {
  test("what was stored is found with its place, and its record reads back", async () => {
    const one = entry();
    const place = await journal.store(one);
    const { firmId, documentId } = one.record.facts;
    const found = await findEvidence(db.sql, firmId ?? "", documentId);
    expect(found).toMatchObject({
      ...place,
      envelopeSha256: sha256Hex(Buffer.from("the envelope")),
      answerSha256: sha256Hex(Buffer.from("the receipt")),
      storedAt: clock.now(),
      requestAt: clock.now(),
    });
    const segment = await store.get(found?.object ?? "", { offset: found?.offset ?? 0, length: found?.length ?? 0 });
    expect(sha256Hex(segment)).toBe(found?.recordSha256);
    const read = readEvidence(segment);
    expect(read.parts.get("request")?.toString()).toBe("the envelope");
    expect(read.manifest).toMatchObject({ ...one.record.facts, requestTime: "2026-11-20T10:30:00.123Z" });
  });

  test("evidence of another firm is not found", async () => {
    const one = entry();
    await journal.store(one);
    expect(await findEvidence(db.sql, randomUUID(), one.record.facts.documentId)).toBeUndefined();
  });

  test("a hundred exchanges at once share a few objects, and every entry follows from the one before", async () => {
    await Promise.all(Array.from({ length: 100 }, () => journal.store(entry())));
    const entries = await listEvidence(db.sql, { after: 0, limit: 1_000 });
    expect(new Set(entries.slice(-100).map(({ object }) => object)).size).toBeLessThan(10);
    let previous = CHAIN_START;
    for (const [index, one] of entries.entries()) {
      expect(one.index).toBe(index + 1);
      expect(one.previousHash).toBe(previous);
      expect(chainHash(one)).toBe(one.hash);
      previous = one.hash;
    }
    expect(await evidenceHead(db.sql)).toEqual({ index: entries.length, hash: previous });
  });

  test("exchanges of one turn are one object, and an object has the digest of all its octets as its name", async () => {
    const alone = createEvidenceJournal({ sql: db.sql, store, clock });
    const places = await Promise.all(Array.from({ length: 10 }, () => alone.keep(entry())));
    const [object = "", ...others] = new Set(places.map((place) => place.object));
    expect(others).toEqual([]);
    expect(sha256Hex(await store.get(object))).toBe(digestOf(object));
    const { object: single } = await alone.keep(entry());
    expect(sha256Hex(await store.get(single))).toBe(digestOf(single));
    await alone.stop();
  });

  test("two nodes append to one chain without a gap", async () => {
    const other = createEvidenceJournal({ sql: db.another(), store, clock });
    const places = await Promise.all(
      Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? journal : other).store(entry())),
    );
    expect(new Set(places.map(({ index }) => index)).size).toBe(40);
    const entries = await listEvidence(db.sql, { after: 0, limit: 1_000 });
    expect(entries.map(({ index }) => index)).toEqual(entries.map((_, i) => i + 1));
  });

  test("nothing enters the chain when the object cannot be stored", async () => {
    const before = await evidenceHead(db.sql);
    const broken = createEvidenceJournal({
      sql: db.sql,
      clock,
      store: { ...store, putPieces: () => Promise.reject(new Error("disk full")) },
    });
    await expect(broken.store(entry())).rejects.toThrow("disk full");
    expect(await evidenceHead(db.sql)).toEqual(before);
  });

  test("an entry is never changed or deleted", async () => {
    await expect(db.sql`update evidence set outcome = 'receipt'`).rejects.toThrow("never changed");
    await expect(db.sql`delete from evidence`).rejects.toThrow("never changed");
    await expect(db.sql`truncate evidence`).rejects.toThrow("never changed");
  });

  test("the record that proves most is shown where there are several: a receipt before an unanswered try", async () => {
    const documentId = randomUUID();
    const firmId = randomUUID();
    for (const outcome of ["unconfirmed", "receipt", "unconfirmed"])
      await journal.store(entry({ documentId, firmId, outcome }));
    expect((await findEvidence(db.sql, firmId, documentId))?.outcome).toBe("receipt");
  });
});

describe("large evidence", () => {
  const large = Buffer.alloc(3 * LIMITS.payload_slice_bytes, "an envelope ");
  const heavy = (): JournalEntry => {
    const { record, ...rest } = entry();
    return { ...rest, record: { ...record, parts: [{ name: "request", bytes: large }] } };
  };

  test("a journal that is stopped stores what it was given before, also a record that is still being written", async () => {
    const stopped = createEvidenceJournal({ sql: db.sql, store, clock });
    const given = heavy();
    let place: unknown;
    const stored = stopped.store(given).then((at) => (place = at));
    await stopped.stop();
    await stored;
    expect(place).toBeDefined();
    const { documentId, firmId = "" } = given.record.facts;
    expect((await findEvidence(db.sql, firmId, documentId))?.envelopeSha256).toBe(sha256Hex(large));
  });

  test("a large record goes to the store in its pieces and not as a copy, and is found as it was", async () => {
    const given = heavy();
    const pieces: Uint8Array[] = [];
    const kept = createEvidenceJournal({
      ...{ sql: db.sql, clock },
      store: {
        ...store,
        putPieces: async (ref, all) => {
          pieces.push(...all);
          await store.putPieces?.(ref, all);
        },
      },
    });
    await kept.store(given);
    await kept.store(entry());
    await kept.stop();
    expect(pieces).toContain(large);
    const { documentId, firmId = "" } = given.record.facts;
    const found = await findEvidence(db.sql, firmId, documentId);
    if (found === undefined) throw new Error("the record is not there");
    const segment = await store.get(found.object, found);
    expect(sha256Hex(segment)).toBe(found.recordSha256);
    expect(readEvidence(segment).parts.get("request")?.equals(large)).toBe(true);
  });

  test("records that are being written count as waiting: no more are taken than may wait", async () => {
    const full = createEvidenceJournal({ sql: db.sql, store, clock });
    const answers = await Promise.allSettled(
      Array.from({ length: LIMITS.evidence_queue_max + 1 }, () => full.store(entry())),
    );
    await full.stop();
    expect(answers.at(-1)?.status).toBe("rejected");
    expect(answers.slice(0, -1).every(({ status }) => status === "fulfilled")).toBe(true);
  });

  test("the event loop turns while a large record is written", async () => {
    let turns = 0;
    let isWriting = true;
    const tick = (): void => {
      turns += 1;
      if (isWriting) setImmediate(tick);
    };
    setImmediate(tick);
    await writeEvidence(heavy().record);
    isWriting = false;
    expect(turns).toBeGreaterThan(2);
  });
});

describe("a record", () => {
  test("one flipped bit anywhere is noticed by the digest of its entry, and in a part by the manifest", async () => {
    const segment = Buffer.concat((await writeEvidence(entry().record)).pieces);
    const digest = sha256Hex(segment);
    for (let at = 0; at < segment.length; at += 97) {
      const spoiled = Buffer.from(segment);
      spoiled[at] = (spoiled[at] ?? 0) ^ 1;
      expect(sha256Hex(spoiled)).not.toBe(digest);
    }
    const spoiled = Buffer.from(segment);
    const at = spoiled.indexOf("the receipt");
    spoiled[at] = (spoiled[at] ?? 0) ^ 1;
    expect(() => readEvidence(spoiled)).toThrow(EvidenceDamaged);
    expect(() => readEvidence(segment.subarray(0, 700))).toThrow(EvidenceDamaged);
  });
});
