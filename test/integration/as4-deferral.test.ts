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
import { createReceivers } from "../../engine/peppol/as4/send-gate.js";
import type { Exchange, Outcome, Transport } from "../../engine/peppol/transport.js";
import { acceptDocuments, findDueDocuments } from "../../engine/storage/documents/documents.js";
import { createSealer } from "../../engine/storage/sealer.js";
import { eventually } from "../support/eventually.js";
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
  test("keeps its attempts, its history and its events, and is due when the receiver said", async () => {
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

  test("is found by the watch for retries although it was never attempted", async () => {
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

  test("that was deferred for as long as the whole plan lasts has failed", async () => {
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

describe("sixty documents to a slow receiver and ten to others", () => {
  test(
    "the others are delivered while the slow one is full; the slow one gets all of its documents, eight at a time",
    { timeout: 60_000 },
    async () => {
      // Nobody waits here: time is moved by hand.
      const receivers = createReceivers(clock, { ...LIMITS, receiver_place_wait_ms: 0 });
      const slow = "0245:5555555555";
      const [toSlow, toOthers] = [
        await Promise.all(Array.from({ length: 60 }, () => document(slow))),
        await Promise.all(Array.from({ length: 10 }, (_, i) => document(`0245:66666666${String(i).padStart(2, "0")}`))),
      ];
      let underWay = 0;
      let most = 0;
      const finish: (() => void)[] = [];
      const deliver = async ({ receiver }: Exchange): Promise<Outcome> => {
        const admission = await receivers.admit(receiver);
        if (admission.kind === "later")
          return { kind: "deferred", code: admission.reason, retryAfter_ms: admission.retryAfter_ms };
        if (receiver === slow) {
          most = Math.max(most, ++underWay);
          await new Promise<void>((resolve) => {
            finish.push(resolve);
          });
          underWay -= 1;
        }
        admission.leave("passed");
        return { kind: "receipt" };
      };
      const dispatched = [...toSlow, ...toOthers].map((id) => dispatchDocument(ports(deliver), id));
      await Promise.all(dispatched.slice(toSlow.length));
      const deliveredTo = async (ids: readonly DocumentId[]): Promise<number> =>
        (await db.sql`select 1 from document where id = any (${[...ids]}::uuid[]) and status = 'delivered'`).length;
      expect(await deliveredTo(toOthers)).toBe(10);
      /** Lets everything end that is under way, also what is admitted meanwhile. */
      const ended = async (attempts: readonly Promise<unknown>[]): Promise<void> => {
        let over = false;
        const all = Promise.all(attempts).finally(() => {
          over = true;
        });
        await eventually("the attempts have ended", () => {
          for (const end of finish.splice(0)) end();
          return over;
        });
        await all;
      };
      // The slow one answers after three seconds each time.
      let running: Promise<unknown>[] = dispatched.slice(0, toSlow.length);
      for (let round = 0; round < 200 && (await deliveredTo(toSlow)) < toSlow.length; round += 1) {
        clock.advance(3_000);
        await ended(running);
        const due = (await findDueDocuments(db.sql, { now: clock.now(), grace_ms: 0, limit: 1_000 }))
          .map(({ id }) => id)
          .filter((id) => toSlow.includes(id));
        running = due.map((id) => dispatchDocument(ports(deliver), id));
        // Those that are admitted wait for the next round; the others have been sent away.
        await eventually(
          "as many as may are under way",
          () => finish.length === Math.min(LIMITS.attempts_per_slow_receiver_max, due.length),
        );
      }
      await ended(running);
      expect(await deliveredTo(toSlow)).toBe(60);
      expect(most).toBeLessThanOrEqual(LIMITS.attempts_per_slow_receiver_max);
      const [worst] = await db.sql<
        { attempts: number }[]
      >`select max(attempts) as attempts from document where id = any (${toSlow}::uuid[])`;
      expect(worst?.attempts).toBe(1);
    },
  );
});

test(
  "a thousand documents to one slow receiver: eight are under way, every other has a time to come, and ten to others do not wait",
  { timeout: 120_000 },
  async () => {
    const receivers = createReceivers(clock, { ...LIMITS, receiver_place_wait_ms: 0 });
    const slow = "0245:7777777777";
    // It is known to take three seconds for one.
    const known = await receivers.admit(slow);
    if (known.kind === "later") throw new Error("it is full already");
    clock.advance(3_000);
    known.leave("passed");
    const toSlow: DocumentId[] = [];
    // A few at once: what is tested begins behind the 202.
    for (let i = 0; i < 50; i += 1)
      toSlow.push(...(await Promise.all(Array.from({ length: 20 }, () => document(slow)))));
    const toOthers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => document(`0245:88888888${String(i).padStart(2, "0")}`)),
    );
    const finish: (() => void)[] = [];
    const deliver = async ({ receiver }: Exchange): Promise<Outcome> => {
      const admission = await receivers.admit(receiver);
      if (admission.kind === "later")
        return { kind: "deferred", code: admission.reason, retryAfter_ms: admission.retryAfter_ms };
      if (receiver === slow)
        await new Promise<void>((resolve) => {
          finish.push(resolve);
        });
      admission.leave("passed");
      return { kind: "receipt" };
    };
    const dispatched = [...toSlow, ...toOthers].map((id) => dispatchDocument(ports(deliver), id));
    await Promise.all(dispatched.slice(toSlow.length));
    const [others] = await db.sql<
      { delivered: number }[]
    >`select count(*)::integer as delivered from document where id = any (${toOthers}::uuid[]) and status = 'delivered'`;
    expect(others?.delivered).toBe(10);
    const places = LIMITS.attempts_per_slow_receiver_max;
    const waiting = (): Promise<{ count: number; times: number; last: string }[]> => db.sql`
    select count(*)::integer as count, count(distinct next_attempt_at)::integer as times, (extract(epoch from max(next_attempt_at)) * 1000)::bigint::text as last
    from document where id = any (${toSlow}::uuid[]) and status = 'queued' and lease_until is null and next_attempt_at > ${new Date(clock.now())} and attempts = 0`;
    const [row] = await eventually("all others have a time", async () => {
      const rows = await waiting();
      return rows[0]?.count === toSlow.length - places ? rows : undefined;
    });
    expect(finish).toHaveLength(places);
    // They come at the pace of the receiver, one after the other, as far as the longest wait reaches.
    expect(row?.times).toBeGreaterThanOrEqual(Math.floor(LIMITS.receiver_retry_max_ms / (3_000 / places)) - 5);
    expect(Number(row?.last) - clock.now()).toBeLessThanOrEqual(LIMITS.receiver_retry_max_ms);
    for (const end of finish) end();
    await Promise.all(dispatched);
    const [delivered] = await db.sql<
      { count: number }[]
    >`select count(*)::integer as count from document where id = any (${toSlow}::uuid[]) and status = 'delivered'`;
    expect(delivered?.count).toBe(places);
  },
);
