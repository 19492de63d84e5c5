/**
 * `end-to-end`: how many documents a second a node takes from the API to a verified receipt, over its own SMP and /as4;
 * with `--subscribed`, what subscriptions add to the price of each.
 */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { systemClock } from "../engine/base/clock.js";
import { perUnit, processorTime } from "./cpu.js";
import { makeFirms, startBenchEngine } from "./engine.js";
import { inTurns } from "./events/in-turns.js";
import { subscribeFirms } from "./events/subscribed.js";
import type { BenchEngine, BenchFirm } from "./engine.js";
import { mustBeAccepted, refusedOf, repeated, runLoad, runPacedLoad } from "./load.js";
import { besideRsaLimit } from "./rsa.js";
import type { Bench, BenchOptions, Figure } from "./runner.js";
import { firmsFor, originOf, requests, templateOf } from "./send-requests.js";

const CONNECTIONS = 64;
/**
 * Documents that are accepted before the draining is measured, for each second of the run: a backlog for most of it.
 */
const BACKLOG_PER_SECOND = 300;
/** Share of the draining rate at which documents come in the steady part. */
const STEADY_SHARE = 0.7;
const LOOK_MS = 200;
/** Documents before the measured ones: as many as it takes until the code is compiled, as in `as4`. */
const WARM_UP = 3_000;
/** The longest wait for the last document, as a multiple of the measured part. */
const PATIENCE = 10;
/** The longest that the sends of one block may take. */
const BLOCK_S_MAX = 60;

/** The requests of all firms in turn, and where they go. */
interface Way {
  readonly next: ReturnType<typeof requests>;
  readonly url: string;
}

interface Counts {
  readonly accepted: number;
  readonly delivered: number;
}

async function counts({ sql }: BenchEngine): Promise<Counts> {
  const [row] = await sql<
    Counts[]
  >`select count(*)::integer as accepted, (count(*) filter (where status = 'delivered'))::integer as delivered
    from document`;
  return row ?? { accepted: 0, delivered: 0 };
}

/**
 * Waits until no document is under way: when a load ends, requests are under way that are accepted a moment later. Only
 * what is open is looked for, with an index; rows are counted once, at the end: counting them at each look cost 0.16 ms
 * a document, and more with each that there was.
 * @returns how many there are, and when the last of them was delivered, by the clock of `performance`
 */
async function drained(
  engine: BenchEngine,
  options: BenchOptions,
): Promise<{ readonly delivered: number; readonly at: number }> {
  const end = systemClock.monotonic() + (options.seconds * PATIENCE + 60) * 1_000;
  await pause(LOOK_MS);
  while ((await engine.sql`select 1 from document where next_attempt_at is not null limit 1`).length > 0) {
    if (systemClock.monotonic() > end) {
      const { accepted, delivered } = await counts(engine);
      throw new Error(`${accepted} documents accepted, but ${delivered} delivered`);
    }
    await pause(LOOK_MS);
  }
  const [row] = await engine.sql<{ readonly ago: number }[]>`
    select (extract(epoch from clock_timestamp() - max(delivered_at)) * 1000)::float8 as ago from document`;
  const at = systemClock.monotonic() - (row?.ago ?? 0);
  const { accepted, delivered } = await counts(engine);
  if (accepted !== delivered) throw new Error(`${accepted} documents accepted, but ${delivered} delivered`);
  return { delivered, at };
}

/**
 * Every document was accepted once, arrived once with the same bytes, and has a record of evidence on both sides.
 * @throws Error otherwise
 */
async function checkRows({ sql }: BenchEngine, accepted: number, underWay: number): Promise<void> {
  const [row] = await sql<
    {
      readonly documents: number;
      readonly arrived: number;
      readonly sent: number;
      readonly received: number;
      readonly twice: number;
    }[]
  >`
    select (select count(*)::integer from document) as documents,
      (select count(*)::integer from document as d join received_document as r on r.as4_message_id = d.as4_message_id
      and r.payload_sha256 = d.payload_sha256) as arrived,
      (select count(distinct document_id)::integer from evidence where direction = 'outbound'
      and outcome = 'receipt') as sent,
      (select count(distinct message_id)::integer from evidence where direction = 'inbound'
      and outcome = 'stored') as received,
      (select count(*)::integer from (select as4_message_id from received_document group by as4_message_id
        having count(*) > 1) as x) as twice`;
  if (row === undefined || row.documents < accepted || row.documents > accepted + underWay)
    throw new Error(`${accepted} answers of 202, but ${row?.documents ?? 0} documents`);
  const { documents, arrived, sent, received, twice } = row;
  if (arrived !== documents || sent !== documents || received !== documents || twice !== 0) {
    throw new Error(
      `${documents} documents: ${arrived} arrived, ${twice} twice; evidence of ${sent} on the sender's side and of ${received} on the receiver's`,
    );
  }
}

/**
 * Builds up a backlog and measures how fast it is worked off.
 * @returns documents a second
 */
async function drainRate(
  options: BenchOptions,
  engine: BenchEngine,
  { next, url }: Way,
): Promise<{ readonly figures: Figure[]; readonly rate: number; readonly answers: number }> {
  const amount = options.tiny ? 20 : BACKLOG_PER_SECOND * options.seconds;
  const first = await runLoad({
    url,
    connections: options.tiny ? 4 : CONNECTIONS,
    seconds: options.seconds,
    amount,
    next,
  });
  mustBeAccepted(first);
  const [start, before, time] = [systemClock.monotonic(), await counts(engine), processorTime(engine.pid)];
  const { delivered, at } = await drained(engine, options);
  const drainedCount = delivered - before.delivered;
  options.say(`processor time per document, ms: ${perUnit(time, processorTime(engine.pid), drainedCount)}`);
  const rate = drainedCount / ((at - start) / 1_000);
  return {
    answers: first.answers,
    rate,
    figures: [
      {
        name: "accepted while delivering",
        value: first.perSecond,
        unit: "/s",
        p50_ms: first.p50_ms,
        p99_ms: first.p99_ms,
        errors: refusedOf(first),
        note: `${amount} documents of 12 KB, ${CONNECTIONS} connections`,
      },
      {
        name: "backlog drains",
        value: rate,
        unit: "/s",
        note: `${drainedCount} documents: SMP look-up, SBDH, AS4 there and back, evidence on both sides, delivered`,
      },
    ],
  };
}

/** Sends at a rate that the node can bear, and measures how long each document takes from its 202 to `delivered`. */
async function steady(
  options: BenchOptions,
  engine: BenchEngine,
  { next, url }: Way,
  offered: number,
): Promise<{ readonly figures: Figure[]; readonly answers: number }> {
  const started = new Date(systemClock.now());
  const load = await runPacedLoad({
    url,
    seconds: options.seconds,
    rate: offered,
    ...(options.tiny ? { amount: 10 } : {}),
    next,
  });
  mustBeAccepted(load);
  const { accepted, delivered } = await counts(engine);
  await drained(engine, options);
  const [row] = await engine.sql<{ readonly p50: number; readonly p99: number; readonly p999: number }[]>`
    select (1000 * percentile_cont(0.5) within group (order by t))::float8 as p50,
      (1000 * percentile_cont(0.99) within group (order by t))::float8 as p99,
      (1000 * percentile_cont(0.999) within group (order by t))::float8 as p999
    from (select extract(epoch from min(h.occurred_at) - d.created_at) as t from document as d
      join document_history as h on h.document_id = d.id and h.status = 'delivered' where d.created_at >= ${started}
      group by d.id) as x`;
  return {
    answers: load.answers,
    figures: [
      {
        name: "accepted → delivered",
        value: load.perSecond,
        unit: "/s",
        p50_ms: row?.p50 ?? 0,
        p99_ms: row?.p99 ?? 0,
        p999_ms: row?.p999 ?? 0,
        errors: refusedOf(load),
        note: `steady, ${accepted - delivered} under way at the end; the times are from the 202 to the receipt written down${repeated(load)}`,
      },
    ],
  };
}

/** What a part came to: its figures, and how many documents it sent. */
interface Measured {
  readonly figures: readonly Figure[];
  readonly answers: number;
}

/** How fast documents are delivered, and how long each takes. */
async function plainly(options: BenchOptions, engine: BenchEngine, way: Way): Promise<Measured> {
  options.say("a backlog …");
  const { result: backlog, limit } = await besideRsaLimit(join(engine.dataDir, "pki"), "exchange", () =>
    drainRate(options, engine, way),
  );
  options.say("a steady stream …");
  const stream = await steady(options, engine, way, Math.max(1, Math.floor(backlog.rate * STEADY_SHARE)));
  return {
    answers: backlog.answers + stream.answers,
    figures: [
      ...backlog.figures,
      ...stream.figures,
      {
        name: "RSA limit, exchange",
        value: limit,
        unit: "/s",
        note: "sign + encrypt + decrypt + verify + sign + verify, RSA-2048, one core; by processor time, while the backlog drains",
      },
      { name: "backlog drains ÷ RSA limit", value: backlog.rate / limit, unit: "ratio" },
    ],
  };
}

/** What it costs that each firm is told of its documents. */
async function told(
  options: BenchOptions,
  engine: BenchEngine,
  { next, url }: Way,
  firms: readonly BenchFirm[],
): Promise<Measured> {
  const subscribed = await subscribeFirms(options, engine, firms);
  let answers = 0;
  const deliver = async (amount: number): Promise<number> => {
    const before = await counts(engine);
    const load = await runLoad({
      url,
      connections: options.tiny ? 4 : CONNECTIONS,
      seconds: BLOCK_S_MAX,
      amount,
      next,
    });
    mustBeAccepted(load);
    answers += load.answers;
    return (await drained(engine, options)).delivered - before.delivered;
  };
  try {
    options.say("blocks of documents in turns, subscribed and not …");
    const figures = [...(await inTurns({ options, engine, subscribed, deliver })), ...(await subscribed.bare())];
    return { figures, answers };
  } finally {
    await subscribed.close();
  }
}

/** Documents per second from a client's send to the receiver's inbox. */
export const endToEndBench: Bench = {
  name: "end-to-end",
  question:
    "How many documents a second does a node deliver, from the API over its own SMP and /as4 to the receipt, with evidence on both sides?",
  seconds: 20,
  takesServer: true,
  run: async (options) => {
    const engine = await startBenchEngine({ role: "all", server: options.server });
    try {
      const firms = await makeFirms(
        engine,
        options.tiny ? 4 : firmsFor(Math.max(60, options.seconds) * BACKLOG_PER_SECOND * 2),
      );
      const templates = firms.map((firm, index) =>
        templateOf(firm, firms[(index + 1) % firms.length]?.participantId ?? ""),
      );
      const way = {
        next: requests(templates),
        url: originOf(engine.sandbox),
      };
      options.say("warming up …");
      const warm = await runLoad({
        ...way,
        connections: options.tiny ? 2 : 8,
        seconds: options.seconds,
        amount: options.tiny ? 4 : WARM_UP,
      });
      await drained(engine, options);
      const { figures, answers } = options.subscribed
        ? await told(options, engine, way, firms)
        : await plainly(options, engine, way);
      await checkRows(engine, warm.answers + answers, CONNECTIONS);
      return figures;
    } finally {
      await engine.stop();
    }
  },
};
