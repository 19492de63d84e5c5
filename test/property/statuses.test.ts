/**
 * Goal: however statuses, receipts, failures and responses arrive, a document's history is one that the lifecycle table
 * allows, and each effect happens once. Method: random arrivals against a real database, then the table is asked about
 * every step of the written history.
 */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";

import { STATUS_STEPS } from "../../actors/status-work.js";
import type { FirmId } from "../../engine/base/ids.js";
import { outboundLifecycle, outboundMove } from "../../engine/lifecycle/document.js";
import type { OutboundState, OutboundTrigger } from "../../engine/lifecycle/document.js";
import { LIMITS } from "../../engine/base/limits.js";
import type { InboundExchange } from "../../engine/peppol/transport.js";
import { fakeClock } from "../support/fake-clock.js";
import { freshDatabase } from "../support/database/postgres.js";
import type { TestDatabase } from "../support/database/postgres.js";
import { seedFirm } from "../support/database/seed.js";
import { mlsExchange, pass, responseExchange, statusBench } from "../support/as4/statuses.js";
import type { StatusBench } from "../support/as4/statuses.js";

const SEED = Number(process.env["SEED"] ?? "20261120");
const SENDER = "0245:1010101010";
const clock = fakeClock();
let db: TestDatabase;
let bench: StatusBench;
let firmId: FirmId;

beforeAll(async () => {
  db = await freshDatabase();
  bench = statusBench(db, clock);
  firmId = await seedFirm(db.sql, SENDER);
});
afterAll(async () => {
  await db.drop();
});

/** `AP2` is a second message that says the same as `AP`; a number of a response is its cbc:ID. */
const ARRIVALS = [
  "AP",
  "AP2",
  "AB",
  "RE",
  "IP#1",
  "IP#2",
  "PD#3",
  "transmitted",
  "receipt_confirmed",
  "attempts_exhausted",
  "peer_refused",
] as const;
type Arrival = (typeof ARRIVALS)[number];

const isTrigger = (arrival: Arrival): arrival is Extract<Arrival, OutboundTrigger> => !/^[A-Z]/.test(arrival);

let count = 0;

async function play(arrivals: readonly Arrival[]): Promise<
  Awaited<ReturnType<StatusBench["story"]>> & {
    readonly triggers: { trigger: OutboundTrigger; status: OutboundState }[];
  }
> {
  count += 1;
  const number = `P-${count}`;
  const document = await bench.document(firmId, SENDER, { facts: { documentNumber: number } });
  const messages = new Map<Arrival, InboundExchange>();
  const messageOf = (arrival: Arrival): InboundExchange => {
    const code = arrival.slice(0, 2);
    const made =
      messages.get(arrival) ??
      (arrival.includes("#")
        ? responseExchange(clock, document, number, code as "IP", { id: arrival })
        : mlsExchange(clock, document.sbdhInstanceId, code as "AP"));
    messages.set(arrival, made);
    return made;
  };
  const work = async (): Promise<void> => {
    while ((await STATUS_STEPS.statuses(bench.node)) > 0);
  };
  for (const arrival of arrivals) {
    await pass(db.sql, clock, 1_000);
    if (isTrigger(arrival)) await bench.trigger(document.id, arrival);
    else expect((await bench.receive(messageOf(arrival))).kind).toMatch(/^(stored|duplicate)$/);
    await work();
  }
  await pass(db.sql, clock, LIMITS.status_early_max_ms);
  await work();
  await pass(db.sql, clock, LIMITS.status_early_ms);
  await work();
  const triggers = await db.sql<
    { trigger: OutboundTrigger; status: OutboundState }[]
  >`select trigger, status from document_history where document_id = ${document.id} and version > 1 order by version`;
  const open = await db.sql`select id from inbound_status where outcome is null`;
  expect(open).toHaveLength(0);
  return { ...(await bench.story(firmId, document.id)), triggers };
}

test(`any order and repetition of statuses, receipts and responses gives a legal history and each effect once (SEED=${SEED})`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...ARRIVALS), { minLength: 1, maxLength: 9 }), async (arrivals) => {
      const story = await play(arrivals);
      const emitted: string[] = ["document.queued"];
      let state: OutboundState = "queued";
      const states: OutboundState[] = [state];
      for (const { trigger, status } of story.triggers) {
        const move = outboundMove(state, trigger);
        expect({ state, trigger, to: status }).toEqual({ state, trigger, to: move?.to });
        if (status !== state) states.push(status);
        emitted.push(...(move?.emits ?? []));
        state = move?.to ?? state;
      }
      // Rulings section 14: statusHistory grows only when the status changes.
      expect(story.states).toEqual(states);
      // What the timeline tells is what the moves emit, and marks of statuses that came too late.
      expect(story.events.filter((kind) => !kind.endsWith("_ignored"))).toEqual(emitted);
      const times = (kind: string): number => story.events.filter((event) => event === kind).length;
      expect(times("document.mls_received")).toBeLessThanOrEqual(1);
      for (const kind of ["document.sent", "document.delivered", "document.rejected", "document.delivery_failed"])
        expect(times(kind)).toBeLessThanOrEqual(1);
      expect(times("document.response_received")).toBeLessThanOrEqual(
        new Set(arrivals.filter((arrival) => arrival.includes("#"))).size,
      );
      expect(story.response === null).toBe(times("document.response_received") === 0);
      expect(Object.keys(outboundLifecycle)).toContain(state);
    }),
    { seed: SEED, numRuns: 120, endOnFailure: false },
  );
});
