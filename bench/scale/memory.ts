/** `memory`: what the engine and its database take under the send benchmark, and whether it grows. */
import { setTimeout as pause } from "node:timers/promises";

import { memoryOfTree } from "../cpu.js";
import { makeFirms, startBenchEngine } from "../engine.js";
import type { BenchEngine } from "../engine.js";
import { mustBeAccepted, runLoad } from "../load.js";
import type { LoadResult } from "../load.js";
import type { Bench, BenchOptions, Figure } from "../runner.js";
import { firmsFor, originOf, requests, templateOf } from "../send-requests.js";

const CONNECTIONS = 64;
/** More documents than any node accepts in a second; it decides how many firms are needed. */
const RATE_CEILING = 2_500;
const LOOK_MS = 1_000;
/** The share of the looks at each end that are compared; the first of them are of a heap that still fills. */
const ENDS = 0.25;
const WARM = { tiny: 8, full: 20_000 } as const;

/** Looks at the memory once a second while `act` runs. @returns MB of each look, the first before and the last after */
async function looking<T>(pid: number, act: () => Promise<T>): Promise<readonly [T, readonly number[]]> {
  const seen = [memoryOfTree(pid)];
  let isOver = false;
  const looks = (async (): Promise<void> => {
    while (!isOver) {
      await pause(LOOK_MS);
      seen.push(memoryOfTree(pid));
    }
  })();
  try {
    const done = await act();
    seen.push(memoryOfTree(pid));
    return [done, seen];
  } finally {
    isOver = true;
    await looks;
  }
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

function figuresOf(load: LoadResult, seen: readonly number[]): Figure[] {
  const end = Math.max(1, Math.floor(seen.length * ENDS));
  const [early, late] = [mean(seen.slice(0, end)), mean(seen.slice(-end))];
  return [
    { name: "sends meanwhile", value: load.perSecond, unit: "/s", p50_ms: load.p50_ms, p99_ms: load.p99_ms },
    {
      name: "memory of the engine and its database",
      value: Math.max(...seen),
      unit: "MB",
      note: `at the most of ${seen.length} looks; what processes share is counted once`,
    },
    { name: "first quarter", value: early, unit: "MB" },
    { name: "last quarter", value: late, unit: "MB" },
    { name: "last quarter ÷ first quarter", value: late / early, unit: "ratio", note: "1 is flat" },
  ];
}

async function measure(options: BenchOptions, engine: BenchEngine): Promise<readonly Figure[]> {
  const firms = await makeFirms(engine, options.tiny ? 2 : firmsFor(RATE_CEILING * 60));
  const next = requests(firms.map((firm) => templateOf(firm, engine.sandbox.receiver.participantId)));
  const url = originOf(engine.sandbox);
  const connections = options.tiny ? 2 : CONNECTIONS;
  options.say("until every part has its memory …");
  await runLoad({ url, connections, seconds: 1, amount: options.tiny ? WARM.tiny : WARM.full, next });
  options.say(`${options.seconds} s of sends …`);
  const [load, seen] = await looking(engine.pid, () =>
    runLoad({ url, connections, seconds: options.seconds, ...(options.tiny ? { amount: 20 } : {}), next }),
  );
  mustBeAccepted(load);
  return figuresOf(load, seen);
}

/** Memory under load for a long time. */
export const memoryBench: Bench = {
  name: "memory",
  question: "How much memory do the engine and its database take in ten minutes of sends, and does it grow?",
  seconds: 600,
  run: async (options) => {
    const engine = await startBenchEngine({ role: "gateway" });
    try {
      return await measure(options, engine);
    } finally {
      await engine.stop();
    }
  },
};
