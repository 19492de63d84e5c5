/**
 * The meter: a consumer of the feed that counts what is paid for. Only a delivery counts out, only the first receipt
 * through an API counts in. Its place in the feed moves with what it counts, in one statement, and every event counts
 * once by its id: it may die at any moment, run on every node, and read anything twice.
 * @source spec/rulings.md, section 5 (end); section 9
 */
import type { Clock } from "../base/clock.js";
import { LIMITS } from "../base/limits.js";
import { errorFields } from "../base/log.js";
import type { Log } from "../base/log.js";
import { repeat } from "../base/waiting/wake.js";
import type { Loop } from "../base/waiting/wake.js";
import { listFirmIds, listUsage, meterEvents, pruneMetered, recountUsage } from "../storage/billing/usage.js";
import type { Sql } from "../storage/sql.js";
import { firstDayBefore } from "./months.js";

interface MeterPorts {
  readonly sql: Sql;
  readonly clock: Clock;
}

const keptSince = ({ clock }: Pick<MeterPorts, "clock">): string =>
  firstDayBefore(clock.now(), LIMITS.metered_kept_months);

/** Counts everything that the feed tells by now. @returns how many rows of the feed were read */
export async function meterAll(ports: MeterPorts): Promise<number> {
  let total = 0;
  for (;;) {
    const read = await meterEvents(ports.sql, LIMITS.meter_batch, keptSince(ports));
    if (read === 0) return total;
    total += read;
  }
}

/** Starts the meter of one process; any number of processes may run one. */
export function startMeter({ sql, clock, log }: MeterPorts & { readonly log: Log }): Pick<Loop, "stop"> {
  return repeat(
    async () => {
      const read = await meterEvents(sql, LIMITS.meter_batch, keptSince({ clock }));
      if (read === 0) await pruneMetered(sql, keptSince({ clock }), LIMITS.meter_batch);
      return read < LIMITS.meter_batch ? LIMITS.meter_look_ms : 0;
    },
    (error) => {
      log.warn("meter.failed", errorFields(error));
      return LIMITS.meter_look_ms;
    },
  );
}

/** What a recount has found. */
interface Recount {
  readonly firms: number;
  /** Firms whose sums were others before. */
  readonly changed: number;
}

/**
 * Counts everything anew from the events, firm by firm in one statement each: whoever reads a licence meanwhile sees
 * the old sums of a firm or the new ones.
 */
export async function rebuildUsage(ports: MeterPorts): Promise<Recount> {
  const { sql } = ports;
  await meterAll(ports);
  let [firms, changed] = [0, 0];
  let page = await listFirmIds(sql, undefined, LIMITS.operator_page_max);
  while (page.length > 0) {
    for (const firmId of page) {
      const before = JSON.stringify(await listUsage(sql, firmId));
      await recountUsage(sql, firmId, keptSince(ports));
      firms += 1;
      if (JSON.stringify(await listUsage(sql, firmId)) !== before) changed += 1;
    }
    page = await listFirmIds(sql, page.at(-1), LIMITS.operator_page_max);
  }
  return { firms, changed };
}
