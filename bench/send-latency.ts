/** `send-latency`: how long a client waits for its 202 when the node is half busy. */
import { freePort, makeFirms, startBenchEngine } from "./engine.js";
import type { BenchEngine } from "./engine.js";
import { refusedOf, repeated, runLoad, runPacedLoad } from "./load.js";
import type { LoadResult } from "./load.js";
import { LIMIT_SERVER, startPeer } from "./peers/start.js";
import type { Bench, BenchOptions, Figure } from "./runner.js";
import { firmsFor, originOf, requests, templateOf } from "./send-requests.js";
import type { Template } from "./send-requests.js";

const CONNECTIONS = 64;
/** More documents than any node accepts in a second; it decides how many firms are needed. */
const RATE_CEILING = 2_500;
/** Share of the capacity, measured a moment before, at which requests come. */
const SHARE = 0.5;
const CAPACITY_SECONDS = 5;

/** Every 202 has exactly one row; what was under way when a load ended may have one too. @throws Error otherwise */
async function checkRows({ sql }: BenchEngine, accepted: number, underWay: number): Promise<void> {
  const [row] = await sql<{ readonly documents: number }[]>`select count(*)::integer as documents from document`;
  const documents = row?.documents ?? 0;
  if (documents < accepted || documents > accepted + underWay)
    throw new Error(`${accepted} answers of 202, but ${documents} documents`);
}

const figureOf = (name: string, load: LoadResult, note: string): Figure => ({
  name,
  value: load.perSecond,
  unit: "/s",
  p50_ms: load.p50_ms,
  p99_ms: load.p99_ms,
  p999_ms: load.p999_ms,
  errors: refusedOf(load),
  note,
});

/** What a server that only inserts lets the same clients wait at the same rate: disk, client and machine. */
async function measureLimit(
  options: BenchOptions,
  engine: BenchEngine,
  templates: readonly Template[],
  rate: number,
): Promise<LoadResult> {
  const peer = await startPeer("uws-insert", await freePort(), engine.databaseUrl);
  try {
    const next = requests(templates, "/send");
    await runLoad({ url: peer.url, connections: 8, seconds: 1, amount: options.tiny ? 8 : 2_000, next });
    return await runPacedLoad({
      url: peer.url,
      seconds: options.seconds,
      rate,
      ...(options.tiny ? { amount: 10 } : {}),
      next,
    });
  } finally {
    await peer.stop();
  }
}

async function figures(options: BenchOptions, engine: BenchEngine): Promise<readonly Figure[]> {
  const firms = await makeFirms(engine, options.tiny ? 4 : firmsFor(RATE_CEILING * 60));
  const templates = firms.map((firm) => templateOf(firm, engine.sandbox.receiver.participantId));
  const next = requests(templates);
  const url = originOf(engine.sandbox);
  const warm = await runLoad({
    url,
    connections: options.tiny ? 2 : 8,
    seconds: 1,
    amount: options.tiny ? 8 : 4_000,
    next,
  });
  options.say("the capacity …");
  const capacity = await runLoad({
    url,
    connections: options.tiny ? 2 : CONNECTIONS,
    seconds: CAPACITY_SECONDS,
    ...(options.tiny ? { amount: 20 } : {}),
    next,
  });
  const rate = Math.max(1, Math.floor(capacity.perSecond * SHARE));
  options.say("half of it …");
  const open = await runPacedLoad({
    url,
    seconds: options.seconds,
    rate,
    ...(options.tiny ? { amount: 10 } : {}),
    next,
  });
  await checkRows(
    engine,
    [warm, capacity, open].reduce((sum, { statuses }) => sum + (statuses.get(202) ?? 0), 0),
    CONNECTIONS + 8,
  );
  options.say("limit (a) at the same rate …");
  const limit = await measureLimit(options, engine, templates, rate);
  return [
    {
      name: "capacity",
      value: capacity.perSecond,
      unit: "/s",
      p50_ms: capacity.p50_ms,
      p99_ms: capacity.p99_ms,
      errors: refusedOf(capacity),
      note: `${CONNECTIONS} connections, as fast as they are answered`,
    },
    figureOf(
      "kurier send, open load",
      open,
      `evenly spaced; a latency counts from the time at which its request was due${repeated(open)}`,
    ),
    figureOf(
      `limit (a) ${LIMIT_SERVER} + insert, open load`,
      limit,
      `no authentication, no validation${repeated(limit)}`,
    ),
    { name: "p50 ÷ limit (a)", value: open.p50_ms / limit.p50_ms, unit: "ratio" },
    { name: "p99 ÷ limit (a)", value: open.p99_ms / limit.p99_ms, unit: "ratio" },
    { name: "offered ÷ capacity", value: rate / capacity.perSecond, unit: "ratio" },
  ];
}

/** The wait for a 202 at an even load below the limit. */
export const sendLatencyBench: Bench = {
  name: "send-latency",
  question: "How long does a client wait for its 202 when requests come evenly at half of what the node can take?",
  seconds: 20,
  run: async (options) => {
    const engine = await startBenchEngine({ role: "gateway" });
    try {
      return await figures(options, engine);
    } finally {
      await engine.stop();
    }
  },
};
