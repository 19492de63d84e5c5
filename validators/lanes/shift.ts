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
  /** What its worker calls it. */
  readonly number: number;
  readonly jobs: readonly QueuedJob[];
  /** One job that is tried again after its worker was lost: nothing may lie ready behind it. */
  readonly isAlone: boolean;
  /** See PROGRESS. */
  readonly progress = new Int32Array(new SharedArrayBuffer(PROGRESS.slots * Int32Array.BYTES_PER_ELEMENT));

  constructor(number: number, jobs: readonly QueuedJob[], isAlone: boolean) {
    this.number = number;
    this.jobs = jobs;
    this.isAlone = isAlone;
  }

  get isBegun(): boolean {
    return Atomics.load(this.progress, PROGRESS.state) === BATCH.begun;
  }

  get done(): number {
    return Atomics.load(this.progress, PROGRESS.done);
  }

  /** Grows whenever its worker gets on, and by nothing else. */
  get steps(): number {
    return this.isBegun ? 1 + this.done : 0;
  }

  /** The thread that has begun it. */
  get thread(): number {
    return Atomics.load(this.progress, PROGRESS.thread);
  }

  /** The same jobs, to be run another time, unless a worker has begun them. */
  takeBack(): BatchOfJobs | undefined {
    const before = Atomics.compareExchange(this.progress, PROGRESS.state, BATCH.waits, BATCH.takenBack);
    return before === BATCH.waits ? new BatchOfJobs(this.number, this.jobs, this.isAlone) : undefined;
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
  /** Steps of the batches that are finished. */
  #stepsBefore = 0;
  #hasGivenBack = false;

  constructor(first: BatchOfJobs, settle: Settle) {
    this.#batches = [first];
    this.#settle = settle;
  }

  /** Whether its worker has not begun it. */
  get isWaiting(): boolean {
    return this.steps === 0;
  }

  /** Grows whenever the worker gets on: what is laid ready for one that hangs must not win it time. */
  get steps(): number {
    return this.#batches.reduce((sum, { steps }) => sum + steps, this.#stepsBefore);
  }

  /** The thread that works on it, which is known when it has begun. */
  get thread(): number | undefined {
    const [runs] = this.#batches;
    return runs?.isBegun === true ? runs.thread : undefined;
  }

  /** Whether a batch may lie ready. */
  get isOpen(): boolean {
    const [runs, ready] = this.#batches;
    return ready === undefined && runs?.isBegun === true && !runs.isAlone && !this.#hasGivenBack;
  }

  /** A batch lies ready now. */
  layReady(batch: BatchOfJobs): void {
    this.#batches.push(batch);
  }

  /** What a worker says; outcomes of others are not taken. */
  hear({ batch: number, outcomes }: ShiftMessage): void {
    const batch = this.#batches.find((one) => one.number === number);
    if (batch !== undefined && outcomes !== undefined) this.#finish(batch, outcomes);
  }

  /** The outcomes of the last batch that its worker has begun; not every entry says that it has begun the first. */
  finish(outcomes: readonly JobOutcome[]): void {
    const first = this.#stepsBefore === 0 ? this.#batches[0] : undefined;
    const batch = this.#batches.findLast(({ isBegun }) => isBegun) ?? first;
    if (batch !== undefined) this.#finish(batch, outcomes);
  }

  #finish(batch: BatchOfJobs, outcomes: readonly JobOutcome[]): void {
    this.#batches.splice(this.#batches.indexOf(batch), 1);
    this.#stepsBefore += batch.steps;
    this.#settle(batch, outcomes);
  }

  /**
   * The batch that lies ready, for another thread, unless it is begun. Nothing is laid ready any more then: what was
   * taken back stays in the port until the worker looks there, which may hang.
   */
  giveBack(): BatchOfJobs | undefined {
    const left = this.#batches.length > 1 || this.#stepsBefore > 0 ? this.#batches.at(-1)?.takeBack() : undefined;
    if (left === undefined) return undefined;
    this.#hasGivenBack = true;
    this.#batches.pop();
    return left;
  }

  /** Its end: the batch that nobody has begun, and those that were in a worker that is gone. */
  end(): { readonly left: BatchOfJobs | undefined; readonly lost: readonly BatchOfJobs[] } {
    return { left: this.giveBack(), lost: this.#batches };
  }
}
