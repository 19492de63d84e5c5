/** `start`: how long a process takes until it serves, on a data directory of its own and on a database elsewhere. */
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { systemClock } from "../../engine/base/clock.js";
import { runningEmbeddedPostgres } from "../../engine/embedded/embedded.js";
import { openSql } from "../../engine/storage/sql.js";
import { makeFirms, serve } from "../engine.js";
import { readSandbox } from "../../engine/identity/sandbox.js";
import { median } from "../load.js";
import type { Bench, BenchOptions, Figure } from "../runner.js";
import { addPast } from "./past.js";

const MASTER_KEY = Buffer.alloc(32, 7).toString("base64");
const STORED = 100_000;
const STORED_TINY = 20;
const STARTS = 10;

/** How long a Node.js that does nothing takes, from start to end. */
async function bareNode(): Promise<number> {
  const start = systemClock.monotonic();
  const child = spawn(process.execPath, ["--eval", ""], { stdio: "ignore" });
  await new Promise((resolve) => child.once("exit", resolve));
  return systemClock.monotonic() - start;
}

/** Starts and stops a process so many times. @returns the milliseconds of each */
async function starts(count: number, once: () => Promise<number>): Promise<readonly number[]> {
  const taken: number[] = [];
  while (taken.length < count) taken.push(await once());
  return taken;
}

/** Makes what the starts find: a database of a past, and keys. */
async function prepare(dataDir: string, stored: number): Promise<void> {
  const first = await serve(dataDir, { role: "all", env: { MASTER_KEY } });
  try {
    const url = runningEmbeddedPostgres(dataDir);
    const sandbox = readSandbox(dataDir);
    if (url === undefined || sandbox === undefined) throw new Error("the engine left no sandbox.json");
    const sql = openSql({ url, name: "bench", connections: 1 });
    try {
      const [firm] = await makeFirms({ sandbox, sql }, 1);
      await addPast(url, [{ firmId: firm?.clientId ?? "", participant: firm?.participantId ?? "" }], stored);
    } finally {
      await sql.end({ timeout: 1 });
    }
  } finally {
    await first.stop();
  }
}

const figureOf = (name: string, taken: readonly number[], note: string): Figure => ({
  name,
  value: median(taken) / 1_000,
  unit: "s",
  note: `${taken.length} starts, ${(Math.min(...taken) / 1_000).toFixed(2)} to ${(Math.max(...taken) / 1_000).toFixed(2)} s; ${note}`,
});

async function measure(options: BenchOptions, folder: string): Promise<Figure[]> {
  const count = options.tiny ? 1 : STARTS;
  const stored = options.tiny ? STORED_TINY : (options.size ?? STORED);
  const [embedded, apart] = [join(folder, "embedded"), join(folder, "apart")];
  options.say(`${stored} stored documents …`);
  await prepare(embedded, stored);
  options.say("starts with a database of its own …");
  const before = await starts(count - 1, async () => {
    const served = await serve(embedded, { role: "all", env: { MASTER_KEY } });
    await served.stop();
    return served.ready_ms;
  });
  const database = await serve(embedded, { role: "all", env: { MASTER_KEY } });
  const own = [...before, database.ready_ms];
  options.say("starts beside its database …");
  try {
    cpSync(join(embedded, "pki"), join(apart, "pki"), { recursive: true });
    const env = { MASTER_KEY, ENVIRONMENT: "sandbox", DATABASE_URL: runningEmbeddedPostgres(embedded) ?? "" };
    const external = await starts(count, async () => {
      const served = await serve(apart, { role: "all", env });
      await served.stop();
      return served.ready_ms;
    });
    const bare = await starts(count, bareNode);
    return [
      figureOf("start to ready, embedded with data", own, `${stored} stored documents, role all`),
      figureOf("start to ready, database elsewhere", external, "beside the engine whose database it is"),
      figureOf("limit: Node.js that does nothing", bare, "from start to end"),
      { name: "embedded ÷ bare Node.js", value: median(own) / median(bare), unit: "ratio" },
      { name: "database elsewhere ÷ bare Node.js", value: median(external) / median(bare), unit: "ratio" },
    ];
  } finally {
    await database.stop();
  }
}

/** From the start of the process to ready. */
export const startBench: Bench = {
  name: "start",
  question:
    "How long does an engine take from the start of its process to ready, with its own database and beside one elsewhere, against a Node.js that does nothing?",
  seconds: 1,
  run: async (options) => {
    const folder = mkdtempSync(join(tmpdir(), "kurier-start-"));
    try {
      return await measure(options, folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
