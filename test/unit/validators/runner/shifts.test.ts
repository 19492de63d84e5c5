/** What lies ready for a worker beside the batch that it runs: begun without the event loop, and never lost with it. */
import { readdirSync } from "node:fs";
import { platform } from "node:os";
import { MessageChannel } from "node:worker_threads";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createPool, JobFailed, JobQuarantined, PoolBusy } from "../../../../validators/pool.js";
import type { PoolOptions, ValidatorPool } from "../../../../validators/pool.js";
import { QueuedJob } from "../../../../validators/lanes/job.js";
import { ReadyPorts } from "../../../../validators/lanes/ports.js";
import type { ShiftMessage } from "../../../../validators/lanes/ports.js";
import { BatchOfJobs, Shift } from "../../../../validators/lanes/shift.js";
import { BATCH, PROGRESS } from "../../../../validators/protocol.js";
import type { JobOutcome } from "../../../../validators/protocol.js";
import { eventually } from "../../../support/eventually.js";
import { Random, seedFrom } from "../../../support/random.js";
import { bundleWorker } from "../../../support/validators/worker-bundle.js";
import type { WorkerBundle } from "../../../support/validators/worker-bundle.js";

/** Slots and values of the gate of `fixture.gate`. */
const [STATE, PASSED, ARRIVED] = [0, 1, 2];
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

const shut = (): Int32Array => new Int32Array(new SharedArrayBuffer(12));
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

test("an idle thread takes what lies ready behind a job that hangs in another", async () => {
  const [open_, hangs] = [shut(), shut()];
  const workers = open({ threads: { small: 2, large: 1 }, jobTimeoutMs: 1_000_000 });
  const running = (jobs: number): Promise<unknown> =>
    eventually(`${jobs} jobs are with the threads`, () => workers.stats().lanes.small.running === jobs);
  const hanging = workers.ask("fixture.gate", { gate: hangs, name: "hanging" });
  const other = workers.ask("fixture.gate", { gate: open_, name: "other" });
  // Each of both lies ready behind one of the gates.
  const behind: Promise<unknown>[] = [];
  for (const name of ["one", "two"]) {
    behind.push(workers.ask("fixture.gate", { gate: open_, name }));
    await running(2 + behind.length);
  }
  swing(open_, OPEN);
  expect(await Promise.all([other, ...behind])).toEqual(["other", "one", "two"]);
  expect(Atomics.load(hangs, PASSED)).toBe(0);
  swing(hangs, OPEN);
  expect(await hanging).toBe("hanging");
  await workers.stop();
  // The one that lay ready behind the hang is still in the port of that worker, which must not begin it as well.
  expect(Atomics.load(open_, PASSED)).toBe(3);
  expect(workers.stats().restarts).toEqual({ timeout: 0, memory: 0, exit: 0 });
});

test("what was given back because every thread hangs waits like all else, and each job of it is run once", async () => {
  const [open_, ...hangs] = [shut(), shut(), shut()];
  swing(open_, OPEN);
  const workers = open({ threads: { small: 2, large: 1 }, jobTimeoutMs: 4_000, queueMax: 8 });
  const lane = (): ReturnType<ValidatorPool["stats"]>["lanes"]["small"] => workers.stats().lanes.small;
  const asked = hangs.map((gate) => workers.ask("fixture.gate", { gate, name: "hanging" }));
  for (const name of ["one", "two"]) {
    asked.push(workers.ask("fixture.gate", { gate: open_, name }, { own: true }));
    await eventually(`${name} lies ready`, () => lane().running === asked.length);
  }
  expect(lane()).toMatchObject({ running: 4, queueDepth: 0, queueBytes: 0, busyThreads: 2 });
  await eventually("both are given back", () => lane().queueDepth === 2);
  expect(lane()).toMatchObject({ running: 2, queueDepth: 2, queueBytes: 6, busyThreads: 2 });
  // They have the two places of own work, a quarter of eight.
  asked.push(workers.ask("fixture.gate", { gate: open_, name: "three" }, { own: true }));
  expect(lane()).toMatchObject({ queueDepth: 2, ownWaiting: 1 });
  for (const gate of hangs) swing(gate, OPEN);
  expect(await Promise.all(asked)).toEqual(["hanging", "hanging", "one", "two", "three"]);
  await workers.stop();
  expect(lane()).toMatchObject({ running: 0, queueDepth: 0, queueBytes: 0, ownWaiting: 0, busyThreads: 0 });
  expect(Atomics.load(open_, PASSED)).toBe(3);
  // Each job was counted once, in the batch in which it was taken from the queue.
  expect(workers.stats()).toMatchObject({ jobs: 5, restarts: { timeout: 0, memory: 0, exit: 0 } });
});

test("a pool that stops finishes what lies ready, once", async () => {
  const gate = shut();
  const workers = open();
  const asked = await lyingReady(workers, gate);
  const stopped = workers.stop();
  swing(gate, OPEN);
  expect(await Promise.all(asked)).toEqual(NAMES);
  await stopped;
  expect(Atomics.load(gate, PASSED)).toBe(20);
  expect(workers.stats().lanes.small).toMatchObject({ running: 0, queueDepth: 0, queueBytes: 0, busyThreads: 0 });
});

test("a shift goes on as long as there is work: what comes behind the second batch lies ready, too", async () => {
  const gates = [shut(), shut(), shut()];
  const workers = open({ batchMax: 1 });
  const asked = gates.map((gate, n) => workers.ask("fixture.gate", { gate, name: `${n}` }));
  for (const gate of gates.slice(0, 2)) {
    await eventually("one job is run, and one lies ready", () => {
      const { running, queueDepth } = workers.stats().lanes.small;
      return Atomics.load(gate, ARRIVED) === 1 && running === 2 && queueDepth === (gate === gates[0] ? 1 : 0);
    });
    swing(gate, OPEN);
  }
  for (const gate of gates) swing(gate, OPEN);
  expect(await Promise.all(asked)).toEqual(["0", "1", "2"]);
});

test("the port of a thread that has ended is forgotten, when what came through it is heard", async () => {
  const { port1, port2 } = new MessageChannel();
  const heard: ShiftMessage[] = [];
  const ports = new ReadyPorts((message) => heard.push(message));
  ports.welcome("what Piscina says to itself");
  ports.welcome({ thread: 7, port: port2 });
  expect([ports.has(6), ports.has(7)]).toEqual([false, true]);
  port1.postMessage({ batch: 1 });
  port1.close();
  await eventually("it is forgotten", () => !ports.has(7));
  expect(heard).toEqual([{ batch: 1 }]);
  expect([...ports.unheard(7)]).toEqual([]);
});

test("nothing is laid ready behind a large job", async () => {
  const gate = shut();
  const workers = open({ largeBytes: 4 });
  const asked = ["large", "larger"].map((name) => workers.ask("fixture.gate", { gate, name }));
  await eventually("the first is begun", () => Atomics.load(gate, ARRIVED) === 1);
  await new Promise(setImmediate);
  asked.push(workers.ask("fixture.gate", { gate, name: "largest" }));
  expect(workers.stats().lanes.large).toMatchObject({ running: 1, queueDepth: 2 });
  swing(gate, OPEN);
  expect(await Promise.all(asked)).toEqual(["large", "larger", "largest"]);
});

/** The threads of this process. */
const threads = (): number => readdirSync("/proc/self/task").length;

test.skipIf(platform() !== "linux")(
  "what a worker said before it ended is heard, also when the event loop learns both at once: no job is run twice",
  async () => {
    const gate = shut();
    const workers = open();
    const first = workers.ask("fixture.gate", { gate, name: "first" });
    const bytes = Buffer.from("<!--exit--><a/>");
    const deadly = workers.ask("fixture.octets", { bytes }).catch((error: unknown) => error);
    await eventually("one job lies ready", () => workers.stats().lanes.small.running === 2);
    await new Promise(setImmediate);
    const before = threads();
    swing(gate, OPEN);
    // The event loop stands still until the worker has gone.
    for (let looks = 0; looks < 2_000 && threads() >= before; looks++) Atomics.wait(gate, STATE, OPEN, 10);
    expect(Atomics.load(gate, PASSED)).toBe(1);
    expect(await first).toBe("first");
    expect(await deadly).toBeInstanceOf(JobQuarantined);
    expect(Atomics.load(gate, PASSED)).toBe(1);
  },
);

test("a job of our own whose worker was lost has its place in the queue until it is tried again", async () => {
  const gate = shut();
  const workers = open({ queueMax: 8, batchMax: 1 });
  const ask = (name: string): Promise<unknown> => workers.ask("fixture.gate", { gate, name }, { own: true });
  const asked = [ask("0")];
  swing(gate, DEADLY);
  await eventually("the job is tried again", () => Atomics.load(gate, ARRIVED) === 2);
  for (const name of NAMES.slice(1, 7)) asked.push(ask(name));
  expect(workers.stats().lanes.small).toMatchObject({ running: 1, queueDepth: 2, ownWaiting: 4 });
  swing(gate, OPEN);
  expect(await Promise.all(asked)).toEqual(NAMES.slice(0, 7));
});

test("threads without work keep no process alive", async () => {
  const ports = (): number => process.getActiveResourcesInfo().filter((kind) => kind === "MessagePort").length;
  const before = ports();
  const gate = shut();
  swing(gate, OPEN);
  const workers = open({ threads: { small: 2, large: 1 } });
  await Promise.all(NAMES.map((name) => workers.ask("fixture.gate", { gate, name })));
  await eventually("no port is waited for", () => ports() === before);
});

test("what lies ready behind a job that hangs goes to threads that always have work, before the hang is over", async () => {
  const [open_, hangs] = [shut(), shut()];
  const workers = open({ threads: { small: 2, large: 1 }, jobTimeoutMs: 8_000 });
  const hanging = workers.ask("fixture.gate", { gate: hangs, name: "hanging" });
  const other = workers.ask("fixture.gate", { gate: open_, name: "other" });
  const behind: Promise<unknown>[] = [];
  for (const name of ["one", "two"]) {
    behind.push(workers.ask("fixture.gate", { gate: open_, name }));
    await eventually(`${name} lies ready`, () => workers.stats().lanes.small.running === 2 + behind.length);
  }
  let isFed = true;
  const { small } = workers.stats().lanes;
  expect(small.queueDepth).toBe(0);
  const feeding = Array.from({ length: 100 }, async () => {
    while (isFed) await workers.ask("fixture.gate", { gate: open_, name: "another" });
  });
  swing(open_, OPEN);
  expect(await Promise.all([other, ...behind])).toEqual(["other", "one", "two"]);
  expect(workers.stats().restarts.timeout).toBe(0);
  isFed = false;
  swing(hangs, OPEN);
  expect(await hanging).toBe("hanging");
  await Promise.all(feeding);
});

test("nothing is laid ready behind a job that is tried alone", async () => {
  const gate = shut();
  const workers = open();
  const alone = workers.ask("fixture.gate", { gate, name: "alone" });
  swing(gate, DEADLY);
  await eventually("the job is tried again", () => Atomics.load(gate, ARRIVED) === 2);
  const others = ["one", "two"].map((name) => workers.ask("fixture.gate", { gate, name }));
  expect(workers.stats().lanes.small).toMatchObject({ running: 1, queueDepth: 2 });
  swing(gate, OPEN);
  expect(await Promise.all([alone, ...others])).toEqual(["alone", "one", "two"]);
  expect(workers.stats()).toMatchObject({ quarantined: 0, restarts: { exit: 1 } });
});

test("nothing is laid ready while a job waits to be tried alone: it waits for no shift without an end", async () => {
  const gate = shut();
  const workers = open();
  const asked = [...(await lyingReady(workers, gate))];
  swing(gate, DEADLY);
  await eventually("what lay ready is begun by the next worker", () => Atomics.load(gate, ARRIVED) === 2);
  asked.push(workers.ask("fixture.gate", { gate, name: "20" }));
  // The one that is tried alone, the three that waited, and the last.
  expect(workers.stats().lanes.small).toMatchObject({ running: 16, queueDepth: 5 });
  swing(gate, OPEN);
  expect(await Promise.all(asked)).toEqual([...NAMES, "20"]);
});

test("an answer that cannot be cloned fails alone: what lay ready behind it is run as it is", async () => {
  const gate = shut();
  const workers = open();
  const broken = workers.ask("fixture.gate", { gate, name: "broken", broken: true }).catch((error: unknown) => error);
  const asked = Array.from({ length: 16 }, (_, n) => workers.ask("fixture.gate", { gate, name: `${n}` }));
  await eventually("sixteen jobs lie ready", () => workers.stats().lanes.small.running === 17);
  await new Promise(setImmediate);
  swing(gate, OPEN);
  expect(await Promise.all(asked)).toEqual(NAMES.slice(0, 16));
  expect(await broken).toBeInstanceOf(JobFailed);
  // The broken one, three times, and the sixteen once.
  expect(workers.stats()).toMatchObject({ batches: 4, quarantined: 0 });
});

/** A batch of so many jobs, whose outcomes are noted by their names. */
function batchOf(number: number, jobs: number): BatchOfJobs {
  const owner = { fairnessKey: "", own: false };
  const none = (): void => undefined;
  return new BatchOfJobs(
    number,
    Array.from(
      { length: jobs },
      () => new QueuedJob({ kind: "", input: "", size: 0, owner, resolve: none, reject: none }),
    ),
    false,
  );
}
const begin = ({ progress }: BatchOfJobs): void => {
  Atomics.store(progress, PROGRESS.state, BATCH.begun);
};
const outcomesOf = (name: string): readonly JobOutcome[] => [{ kind: "done", output: name, time_ms: 0 }];

test("a worker that hangs wins no time by what is laid ready for it, and gets on by each job and each batch", () => {
  const [first, second] = [batchOf(1, 2), batchOf(2, 1)];
  const shift = new Shift(first, () => undefined);
  expect([shift.isWaiting, shift.steps]).toEqual([true, 0]);
  begin(first);
  expect([shift.isWaiting, shift.steps, shift.isOpen]).toEqual([false, 1, true]);
  shift.layReady(second);
  expect([shift.steps, shift.isOpen]).toEqual([1, false]);
  Atomics.store(first.progress, PROGRESS.done, 2);
  expect(shift.steps).toBe(3);
  begin(second);
  expect(shift.steps).toBe(4);
  // It is the worker that gets on, not the owner that hears of it.
  shift.hear({ batch: 1, outcomes: [] });
  expect([shift.isWaiting, shift.steps]).toEqual([false, 4]);
});

test("outcomes are those of the batch that they name, and a last answer is that of the last batch that was begun", () => {
  const [first, second, third, fourth] = [batchOf(1, 1), batchOf(2, 1), batchOf(3, 1), batchOf(4, 1)];
  const settled: unknown[] = [];
  const shift = new Shift(first, ({ number }, outcomes) => settled.push([number, outcomes]));
  begin(first);
  shift.layReady(second);
  // Of another thread, or of one that has ended.
  shift.hear({ batch: 7, outcomes: outcomesOf("another's") });
  expect(settled).toEqual([]);
  begin(second);
  // The message with the outcomes of the first is lost.
  shift.finish(outcomesOf("second"));
  expect(settled).toEqual([[2, outcomesOf("second")]]);
  expect(shift.end()).toEqual({ left: undefined, lost: [first] });
  // And nobody's answer is believed of a batch that has not been begun.
  const other = new Shift(fourth, ({ number }) => settled.push(number));
  begin(fourth);
  other.layReady(third);
  other.hear({ batch: 4, outcomes: [] });
  other.finish(outcomesOf("another's"));
  expect(settled).toEqual([[2, outcomesOf("second")], 4]);
});

test("a shift gives back what lies ready once, to one of those who ask, and is open for no more", () => {
  const [first, second] = [batchOf(1, 1), batchOf(2, 1)];
  const shift = new Shift(first, () => undefined);
  expect(shift.giveBack()).toBeUndefined();
  begin(first);
  expect(shift.giveBack()).toBeUndefined();
  shift.layReady(second);
  expect(shift.giveBack()?.jobs).toEqual(second.jobs);
  expect(Atomics.load(second.progress, PROGRESS.state)).toBe(BATCH.takenBack);
  expect([shift.giveBack(), shift.isOpen]).toEqual([undefined, false]);
});

test("a shift gives back nothing that its worker has begun", () => {
  const [first, second] = [batchOf(1, 1), batchOf(2, 1)];
  const shift = new Shift(first, () => undefined);
  begin(first);
  shift.layReady(second);
  begin(second);
  expect(shift.giveBack()).toBeUndefined();
  expect(Atomics.load(second.progress, PROGRESS.state)).toBe(BATCH.begun);
  shift.hear({ batch: 1, outcomes: [] });
  expect(shift.isOpen).toBe(true);
  expect(shift.end()).toEqual({ left: undefined, lost: [second] });
});

const SEED = seedFrom(20261128);

test(`every job is answered once, with its own answer, whatever ends the workers (seed ${SEED})`, async () => {
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
});

test.each([2, 3])(
  `each job is run once in %i threads that take from each other what lies ready (seed ${SEED})`,
  async (small) => {
    const random = new Random(SEED + small);
    const gate = shut();
    swing(gate, OPEN);
    const workers = open({ threads: { small, large: 1 } });
    const names = Array.from({ length: 2_000 }, (_, n) => `${n}`);
    const asked: Promise<unknown>[] = [];
    for (const name of names) {
      asked.push(workers.ask("fixture.gate", { gate, name }));
      if (random.next() < 0.2) await new Promise(setImmediate);
    }
    expect(await Promise.all(asked)).toEqual(names);
    await workers.stop();
    expect(Atomics.load(gate, PASSED)).toBe(names.length);
    expect(workers.stats()).toMatchObject({ jobs: names.length, restarts: { timeout: 0, memory: 0, exit: 0 } });
  },
);

/** One random job, and what it must come to. */
function anyJob(
  random: Random,
  n: number,
  deadly: string | undefined,
): { readonly input: Uint8Array; readonly end: unknown } {
  // Cloned, transferred, copied over several turns of the event loop, and at either side of the border of the lanes.
  const size = random.pick([8, 2_048, 2_049, 40_000, 700_000, LARGE - 1, LARGE, LARGE + 1]);
  const input = Buffer.alloc(deadly === undefined ? size : 40);
  input.write(deadly === undefined ? `${n}`.padStart(8) : `<!--${deadly}--><a n="${n}"/>`);
  return { input, end: deadly === undefined ? `${n}`.padStart(8) + size : "quarantined" };
}
const LARGE = 1_048_576;

test.each([1, 3])(
  `jobs of any size and owner are answered once and leave nothing behind in %i threads that end, hang and run out of memory, also when the pool is stopped meanwhile (seed ${SEED})`,
  async (small) => {
    const random = new Random(SEED + small);
    const workers = open({
      threads: { small, large: 1 },
      largeBytes: LARGE,
      jobTimeoutMs: 4_000,
      heapMiB: { small: 64, large: 64 },
      abreast: new Set(["fixture.octets"]),
      queueBytesMax: 1_000_000_000,
    });
    const [asked, expected]: [Promise<unknown>[], unknown[]] = [[], []];
    const deadly = new Map<number, string>([100, 101, 102, 103, 150].map((n) => [n + random.int(2) * 200, "exit"]));
    deadly.set(120 + random.int(20), "memory").set(170 + random.int(20), "busy");
    for (let n = 0; n < 400; n++) {
      const { input, end } = anyJob(random, n, deadly.get(n));
      expected.push(end);
      const owner = { fairnessKey: `${random.int(3)}`, own: random.next() < 0.3 };
      const answer = workers.ask("fixture.octets", { bytes: input }, owner) as Promise<{ readonly again: Uint8Array }>;
      asked.push(
        answer.then(
          ({ again }) => Buffer.from(again.subarray(0, 8)).toString() + again.length,
          (error: unknown) => (error instanceof JobQuarantined ? "quarantined" : error),
        ),
      );
      for (let turns = random.int(3); turns > 0; turns--) await new Promise(setImmediate);
    }
    await workers.stop();
    expect(await Promise.all(asked)).toEqual(expected);
    const { quarantined, lanes, refused } = workers.stats();
    expect({ quarantined, refused }).toEqual({ quarantined: deadly.size, refused: 0 });
    for (const lane of Object.values(lanes))
      expect(lane).toMatchObject({ running: 0, busyThreads: 0, queueDepth: 0, queueBytes: 0, ownWaiting: 0 });
    await expect(workers.ask("fixture.octets", { bytes: Buffer.alloc(8) })).rejects.toBeInstanceOf(PoolBusy);
  },
);
