/** What keeps deliveries healthy beside their loop: old ones go, and the gauges are read. */
import { LIMITS } from "../../base/limits.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import { censusOfDeliveries, feedLag } from "../../storage/events/dispatch.js";
import { pruneDeliveries } from "../../storage/events/repairs.js";
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
  const timer = setInterval(() => void prune(ports), LIMITS.webhook_prune_interval_ms);
  timer.unref();
  ports.metrics.beforeExposition(() => expose(ports));
  return () => {
    clearInterval(timer);
  };
}
