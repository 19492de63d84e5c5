/**
 * Payloads leave Postgres for the payload store. Method: an engine with a store, a clock that is 91 days ahead for the move, and
 * every read of a payload before and after it.
 */
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { readSentUbl } from "../../../engine/documents/reads/sent.js";
import { EvidenceStoreFailure } from "../../../engine/storage/evidence/store.js";
import { findSealedPayload } from "../../../engine/storage/payloads/find.js";
import { movePayloads } from "../../../engine/storage/payloads/move.js";
import { openPayloadStore, usePayloadStore } from "../../../engine/storage/payloads/payload-store.js";
import type { PayloadStore } from "../../../engine/storage/payloads/payload-store.js";
import { openPayload } from "../../../engine/storage/payloads/payloads.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import type { Sealer } from "../../../engine/storage/sealer.js";
import { accessToken, invoiceXml, sapi, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { Mailbox, TestEngine } from "../../support/engines/engine.js";
import { PROJECT } from "../../support/engines/process.js";
import { eventually } from "../../support/eventually.js";
import { newDocumentRow } from "../../support/database/seed.js";
import { acceptDocuments } from "../../../engine/storage/documents/documents.js";
import type { NewDocument } from "../../../engine/storage/documents/documents.js";

const LATER = systemClock.now() + LIMITS.payload_here_ms + 86_400_000;
const HOUR_MS = 3_600_000;
const sealer = createSealer([Buffer.alloc(32, 7)]);

/** A document that is due when all of this is over: the running engine attempts nothing here. */
const unattempted = (): NewDocument =>
  newDocumentRow(ids.sender, "0245:1111111111", { acceptedAt: systemClock.now() + HOUR_MS });

let engine: TestEngine;
let folder: string;
let invoice: string;
let receiver: Mailbox;
let ids: { readonly sent: string; readonly received: string; readonly sender: FirmId; readonly receiver: FirmId };

const filesBelow = (path: string): string[] =>
  readdirSync(path, { recursive: true, withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [entry.name] : []));
const here = async (): Promise<number> => (await engine.db.sql`select 1 from payload`).length;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "kurier-payloads-"));
  engine = await startTestEngine({ config: { PAYLOAD_STORE: `file:${folder}` } });
  const { sandbox, db } = engine;
  const from = sandbox.sender.participantId;
  const to = sandbox.receiver.participantId;
  receiver = { participantId: to, token: await accessToken(sandbox, sandbox.receiver) };
  invoice = invoiceXml(from, to);
  const sender = { participantId: from, token: await accessToken(sandbox, sandbox.sender) };
  expect((await send(sandbox, sender, sendParts(from, to, invoice))).status).toBe(202);
  await eventually(
    "it is delivered",
    async () => (await db.sql`select 1 from document where status = 'delivered'`).length === 1,
  );
  const [row] = await db.sql<(typeof ids)[]>`
    select d.id as sent, r.id as received, d.firm_id as sender, r.firm_id as receiver
    from document as d, received_document as r`;
  if (row === undefined) throw new Error("nothing was received");
  ids = row;
});
afterAll(async () => {
  await engine.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("payloads of documents that have ended leave the database after their window, those that wait stay, and every reader gets the same bytes", async () => {
  const { sql } = engine.db;
  const store = openPayloadStore(`file:${folder}`, systemClock);
  usePayloadStore(sql, store);
  await acceptDocuments(sql, [unattempted()]);
  expect(await movePayloads(sql, store, systemClock.now())).toEqual({ moved: 0, removed: 0 });
  expect(await here()).toBe(3);

  expect(await movePayloads(sql, store, LATER)).toEqual({ moved: 2, removed: 0 });
  expect(await here()).toBe(1);
  expect(filesBelow(folder)).toHaveLength(2);

  const detail = await sapi(engine.sandbox, receiver, "GET", `/document/receive/${ids.received}`);
  expect([detail.status, detail.json["payload"]]).toEqual([200, invoice]);
  const sent = await readSentUbl({ sql, sealer }, ids.sender, ids.sent);
  expect(sent?.toString()).toBe(invoice);
  for (const [firm, id] of [
    [ids.sender, ids.sent],
    [ids.receiver, ids.received],
  ] as const) {
    const found = await findSealedPayload(sql, firm, id);
    if (found === undefined) throw new Error("the payload was not found");
    expect((await openPayload(sealer, id, found.keyId, found.sealed)).toString()).toBe(invoice);
  }
  expect(await findSealedPayload(sql, ids.receiver, ids.sent)).toBeUndefined();
});

test("an object goes with the last payload in it", async () => {
  const { sql } = engine.db;
  const store = openPayloadStore(`file:${folder}`, systemClock);
  expect(filesBelow(folder)).toHaveLength(2);
  await sql`select remove_documents(${[ids.sent]}::uuid[])`;
  expect(await movePayloads(sql, store, LATER)).toEqual({ moved: 0, removed: 1 });
  await sql`select remove_received(${[ids.received]}::uuid[])`;
  expect(await movePayloads(sql, store, LATER)).toEqual({ moved: 0, removed: 1 });
  expect(filesBelow(folder)).toEqual([]);
});

test("two processes that move at once lose and double nothing", async () => {
  const { sql } = engine.db;
  const store = openPayloadStore(`file:${folder}`, systemClock);
  const rows = Array.from({ length: 20 }, () => unattempted());
  await acceptDocuments(sql, rows);
  await sql`update document set status = 'send_failed', next_attempt_at = null where next_attempt_at is not null`;
  const before = await here();
  await Promise.all([movePayloads(sql, store, LATER), movePayloads(engine.db.another("second process"), store, LATER)]);
  expect(await here()).toBe(0);
  const moved = await sql<{ readonly object: string; readonly at: number; readonly length: number }[]>`
    select object, byte_offset as at, byte_length as length from payload_moved`;
  expect(moved).toHaveLength(before);
  for (const { object, at, length } of moved)
    expect((await store.get(object, { offset: at, length })).toString()).toBe("sealed");
});

test("a payload that is sealed again while it is moved stays readable, and its object does not stay", async () => {
  const { sql } = engine.db;
  const files = openPayloadStore(`file:${folder}`, systemClock);
  const row = unattempted();
  await acceptDocuments(sql, [row]);
  await sql`update document set status = 'send_failed', next_attempt_at = null where id = ${row.id}`;
  const seal = (by: Sealer): Promise<unknown> => sql`
    update payload set key_id = ${by.keyId}, sealed = ${by.seal(Buffer.from("text"), row.id)}
    where document_id = ${row.id}`;
  await seal(sealer);
  const next = createSealer([Buffer.alloc(32, 8)]);
  let puts = 0;
  const store: PayloadStore = {
    ...files,
    put: async (object, bytes) => {
      await files.put(object, bytes);
      if ((puts += 1) === 1) await seal(next);
    },
  };
  const objects = filesBelow(folder).length;
  await movePayloads(sql, store, LATER);
  await movePayloads(sql, store, LATER);
  const [moved] = await sql<{ key_id: string; object: string; at: number; length: number }[]>`
    select key_id, object, byte_offset as at, byte_length as length from payload_moved where document_id = ${row.id}`;
  if (moved === undefined) throw new Error("it was not moved");
  const sealed = await files.get(moved.object, { offset: moved.at, length: moved.length });
  expect(moved.key_id).toBe(next.keyId);
  expect(next.open(moved.key_id, sealed, row.id).toString()).toBe("text");
  expect(filesBelow(folder)).toHaveLength(objects + 1);
});

/** A sent document that has ended, with its payload in the database. */
async function endedDocument(): Promise<string> {
  const row = unattempted();
  await acceptDocuments(engine.db.sql, [row]);
  await engine.db.sql`update document set status = 'send_failed', next_attempt_at = null where id = ${row.id}`;
  return row.id;
}
const pathsBelow = (path: string): string[] =>
  readdirSync(path, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  );

test("what a process has stored and not written down because it ended goes a day later, whole or not, and what another moves meanwhile stays", async () => {
  const { sql } = engine.db;
  const files = openPayloadStore(`file:${folder}`, systemClock);
  const before = new Set(pathsBelow(folder));
  const id = await endedDocument();
  let lost = "";
  const killed: PayloadStore = {
    ...files,
    put: async (object, bytes) => {
      await files.put(object, bytes);
      lost = join(folder, object);
      throw new Error("killed");
    },
  };
  await expect(movePayloads(sql, killed, LATER)).rejects.toThrow("killed");
  const beside = (name: string): string => join(dirname(lost), name);
  const draft = (): string => beside(`.${randomUUID()}`);
  const [old, young, late, foreign] = [draft(), draft(), draft(), beside(".nfs0001")];
  for (const file of [old, young, late, foreign]) writeFileSync(file, "half");
  // What others put there is theirs, and keeps nothing of ours from its end.
  for (const folder of [beside(".snapshot"), draft()]) {
    mkdirSync(folder);
    utimesSync(folder, 0, 0);
  }
  for (const file of [old, foreign]) utimesSync(file, 0, 0);
  // Of a pass that wrote it long after it had announced its object.
  const lateAt = new Date(systemClock.now() + 2 * HOUR_MS - LIMITS.payload_announced_ms + 10 * HOUR_MS);
  utimesSync(late, lateAt, lateAt);

  const hoursLater = openPayloadStore(`file:${folder}`, { ...systemClock, now: () => systemClock.now() + 2 * HOUR_MS });
  expect(await movePayloads(sql, hoursLater, LATER + 2 * HOUR_MS)).toEqual({ moved: 1, removed: 0 });
  const [moved] = await sql<{ object: string }[]>`select object from payload_moved where document_id = ${id}`;
  const kept = join(folder, moved?.object ?? "");
  const left = (): string[] => pathsBelow(folder).filter((path) => !before.has(path));
  expect(left().toSorted()).toEqual([lost, kept, old, young, late, foreign].toSorted());

  expect(await movePayloads(sql, hoursLater, LATER + LIMITS.payload_announced_ms)).toEqual({ moved: 0, removed: 0 });
  expect(await movePayloads(sql, hoursLater, LATER + LIMITS.payload_announced_ms + 1)).toEqual({
    moved: 0,
    removed: 1,
  });
  expect(left().toSorted()).toEqual([kept, young, foreign].toSorted());
  rmSync(young);
  rmSync(foreign);
  expect(await sql`select object from payload_announced`).toEqual([]);
});

test("what a process that was killed over an object has left goes a day later, also where another has moved payloads to that object within the hour", async () => {
  const { sql } = engine.db;
  const hour = systemClock.now();
  const files = openPayloadStore(`file:${folder}`, { ...systemClock, now: () => hour });
  const id = await endedDocument();
  // Octets of its own, so that its object is nobody else's.
  await sql`update payload set sealed = ${Buffer.from(id)} where document_id = ${id}`;
  let draft = "";
  const killed: PayloadStore = {
    ...files,
    put: (object) => {
      draft = join(folder, dirname(object), `.${randomUUID()}`);
      mkdirSync(dirname(draft), { recursive: true });
      writeFileSync(draft, "half");
      utimesSync(draft, 0, 0);
      return Promise.reject(new Error("killed"));
    },
  };
  await expect(movePayloads(sql, killed, LATER)).rejects.toThrow("killed");
  expect(await movePayloads(sql, files, LATER)).toEqual({ moved: 1, removed: 0 });
  expect(await movePayloads(sql, files, LATER + LIMITS.payload_announced_ms)).toEqual({ moved: 0, removed: 0 });
  expect(pathsBelow(folder)).toContain(draft);
  expect(await movePayloads(sql, files, LATER + LIMITS.payload_announced_ms + 1)).toEqual({ moved: 0, removed: 0 });
  expect(pathsBelow(folder)).not.toContain(draft);
  const [moved] = await sql<{ object: string; at: number; length: number }[]>`
    select object, byte_offset as at, byte_length as length from payload_moved where document_id = ${id}`;
  if (moved === undefined) throw new Error("it was not moved");
  expect((await files.get(moved.object, { offset: moved.at, length: moved.length })).toString()).toBe(id);
  expect(await sql`select object from payload_announced`).toEqual([]);
});

test("a process that was so slow that its object was given up moves nothing to it, and the payload stays readable", async () => {
  const { sql } = engine.db;
  const id = await endedDocument();
  const files = openPayloadStore(`file:${folder}`, systemClock);
  const muchLater = LATER + 2 * LIMITS.payload_announced_ms;
  let slow = "";
  const frozen: PayloadStore = {
    ...files,
    put: async (object, bytes) => {
      await files.put(object, bytes);
      slow = object;
      // Another process gives the object up, and has the payload for one that is still needed.
      await sql`update document set status = 'queued', next_attempt_at = now() + interval '1 hour' where id = ${id}`;
      const another = engine.db.another("another process");
      expect(await movePayloads(another, files, muchLater)).toEqual({ moved: 0, removed: 1 });
      await sql`update document set status = 'send_failed', next_attempt_at = null where id = ${id}`;
    },
  };
  expect(await movePayloads(sql, frozen, LATER)).toEqual({ moved: 0, removed: 1 });
  expect(await sql`select 1 from payload where document_id = ${id}`).toHaveLength(1);
  expect(pathsBelow(folder)).not.toContain(join(folder, slow));
  expect((await movePayloads(sql, files, muchLater)).moved).toBe(1);
  const [moved] = await sql<{ object: string; at: number; length: number }[]>`
    select object, byte_offset as at, byte_length as length from payload_moved where document_id = ${id}`;
  if (moved === undefined) throw new Error("it was not moved");
  expect((await files.get(moved.object, { offset: moved.at, length: moved.length })).toString()).toBe("sealed");
});

test("a store that takes nothing more gives back what is over: that is the room it lacks", async () => {
  const { sql } = engine.db;
  const files = openPayloadStore(`file:${folder}`, systemClock);
  const over = await endedDocument();
  // Octets of its own, so that its object is nobody else's.
  await sql`update payload set sealed = ${Buffer.from(over)} where document_id = ${over}`;
  expect(await movePayloads(sql, files, LATER)).toMatchObject({ moved: 1 });
  const objects = pathsBelow(folder).length;
  await sql`select remove_documents(${[over]}::uuid[])`;
  const waits = await endedDocument();
  const full: PayloadStore = {
    ...files,
    put: () => Promise.reject(new EvidenceStoreFailure("Evidence could not be written: ENOSPC.")),
  };
  await expect(movePayloads(sql, full, LATER)).rejects.toThrow("ENOSPC");
  expect(pathsBelow(folder)).toHaveLength(objects - 1);
  expect(await sql`select 1 from payload where document_id = ${waits}`).toHaveLength(1);
  expect(await movePayloads(sql, files, LATER)).toMatchObject({ moved: 1 });
});

test("an engine without the store does not start on a database whose payloads are in one", async () => {
  await expect(startTestEngine({ db: engine.db })).rejects.toThrow("PAYLOAD_STORE is missing");
});

test("a draft that cannot be removed is in the way of no object that has to go", async () => {
  const { sql } = engine.db;
  const id = await endedDocument();
  // Octets of its own, so that its object is nobody else's.
  await sql`update payload set sealed = ${Buffer.from(id)} where document_id = ${id}`;
  const files = openPayloadStore(`file:${folder}`, systemClock);
  expect(await movePayloads(sql, files, LATER)).toEqual({ moved: 1, removed: 0 });
  await sql`
    insert into payload_announced (object, announced_at)
    select object, ${new Date(0)} from payload_moved where document_id = ${id}`;
  await sql`insert into payload_leftover (object) values ('over')`;
  const removed: string[] = [];
  const failing: PayloadStore = {
    ...files,
    remove: (object) => Promise.resolve(void removed.push(object)),
    tidy: () => Promise.reject(new Error("stays")),
  };
  await expect(movePayloads(sql, failing, LATER)).rejects.toThrow("stays");
  expect(removed).toEqual(["over"]);
  expect(await movePayloads(sql, files, LATER)).toEqual({ moved: 0, removed: 0 });
});

test("beside a payload store whose file system is not there neither an engine nor kurier retention makes a folder in its place", async () => {
  const above = mkdtempSync(join(tmpdir(), "kurier-unmounted-"));
  const PAYLOAD_STORE = `file:${join(above, "payloads")}`;
  try {
    const beside = await startTestEngine({ db: engine.db, config: { PAYLOAD_STORE } });
    await beside.stop();
    const { status, stderr } = spawnSync(process.execPath, [join(PROJECT, "gateway/kurier.mjs"), "retention"], {
      encoding: "utf8",
      env: {
        PATH: process.env["PATH"] ?? "",
        ENVIRONMENT: "sandbox",
        DATABASE_URL: engine.db.url,
        DATA_DIR: engine.dataDir,
        MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
        PAYLOAD_STORE,
      },
    });
    expect([status, stderr]).toEqual([0, ""]);
    expect(readdirSync(above)).toEqual([]);
  } finally {
    rmSync(above, { recursive: true, force: true });
  }
});
