/**
 * What one thread of a lane does without a pause: a batch, and one more that lies ready beside it. A worker that had to
 * go back to the event loop for each batch stood still for an eighth of its time, while jobs waited.
 */
import { BATCH, PROGRESS } from "../protocol.js";
import type { JobOutcome } from "../protocol.js";
import type { QueuedJob } from "./job.js";
import type { ShiftMessage } from "./ports.js";

/** Jobs that travel together, and how far a worker has got with them. */
export class BatchOfJobs {
  readonly jobs: readonly QueuedJob[];
  /** One job that is tried again after its worker was lost: nothing may lie ready behind it. */
  readonly isAlone: boolean;
  /** See PROGRESS. */
  readonly progress = new Int32Array(new SharedArrayBuffer(PROGRESS.slots * Int32Array.BYTES_PER_ELEMENT));

  constructor(jobs: readonly QueuedJob[], isAlone: boolean) {
    this.jobs = jobs;
    this.isAlone = isAlone;
  }

  get isBegun(): boolean {
    return Atomics.load(this.progress, PROGRESS.state) === BATCH.begun;
  }

  get done(): number {
    return Atomics.load(this.progress, PROGRESS.done);
  }

  /** The thread that has begun it. */
  get thread(): number {
    return Atomics.load(this.progress, PROGRESS.thread);
  }

  /** The same jobs, to be run another time, unless a worker has begun them. */
  takeBack(): BatchOfJobs | undefined {
    const before = Atomics.compareExchange(this.progress, PROGRESS.state, BATCH.waits, BATCH.takenBack);
    return before === BATCH.waits ? new BatchOfJobs(this.jobs, this.isAlone) : undefined;
  }
}

/** Settles the jobs of a batch that a worker has finished. */
type Settle = (batch: BatchOfJobs, outcomes: readonly JobOutcome[]) => void;

/** The batches of one thread, one after the other, until none lies ready. */
export class Shift {
  readonly abort = new AbortController();
  readonly #settle: Settle;
  // Bounded: the batch that runs and the one that lies ready.
  readonly #batches: BatchOfJobs[];
  #finished = 0;

  constructor(first: BatchOfJobs, settle: Settle) {
    this.#batches = [first];
    this.#settle = settle;
  }

  /** Whether its worker has not begun it. */
  get isWaiting(): boolean {
    return this.#finished === 0 && this.#batches[0]?.isBegun === false;
  }

  /** Changes whenever the worker gets on. */
  get steps(): string {
    return `${this.#finished} ${this.#batches.map(({ isBegun, done }) => `${isBegun} ${done}`).join(" ")}`;
  }

  /** The thread that works on it, which is known when it has begun. */
  get thread(): number | undefined {
    const [runs] = this.#batches;
    return runs?.isBegun === true ? runs.thread : undefined;
  }

  /** Whether a batch may lie ready. */
  get isOpen(): boolean {
    const [runs, ready] = this.#batches;
    return ready === undefined && runs?.isBegun === true && !runs.isAlone;
  }

  /** A batch lies ready now. */
  layReady(batch: BatchOfJobs): void {
    this.#batches.push(batch);
  }

  /** What its worker says; outcomes are those of the batch that runs. */
  hear({ outcomes }: ShiftMessage): void {
    if (outcomes !== undefined) this.finish(outcomes);
  }

  /** The outcomes of the batch that runs. */
  finish(outcomes: readonly JobOutcome[]): void {
    const batch = this.#batches.shift();
    this.#finished++;
    if (batch !== undefined) this.#settle(batch, outcomes);
  }

  /** Its end: the batch that nobody has begun, and those that were in a worker that is gone. */
  end(): { readonly left: BatchOfJobs | undefined; readonly lost: readonly BatchOfJobs[] } {
    const last = this.#batches.at(-1);
    const left = this.#batches.length > 1 || this.#finished > 0 ? last?.takeBack() : undefined;
    return { left, lost: left === undefined ? this.#batches : this.#batches.slice(0, -1) };
  }
}
