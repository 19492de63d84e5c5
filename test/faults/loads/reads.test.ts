/**
 * Goal: twenty invoices of 18 MB that come at once leave the reads of other clients alone.
 * Method: the engine as a process of its own with a probe of its loop, the readers as another, at an even pace; first
 * alone, then from before the invoices come until the last is answered. Their waits count from the time at which each was
 * due. What the event loop does meanwhile is counted in tiny form by test/bulkheads/shares/turns.test.ts.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

import { makeFirms } from "../../../bench/engine.js";
import type { WellBehavedJob, WellBehavedResult } from "../../../bench/hostile/jobs.js";
import { loopProbe, readLoop } from "../../../bench/loop/probe.js";
import { runningEmbeddedPostgres } from "../../../engine/embedded/embedded.js";
import { openSql } from "../../../engine/storage/sql.js";
import { accessToken } from "../../support/engines/engine.js";
import { sendLarge } from "../../support/documents/large-invoice.js";
import { killEverythingOn, startEngineProcess } from "../../support/engines/process.js";
import { behaveWellApart } from "../../support/callers/well-behaved.js";

const MB = 1_000_000;
const INVOICES = 20;
const READERS = 40;
const READS_PER_S = 100;
const SECONDS = { alone: 10, beside: 30 } as const;
/** What readers may wait at p99, in milliseconds, and on a busy machine, in what they wait alone. */
const MOST = { wait_ms: 300, ratio: 4 } as const;

/** Runs readers in a process of their own. @returns what their polls have met */
async function readers(folder: string, job: WellBehavedJob): Promise<WellBehavedResult["operations"][number]> {
  const polls = (await behaveWellApart(folder, job)).find(({ name }) => name === "poll");
  if (polls === undefined) throw new Error("nobody has read");
  return polls;
}

test("twenty invoices of 18 MB at once leave the reads of other clients below 300 ms (p99), and every read is answered", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "kurier-reads-"));
  const probe = join(dataDir, "loop");
  const engine = await startEngineProcess({
    dataDir,
    env: {
      NATS_URL: "embedded",
      NODE_OPTIONS: `--import=${loopProbe(probe)}`,
      // As npm start does.
      ...{ MALLOC_MMAP_THRESHOLD_: "131072", MALLOC_ARENA_MAX: "2" },
    },
  });
  const sql = openSql({ url: runningEmbeddedPostgres(dataDir) ?? "", name: "test", connections: 2 });
  try {
    const { sandbox } = engine;
    const firms = await makeFirms({ sandbox, sql }, READERS);
    const url = sandbox.sapiBaseUrl.replace("/sapi/v1", "");
    const job = { kind: "well-behaved", url, firms, sends: 0, polls: READS_PER_S, lookUps: 0 } as const;
    const alone = await readers(dataDir, { ...job, seconds: SECONDS.alone });
    await readLoop(engine.pid, probe);
    const sender = { participantId: sandbox.sender.participantId, token: await accessToken(sandbox, sandbox.sender) };
    const reading = readers(dataDir, { ...job, seconds: SECONDS.beside });
    const answers = await Promise.all(
      Array.from({ length: INVOICES }, () => sendLarge(sandbox, sender, sandbox.receiver.participantId, 17.5 * MB)),
    );
    const beside = await reading;
    const loop = await readLoop(engine.pid, probe);
    const accepted = answers.filter(({ status }) => status === 202).length;
    process.stdout.write(`reads: ${JSON.stringify({ accepted, alone, beside, loop })}\n`);
    expect(answers.filter(({ status }) => status !== 202 && status !== 503)).toEqual([]);
    expect(accepted).toBeGreaterThan(0);
    expect([beside.errors, beside.statuses]).toEqual([0, { 200: beside.answers }]);
    expect(beside.p99_ms).toBeLessThan(Math.max(MOST.wait_ms, MOST.ratio * alone.p99_ms));
  } finally {
    await sql.end({ timeout: 1 });
    await engine.stop();
    killEverythingOn(dataDir);
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
});
