/**
 * A receiving access point that is full or down costs documents no attempt of their plan, holds up no other receiver, and
 * keeps nothing alive for longer than the plan. @source design/reliability.md, S-10
 */
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { deferredUntil, dispatchDocument } from "../../engine/documents/delivery/dispatch.js";
import type { DispatchPorts } from "../../engine/documents/delivery/dispatch.js";
import type { DocumentId, FirmId, ParticipantId } from "../../engine/base/ids.js";
import { LIMITS } from "../../engine/base/limits.js";
import { silentLog } from "../../engine/base/log.js";
import { createMetrics } from "../../engine/base/metrics.js";
import type { Exchange, Outcome, Transport } from "../../engine/peppol/transport.js";
import { acceptDocuments, findDueDocuments } from "../../engine/storage/documents/documents.js";
import { createSealer } from "../../engine/storage/sealer.js";
import { fakeClock } from "../support/fake-clock.js";
import { freshDatabase } from "../support/postgres.js";
import type { TestDatabase } from "../support/postgres.js";
import { newDocumentRow, seedFirm } from "../support/seed.js";

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
  const sealed = { ...row, payloadKeyId: sealer.keyId, payloadSealed: sealer.seal(gzipSync("<Invoice/>"), row.id) };
  await acceptDocuments(db.sql, [sealed]);
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
    owner: "test/1",
    random: () => 0.5,
    poke: () => undefined,
  };
};

const stateOf = async (id: DocumentId): Promise<unknown> =>
  (
    await db.sql`
  select status, attempts, lease_until, (extract(epoch from next_attempt_at) * 1000)::bigint::text as due, (select count(*)::integer from document_attempt where document_id = d.id) as rows,
    (select count(*)::integer from document_event where document_id = d.id) as events
  from document as d where id = ${id}`
  )[0];

describe("a deferred document", () => {
  test("a deferred document keeps its attempts, its history and its events, and is due when the receiver said", async () => {
    const id = await document();
    const acceptedEvents = ((await stateOf(id)) as { events: number }).events;
    for (let i = 0; i < 20; i += 1) {
      expect(
        await dispatchDocument(
          ports(() => ({ kind: "deferred", code: "full", retryAfter_ms: 3_000 })),
          id,
        ),
      ).toBe(true);
      expect(await stateOf(id)).toEqual({
        status: "queued",
        attempts: 0,
        lease_until: null,
        due: String(clock.now() + 3_000),
        rows: 0,
        events: acceptedEvents,
      });
      expect(
        await dispatchDocument(
          ports(() => ({ kind: "receipt" })),
          id,
        ),
        "not due yet",
      ).toBe(false);
      clock.advance(3_000);
    }
    let attempt = 0;
    await dispatchDocument(
      ports((exchange) => {
        attempt = exchange.attempt;
        return { kind: "receipt" };
      }),
      id,
    );
    expect([attempt, ((await stateOf(id)) as { status: string }).status]).toEqual([1, "delivered"]);
  });

  test("a deferred document is found by the watch for retries although it was never attempted", async () => {
    const id = await document();
    const due = async (): Promise<DocumentId[]> =>
      (await findDueDocuments(db.sql, { now: clock.now(), grace_ms: 0, limit: 100, attempted: true })).map(
        (row) => row.id,
      );
    expect(await due()).not.toContain(id);
    await dispatchDocument(
      ports(() => ({ kind: "deferred", retryAfter_ms: 1_000 })),
      id,
    );
    clock.advance(1_000);
    expect(await due()).toContain(id);
  });

  test("a document that was deferred for as long as the whole plan lasts has failed", async () => {
    const id = await document();
    clock.advance(LIMITS.retry_plan_ms.reduce((sum, wait) => sum + wait, 0) * 1.2 + 1);
    await dispatchDocument(
      ports(() => ({ kind: "deferred", code: "down", retryAfter_ms: 1_000 })),
      id,
    );
    expect(await stateOf(id)).toMatchObject({ status: "send_failed", rows: 1 });
    expect(deferredUntil([10, 20], 0, 35, { kind: "deferred", retryAfter_ms: 5 })).toBe(40);
    expect(deferredUntil([10, 20], 0, 37, { kind: "deferred", retryAfter_ms: 5 })).toBeUndefined();
    expect(deferredUntil([10, 20], 0, 0, { kind: "receipt" })).toBeUndefined();
  });
});
