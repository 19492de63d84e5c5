/**
 * The worker threads: two lanes, batches under load, bounded queues, a time limit for each document, and quarantine for
 * what kills workers. The only file that touches Piscina.
 */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { move, Piscina, transferableSymbol, valueSymbol } from "piscina";
import { copyForTransfer, sizeOf } from "./plain.js";
import { LANES, PROGRESS } from "./protocol.js";
import type { Batch, Job, JobOutcome, Lane, RestartReason, TaskKind, Tasks, ValidateOptions } from "./protocol.js";
import { Quarantine, quarantinedReport } from "./quarantine.js";
import type { Report } from "./report.js";
import { FairQueue } from "./queues/fair-queue.js";
import { OwnLine } from "./queues/own-line.js";
import { provideWrappingKey } from "./wss/keys.js";

export { quarantinedReport } from "./quarantine.js";

/** What the owner decides. The numbers come from engine/base/limits.ts. */
export interface PoolOptions {
  /** Threads of the two lanes. The large lane's threads start when they are needed. */
  readonly threads: Readonly<Record<Lane, number>>;
  /** Jobs that may wait in one lane. */
  readonly queueMax: number;
  /** Bytes that may wait in one lane. */
  readonly queueBytesMax: number;
  /** Share of a lane's queue, and of its bytes, that jobs of one key may hold. Default a quarter. */
  readonly keyShare?: number;
  /**
   * Own jobs that may wait in front of a lane in which they hold as much as one key may, beside what all others hold.
   * Default 1,024.
   */
  readonly ownWaitingMax?: number;
  /** Time of one job in a worker, milliseconds; then its worker is killed. */
  readonly jobTimeoutMs: number;
  /** Time a worker may take to start, milliseconds. Default 30,000. */
  readonly startTimeoutMs?: number;
  /** Jobs in one batch. Default 16: measured + 23 % documents per second against one. */
  readonly batchMax?: number;
  /**
   * Kinds of jobs that nobody waits for one by one. A batch holds twice as many of them: what comes back together
   * shares statements, while whoever asked for a job waits for the whole of its batch. Default none.
   */
  readonly abreast?: ReadonlySet<string>;
  /** Jobs larger than this go to the large lane. Default 262,144 bytes, a document that takes about 4 ms. */
  readonly largeBytes?: number;
  /** Heap of one worker, MiB. Default 256 for the small lane, 1,024 for the large one. Buffers are outside of it. */
  readonly heapMiB?: Readonly<Record<Lane, number>>;
  /** Hashes of jobs that are refused because they killed two workers. Default 1,000. */
  readonly quarantineMax?: number;
  /**
   * Steps of niceness by which the threads of a lane stand behind the event loop, where the system has such. Default
   * none.
   */
  readonly niceness?: Readonly<Record<Lane, number>>;
  /** Kinds of tasks that workers make ready before their first job. */
  readonly preload?: readonly string[];
  /** Called once for each job that goes into quarantine, so that the owner can keep its bytes for the operator. */
  readonly onQuarantine?: (job: QuarantinedJob) => void;
  /** Called after each job that was done, with the time it took in its worker. */
  readonly onDone?: (job: { readonly kind: string; readonly lane: Lane; readonly time_ms: number }) => void;
  /**
   * Resolves in a turn of the event loop in which a slice of a large job may be copied. Default the next one.
   */
  readonly turn?: () => Promise<void>;
  /** Another worker entry, which makes its runner of more loaders; see workerEntry. Default: that of this package. */
  readonly workerFile?: string;
}

export interface QuarantinedJob {
  readonly kind: string;
  readonly sha256: string;
  readonly reason: RestartReason;
  readonly input: unknown;
}

interface LaneStats {
  /** Jobs waiting. */
  readonly queueDepth: number;
  readonly queueBytes: number;
  /** Own jobs of the engine that wait for a place in the queue. */
  readonly ownWaiting: number;
  /** Jobs in workers. */
  readonly running: number;
  /** Threads with work. */
  readonly busyThreads: number;
  readonly threads: number;
  /** Share of its threads' time that the lane has used since it started, 0 to 1. */
  readonly utilisation: number;
}

/** A snapshot for metrics; counters only grow. */
interface PoolStats {
  readonly lanes: Readonly<Record<Lane, LaneStats>>;
  readonly restarts: Readonly<Record<RestartReason, number>>;
  readonly batches: number;
  readonly jobs: number;
  readonly refused: number;
  readonly quarantined: number;
  /** Jobs that were hashed because they looked like one in quarantine. */
  readonly hashed: number;
}

/** Whose a job is. */
export interface JobOwner {
  /** Jobs of one key take turns with those of others, and hold a share of a lane's queue at most. Default "". */
  readonly fairnessKey?: string;
  /**
   * The engine's own work on what it has accepted, whose number its caller bounds: no full lane turns it away. What
   * finds the places of own work taken waits for one in front of the queue. Default false.
   */
  readonly own?: boolean;
}

/**
 * The queue of a lane, or the share of a key in it, is full, or the pool is stopping. Nothing was done; the caller may
 * try again later.
 */
export class PoolBusy extends Error {
  readonly lane: Lane;
  constructor(lane: Lane) {
    super(`the ${lane} lane takes no more jobs`);
    this.name = "PoolBusy";
    this.lane = lane;
  }
}

/** The job was refused because equal bytes have killed two workers. A validation gets a report instead. */
export class JobQuarantined extends Error {
  readonly sha256: string;
  constructor(sha256: string) {
    super("the job is in quarantine");
    this.name = "JobQuarantined";
    this.sha256 = sha256;
  }
}

/** The job's handler threw, or no worker could be started: a bug or a broken installation. Text for logs only. */
export class JobFailed extends Error {
  readonly workerStack: string;
  constructor(message: string, workerStack = "") {
    super(message);
    this.name = "JobFailed";
    this.workerStack = workerStack;
  }
}

export interface ValidatorPool {
  /**
   * Judges one document. The bytes must not change until the promise settles.
   * @param options.fairnessKey  documents of one key take turns with those of others
   * @throws PoolBusy, JobFailed
   */
  validate(bytes: Uint8Array, options: ValidateOptions & { readonly fairnessKey: string }): Promise<Report>;
  /** Runs a task of any kind. @throws PoolBusy, JobQuarantined, JobFailed */
  run<K extends TaskKind>(kind: K, input: Tasks[K]["input"], owner?: JobOwner): Promise<Tasks[K]["output"]>;
  /**
   * Runs a task that another worker entry has added; who asks knows what it answers.
   * @throws PoolBusy, JobQuarantined, JobFailed
   */
  ask(kind: string, input: unknown, owner?: JobOwner): Promise<unknown>;
  stats(): PoolStats;
  /** Takes no more jobs, finishes those it has, ends the threads. */
  stop(): Promise<void>;
}

/** Starts the worker threads and the queues in front of them. Close the pool to end the threads. */
export function createPool(options: PoolOptions): ValidatorPool {
  // Workers inherit it at their start: without it they could not use the private keys that tasks carry.
  provideWrappingKey();
  return new Pool(options);
}

/** In a worker: an answer that takes these buffers along instead of being cloned with them. */
export const handedOver = (answer: object, buffers: readonly ArrayBuffer[]): unknown =>
  move({ [transferableSymbol]: buffers, [valueSymbol]: answer });

/** A job that kills this many workers is quarantined. */
const KILLS_MAX = 2;
/** Workers that may be lost around a job without its fault, before it is given up. */
const FAILED_STARTS_MAX = 3;
/** Threads above the minimum of a lane end after so long without work. */
const IDLE_THREAD_MS = 60_000;
/** Of a lane's queue, for one key and for own work. */
const KEY_SHARE = 0.25;
/** The watch looks this often within the time of one job. */
const WATCH_STEPS = 4;

interface Asked {
  readonly kind: string;
  readonly input: unknown;
  readonly size: number;
  readonly owner: Required<JobOwner>;
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** A job in its lane, which counts what went wrong around it. */
class QueuedJob implements Asked {
  readonly kind: string;
  readonly input: unknown;
  readonly size: number;
  readonly owner: Required<JobOwner>;
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: Error) => void;
  /** Workers that died while they ran it. */
  kills = 0;
  /** Workers that died around it without having begun. */
  failedStarts = 0;

  constructor({ kind, input, size, owner, resolve, reject }: Asked) {
    this.kind = kind;
    this.input = input;
    this.size = size;
    this.owner = owner;
    this.resolve = resolve;
    this.reject = reject;
  }
}

/**
 * The file of a worker entry. From dist/ it is a neighbour of this package; from the TypeScript sources it is the built
 * one.
 * @param path  from the folder above this package, `validators/worker.js`
 */
export function workerEntry(path: string): string {
  const built = fileURLToPath(new URL(`../${path}`, import.meta.url));
  return existsSync(built) ? built : fileURLToPath(new URL(`../dist/${path}`, import.meta.url));
}

class Pool implements ValidatorPool {
  readonly #options: PoolOptions;
  readonly #largeBytes: number;
  readonly #quarantine: Quarantine;
  readonly #lanes: Readonly<Record<Lane, LaneOfWorkers>>;
  readonly #counts = { batches: 0, jobs: 0, refused: 0, quarantined: 0, restarts: { timeout: 0, memory: 0, exit: 0 } };
  #stopping = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#largeBytes = options.largeBytes ?? 262_144;
    this.#quarantine = new Quarantine(options.quarantineMax ?? 1_000);
    const events: LaneEvents = {
      onBatch: (jobs) => {
        this.#counts.batches++;
        this.#counts.jobs += jobs;
      },
      onRestart: (reason) => {
        this.#counts.restarts[reason]++;
      },
      onPoison: (job, reason) => {
        this.#isolate(job, reason);
      },
    };
    this.#lanes = {
      small: new LaneOfWorkers("small", options, events),
      large: new LaneOfWorkers("large", options, events),
    };
  }

  async validate(
    bytes: Uint8Array,
    { fairnessKey, ...options }: ValidateOptions & { readonly fairnessKey: string },
  ): Promise<Report> {
    try {
      return await this.run("validate", { bytes, options }, { fairnessKey });
    } catch (error) {
      if (error instanceof JobQuarantined) return quarantinedReport(error.sha256);
      throw error;
    }
  }

  run<K extends TaskKind>(kind: K, input: Tasks[K]["input"], owner?: JobOwner): Promise<Tasks[K]["output"]> {
    return this.ask(kind, input, owner) as Promise<Tasks[K]["output"]>;
  }

  ask(kind: string, input: unknown, { fairnessKey = "", own = false }: JobOwner = {}): Promise<unknown> {
    const size = sizeOf(input);
    const lane = this.#lanes[size > this.#largeBytes ? "large" : "small"];
    return new Promise((resolve, reject) => {
      const quarantined = this.#quarantine.find(kind, input);
      if (quarantined !== undefined) throw new JobQuarantined(quarantined);
      const owner = { fairnessKey, own };
      if (this.#stopping || !lane.accepts(owner, size)) {
        this.#counts.refused++;
        throw new PoolBusy(lane.lane);
      }
      lane.enqueue(new QueuedJob({ kind, input, size, owner, resolve, reject }));
    });
  }

  #isolate(job: QueuedJob, reason: RestartReason): void {
    const sha256 = this.#quarantine.add(job.kind, job.input);
    this.#counts.quarantined++;
    job.reject(new JobQuarantined(sha256));
    this.#options.onQuarantine?.({ kind: job.kind, sha256, reason, input: job.input });
  }

  stats(): PoolStats {
    const { restarts, ...counts } = this.#counts;
    return {
      ...counts,
      hashed: this.#quarantine.hashed,
      restarts: { ...restarts },
      lanes: { small: this.#lanes.small.stats(), large: this.#lanes.large.stats() },
    };
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(LANES.map((lane) => this.#lanes[lane].stop()));
  }
}

interface LaneEvents {
  readonly onBatch: (jobs: number) => void;
  readonly onRestart: (reason: RestartReason) => void;
  readonly onPoison: (job: QueuedJob, reason: RestartReason) => void;
}

/** The part of a place in a batch that a job takes for which nobody waits. */
const PLACE_ABREAST = 0.5;

/** One lane: a fair queue before a Piscina that never queues itself. */
class LaneOfWorkers {
  readonly lane: Lane;
  readonly #options: PoolOptions;
  readonly #events: LaneEvents;
  readonly #threads: number;
  readonly #batchMax: number;
  readonly #queue = new FairQueue<QueuedJob>();
  readonly #own: OwnLine<QueuedJob>;
  /** Jobs of batches whose worker was lost: each runs alone now. */
  // Bounded by the jobs under way: only what killed a worker is tried alone.
  readonly #alone: QueuedJob[] = [];
  readonly #piscina: Piscina<Batch, JobOutcome[]>;
  #waitingBytes = 0;
  #runningJobs = 0;
  #busyThreads = 0;
  // Bounded by those who stop the pool: one.
  readonly #whenIdle: (() => void)[] = [];
  // Bounded by the threads.
  readonly #batches = new Map<AbortController, Int32Array>();

  constructor(lane: Lane, options: PoolOptions, events: LaneEvents) {
    this.lane = lane;
    this.#options = options;
    this.#events = events;
    this.#threads = Math.max(1, options.threads[lane]);
    this.#batchMax = lane === "large" ? 1 : (options.batchMax ?? 16);
    const { queueMax, queueBytesMax, keyShare = KEY_SHARE, ownWaitingMax = 1_024 } = options;
    this.#own = new OwnLine(
      { jobs: queueMax * keyShare, bytes: queueBytesMax * keyShare, line: ownWaitingMax },
      (job) => {
        this.#wait(job);
      },
    );
    this.#piscina = new Piscina<Batch, JobOutcome[]>({
      filename: options.workerFile ?? workerEntry("validators/worker.js"),
      minThreads: lane === "small" ? this.#threads : 0,
      maxThreads: this.#threads,
      concurrentTasksPerWorker: 1,
      idleTimeout: IDLE_THREAD_MS,
      maxQueue: this.#threads,
      execArgv: [],
      recordTiming: true,
      resourceLimits: { maxOldGenerationSizeMb: options.heapMiB?.[lane] ?? (lane === "small" ? 256 : 1_024) },
      workerData: {
        preload: options.preload ?? [],
        niceness: options.niceness?.[lane] ?? 0,
        // To look through a result costs a small job more than its clone does.
        handsOver: lane === "large",
      },
    });
    // A worker died without a task: it could not start, and Piscina starts no other by itself. Batches that wait for
    // one are given back, and so ask for a new one.
    this.#piscina.on("error", () => {
      if (this.#piscina.threads.length > 0) return;
      for (const abort of this.#waitingForStart()) abort.abort();
    });
  }

  accepts({ fairnessKey, own }: Required<JobOwner>, size: number): boolean {
    if (own) return this.#own.isOpen;
    const { queueMax, queueBytesMax, keyShare = KEY_SHARE } = this.#options;
    const waiting = this.#waiting;
    // One job of any size may wait: whether it is too large is for the worker to say.
    if (waiting === 0) return true;
    if (waiting >= queueMax || this.#waitingBytes + size > queueBytesMax) return false;
    const held = this.#queue.heldBy(fairnessKey);
    if (held.jobs === 0) return true;
    return held.jobs < queueMax * keyShare && held.bytes + size <= queueBytesMax * keyShare;
  }

  get #waiting(): number {
    return this.#queue.held.jobs + this.#alone.length;
  }

  enqueue(job: QueuedJob): void {
    if (job.owner.own) this.#own.come(job);
    else this.#wait(job);
    this.#pump();
  }

  #wait(job: QueuedJob): void {
    this.#waitingBytes += job.size;
    this.#queue.push(job.owner.fairnessKey, job);
  }

  stats(): LaneStats {
    return {
      queueDepth: this.#waiting,
      queueBytes: this.#waitingBytes,
      ownWaiting: this.#own.waiting,
      running: this.#runningJobs,
      busyThreads: this.#busyThreads,
      threads: this.#threads,
      utilisation: this.#piscina.utilization,
    };
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#whenIdle.push(resolve);
      this.#settleIdle();
    });
    await this.#piscina.destroy();
  }

  #settleIdle(): void {
    if (this.#busyThreads > 0 || this.#waiting > 0) return;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  /** Gives work to idle threads. */
  #pump(): void {
    while (this.#busyThreads < this.#threads) {
      const jobs = this.#nextBatch();
      if (jobs.length === 0) break;
      this.#busyThreads++;
      this.#runningJobs += jobs.length;
      void this.#runBatch(jobs).finally(() => {
        this.#busyThreads--;
        this.#runningJobs -= jobs.length;
        this.#pump();
        this.#settleIdle();
      });
    }
  }

  /** One job that must run alone, or a fair share of the waiting ones: one when idle, up to batchMax under load. */
  #nextBatch(): QueuedJob[] {
    const single = this.#alone.shift();
    const jobs = single === undefined ? [] : [single];
    const share = Math.ceil(this.#queue.held.jobs / this.#threads);
    let room = single === undefined ? this.#batchMax : 0;
    while (room > 0 && jobs.length < share) {
      const job = this.#queue.take();
      if (job === undefined) break;
      jobs.push(job);
      room -= this.#options.abreast?.has(job.kind) === true ? PLACE_ABREAST : 1;
    }
    for (const job of jobs) {
      this.#waitingBytes -= job.size;
      if (job.owner.own) this.#own.leave(job);
    }
    return jobs;
  }

  async #runBatch(jobs: readonly QueuedJob[]): Promise<void> {
    const progress = new Int32Array(new SharedArrayBuffer(8));
    const abort = new AbortController();
    const watch = this.#watch(progress, abort);
    this.#batches.set(abort, progress);
    try {
      const transferList: ArrayBuffer[] = [];
      const copies: Job[] = [];
      for (const { kind, input } of jobs)
        copies.push({ kind, input: await copyForTransfer(input, transferList, this.#options.turn) });
      this.#events.onBatch(jobs.length);
      const outcomes = await this.#piscina.run({ progress, jobs: copies }, { transferList, signal: abort.signal });
      jobs.forEach((job, i) => {
        this.#settle(job, outcomes[i]);
      });
    } catch (error) {
      this.#afterLoss(jobs, progress, abort.signal.aborted ? "timeout" : reasonOf(error), error);
    } finally {
      clearInterval(watch);
      this.#batches.delete(abort);
    }
  }

  #settle(job: QueuedJob, outcome: JobOutcome | undefined): void {
    if (outcome?.kind === "done") {
      this.#options.onDone?.({ kind: job.kind, lane: this.lane, time_ms: outcome.time_ms });
      job.resolve(outcome.output);
    } else
      job.reject(new JobFailed(`${outcome?.name ?? "Error"}: ${outcome?.message ?? "no outcome"}`, outcome?.stack));
  }

  #waitingForStart(): AbortController[] {
    return [...this.#batches]
      .filter(([, progress]) => Atomics.load(progress, PROGRESS.started) === 0)
      .map(([abort]) => abort);
  }

  /** Aborts the batch when no job has been finished for the time of one job, or the worker does not start. */
  #watch(progress: Int32Array, abort: AbortController): NodeJS.Timeout {
    const { jobTimeoutMs, startTimeoutMs = 30_000 } = this.#options;
    const step = Math.max(10, jobTimeoutMs / WATCH_STEPS);
    let seen = -1;
    let since = 0;
    return setInterval(() => {
      const started = Atomics.load(progress, PROGRESS.started) === 1;
      const done = started ? Atomics.load(progress, PROGRESS.done) : -1;
      since = done === seen ? since + step : 0;
      seen = done;
      if (since >= (started ? jobTimeoutMs : startTimeoutMs)) abort.abort();
    }, step);
  }

  /**
   * The worker is gone and the outcomes with it: everyone runs again, alone; who was being run may be the reason. Of
   * jobs that ran beside each other an innocent one may be accused: alone it clears itself, for it takes two workers.
   */
  #afterLoss(jobs: readonly QueuedJob[], progress: Int32Array, reason: RestartReason, error: unknown): void {
    const started = Atomics.load(progress, PROGRESS.started) === 1;
    // Without a suspect the worker died before its first job or after its last one.
    const suspect = started ? jobs[Atomics.load(progress, PROGRESS.done)] : undefined;
    this.#events.onRestart(reason);
    if (suspect !== undefined) suspect.kills++;
    for (const job of jobs) {
      if (suspect === undefined) job.failedStarts++;
      if (job.kills >= KILLS_MAX) this.#events.onPoison(job, reason);
      else if (job.failedStarts >= FAILED_STARTS_MAX)
        job.reject(new JobFailed(`no worker could be started: ${error instanceof Error ? error.message : ""}`));
      else {
        this.#waitingBytes += job.size;
        if (job.owner.own) this.#own.comeBack(job);
        this.#alone.push(job);
      }
    }
  }
}

function reasonOf(error: unknown): RestartReason {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ERR_WORKER_OUT_OF_MEMORY" ? "memory" : "exit";
}
