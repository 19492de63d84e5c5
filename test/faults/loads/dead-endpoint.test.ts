/**
 * Goal: an endpoint that is dead for a week while a million events happen to its owner's documents costs rows until it is
 * switched off, and nobody else anything: others are told as soon as before, a claim reads as much as before, and the
 * process holds no more. What it was not told is a dead letter that can be sent again.
 * Method: a deliverer as an engine has it, real receivers, and a database whose clock is moved on in steps of ten minutes.
 * Events are rows of the feed, made by one statement a step; everything behind the feed is the engine's own. Beside it are
 * an endpoint that is back after four days, one that has a single event and dies, and one that is well and is told of an
 * event in each step.
 *
 * KURIER_TEST_EVENTS: of the week. KURIER_TEST_FIGURES: a folder that the figures are kept in.
 * @source design/reliability.md, S-06; spec/rulings.md, section 10
 */
import { randomUUID } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import type { Deliverer } from "../../../engine/events/webhooks/deliverer.js";
import { replayDelivery } from "../../../engine/events/webhooks/repairs.js";
import { pruneDeliveries } from "../../../engine/storage/events/repairs.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { moveableClock } from "../../support/database/database-clock.js";
import type { DatabaseClock } from "../../support/database/database-clock.js";
import { eventually } from "../../support/eventually.js";
import { startTallyingReceiver } from "../../support/webhooks/tallying-receiver.js";
import type { TallyingReceiver } from "../../support/webhooks/tallying-receiver.js";
import { webhookWorld } from "../../support/webhooks/webhook-world.js";
import type { WebhookWorld } from "../../support/webhooks/webhook-world.js";
import { keepFigures } from "../figures.js";
import { quantile } from "../records.js";

const EVENTS = Number(process.env["KURIER_TEST_EVENTS"] ?? "1000000");
const STEP_S = 600;
const STEPS_A_DAY = 144;
const DAYS = 7;
const DAYS_AWAY = 4;
const EVENTS_A_STEP = Math.ceil(EVENTS / (DAYS * STEPS_A_DAY));
/** Of the endpoint that comes back. */
const MISSED_A_STEP = 18;
const REPLAYS = 1_000;
const WARM_UP_STEPS = 12;
/** I10: what a process takes afterwards may be so much more than before. */
const HEAP_GROWTH_MAX = 1.2;
/** What a claim may read, in blocks: one that looked at all that waits would read tens of thousands. */
const CLAIM_BLOCKS_MAX = 2_000;
const MB = 1_000_000;

/** A firm, its subscription and its receiver. */
interface Subscriber {
  readonly firm: FirmId;
  readonly subscription: string;
  readonly receiver: TallyingReceiver;
}

let world: WebhookWorld;
let clock: DatabaseClock;
let deliverer: Deliverer;
/** One connection of its own, for what is measured. */
let own: Sql;
let [dead, away, single, well]: Subscriber[] = [];
/** What the deliverer complained of. */
const complaints: string[] = [];

async function subscriber(state: "up" | "dead"): Promise<Subscriber> {
  const receiver = await startTallyingReceiver(state);
  const firm = await world.firm();
  const { id } = await world.subscribe(firm, receiver.url);
  return { firm, subscription: id, receiver };
}

beforeAll(async () => {
  world = await webhookWorld();
  clock = await moveableClock(world.db.url);
  own = openSql({ url: world.db.url, name: "test-own", connections: 1 });
  [dead, away, single, well] = [
    await subscriber("dead"),
    await subscriber("dead"),
    await subscriber("dead"),
    await subscriber("up"),
  ];
  const log = {
    ...silentLog,
    warn: (event: string) => {
      complaints.push(event);
    },
  };
  deliverer = world.deliver({ log });
});
afterAll(async () => {
  await clock.stop();
  await own.end({ timeout: 1 });
  await world.end();
  for (const one of [dead, away, single, well]) await one?.receiver.close();
});

const known = (one: Subscriber | undefined): Subscriber => {
  if (one === undefined) throw new Error("the world is not there");
  return one;
};

/** Makes two events happen to each of so many documents of a firm, by one statement. */
const happen = (firm: FirmId, events: number): PromiseLike<unknown> => own`
  insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
  select gen_random_uuid(), d.id, ${firm}, k.kind, 'system', true, now()
  from (select gen_random_uuid() as id from generate_series(1, ${Math.ceil(events / 2)}::integer)) as d
  cross join (values (1, 'document.sent'), (2, 'document.delivered')) as k (n, kind)
  order by d.id, k.n`;

/** How long it takes until a receiver that is well has been told of an event, in milliseconds. */
async function told({ firm, receiver }: Subscriber): Promise<number> {
  const documentId = randomUUID();
  const arrived = receiver.arrival(documentId);
  const begun = systemClock.monotonic();
  await world.happen(firm, "document.delivered", documentId);
  deliverer.poke();
  await arrived;
  return systemClock.monotonic() - begun;
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
const heap_MB = (): number => {
  collect();
  return process.memoryUsage().heapUsed / MB;
};

interface Plan {
  readonly Plan: { readonly "Shared Hit Blocks": number; readonly "Shared Read Blocks": number };
}

/** Blocks that a claim reads when a dead endpoint has its turn, which is undone. */
async function blocksOfClaim(): Promise<number> {
  await own.unsafe("begin");
  try {
    await own`update webhook_endpoint set rest_until = null`;
    const [row] = await own<{ readonly "QUERY PLAN": readonly Plan[] }[]>`
      explain (analyze, buffers, format json) select * from due_webhooks(
        ${LIMITS.webhook_attempts_concurrent_max}, ${LIMITS.webhook_per_endpoint}, ${LIMITS.webhook_per_owner},
        ${LIMITS.webhook_owner_first}, ${LIMITS.webhook_breaker_failures})`;
    const plan = row?.["QUERY PLAN"][0]?.Plan;
    return (plan?.["Shared Hit Blocks"] ?? NaN) + (plan?.["Shared Read Blocks"] ?? NaN);
  } finally {
    await own.unsafe("rollback");
  }
}

interface State {
  readonly rows: number;
  readonly open: number;
  readonly failed: number;
  readonly active: boolean;
  readonly reason: string | null;
}

/** What became of everything that a subscriber was to be told. */
async function stateOf({ subscription }: Subscriber): Promise<State> {
  const [row] = await own<State[]>`
    select (select count(*)::integer from webhook_delivery where subscription_id = s.id) as rows,
      (select count(*)::integer from webhook_delivery where subscription_id = s.id and settled_at is null) as open,
      (select count(*)::integer from webhook_delivery where subscription_id = s.id and status = 'FAILED') as failed,
      s.active, s.disabled_reason as reason
    from webhook_subscription as s where s.id = ${subscription}`;
  if (row === undefined) throw new Error("the subscription is gone");
  return row;
}

/** Deliveries of a subscriber that have not ended, by the index of those. */
async function openOf({ subscription }: Subscriber): Promise<number> {
  const [row] = await own`
    select count(*)::integer as n from webhook_subscription as s
    join webhook_delivery as d on d.endpoint_id = s.endpoint_id and d.due_at is not null where s.id = ${subscription}`;
  return Number(row?.["n"]);
}

const isActive = async ({ subscription }: Subscriber): Promise<boolean> => {
  const [row] = await own`select active from webhook_subscription where id = ${subscription}`;
  return row?.["active"] === true;
};

const sizeOfRows = async (): Promise<number> => {
  const [row] = await own`select pg_total_relation_size('webhook_delivery')::float8 / ${MB}::integer as n`;
  return Number(row?.["n"]);
};

/** Ten minutes: what happens in them, what the dead are called, and how soon who is well is told, in milliseconds. */
async function step(missed: number): Promise<number> {
  const [one, other] = [known(dead), known(away)];
  const isCalled = await isActive(one);
  const before = one.receiver.calls();
  await happen(one.firm, EVENTS_A_STEP);
  if (missed > 0) await happen(other.firm, missed);
  deliverer.poke();
  const waited_ms = await told(known(well));
  // The call of the fifth day is the last.
  await eventually(
    "the dead one is asked whether it is back",
    async () => !isCalled || one.receiver.calls() > before || !(await isActive(one)),
  );
  await clock.pass(STEP_S);
  return waited_ms;
}

type Row = readonly (string | number)[];

/**
 * What is seen at the end of a part of the week. Postgres analyses by itself once in a minute of its own, in which a day
 * goes by here: plans that were made while the table was small would be kept for days.
 */
async function rowOf(name: string, events: number, waits_ms: readonly number[]): Promise<Row> {
  await own`analyze webhook_delivery`;
  const [one, other] = [await stateOf(known(dead)), await stateOf(known(away))];
  return [
    name,
    events,
    one.rows + other.rows,
    one.open + other.open,
    (await sizeOfRows()).toFixed(0),
    known(dead).receiver.calls(),
    ...[quantile(waits_ms, 0.5), Math.max(...waits_ms)].map((ms) => ms.toFixed(0)),
    await blocksOfClaim(),
    heap_MB().toFixed(0),
  ];
}

/** Waits for what takes minutes: as long as more of it is done. */
async function until(what: string, left: () => Promise<number>): Promise<void> {
  for (let before = Infinity, now = await left(); now > 0; before = now, now = await left()) {
    if (now === before) throw new Error(`nothing more comes of it: ${what}`);
    await eventually(what, async () => (await left()) < now);
  }
}

/** The single event of a dead endpoint: ten attempts by the plan, then a dead letter. */
async function expectPlan(): Promise<string> {
  const [row] = await own<{ status: string; attempts: number; cause: string; hours: number }[]>`
    select status, attempts, cause, (extract(epoch from settled_at - created_at) / 3600)::float8 as hours
    from webhook_delivery where subscription_id = ${known(single).subscription}`;
  const plan_h = LIMITS.webhook_plan_ms.reduce((all, wait) => all + wait, 0) / 3_600_000;
  const late_h = (LIMITS.webhook_attempts_max * STEP_S) / 3_600;
  expect(row).toMatchObject({ status: "FAILED", attempts: LIMITS.webhook_attempts_max, cause: "reset" });
  expect(row?.hours).toBeGreaterThan(0.8 * plan_h);
  expect(row?.hours).toBeLessThan(1.2 * plan_h + late_h);
  return (row?.hours ?? NaN).toFixed(1);
}

/** Everything that one endpoint missed in four days arrives, each event once and those of a document in their order. */
async function comeBack(): Promise<{ readonly events: number; readonly took_ms: number }> {
  const { receiver, subscription, firm } = known(away);
  receiver.set("up");
  const begun = systemClock.monotonic();
  await until("what was missed arrives", () => openOf(known(away)));
  const took_ms = systemClock.monotonic() - begun;
  const events = await own<{ readonly id: string; readonly of: string }[]>`
    select id, document_id as of from document_event where firm_id = ${firm} order by position`;
  const places = new Map(receiver.taken.map((id, at) => [id, at]));
  expect([receiver.taken.length, places.size]).toEqual([events.length, events.length]);
  const last = new Map<string, number>();
  for (const { id, of } of events) {
    const place = places.get(id) ?? -1;
    expect(place).toBeGreaterThan(last.get(of) ?? -1);
    last.set(of, place);
  }
  const others = await own`
    select 1 from webhook_delivery where subscription_id = ${subscription} and status <> 'SUCCESS'`;
  expect(others).toEqual([]);
  return { events: events.length, took_ms };
}

/** Tells who is well again and again until nothing of the dead endpoint is open. */
async function switchedOff(): Promise<{ readonly took_ms: number; readonly waits_ms: readonly number[] }> {
  const waits_ms: number[] = [];
  const begun = systemClock.monotonic();
  await until("all of it is a dead letter", async () => {
    waits_ms.push(await told(known(well)));
    return openOf(known(dead));
  });
  return { took_ms: systemClock.monotonic() - begun, waits_ms };
}

/** The owner switches the endpoint on that is back, and has dead letters sent again. */
async function repeat(): Promise<void> {
  const { receiver, firm, subscription } = known(dead);
  receiver.set("up");
  await world.change(firm, subscription, { isActive: true });
  const letters = await own<{ readonly id: string; readonly eventId: string }[]>`
    select id, event_id as "eventId" from webhook_delivery
    where subscription_id = ${subscription} and status = 'FAILED' order by position limit ${REPLAYS}`;
  for (const { id } of letters)
    await replayDelivery(world.db.sql, { owner: { firmId: firm, integratorId: undefined }, id });
  await until("what is repeated arrives", () => openOf(known(dead)));
  expect([...receiver.taken].sort()).toEqual(letters.map(({ eventId }) => eventId).sort());
  await told({ firm, receiver, subscription });
  await until("what happens from now on arrives", () => openOf(known(dead)));
}

/** Old deliveries go when their time has come. @returns statements, and the longest of them */
async function prune(): Promise<{ readonly statements: number; readonly most_ms: number; readonly took_ms: number }> {
  const begun = systemClock.monotonic();
  let [statements, most_ms] = [0, 0];
  for (let gone = Infinity; gone >= LIMITS.webhook_prune_batch; statements += 1) {
    const at = systemClock.monotonic();
    gone = await pruneDeliveries(own);
    most_ms = Math.max(most_ms, systemClock.monotonic() - at);
  }
  return { statements, most_ms, took_ms: systemClock.monotonic() - begun };
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(1);

test(`an endpoint that is dead for a week of ${EVENTS} events is switched off after five days, costs nobody else anything, and what it missed can be sent again`, async () => {
  const rows: Row[] = [];
  const waits_ms: number[] = [];
  await world.happen(known(single).firm);
  for (let at = 0; at < WARM_UP_STEPS; at += 1) waits_ms.push(await step(MISSED_A_STEP));
  rows.push(await rowOf("two hours", WARM_UP_STEPS * EVENTS_A_STEP, waits_ms));
  let back = { events: 0, took_ms: 0 };
  let off = { took_ms: 0, waits_ms: [] as readonly number[] };
  for (let day = 1; day <= DAYS; day += 1) {
    const ofDay_ms: number[] = [];
    for (let at = day === 1 ? WARM_UP_STEPS : 0; at < STEPS_A_DAY; at += 1) {
      const wasActive = await isActive(known(dead));
      ofDay_ms.push(await step(day <= DAYS_AWAY ? MISSED_A_STEP : 0));
      if (!wasActive || (await isActive(known(dead)))) continue;
      off = await switchedOff();
      ofDay_ms.push(...off.waits_ms);
    }
    rows.push(await rowOf(`day ${day}`, day * STEPS_A_DAY * EVENTS_A_STEP, ofDay_ms));
    waits_ms.push(...ofDay_ms);
    if (day === DAYS_AWAY) back = await comeBack();
  }
  const hours = await expectPlan();
  const state = await stateOf(known(dead));
  await repeat();
  const after = await stateOf(known(dead));
  await clock.pass((LIMITS.webhook_kept_ms + LIMITS.webhook_failing_ms) / 1_000);
  const pruned = await prune();
  keepFigures("dead-endpoint", {
    title: "An endpoint that is dead for a week",
    command: "npm run -s test:faults -- dead-endpoint",
    remark: `${DAYS * STEPS_A_DAY * EVENTS_A_STEP} events of one firm, two of each document, in ${DAYS} days of the database's clock, which is moved on by ten minutes ${DAYS * STEPS_A_DAY} times; in each step the dead endpoint is called once, and an endpoint that is well is told of one event behind the step's others, from its commit to its arrival. Another endpoint misses ${back.events} events in ${DAYS_AWAY} days and is told all of them in ${seconds(back.took_ms)} s once it is back. A single event for a dead endpoint has its ten attempts in ${hours} hours. Switched off for failing, ${state.failed} events are dead letters ${seconds(off.took_ms)} s later; of them ${REPLAYS} are sent again and arrive. When their time has come the rows go by ${pruned.statements} statements in ${seconds(pruned.took_ms)} s, the longest of ${seconds(pruned.most_ms)} s. A claim is that of a moment at which the dead endpoints may be asked, in blocks that Postgres looks at.`,
    columns: [
      ...["After", "Events", "Rows of deliveries", "Open", "MB of them", "Calls to the dead"],
      ...["Others told p50, ms", "max, ms", "Blocks of a claim", "Heap, MB"],
    ],
    rows,
  });
  // What happens to a firm whose endpoint is switched off makes no rows.
  const days_max = LIMITS.webhook_failing_ms / (STEP_S * 1_000);
  expect(state).toMatchObject({ open: 0, failed: state.rows, active: false, reason: "failing" });
  expect(state.rows).toBeLessThanOrEqual((days_max + 2) * EVENTS_A_STEP);
  expect(after).toMatchObject({ open: 0, failed: state.rows });
  const gone = await own`select 1 from webhook_delivery where subscription_id = ${known(dead).subscription}`;
  expect(gone).toEqual([]);
  expect(complaints).toEqual(["webhook.disabled"]);
  // Nobody waits as long as one call of a receiver that does not answer may take.
  expect(Math.max(...waits_ms)).toBeLessThan(LIMITS.outbound_total_ms);
  const [first, last] = [rows[0] ?? [], rows.at(-1) ?? []];
  for (const row of rows) expect(Number(row[8])).toBeLessThan(CLAIM_BLOCKS_MAX);
  expect(Number(last[9])).toBeLessThan(HEAP_GROWTH_MAX * Number(first[9]));
});
