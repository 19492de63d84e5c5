/**
 * The reconciler: finds work in Postgres that no stream has woken, and wakes it. Its first pass is the recovery at the
 * start.
 */
import { LIMITS } from "../base/limits.js";
import { errorFields } from "../base/log.js";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import type { StreamMessage, StreamName, Streams } from "./streams.js";
import { createWake, within } from "./wake.js";

/** One kind of work that can be forgotten by a stream. */
export interface ReconcileSource {
  /** Label of the metric: a closed list of our own words. */
  readonly kind: string;
  readonly stream: StreamName;
  /**
   * Due work that nobody has taken for at least `grace_ms`, oldest first, as messages that wake it. Work that was
   * announced a moment ago is not due: it has its message under way. Handlers must find nothing to do on a second
   * message.
   */
  findWork(limit: number, grace_ms: number): Promise<readonly StreamMessage[]>;
}

interface ReconcilerOptions {
  readonly sources: readonly ReconcileSource[];
  readonly streams: Pick<Streams, "publish" | "status">;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** What a pass did, per kind. */
interface ReconcileReport {
  readonly kind: string;
  readonly woken: number;
  /** Whether there may be more: the next pass comes soon. */
  readonly full: boolean;
}

interface Reconciler {
  /** One pass now, after the one under way. @throws what a source threw, after all had their turn */
  pass(): Promise<readonly ReconcileReport[]>;
  /** Ends after the pass under way. Safe to repeat. */
  stop(): Promise<void>;
}

/**
 * Wakes one kind of work, as far as the stream has room: a stream that holds LIMITS.reconcile_batch messages is busy,
 * not forgetful, and refilling it would only double what it holds.
 */
async function reconcileSource(
  options: ReconcilerOptions,
  source: ReconcileSource,
  grace_ms: number,
): Promise<ReconcileReport> {
  const { kind, stream } = source;
  const pending = (await options.streams.status()).find((row) => row.stream === stream)?.pending ?? 0;
  const room = LIMITS.reconcile_batch - pending;
  if (room <= 0) return { kind, woken: 0, full: true };
  const work = await source.findWork(room, grace_ms);
  if (work.length > 0) {
    await options.streams.publish(stream, work);
    options.metrics.count("reconciler_repairs_total", { kind }, work.length);
    options.log.warn("reconciler.repaired", { component: kind, count: work.length });
  }
  return { kind, woken: work.length, full: work.length === room };
}

/**
 * One pass over all sources: a batch of each, at most LIMITS.reconcile_batch. A source that fails does not keep the
 * others from their turn.
 * @param grace_ms  0 at the start, when everything that waits was left by a process that is gone.
 * @throws what a source threw, after all had their turn
 */
export async function reconcile(
  options: ReconcilerOptions,
  grace_ms: number = LIMITS.reconcile_grace_ms,
): Promise<readonly ReconcileReport[]> {
  const results = await Promise.allSettled(options.sources.map((source) => reconcileSource(options, source, grace_ms)));
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
}

/**
 * Starts the reconciler: a pass at once, then one every LIMITS.reconcile_interval_ms, or after
 * LIMITS.reconcile_again_ms when there is more.
 */
export function startReconciler(options: ReconcilerOptions): Reconciler {
  const wake = createWake();
  let stopping = false;
  let turn: Promise<unknown> = Promise.resolve();
  const pass = (grace_ms: number): Promise<readonly ReconcileReport[]> => {
    const mine = turn.then(() => reconcile(options, grace_ms));
    turn = mine.catch(() => undefined);
    return mine;
  };
  const run = async (): Promise<void> => {
    let grace_ms: number = 0;
    while (!stopping) {
      let wait_ms: number = LIMITS.reconcile_interval_ms;
      try {
        const reports = await pass(grace_ms);
        if (reports.some((report) => report.full)) wait_ms = LIMITS.reconcile_again_ms;
        else grace_ms = LIMITS.reconcile_grace_ms;
      } catch (error) {
        wait_ms = LIMITS.stream_backoff_max_ms;
        options.log.warn("reconciler.failed", errorFields(error));
      }
      if (!stopping) await wake.wait(wait_ms);
    }
  };
  const ended = run();
  return {
    pass: () => pass(LIMITS.reconcile_grace_ms),
    stop: () => {
      stopping = true;
      wake.poke();
      return within(ended, LIMITS.drain_timeout_ms, undefined);
    },
  };
}
