/** The loop that carries operations out: it takes what is due and gives each to its actor. */
import type { Clock } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import { claimWhiteLabel } from "../../storage/identity/white-label.js";
import type { WhiteLabelRow } from "../../storage/identity/white-label.js";
import type { Sql } from "../../storage/sql.js";

interface WorkerPorts {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  carryOut(claimed: WhiteLabelRow): Promise<unknown>;
}

/** The loop of one process. */
interface WhiteLabelWorker {
  /** An operation was written that is due now. */
  poke(): void;
  /** Waits for what is under way. */
  stop(): Promise<void>;
}

/** Takes what is due and waits for its end. @returns how many operations were taken */
async function carryOutDue({ sql, clock, log, carryOut }: WorkerPorts): Promise<number> {
  const claim = { limit: LIMITS.white_label_batch, lease_ms: LIMITS.white_label_lease_ms };
  const due = await claimWhiteLabel(sql, claim, clock.now());
  for (const { status, reason } of (await Promise.allSettled(due.map(carryOut))).map((end) => ({
    status: end.status,
    reason: end.status === "rejected" ? (end.reason as unknown) : undefined,
  })))
    if (status === "rejected") log.error("whitelabel.failed", errorFields(reason));
  return due.length;
}

/** Starts the loop; any number of processes may run one. */
export function startWhiteLabelWorker(ports: WorkerPorts): WhiteLabelWorker {
  let stopping = false;
  let running: Promise<void> | undefined;
  let isPoked = false;

  async function run(): Promise<void> {
    do {
      isPoked = false;
      try {
        while (!stopping && (await carryOutDue(ports)) > 0);
      } catch (error) {
        ports.log.warn("whitelabel.failed", errorFields(error));
      }
    } while (isPoked && !stopping);
    running = undefined;
  }
  const poke = (): void => {
    isPoked = true;
    if (!stopping) running ??= run();
  };
  const interval = setInterval(poke, LIMITS.white_label_look_ms);
  interval.unref();
  return {
    poke,
    stop: async () => {
      stopping = true;
      clearInterval(interval);
      await running;
    },
  };
}
