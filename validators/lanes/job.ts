/** A job on its way through a lane, whose it is, and why it may end without an answer. */
import type { Lane } from "../protocol.js";

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

/** The job's handler threw: a bug. Text for logs only. */
export class JobFailed extends Error {
  readonly workerStack: string;
  constructor(message: string, workerStack = "") {
    super(message);
    this.name = "JobFailed";
    this.workerStack = workerStack;
  }
}

/** With these a machine refuses a thread that it may give a moment later. */
const PASSING: ReadonlySet<string> = new Set([
  "EMFILE",
  "ENFILE",
  "ERR_WORKER_INIT_FAILED",
  "ERR_WORKER_OUT_OF_MEMORY",
]);

/** Whether a job was taken back from a thread: it had not started, or took too long. */
export const isTakenBack = (error: unknown): boolean => error instanceof Error && error.name === "AbortError";

/**
 * No thread could be started for the job: the machine has none to give, or the installation is broken. Nothing was
 * done. The message is one sentence for the operator.
 */
export class NoWorker extends JobFailed {
  /** That of the error in which the last start ended. */
  readonly code: string | undefined;
  /** Whether the same may succeed later, with the installation as it is. */
  readonly passing: boolean;
  constructor(error: unknown) {
    const [reason = ""] = error instanceof Error ? error.message.split("\n") : [];
    super(`No thread could be started to judge documents: ${reason}`);
    this.name = "NoWorker";
    this.code = error instanceof Error && "code" in error ? String(error.code) : undefined;
    this.passing = isTakenBack(error) || PASSING.has(this.code ?? "");
  }
}

/** Whether a machine has refused a thread as it was asked for, and not a thread has failed later. */
export const isRefusedThread = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_WORKER_INIT_FAILED";

interface Asked {
  readonly kind: string;
  readonly input: unknown;
  readonly size: number;
  readonly owner: Required<JobOwner>;
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** A job in its lane, which counts what went wrong around it. */
export class QueuedJob implements Asked {
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
