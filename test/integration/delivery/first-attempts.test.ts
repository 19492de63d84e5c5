/**
 * The first attempt by the process that accepts a document: the place before the commit, the lease with it. Method: real
 * rows, the real dispatcher, and document actors that do nothing but remember.
 */
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";

import { startDispatcher } from "../../../actors/delivery/dispatcher.js";
import type { Dispatcher } from "../../../actors/delivery/dispatcher.js";
import { startActors } from "../../../actors/system.js";
import type { ClaimedAttempt } from "../../../engine/documents/delivery/dispatch.js";
import { beat, claim, freeDead } from "../../../engine/documents/delivery/due.js";
import { firstAttemptAt } from "../../../engine/documents/delivery/first-attempt.js";
import { systemClock } from "../../../engine/base/clock.js";
import type { FirmId, ParticipantId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { createAnnouncer } from "../../../engine/events/announcer.js";
import { findOperatorDocument } from "../../../engine/storage/documents/operations.js";
import { acceptDocuments } from "../../../engine/storage/documents/documents.js";
import type { NewDocument } from "../../../engine/storage/documents/documents.js";
import { shortenLimits } from "../../support/engines/limits.js";
import { eventually } from "../../support/eventually.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { newDocumentRow, seedFirm } from "../../support/database/seed.js";
import { attempting } from "../../support/worlds/attempts.js";

const SENDER = "0245:1";
const RECEIVER = "0245:100" as ParticipantId;
const ALL = { bytes: LIMITS.attempt_bytes_max, one: true };
let db: TestDatabase;
let firm: FirmId;
let dispatcher: Dispatcher;
let begun: ClaimedAttempt[];
/** So much later it is for the dispatcher. */
let late_ms: number;

beforeEach(async () => {
  db = await freshDatabase();
  firm = await seedFirm(db.sql, SENDER);
  begun = [];
  late_ms = 0;
  const metrics = createMetrics();
  dispatcher = await startDispatcher({
    sql: db.sql,
    beatSql: db.sql,
    actors: startActors({ log: silentLog, metrics, monotonic: () => systemClock.monotonic() }),
    document: attempting((claimed) => {
      if (claimed.start()) begun.push(claimed);
      return Promise.resolve({ reply: null });
    }),
    log: silentLog,
    owner: "node/1",
    clock: { ...systemClock, monotonic: () => systemClock.monotonic() + late_ms },
    capacityOf: (receiver) => ({ key: receiver, places: 2, typical_ms: 50 }),
  });
});
afterEach(async () => {
  for (const { end } of begun) end();
  await dispatcher.stop();
  await db.drop();
});

const nothingWaits = (): Promise<unknown> =>
  eventually("a look has found nothing", () => {
    const place = dispatcher.reserve(RECEIVER, 6);
    place?.release();
    return place !== undefined;
  });
const row = (changes: Partial<NewDocument> = {}): NewDocument =>
  newDocumentRow(firm, SENDER, { receiver: RECEIVER, ...changes });

test("a document that is accepted while nothing waits is attempted at once, under a lease that was committed with it", async () => {
  await nothingWaits();
  const place = dispatcher.reserve(RECEIVER, 6);
  const document = row({ owner: place?.owner });
  await acceptDocuments(db.sql, [document]);
  place?.begin(firstAttemptAt(document, Buffer.from("octets")));
  await eventually("the attempt has begun", () => begun.length === 1);
  expect(begun[0]?.taken).toMatchObject({ id: document.id, attempt: 1, version: 1, payload: Buffer.from("octets") });
  expect(
    await db.sql`select attempts, version, lease_owner, lease_until > clock_timestamp() as leased from document`,
  ).toEqual([{ attempts: 1, version: 1, lease_owner: "node/1", leased: true }]);
  expect(await db.sql`select 1 from outbox`, "nothing has to tell of it").toHaveLength(0);
  expect(
    await claim({ sql: db.sql, owner: "other/1" }, [{ firmId: firm, receiver: RECEIVER, count: 1 }], ALL),
  ).toHaveLength(0);
  const shown = await findOperatorDocument(db.sql, document.id);
  expect(shown?.attemptList, "operators see that it is under way").toMatchObject([{ number: 1, owner: "node/1" }]);
});

test("a document whose commit was answered when its lease may have been freed is not begun by who accepted it, but claimed", async () => {
  onTestFinished(shortenLimits({ lease_young_ms: 100, lease_look_soon_ms: 20 }));
  await nothingWaits();
  const place = dispatcher.reserve(RECEIVER, 6);
  const document = row({ owner: place?.owner });
  await acceptDocuments(db.sql, [document]);
  late_ms = LIMITS.db_answer_timeout_ms + 1;
  place?.begin(firstAttemptAt(document, Buffer.from("octets")));
  await eventually("an attempt has begun", () => begun.length > 0);
  // The first was not made, and nothing says that it was cut.
  expect(begun.map(({ taken }) => taken.attempt)).toEqual([1]);
  expect(begun[0]?.taken.version).toBeGreaterThan(1);
  expect(await db.sql`select 1 from document_attempt`).toEqual([]);
});

test("a document whose commit was answered when its lease was freed is left to who has claimed it since", async () => {
  onTestFinished(shortenLimits({ lease_young_ms: 100, lease_look_soon_ms: 20 }));
  await nothingWaits();
  const place = dispatcher.reserve(RECEIVER, 6);
  const document = row({ owner: place?.owner });
  await acceptDocuments(db.sql, [document]);
  await db.sql`update document set lease_until = '-infinity', version = version + 1`;
  const other = { sql: db.sql, owner: "other/1" };
  expect(await claim(other, [{ firmId: firm, receiver: RECEIVER, count: 1 }], ALL)).toMatchObject([{ attempt: 2 }]);
  late_ms = LIMITS.db_answer_timeout_ms + 1;
  place?.begin(firstAttemptAt(document, Buffer.from("octets")));
  const next = row();
  await acceptDocuments(db.sql, [next]);
  dispatcher.poke();
  await eventually("an attempt has begun", () => begun.length > 0);
  expect(begun.map(({ taken }) => taken.id)).toEqual([next.id]);
  expect(await db.sql`select attempts, version, lease_owner from document where id = ${document.id}`).toEqual([
    { attempts: 2, version: 3, lease_owner: "other/1" },
  ]);
});

test("a place that was taken and not used is given back, and none is taken that the receiver has not", async () => {
  await nothingWaits();
  const places = [dispatcher.reserve(RECEIVER, 6), dispatcher.reserve(RECEIVER, 6)];
  expect(dispatcher.reserve(RECEIVER, 6)).toBeUndefined();
  places[0]?.release();
  places[0]?.release();
  const again = dispatcher.reserve(RECEIVER, 6);
  expect(again).toBeDefined();
  expect(dispatcher.reserve(RECEIVER, 6)).toBeUndefined();
  for (const place of [...places, again]) place?.release();
});

test("a document has no place before those that wait to be claimed have had theirs", async () => {
  await nothingWaits();
  for (let i = 0; i < 3; i += 1) await acceptDocuments(db.sql, [row()]);
  dispatcher.poke();
  expect(dispatcher.reserve(RECEIVER, 6)).toBeUndefined();
  await eventually("two are claimed, as many as there are places for", () => begun.length === 2);
  for (const { end } of begun.slice(0, 2)) end();
  await eventually("the third is claimed when a place is free", () => begun.length === 3);
});

test("when the process that accepted a document dies, another makes its attempt, and the first one is told as cut", async () => {
  await dispatcher.stop();
  await beat({ sql: db.sql, owner: "dead/1" });
  await acceptDocuments(db.sql, [row({ owner: "dead/1" })]);
  const alive = { sql: db.sql, owner: "alive/1" };
  const shares = [{ firmId: firm, receiver: RECEIVER, count: 1 }];
  expect(await claim(alive, shares, ALL)).toHaveLength(0);
  await db.sql`update dispatcher set seen_at = seen_at - interval '4001 milliseconds' where owner = 'dead/1'`;
  await beat(alive);
  expect(await freeDead(alive)).toBe(1);
  expect(await claim(alive, shares, ALL)).toMatchObject([{ attempt: 2, answers: 0, version: 3 }]);
  expect(await db.sql`select number, owner, outcome, retryable from document_attempt`).toEqual([
    { number: 1, owner: "dead/1", outcome: "cut", retryable: true },
  ]);
});

test("a process that stops has no place for what it still accepts: another makes the first attempt", async () => {
  await nothingWaits();
  const stopped = dispatcher.stop();
  expect(dispatcher.reserve(RECEIVER, 6)).toBeUndefined();
  await stopped;
  expect(dispatcher.reserve(RECEIVER, 6)).toBeUndefined();
  await acceptDocuments(db.sql, [row()]);
  const shares = [{ firmId: firm, receiver: RECEIVER, count: 1 }];
  expect(await claim({ sql: db.sql, owner: "other/1" }, shares, ALL)).toMatchObject([{ attempt: 1 }]);
  expect(begun).toEqual([]);
});

test("a process that stops is heard until its attempts have ended, also one that it was just accepting", async () => {
  await nothingWaits();
  onTestFinished(shortenLimits({ drain_timeout_ms: 1, dispatcher_beat_ms: 5 }));
  const lastHeard = async (): Promise<string | undefined> =>
    (await db.sql<{ at: string }[]>`select seen_at::text as at from dispatcher where owner = 'node/1'`)[0]?.at;
  const isHeard = async (meanwhile: string): Promise<void> => {
    for (let beats = 0; beats < 5; beats += 1) {
      const before = await lastHeard();
      await eventually(`it is heard while ${meanwhile}`, async () => (await lastHeard()) !== before);
    }
  };
  const place = dispatcher.reserve(RECEIVER, 6);
  const document = row({ owner: place?.owner });
  const stopped = dispatcher.stop();
  await isHeard("a document is being accepted under its lease");
  await acceptDocuments(db.sql, [document]);
  place?.begin(firstAttemptAt(document, Buffer.from("octets")));
  await eventually("the attempt has begun", () => begun.length === 1);
  await isHeard("the attempt is under way");
  begun[0]?.end();
  await stopped;
});

test("a process that sends nothing tells the others once for all documents that come while it tells", async () => {
  const told: (() => void)[] = [];
  const announce = createAnnouncer({
    streams: { publish: () => new Promise<void>((resolve) => told.push(resolve)) },
    log: silentLog,
  });
  for (let i = 0; i < 100; i += 1) announce();
  expect(told).toHaveLength(1);
  announce();
  told[0]?.();
  await eventually("what came meanwhile is told", () => told.length === 2);
  told[1]?.();
});
