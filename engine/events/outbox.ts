/** The relay: moves what was committed to the outbox on to the streams, at least once, however often anything dies. */
import { LIMITS } from "../base/limits.js";
import { errorFields } from "../base/log.js";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import { claimOutbox, deleteOutbox, readOutboxStatus, releaseOutbox } from "../storage/outbox.js";
import type { OutboxRow } from "../storage/outbox.js";
import type { Sql } from "../storage/sql.js";
import { STREAM_NAMES } from "./streams.js";
import type { StreamMessage, StreamName, Streams } from "./streams.js";
import { backoff, repeat, within } from "../base/waiting/wake.js";

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
  /**
   * Publishes a row that this process has just committed and holds under claim, without asking Postgres for it. At
   * most LIMITS.relay_handed_max wait; what is more, or is lost with the process, is found in the outbox when the claim
   * ends.
   */
  take(row: OutboxRow): void;
  /**
   * Ids of rows that were taken and published, each answered once: the next statement of the process removes them.
   * Those that nobody asks for are removed at the next look at the outbox.
   */
  published(): readonly string[];
  /** Ends after the batch under way. Safe to repeat. */
  stop(): Promise<void>;
}

const isMessage = (value: unknown): value is StreamMessage =>
  typeof value === "object" && value !== null && "key" in value && "body" in value;

/** The messages of a row. @throws Error for a list that holds anything else */
function messagesOf({ key, body }: OutboxRow): readonly StreamMessage[] {
  if (!Array.isArray(body)) return [{ key, body }];
  const messages: readonly unknown[] = body;
  if (!messages.every(isMessage)) throw new Error("an outbox row lists what is no message");
  return messages;
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
    await streams.publish(stream, rows.flatMap(messagesOf));
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
  return { claimed: rows.length, published: await publishRows(options, rows, failures) };
}

/** Publishes rows that this process holds, and removes them. @returns whether all of them were published */
async function publishRows(options: RelayOptions, rows: readonly OutboxRow[], failures: number): Promise<boolean> {
  const results = await Promise.all(
    STREAM_NAMES.map((stream) => ({ stream, part: rows.filter((row) => row.stream === stream) }))
      .filter(({ part }) => part.length > 0)
      .map(({ stream, part }) => relayStream(options, stream, part, failures)),
  );
  return results.every((published) => published);
}

/** How far the outbox and the streams are behind. What cannot be asked keeps its last value. */
async function exposeLag({ sql, streams, metrics, log }: RelayOptions): Promise<void> {
  const told = async (component: string, question: Promise<void>): Promise<void> => {
    try {
      await question;
    } catch (error) {
      log.warn("relay.lag_unknown", { component, ...errorFields(error) });
      throw error;
    }
  };
  const outbox = async (): Promise<void> => {
    const status = await readOutboxStatus(sql);
    metrics.set("outbox_lag_seconds", {}, status.oldestAge_s);
  };
  const pending = async (): Promise<void> => {
    for (const { stream, pending: count } of await streams.status())
      metrics.set("stream_pending_messages", { stream }, count);
  };
  // Both to their end: neither is asked again while its last question is under way.
  const ends = await Promise.allSettled([told("outbox", outbox()), told("streams", pending())]);
  const failed = ends.find((end) => end.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

interface Handed extends Pick<Relay, "take" | "published"> {
  /** Resolves when nothing is being published, with what nobody has asked for removed. */
  settle(): Promise<void>;
}

/** Publishes what its own process has committed: rows gather while those before them are under way. */
function relayHanded({ sql, streams, log }: RelayOptions): Handed {
  // Bounded by LIMITS.relay_handed_max.
  const waiting: OutboxRow[] = [];
  // Bounded by LIMITS.relay_handed_max: `take` counts both.
  const published: string[] = [];
  let running: Promise<void> | undefined;
  const publish = async (rows: readonly OutboxRow[]): Promise<void> => {
    const ids = rows.map(({ id }) => id);
    try {
      await streams.publish("events", rows.flatMap(messagesOf));
      published.push(...ids);
    } catch (error) {
      log.warn("relay.publish_failed", { component: "events", count: rows.length, ...errorFields(error) });
      await releaseOutbox(sql, ids, LIMITS.stream_backoff_first_ms);
    }
  };
  const run = async (): Promise<void> => {
    while (waiting.length > 0) {
      try {
        await publish(waiting.splice(0, LIMITS.relay_batch));
      } catch (error) {
        // Their claim ends by itself.
        log.warn("relay.failed", errorFields(error));
      }
    }
    running = undefined;
  };
  return {
    take: (row) => {
      if (waiting.length + published.length >= LIMITS.relay_handed_max) return;
      waiting.push(row);
      running ??= run();
    },
    published: () => published.splice(0),
    settle: async () => {
      await running;
      if (published.length > 0) await deleteOutbox(sql, published.splice(0));
    },
  };
}

/** Starts the relay. Several may run, in one process or in many: each row is held by one of them. */
export function startRelay(options: RelayOptions): Relay {
  const { log, metrics } = options;
  const handed = relayHanded(options);
  let failures = 0;
  const failed = (): number => {
    failures += 1;
    return backoff(failures, LIMITS.stream_backoff_first_ms, LIMITS.stream_backoff_max_ms);
  };
  metrics.beforeExposition(() => exposeLag(options));
  const relaying = repeat(
    async () => {
      await handed.settle();
      const { claimed, published } = await relayBatch(options, failures);
      if (!published) return failed();
      failures = 0;
      return claimed === LIMITS.relay_batch ? 0 : LIMITS.relay_poll_ms;
    },
    (error) => {
      log.warn("relay.failed", errorFields(error));
      return failed();
    },
  );
  return {
    poke: relaying.poke,
    take: handed.take,
    published: handed.published,
    stop: () =>
      within(
        relaying.stop().then(() => handed.settle()),
        LIMITS.drain_timeout_ms,
        undefined,
      ),
  };
}
