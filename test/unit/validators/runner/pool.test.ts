/** The worker threads as their owner sees them, with documents that hang, end and exhaust their worker. */
import { readdirSync, readFileSync } from "node:fs";
import { platform } from "node:os";
import { gunzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { invoiceWithLines } from "../../../../bench/documents.js";
import { buildIfNeeded } from "../../../../deploy/build.mjs";
import { systemClock } from "../../../../engine/base/clock.js";
import { createMetrics } from "../../../../engine/base/metrics.js";
import { createValidators } from "../../../../engine/documents/accept/validators.js";
import { FairQueue } from "../../../../validators/lanes/fair-queue.js";
import { createPool, JobFailed, JobQuarantined, NoWorker, PoolBusy } from "../../../../validators/pool.js";
import type { PoolOptions, QuarantinedJob, ValidatorPool } from "../../../../validators/pool.js";
import type { Report } from "../../../../validators/protocol.js";
import { validateDocument } from "../../../../validators/validate.js";
import { SCAN_LIMITS } from "../../../../validators/xml/limits.js";
import { bundleWorker } from "../../../support/validators/worker-bundle.js";
import type { WorkerBundle } from "../../../support/validators/worker-bundle.js";

const OPTIONS = { limits: SCAN_LIMITS, day: "2026-11-20", fairnessKey: "0245:2020202020" } as const;
let bundle: WorkerBundle;
let production: WorkerBundle;
let pool: ValidatorPool | undefined;

beforeAll(async () => {
  bundle = await bundleWorker("fixtures/hostile-worker.ts");
  production = await bundleWorker("fixtures/production-entries.ts");
});
afterEach(async () => {
  await pool?.stop();
  pool = undefined;
});
afterAll(() => Promise.all([bundle.remove(), production.remove()]));

function open(changes: Partial<PoolOptions> = {}): ValidatorPool {
  pool = createPool({
    threads: { small: 1, large: 1 },
    queueMax: 1_000,
    queueBytesMax: 100_000_000,
    jobTimeoutMs: 30_000,
    preload: ["validate"],
    workerFile: bundle.file,
    ...changes,
  });
  return pool;
}

const trap = (marker: string, n: number): Buffer => Buffer.from(`<!--${marker}--><a n="${n}"/>`);

test("a document judged in a worker gets the report it would get in this thread, and its bytes stay with the caller", async () => {
  const bytes = invoiceWithLines(2);
  const copy = Buffer.from(bytes);
  const report = await open().validate(bytes, OPTIONS);
  expect(report).toEqual(validateDocument(bytes, OPTIONS));
  expect(report.valid).toBe(true);
  expect(bytes.equals(copy)).toBe(true);
});

test("a worker's heap has the bounds that it is given, whatever Node.js would give it", async () => {
  expect(await open({ heapMiB: { small: 100, large: 100 } }).ask("fixture.heap", {})).toEqual([100, 48]);
});

test("a thread links no modules for require, in which its end would end the process", async () => {
  expect(process.features.require_module).toBe(true);
  expect(await open().ask("fixture.require", {})).toBe(false);
});

test("octets of a large result are handed over by the worker: nothing is cloned in a turn of the event loop", async () => {
  const workers = open();
  const bytes = Buffer.alloc(1_000_000, 7);
  const { again, and } = (await workers.ask("fixture.octets", { bytes })) as {
    readonly again: Uint8Array;
    readonly and: readonly Uint8Array[];
  };
  expect(bytes.equals(again)).toBe(true);
  expect(and.map(({ length }) => length)).toEqual([bytes.length, 3]);
  expect(await workers.ask("fixture.left", { bytes })).toBe(0);
  await workers.ask("fixture.octets", { bytes: bytes.subarray(0, 10_000) });
  expect(await workers.ask("fixture.left", { bytes: bytes.subarray(0, 10_000) })).toBe(10_000);
});

test("both entries of production hand the octets of a large result over, and none of them is left in the thread", async () => {
  const workers = open({ workerFile: production.file, largeBytes: 0, preload: [], jobTimeoutMs: 20_000 });
  const bytes = invoiceWithLines(200);
  const { limits, day } = OPTIONS;
  for (const entry of ["engine", "validators"]) {
    const input = { bytes, options: { limits, day, compressLevel: 1 } };
    const { compressed = new Uint8Array(0) } = (await workers.ask(entry, { kind: "validate", input })) as Report;
    expect(gunzipSync(compressed).equals(bytes)).toBe(true);
    expect({ entry, left: await workers.ask("left", "something") }).toEqual({ entry, left: [0] });
  }
});

test("from the sources the built worker is found", async () => {
  await buildIfNeeded();
  pool = createPool({ threads: { small: 1, large: 1 }, queueMax: 10, queueBytesMax: 1_000_000, jobTimeoutMs: 20_000 });
  expect((await pool.validate(invoiceWithLines(1), OPTIONS)).valid).toBe(true);
});

test("under load documents travel in batches, and every one gets its own report", async () => {
  const workers = open();
  const numbers = Array.from({ length: 100 }, (_, n) => `N-${n}`);
  const reports = await Promise.all(
    numbers.map((number) => workers.validate(invoiceWithLines(1, { number }), OPTIONS)),
  );
  expect(reports.map(({ facts }) => facts?.documentNumber)).toEqual(numbers);
  const { batches, jobs } = workers.stats();
  expect(jobs).toBe(100);
  expect(batches).toBeLessThan(20);
});

test("what nobody waits for one by one travels in batches of twice as many", async () => {
  const workers = open({ abreast: new Set(["fixture.octets"]) });
  const batchesOf = async (kind: string): Promise<number> => {
    const before = workers.stats().batches;
    await Promise.all(Array.from({ length: 97 }, () => workers.ask(kind, { bytes: Buffer.alloc(8) })));
    return workers.stats().batches - before;
  };
  // The first job finds an idle thread and goes alone, and 96 follow in 6 batches of 16 or 3 of 32.
  expect(await batchesOf("fixture.left")).toBe(7);
  expect(await batchesOf("fixture.octets")).toBe(4);
});

test.each([
  ["busy", "timeout"],
  ["exit", "exit"],
  ["memory", "memory"],
] as const)(
  "a document that makes two workers end (%s) is quarantined; those in its batch get their reports",
  async (marker, reason) => {
    const poisoned: QuarantinedJob[] = [];
    const workers = open({
      onQuarantine: (job) => {
        poisoned.push(job);
      },
      heapMiB: { small: 64, large: 64 },
      // Only what hangs may reach the time limit, however busy the machine is.
      ...(reason === "timeout" ? { jobTimeoutMs: 1_000 } : {}),
    });
    const bad = trap(marker, 1);
    const documents = [
      ...Array.from({ length: 8 }, (_, n) => invoiceWithLines(1, { number: `A-${n}` })),
      bad,
      ...Array.from({ length: 8 }, (_, n) => invoiceWithLines(1, { number: `B-${n}` })),
    ];
    const reports = await Promise.all(documents.map((bytes) => workers.validate(bytes, OPTIONS)));
    expect(reports.filter(({ valid }) => valid)).toHaveLength(16);
    expect(reports[8]?.findings).toMatchObject([{ ruleId: "ENGINE-QUARANTINED", severity: "fatal" }]);
    expect(workers.stats()).toMatchObject({ quarantined: 1, restarts: { [reason]: 2 } });
    expect(poisoned).toMatchObject([
      { kind: "validate", reason, sha256: reports[8]?.payloadSha256, input: { bytes: bad } },
    ]);
    // The same bytes again are answered without a worker.
    expect((await workers.validate(bad, OPTIONS)).findings[0]?.ruleId).toBe("ENGINE-QUARANTINED");
    expect(workers.stats().restarts[reason]).toBe(2);
  },
);

test("hostile documents of every kind are answered by name, and the same worker goes on", async () => {
  const workers = open({ jobTimeoutMs: 20_000, largeBytes: 1_000_000_000 });
  const good = invoiceWithLines(1).toString();
  const into = (xml: string): string => good.replace("<cbc:BuyerReference>", `${xml}<cbc:BuyerReference>`);
  const amount = (value: string): string => good.replace(/(<cbc:PayableAmount currencyID="EUR">)[^<]*/, `$1${value}`);
  const hostile: readonly (readonly [xml: string | Buffer, rule: string])[] = [
    [`<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "${"&a;".repeat(1_000)}">]><a>${"&b;".repeat(1_000)}</a>`, "XML-DOCTYPE"],
    ['<!DOCTYPE a [<!ENTITY x SYSTEM "http://169.254.169.254/">]><a>&x;</a>', "XML-DOCTYPE"],
    ["<a>".repeat(100_000), "XML-LIMIT-DEPTH"],
    [`<a ${Array.from({ length: 300_000 }, (_, i) => `b${i}=""`).join(" ")}/>`, "XML-LIMIT-ATTRIBUTES"],
    [`<a>${Array.from({ length: 300_000 }, (_, i) => `<b xmlns:p${i}="u"/>`).join("")}</a>`, "XML-LIMIT-NAMESPACES"],
    [into("<cbc:Note>x</cbc:Note>".repeat(200_000)), "UBL-GRAMMAR-ORDER"],
    [into("<cac:AllowanceCharge/>".repeat(100_000)), "UBL-GRAMMAR-ORDER"],
    [Buffer.alloc(100_000_000, 0x20), "XML-LIMIT-PAYLOAD"],
    [`<a>${"x".repeat(19_000_000)}</a>`, "UBL-ROOT"],
    [good.replace("<cbc:BuyerReference>", "<cbc:BuyerReference>\0"), "XML-CHARACTER"],
    [Buffer.from(good, "utf16le"), "XML-ENCODING"],
    [good.slice(0, 2_000), "XML-TRUNCATED"],
    [good + good, "XML-DECLARATION"],
    [`${good}<Invoice/>`, "XML-SECOND-ROOT"],
    [amount("1e999999"), "UBL-GRAMMAR-VALUE"],
    [amount("9".repeat(400)), "BR-CO-16"],
    [amount("9".repeat(1_000_000)), "!err:FORG0001"],
    [good.replace(/(<cbc:IssueDate>)[^<]*/, "$12026-02-30"), "UBL-GRAMMAR-VALUE"],
    [good.replace(/(<cbc:IssueDate>)[^<]*/, "$1-0001-01-01"), "PEPPOL-EN16931-F001"],
  ];
  for (const [xml, rule] of hostile) {
    const report = await workers.validate(Buffer.from(xml), OPTIONS);
    expect([rule, report.valid]).toEqual([rule, false]);
    expect(report.findings.map(({ ruleId }) => ruleId)).toContain(rule);
  }
  expect((await workers.validate(invoiceWithLines(1), OPTIONS)).valid).toBe(true);
  expect(workers.stats().restarts).toEqual({ timeout: 0, memory: 0, exit: 0 });
});

test("a full queue refuses with PoolBusy, and what it had accepted is finished", async () => {
  const workers = open({ queueMax: 5 });
  const outcomes = await Promise.allSettled(
    Array.from({ length: 12 }, (_, n) =>
      workers.validate(invoiceWithLines(1, { number: `${n}` }), { ...OPTIONS, fairnessKey: `${n}` }),
    ),
  );
  const refused = outcomes.filter((o) => o.status === "rejected");
  expect(refused.map((o) => o.reason as unknown)).toSatisfy((reasons: unknown[]) =>
    reasons.every((reason) => reason instanceof PoolBusy && reason.lane === "small"),
  );
  // One was taken by the idle thread at once, five waited.
  expect(outcomes.length - refused.length).toBe(6);
  expect(workers.stats().refused).toBe(6);
});

test("a participant with one document does not wait for another's two hundred", async () => {
  const workers = open();
  const done: string[] = [];
  const send = (fairnessKey: string): Promise<unknown> =>
    workers.validate(invoiceWithLines(1), { ...OPTIONS, fairnessKey }).then(() => done.push(fairnessKey));
  await Promise.all([...Array.from({ length: 200 }, () => send("many")), send("one")]);
  expect(done).toHaveLength(201);
  expect(done.indexOf("one")).toBeLessThan(40);
});

test("waiting bytes are bounded too", async () => {
  const bytes = invoiceWithLines(1);
  const workers = open({ queueBytesMax: bytes.length + 1_000 });
  const outcomes = await Promise.allSettled(
    [1, 2, 3, 4].map((n) => workers.validate(bytes, { ...OPTIONS, fairnessKey: `${n}` })),
  );
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "rejected"]);
});

test("a large document has a lane of its own: small ones are judged while it hangs", async () => {
  const workers = open({ jobTimeoutMs: 2_000, largeBytes: 20_000 });
  let largeDone = false;
  const large = workers
    .validate(Buffer.concat([trap("busy", 1), Buffer.alloc(30_000, " ")]), OPTIONS)
    .then((report) => {
      largeDone = true;
      return report;
    });
  const small = await Promise.all([1, 2, 3].map((n) => workers.validate(invoiceWithLines(n), OPTIONS)));
  expect(small.every(({ valid }) => valid)).toBe(true);
  expect(largeDone).toBe(false);
  expect(workers.stats().lanes.large).toMatchObject({ running: 1, busyThreads: 1 });
  expect((await large).findings[0]?.ruleId).toBe("ENGINE-QUARANTINED");
});

test("a handler that throws fails its own job only", async () => {
  const workers = open();
  const broken = workers.run("as4.seal", {} as never);
  const good = workers.validate(invoiceWithLines(1), OPTIONS);
  await expect(broken).rejects.toBeInstanceOf(JobFailed);
  expect((await good).valid).toBe(true);
  expect(workers.stats().restarts).toEqual({ timeout: 0, memory: 0, exit: 0 });
});

test("signature work runs in the same workers", async () => {
  const answer = await open().run("as4.check", { soap: Buffer.from("<a/>") });
  expect(answer.kind).toBe("refused");
});

test("other kinds of work that kill two workers are refused with JobQuarantined", async () => {
  const workers = open();
  const input = { document: new Uint8Array(), bytes: trap("exit", 2) };
  await expect(workers.run("enveloped.verify", input)).rejects.toBeInstanceOf(JobQuarantined);
  await expect(workers.run("enveloped.verify", input)).rejects.toBeInstanceOf(JobQuarantined);
  expect(workers.stats().restarts.exit).toBe(2);
});

test("stop finishes what was accepted and then refuses", async () => {
  const workers = open();
  const reports = Promise.all(
    Array.from({ length: 20 }, (_, n) => workers.validate(invoiceWithLines(1, { number: `${n}` }), OPTIONS)),
  );
  await workers.stop();
  expect((await reports).every(({ valid }) => valid)).toBe(true);
  await expect(workers.validate(invoiceWithLines(1), OPTIONS)).rejects.toBeInstanceOf(PoolBusy);
});

test("a worker that cannot start fails the job instead of being tried for ever, and its owner hears why", async () => {
  const told: unknown[] = [];
  const workers = open({
    workerFile: `${bundle.file}.missing`,
    onNoWorker: (lane, { code }) => {
      told.push([lane, code]);
    },
  });
  await expect(workers.validate(invoiceWithLines(1), OPTIONS)).rejects.toBeInstanceOf(NoWorker);
  expect(told).toEqual([["small", "ERR_MODULE_NOT_FOUND"]]);
  expect(workers.stats().quarantined).toBe(0);
});

test("who sends while no thread can be started is told to come again, for nothing is wrong with the document", async () => {
  const { inspect, parse } = createValidators(open({ workerFile: `${bundle.file}.missing` }), createMetrics());
  const options = { fairnessKey: OPTIONS.fairnessKey, receivedAt: systemClock.now() };
  await expect(inspect(invoiceWithLines(1), options)).rejects.toMatchObject({ reason: "TEMPORARY" });
  await expect(parse(invoiceWithLines(1), options)).rejects.toMatchObject({ reason: "TEMPORARY" });
});

test("keys take turns in the queue, and items of one key keep their order", () => {
  const queue = new FairQueue<{ readonly name: string; readonly size: number }>();
  for (const name of ["a1", "a2", "a3", "b1", "c1", "c2"]) queue.push(name.charAt(0), { name, size: 10 });
  expect([queue.held, queue.heldBy("a"), queue.heldBy("d")]).toEqual([
    { jobs: 6, bytes: 60 },
    { jobs: 3, bytes: 30 },
    { jobs: 0, bytes: 0 },
  ]);
  expect(Array.from({ length: 6 }, () => queue.take()?.name)).toEqual(["a1", "b1", "c1", "a2", "c2", "a3"]);
  expect(queue.take()).toBeUndefined();
  expect(queue.held).toEqual({ jobs: 0, bytes: 0 });
});

/** The niceness of every thread of this process; on Linux each has its own. One that ends meanwhile is left out. */
const niceness = (): readonly number[] =>
  readdirSync("/proc/self/task").flatMap((task) => {
    try {
      const stat = readFileSync(`/proc/self/task/${task}/stat`, "latin1");
      return [Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[16])];
    } catch (error) {
      if (error instanceof Error && "code" in error && ["ENOENT", "ESRCH"].includes(String(error.code))) return [];
      throw error;
    }
  });

test.skipIf(platform() !== "linux")(
  "the threads for large documents stand behind the event loop and the threads for small ones, and nobody else does",
  async () => {
    const behind = 3;
    const before = niceness();
    const workers = open({ largeBytes: 10_000, niceness: { small: 0, large: behind } });
    await workers.validate(invoiceWithLines(1), OPTIONS);
    const [own = 0] = before;
    const later = (): number => niceness().filter((value) => value === own + behind).length;
    const started = later();
    await workers.validate(invoiceWithLines(40), OPTIONS);
    expect(workers.stats().lanes.large.running).toBe(0);
    expect(later() - started).toBe(1);
  },
);
