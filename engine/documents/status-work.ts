/** The loops behind statuses and reports: each takes what is due from Postgres until nothing is, then waits for a poke or its time. */
import type { Clock } from "../clock.js";
import { createWake, type Wake } from "../events/wake.js";
import { LIMITS } from "../limits.js";
import { errorFields } from "../log.js";
import type { Metrics } from "../metrics.js";
import { oldestPendingMls } from "../storage/statuses.js";
import type { Sql } from "../storage/sql.js";
import { decideDueDuties, type DutyPorts } from "./mls-duties.js";
import { type ReportPorts, submitDueReports } from "./reports.js";
import { deliverDueMessages, type ServiceDispatchPorts } from "./service-dispatch.js";
import { handleDueStatuses, type StatusPorts } from "./statuses.js";

export type StatusWorkPorts = Omit<StatusPorts, "poke"> & Omit<DutyPorts, "poke"> & ServiceDispatchPorts & ReportPorts & {
  /** Tells the relay that an outbox row was committed. */
  readonly pokeRelay: () => void;
};

export interface StatusWork {
  /** Something was stored that may be due now. */
  poke(): void;
  /** Waits for what is under way. */
  stop(): Promise<void>;
}

interface Step {
  readonly name: string;
  readonly every_ms: number;
  /** Takes one batch. @returns how much there was */
  readonly take: () => Promise<number>;
}

/** Starts the loops of one node; any number of nodes may run them. */
export function startStatusWork(ports: StatusWorkPorts): StatusWork {
  const steps: readonly Step[] = [
    { name: "statuses", every_ms: LIMITS.status_poll_ms, take: () => handleDueStatuses({ ...ports, poke: ports.pokeRelay }) },
    { name: "duties", every_ms: LIMITS.status_poll_ms, take: () => decideDueDuties(ports) },
    { name: "messages", every_ms: LIMITS.status_poll_ms, take: () => deliverDueMessages(ports) },
    { name: "reports", every_ms: LIMITS.report_look_ms, take: () => submitDueReports(ports) },
  ];
  let stopping = false;
  const wakes = steps.map(() => createWake());
  const poke = (): void => { for (const wake of wakes) wake.poke(); };
  async function run({ name, every_ms, take }: Step, wake: Wake): Promise<void> {
    while (!stopping) {
      try {
        // A batch may have made work for the other loops: a decided duty is a message that is due.
        if (await take() > 0 && !stopping) {
          poke();
          continue;
        }
      } catch (error) {
        ports.log.warn("due status work could not be taken", { component: name, ...errorFields(error) });
      }
      if (!stopping) await wake.wait(every_ms);
    }
  }
  const ended = Promise.all(steps.map((step, index) => run(step, wakes[index] ?? createWake())));
  return {
    poke,
    stop: async () => {
      stopping = true;
      poke();
      await ended;
    },
  };
}

/** Sets mls_pending_oldest_seconds before an exposition. */
export async function observePendingMls(ports: { readonly sql: Sql; readonly clock: Clock; readonly metrics: Metrics }): Promise<void> {
  const oldest = await oldestPendingMls(ports.sql);
  ports.metrics.set("mls_pending_oldest_seconds", {}, oldest === undefined ? 0 : Math.max(0, (ports.clock.now() - oldest) / 1000));
}
