/** The loop that carries operations out: it takes what is due and gives each to its actor. */
import type { Clock } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import { repeat } from "../../base/waiting/wake.js";
import type { Loop } from "../../base/waiting/wake.js";
import { claimWhiteLabel } from "../../storage/identity/white-label.js";
import type { WhiteLabelRow } from "../../storage/identity/white-label.js";
import type { Sql } from "../../storage/sql.js";

interface WorkerPorts {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  carryOut(claimed: WhiteLabelRow): Promise<unknown>;
}

/** Takes what is due and waits for its end. @returns how many operations were taken */
async function carryOutDue({ sql, clock, log, carryOut }: WorkerPorts): Promise<number> {
  const claim = { limit: LIMITS.white_label_batch, lease_ms: LIMITS.white_label_lease_ms };
  const due = await claimWhiteLabel(sql, claim, clock.now());
  for (const end of await Promise.allSettled(due.map(carryOut)))
    if (end.status === "rejected") log.error("whitelabel.failed", errorFields(end.reason));
  return due.length;
}

/** Starts the loop of one process, which is told of what was written and is due; any number may run one. */
export const startWhiteLabelWorker = (ports: WorkerPorts): Loop =>
  repeat(
    async () => ((await carryOutDue(ports)) > 0 ? 0 : LIMITS.white_label_look_ms),
    (error) => {
      ports.log.warn("whitelabel.failed", errorFields(error));
      return LIMITS.white_label_look_ms;
    },
  );
