/**
 * Goal: an attempt at a message of ours that was cut may have arrived, as one at a document may. Method: the real
 * statements on a real Postgres; nodes that die or are frozen are played by the test.
 */
import { afterAll, beforeAll, expect, test } from "vitest";

import type { FirmId, ParticipantId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { attemptMessage } from "../../../engine/documents/delivery/service-dispatch.js";
import { newServiceMessage, provider } from "../../../engine/documents/provider.js";
import { isLostResponse } from "../../../engine/lifecycle/response.js";
import type { OutboundState } from "../../../engine/lifecycle/document.js";
import type { Outcome } from "../../../engine/peppol/transport.js";
import { addServiceMessage, takeServiceMessages } from "../../../engine/storage/documents/service-messages.js";
import type { TakenMessage } from "../../../engine/storage/documents/service-messages.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { seedFirm } from "../../support/database/seed.js";
import { fakeClock } from "../../support/fake-clock.js";

const BUYER = "0245:1111111111" as ParticipantId;
const sealer = createSealer([Buffer.alloc(32, 1)]);
const clock = fakeClock("2026-11-20T10:00:00Z");
let db: TestDatabase;
let firmId: FirmId;
let made = 0;

beforeAll(async () => {
  db = await freshDatabase();
  firmId = await seedFirm(db.sql, BUYER);
});
afterAll(() => db.drop());

/** @param plan  waits between attempts; none is a plan of one attempt */
const portsOf = (outcome: Outcome, plan: readonly number[] = [1]) => ({
  ...{ sql: db.sql, sealer, clock, plan, log: silentLog, owner: "test/1" },
  metrics: createMetrics(),
  provider: provider("PSK000001", "SK"),
  random: () => 0.5,
  transport: { deliver: () => Promise.resolve(outcome) },
});

async function answer(): Promise<string> {
  made += 1;
  const message = await newServiceMessage(
    { sealer, clock },
    {
      ...{ kind: "invoice_response", subject: `response/${made}`, firmId, code: "AP", sender: BUYER },
      ...{ receiver: "0245:9999999999" as ParticipantId, documentTypeId: "type", processId: "process" },
      payload: Buffer.from("<ApplicationResponse/>"),
    },
  );
  expect(await addServiceMessage(db.sql, message)).toBe(true);
  return message.id;
}

async function take(): Promise<TakenMessage> {
  const [taken] = await takeServiceMessages(db.sql, { owner: "frozen/1", lease_ms: LIMITS.status_lease_ms, limit: 1 });
  if (taken === undefined) throw new Error("nothing was taken");
  return taken;
}

/** The node that has a message is taken for dead. */
const free = (id: string) => db.sql`
  update service_message set lease_owner = null, lease_until = null, version = version + 1 where id = ${id}`;
const attemptNext = async (outcome: Outcome, plan?: readonly number[]) =>
  attemptMessage(portsOf(outcome, plan), await take());

async function found(id: string): Promise<{ readonly status: OutboundState; readonly attempts: readonly string[] }> {
  const [row] = await db.sql<{ status: OutboundState; attempts: readonly string[] }[]>`
    select m.status, array(select a.number || ' ' || coalesce(a.outcome, 'under way') from service_attempt as a
      where a.message_id = m.id order by a.number) as attempts
    from service_message as m where m.id = ${id}`;
  if (row === undefined) throw new Error("there is no message");
  return row;
}

const NOT_TAKEN: Outcome = { kind: "transport_failed", code: "CONNECT" };
const RECEIPT: Outcome = { kind: "receipt", peerSeat: "POP000001" };

test("an answer whose plan is used up after an attempt that was cut is not called lost, and is not sent a second time", async () => {
  const cut = await answer();
  await take();
  await free(cut);
  await attemptNext(NOT_TAKEN, []);
  const whole = await answer();
  await attemptNext(NOT_TAKEN, []);
  expect(await found(cut)).toEqual({ status: "delivery_failed", attempts: ["1 cut", "2 transport_failed"] });
  expect(await found(whole)).toEqual({ status: "send_failed", attempts: ["1 transport_failed"] });
  const states = [(await found(cut)).status, (await found(whole)).status];
  expect(states.map(isLostResponse)).toEqual([false, true]);
});

test.each([
  ["nobody has taken the message since", async () => Promise.resolve(), []],
  ["another attempt has failed since", () => attemptNext(NOT_TAKEN, [60_000]), ["2 transport_failed"]],
  ["another attempt is under way", () => take(), ["2 under way"]],
])("a receipt that comes to a node taken for dead delivers our message, while %s", async (_what, meanwhile, others) => {
  const id = await answer();
  const taken = await take();
  await free(id);
  await meanwhile();
  await attemptMessage(portsOf(RECEIPT), taken);
  expect(await found(id)).toEqual({ status: "delivered", attempts: ["1 receipt", ...others] });
  expect(await db.sql`select c3_seat from exchange where id = ${id}`).toEqual([{ c3_seat: "POP000001" }]);
});

test("what else comes late to a message of ours changes nothing", async () => {
  const id = await answer();
  const taken = await take();
  await free(id);
  await attemptNext(NOT_TAKEN, [60_000]);
  await attemptMessage(portsOf({ kind: "peer_refused", code: "EBMS:0003", peerSeat: "POP000001" }), taken);
  expect(await found(id)).toEqual({ status: "queued", attempts: ["1 cut", "2 transport_failed"] });
});
