/** The relay: moves what was committed to the outbox on to the streams, at least once, however often anything dies. */
import { LIMITS } from "../base/limits.js";
import { errorFields } from "../base/log.js";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import { claimOutbox, deleteOutbox, readOutboxStatus, releaseOutbox } from "../storage/outbox.js";
import type { OutboxRow } from "../storage/outbox.js";
import type { Sql } from "../storage/sql.js";
import { STREAM_NAMES } from "./streams.js";
import type { StreamName, Streams } from "./streams.js";
import { backoff, createWake, within } from "./wake.js";

interface RelayOptions {
  readonly sql: Sql;
  readonly streams: Pick<Streams, "publish" | "status">;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** The loop that carries committed messages from the outbox to the streams. */
export interface Relay {
  /** Something was committed to the outbox: look at once instead of within LIMITS.relay_poll_ms. Costs nothing. */
  poke(): void;
  /** Ends after the batch under way. Safe to repeat. */
  stop(): Promise<void>;
}

/** Publishes one stream's part of a batch and removes it; rows that cannot be published are given back. */
async function relayStream(
  options: RelayOptions,
  stream: StreamName,
  rows: readonly OutboxRow[],
  failures: number,
): Promise<boolean> {
  const { sql, streams, log } = options;
  const ids = rows.map((row) => row.id);
  try {
    await streams.publish(stream, rows);
  } catch (error) {
    log.warn("relay.publish_failed", { component: stream, count: rows.length, ...errorFields(error) });
    await releaseOutbox(sql, ids, backoff(failures + 1, LIMITS.stream_backoff_first_ms, LIMITS.stream_backoff_max_ms));
    return false;
  }
  // A crash here publishes these rows again when the claim ends: consumers look at the row and find nothing to do.
  await deleteOutbox(sql, ids);
  return true;
}

/**
 * Relays one batch. The streams of a batch do not wait for each other's failures.
 * @returns how many rows were claimed, and whether all of them were published
 */
export async function relayBatch(
  options: RelayOptions,
  failures = 0,
): Promise<{ readonly claimed: number; readonly published: boolean }> {
  const rows = await claimOutbox(options.sql, LIMITS.relay_batch, LIMITS.relay_claim_ms);
  const results = await Promise.all(
    STREAM_NAMES.map((stream) => ({ stream, part: rows.filter((row) => row.stream === stream) }))
      .filter(({ part }) => part.length > 0)
      .map(({ stream, part }) => relayStream(options, stream, part, failures)),
  );
  return { claimed: rows.length, published: results.every((published) => published) };
}

/**
 * How far the outbox and the streams are behind. What cannot be asked keeps its last value: an exposition never fails.
 */
async function exposeLag({ sql, streams, metrics, log }: RelayOptions): Promise<void> {
  const asked = async <T>(component: string, question: Promise<T>): Promise<T | undefined> => {
    try {
      return await within(question, LIMITS.metrics_timeout_ms, undefined);
    } catch (error) {
      log.warn("relay.lag_unknown", { component, ...errorFields(error) });
      return undefined;
    }
  };
  const [outbox, status] = await Promise.all([
    asked("outbox", readOutboxStatus(sql)),
    asked("streams", streams.status()),
  ]);
  if (outbox !== undefined) metrics.set("outbox_lag_seconds", {}, outbox.oldestAge_s);
  for (const { stream, pending } of status ?? []) metrics.set("stream_pending_messages", { stream }, pending);
}

/** Starts the relay. Several may run, in one process or in many: each row is held by one of them. */
export function startRelay(options: RelayOptions): Relay {
  const { log, metrics } = options;
  const wake = createWake();
  let stopping = false;
  const run = async (): Promise<void> => {
    let failures = 0;
    while (!stopping) {
      let wait_ms: number = LIMITS.relay_poll_ms;
      try {
        const { claimed, published } = await relayBatch(options, failures);
        failures = published ? 0 : failures + 1;
        if (published && claimed === LIMITS.relay_batch) wait_ms = 0;
      } catch (error) {
        failures += 1;
        log.warn("relay.failed", errorFields(error));
      }
      if (failures > 0) wait_ms = backoff(failures, LIMITS.stream_backoff_first_ms, LIMITS.stream_backoff_max_ms);
      if (wait_ms > 0 && !stopping) await wake.wait(wait_ms);
    }
  };
  metrics.beforeExposition(() => exposeLag(options));
  const ended = run();
  return {
    poke: () => {
      wake.poke();
    },
    stop: () => {
      stopping = true;
      wake.poke();
      return within(ended, LIMITS.drain_timeout_ms, undefined);
    },
  };
}
