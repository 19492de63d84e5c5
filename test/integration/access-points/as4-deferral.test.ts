/**
 * A receiving access point that is full or down costs documents no attempt of their plan, holds up no other receiver, and
 * keeps nothing alive for longer than the plan. @source design/reliability.md, S-10
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { deferredUntil } from "../../../engine/documents/delivery/dispatch.js";
import type { DispatchPorts } from "../../../engine/documents/delivery/dispatch.js";
import type { DocumentId, FirmId, ParticipantId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { systemClock } from "../../../engine/base/clock.js";
import { silentLog } from "../../../engine/base/log.js";
import type { Log } from "../../../engine/base/log.js";
import { provider } from "../../../engine/documents/provider.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { EVIDENCE_NOT_STORED } from "../../../engine/peppol/transport.js";
import type { Exchange, Outcome, Transport } from "../../../engine/peppol/transport.js";
import { takeAttempt } from "../../../engine/storage/documents/attempts.js";
import { acceptDocuments } from "../../../engine/storage/documents/documents.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { attemptOnce, dueIn_ms, makeDue } from "../../support/worlds/attempts.js";
import { fakeClock } from "../../support/fake-clock.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { newDocumentRow, sealedPayload, seedFirm } from "../../support/database/seed.js";

let db: TestDatabase;
let firmId: FirmId;
const SENDER = "0245:1111111111";
const sealer = createSealer([Buffer.alloc(32, 1)]);
const clock = fakeClock("2026-11-20T10:00:00Z");

beforeAll(async () => {
  db = await freshDatabase();
  firmId = await seedFirm(db.sql, SENDER);
});
afterAll(() => db.drop());

async function document(receiver = "0245:9999999999"): Promise<DocumentId> {
  const row = newDocumentRow(firmId, SENDER, { acceptedAt: clock.now(), receiver: receiver as ParticipantId });
  await acceptDocuments(db.sql, [{ ...row, ...sealedPayload(sealer, row.id) }]);
  return row.id;
}

const ports = (deliver: (exchange: Exchange) => Promise<Outcome> | Outcome): DispatchPorts => {
  const transport: Transport = { deliver: async (exchange) => deliver(exchange) };
  return {
    sql: db.sql,
    sealer,
    transport,
    clock,
    metrics: createMetrics(),
    log: silentLog,
    provider: provider("PSK000001", "SK"),
    random: () => 0.5,
    announce: () => undefined,
    owner: "test/1",
  };
};

const stateOf = async (id: DocumentId): Promise<unknown> =>
  (
    await db.sql`
  select status, attempts, answers, faults, lease_until,
    (select count(*)::integer from document_attempt where document_id = d.id) as rows,
    (select count(*)::integer from document_event where document_id = d.id) as events
  from document as d where id = ${id}`
  )[0];

const attempt = (id: DocumentId, outcome: Outcome): Promise<boolean> =>
  attemptOnce(
    ports(() => outcome),
    id,
  );
const WHOLE_PLAN_MS = LIMITS.retry_plan_ms.reduce((sum, wait) => sum + wait, 0) * (1 + LIMITS.retry_jitter_share);

describe("a deferred document", () => {
  test("a deferred document keeps its attempts, its history and its events, and is due when the receiver said", async () => {
    const id = await document();
    const acceptedEvents = ((await stateOf(id)) as { events: number }).events;
    for (let i = 0; i < 20; i += 1) {
      expect(await attempt(id, { kind: "deferred", code: "full", retryAfter_ms: 3_000_000 })).toBe(true);
      expect(await stateOf(id)).toEqual({
        status: "queued",
        attempts: 0,
        answers: 0,
        faults: 0,
        lease_until: null,
        rows: 0,
        events: acceptedEvents,
      });
      const due_ms = (await dueIn_ms(db.sql, id)) ?? 0;
      expect(due_ms).toBeLessThanOrEqual(3_000_000);
      expect(due_ms).toBeGreaterThan(2_000_000);
      expect(await attempt(id, { kind: "receipt" }), "not due yet").toBe(false);
      await makeDue(db.sql, id);
    }
    let number = 0;
    await attemptOnce(
      ports((exchange) => {
        number = exchange.attempt;
        return { kind: "receipt" };
      }),
      id,
    );
    expect([number, ((await stateOf(id)) as { status: string }).status]).toEqual([1, "delivered"]);
  });

  test("an attempt is told how many before it the network has answered, and not those that a fault of ours ended", async () => {
    const id = await document();
    const seen: (readonly [number, number])[] = [];
    for (const kind of ["internal", "peer_busy", "internal", "receipt"] as const) {
      const told = ports(({ attempt: number, answers }) => {
        seen.push([number, answers]);
        return { kind };
      });
      await attemptOnce(told, id);
      await makeDue(db.sql, id);
    }
    expect(seen).toEqual([
      [1, 0],
      [2, 0],
      [3, 1],
      [4, 1],
    ]);
  });

  test("a document for which only a place was wanting rests, and is due as long as it was before", async () => {
    const id = await document();
    const place = async (): Promise<unknown> =>
      (await db.sql`select next_attempt_at as due, attempts, lease_owner as owner from document where id = ${id}`)[0];
    const before = await place();
    expect(before).toMatchObject({ attempts: 0, owner: null });
    const full: Outcome = { kind: "deferred", code: "full", retryAfter_ms: 3_000_000, keepsPlace: true };
    expect(await attempt(id, full)).toBe(true);
    expect(await place()).toEqual(before);
    expect(await attempt(id, { kind: "receipt" }), "it rests").toBe(false);
    await db.sql`update document set lease_until = now() - interval '1 second' where id = ${id}`;
    expect(await attempt(id, full)).toBe(true);
    expect(await place()).toEqual(before);
    expect(await db.sql`select 1 from document_attempt where document_id = ${id}`).toEqual([]);
  });

  test("a document that was deferred for as long as the whole plan lasts has failed", async () => {
    const id = await document();
    clock.advance(WHOLE_PLAN_MS + 1);
    await attempt(id, { kind: "deferred", code: "down", retryAfter_ms: 1_000 });
    expect(await stateOf(id)).toMatchObject({ status: "send_failed", rows: 1, answers: 0 });
    expect(deferredUntil([10, 20], 0, 35, { kind: "deferred", retryAfter_ms: 5 })).toBe(40);
    expect(deferredUntil([10, 20], 0, 37, { kind: "deferred", retryAfter_ms: 5 })).toBeUndefined();
    expect(deferredUntil([10, 20], 0, 0, { kind: "receipt" })).toBeUndefined();
  });

  test.each(["full", "WORKERS_BUSY"])(
    "a document of any age waits on while a place or a worker was wanting: %s",
    async (code) => {
      const id = await document();
      clock.advance(WHOLE_PLAN_MS + 1);
      const wanting: Outcome = { kind: "deferred", code, retryAfter_ms: 60_000, keepsPlace: true };
      const restIsOver = (): Promise<unknown> =>
        db.sql`update document set lease_until = now() - interval '1 second' where id = ${id}`;
      for (let i = 0; i < 3; i += 1) {
        expect(await attempt(id, wanting)).toBe(true);
        expect(await stateOf(id)).toMatchObject({ status: "queued", attempts: 0, answers: 0, rows: 0 });
        await restIsOver();
      }
      expect(await attempt(id, { kind: "receipt" })).toBe(true);
      expect(await stateOf(id)).toMatchObject({ status: "delivered", attempts: 1, rows: 1 });
      expect(deferredUntil([10, 20], 0, 37, { kind: "deferred", retryAfter_ms: 5, keepsPlace: true })).toBe(42);
    },
  );

  test("a document of any age waits on where its receiver has just gone down, and no longer where it is gone", async () => {
    const id = await document();
    clock.advance(WHOLE_PLAN_MS + 1);
    expect(await attempt(id, { kind: "deferred", code: "down", retryAfter_ms: 60_000, mayBeBack: true })).toBe(true);
    expect(await stateOf(id)).toMatchObject({ status: "queued", answers: 0 });
    const wait_ms = await dueIn_ms(db.sql, id);
    expect(wait_ms, "it comes again when the pause is over").toBeGreaterThan(30_000);
    await db.sql`update document set next_attempt_at = now() where id = ${id}`;
    expect(await attempt(id, { kind: "deferred", code: "down", retryAfter_ms: 60_000, mayBeBack: false })).toBe(true);
    expect(await stateOf(id)).toMatchObject({ status: "send_failed", answers: 0 });
  });

  test("a document that waited for a place for longer than its plan ends when its receiver is down", async () => {
    const id = await document();
    clock.advance(WHOLE_PLAN_MS + 1);
    await attempt(id, { kind: "deferred", code: "full", retryAfter_ms: 1_000, keepsPlace: true });
    await db.sql`update document set lease_until = now() - interval '1 second' where id = ${id}`;
    await attempt(id, { kind: "deferred", code: "down", retryAfter_ms: 1_000, keepsPlace: false });
    expect(await stateOf(id)).toMatchObject({ status: "send_failed", rows: 1, answers: 0 });
  });
});

describe("the plan of attempts", () => {
  const cut = async (id: DocumentId): Promise<void> => {
    // The process dies here: the lease runs out, and nothing was written.
    expect(await takeAttempt(db.sql, { id, owner: "dead/1", lease_ms: 0 })).toBeDefined();
  };

  test("attempts that our own death cut, however many, use nothing of the plan: it counts answers", async () => {
    const id = await document();
    for (let i = 0; i < 20; i += 1) await cut(id);
    await attempt(id, { kind: "peer_busy", code: "HTTP 503" });
    expect(await stateOf(id)).toMatchObject({ status: "queued", attempts: 21, answers: 1 });
    expect(await dueIn_ms(db.sql, id)).toBeLessThanOrEqual((LIMITS.retry_plan_ms[0] ?? 0) * 1.2);
    const [row] = await db.sql`
      select count(*) filter (where outcome = 'cut')::integer as cut,
        count(*) filter (where outcome = 'peer_busy')::integer as answered
      from document_attempt where document_id = ${id}`;
    expect(row).toEqual({ cut: 20, answered: 1 });
  });

  test("faults of ours use nothing of the plan, have waits of their own, and never end a document", async () => {
    const id = await document();
    for (let fault = 0; fault < 40; fault += 1) {
      await attempt(id, { kind: "internal" });
      const wait_ms = Math.min(LIMITS.fault_wait_first_ms * 2 ** fault, LIMITS.fault_wait_max_ms);
      const due_ms = (await dueIn_ms(db.sql, id)) ?? 0;
      expect(due_ms).toBeLessThanOrEqual(wait_ms);
      expect(due_ms).toBeGreaterThan(wait_ms / 2);
      await makeDue(db.sql, id);
    }
    expect(await stateOf(id)).toMatchObject({ status: "queued", answers: 0, faults: 40 });
    await attempt(id, { kind: "peer_busy" });
    expect(await stateOf(id)).toMatchObject({ status: "queued", answers: 1, faults: 0 });
  });

  test("a document ends after the last answer of its plan, and not before", async () => {
    const id = await document();
    for (const _ of LIMITS.retry_plan_ms) {
      expect(await attempt(id, { kind: "transport_failed", code: "CONNECT" })).toBe(true);
      expect(await stateOf(id)).toMatchObject({ status: "queued" });
      await makeDue(db.sql, id);
    }
    await attempt(id, { kind: "transport_failed", code: "CONNECT" });
    expect(await stateOf(id)).toMatchObject({ status: "send_failed", answers: LIMITS.retry_plan_ms.length + 1 });
  });

  test("a document whose evidence we cannot store is transmitted, uses nothing of the plan, never ends, and is delivered once its evidence is stored", async () => {
    const id = await document();
    for (let n = 1; n <= 40; n += 1) {
      await attempt(id, EVIDENCE_NOT_STORED);
      const wait_ms = (await dueIn_ms(db.sql, id)) ?? Number.NaN;
      expect(wait_ms).toBeLessThanOrEqual(
        Math.min(LIMITS.fault_wait_first_ms * 2 ** (n - 1), LIMITS.fault_wait_max_ms),
      );
      await makeDue(db.sql, id);
    }
    expect(await stateOf(id)).toMatchObject({ status: "sent", answers: 0, faults: 40 });
    await attempt(id, { kind: "already_handed_over" });
    expect(await stateOf(id)).toMatchObject({ status: "delivered" });
  });

  test("faults of ours at one document that come again and again are an alarm", async () => {
    const id = await document();
    const alarms: unknown[] = [];
    const log: Log = { ...silentLog, error: (text, fields) => alarms.push({ text, ...fields }) };
    for (let fault = 0; fault < LIMITS.fault_alarm_after; fault += 1) {
      expect(alarms).toEqual([]);
      await attemptOnce({ ...ports(() => ({ kind: "internal" })), log }, id);
      await makeDue(db.sql, id);
    }
    expect(alarms).toMatchObject([{ documentId: id, count: LIMITS.fault_alarm_after }]);
  });
});

test("a document that a node accepted whose clock is two minutes ahead is due at once", async () => {
  const row = newDocumentRow(firmId, SENDER, { acceptedAt: systemClock.now() + 120_000 });
  await acceptDocuments(db.sql, [row]);
  expect(await takeAttempt(db.sql, { id: row.id, owner: "test/1", lease_ms: 1_000 })).toBeDefined();
});

test("waits are database time: a node whose clock is two minutes off neither hurries nor delays the next attempt", async () => {
  for (const skew_ms of [-120_000, 120_000]) {
    const id = await document();
    const skewed = fakeClock(systemClock.now() + skew_ms);
    await attemptOnce({ ...ports(() => ({ kind: "peer_busy" })), clock: skewed }, id);
    const due_ms = (await dueIn_ms(db.sql, id)) ?? 0;
    expect(due_ms).toBeGreaterThan(0);
    expect(due_ms).toBeLessThanOrEqual((LIMITS.retry_plan_ms[0] ?? 0) * 1.2);
  }
});
