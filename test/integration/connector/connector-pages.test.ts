/**
 * Goal: a page of the Connector's list says of every document what its detail says, for a statement where there were
 * dozens, and within the same octets. Method: documents of every kind and place in a database, read with parts of the
 * engine whose statements, octets and readings of documents the test sees.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { createCursors } from "../../../engine/base/cursors.js";
import { temporary } from "../../../engine/base/errors.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { createOctets } from "../../../engine/base/memory/octets.js";
import type { Octets } from "../../../engine/base/memory/octets.js";
import { readConnectorDocument, readConnectorDocuments } from "../../../engine/documents/connector/reads.js";
import type { ConnectorReadPorts } from "../../../engine/documents/connector/reads.js";
import { acceptDocuments } from "../../../engine/storage/documents/documents.js";
import { useFactsSealer } from "../../../engine/storage/keyring/facts.js";
import { movePayloads } from "../../../engine/storage/payloads/move.js";
import { openPayloadStore, usePayloadStore } from "../../../engine/storage/payloads/payload-store.js";
import { packPayload } from "../../../engine/storage/payloads/payloads.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { parseDocument } from "../../../validators/summary.js";
import { SCAN_LIMITS } from "../../../validators/xml/limits.js";
import { statementsOf } from "../../support/counted-sql.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { rowsOf } from "../../support/database/rows.js";
import { newDocumentRow, sealedDocumentRow, seedFirm } from "../../support/database/seed.js";
import { invoiceXml } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";

const SENDER = "0245:1111111111";
const RECEIVER = "0245:2222222222";
const MB = 1_000_000;
const AT = Date.UTC(2026, 10, 20);
const sealer = createSealer([Buffer.alloc(32, 7)]);
const folder = mkdtempSync(join(tmpdir(), "kurier-pages-"));
const store = openPayloadStore(`file:${folder}`, systemClock);

let db: TestDatabase;
beforeAll(async () => {
  db = await freshDatabase();
  usePayloadStore(db.sql, store);
});
afterAll(async () => {
  await db.drop();
  rmSync(folder, { recursive: true, force: true });
});

const invoice = (lines: number, behind = ""): Buffer =>
  Buffer.from(`${invoiceXml(SENDER, RECEIVER, { lines })}${behind}`);
/** Beyond what a group has room for. */
const large = (): Buffer => invoice(3, `<!--${" ".repeat(LIMITS.connector_group_bytes_max)}-->`);

let firms = 0;
/** A firm of its own that has sent such documents. */
async function firmWith(payloads: readonly Buffer[]): Promise<FirmId> {
  firms += 1;
  const participant = `0245:3${String(firms).padStart(9, "0")}`;
  const firmId = await seedFirm(db.sql, participant);
  for (const payload of payloads) {
    const row = newDocumentRow(firmId, participant, { acceptedAt: AT });
    await acceptDocuments(db.sql, [await sealedDocumentRow(sealer, row, payload)]);
  }
  return firmId;
}

/** Gives a firm a document that it has received. */
async function receive(firmId: FirmId, payload: Buffer): Promise<void> {
  const [owned] = await db.sql<{ key: string; id: string }[]>`
    select key, gen_random_uuid() as id from participant where firm_id = ${firmId}`;
  if (owned === undefined) throw new Error("the firm has a participant");
  const { key, id } = owned;
  const { sha256, sealed } = await packPayload(sealer, id, payload);
  const rows = await rowsOf(db.url);
  const known = { id, firm_id: firmId, participant_key: key, receiver: key, status: "RECEIVED" };
  const read = { facts: "{}", payload_sha256: Buffer.from(sha256, "hex") };
  await rows.add("received_document", AT, { ...known, ...read });
  await rows.add("payload", AT, { document_id: id, key_id: sealer.keyId, sealed, bytes: payload.length });
  await rows.end();
}

const parse = (payload: Uint8Array): ReturnType<typeof parseDocument> =>
  parseDocument({ bytes: payload, limits: SCAN_LIMITS, linesMax: 1 });

const portsWith = (changes: Partial<ConnectorReadPorts> = {}): ConnectorReadPorts => ({
  ...{ sql: db.sql, sealer, clock: systemClock, cursors: createCursors(Buffer.alloc(32, 1)) },
  validators: { parse: (payload) => Promise.resolve(parse(payload)) },
  room: createOctets(LIMITS.connector_reads_bytes_max, LIMITS.connector_reads_waiting_max),
  ...changes,
});

const ALL = { direction: undefined, state: undefined, type: undefined, createdAfter: undefined, cursor: undefined };
const pageOf = (firmId: FirmId, changes: Partial<ConnectorReadPorts> = {}) =>
  readConnectorDocuments(
    portsWith(changes),
    { firmId, customerRef: "c" },
    { ...ALL, limit: LIMITS.connector_page_max },
  );

/** Lists show nothing that is newer than a transaction which is still open, be it one of another database. */
const listed = (firmId: FirmId, count: number, changes: Partial<ConnectorReadPorts> = {}) =>
  eventually("all are listed", async () => {
    const { documents } = await pageOf(firmId, changes);
    return documents.length === count ? documents : undefined;
  });

test("a page says of each document what its detail says, in every member: small, large, unreadable, received and moved", async () => {
  const firmId = await firmWith([
    ...Array.from({ length: 5 }, () => invoice(1)),
    large(),
    Buffer.from("no invoice"),
    ...Array.from({ length: 2 * LIMITS.connector_group_documents_max }, (_, n) => invoice(n + 1)),
    large(),
  ]);
  await db.sql`
    update document set status = 'send_failed', next_attempt_at = null
    where firm_id = ${firmId} and id in (select id from document where firm_id = ${firmId} order by id limit 6)`;
  const later = systemClock.now() + LIMITS.payload_here_ms + 86_400_000;
  expect((await movePayloads(db.sql, store, later)).moved).toBe(6);
  await receive(firmId, invoice(2));
  await receive(firmId, Buffer.from("none either"));
  const documents = await listed(firmId, 2 * LIMITS.connector_group_documents_max + 10);
  const details: unknown[] = [];
  for (const { id } of documents)
    details.push(await readConnectorDocument(portsWith(), { firmId, customerRef: "c" }, id));
  expect(JSON.stringify(documents)).toBe(JSON.stringify(details));
  expect(documents.filter(({ amounts }) => amounts.total === null)).toHaveLength(2);
});

test("a page of small documents asks for their sizes once, and for their octets once a group", async () => {
  const count = 3 * LIMITS.connector_group_documents_max;
  const firmId = await firmWith(Array.from({ length: count }, () => invoice(1)));
  await listed(firmId, count);
  const { sql, asked } = statementsOf(db.sql);
  useFactsSealer(sql, sealer, (_, error) => {
    throw error;
  });
  expect((await pageOf(firmId, { sql })).documents).toHaveLength(count);
  expect(asked.filter((text) => text.includes("p.bytes"))).toHaveLength(1);
  expect(asked.filter((text) => text.includes("payload_sha256"))).toHaveLength(3);
});

test("documents of 20 MB are read one at a time, however many a page has", async () => {
  const count = LIMITS.connector_groups_read_at_once + 1;
  const firmId = await firmWith(Array.from({ length: count }, (_, n) => Buffer.alloc(20 * MB, n)));
  const room = createOctets(LIMITS.connector_reads_bytes_max, LIMITS.connector_reads_waiting_max);
  const held = { now: 0, most: 0, most_taken: 0 };
  const reading = async (payload: Uint8Array) => {
    held.now += payload.length;
    held.most = Math.max(held.most, held.now);
    held.most_taken = Math.max(held.most_taken, room.taken());
    await setImmediate();
    held.now -= payload.length;
    return { kind: "refused" as const, findings: [] };
  };
  await listed(firmId, count, { room, validators: { parse: reading } });
  expect(held).toEqual({ now: 0, most: 20 * MB, most_taken: 20 * MB * LIMITS.connector_read_copies });
  expect(room.taken()).toBe(0);
});

test("the octets of a group are held until its last document has been read, also where another has failed", async () => {
  const firmId = await firmWith([invoice(1), invoice(2)]);
  await listed(firmId, 2);
  const octets: Octets = createOctets(LIMITS.connector_reads_bytes_max);
  // Bounded by the documents of this test.
  const ends: (() => void)[] = [];
  const parsing = (payload: Uint8Array) =>
    new Promise<ReturnType<typeof parse>>((resolve, reject) => {
      const [fail, end] = [
        (): void => {
          reject(temporary());
        },
        (): void => {
          resolve(parse(payload));
        },
      ];
      ends.push(ends.length === 0 ? fail : end);
    });
  let isOver = false;
  const page = pageOf(firmId, { room: octets, validators: { parse: parsing } }).finally(() => {
    isOver = true;
  });
  page.catch(() => undefined);
  await eventually("both are read", () => ends.length === 2);
  ends[0]?.();
  await setImmediate();
  expect([isOver, octets.taken() > 0]).toEqual([false, true]);
  ends[1]?.();
  await expect(page).rejects.toMatchObject({ reason: "TEMPORARY" });
  expect(octets.taken()).toBe(0);
});
