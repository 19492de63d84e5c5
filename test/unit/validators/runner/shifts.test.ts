/** What lies ready for a worker beside the batch that it runs: begun without the event loop, and never lost with it. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createPool, JobFailed, JobQuarantined } from "../../../../validators/pool.js";
import type { PoolOptions, ValidatorPool } from "../../../../validators/pool.js";
import { eventually } from "../../../support/eventually.js";
import { Random, seedFrom } from "../../../support/random.js";
import { bundleWorker } from "../../../support/validators/worker-bundle.js";
import type { WorkerBundle } from "../../../support/validators/worker-bundle.js";

/** Slots and values of the gate of `fixture.gate`. */
const [STATE, PASSED] = [0, 1];
const [OPEN, DEADLY] = [1, 2];

let bundle: WorkerBundle;
let pool: ValidatorPool | undefined;

beforeAll(async () => {
  bundle = await bundleWorker("fixtures/hostile-worker.ts");
});
afterEach(async () => {
  await pool?.stop();
  pool = undefined;
});
afterAll(() => bundle.remove());

function open(changes: Partial<PoolOptions> = {}): ValidatorPool {
  pool = createPool({
    threads: { small: 1, large: 1 },
    queueMax: 10_000,
    queueBytesMax: 100_000_000,
    jobTimeoutMs: 30_000,
    workerFile: bundle.file,
    ...changes,
  });
  return pool;
}

const shut = (): Int32Array => new Int32Array(new SharedArrayBuffer(8));
const swing = (gate: Int32Array, value: number): void => {
  Atomics.store(gate, STATE, value);
  Atomics.notify(gate, STATE);
};

/** One job before a shut gate, sixteen that lie ready behind it, and three in the queue. */
async function lyingReady(workers: ValidatorPool, gate: Int32Array): Promise<readonly Promise<unknown>[]> {
  const asked = Array.from({ length: 20 }, (_, n) => workers.ask("fixture.gate", { gate, name: `${n}` }));
  await eventually("sixteen jobs lie ready", () => workers.stats().lanes.small.running === 17);
  // What lies ready is copied and sent in the turn in which it is counted, or in the next one.
  await new Promise(setImmediate);
  return asked;
}

const NAMES = Array.from({ length: 20 }, (_, n) => `${n}`);

test("a worker begins what lies ready for it without the event loop", async () => {
  const gate = shut();
  const asked = await lyingReady(open(), gate);
  swing(gate, OPEN);
  // The event loop stands still meanwhile.
  for (let passed = 0; passed < 17; passed = Atomics.load(gate, PASSED))
    if (Atomics.wait(gate, PASSED, passed, 20_000) === "timed-out") break;
  expect(Atomics.load(gate, PASSED)).toBe(17);
  expect(await Promise.all(asked)).toEqual(NAMES);
  expect(Atomics.load(gate, PASSED)).toBe(20);
});

test("what lies ready for a worker that ends before it has begun it goes to the next one, as it is", async () => {
  const gate = shut();
  const workers = open();
  const asked = await lyingReady(workers, gate);
  const { batches } = workers.stats();
  // The job before the gate ends its worker, and goes through an open gate when it is tried alone.
  const replaced = eventually("the worker has ended", () => workers.stats().restarts.exit === 1).then(() => {
    swing(gate, OPEN);
  });
  swing(gate, DEADLY);
  await replaced;
  expect(await Promise.all(asked)).toEqual(NAMES);
  expect(workers.stats()).toMatchObject({ quarantined: 0, restarts: { exit: 1 } });
  expect(Atomics.load(gate, PASSED)).toBe(20);
  // The one that is tried alone, and the three that waited: the sixteen are still the batch that they were.
  expect(workers.stats().batches - batches).toBe(2);
});

test("a job that ends two workers from among those that lay ready is quarantined alone, and the others are answered", async () => {
  const gate = shut();
  const workers = open();
  const first = workers.ask("fixture.gate", { gate, name: "first" });
  const bad = Buffer.from("<!--exit--><a/>");
  const asked = Array.from({ length: 16 }, (_, n) =>
    n === 7 ? workers.ask("fixture.octets", { bytes: bad }) : workers.ask("fixture.gate", { gate, name: `${n}` }),
  );
  await eventually("sixteen jobs lie ready", () => workers.stats().lanes.small.running === 17);
  swing(gate, OPEN);
  expect(await first).toBe("first");
  const outcomes = await Promise.allSettled(asked);
  expect(
    outcomes.map((one) => (one.status === "fulfilled" ? one.value : one.reason instanceof JobQuarantined)),
  ).toEqual(Array.from({ length: 16 }, (_, n) => (n === 7 ? true : `${n}`)));
  expect(workers.stats()).toMatchObject({ quarantined: 1, restarts: { exit: 2, timeout: 0, memory: 0 } });
});

test("what cannot be sent fails by itself, and nobody waits behind it", async () => {
  const gate = shut();
  const workers = open();
  const first = workers.ask("fixture.gate", { gate, name: "first" });
  const broken = workers.ask("fixture.gate", { gate, name: () => "no data" }).catch((error: unknown) => error);
  await eventually("one job lies ready", () => workers.stats().lanes.small.running === 2);
  swing(gate, OPEN);
  expect(await first).toBe("first");
  expect(await broken).toBeInstanceOf(JobFailed);
  expect(await workers.ask("fixture.gate", { gate, name: "last" })).toBe("last");
});

const SEED = seedFrom(20261128);

test(
  `every job is answered once, with its own answer, whatever ends the workers (seed ${SEED})`,
  { timeout: 60_000 },
  async () => {
    const random = new Random(SEED);
    const gate = shut();
    swing(gate, OPEN);
    const workers = open({ threads: { small: 2, large: 1 } });
    const [asked, expected]: [Promise<unknown>[], unknown[]] = [[], []];
    for (let n = 0; n < 600; n++) {
      const deadly = random.next() < 0.005;
      const input = deadly ? { bytes: Buffer.from(`<!--exit--><a n="${n}"/>`) } : { gate, name: `${n}` };
      expected.push(deadly ? "quarantined" : `${n}`);
      asked.push(
        workers.ask(deadly ? "fixture.octets" : "fixture.gate", input).catch((error: unknown) => {
          if (error instanceof JobQuarantined) return "quarantined";
          throw error;
        }),
      );
      for (let turns = random.int(3); turns > 0; turns--) await new Promise(setImmediate);
    }
    expect(await Promise.all(asked)).toEqual(expected);
    const { quarantined, lanes, jobs } = workers.stats();
    expect(quarantined).toBe(expected.filter((one) => one === "quarantined").length);
    expect(quarantined).toBeGreaterThan(0);
    expect(lanes.small).toMatchObject({ running: 0, queueDepth: 0, queueBytes: 0, ownWaiting: 0 });
    expect(jobs).toBeGreaterThanOrEqual(600);
  },
);
