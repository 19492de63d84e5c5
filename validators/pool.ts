/** The worker threads: two lanes, one for what is large, and quarantine for what kills workers. */
import { sizeOf } from "./plain.js";
import { LANES } from "./protocol.js";
import type { Lane, RestartReason, TaskKind, Tasks, ValidateOptions } from "./protocol.js";
import { isRefusedThread, JobQuarantined, NoWorker, PoolBusy, QueuedJob } from "./lanes/job.js";
import type { JobOwner } from "./lanes/job.js";
import { LaneOfWorkers } from "./lanes/lane.js";
import type { LaneEvents, LaneStats } from "./lanes/lane.js";
import type { PoolOptions } from "./lanes/options.js";
import { Quarantine, quarantinedReport } from "./lanes/quarantine.js";
import type { Report } from "./report.js";
import { provideWrappingKey } from "./wss/keys.js";

export { JobFailed, JobQuarantined, NoWorker, PoolBusy } from "./lanes/job.js";
export type { JobOwner } from "./lanes/job.js";
export { workerEntry } from "./lanes/lane.js";
export type { PoolOptions, QuarantinedJob } from "./lanes/options.js";
export { quarantinedReport } from "./lanes/quarantine.js";

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

/**
 * Starts the worker threads and the queues in front of them. Close the pool to end the threads.
 * @throws NoWorker where the machine has no thread to give
 */
export function createPool(options: PoolOptions): ValidatorPool {
  // Workers inherit it at their start: without it they could not use the private keys that tasks carry.
  provideWrappingKey();
  try {
    return new Pool(options);
  } catch (error) {
    throw isRefusedThread(error) ? new NoWorker(error) : error;
  }
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
