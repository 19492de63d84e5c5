/**
 * `box`: how late items of the Box start: at a rate that is little, at one that the machine delivers, and when 100,000
 * of many firms fall due within a minute, half of them of one firm; and what of the rate of plain sends it reaches.
 */
import { setTimeout as pause } from "node:timers/promises";

import { systemClock } from "../../engine/base/clock.js";
import { createSealer } from "../../engine/storage/sealer.js";
import type { Sealer } from "../../engine/storage/sealer.js";
import { perUnit, processorTime } from "../cpu.js";
import { makeFirms, startBenchEngine } from "../engine.js";
import type { BenchEngine, BenchFirm } from "../engine.js";
import type { Bench, BenchOptions, Figure } from "../runner.js";
import { firmsFor } from "../send-requests.js";
import { isSomethingDue, latenessOf, stage } from "./items.js";
import type { Batch, Lateness } from "./items.js";
import { plainSends, settled } from "./plain.js";
import type { Plain } from "./plain.js";

const MASTER_KEY = Buffer.alloc(32, 7);
const FIRMS = 20;
/** Items a second that two cores accept and deliver with room to spare. */
const RATE = 20;
/** Of the rate at which the machine delivers plain sends. */
const FULL_SHARE = 0.7;
/** More than a node accepts while it delivers; it decides how many firms send plainly. */
const PLAIN_CEILING = 1_000;
const CROWD = 100_000;
const CROWD_TINY = 60;
const CROWD_SECONDS = 60;
/** How long the crowd is watched after its minute. */
const WATCH_MS = 60_000;
const LOOK_MS = 200;
const PATIENCE_MS = 120_000;
/** spec: a claim is on time within a second. */
const LIMIT_MS = 1_000;

/** An engine, its firms, and how their items are made. */
interface World {
  readonly options: BenchOptions;
  readonly engine: BenchEngine;
  readonly sealer: Sealer;
  /** Who has half of a crowd. */
  readonly busy: BenchFirm;
  readonly others: readonly BenchFirm[];
  readonly to: string;
}

const pick = ({ busy, others }: World, n: number): BenchFirm => others[n % others.length] ?? busy;
const ofAll = (rows: readonly Lateness[]): Lateness =>
  rows.find(({ firm }) => firm === "") ?? { firm: "", started: 0, p50: 0, p99: 0 };

/** What became of a batch. */
interface Outcome {
  readonly rows: readonly Lateness[];
  /** Items that started a second, from the time of the first one on. */
  readonly rate: number;
}

/** Makes a batch and waits until all of it has started, at most so long after its last time. */
async function outcomeOf({ options, engine, sealer }: World, batch: Batch, patience_ms: number): Promise<Outcome> {
  const first = await stage(engine, sealer, batch);
  const until = first + batch.seconds * 1_000 + patience_ms;
  await pause(Math.max(0, first - systemClock.now()));
  const before = processorTime(engine.pid);
  // Counting what has started reads every row: at each look it would cost as much as the items.
  while (systemClock.now() < until && (await isSomethingDue(engine))) await pause(LOOK_MS);
  const seconds = (systemClock.now() - first) / 1_000;
  const rows = await latenessOf(engine, batch);
  const { started } = ofAll(rows);
  options.say(`processor time per item, ms: ${perUnit(before, processorTime(engine.pid), started)}`);
  return { rows, rate: started / seconds };
}

/** Items at an even rate, which all start. */
async function even(world: World, name: string, rate: number, seconds: number): Promise<Outcome> {
  const count = Math.max(1, Math.round(rate * seconds));
  world.options.say(`${count} items, ${Math.round(rate)} a second …`);
  const outcome = await outcomeOf(
    world,
    { name, count, seconds, firmOf: (n) => pick(world, n), to: world.to },
    PATIENCE_MS,
  );
  const { started } = ofAll(outcome.rows);
  if (started !== count) throw new Error(`${started} of ${count} items started`);
  await settled(world.engine);
  return outcome;
}

function crowdFigures({ busy }: World, { count, seconds }: Batch, { rows, rate }: Outcome, plain: Plain): Figure[] {
  const all = ofAll(rows);
  const small = rows.filter(({ firm }) => firm !== "" && firm !== busy.clientId);
  const shares = small.map(({ started }) => started);
  return [
    {
      name: `start of an item, ${count} due within ${seconds} s`,
      value: all.p99,
      unit: "ms",
      p50_ms: all.p50,
      p99_ms: all.p99,
      note: `${all.started} had started ${WATCH_MS / 1_000} s after the last was due`,
    },
    { name: "starts a second in the crowd", value: rate, unit: "/s" },
    { name: "starts in the crowd ÷ plain sends accepted", value: rate / plain.accepted, unit: "ratio" },
    {
      name: "the firm with half of them: p99",
      value: rows.find(({ firm }) => firm === busy.clientId)?.p99 ?? 0,
      unit: "ms",
    },
    { name: "the others: worst p99 of a firm", value: Math.max(0, ...small.map(({ p99 }) => p99)), unit: "ms" },
    {
      name: "the others: fewest ÷ most started of a firm",
      value: Math.min(...shares) / Math.max(1, ...shares),
      unit: "ratio",
      note: "1 is even",
    },
  ];
}

async function measure(world: World, senders: readonly BenchFirm[]): Promise<Figure[]> {
  const { options, engine, busy, to } = world;
  const seconds = options.tiny ? 1 : options.seconds;
  const calm = ofAll((await even(world, "steady", RATE, seconds)).rows);
  options.say("plain sends …");
  const plain = await plainSends(options, engine, senders, to);
  const full = await even(world, "full", FULL_SHARE * plain.delivered, seconds);
  const [count, span] = options.tiny ? [CROWD_TINY, 1] : [CROWD, CROWD_SECONDS];
  options.say(`${count} items within ${span} s, half of them of one firm …`);
  // Half of the crowd is one firm's, and first in the order of their times where times are equal.
  const firmOf = (n: number): BenchFirm => (n % 2 === 0 ? busy : pick(world, n >> 1));
  const batch: Batch = { name: "crowd", count, seconds: span, firmOf, to };
  const crowd = await outcomeOf(world, batch, WATCH_MS);
  return [
    {
      name: `start of an item, ${RATE}/s`,
      value: calm.p99,
      unit: "ms",
      p50_ms: calm.p50,
      p99_ms: calm.p99,
      note: `${calm.started} items of ${world.others.length} firms; less than 1,000 is the goal`,
    },
    { name: "p99 ÷ the second that is allowed", value: calm.p99 / LIMIT_MS, unit: "ratio" },
    { name: "plain sends accepted", value: plain.accepted, unit: "/s", note: "while the same node delivers them" },
    { name: "plain sends delivered", value: plain.delivered, unit: "/s", note: "from the first to the last receipt" },
    {
      name: `start of an item, at ${FULL_SHARE} of what is delivered`,
      value: ofAll(full.rows).p99,
      unit: "ms",
      p50_ms: ofAll(full.rows).p50,
      p99_ms: ofAll(full.rows).p99,
      note: `${Math.round(FULL_SHARE * plain.delivered)} a second; less than 1,000 is the goal`,
    },
    ...crowdFigures(world, batch, crowd, plain),
  ];
}

/** How late items of the Box start. */
export const boxBench: Bench = {
  name: "box",
  question: "How late do items of the Box start, and does one firm's crowd keep the others waiting?",
  seconds: 20,
  run: async (options) => {
    const engine = await startBenchEngine({ role: "all", env: { MASTER_KEY: MASTER_KEY.toString("base64") } });
    try {
      const plain = options.tiny ? 2 : firmsFor(PLAIN_CEILING * Math.min(60, options.seconds));
      const [busy, receiver, ...firms] = await makeFirms(engine, FIRMS + 1 + plain);
      if (busy === undefined || receiver === undefined) throw new Error("no firms");
      const others = firms.slice(0, FIRMS - 1);
      const sealer = createSealer([MASTER_KEY]);
      const world = { options, engine, sealer, busy, others, to: receiver.participantId };
      return await measure(world, firms.slice(FIRMS - 1));
    } finally {
      await engine.stop();
    }
  },
};
