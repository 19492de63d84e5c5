/**
 * One lane of worker threads: batches under load, bounded queues, a time limit for each document, and a second try
 * alone for what was under way when a worker was lost. The only file that touches Piscina.
 */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { move, Piscina, transferableSymbol, valueSymbol } from "piscina";
import { copyForTransfer } from "../plain.js";
import type { Batch, Job, JobOutcome, Lane, RestartReason } from "../protocol.js";
import { FairQueue } from "./fair-queue.js";
import { isTakenBack, JobFailed, NoWorker } from "./job.js";
import type { JobOwner, QueuedJob } from "./job.js";
import type { PoolOptions } from "./options.js";
import { OwnLine } from "./own-line.js";
import { ReadyPorts } from "./ports.js";
import type { ShiftMessage } from "./ports.js";
import { withRefusalsTold } from "./refusals.js";
import { BatchOfJobs, Shift } from "./shift.js";

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
/** Of one worker, as Node.js 20 and 22 have it by themselves: with 24 it would be four times as much, with 26 twice. */
const YOUNG_MIB = 48;
/**
 * Piscina asks for an entry by `require` first. A thread of Node.js 20 or 22 that is ended while modules are linked for
 * it ends the process: `v8::Module::IsGraphAsync must be used on an instantiated module`. Entries are modules with
 * awaits at their top, which `require` refuses in the end anyway.
 */
const NO_REQUIRED_MODULES = "--no-experimental-require-module";
/** The watch looks this often within the time of one job. */
const WATCH_STEPS = 4;

/**
 * The file of a worker entry. From dist/ it is a neighbour of this package; from the TypeScript sources it is the built
 * one.
 * @param path  from the folder above this package, `validators/worker.js`
 */
export function workerEntry(path: string): string {
  const built = fileURLToPath(new URL(`../../${path}`, import.meta.url));
  return existsSync(built) ? built : fileURLToPath(new URL(`../../dist/${path}`, import.meta.url));
}

export interface LaneStats {
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
}

export interface LaneEvents {
  readonly onBatch: (jobs: number) => void;
  readonly onRestart: (reason: RestartReason) => void;
  readonly onPoison: (job: QueuedJob, reason: RestartReason) => void;
}

/** The part of a place in a batch that a job takes for which nobody waits. */
const PLACE_ABREAST = 0.5;

/** One lane: a fair queue before a Piscina that never queues itself. */
export class LaneOfWorkers {
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
  /** How the last start of a thread failed: a batch that waited for it is told only that it was given back. */
  #startFault: unknown;
  #waitingBytes = 0;
  #runningJobs = 0;
  #busyThreads = 0;
  // Bounded by those who stop the pool: one.
  readonly #whenIdle: (() => void)[] = [];
  // Bounded by the threads.
  readonly #shifts = new Set<Shift>();
  readonly #ports = new ReadyPorts((message) => {
    this.#hear(message);
    this.#pump();
  });
  /** What lay ready for threads that do not get on. */
  // Bounded by the threads: a shift gives back one.
  readonly #givenBack: BatchOfJobs[] = [];
  #lastBatch = 0;

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
    const threadsOfLane = {
      filename: options.workerFile ?? workerEntry("validators/worker.js"),
      minThreads: lane === "small" ? this.#threads : 0,
      maxThreads: this.#threads,
      concurrentTasksPerWorker: 1,
      idleTimeout: IDLE_THREAD_MS,
      maxQueue: this.#threads,
      execArgv: process.allowedNodeEnvironmentFlags.has(NO_REQUIRED_MODULES) ? [NO_REQUIRED_MODULES] : [],
      // No NODE_OPTIONS: what they load before the engine may ask for modules by `require`, and no thread would start.
      env: {},
      recordTiming: true,
      resourceLimits: {
        maxOldGenerationSizeMb: options.heapMiB?.[lane] ?? (lane === "small" ? 256 : 1_024),
        maxYoungGenerationSizeMb: YOUNG_MIB,
      },
      workerData: {
        preload: options.preload ?? [],
        niceness: options.niceness?.[lane] ?? 0,
        // To look through a result costs a small job more than its clone does.
        handsOver: lane === "large",
      },
    };
    this.#piscina = withRefusalsTold(() => new Piscina<Batch, JobOutcome[]>(threadsOfLane));
    // A worker died without a task: it could not start, and Piscina starts no other by itself. Batches that wait for
    // one are given back, and so ask for a new one.
    this.#piscina.on("error", (error: unknown) => {
      this.#startFault = error;
      if (this.#piscina.threads.length > 0) return;
      for (const shift of this.#shifts) if (shift.isWaiting) shift.abort.abort();
    });
    this.#piscina.on("message", (message: unknown) => {
      this.#ports.welcome(message);
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
    const givenBack = this.#givenBack.reduce((sum, { jobs }) => sum + jobs.length, 0);
    return this.#queue.held.jobs + this.#alone.length + givenBack;
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

  #hear(message: ShiftMessage): void {
    for (const shift of this.#shifts) shift.hear(message);
  }

  /** Hears what its worker has said so far: the last answer comes by another way, which may be quicker. */
  #catchUp({ thread }: Shift): void {
    if (thread !== undefined) for (const message of this.#ports.unheard(thread)) this.#hear(message);
  }

  /** Gives work to idle threads, and lays more ready for those that work. */
  #pump(): void {
    while (this.#busyThreads < this.#threads) {
      const batch = this.#nextBatch() ?? this.#takeReady();
      if (batch === undefined) return;
      this.#busyThreads++;
      void this.#work(batch).finally(() => {
        this.#busyThreads--;
        this.#pump();
        this.#settleIdle();
      });
    }
    for (const shift of this.#shifts) this.#layReady(shift);
  }

  /** One job that must run alone, what a thread that does not get on has given back, or a share of all others. */
  #nextBatch(): BatchOfJobs | undefined {
    const batch = this.#newBatch(this.#alone.splice(0, 1), true) ?? this.#givenBack.shift() ?? this.#fairShare();
    if (batch === undefined) return undefined;
    for (const job of batch.jobs) {
      this.#waitingBytes -= job.size;
      if (job.owner.own) this.#own.leave(job);
    }
    this.#runningJobs += batch.jobs.length;
    return batch;
  }

  /** Of the waiting jobs: one when idle, up to batchMax under load. */
  #fairShare(): BatchOfJobs | undefined {
    const jobs: QueuedJob[] = [];
    const share = Math.ceil(this.#queue.held.jobs / this.#threads);
    for (let room = this.#batchMax; room > 0 && jobs.length < share;) {
      const job = this.#queue.take();
      if (job === undefined) break;
      jobs.push(job);
      room -= this.#options.abreast?.has(job.kind) === true ? PLACE_ABREAST : 1;
    }
    return this.#newBatch(jobs, false);
  }

  #newBatch(jobs: readonly QueuedJob[], isAlone: boolean): BatchOfJobs | undefined {
    if (jobs.length === 0) return undefined;
    this.#events.onBatch(jobs.length);
    return new BatchOfJobs(++this.#lastBatch, jobs, isAlone);
  }

  /** A job that a worker has had counts among those that wait. */
  #comeBack(job: QueuedJob): void {
    this.#waitingBytes += job.size;
    if (job.owner.own) this.#own.comeBack(job);
  }

  /** What lies ready for a thread that works while another is idle: it may lie behind a job that hangs. */
  #takeReady(): BatchOfJobs | undefined {
    for (const shift of this.#shifts) {
      const batch = shift.giveBack();
      if (batch !== undefined) return batch;
    }
    return undefined;
  }

  async #messageOf({
    number,
    jobs,
    progress,
  }: BatchOfJobs): Promise<readonly [batch: Batch, transferList: ArrayBuffer[]]> {
    const transferList: ArrayBuffer[] = [];
    const copies: Job[] = [];
    for (const { kind, input } of jobs)
      copies.push({ kind, input: await copyForTransfer(input, transferList, this.#options.turn) });
    return [{ number, progress, jobs: copies }, transferList];
  }

  /** Lays a batch ready, unless a job must run alone, which waits for the end of a shift. */
  #layReady(shift: Shift): void {
    const { thread } = shift;
    if (!shift.isOpen || thread === undefined || !this.#ports.has(thread) || this.#alone.length > 0) return;
    const batch = this.#nextBatch();
    if (batch === undefined) return;
    shift.layReady(batch);
    void this.#send(batch, thread);
  }

  async #send(batch: BatchOfJobs, thread: number): Promise<void> {
    try {
      const [message, transferList] = await this.#messageOf(batch);
      this.#ports.send(thread, message, transferList);
    } catch {
      // It lies there until the shift ends; then it is run as any other, and fails as any other.
    }
  }

  /** Lets a thread work until nothing lies ready for it. */
  async #work(first: BatchOfJobs): Promise<void> {
    for (let next: BatchOfJobs | undefined = first; next !== undefined;) next = await this.#runShift(next);
  }

  /** @returns the batch that lay ready when the shift had ended, and that nobody has begun */
  async #runShift(first: BatchOfJobs): Promise<BatchOfJobs | undefined> {
    const shift = new Shift(first, (batch, outcomes) => {
      this.#runningJobs -= batch.jobs.length;
      batch.jobs.forEach((job, i) => {
        this.#settle(job, outcomes[i]);
      });
    });
    const watch = this.#watch(shift);
    this.#shifts.add(shift);
    let fault: unknown;
    try {
      const [message, transferList] = await this.#messageOf(first);
      const outcomes = await this.#piscina.run(message, { transferList, signal: shift.abort.signal });
      this.#catchUp(shift);
      shift.finish(outcomes);
      this.#startFault = undefined;
    } catch (error) {
      this.#catchUp(shift);
      fault = error;
      this.#events.onRestart(shift.abort.signal.aborted ? "timeout" : reasonOf(error));
    } finally {
      clearInterval(watch);
      this.#shifts.delete(shift);
    }
    const { left, lost } = shift.end();
    for (const batch of lost) this.#afterLoss(batch, shift.abort.signal.aborted ? "timeout" : reasonOf(fault), fault);
    return left;
  }

  #settle(job: QueuedJob, outcome: JobOutcome | undefined): void {
    if (outcome?.kind === "done") {
      this.#options.onDone?.({ kind: job.kind, lane: this.lane, time_ms: outcome.time_ms });
      job.resolve(outcome.output);
    } else
      job.reject(new JobFailed(`${outcome?.name ?? "Error"}: ${outcome?.message ?? "no outcome"}`, outcome?.stack));
  }

  /** Aborts a shift when no job has been finished for the time of one job, or the worker does not start. */
  #watch(shift: Shift): NodeJS.Timeout {
    const { jobTimeoutMs, startTimeoutMs = 30_000 } = this.#options;
    const step = Math.max(10, jobTimeoutMs / WATCH_STEPS);
    let seen = -1;
    let since = 0;
    return setInterval(() => {
      const { steps } = shift;
      since = steps === seen ? since + step : 0;
      seen = steps;
      if (since > 0) this.#relieve(shift);
      if (since >= (shift.isWaiting ? startTimeoutMs : jobTimeoutMs)) shift.abort.abort();
    }, step);
  }

  /** Keeps for the others what lies ready for a thread that does not get on: each takes it when it ends a batch. */
  #relieve(shift: Shift): void {
    const batch = shift.giveBack();
    if (batch === undefined) return;
    this.#runningJobs -= batch.jobs.length;
    for (const job of batch.jobs) this.#comeBack(job);
    this.#givenBack.push(batch);
  }

  /**
   * The worker is gone and the outcomes with it: everyone runs again, alone; who was being run may be the reason. Of
   * jobs that ran beside each other an innocent one may be accused: alone it clears itself, for it takes two workers.
   */
  #afterLoss({ jobs, isBegun, done }: BatchOfJobs, reason: RestartReason, error: unknown): void {
    this.#runningJobs -= jobs.length;
    // Without a suspect the worker died before its first job or after its last one.
    const suspect = isBegun ? jobs[done] : undefined;
    if (suspect !== undefined) suspect.kills++;
    for (const job of jobs) {
      if (suspect === undefined) job.failedStarts++;
      if (job.kills >= KILLS_MAX) this.#events.onPoison(job, reason);
      else if (job.failedStarts >= FAILED_STARTS_MAX) {
        const failure = new NoWorker(isTakenBack(error) ? (this.#startFault ?? error) : error);
        this.#options.onNoWorker?.(this.lane, failure);
        job.reject(failure);
      } else {
        this.#comeBack(job);
        this.#alone.push(job);
      }
    }
  }
}

function reasonOf(error: unknown): RestartReason {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ERR_WORKER_OUT_OF_MEMORY" ? "memory" : "exit";
}
