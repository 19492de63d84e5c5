// Goal: a subscription with more waiting than one statement ends is switched off and deleted like any other: nothing of it
// is sent any more, all of it becomes dead letters part by part, and what happens later is told.
// Method: real rows; the deliverer that ends what is left begins after the subscription was switched off.
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";

import type { FirmId } from "../../../engine/base/ids.js";
import { silentLog } from "../../../engine/base/log.js";
import { OPERATOR } from "../../../engine/identity/audit.js";
import { systemClock } from "../../../engine/base/clock.js";
import { deleteSubscription } from "../../../engine/events/webhooks/subscriptions.js";
import { attemptDelivery } from "../../../engine/events/webhooks/attempt.js";
import { claimDeliveries, endMarkedDeliveries } from "../../../engine/storage/events/dispatch.js";
import { eventually } from "../../support/eventually.js";
import { startReceiver } from "../../support/webhooks/receiver.js";
import type { Receiver } from "../../support/webhooks/receiver.js";
import { webhookWorld } from "../../support/webhooks/webhook-world.js";
import type { WebhookWorld } from "../../support/webhooks/webhook-world.js";

/** One statement ends 2,000 of them, and so does each of the next. */
const EVENTS = 4_500;
const PARTS = 3;

let world: WebhookWorld;
let receiver: Receiver;
let firm: FirmId;
let id: string;
beforeEach(async () => {
  [world, receiver] = await Promise.all([webhookWorld(), startReceiver()]);
  firm = await world.firm();
  ({ id } = await world.subscribe(firm, `${receiver.origin}/in`));
  await world.db.sql`
    insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
    select gen_random_uuid(), gen_random_uuid(), ${firm}, 'document.delivered', 'system', true, now()
    from generate_series(1, ${EVENTS}::integer)`;
  await world.queue();
});
afterEach(async () => {
  await world.end();
  await receiver.close();
});

/** What became of the deliveries, by their status and cause. */
const ends = (): Promise<readonly unknown[]> => world.db.sql`
  select status, cause, count(*)::integer as n from webhook_delivery where subscription_id = ${id} group by 1, 2 order by n`;

const allEnded = (cause: string): Promise<true> =>
  eventually("all have ended", async () => {
    const open = await world.db
      .sql`select 1 from webhook_delivery where subscription_id = ${id} and settled_at is null`;
    return open.length === 0 && JSON.stringify(await ends()).includes(cause);
  });

test("what waits at a subscription that is switched off with thousands waiting is sent no more, and all of it is a dead letter", async () => {
  await world.change(firm, id, { isActive: false });
  expect(await ends()).toHaveLength(2);
  world.deliver();
  await allEnded("subscription_inactive");
  expect(await ends()).toEqual([{ status: "FAILED", cause: "subscription_inactive", n: EVENTS }]);
  expect(receiver.calls).toEqual([]);
});

test("a subscription that is switched on again while thousands are still to end is told of what happens from then on, and of nothing else", async () => {
  await world.change(firm, id, { isActive: false });
  await world.change(firm, id, { isActive: true });
  world.deliver();
  const eventId = await world.happen(firm);
  await eventually("it is told", () => receiver.calls.length > 0);
  await allEnded("subscription_inactive");
  expect(receiver.calls.map(({ headers }) => headers["x-webhook-event-id"])).toEqual([eventId]);
  expect(await ends()).toEqual([
    { status: "SUCCESS", cause: null, n: 1 },
    { status: "FAILED", cause: "subscription_inactive", n: EVENTS },
  ]);
});

test("an event whose document's earlier one was still to end is due at once when that has ended, and nothing else is", async () => {
  await world.change(firm, id, { isActive: false });
  await world.change(firm, id, { isActive: true });
  const [last] = await world.db.sql<{ documentId: string }[]>`
    select document_id as "documentId" from webhook_delivery
    where subscription_id = ${id} and settled_at is null order by position desc limit 1`;
  const eventId = await world.happen(firm, "document.sent", last?.documentId);
  await world.queue();
  while (await endMarkedDeliveries(world.db.sql));
  expect(await ends()).toMatchObject([
    { status: "PENDING", n: 1 },
    { status: "FAILED", n: EVENTS },
  ]);
  const claimed = await claimDeliveries(world.db.sql, "node/2", 2);
  expect(claimed.map((one) => one.eventId)).toEqual([eventId]);
});

test("events of one document that are still to end wait for their part: none of them is set free by the one before", async () => {
  const documentId = randomUUID();
  await world.happenTogether(firm, ["document.sent", "document.delivered"], documentId);
  await world.queue();
  await world.change(firm, id, { isActive: false });
  await world.change(firm, id, { isActive: true });
  const next = await world.happen(firm, "document.delivered", documentId);
  await world.queue();
  const open = (): Promise<{ eventId: string; isDue: boolean }[]> => world.db.sql`
    select event_id as "eventId", isfinite(due_at) as "isDue" from webhook_delivery
    where document_id = ${documentId} and settled_at is null order by place`;
  // The first of the document is the last of a part, so that the second one ends in a part of its own.
  await world.db.sql`
    update webhook_subscription set ending_from = (
      select min(position) - 1 from webhook_delivery where document_id = ${documentId}) where id = ${id}`;
  await world.db.sql`select end_webhooks_further(1)`;
  expect((await open()).map(({ isDue }) => isDue)).toEqual([false, false]);
  await world.db.sql`select end_webhooks_further(1)`;
  expect(await open()).toEqual([{ eventId: next, isDue: true }]);
});

test("what was taken by a process at the moment at which its subscription is switched off is not sent either", async () => {
  await world.change(firm, id, { isActive: false });
  const ports = world.ports({ log: silentLog });
  const [claimed, ...more] = await claimDeliveries(world.db.sql, ports.owner, 1);
  if (claimed === undefined) throw new Error("nothing is left to take");
  expect(more).toEqual([]);
  expect(await attemptDelivery(ports, claimed)).toMatchObject({
    end: { status: "FAILED", cause: "subscription_inactive" },
  });
  expect(receiver.calls).toEqual([]);
});

test("a subscription that is deleted with thousands waiting is gone, and all that waited ends part by part", async () => {
  await deleteSubscription(
    { sql: world.db.sql, clock: systemClock },
    { owner: { firmId: firm, integratorId: undefined }, id },
    OPERATOR,
  );
  const parts: boolean[] = [];
  while (await endMarkedDeliveries(world.db.sql)) parts.push(true);
  // The last one finds nothing.
  expect(parts).toHaveLength(PARTS + 1);
  expect(await ends()).toEqual([{ status: "FAILED", cause: "subscription_deleted", n: EVENTS }]);
});
