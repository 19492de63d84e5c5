// Goal: what happens to a document is sent by the process that reads it, without a claim, within the same bounds as what is
// claimed; events of one document that are sent in a row are written together, and lose nothing when one of them fails.
// Method: real statements on a real Postgres, a receiver on this machine; processes are names of owners.
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { FirmId, IntegratorId } from "../../../engine/base/ids.js";
import { newId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import type { Log } from "../../../engine/base/log.js";
import { attemptDelivery } from "../../../engine/events/webhooks/attempt.js";
import { signatureOf } from "../../../engine/events/webhooks/signature.js";
import { bindFirm, createFirm, createIntegrator } from "../../../engine/identity/firms.js";
import { claimDeliveries, settleDeliveries } from "../../../engine/storage/events/dispatch.js";
import type { ClaimedDelivery } from "../../../engine/storage/events/dispatch.js";
import { fanOutFeed, takenChains } from "../../../engine/storage/events/fan-out.js";
import type { DeliveryChain } from "../../../engine/storage/events/fan-out.js";
import { disableSubscription } from "../../../engine/storage/events/subscriptions.js";
import { eventually } from "../../support/eventually.js";
import { startReceiver, status } from "../../support/webhooks/receiver.js";
import type { Receiver } from "../../support/webhooks/receiver.js";
import { closableDatabase } from "../../support/database/closable.js";
import { openTransaction } from "../../support/database/transactions.js";
import { webhookWorld } from "../../support/webhooks/webhook-world.js";
import type { WebhookWorld } from "../../support/webhooks/webhook-world.js";

const OWNER = "node/1";
const KINDS = ["document.sent", "document.delivered", "document.response_received"] as const;

let world: WebhookWorld;
let receiver: Receiver;
let firm: FirmId;
beforeEach(async () => {
  [world, receiver] = await Promise.all([webhookWorld(), startReceiver()]);
  firm = await world.firm();
});
afterEach(async () => {
  await world.end();
  await receiver.close();
});

const hook = (path: string): string => `${receiver.origin}${path}`;
const arrived = (path: string): string[] => receiver.at(path).map(({ headers }) => headers["x-webhook-event-id"] ?? "");

/** Makes deliveries of the next page of the feed; other databases of the server hold it up for a moment. */
const handedOver = (places = 64) =>
  eventually("a page is read", async () => {
    const fed = await fanOutFeed(world.db.sql, { owner: OWNER, places });
    return fed.queued > 0 ? fed : undefined;
  });

/** What of the next page is handed over. */
const chainsOf = async (): Promise<DeliveryChain[]> => takenChains(world.db.sql, OWNER, (await handedOver()).taken);

/** Makes events of as many documents of a firm happen at once. */
const happenMany = (firmId: FirmId, count: number) => world.db.sql`
  insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
  select gen_random_uuid(), gen_random_uuid(), ${firmId}, 'document.delivered', 'system', true, now()
  from generate_series(1, ${count})`;

/** Subscribes a firm at so many places that are called by nobody. */
async function subscribeWidely(firmId: FirmId, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await world.subscribe(firmId, `http://127.0.0.1:${10_000 + n}/in`);
}

/** What is under lease, by endpoint. */
async function leases(): Promise<number[]> {
  const rows = await world.db.sql<{ n: number }[]>`
    select count(*)::integer as n from webhook_delivery where lease_owner is not null group by endpoint_id order by 1 desc`;
  return rows.map(({ n }) => n);
}

describe("what goes first of its document", () => {
  test("an event is under the lease of the process that made a delivery of it, and no claim takes it", async () => {
    const subscription = await world.subscribe(firm, hook("/in"));
    const eventId = await world.happen(firm);
    const fed = await handedOver();
    expect(fed).toMatchObject({ read: 1, queued: 1, waiting: 0 });
    expect(await world.states(subscription.id)).toMatchObject([{ eventId, leased: true, attempts: 0 }]);
    expect(await claimDeliveries(world.db.sql, "node/2", 64)).toEqual([]);
    const [chain] = await takenChains(world.db.sql, OWNER, fed.taken);
    expect(chain).toMatchObject([{ eventId, attempt: 1, cutOff: false, allowed: true }]);
  });

  test("an event waits for a claim where its endpoint, its owner or the process has no place", async () => {
    await world.subscribe(firm, hook("/in"));
    await happenMany(firm, LIMITS.webhook_per_endpoint + 2);
    expect(await handedOver()).toMatchObject({ waiting: 2 });
    const wide = await world.firm();
    await subscribeWidely(wide, LIMITS.webhook_per_owner + 2);
    await happenMany(wide, 2);
    expect(await handedOver()).toMatchObject({ waiting: LIMITS.webhook_per_owner + 4 });
    const [many, few] = [await world.firm(), 3];
    await subscribeWidely(many, few + 1);
    await happenMany(many, 1);
    expect((await handedOver(few)).taken).toHaveLength(few);
  });

  test("an event does not overtake what is due at its endpoint already", async () => {
    await world.subscribe(firm, hook("/in"));
    await world.happen(firm);
    await world.queue();
    await world.happen(firm);
    expect(await handedOver()).toMatchObject({ queued: 1, waiting: 1, taken: [] });
  });

  test.each(["failures = 1", "failures = 7, rest_until = now() + interval '1 minute'"])(
    "an event waits for a claim at an endpoint that does not answer: %s",
    async (change) => {
      await world.subscribe(firm, hook("/in"));
      const changing = await openTransaction(world.db.url);
      await changing.run(`update webhook_endpoint set ${change}`);
      await changing.commit();
      await world.happen(firm);
      expect(await handedOver()).toMatchObject({ queued: 1, waiting: 1, taken: [] });
    },
  );
});

describe("events of one document that wait behind each other", () => {
  /** The three events of a document, ready to be sent. */
  async function ready(
    firmId = firm,
    integratorId?: IntegratorId,
  ): Promise<{ readonly id: string; readonly ids: string[]; readonly chain: DeliveryChain }> {
    const told = integratorId === undefined ? {} : { integratorId };
    const subscription = await world.subscribe(firmId, hook("/in"), { events: KINDS, ...told });
    const ids = await world.happenTogether(firmId, KINDS);
    const [chain] = await chainsOf();
    if (chain === undefined) throw new Error("nothing was handed over");
    expect(chain.map(({ eventId }) => eventId)).toEqual(ids);
    return { id: subscription.id, ids, chain };
  }
  /** A clock by which nothing takes time, or everything takes long. */
  const clockOf = (step_ms: number) => {
    let now = 0;
    return { ...systemClock, monotonic: () => (now += step_ms) };
  };

  test("events of one document are sent in a row while each is taken at once, and one statement writes all their ends", async () => {
    const { id, ids, chain } = await ready();
    const written = await attemptDelivery(world.ports({ clock: clockOf(0) }), ...chain);
    expect(written).toMatchObject({ end: { status: "SUCCESS", responseStatus: 200 }, freed: false });
    expect(arrived("/in")).toEqual(ids);
    expect(receiver.busiest("/in")).toBe(1);
    expect(await world.states(id)).toMatchObject(ids.map(() => ({ status: "SUCCESS", attempts: 1, leased: false })));
    const writers = await world.db.sql`select distinct xmin::text from webhook_delivery`;
    expect(writers).toHaveLength(1);
  });

  test("a receiver that takes its time has each end written before the next event of the document is sent", async () => {
    const { id, ids, chain } = await ready();
    const written = await attemptDelivery(world.ports({ clock: clockOf(LIMITS.webhook_chain_ms) }), ...chain);
    expect(written?.freed).toBe(true);
    expect(arrived("/in")).toEqual(ids.slice(0, 1));
    expect(await world.states(id)).toMatchObject([{ status: "SUCCESS" }, { status: "PENDING" }, { status: "PENDING" }]);
    const [next] = await claimDeliveries(world.db.sql, OWNER, 64);
    expect(next?.eventId).toBe(ids[1]);
  });

  test("a row of events ends where one is not taken: it is tried again, and what is behind it goes after it", async () => {
    receiver.script("/in", (response, call, nth) => {
      status(nth === 2 ? 503 : 200)(response, call, nth);
    });
    const { id, ids, chain } = await ready();
    await attemptDelivery(world.ports({ clock: clockOf(0) }), ...chain);
    expect(await world.states(id)).toMatchObject([
      { status: "SUCCESS", attempts: 1 },
      { status: "RETRYING", attempts: 1, cause: "status_503", leased: false },
      { status: "PENDING", attempts: 0, wait_s: null },
    ]);
    await world.passTime();
    world.deliver();
    await eventually("all are taken", async () =>
      (await world.states(id)).every((state) => state.status === "SUCCESS"),
    );
    expect(arrived("/in")).toEqual([ids[0], ids[1], ids[1], ids[2]]);
  });

  test("events in a row are all sent to the new place, in their order, when their subscription leads elsewhere meanwhile", async () => {
    const { id, ids, chain } = await ready();
    receiver.script("/in", (response, call, nth) => {
      void world.change(firm, id, { url: hook("/new") }).then(() => {
        status(200)(response, call, nth);
      });
    });
    expect(await attemptDelivery(world.ports({ clock: clockOf(0) }), ...chain)).toBeUndefined();
    expect(await world.states(id)).toMatchObject(ids.map(() => ({ status: "PENDING", leased: false })));
    world.deliver();
    await eventually("all are taken", async () =>
      (await world.states(id)).every((state) => state.status === "SUCCESS"),
    );
    expect(arrived("/new")).toEqual(ids);
  });

  /** Sends a row of events to a receiver that takes its time, and whose first answer comes after `change`. */
  async function sentAcross(
    { chain }: { readonly chain: DeliveryChain },
    change: () => Promise<unknown>,
  ): Promise<void> {
    receiver.script("/in", (response, call, nth) => {
      void (nth === 1 ? change() : Promise.resolve()).then(() => {
        status(200)(response, call, nth);
      });
    });
    await attemptDelivery(world.ports({ clock: clockOf(LIMITS.webhook_chain_fresh_ms) }), ...chain);
  }

  test("events in a row are signed by the secret that was made while the first was under way, and by the one before", async () => {
    const row = await ready();
    let made = "";
    await sentAcross(row, async () => {
      made = await world.rotate(firm, row.id);
    });
    const calls = receiver.at("/in").map(({ headers, body }) => ({
      isOfNew: headers["x-webhook-signature"] === signatureOf(made, Number(headers["x-webhook-timestamp"]), body),
      hasPrevious: headers["x-webhook-signature-previous"] !== undefined,
    }));
    const [before, after] = [false, true].map((is) => ({ isOfNew: is, hasPrevious: is }));
    expect(calls).toEqual([before, after, after]);
    expect(await world.states(row.id)).toMatchObject(row.ids.map(() => ({ status: "SUCCESS", leased: false })));
  });

  test.each([
    ["leads elsewhere", (id: string) => world.change(firm, id, { url: hook("/new") })],
    ["is switched off", (id: string) => world.change(firm, id, { isActive: false })],
    ["is deleted", (id: string) => world.remove(firm, id)],
  ])("nothing more of a row of events is sent once its subscription %s", async (_, change) => {
    const row = await ready();
    await sentAcross(row, () => change(row.id));
    expect(arrived("/in")).toEqual(row.ids.slice(0, 1));
  });

  test.each([
    [
      "its consent is withdrawn",
      (integratorId: IntegratorId) =>
        world.db.sql`update firm_binding set state = 'revoked' where integrator_id = ${integratorId}`,
    ],
    [
      "it has lost its authorization for production",
      (integratorId: IntegratorId) =>
        world.db.sql`update integrator set production_authorized = false where id = ${integratorId}`,
    ],
  ])("an integrator is sent nothing more of a row of events once %s, and the next says why", async (_, end) => {
    const ports = { sql: world.db.sql, clock: systemClock };
    const real = await createFirm(ports, { name: "Skutočná s. r. o.", sandbox: false });
    const integratorId = await createIntegrator(ports, { name: "Partner", productionAuthorized: true });
    await bindFirm(ports, { integratorId, firmId: real, scopes: ["webhooks:read"], interfaces: ["enterprise"] });
    const row = await ready(real, integratorId);
    await sentAcross(row, () => end(integratorId));
    expect(arrived("/in")).toEqual(row.ids.slice(0, 1));
    expect(await world.states(row.id)).toMatchObject([
      { status: "SUCCESS", leased: false },
      { status: "FAILED", cause: "consent_withdrawn", leased: false },
      { status: "PENDING", leased: false },
    ]);
  });

  test("a row of events ends where Postgres is away for a moment, and what was taken is not sent again", async () => {
    const { id, ids, chain } = await ready();
    const database = closableDatabase(world.db);
    receiver.script("/in", (response, call, nth) => {
      void database.close().then(() => {
        status(200)(response, call, nth);
      });
    });
    // It is back as soon as its absence is told.
    const log: Log = { ...silentLog, warn: () => void database.open() };
    const clock = clockOf(LIMITS.webhook_chain_fresh_ms);
    await attemptDelivery(world.ports({ sql: database.sql, clock, log }), ...chain);
    await database.stop();
    expect(arrived("/in")).toEqual(ids.slice(0, 1));
    expect(await world.states(id)).toMatchObject([{ status: "SUCCESS" }, { status: "PENDING" }, { status: "PENDING" }]);
  });

  test("events that wait behind one are not sent when that is another process's by then", async () => {
    const { chain } = await ready();
    const ids = chain.map(({ deliveryId }) => deliveryId);
    await world.db.sql`update webhook_delivery set lease_owner = null, due_at = now() where lease_owner = ${OWNER}`;
    expect(await takenChains(world.db.sql, OWNER, ids)).toEqual([]);
  });
});

test("the bounds of an endpoint and of an owner hold to the place, however many processes take at once", async () => {
  const [wide, narrow] = [await world.firm(), await world.firm()];
  await subscribeWidely(wide, LIMITS.webhook_per_owner + 4);
  await world.subscribe(narrow, hook("/in"));
  await happenMany(wide, 3);
  await happenMany(narrow, 2 * LIMITS.webhook_per_endpoint);
  await world.queue();
  await happenMany(await world.firm(), 1);
  const others = Array.from({ length: 6 }, () => world.db.another());
  for (let round = 0; round < 5; round += 1) {
    await Promise.all([
      ...others.map((own, n) => claimDeliveries(own, `node/${n}`, 64)),
      fanOutFeed(world.db.sql, { owner: OWNER, places: 64 }),
      happenMany(wide, 1),
    ]);
    expect([round, await leases()]).toEqual([
      round,
      [LIMITS.webhook_per_endpoint, ...Array.from({ length: LIMITS.webhook_per_owner }, () => 1)],
    ]);
    await world.db.sql`update webhook_delivery set lease_owner = null, due_at = now() where lease_owner is not null`;
  }
});

test("endpoints of an owner that hang leave room for its others", async () => {
  const hanging = await Promise.all(Array.from({ length: 4 }, () => startReceiver()));
  try {
    for (const slow of hanging) {
      slow.script("/in", () => undefined);
      await world.subscribe(firm, `${slow.origin}/in`);
    }
    world.deliver();
    await happenMany(firm, 2 * LIMITS.webhook_per_endpoint);
    const calls = (): number => hanging.reduce((sum, slow) => sum + slow.calls.length, 0);
    const share = LIMITS.webhook_per_owner - LIMITS.webhook_owner_first;
    await eventually("they have what they may have", () => calls() >= share);
    const good = await world.subscribe(firm, hook("/good"));
    await happenMany(firm, 1);
    await eventually("the good one is told", async () =>
      (await world.states(good.id)).some((state) => state.status === "SUCCESS"),
    );
    expect(calls()).toBeLessThanOrEqual(LIMITS.webhook_per_owner);
  } finally {
    await Promise.all(hanging.map((slow) => slow.close()));
  }
});

test("an end that is written while its subscription is switched off for a first failure waits, and neither is refused", async () => {
  const { sql, url } = world.db;
  const subscription = await world.subscribe(firm, hook("/in"));
  const documentId = randomUUID();
  await world.happen(firm, "document.sent", documentId);
  await world.queue();
  const [claimed] = (await claimDeliveries(sql, OWNER, 64)) as [ClaimedDelivery];
  await world.happen(firm, "document.delivered", documentId);
  await world.queue();
  const behind = await openTransaction(url);
  await behind.run(`select 1 from webhook_delivery where id <> '${claimed.deliveryId}' for update`);
  const waiters = (name: string) =>
    eventually(`${name} waits`, async () => {
      const rows = await sql`select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like ${`%${name}%`}`;
      return rows.length > 0;
    });
  const end = settleDeliveries(sql, [
    {
      ...{ id: claimed.deliveryId, owner: OWNER, attempt: 1, status: "SUCCESS", health: "well" },
      ...{ wait_ms: undefined, responseStatus: 200, responseBody: undefined, cause: undefined },
    },
  ]);
  await waiters("settle_webhooks");
  await sql`update webhook_subscription set failed_attempts = 1, failing_since = now() - interval '9 days'`;
  const off = disableSubscription(world.db.another(), claimed, "failing", {
    ...{ id: newId(systemClock), at: new Date().toISOString(), actorType: "system" as const },
    ...{ actorId: null, ip: null, userAgent: null },
  });
  await waiters("disable_webhook");
  await behind.commit();
  expect(await Promise.all([end, off])).toEqual([{ failing: false, freed: true }, true]);
  expect(await world.states(subscription.id)).toMatchObject([
    { status: "SUCCESS" },
    { status: "FAILED", cause: "subscription_disabled" },
  ]);
});
