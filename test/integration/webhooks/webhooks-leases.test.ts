// Goal: what a process has taken and is not at any more is sent soon by whoever lives, and nothing that changes meanwhile
// (subscriptions, consents, other ends) loses an event, doubles its order or stands in another's way.
// Method: real statements on a real Postgres, a receiver on this machine; processes that die are claims that nobody makes.
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { FirmId, IntegratorId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { pullEvents } from "../../../engine/events/webhooks/pulls.js";
import { replayDelivery } from "../../../engine/events/webhooks/repairs.js";
import { bindFirm, createFirm, createIntegrator } from "../../../engine/identity/firms.js";
import { claimDeliveries, settleDeliveries } from "../../../engine/storage/events/dispatch.js";
import { fanOutFeed } from "../../../engine/storage/events/fan-out.js";
import { eventually } from "../../support/eventually.js";
import { startReceiver, status } from "../../support/webhooks/receiver.js";
import type { Receiver } from "../../support/webhooks/receiver.js";
import { openTransaction } from "../../support/database/transactions.js";
import { webhookWorld } from "../../support/webhooks/webhook-world.js";
import type { DeliveryState, WebhookWorld } from "../../support/webhooks/webhook-world.js";

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

/** Waits until the deliveries of a subscription are as a test wants them. */
const reached = (subscriptionId: string, what: string, isSo: (states: DeliveryState[]) => boolean) =>
  eventually(what, async () => {
    const states = await world.states(subscriptionId);
    return isSo(states) ? states : undefined;
  });
const allTaken = (states: DeliveryState[]): boolean => states.every((state) => state.status === "SUCCESS");

/** Takes what is due and forgets it, as a process whose answer was lost; the lease would last for an hour. */
async function takeAndForget(owner: string): Promise<string[]> {
  const taken = await claimDeliveries(world.db.sql, owner, 64);
  await world.db.sql`
    update webhook_delivery set attempted_at = attempted_at - interval '1 minute', due_at = due_at + interval '1 hour'
    where lease_owner = ${owner}`;
  return taken.map(({ deliveryId }) => deliveryId);
}

describe("leases that nobody needs any more", () => {
  test("what a process has taken without learning of it is sent long before the lease ends", async () => {
    const subscription = await world.subscribe(firm, hook("/in"));
    await world.happen(firm);
    await world.queue();
    expect(await takeAndForget("node/1")).toHaveLength(1);
    world.deliver({ owner: "node/1" });
    await reached(subscription.id, "it is sent", allTaken);
    expect(receiver.at("/in")).toHaveLength(1);
  });

  test("what a dead process has taken is sent by another, and what a living one has taken is left to it", async () => {
    const subscription = await world.subscribe(firm, hook("/dead"));
    const living = await world.subscribe(firm, hook("/living"));
    await world.happen(firm);
    await world.queue();
    await world.db.sql`insert into dispatcher (owner, seen_at) values ('living/1', now())`;
    await takeAndForget("someone/1");
    await world.db.sql`
      update webhook_delivery set lease_owner = 'living/1' where subscription_id = ${living.id}`;
    world.deliver({ owner: "node/1" });
    await reached(subscription.id, "that of the dead one is sent", allTaken);
    expect(await world.states(living.id)).toMatchObject([{ leased: true, attempts: 0 }]);
    expect(receiver.at("/living")).toEqual([]);
  });

  test("a claim answers everything that it takes, also while deliveries are added", async () => {
    const { sql } = world.db;
    for (let n = 0; n < 24; n += 1) {
      const owner = await world.firm();
      await world.subscribe(owner, hook(`/${n}`));
    }
    const claimers = Array.from({ length: 3 }, () => world.db.another());
    for (let round = 0; round < 30; round += 1) {
      await sql`
        insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
        select gen_random_uuid(), gen_random_uuid(), f.id, 'document.delivered', 'system', true, now() from firm as f`;
      const [, ...taken] = await Promise.all([
        fanOutFeed(sql),
        ...claimers.map((own, n) => claimDeliveries(own, `claimer/${n}`, 64)),
        ...claimers.map((own, n) => claimDeliveries(own, `claimer/${n}`, 64)),
      ]);
      const [row] = await sql<{ n: number }[]>`
        select count(*)::integer as n from webhook_delivery where lease_owner is not null`;
      expect([round, row?.n]).toEqual([round, taken.flat().length]);
      await sql`delete from webhook_delivery`;
    }
  });

  test("attempts that end with their process use nothing of the plan, and after ten in a row the event is a dead letter", async () => {
    const subscription = await world.subscribe(firm, hook("/in"));
    const documentId = randomUUID();
    await world.happen(firm, "document.sent", documentId);
    const next = await world.happen(firm, "document.delivered", documentId);
    await world.queue();
    for (let death = 0; death < LIMITS.webhook_begun_max; death += 1) {
      const [claimed] = await claimDeliveries(world.db.sql, "dying/1", 64);
      expect(claimed).toMatchObject({ attempt: 1, cutOff: false });
      await world.db.sql`update webhook_delivery set due_at = now(), lease_owner = null where lease_owner = 'dying/1'`;
    }
    world.deliver();
    const states = await reached(subscription.id, "both have ended", ([first, second]) =>
      [first, second].every((state) => state?.status === "SUCCESS" || state?.status === "FAILED"),
    );
    expect(states).toMatchObject([{ status: "FAILED", cause: "attempts_cut_off" }, { status: "SUCCESS" }]);
    expect(arrived("/in")).toEqual([next]);
  });
});

test("a node of the release before settles what it has sent, and frees the event of the document that waits behind it", async () => {
  const { sql } = world.db;
  const subscription = await world.subscribe(firm, hook("/in"));
  const documentId = randomUUID();
  await world.happen(firm, "document.sent", documentId);
  await world.happen(firm, "document.delivered", documentId);
  await world.queue();
  const settle = async (): Promise<unknown> => {
    const [claimed] = await claimDeliveries(sql, "before/1", 64);
    // In its words: without the head of deliveries that were sent in a row.
    return sql`
      select n, failing from settle_webhooks(
        ${["before/1"]}::text[], ${[claimed?.deliveryId ?? ""]}::uuid[], ${[1]}::integer[], ${["SUCCESS"]}::text[],
        ${[null] as unknown as string[]}::bigint[], ${[200]}::integer[], ${[""]}::text[],
        ${[null] as unknown as string[]}::text[], ${["well"]}::text[], ${LIMITS.webhook_breaker_failures},
        ${LIMITS.webhook_rest_ms}, ${LIMITS.webhook_rest_max_ms}, ${LIMITS.webhook_failing_ms}
      )`;
  };
  for (const _ of ["sent", "delivered"]) expect(await settle()).toEqual([{ n: "1", failing: false }]);
  expect(allTaken(await world.states(subscription.id))).toBe(true);
});

describe("the order of a document's events", () => {
  test("an event that was written first and is read on a later page still goes first", async () => {
    const { sql, url } = world.db;
    const subscription = await world.subscribe(firm, hook("/in"));
    const documentId = randomUUID();
    const early = await openTransaction(url);
    // It has its place among the transactions before it writes.
    await early.run("select pg_current_xact_id()");
    const first = await world.happen(firm, "document.sent", documentId);
    const second = randomUUID();
    await early.run(
      `insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
       values ('${second}', '${documentId}', '${firm}', 'document.delivered', 'system', true, now())`,
    );
    await early.commit();
    await eventually("a page of one row is read", async () => {
      const [row] = await sql<{ queued: string }[]>`select queued from fan_out_webhooks(1)`;
      return Number(row?.queued ?? 0) > 0;
    });
    await world.queue();
    world.deliver();
    await reached(subscription.id, "both are taken", (states) => states.length === 2 && allTaken(states));
    expect(arrived("/in")).toEqual([first, second]);
  });

  test("events that waited to be pulled go in their order when the subscription gets a url", async () => {
    receiver.script("/in", (response, call, nth) => {
      setTimeout(() => {
        status(200)(response, call, nth);
      }, 30);
    });
    const subscription = await world.subscribe(firm, null, {
      events: ["document.sent", "document.delivered", "document.response_received"],
    });
    const documentId = randomUUID();
    const ids: string[] = [];
    for (const kind of ["document.sent", "document.delivered", "document.response_received"] as const)
      ids.push(await world.happen(firm, kind, documentId));
    await world.queue();
    await world.change(firm, subscription.id, { url: hook("/in") });
    world.deliver();
    await reached(subscription.id, "all are taken", allTaken);
    expect(arrived("/in")).toEqual(ids);
    expect(receiver.busiest("/in")).toBe(1);
  });

  test("a repeat of a dead letter does not hold up what happens to its document later", async () => {
    receiver.script("/in", (response, call, nth) => {
      status([404, 503][nth - 1] ?? 200)(response, call, nth);
    });
    const subscription = await world.subscribe(firm, hook("/in"));
    const documentId = randomUUID();
    await world.happen(firm, "document.sent", documentId);
    world.deliver();
    const [dead] = await reached(subscription.id, "it is a dead letter", ([state]) => state?.status === "FAILED");
    await replayDelivery(world.db.sql, { owner: { firmId: firm, integratorId: undefined }, id: dead?.id ?? "" });
    await reached(subscription.id, "the repeat waits", (states) => states[1]?.status === "RETRYING");
    const later = await world.happen(firm, "document.delivered", documentId);
    await reached(subscription.id, "the later one is taken", (states) => states[2]?.status === "SUCCESS");
    expect(arrived("/in").at(-1)).toBe(later);
    expect((await world.states(subscription.id))[1]).toMatchObject({ status: "RETRYING" });
  });
});

describe("subscriptions that change while their events are under way", () => {
  /** A receiver that is called and does not answer until it is let. */
  async function underWay(late = 200): Promise<{ readonly id: string; readonly answer: () => void }> {
    let answer: () => void = () => undefined;
    receiver.script("/old", (response, call, nth) => {
      answer = () => {
        status(late)(response, call, nth);
      };
    });
    const subscription = await world.subscribe(firm, hook("/old"));
    await world.happen(firm);
    world.deliver();
    await eventually("the receiver is called", () => receiver.at("/old").length === 1);
    return {
      id: subscription.id,
      answer: () => {
        answer();
      },
    };
  }

  test("one that is to be pulled from now on shows the event whose push is under way, and nothing is pushed again", async () => {
    const { id, answer } = await underWay();
    await world.change(firm, id, { url: null });
    answer();
    const pulled = await pullEvents(
      world.db.sql,
      { firmId: firm, integratorId: undefined },
      { limit: 10, kind: undefined },
    );
    expect(pulled.events.map(({ event_id }) => event_id)).toEqual(arrived("/old"));
    expect(await world.states(id)).toMatchObject([{ status: "PENDING", leased: false, attempts: 0 }]);
    expect(receiver.at("/old")).toHaveLength(1);
  });

  test("one that leads elsewhere from now on has the event under way sent there at once", async () => {
    const { id } = await underWay();
    await world.change(firm, id, { url: hook("/new") });
    await reached(id, "the new place has it", allTaken);
    expect(arrived("/new")).toEqual(arrived("/old"));
  });

  test.each([
    [200, "its 200 does not end the delivery that the new place refuses for now"],
    [410, "its 410 does not switch the subscription off"],
  ])("an old place that answers %d after the event was sent elsewhere is not heard: %s", async (late) => {
    const { id, answer } = await underWay(late);
    receiver.script("/new", (response, call, nth) => {
      status(nth === 1 ? 503 : 200)(response, call, nth);
    });
    await world.change(firm, id, { url: hook("/new") });
    await reached(id, "the new place has refused it once", ([state]) => state?.status === "RETRYING" && !state.leased);
    answer();
    await eventually("the end at the old place is dropped", async () =>
      /outcome="LOST"\} [1-9]/.test(await world.metrics.exposition()),
    );
    await world.db.sql`update webhook_delivery set due_at = now() where subscription_id = ${id}`;
    await reached(id, "the new place has it", allTaken);
    expect(receiver.at("/new").length).toBe(2);
    const [row] = await world.db.sql`select active, disabled_reason from webhook_subscription where id = ${id}`;
    expect(row).toEqual({ active: true, disabled_reason: null });
  });

  test("a place that says that it is gone, and that the subscription has left by the time this is acted on, does not switch it off", async () => {
    receiver.script("/old", status(410));
    const subscription = await world.subscribe(firm, hook("/old"));
    await world.happen(firm);
    const { sql } = world.db;
    let moved = false;
    // The subscription moves when the end of the attempt has been written, and nothing is said of the 410 yet.
    const meanwhile = new Proxy(sql, {
      apply: (statement, _, [text, ...values]: Parameters<typeof sql>) => {
        const run = () => statement(text as TemplateStringsArray, ...values);
        if (moved || !Array.isArray(text) || !text.join("").includes("disable_webhook")) return run();
        moved = true;
        return world.change(firm, subscription.id, { url: hook("/new") }).then(run);
      },
    });
    world.deliver({ sql: meanwhile });
    await reached(subscription.id, "the old place has refused it", ([state]) => state?.cause === "status_410");
    const later = await world.happen(firm);
    await eventually("the new place has what happens later", () => arrived("/new").length === 1);
    expect([moved, arrived("/new")]).toEqual([true, [later]]);
    const [row] = await sql`select active, disabled_reason from webhook_subscription where id = ${subscription.id}`;
    expect(row).toEqual({ active: true, disabled_reason: null });
  });

  test.each([
    ["url = null, endpoint_id = null", { endpoint: null, n: 1 }],
    ["active = false, deleted_at = now()", { endpoint: null, n: 0 }],
  ])("what happens while a subscription is changed (%s) finds it as it is then", async (change, expected) => {
    const { sql, url } = world.db;
    const subscription = await world.subscribe(firm, hook("/in"));
    await world.happen(firm);
    const changing = await openTransaction(url);
    await changing.run(`select 1 from webhook_subscription where id = '${subscription.id}' for update`);
    await changing.run(`update webhook_subscription set ${change} where id = '${subscription.id}'`);
    const queued = world.queue();
    await eventually("the fan-out waits for the change", async () => {
      const rows = await sql`select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%fan_out_webhooks%'`;
      return rows.length > 0;
    });
    await changing.commit();
    await queued;
    const rows = await sql`select endpoint_id as endpoint from webhook_delivery`;
    expect(rows).toEqual(Array.from({ length: expected.n }, () => ({ endpoint: expected.endpoint })));
  });

  test("a change waits for deliveries that are being made, and takes them along", async () => {
    const { sql, url } = world.db;
    const subscription = await world.subscribe(firm, hook("/in"));
    await world.happen(firm);
    const making = await openTransaction(url);
    await eventually("they are being made", async () => {
      await making.run("select fan_out_webhooks(500)");
      const [row] = await sql<{ n: number }[]>`
        select count(*)::integer as n from pg_locks where relation = 'webhook_delivery'::regclass and mode = 'RowExclusiveLock'
          and database = (select oid from pg_database where datname = current_database())`;
      return (row?.n ?? 0) > 0;
    });
    const changed = world.change(firm, subscription.id, { url: null });
    await making.commit();
    await changed;
    expect(await sql`select endpoint_id as endpoint, due_at from webhook_delivery`).toEqual([
      { endpoint: null, due_at: null },
    ]);
  });
});

test("an end that is written while the next events are made waits for them and never locks what they need first", async () => {
  const { sql, url } = world.db;
  const subscription = await world.subscribe(firm, hook("/in"));
  const documentId = randomUUID();
  await world.happen(firm, "document.sent", documentId);
  await world.happen(firm, "document.delivered", documentId);
  await world.queue();
  const [claimed] = await claimDeliveries(sql, "node/1", 64);
  if (claimed === undefined) throw new Error("nothing was taken");
  // Rows of one statement have ids in no order: here the event that waits has the smaller one.
  const smaller = "00000000-0000-7000-8000-000000000001";
  await sql`update webhook_delivery set id = ${smaller} where subscription_id = ${subscription.id} and due_at = 'infinity'`;
  const making = await openTransaction(url);
  await making.run(`select 1 from webhook_delivery where id = '${smaller}' for update`);
  const end = settleDeliveries(sql, [
    {
      ...{ id: claimed.deliveryId, owner: "node/1", attempt: 1, status: "SUCCESS", health: "well" },
      ...{ wait_ms: undefined, responseStatus: 200, responseBody: undefined, cause: undefined },
    },
  ]);
  await eventually("the end waits", async () => {
    const rows = await sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%settle_webhooks%'`;
    return rows.length > 0;
  });
  await making.run(`select 1 from webhook_delivery where id = '${claimed.deliveryId}' for update nowait`);
  await making.commit();
  expect(await end).toEqual({ failing: false, freed: true });
  expect(await world.states(subscription.id)).toMatchObject([
    { status: "SUCCESS" },
    { status: "PENDING", wait_s: null },
  ]);
  const [row] = await sql`select isfinite(due_at) as due from webhook_delivery where id = ${smaller}`;
  expect(row).toEqual({ due: true });
});

test("an event that is added while the end before it waits for its turn is due once that end is written", async () => {
  const { sql, url } = world.db;
  const subscription = await world.subscribe(firm, hook("/in"));
  await world.happen(firm, "document.sent", randomUUID());
  await world.queue();
  const [claimed] = await claimDeliveries(sql, "node/1", 64);
  if (claimed === undefined) throw new Error("nothing was taken");
  const making = await openTransaction(url);
  await making.run(`select 1 from webhook_delivery where id = '${claimed.deliveryId}' for update`);
  const end = settleDeliveries(sql, [
    {
      ...{ id: claimed.deliveryId, owner: "node/1", attempt: 1, status: "SUCCESS", health: "well" },
      ...{ wait_ms: undefined, responseStatus: 200, responseBody: undefined, cause: undefined },
    },
  ]);
  await eventually("the end waits", async () => {
    const rows = await sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%settle_webhooks%'`;
    return rows.length > 0;
  });
  await making.run(`
    insert into webhook_delivery (id, subscription_id, endpoint_id, owner_id, firm_id, event_id, event, place,
      document_id, occurred_at, status, due_at, created_at)
    select new_row_id(), subscription_id, endpoint_id, owner_id, firm_id, gen_random_uuid(), 'document.delivered',
      place + 1, document_id, occurred_at, 'PENDING', 'infinity', now()
    from webhook_delivery where id = '${claimed.deliveryId}'`);
  await making.commit();
  expect(await end).toEqual({ failing: false, freed: true });
  const due = await sql`
    select isfinite(due_at) as due from webhook_delivery
    where subscription_id = ${subscription.id} and settled_at is null`;
  expect(due).toEqual([{ due: true }]);
});

describe("integrators that may not be told", () => {
  const ports = () => ({ sql: world.db.sql, clock: systemClock });

  async function partnerOf(
    firmId: FirmId,
    { scopes, isAuthorized }: { readonly scopes: readonly string[]; readonly isAuthorized: boolean },
  ): Promise<IntegratorId> {
    const integratorId = await createIntegrator(ports(), { name: "Partner", productionAuthorized: isAuthorized });
    await bindFirm(ports(), { integratorId, firmId, scopes: ["webhooks:write"], interfaces: ["enterprise"] });
    await world.db.sql`update firm_binding set scopes = ${[...scopes]} where integrator_id = ${integratorId}`;
    return integratorId;
  }

  // spec/sapi.md, Authentication: "a valid production authorization of the partner"
  test.each([
    ["one without an authorization for production", { scopes: ["webhooks:write"], isAuthorized: false }],
    ["one whose consent has no webhooks any more", { scopes: ["documents:send"], isAuthorized: true }],
  ])("%s is told nothing of a real firm, while one that may be is told", async (_, wrong) => {
    const real = await createFirm(ports(), { name: "Skutočná s. r. o.", sandbox: false });
    const integratorId = await partnerOf(real, wrong);
    const rightId = await partnerOf(real, { scopes: ["webhooks:read"], isAuthorized: true });
    const pushed = await world.subscribe(real, hook("/wrong"), { integratorId });
    await world.subscribe(real, null, { integratorId });
    await world.subscribe(real, hook("/right"), { integratorId: rightId });
    world.deliver();
    await world.happen(real);
    await eventually("the right one is told", () => receiver.at("/right").length === 1);
    expect(await world.states(pushed.id)).toEqual([]);
    expect(await world.db.sql`select 1 from webhook_delivery where owner_id = ${integratorId}`).toEqual([]);
  });

  test("what was queued before an integrator lost its authorization is not sent", async () => {
    const real = await createFirm(ports(), { name: "Skutočná s. r. o.", sandbox: false });
    const integratorId = await partnerOf(real, { scopes: ["webhooks:write"], isAuthorized: true });
    const subscription = await world.subscribe(real, hook("/in"), { integratorId });
    await world.happen(real);
    await world.queue();
    await world.db.sql`update integrator set production_authorized = false where id = ${integratorId}`;
    world.deliver();
    const [state] = await reached(subscription.id, "it has ended", ([only]) => only?.status === "FAILED");
    expect(state).toMatchObject({ cause: "consent_withdrawn" });
    expect(receiver.at("/in")).toEqual([]);
  });
});

describe("receivers that take their time", () => {
  const TIMEOUT_MS = 300;

  // design/reliability.md, 4: "Connect 5 s, total 15 s"; the total is shorter here.
  test.each([
    ["never answers", () => undefined],
    [
      "sends the head and then octet by octet for ever",
      (response: Parameters<ReturnType<typeof status>>[0]) => {
        response.writeHead(200, { "content-type": "text/plain" });
        const drip = setInterval(() => response.write("."), 20);
        response.on("close", () => {
          clearInterval(drip);
        });
      },
    ],
    [
      "sends its head octet by octet for ever",
      (response: Parameters<ReturnType<typeof status>>[0]) => {
        response.socket?.write("HTTP/1.1 200 OK\r\nx-slow: ");
        const drip = setInterval(() => response.socket?.write("."), 20);
        response.on("close", () => {
          clearInterval(drip);
        });
      },
    ],
  ])("a receiver that %s is cut off in time and called again later", async (_, answer) => {
    receiver.script("/in", answer);
    const subscription = await world.subscribe(firm, hook("/in"));
    world.deliver({ timeout_ms: TIMEOUT_MS });
    await world.happen(firm);
    const [state] = await reached(subscription.id, "it was cut off", ([only]) => only?.status === "RETRYING");
    expect(state).toMatchObject({ attempts: 1, cause: "timeout", leased: false });
  });
});
