/** A machine that refuses threads to a pool that works, as where the processes of a user or a container are counted. */
import workerThreads from "node:worker_threads";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";

import { createPool } from "../../../../validators/pool.js";
import type { ValidatorPool } from "../../../../validators/pool.js";
import { bundleWorker } from "../../../support/validators/worker-bundle.js";
import type { WorkerBundle } from "../../../support/validators/worker-bundle.js";

const NO_WORKER = {
  name: "NoWorker",
  passing: true,
  message: "No thread could be started to judge documents: EAGAIN",
};

let isRefused = false;
const { Worker } = workerThreads;
let bundle: WorkerBundle;
let pool: ValidatorPool | undefined;

beforeAll(async () => {
  bundle = await bundleWorker("fixtures/hostile-worker.ts");
  const refusing = new Proxy(Worker, {
    construct: (target, args) => {
      // As Node.js says it where pthread_create fails.
      if (isRefused) throw Object.assign(new Error("EAGAIN"), { code: "ERR_WORKER_INIT_FAILED" });
      return Reflect.construct(target, args) as object;
    },
  });
  Object.assign(workerThreads, { Worker: refusing });
});
afterEach(async () => {
  isRefused = false;
  await pool?.stop();
  pool = undefined;
});
afterAll(async () => {
  Object.assign(workerThreads, { Worker });
  await bundle.remove();
});

function open(largeBytes: number): ValidatorPool {
  pool = createPool({
    threads: { small: 2, large: 1 },
    queueMax: 100,
    queueBytesMax: 1_000_000,
    jobTimeoutMs: 30_000,
    largeBytes,
    workerFile: bundle.file,
  });
  return pool;
}

/** A gate that is open; its third slot counts those who have come to it. */
const openGate = (): Int32Array => {
  const gate = new Int32Array(new SharedArrayBuffer(12));
  gate[0] = 1;
  return gate;
};

test("where threads have died and the machine refuses others, who asks is told, and later is answered again", async () => {
  const workers = open(1_000_000);
  await workers.ask("fixture.heap", {});
  isRefused = true;
  const deadly = { bytes: Buffer.from("<!--exit--><a/>") };
  const told = [workers.ask("fixture.octets", deadly), workers.ask("fixture.octets", deadly)];
  expect(await Promise.allSettled(told)).toMatchObject([{ reason: NO_WORKER }, { reason: NO_WORKER }]);
  isRefused = false;
  expect(await workers.ask("fixture.gate", { gate: openGate(), name: "later" })).toBe("later");
  expect(workers.stats().quarantined).toBe(0);
});

test("who asked in vain for the thread of large jobs leaves nothing behind that a later one would do first", async () => {
  const workers = open(0);
  const gate = openGate();
  isRefused = true;
  await expect(workers.ask("fixture.gate", { gate, name: "in vain" })).rejects.toMatchObject(NO_WORKER);
  isRefused = false;
  expect(await workers.ask("fixture.gate", { gate: openGate(), name: "later" })).toBe("later");
  expect(Atomics.load(gate, 2)).toBe(0);
});

test("who makes a pool where the machine refuses the first threads is told at once, however many pools there are", () => {
  open(0);
  isRefused = true;
  expect(() => createPool({ threads: { small: 2, large: 1 }, queueMax: 1, queueBytesMax: 1, jobTimeoutMs: 1 })).toThrow(
    expect.objectContaining(NO_WORKER) as Error,
  );
});
