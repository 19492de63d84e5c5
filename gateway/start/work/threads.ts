/** The threads of this process, and what is asked of them. */
import { ConfigError } from "../../../engine/base/config.js";
import { as4Workers } from "../../../engine/documents/inbound/arrival-workers.js";
import { EXCHANGE_KINDS } from "../../../engine/documents/inbound/exchange-kinds.js";
import { createValidators, SCAN_LIMITS } from "../../../engine/documents/accept/validators.js";
import type { DocumentWorkers } from "../../../engine/documents/accept/validators.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { errorFields, oncePerSecond } from "../../../engine/base/log.js";
import { budget } from "../../../engine/base/memory/budgets.js";
import { ownTurn } from "../../../engine/base/memory/turns.js";
import type { As4Jobs } from "../../../engine/peppol/as4/jobs.js";
import type { Sealer } from "../../../engine/storage/sealer.js";
import { createPool, NoWorker, workerEntry } from "../../../validators/pool.js";
import type { QuarantinedJob, ValidatorPool } from "../../../validators/pool.js";
import type { Lane } from "../../../validators/protocol.js";
import { endQuarantined, keepQuarantined } from "../data-dir.js";
import type { Base } from "../infrastructure.js";
import { tracedPool } from "../tracing/tracing.js";
import { every } from "../../../engine/base/waiting/every.js";
import { watchPacks, whyPacksAreRefused } from "../rule-packs.js";

/** Threads, and what is asked of them. */
export interface Workers {
  readonly pool: ValidatorPool;
  readonly validators: DocumentWorkers;
  readonly jobs: As4Jobs;
  /** Resolves once a thread has had a job, or with the reason why none can. */
  threadsWork(): Promise<NoWorker | undefined>;
}

/** What is done with a document that killed two workers: operators are told of it, and it is kept for them. */
export const quarantine =
  ({ log, dataDir }: Pick<Base, "log" | "dataDir">, sealer: Sealer) =>
  (job: QuarantinedJob): void => {
    log.error("validator.quarantined", { code: job.sha256, outcome: job.reason });
    try {
      keepQuarantined(dataDir, sealer, job);
    } catch (error) {
      // Nobody waits for this: what is thrown here would end the engine, with every such document anew.
      log.error("validator.not_kept", errorFields(error));
    }
  };

/**
 * Waits until a thread has had a job: without one, every document that is sent here would be refused.
 * @param hasWorked  whether one has done any job. @default none has
 * @returns why there is none, as a sentence for the operator
 */
export async function untilThreadsWork(
  pool: Pick<ValidatorPool, "run">,
  hasWorked: () => boolean = () => false,
): Promise<NoWorker | undefined> {
  const bytes = Buffer.from("<Invoice/>");
  try {
    // Its own work: where clients send already, they may have filled the queue.
    await pool.run("parse", { bytes, limits: SCAN_LIMITS, linesMax: 0 }, { own: true });
  } catch (error) {
    // Whatever else became of the job, a thread has had it.
    if (error instanceof NoWorker && !hasWorked()) return error;
  }
  return undefined;
}

/** Ends now and then what was long enough in quarantine. @returns what stops it */
export function startQuarantineEnds({ clock, log, dataDir }: Pick<Base, "clock" | "log" | "dataDir">): () => void {
  const end = (): void => {
    try {
      endQuarantined(dataDir, clock.now());
    } catch (error) {
      log.warn("retention.failed", errorFields(error));
    }
  };
  end();
  return every(LIMITS.sweep_interval_ms, end);
}

export async function startWorkers(
  { config, clock, log, metrics, stack, dataDir }: Base,
  sealer: Sealer,
): Promise<Workers> {
  const refusal = config.RULES_DIR === undefined ? undefined : await whyPacksAreRefused(config.RULES_DIR);
  if (refusal !== undefined) throw new ConfigError([refusal]);
  // Every request would have a line of its own.
  const sampled = { log: oncePerSecond(log, clock) };
  let hasWorked = false;
  const judged = (lane: Lane, time_ms: number): void => {
    metrics.observe("validation_duration_seconds", { lane }, time_ms / 1_000);
  };
  const workers = createPool({
    threads: { small: config.VALIDATOR_THREADS, large: 1 },
    abreast: EXCHANGE_KINDS,
    queueMax: LIMITS.validator_queue_max,
    queueBytesMax: budget("validator_queue_bytes_max"),
    keyShare: LIMITS.validator_key_share,
    niceness: { small: 0, large: LIMITS.validator_large_niceness },
    ownWaitingMax: LIMITS.validator_own_waiting_max,
    jobTimeoutMs: LIMITS.validator_document_timeout_ms,
    preload: ["validate"],
    turn: ownTurn,
    workerFile: workerEntry("gateway/start/worker.js"),
    onDone: ({ kind, lane, time_ms }) => {
      hasWorked = true;
      if (kind === "validate") judged(lane, time_ms);
    },
    onQuarantine: quarantine({ log, dataDir }, sealer),
    onNoWorker: (lane, failure) => {
      sampled.log.error("validator.no_worker", { component: lane, ...errorFields(failure) });
    },
  });
  const pool = tracedPool(workers);
  stack.add("validators", () => pool.stop());
  stack.add("ends of the quarantine", startQuarantineEnds({ clock, log, dataDir }));
  const rulesDir = config.RULES_DIR;
  if (rulesDir !== undefined) stack.add("watch of the rule packs", watchPacks(rulesDir, log));
  return {
    pool,
    threadsWork: () => untilThreadsWork(pool, () => hasWorked),
    validators: createValidators(pool, metrics, rulesDir),
    jobs: as4Workers({
      pool,
      clock,
      metrics,
      rulesDir,
      onJudged: (took_ms) => {
        judged("small", took_ms);
      },
    }),
  };
}
