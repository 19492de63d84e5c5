// Goal: a subscription is switched off when its receiver has failed for five days without a break, and for nothing else;
// what waits at the receivers of a firm that is erased is told to none of them.
// Method: real rows and a scripted receiver; days pass by setting back the times that the database has written.
import { afterEach, beforeEach, expect, test } from "vitest";

import { isoInstant, systemClock } from "../../../engine/base/clock.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { attemptDelivery } from "../../../engine/events/webhooks/attempt.js";
import { OPERATOR, stampOf } from "../../../engine/identity/audit.js";
import { claimDeliveries } from "../../../engine/storage/events/dispatch.js";
import { stampParameter } from "../../../engine/storage/identity/audit.js";
import { openTransaction } from "../../support/database/transactions.js";
import { eventually } from "../../support/eventually.js";
import { startReceiver, status } from "../../support/webhooks/receiver.js";
import type { Receiver } from "../../support/webhooks/receiver.js";
import { webhookWorld } from "../../support/webhooks/webhook-world.js";
import type { WebhookWorld } from "../../support/webhooks/webhook-world.js";

const OWNER = "node/1";

let world: WebhookWorld;
let receiver: Receiver;
let firm: FirmId;
let id: string;
beforeEach(async () => {
  [world, receiver] = await Promise.all([webhookWorld(), startReceiver()]);
  firm = await world.firm();
  ({ id } = await world.subscribe(firm, `${receiver.origin}/in`));
});
afterEach(async () => {
  await world.end();
  await receiver.close();
});

/** Makes an event happen, and one attempt at each delivery that is due. */
async function told(answer: number, changes: { readonly isTest?: boolean } = {}): Promise<void> {
  receiver.script("/in", status(answer));
  await world.happen(firm);
  await world.queue();
  if (changes.isTest === true)
    await world.db.sql`update webhook_delivery set test_data = '{}' where settled_at is null`;
  for (const delivery of await claimDeliveries(world.db.sql, OWNER, 64)) await attemptDelivery(world.ports(), delivery);
}

/** Sets back the times of what was before. */
const daysPass = (days: number) => world.db.sql`
  update webhook_subscription set failing_since = failing_since - ${days}::integer * interval '1 day',
    failed_at = failed_at - ${days}::integer * interval '1 day'`;

const state = async () => {
  const [row] = await world.db.sql<{ active: boolean; failed: number; failing_h: number | null }[]>`
    select active, failed_attempts as failed, (extract(epoch from now() - failing_since) / 3600)::integer as failing_h
    from webhook_subscription where id = ${id}`;
  return row;
};

test("two events that are refused with quiet days between them switch no subscription off", async () => {
  await told(500);
  await daysPass(6);
  await told(500);
  expect(await state()).toEqual({ active: true, failed: 2, failing_h: 0 });
});

test("a receiver that fails day after day for more than five days is switched off", async () => {
  for (let day = 0; day < 4; day += 1) {
    await told(500);
    await daysPass(1);
  }
  await told(500);
  expect(await state()).toMatchObject({ active: true, failed: 5 });
  await daysPass(1);
  await told(500);
  expect(await state()).toMatchObject({ active: false });
});

test("a receiver that takes one event has not failed before it", async () => {
  await told(500);
  await daysPass(1);
  await told(200);
  expect(await state()).toEqual({ active: true, failed: 0, failing_h: null });
});

test("tests that a receiver refuses are no failure of its subscription, however long it refuses them", async () => {
  await told(500, { isTest: true });
  expect(await state()).toEqual({ active: true, failed: 0, failing_h: null });
  await told(500);
  await daysPass(6);
  await told(500, { isTest: true });
  expect(await state()).toEqual({ active: true, failed: 1, failing_h: 6 * 24 });
});

test("what waits at the receiver of a firm that is erased ends with the erasure, and nobody is told of it", async () => {
  await told(503);
  const stamp = stampOf(OPERATOR, systemClock);
  const { sql } = world.db;
  const [closed] = await sql<{ outcome: string }[]>`
    select close_firm(${firm}, ${isoInstant(systemClock.now())}, ${stampParameter(sql, stamp)}) as outcome`;
  expect(closed).toEqual({ outcome: "closed" });
  expect(await world.states(id)).toMatchObject([{ status: "FAILED", cause: "subscription_deleted" }]);
  await world.passTime();
  expect(await claimDeliveries(sql, OWNER, 64)).toEqual([]);
});

test("who subscribes just as the endpoint of the same place is cleared away gets one of its own, and no fault of ours", async () => {
  const { sql, url } = world.db;
  await sql`delete from webhook_subscription`;
  const clearing = await openTransaction(url);
  await clearing.run("delete from webhook_endpoint");
  const made = world.subscribe(firm, `${receiver.origin}/other`);
  await eventually("it waits", async () => {
    const rows = await sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%webhook%'`;
    return rows.length > 0;
  });
  await clearing.commit();
  const { id: other } = await made;
  expect(
    await sql`select w.id from webhook_endpoint as w join webhook_subscription as s on s.endpoint_id = w.id
    where s.id = ${other}`,
  ).toHaveLength(1);
});
