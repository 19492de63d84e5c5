/**
 * Worker lanes admit by key: whoever fills what one key may hold waits or is refused alone, the engine's own work is
 * never turned away, and what a stranger has poisoned costs others nothing.
 */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";

import { invoiceWithLines } from "../../../bench/documents.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { createValidators } from "../../../engine/documents/accept/validators.js";
import { JobQuarantined, createPool, PoolBusy } from "../../../validators/pool.js";
import type { JobOwner, PoolOptions, ValidatorPool } from "../../../validators/pool.js";
import { SCAN_LIMITS } from "../../../validators/xml/limits.js";
import { bundleWorker } from "../../support/validators/worker-bundle.js";
import type { WorkerBundle } from "../../support/validators/worker-bundle.js";

const OPTIONS = { limits: SCAN_LIMITS, day: "2026-11-20" } as const;
let bundle: WorkerBundle;
let pool: ValidatorPool;

beforeAll(async () => {
  bundle = await bundleWorker("fixtures/hostile-worker.ts");
});
afterEach(() => pool.stop());
afterAll(() => bundle.remove());

function open(changes: Partial<PoolOptions> = {}): ValidatorPool {
  pool = createPool({
    threads: { small: 1, large: 1 },
    queueMax: 40,
    queueBytesMax: 100_000_000,
    jobTimeoutMs: 1_000,
    preload: ["validate"],
    workerFile: bundle.file,
    ...changes,
  });
  return pool;
}

/** What became of a job: `done`, or the name of the error. */
const ask = (owner: JobOwner, bytes = invoiceWithLines(1)): Promise<string> =>
  pool.ask("validate", { bytes, options: OPTIONS }, owner).then(
    () => "done",
    (error: unknown) => (error instanceof PoolBusy ? "busy" : "failed"),
  );
const count = (outcomes: readonly string[], outcome: string): number =>
  outcomes.filter((one) => one === outcome).length;

test("one key holds a quarter of a lane's queue, and every other key is still taken", async () => {
  open();
  const flood = Array.from({ length: 60 }, () => ask({ fairnessKey: "as4/192.0.2.1" }));
  const others = Array.from({ length: 20 }, (_, n) => ask({ fairnessKey: `0245:${n}` }));
  // One went to the idle thread at once, ten wait: a quarter of forty.
  expect(count(await Promise.all(flood), "done")).toBe(11);
  expect(count(await Promise.all(others), "done")).toBe(20);
});

test("one key holds a quarter of a lane's bytes, and every other key is still taken", async () => {
  const bytes = invoiceWithLines(1);
  open({ queueBytesMax: 20 * (bytes.length + 100) });
  const flood = Array.from({ length: 15 }, () => ask({ fairnessKey: "a" }, bytes));
  const others = Array.from({ length: 10 }, (_, n) => ask({ fairnessKey: `b${n}` }, bytes));
  expect(count(await Promise.all(flood), "done")).toBe(6);
  expect(count(await Promise.all(others), "done")).toBe(10);
});

test("a key with nothing waiting is let in with a job larger than its share", async () => {
  const bytes = invoiceWithLines(20);
  open({ queueBytesMax: 2 * (bytes.length + 100) });
  const outcomes = await Promise.all([
    ask({ fairnessKey: "a" }),
    ask({ fairnessKey: "a" }),
    ask({ fairnessKey: "b" }, bytes),
  ]);
  expect(outcomes).toEqual(["done", "done", "done"]);
});

test("a lane that is full for everybody takes our own sealing", async () => {
  open({ queueMax: 8 });
  const flood = Array.from({ length: 30 }, (_, n) => ask({ fairnessKey: `a${n}` }));
  const stranger = ask({ fairnessKey: "late" });
  const ours = Array.from({ length: 5 }, () => ask({ fairnessKey: "as4", own: true }));
  expect(await stranger).toBe("busy");
  expect(await Promise.all(ours)).toEqual(["done", "done", "done", "done", "done"]);
  expect(count(await Promise.all(flood), "busy")).toBe(21);
});

test("a lane queues a quarter of our own work, the rest waits in front of it, and all of it is done in the order of its coming", async () => {
  open({ queueMax: 8, batchMax: 1 });
  const order: number[] = [];
  const jobs = Array.from({ length: 20 }, (_, n) =>
    ask({ fairnessKey: "as4", own: true }).then((outcome) => {
      order.push(n);
      return outcome;
    }),
  );
  // One went to the idle thread at once, two are a quarter of eight.
  expect(pool.stats().lanes.small).toMatchObject({ running: 1, queueDepth: 2, ownWaiting: 17 });
  const others = Array.from({ length: 2 }, (_, n) => ask({ fairnessKey: `b${n}` }));
  expect(count(await Promise.all(others), "done")).toBe(2);
  expect(order.length).toBeLessThan(20);
  expect(count(await Promise.all(jobs), "done")).toBe(20);
  expect(order).toEqual(Array.from({ length: 20 }, (_, n) => n));
  expect(pool.stats()).toMatchObject({ refused: 0, lanes: { small: { queueDepth: 0, ownWaiting: 0 } } });
});

test("a lane queues a quarter of our own octets, but always one job, and a pool that stops does what has come", async () => {
  const bytes = invoiceWithLines(1);
  open({ queueBytesMax: 12 * (bytes.length + 100), batchMax: 1 });
  const jobs = Array.from({ length: 10 }, () => ask({ own: true }, bytes));
  expect(pool.stats().lanes.small).toMatchObject({ queueDepth: 3, ownWaiting: 6 });
  const large = ask({ own: true }, invoiceWithLines(60));
  await pool.stop();
  expect(count(await Promise.all([...jobs, large]), "done")).toBe(11);
});

test("our own jobs whose worker dies are counted out again, and those in front of the lane come in", async () => {
  open({ queueMax: 8, batchMax: 2 });
  const poison = Buffer.from('<!--exit--><a n="2"/>');
  const jobs = Array.from({ length: 12 }, (_, n) => ask({ own: true }, n % 4 === 1 ? poison : undefined));
  const outcomes = await Promise.all(jobs);
  expect([count(outcomes, "done"), count(outcomes, "failed")]).toEqual([9, 3]);
  expect(pool.stats().lanes.small).toMatchObject({ queueDepth: 0, queueBytes: 0, ownWaiting: 0 });
  expect(await Promise.all(Array.from({ length: 6 }, () => ask({ own: true })))).not.toContain("failed");
});

test("more of our own work than its callers may have under way is refused, not kept", async () => {
  open({ queueMax: 8, ownWaitingMax: 4 });
  const outcomes = await Promise.all(Array.from({ length: 12 }, () => ask({ own: true })));
  expect([count(outcomes, "done"), count(outcomes, "busy")]).toEqual([7, 5]);
});

test("our own work takes its turn beside a key that has filled its share", async () => {
  open({ batchMax: 1 });
  const order: string[] = [];
  const noted = (name: string, owner: JobOwner): Promise<void> =>
    ask(owner).then(() => {
      order.push(name);
    });
  await Promise.all([
    ...Array.from({ length: 11 }, () => noted("flood", { fairnessKey: "a" })),
    noted("ours", { fairnessKey: "as4", own: true }),
  ]);
  expect(order.indexOf("ours")).toBeLessThanOrEqual(2);
});

test("once something is in quarantine no other job is hashed, and the poison is known by its bytes", async () => {
  open();
  const judge = (xml: string): Promise<unknown> => pool.ask("validate", { bytes: Buffer.from(xml), options: OPTIONS });
  await expect(judge('<!--exit--><a n="1"/>')).rejects.toBeInstanceOf(JobQuarantined);
  await Promise.all(Array.from({ length: 9 }, (_, n) => ask({ fairnessKey: "a" }, invoiceWithLines(1 + n))));
  await judge('<!--fine--><a n="1"/>');
  expect(pool.stats()).toMatchObject({ quarantined: 1, hashed: 0 });
  await expect(judge('<!--exit--><a n="1"/>')).rejects.toBeInstanceOf(JobQuarantined);
  expect(pool.stats()).toMatchObject({ hashed: 1, restarts: { exit: 2 } });
});

test("a status of another access point is read by a worker, as a job with a key, and comes back as plain values", async () => {
  open();
  const jobs: (readonly [kind: string, owner: JobOwner | undefined])[] = [];
  const watched: ValidatorPool = {
    ...pool,
    run: (kind, input, owner) => {
      jobs.push([kind, owner]);
      return pool.run(kind, input, owner);
    },
  };
  const UBL = "urn:oasis:names:specification:ubl:schema:xsd";
  const status = Buffer.from(
    `<ApplicationResponse xmlns="${UBL}:ApplicationResponse-2" xmlns:cbc="${UBL}:CommonBasicComponents-2">` +
      `<cbc:ID>S-1</cbc:ID></ApplicationResponse>`,
  );
  expect(await createValidators(watched, createMetrics()).response(status)).toMatchObject({ id: "S-1" });
  expect(jobs).toEqual([["response", { fairnessKey: "responses" }]]);
});
