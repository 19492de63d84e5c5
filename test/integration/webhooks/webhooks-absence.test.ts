// Goal: weeks in which no engine ran cost no event that was still to be told, and no dead letter before it was seen.
// Method: real statements on a real Postgres; rows are made as old as an absence makes them, and the upkeep runs first.
import { afterEach, beforeEach, expect, test } from "vitest";

import type { FirmId } from "../../../engine/base/ids.js";
import { DAY_MS } from "../../../engine/base/clock.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { pruneDeliveries } from "../../../engine/storage/events/repairs.js";
import { eventually } from "../../support/eventually.js";
import { startReceiver, status } from "../../support/webhooks/receiver.js";
import type { Receiver } from "../../support/webhooks/receiver.js";
import { webhookWorld } from "../../support/webhooks/webhook-world.js";
import type { DeliveryState, WebhookWorld } from "../../support/webhooks/webhook-world.js";

/** Longer than deliveries are kept. */
const ABSENCE_DAYS = 40;

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

/** Every time of a delivery lies that many days further back. */
const age = (days: number): PromiseLike<unknown> => world.db.sql`
  update webhook_delivery set created_at = created_at - ${days}::integer * interval '1 day',
    settled_at = settled_at - ${days}::integer * interval '1 day',
    due_at = case when due_at = 'infinity' then due_at else due_at - ${days}::integer * interval '1 day' end`;

/** Waits until the deliveries are as a test wants them. */
const reached = (what: string, isSo: (states: DeliveryState[]) => boolean): Promise<unknown> =>
  eventually(what, async () => isSo(await world.states(id)));

test("events that waited to be told while no engine ran for 40 days are told afterwards, in their order", async () => {
  expect(ABSENCE_DAYS * DAY_MS).toBeGreaterThan(LIMITS.webhook_kept_ms);
  const events = await world.happenTogether(firm, ["document.sent", "document.delivered"]);
  await world.queue();
  await age(ABSENCE_DAYS);
  expect(await pruneDeliveries(world.db.sql)).toBe(0);
  world.deliver();
  await reached("both are taken", (states) => states.length === 2 && states.every((one) => one.status === "SUCCESS"));
  expect(receiver.calls.map(({ headers }) => headers["x-webhook-event-id"])).toEqual(events);
});

test("a dead letter is kept for 30 days from its end, however old its event is", async () => {
  receiver.script("/in", status(422));
  await world.happen(firm);
  await world.queue();
  await age(ABSENCE_DAYS);
  world.deliver();
  await reached("it is a dead letter", ([one]) => one?.status === "FAILED");
  expect(await pruneDeliveries(world.db.sql)).toBe(0);
  expect(await world.states(id)).toHaveLength(1);
  await age(LIMITS.webhook_kept_ms / DAY_MS + 1);
  expect(await pruneDeliveries(world.db.sql)).toBe(1);
});
