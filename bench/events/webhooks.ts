/**
 * `webhooks`: how many events a node tells receivers a second (many owners, one with a single subscription, one with
 * many origins), and what receivers that answer at once wait for because of one that is slow and one that never
 * answers.
 */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

import { systemClock } from "../../engine/base/clock.js";
import type { Instant } from "../../engine/base/clock.js";
import { perUnit, processorTime } from "../cpu.js";
import { makeFirms, startBenchEngine } from "../engine.js";
import type { BenchEngine, BenchFirm } from "../engine.js";
import { percentile } from "../load.js";
import type { Bench, BenchOptions, Figure } from "../runner.js";

const ENDPOINTS = { tiny: 6, full: 100 };
const EVENTS = { tiny: 60, full: 10_000 };
/** Events for the owner with one subscription, and for the one that is told of each at so many origins. */
const EVENTS_OF_ONE = { tiny: 20, full: 3_000 };
const ORIGINS = { tiny: 3, full: 16 };
const EVENTS_OF_ORIGINS = { tiny: 5, full: 250 };
/** Events a second while waits are measured, over all endpoints. */
const RATE = { tiny: 20, full: 100 };
/** In how many parts the events of a second happen. */
const TICKS = 10;
const SLOW_MS = 5_000;
const LOOK_MS = 20;
const PATIENCE_MS = 300_000;
const BATCH = 1_000;

interface Arrival {
  readonly endpoint: number;
  readonly id: string;
  /** When the event happened. */
  readonly happened: Instant;
  readonly wait_ms: number;
}

interface Receivers {
  /** The first is that of every endpoint but those of the owner with many. */
  readonly origins: readonly [string, ...string[]];
  readonly arrivals: Arrival[];
  /** Endpoints that answer late, and those that never do. */
  readonly slow: Set<number>;
  readonly dead: Set<number>;
  close(): void;
}

/** One receiver of all endpoints, /<number>, at so many ports. */
async function startReceivers(count: number): Promise<Receivers> {
  const arrivals: Arrival[] = [];
  const [slow, dead] = [new Set<number>(), new Set<number>()];
  const answer: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const endpoint = Number(request.url?.slice(1));
      if (dead.has(endpoint)) return;
      const { timestamp } = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { readonly timestamp: string };
      const happened = Date.parse(timestamp);
      arrivals.push({
        endpoint,
        id: String(request.headers["x-webhook-event-id"]),
        happened,
        wait_ms: systemClock.now() - happened,
      });
      setTimeout(() => response.writeHead(200).end(), slow.has(endpoint) ? SLOW_MS : 0);
    });
  };
  const servers = Array.from({ length: count }, () => createServer(answer));
  await Promise.all(servers.map((server) => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))));
  const [first = "", ...others] = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return {
    origins: [first, ...others],
    arrivals,
    slow,
    dead,
    close: () => {
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}

async function subscribe(engine: BenchEngine, firm: BenchFirm, url: string): Promise<void> {
  const answer = await fetch(`${engine.sandbox.baseUrl}/webhooks`, {
    method: "POST",
    headers: { authorization: `Bearer ${firm.token}`, "content-type": "application/json" },
    body: JSON.stringify({ url, events: ["document.delivered"] }),
  });
  if (answer.status !== 201) throw new Error(`no subscription: ${answer.status} ${await answer.text()}`);
}

/** Makes events happen to documents of the firms, one of each in turn, from the firm of that number on. */
async function happen(
  { sql }: BenchEngine,
  firms: readonly BenchFirm[],
  { from, count }: { readonly from: number; readonly count: number },
): Promise<void> {
  const ids = Array.from({ length: count }, () => randomUUID());
  const owners = ids.map((_, n) => firms[(from + n) % firms.length]?.clientId ?? "");
  await sql`
    insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
    select e.id, e.id, k.firm_id, 'document.delivered', 'system', true, clock_timestamp()
    from unnest(${ids}::uuid[], ${owners}::uuid[]) as e (id, key_id) join api_key as k on k.id = e.key_id`;
}

/** Waits until so many events have arrived. @throws Error when they do not */
async function arrived(receivers: Receivers, count: number): Promise<void> {
  const end = systemClock.monotonic() + PATIENCE_MS;
  while (receivers.arrivals.length < count) {
    if (systemClock.monotonic() > end) throw new Error(`${receivers.arrivals.length} of ${count} events arrived`);
    await pause(LOOK_MS);
  }
}

/** So many of the seconds count. */
const SECONDS_SHARE = 0.85;

/**
 * The longest wait of each second, but for the worst seconds: Postgres makes its plans anew when a table was analyzed,
 * up to half a second in which every event waits, and which phase that falls into is chance. What comes every few
 * seconds, as the answers of the slow receiver do, still counts.
 */
function ofSeconds(arrivals: readonly Arrival[]): number {
  const longest = new Map<number, number>();
  for (const { happened, wait_ms } of arrivals) {
    const second = Math.floor(happened / 1_000);
    longest.set(second, Math.max(longest.get(second) ?? 0, wait_ms));
  }
  return percentile(
    [...longest.values()].sort((a, b) => a - b),
    SECONDS_SHARE,
  );
}

interface Waits {
  readonly p50_ms: number;
  readonly p99_ms: number;
  /** See `ofSeconds`. */
  readonly second_ms: number;
  readonly count: number;
}

/** What events of good endpoints wait for at a steady rate. */
async function waits(
  engine: BenchEngine,
  receivers: Receivers,
  firms: readonly BenchFirm[],
  options: BenchOptions,
): Promise<Waits> {
  const isBad = (n: number): boolean => receivers.slow.has(n) || receivers.dead.has(n);
  receivers.arrivals.length = 0;
  const each = Math.ceil((options.tiny ? RATE.tiny : RATE.full) / TICKS);
  const start = systemClock.monotonic();
  let told = 0;
  for (let tick = 1; tick <= options.seconds * TICKS; tick += 1) {
    await happen(engine, firms, { from: told, count: each });
    told += each;
    await pause(Math.max(0, start + (tick * 1_000) / TICKS - systemClock.monotonic()));
  }
  const expected = Array.from({ length: told }, (_, n) => n % firms.length).filter((n) => !isBad(n)).length;
  const mine = (): Arrival[] => receivers.arrivals.filter(({ endpoint }) => !isBad(endpoint));
  const end = systemClock.monotonic() + PATIENCE_MS;
  while (mine().length < expected) {
    if (systemClock.monotonic() > end) throw new Error(`${mine().length} of ${expected} events arrived`);
    await pause(LOOK_MS);
  }
  const sorted = mine()
    .map(({ wait_ms }) => wait_ms)
    .sort((a, b) => a - b);
  return {
    p50_ms: percentile(sorted, 0.5),
    p99_ms: percentile(sorted, 0.99),
    second_ms: ofSeconds(mine()),
    count: sorted.length,
  };
}

interface Ground {
  readonly engine: BenchEngine;
  readonly receivers: Receivers;
  readonly options: BenchOptions;
}

/** Makes events happen to firms in turn, as fast as they can be written. @returns how fast all of them were told */
async function flood(
  { engine, receivers, options }: Ground,
  firms: readonly BenchFirm[],
  { events, each, name }: { readonly events: number; readonly each: number; readonly name: string },
): Promise<Figure> {
  options.say(`${name} …`);
  receivers.arrivals.length = 0;
  const [begun, before] = [systemClock.monotonic(), processorTime(engine.pid)];
  for (let made = 0; made < events; made += BATCH)
    await happen(engine, firms, { from: made, count: Math.min(BATCH, events - made) });
  await arrived(receivers, events * each);
  const seconds = (systemClock.monotonic() - begun) / 1_000;
  options.say(`processor time per delivery, ms: ${perUnit(before, processorTime(engine.pid), events * each)}`);
  const distinct = new Set(receivers.arrivals.map(({ id }) => id)).size;
  if (distinct !== events) throw new Error(`${distinct} of ${events} events arrived`);
  return { name, value: (events * each) / seconds, unit: "/s", note: `${events} events` };
}

async function measure(engine: BenchEngine, receivers: Receivers, options: BenchOptions): Promise<readonly Figure[]> {
  const form = options.tiny ? "tiny" : "full";
  const all = await makeFirms(engine, ENDPOINTS[form] + 1);
  const [wide, firms] = [all.slice(-1), all.slice(0, -1)];
  for (const [n, firm] of firms.entries()) await subscribe(engine, firm, `${receivers.origins[0]}/${n}`);
  for (const origin of receivers.origins)
    for (const firm of wide) await subscribe(engine, firm, `${origin}/${firms.length}`);
  await happen(engine, firms, { from: 0, count: firms.length });
  await arrived(receivers, firms.length);

  const ground = { engine, receivers, options };
  const many = "deliveries to receivers that answer at once";
  const floods = [
    await flood(ground, firms, { events: EVENTS[form], each: 1, name: many }),
    await flood(ground, firms.slice(0, 1), { events: EVENTS_OF_ONE[form], each: 1, name: "to one subscription" }),
    await flood(ground, wide, {
      events: EVENTS_OF_ORIGINS[form],
      each: ORIGINS[form],
      name: `to ${ORIGINS[form]} origins of one owner`,
    }),
  ];

  options.say("all of them good, at a steady rate …");
  const before = processorTime(engine.pid);
  const alone = await waits(engine, receivers, firms, options);
  options.say(`processor time per delivery, ms: ${perUnit(before, processorTime(engine.pid), alone.count)}`);
  options.say("beside one that is slow and one that never answers …");
  receivers.slow.add(0);
  receivers.dead.add(1);
  const beside = await waits(engine, receivers, firms, options);
  return [
    ...floods,
    {
      name: "event to receiver, all good",
      value: alone.p99_ms,
      unit: "ms",
      p50_ms: alone.p50_ms,
      p99_ms: alone.p99_ms,
      note: `${alone.count} events`,
    },
    {
      name: "event to receiver, beside a slow and a dead one",
      value: beside.p99_ms,
      unit: "ms",
      p50_ms: beside.p50_ms,
      p99_ms: beside.p99_ms,
      note: `${beside.count} events of good endpoints`,
    },
    {
      name: "p99 beside them ÷ alone",
      value: beside.p99_ms / alone.p99_ms,
      unit: "ratio",
      note: "at most 1.2 is the goal",
    },
    {
      name: "longest wait of a second beside them ÷ alone",
      value: beside.second_ms / alone.second_ms,
      unit: "ratio",
      note: `of ${SECONDS_SHARE * 100} % of all seconds; at most 1.2 is the goal`,
    },
  ];
}

/** The benchmark; see the head of this file. */
export const webhooksBench: Bench = {
  name: "webhooks",
  question: "How many events a second reach receivers, and how much do a slow and a dead one harm the others?",
  seconds: 30,
  run: async (options) => {
    const engine = await startBenchEngine({ role: "all", env: { NATS_URL: "embedded" } });
    const receivers = await startReceivers(options.tiny ? ORIGINS.tiny : ORIGINS.full);
    try {
      return await measure(engine, receivers, { ...options, seconds: options.tiny ? 2 : options.seconds });
    } finally {
      receivers.close();
      await engine.stop();
    }
  },
};
