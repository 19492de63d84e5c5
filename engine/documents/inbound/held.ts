/**
 * Received documents that nobody could judge: they stay held, are tried again, and wait for an operator, who sees them
 * and may show one to its firm. Nothing that throws puts a document into a firm's inbox.
 */
import type { Clock } from "../../base/clock.js";
import type { ReceivedDocumentId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import { countOverdueHeld, releaseReceived } from "../../storage/documents/received.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";

interface HeldPorts {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

const overdue = ({ sql, clock }: Pick<HeldPorts, "sql" | "clock">): Promise<number> =>
  countOverdueHeld(sql, clock.now() - LIMITS.held_max_ms);

/** Tells operators of documents that have waited LIMITS.held_max_ms for their verdict, in the log. @returns how many */
export async function alertOverdueHeld(ports: Pick<HeldPorts, "sql" | "clock" | "log">): Promise<number> {
  const count = await overdue(ports);
  if (count > 0) ports.log.error("inbound.held_overdue", { count });
  return count;
}

/** Sets received_held_overdue before an exposition. */
export async function observeHeld(ports: Pick<HeldPorts, "sql" | "clock" | "metrics">): Promise<void> {
  ports.metrics.set("received_held_overdue", {}, await overdue(ports));
}

/** Counts what was made of a received document. @param after_ms what its verdict took since it was received */
export function countVerdict(metrics: Metrics, verdict: "passed" | "refused" | "released", after_ms?: number): void {
  metrics.count("received_verdicts_total", { verdict });
  if (after_ms !== undefined) metrics.observe("received_verdict_duration_seconds", {}, after_ms / 1_000);
}

/**
 * Shows a held document to its firm, as an operator has decided. From then on it is not rejected. Runs in the turn of
 * its actor.
 * @returns whether it was held
 * @throws Refusal TEMPORARY
 */
export async function release({ sql, log, metrics }: HeldPorts, id: ReceivedDocumentId): Promise<boolean> {
  const released = await orTemporary(releaseReceived(sql, id));
  if (released) {
    countVerdict(metrics, "released");
    log.warn("inbound.held_released", { documentId: id });
  }
  return released;
}
