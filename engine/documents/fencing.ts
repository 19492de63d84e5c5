/** Writes that came too late: somebody else has decided meanwhile, and what was decided here is dropped. */
import type { Metrics } from "../base/metrics.js";

/** What was to be written. */
type Fenced = "attempt" | "service_message" | "status";

/** Counts a write that was refused because its version or its lease was stale. */
export const countFenced = (metrics: Metrics, kind: Fenced): void => {
  metrics.count("fencing_rejections_total", { kind });
};
