/**
 * Streams in Postgres itself: the default without NATS. Rows are claimed with SKIP LOCKED, waiting consumers are told
 * by NOTIFY.
 */
import { LIMITS } from "../base/limits.js";
import { errorFields } from "../base/log.js";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import { openChannel } from "../storage/channel.js";
import type { Sql } from "../storage/sql.js";
import {
  STREAM_CHANNEL,
  addStreamConsumer,
  claimStreamMessages,
  deleteOldStreamMessages,
  deleteStreamMessages,
  postponeStreamMessage,
  putStreamMessages,
  readStreamStatus,
} from "../storage/stream.js";
import type { StreamRow } from "../storage/stream.js";
import { createLanes, deliver, stopOf } from "./delivery.js";
import type { ConsumerLoop, DeliveryContext } from "./delivery.js";
import { encodeBody } from "./body.js";
import { STREAMS, STREAM_NAMES, durableName } from "./streams.js";
import type { StreamConsumer, StreamHandler, StreamName, Streams } from "./streams.js";
import { every } from "../base/waiting/every.js";
import { backoff, createWake } from "../base/waiting/wake.js";

interface PostgresStreamsOptions {
  readonly sql: Sql;
  /** For the connection that listens. */
  readonly url: string;
  readonly log: Log;
  readonly metrics: Metrics;
  /** @default LIMITS.stream_ack_wait_ms */
  readonly ackWait_ms?: number;
}

interface Loop extends DeliveryContext, ConsumerLoop {
  readonly sql: Sql;
  readonly durable: string;
  readonly handler: StreamHandler;
  readonly finish: (id: string) => Promise<void>;
}

/** Deletes finished messages together: those that finish while one statement runs go with the next. */
function createFinisher(sql: Sql): (id: string) => Promise<void> {
  // Bounded by the messages that consumers hold at once: each is finished once.
  let waiting: { readonly id: string; readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = [];
  let running = false;
  const flush = async (): Promise<void> => {
    running = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        await deleteStreamMessages(
          sql,
          batch.map((entry) => entry.id),
        );
        for (const entry of batch) entry.resolve();
      } catch (error) {
        for (const entry of batch) entry.reject(error);
      }
    }
    running = false;
  };
  return (id) =>
    new Promise((resolve, reject) => {
      waiting.push({ id, resolve, reject });
      if (!running) void flush();
    });
}

/** Makes a row due again after that time, and looks at that time when it is sooner than the next look. */
async function postpone(loop: Loop, row: StreamRow, after_ms: number): Promise<void> {
  await postponeStreamMessage(loop.sql, row, after_ms);
  if (after_ms < LIMITS.stream_poll_ms)
    setTimeout(() => {
      loop.wake.poke();
    }, after_ms).unref();
}

/** Handles one claimed row. What Postgres was not told is delivered again when the claim ends. */
async function handleRow(loop: Loop, row: StreamRow): Promise<void> {
  try {
    if (loop.stopping.signal.aborted) {
      await postpone(loop, row, 0);
      return;
    }
    const outcome = await deliver({ key: row.key, body: row.body, deliveries: row.deliveries }, loop.handler, loop);
    if (outcome.kind === "again") await postpone(loop, row, outcome.after_ms);
    else if (outcome.kind !== "abandoned") await loop.finish(row.id);
  } catch (error) {
    loop.log.warn("stream.ack_failed", { component: loop.stream, ...errorFields(error) });
  }
}

/** Claims for the free lanes until it is stopped; when nothing is due, waits for a NOTIFY or LIMITS.stream_poll_ms. */
async function runLoop(loop: Loop): Promise<void> {
  let failures = 0;
  let registered = false;
  while (!loop.stopping.signal.aborted) {
    try {
      if (!registered) await addStreamConsumer(loop.sql, loop.stream, loop.durable);
      registered = true;
      await loop.lanes.whenFree();
      if (loop.stopping.signal.aborted) return;
      const limit = Math.min(loop.lanes.free(), LIMITS.stream_batch);
      const rows = await claimStreamMessages(loop.sql, {
        stream: loop.stream,
        consumer: loop.durable,
        limit,
        lease_ms: loop.ackWait_ms,
      });
      failures = 0;
      for (const row of rows) loop.lanes.run(() => handleRow(loop, row));
      if (rows.length === 0 && !loop.stopping.signal.aborted) await loop.wake.wait(LIMITS.stream_poll_ms);
    } catch (error) {
      failures += 1;
      loop.log.warn("stream.claim_failed", { component: loop.stream, ...errorFields(error) });
      if (!loop.stopping.signal.aborted)
        await loop.wake.wait(backoff(failures, LIMITS.stream_backoff_first_ms, LIMITS.stream_backoff_max_ms));
    }
  }
}

/** Opens the streams that live in the database; migrations must have run. */
export function openPostgresStreams(options: PostgresStreamsOptions): Streams {
  const { sql, log, metrics } = options;
  // Bounded by the consumers that the engine starts.
  const loops = new Map<Loop, () => Promise<void>>();
  const pokeAll = (stream?: string): void => {
    for (const loop of loops.keys()) if (stream === undefined || loop.stream === stream) loop.wake.poke();
  };
  const finish = createFinisher(sql);
  const channel = openChannel({
    url: options.url,
    name: "kurier-streams",
    channel: STREAM_CHANNEL,
    onMessage: pokeAll,
    onUp: () => {
      pokeAll();
    },
    onDown: () => undefined,
  });
  const stopHousekeeping = every(LIMITS.stream_housekeeping_ms, () => {
    const copies = STREAM_NAMES.filter((stream) => STREAMS[stream].retention === "copies");
    void Promise.all(copies.map((stream) => deleteOldStreamMessages(sql, stream, LIMITS.stream_copy_age_ms))).catch(
      (error: unknown) => {
        log.warn("stream.housekeeping_failed", errorFields(error));
      },
    );
  });

  const consume = async (
    stream: StreamName,
    consumer: string,
    { concurrency }: { readonly concurrency: number },
    handler: StreamHandler,
  ): Promise<StreamConsumer> => {
    const loop: Loop = {
      stream,
      log,
      metrics,
      sql,
      handler,
      finish,
      ackWait_ms: options.ackWait_ms ?? LIMITS.stream_ack_wait_ms,
      durable: durableName(stream, consumer),
      lanes: createLanes(concurrency),
      wake: createWake(),
      stopping: new AbortController(),
    };
    await addStreamConsumer(sql, stream, loop.durable).catch((error: unknown) => {
      log.warn("stream.consumer_waits", { component: stream, ...errorFields(error) });
    });
    const stop = stopOf(loop, runLoop(loop), () => {
      loops.delete(loop);
    });
    loops.set(loop, stop);
    return { stop };
  };

  return {
    consume,
    publish: async (stream, messages) => {
      if (messages.length > 0)
        await putStreamMessages(
          sql,
          stream,
          messages.map(({ key, body }) => ({ key, body: encodeBody(body) })),
        );
    },
    status: async () => {
      const rows = await readStreamStatus(sql);
      return STREAM_NAMES.map((stream) => {
        const row = rows.find((candidate) => candidate.stream === stream);
        return { stream, pending: row?.pending ?? 0, oldestAge_s: row?.oldestAge_s ?? 0 };
      });
    },
    close: async () => {
      stopHousekeeping();
      await Promise.all([...loops.values()].map((stop) => stop()));
      await channel.close();
    },
  };
}
