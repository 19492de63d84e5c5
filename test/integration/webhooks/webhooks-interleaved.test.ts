// Goal: two statements about the same deliveries, at the same time and in any order of their locks, lose nothing.
// Method: real statements on a real Postgres, held before their commit or at a lock; a few of all races here, every one
// of them in test/faults.
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { bindFirm, createIntegrator } from "../../../engine/identity/firms.js";
import { claimDeliveries, settleDeliveries } from "../../../engine/storage/events/dispatch.js";
import { confirmEvents } from "../../../engine/storage/events/pulls.js";
import { eventually } from "../../support/eventually.js";
import { Random, seedFrom } from "../../support/random.js";
import { openTransaction } from "../../support/database/transactions.js";
import { Races, RACES } from "../../support/webhooks/webhook-races.js";
import type { Race } from "../../support/webhooks/webhook-races.js";
import { webhookWorld } from "../../support/webhooks/webhook-world.js";
import type { WebhookWorld } from "../../support/webhooks/webhook-world.js";

const SEED = seedFrom(12);
const COUNT = 3;
/** Those in which something was lost, stuck or sent to a place that its subscription had left, when nobody looked. */
const KNOWN: readonly Race[] = [
  { first: "it is to be pulled", second: "a dead letter is repeated", lock: undefined },
  { first: "its receiver moves", second: "it is tested", lock: undefined },
  { first: "it is deleted", second: "a dead letter is repeated", lock: "what waits behind" },
  { first: "it is switched off", second: "a dead letter is repeated", lock: "what is being sent" },
  { first: "the feed is read without places", second: "one is taken", lock: undefined },
  { first: "the feed is read", second: "a row of two is taken", lock: "what is being sent" },
  { first: "one is taken", second: "the feed is read", lock: "what waits behind" },
];

let world: WebhookWorld;
beforeEach(async () => {
  world = await webhookWorld();
});
afterEach(() => world.end());

/** Waits until so many statements wait for a lock. */
const waiters = (count: number) =>
  eventually(`${count} statements wait`, async () => {
    const rows = await world.db.sql`
      select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return rows.length >= count;
  });

test(`two statements about the same deliveries lose nothing, whichever is first and wherever it waits (SEED=${SEED})`, async () => {
  const races = await Races.open(world);
  try {
    const random = new Random(SEED);
    const some = Array.from({ length: COUNT }, () => random.pick(RACES));
    for (const race of [...KNOWN, ...some]) expect.soft([race, await races.run(race)]).toEqual([race, []]);
  } finally {
    await races.close();
  }
});

test("an event that is confirmed while its subscription gets a url is pushed, and the confirmation is no error", async () => {
  const firm = await world.firm();
  const { id } = await world.subscribe(firm, null);
  const eventId = await world.happen(firm);
  await world.queue();
  const held = await openTransaction(world.db.url);
  await held.run("select 1 from webhook_delivery for update");
  const changed = world.change(firm, id, { url: "http://127.0.0.1:9/in" });
  await waiters(1);
  const confirmed = confirmEvents(world.db.sql, { firmId: firm, integratorId: undefined }, [eventId]);
  await waiters(2);
  await held.commit();
  expect(await Promise.all([changed, confirmed])).toMatchObject([{}, [eventId]]);
  expect(await world.states(id)).toMatchObject([{ eventId, status: "PENDING" }]);
  expect(await claimDeliveries(world.db.sql, "node/1", 64)).toMatchObject([{ eventId }]);
});

test.each(["as they happened", "the other way round"])(
  "events that are confirmed together while their subscription gets a url wait for it, where their deliveries were made %s",
  async (order) => {
    const firm = await world.firm();
    const { id } = await world.subscribe(firm, null);
    const events = [await world.happen(firm), await world.happen(firm)].sort();
    await world.queue();
    const { sql } = world.db;
    const deliveries = events.map(() => randomUUID()).sort();
    const ids = order === "as they happened" ? deliveries : deliveries.toReversed();
    await sql`
      update webhook_delivery as d set id = n.id
      from unnest(${events}::uuid[], ${ids}::uuid[]) as n (event_id, id) where d.event_id = n.event_id`;
    const held = await openTransaction(world.db.url);
    await held.run(`select 1 from webhook_delivery where id = '${deliveries[0] ?? ""}' for update`);
    const changed = world.change(firm, id, { url: "http://127.0.0.1:9/in" });
    await waiters(1);
    const confirmed = confirmEvents(sql, { firmId: firm, integratorId: undefined }, events);
    await waiters(2);
    await held.commit();
    await expect(Promise.all([changed, confirmed])).resolves.toHaveLength(2);
    expect((await confirmed).toSorted()).toEqual(events);
    expect((await world.states(id)).map(({ status }) => status)).toEqual(["PENDING", "PENDING"]);
  },
);

describe("deliveries of the Connector", () => {
  const ports = () => ({ sql: world.db.sql, clock: systemClock });

  /** A firm that an account with a webhook calls by a name. */
  async function customer(): Promise<FirmId> {
    const firmId = await world.firm();
    const integratorId = await createIntegrator(ports(), { name: "Partner", productionAuthorized: true });
    await bindFirm(ports(), { integratorId, firmId, scopes: ["webhooks:read"], interfaces: ["connector"] });
    await world.db.sql`update firm_binding set customer_ref = 'K-1' where integrator_id = ${integratorId}`;
    await world.db.sql`
      select put_connector_webhook(gen_random_uuid(), ${integratorId}, 'http://127.0.0.1:9/in', 'http://127.0.0.1:9',
        array['document.delivered'], true, 'k1', 'sealed'::bytea, now(),
        ${world.db.sql.json({ id: randomUUID(), at: new Date(systemClock.now()).toISOString(), actorType: "system" })})`;
    return firmId;
  }

  /** Reads so many rows of the feed, once they may be read: another file's transaction may hold them back for a while. */
  async function read(rows: number): Promise<void> {
    let seen = 0;
    await eventually("the feed is read", async () => {
      const [row] = await world.db.sql<{ read: string }[]>`select read from fan_out_connector(${rows - seen})`;
      seen += Number(row?.read ?? 0);
      return seen >= rows;
    });
  }

  /** Takes what is due, one after the other. @returns the events */
  async function taken(): Promise<string[]> {
    const events: string[] = [];
    for (;;) {
      const [claimed] = await claimDeliveries(world.db.sql, "node/1", 1);
      if (claimed === undefined) return events;
      events.push(claimed.eventId);
      await settleDeliveries(world.db.sql, [
        {
          ...{ id: claimed.deliveryId, owner: "node/1", attempt: 1, status: "SUCCESS", health: "well" },
          ...{ wait_ms: undefined, responseStatus: 200, responseBody: undefined, cause: undefined },
        },
      ]);
    }
  }

  test("what comes behind an event that was taken from the next page waits for nothing once that was sent", async () => {
    const firmId = await customer();
    const documentId = randomUUID();
    const early = await openTransaction(world.db.url);
    // It has its place among the transactions before it writes.
    await early.run("select pg_current_xact_id()");
    const first = await world.happen(firmId, "document.delivered", documentId);
    const second = randomUUID();
    await early.run(
      `insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
       values ('${second}', '${documentId}', '${firmId}', 'document.delivered', 'system', true, now())`,
    );
    await early.commit();
    await read(1);
    expect(await taken()).toEqual([first, second]);
    const third = await world.happen(firmId, "document.delivered", documentId);
    await read(2);
    expect(await taken()).toEqual([third]);
  });
});
