/** `keys-at-scale`: many keys at their full rate at once, and how exact the limit of each is on one node and four. */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { systemClock } from "../../engine/base/clock.js";
import { LIMITS } from "../../engine/base/limits.js";
import { makeFirms, serve, startBenchEngine } from "../engine.js";
import type { BenchEngine, BenchFirm } from "../engine.js";
import { runLoad } from "../load.js";
import type { LoadRequest, LoadResult } from "../load.js";
import type { Bench, BenchOptions, Figure } from "../runner.js";
import { originOf } from "../send-requests.js";

const MASTER_KEY = Buffer.alloc(32, 7).toString("base64");
const KEYS = 2_000;
const KEYS_TINY = 3;
const NODES = 4;
const CONNECTIONS = 64;
/** What each key asks for, as a multiple of what it may have. */
const ASKED = 1.2;
/** Share of the window within which all must have been asked, so that the first admissions still count. */
const WITHIN = 0.75;
const PROBE_FIRMS = 20;

/**
 * A send that is refused for its form right after the limit has counted it: the limit is measured, not the send, of
 * which a node does fewer in a second than these keys may ask for.
 */
const sendOf = ({ token }: BenchFirm): LoadRequest => ({
  method: "POST",
  path: "/sapi/v1/document/send",
  headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  body: "{}",
});

/** What an exact window admits of requests at these times. */
function admittedOf(instants: readonly number[]): number {
  const admitted: number[] = [];
  let oldest = 0;
  for (const instant of instants) {
    while (oldest < admitted.length && (admitted[oldest] ?? 0) <= instant - LIMITS.rate_window_ms) oldest += 1;
    if (admitted.length - oldest < LIMITS.rate_sapi_send) admitted.push(instant);
  }
  return admitted.length;
}

interface Asked {
  readonly load: LoadResult;
  /** Requests that were admitted, and that an exact window of each key would have admitted. */
  readonly admitted: number;
  readonly due: number;
  /** The most that a key's admissions were off its own exact window, as a share of the limit. */
  readonly worst: number;
}

/** Asks all keys in turn, over all nodes alike. @throws Error when an answer is neither admitted nor 429 */
async function askAll(urls: readonly string[], firms: readonly BenchFirm[], connections: number): Promise<Asked> {
  const asked = firms.map((): number[] => []);
  const admitted = firms.map(() => 0);
  const indexOf = new Map<LoadRequest, number>();
  let n = 0;
  const sends = firms.map(sendOf);
  for (const [index, request] of sends.entries()) indexOf.set(request, index);
  const next = (): LoadRequest => sends[n++ % sends.length] as LoadRequest;
  const onAnswer = (request: LoadRequest, status: number): void => {
    const index = indexOf.get(request) ?? 0;
    // Written down at the answer, as the next request of the key is: an exact window takes them in this order.
    asked[index]?.push(systemClock.monotonic());
    if (status !== 429) admitted[index] = (admitted[index] ?? 0) + 1;
  };
  const amount = Math.ceil((firms.length * LIMITS.rate_sapi_send * ASKED) / urls.length);
  const loads = await Promise.all(
    urls.map((url) =>
      runLoad({ url, connections: Math.max(1, connections / urls.length), seconds: 1, amount, next, onAnswer }),
    ),
  );
  const [first] = loads;
  if (first === undefined) throw new Error("no node was asked");
  const odd = loads.flatMap(({ statuses }) =>
    [...statuses.keys()].filter((status) => status !== 429 && status !== 400),
  );
  if (odd.length > 0 || loads.some(({ errors }) => errors > 0))
    throw new Error(`the keys were answered ${odd.join(", ")}`);
  const due = asked.map(admittedOf);
  const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
  return {
    load: {
      ...first,
      perSecond: sum(loads.map(({ perSecond }) => perSecond)),
      p50_ms: Math.max(...loads.map(({ p50_ms }) => p50_ms)),
      p99_ms: Math.max(...loads.map(({ p99_ms }) => p99_ms)),
    },
    admitted: sum(admitted),
    due: sum(due),
    worst: Math.max(...due.map((value, index) => Math.abs(value - (admitted[index] ?? 0)) / LIMITS.rate_sapi_send)),
  };
}

const figuresOf = (where: string, keys: number, { load, admitted, due, worst }: Asked): Figure[] => [
  {
    name: `requests, ${where}`,
    value: load.perSecond,
    unit: "/s",
    p50_ms: load.p50_ms,
    p99_ms: load.p99_ms,
    note: `${keys} keys, each asks ${ASKED} × what it may; ${admitted} admitted, the others 429`,
  },
  {
    name: `${where}: error of the limit ÷ the limit`,
    value: Math.abs(admitted - due) / due,
    unit: "ratio",
    note: `an exact window of each key would have admitted ${due}`,
  },
  { name: `${where}: the key that is off the most ÷ the limit`, value: worst, unit: "ratio" },
];

/** Further nodes on the engine's database, with its keys. @returns what `act` does with all of them */
async function withNodes<T>(
  engine: BenchEngine,
  url: string,
  count: number,
  act: (urls: readonly string[]) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "kurier-nodes-"));
  const nodes: Awaited<ReturnType<typeof serve>>[] = [];
  try {
    for (let index = 1; index < count; index += 1) {
      const dataDir = join(folder, String(index));
      cpSync(join(engine.dataDir, "pki"), join(dataDir, "pki"), { recursive: true });
      const env = { MASTER_KEY, ENVIRONMENT: "sandbox", DATABASE_URL: engine.databaseUrl, PUBLIC_URL: url };
      nodes.push(await serve(dataDir, { role: "gateway", env }));
    }
    return await act([url, ...nodes.map((node) => node.url)]);
  } finally {
    await Promise.all(nodes.map((node) => node.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(options: BenchOptions, engine: BenchEngine): Promise<readonly Figure[]> {
  const url = originOf(engine.sandbox);
  const connections = options.tiny ? 2 : CONNECTIONS;
  const probes = await makeFirms(engine, options.tiny ? 1 : PROBE_FIRMS);
  const { load: warm } = await askAll([url], probes, connections);
  const within_s = (LIMITS.rate_window_ms / 1_000) * WITHIN;
  const able = Math.floor((warm.perSecond * within_s) / (LIMITS.rate_sapi_send * ASKED));
  const keys = options.tiny ? KEYS_TINY : Math.max(1, Math.min(options.size ?? KEYS, able));
  options.say(`${keys} keys: as many as ${warm.perSecond.toFixed(0)} requests a second are the full rate of …`);
  const one = await askAll([url], await makeFirms(engine, keys, probes.length), connections);
  const figures = figuresOf("one node", keys, one);
  const [ratio] = [one.load.perSecond / warm.perSecond];
  const scale: Figure = { name: `requests of ${keys} keys ÷ of ${probes.length}`, value: ratio, unit: "ratio" };
  const size: Figure = {
    name: "keys",
    value: keys,
    unit: "count",
    note: "as many as the machine can ask at full rate",
  };
  if (options.tiny) return [size, ...figures, scale];
  const others = await makeFirms(engine, Math.ceil(keys / 2), probes.length + keys);
  options.say(`${NODES} nodes …`);
  const many = await withNodes(engine, url, NODES, (urls) => askAll(urls, others, connections));
  return [size, ...figures, scale, ...figuresOf("four nodes", others.length, many)];
}

/** Two thousand keys at their full rate. */
export const keysBench: Bench = {
  name: "keys-at-scale",
  question:
    "Do two thousand keys that all ask more than they may each get exactly their rate, on one node and on four?",
  seconds: 60,
  run: async (options) => {
    const engine = await startBenchEngine({ role: "gateway", env: { MASTER_KEY } });
    try {
      return await measure(options, engine);
    } finally {
      await engine.stop();
    }
  },
};
