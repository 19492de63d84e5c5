/**
 * Goal: two access points that do everything at once, while one part of them after the other is killed, lose nothing,
 * double nothing and tell nobody anything that is not so; and how long it takes until they answer and deliver again.
 * Method: real processes and real AS4 both ways; the kills are drawn from a seed; what clients were told and read is
 * held against the databases, the archives and the receiver of events when everything has come to rest.
 *
 * KURIER_TEST_SECONDS: of load and kills. SEED: another order of kills. KURIER_TEST_FIGURES: a folder for the figures.
 * @source design/reliability.md, F-02
 */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { FEED_KINDS } from "../../../engine/lifecycle/feed.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { eventually } from "../../support/eventually.js";
import { api } from "../../support/callers/partners.js";
import { Random, seedFrom } from "../../support/random.js";
import { startReceiver } from "../../support/webhooks/receiver.js";
import type { Receiver } from "../../support/webhooks/receiver.js";
import { hurryWork, openWork } from "../../support/engines/under-way.js";
import { keepFigures } from "../figures.js";
import { BLOWS, blowOrder } from "./blows.js";
import { judge } from "./judge.js";
import { startPoints } from "./points.js";
import type { Point, Points } from "./points.js";
import { recoveries, RECOVERY_COLUMNS, recoveryRows, waitsText } from "./recovery.js";
import type { Delivery, Kill } from "./recovery.js";
import { startTraffic } from "./traffic.js";
import type { Traffic } from "./traffic.js";

const SECONDS = Number(process.env["KURIER_TEST_SECONDS"] ?? "30");
const SEED = seedFrom(20_261_122);
/** Between the end of one kill's repair and the next kill. */
const PAUSE_MS = { least: 1_500, beyond: 6_000 } as const;
const WARM_UP_MS = 3_000;
const ROUNDS_OF_PATIENCE = 5;

let points: Points;
let receiver: Receiver;
beforeAll(async () => {
  await buildIfNeeded();
  receiver = await startReceiver();
  points = await startPoints();
});
afterAll(async () => {
  await points.remove();
  await receiver.close();
});

async function subscribe({ a }: Points): Promise<void> {
  for (const [n, firm] of a.firms.entries()) {
    const body = { url: `${receiver.origin}/${n}`, events: FEED_KINDS };
    const made = await api(a, firm.token(), "POST /webhooks", { body });
    if (made.status !== 201) throw new Error(`the subscription was answered ${made.status} ${made.text}`);
  }
}

async function killUntil(end: number): Promise<readonly Kill[]> {
  const random = new Random(SEED);
  const kills: Kill[] = [];
  for (const name of blowOrder(random)) {
    await delay(PAUSE_MS.least + random.int(PAUSE_MS.beyond - PAUSE_MS.least));
    if (systemClock.now() >= end) break;
    const at = systemClock.now();
    await BLOWS[name].strike(points, random);
    kills.push({ name, at, back: systemClock.now() });
    const dead = [points.a, points.b].flatMap((point) => point.engines()).filter((engine) => engine.ended());
    expect(
      dead.map((engine) => engine.output().slice(-2_000)),
      `ended by themselves after ${name}`,
    ).toEqual([]);
  }
  return kills;
}

/** Deliveries of events that are not known to have arrived; those that wait for their next attempt are due now. */
async function openNotices(sql: Sql): Promise<readonly string[]> {
  await sql`update webhook_endpoint set rest_until = null where rest_until is not null`;
  await sql`update webhook_delivery set due_at = now()
    where lease_owner is null and due_at > now() and isfinite(due_at)`;
  const rows = await sql<{ what: string }[]>`
    select concat_ws(' ', 'webhook', id, event, status, 'attempts', attempts, 'due', due_at, 'leased', lease_owner) as what
    from webhook_delivery where status <> 'SUCCESS'`;
  return rows.map(({ what }) => what);
}

/** Until nothing is under way. A receiver that counts as down is asked again within five minutes. */
async function settle(): Promise<void> {
  let open: readonly string[] = [];
  for (let round = 1; ; round += 1) {
    try {
      await eventually("nothing is under way", async () => {
        const pools = [await points.a.sql(), await points.b.sql()];
        await Promise.all(pools.map(hurryWork));
        open = (await Promise.all([...pools.map(openWork), ...pools.map(openNotices)])).flat();
        return open.length === 0;
      });
      return;
    } catch (error) {
      if (round === ROUNDS_OF_PATIENCE) throw new Error(`still under way:\n${open.join("\n")}`, { cause: error });
    }
  }
}

const deliveriesOf = async (point: Point): Promise<readonly Delivery[]> => {
  const sql = await point.sql();
  const rows = await sql<Omit<Delivery, "point">[]>`
    select (extract(epoch from created_at) * 1000)::float8 as accepted,
      (extract(epoch from delivered_at) * 1000)::float8 as delivered
    from document where delivered_at is not null`;
  return rows.map((row) => ({ ...row, point: point.name }));
};

const count = ({ log }: Traffic, outcome: string): number => log.made.filter((one) => one.outcome === outcome).length;

test(`whatever is killed while everything is done at once, nothing accepted is lost or doubled, and nobody is told what is not so (SEED=${SEED})`, async () => {
  process.stdout.write(`SEED=${SEED}\n`);
  await subscribe(points);
  const traffic = await startTraffic(points);
  await delay(WARM_UP_MS);
  const kills = await killUntil(systemClock.now() + SECONDS * 1_000);
  await traffic.finish(settle);
  const { broken, events } = await judge(points, traffic, receiver);
  const delivered = (await Promise.all([points.a, points.b].map(deliveriesOf))).flat();
  const followed = recoveries(kills, traffic.log.made, delivered);
  const [begun = 0] = kills.map(({ at }) => at);
  for (const [n, one] of followed.entries())
    process.stdout.write(`${Math.round((kills[n]?.at ?? 0) - begun)} ms: ${JSON.stringify(one)}\n`);
  keepFigures("mixed", {
    title: "Everything at once, with kills",
    command: `SEED=${SEED} KURIER_TEST_SECONDS=${SECONDS} npm run -s test:faults -- mixed`,
    remark: remarkOf(traffic, { events, kills: kills.length, delivered, broken: broken.length }),
    columns: RECOVERY_COLUMNS,
    rows: recoveryRows(followed),
  });
  expect(broken).toEqual([]);
});

function remarkOf(
  traffic: Traffic,
  of: {
    readonly events: number;
    readonly kills: number;
    readonly delivered: readonly Delivery[];
    readonly broken: number;
  },
): string {
  const { told, log } = traffic;
  const [fromA, fromB] = [
    told.filter(({ point }) => point === "A").length,
    told.filter(({ point }) => point === "B").length,
  ];
  return `An access point of two engines, a PostgreSQL and a nats-server (A) and one of a single engine with its embedded database (B) exchange documents over AS4 for ${SECONDS} s, while firms send, create invoices through the Connector, read and acknowledge what arrives, ask for tokens and are told of events, and one part after the other is killed with SIGKILL. ${fromA} documents were accepted by A and ${fromB} by B, ${of.delivered.length} delivered; ${of.events} events came to their receiver in ${receiver.calls.length} calls; ${log.made.length} calls of clients had ${count(traffic, "later")} answers to come again and ${count(traffic, "no answer")} none. Broken promises, of every kind that the oracle knows: ${of.broken}. The times are those from the kill: until a supervisor has started what does not come back itself, until a client that asks the struck access point has a good answer, and until the next of its documents is delivered. Documents took ${waitsText(of.delivered)} from acceptance to delivery; those that still waited when the load ended were hurried. An attempt at a receiver that is dead uses a wait of the plan (10 s, a minute, five minutes); how much of the time is due to that has not been told apart.`;
}
