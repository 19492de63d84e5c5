/** What the owner of the pool decides about its lanes. */
import type { Lane, RestartReason } from "../protocol.js";
import type { NoWorker } from "./job.js";

export interface QuarantinedJob {
  readonly kind: string;
  readonly sha256: string;
  readonly reason: RestartReason;
  readonly input: unknown;
}

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
  /** Called for each job that ends because no thread could be started for it. */
  readonly onNoWorker?: (lane: Lane, failure: NoWorker) => void;
  /** Called after each job that was done, with the time it took in its worker. */
  readonly onDone?: (job: { readonly kind: string; readonly lane: Lane; readonly time_ms: number }) => void;
  /**
   * Resolves in a turn of the event loop in which a slice of a large job may be copied. Default the next one.
   */
  readonly turn?: () => Promise<void>;
  /** Another worker entry, which makes its runner of more loaders; see workerEntry. Default: that of this package. */
  readonly workerFile?: string;
}
