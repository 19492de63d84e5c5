/** What keeps deliveries healthy beside their loop: old ones go, and the gauges are read. */
import { LIMITS } from "../../base/limits.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import { every } from "../../base/waiting/every.js";
import { censusOfDeliveries, feedLag } from "../../storage/events/dispatch.js";
import { FIRST_OPEN, freeWaiting, pruneDeliveries } from "../../storage/events/repairs.js";
import type { OpenPlace } from "../../storage/events/repairs.js";
import type { Sql } from "../../storage/sql.js";

interface UpkeepPorts {
  readonly sql: Sql;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Removes what is old, a bounded part at a time. Safe to run on every node at once. */
async function prune({ sql, log }: UpkeepPorts): Promise<void> {
  try {
    for (let round = 0; round < LIMITS.identity_prune_rounds_max; round += 1)
      if ((await pruneDeliveries(sql)) < LIMITS.webhook_prune_batch) break;
  } catch (error) {
    log.warn("webhook.look_failed", { component: "prune", ...errorFields(error) });
  }
}

/**
 * Frees what waits behind nothing, a bounded part of all that is open at each call. Safe to run on every node at once.
 * @returns where the next call begins
 */
async function freeSome({ sql, log }: Omit<UpkeepPorts, "metrics">, from: OpenPlace): Promise<OpenPlace> {
  let place = from;
  try {
    for (let part = 0; part < LIMITS.webhook_waiting_parts_max; part += 1) {
      const last = await freeWaiting(sql, place);
      if (last === undefined) return FIRST_OPEN;
      place = last;
    }
  } catch (error) {
    log.warn("webhook.look_failed", { component: "waiting", ...errorFields(error) });
  }
  return place;
}

/** Sets the gauges; without a database they keep their last value. */
async function expose({ sql, log, metrics }: UpkeepPorts): Promise<void> {
  try {
    const { oldestDue_s, resting } = await censusOfDeliveries(sql);
    metrics.set("webhook_oldest_due_seconds", {}, oldestDue_s);
    metrics.set("webhook_endpoints_resting", {}, resting);
    metrics.set("webhook_feed_lag_seconds", {}, await feedLag(sql));
  } catch (error) {
    log.warn("webhook.look_failed", { component: "metrics", ...errorFields(error) });
    throw error;
  }
}

/** Starts the upkeep of one node. @returns ends it */
export function startUpkeep(ports: UpkeepPorts): () => void {
  let from = FIRST_OPEN;
  const look = async (): Promise<void> => {
    await prune(ports);
    from = await freeSome(ports, from);
  };
  ports.metrics.beforeExposition(() => expose(ports));
  return every(LIMITS.webhook_prune_interval_ms, look);
}
