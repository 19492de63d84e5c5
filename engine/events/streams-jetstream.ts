/** Streams in NATS JetStream (nats-server 2.9 or newer). The only file that knows NATS. */
import {
  AckPolicy,
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  RetentionPolicy,
  StorageType,
  jetstream,
  jetstreamManager,
} from "@nats-io/jetstream";
import type {
  Consumer,
  ConsumerConfig,
  JetStreamClient,
  JetStreamManager,
  JsMsg,
  StreamConfig,
} from "@nats-io/jetstream";
import { connect, nanos } from "@nats-io/transport-node";
import type { ConnectionOptions, NatsConnection } from "@nats-io/transport-node";

import type { Clock } from "../base/clock.js";
import { LIMITS } from "../base/limits.js";
import { errorFields } from "../base/log.js";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import type { Json } from "../storage/sql.js";
import { encodeBody } from "./body.js";
import { createLanes, deliver, dropForeign, stopOf } from "./delivery.js";
import type { ConsumerLoop, DeliveryContext } from "./delivery.js";
import { STREAMS, STREAM_NAMES, durableName } from "./streams.js";
import type { StreamConsumer, StreamHandler, StreamMessage, StreamName, StreamStatus, Streams } from "./streams.js";
import { backoff, createWake, within } from "../base/waiting/wake.js";

interface JetStreamOptions {
  /** Comma-separated servers: `nats://[user:password@|token@]host:port` or `tls://…`. Never logged. */
  readonly url: string;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** @default LIMITS.stream_ack_wait_ms */
  readonly ackWait_ms?: number;
}

/** Everything that a connection gives. */
interface Broker {
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
  readonly client: JetStreamClient;
}

const brokerName = (stream: StreamName): string => `KURIER_${stream.toUpperCase()}`;
const subject = (stream: StreamName): string => `kurier.${stream}`;

/** A pull that has not ended by then hangs on a dead connection. */
const PULL_HANGS_MS = 3 * LIMITS.stream_pull_ms;

const streamConfig = (
  stream: StreamName,
): Pick<StreamConfig, "name" | "retention" | "storage"> & Partial<StreamConfig> => ({
  name: brokerName(stream),
  subjects: [subject(stream)],
  storage: StorageType.File,
  retention: STREAMS[stream].retention === "queue" ? RetentionPolicy.Workqueue : RetentionPolicy.Interest,
  // A full stream refuses: the outbox keeps what it cannot hand over, whereas discarding would lose it in silence.
  discard: DiscardPolicy.New,
  max_msgs: LIMITS.stream_messages_max,
  max_bytes: LIMITS.stream_file_bytes_max / (2 * STREAM_NAMES.length),
  max_msg_size: LIMITS.stream_message_bytes_max * 2,
  max_age: STREAMS[stream].retention === "queue" ? 0 : nanos(LIMITS.stream_copy_age_ms),
});

const consumerConfig = (
  durable: string,
  ackWait_ms: number,
): Partial<ConsumerConfig> & { readonly durable_name: string } => ({
  durable_name: durable,
  ack_policy: AckPolicy.Explicit,
  ack_wait: nanos(ackWait_ms),
  // Counted on our side: the broker would stop delivering without telling anybody.
  max_deliver: -1,
  max_ack_pending: LIMITS.stream_unacknowledged_max,
});

/** Reads NATS_URL: the client library wants credentials apart from the servers. */
function connectionOptions(url: string): ConnectionOptions {
  const servers = url.split(",").map((part) => new URL(part.includes("://") ? part.trim() : `nats://${part.trim()}`));
  const named = servers.find((server) => server.username !== "");
  const user = decodeURIComponent(named?.username ?? "");
  const password = decodeURIComponent(named?.password ?? "");
  return {
    servers: servers.map((server) => server.host),
    name: "kurier",
    ...(named === undefined ? {} : password === "" ? { token: user } : { user, pass: password }),
    ...(servers.some((server) => server.protocol === "tls:") ? { tls: {} } : {}),
    timeout: LIMITS.stream_request_timeout_ms,
    maxReconnectAttempts: -1,
    reconnectTimeWait: LIMITS.stream_backoff_first_ms,
    reconnectJitter: LIMITS.stream_backoff_first_ms,
    pingInterval: LIMITS.stream_ack_wait_ms / 8,
    maxPingOut: 2,
    // A log names the stream of a request that failed; the line that made it costs as much as the rest of a request.
    noAsyncTraces: true,
  };
}

/** Makes the connection when it is first needed, and again when it was given up. */
function createDoor(url: string): { broker(): Promise<Broker>; close(): Promise<void> } {
  let current: Promise<Broker> | undefined;
  const open = async (): Promise<Broker> => {
    const connection = await connect(connectionOptions(url));
    void connection.closed().finally(() => {
      current = undefined;
    });
    const timeout = LIMITS.stream_request_timeout_ms;
    try {
      const manager = await jetstreamManager(connection, { timeout, checkAPI: false });
      return { connection, manager, client: jetstream(connection, { timeout }) };
    } catch (error) {
      await connection.close();
      throw error;
    }
  };
  return {
    broker: () => {
      current ??= open().catch((error: unknown) => {
        current = undefined;
        throw error;
      });
      return current;
    },
    close: async () => {
      const broker = await current?.catch(() => undefined);
      if (broker === undefined) return;
      // Acknowledgements leave before the connection does.
      await within(
        broker.connection.flush().catch(() => undefined),
        PULL_HANGS_MS,
        undefined,
      );
      await broker.connection.close();
    },
  };
}

const hasApiCode = (error: unknown, code: number): boolean => error instanceof JetStreamApiError && error.code === code;

/** Makes the stream, or brings its limits to ours when an older release made it. */
async function ensureStream({ manager }: Broker, stream: StreamName): Promise<void> {
  const { name, retention, storage, ...limits } = streamConfig(stream);
  try {
    await manager.streams.update(name, limits);
  } catch (error) {
    if (!hasApiCode(error, JetStreamApiCodes.StreamNotFound)) throw error;
    await manager.streams.add({ name, retention, storage, ...limits });
  }
}

/** What tells a stream of ours from one that somebody else has made under its name. */
const TOLD_BY = ["subjects", "storage", "retention", "discard"] as const;

/**
 * What is amiss with a stream on the server; undefined where it is as we make it. Changes nothing. Engines make a queue
 * when they start, and a stream of copies with its first message.
 */
async function faultOf({ manager }: Broker, stream: StreamName): Promise<string | undefined> {
  const ours = streamConfig(stream);
  try {
    const { config } = await manager.streams.info(ours.name);
    const others = TOLD_BY.filter((member) => String(config[member]) !== String(ours[member]));
    return others.length === 0
      ? undefined
      : `the stream ${ours.name} is not as engines make it (${others.join(", ")}): without it they make their own`;
  } catch (error) {
    if (!hasApiCode(error, JetStreamApiCodes.StreamNotFound)) throw error;
    return STREAMS[stream].retention === "copies"
      ? undefined
      : `there is no stream ${ours.name}: an engine makes it when it starts, or says why not in stream.pull_failed`;
  }
}

/** Makes the stream and the consumer where they are missing. */
async function ensureConsumer(
  broker: Broker,
  { stream, durable, ackWait_ms }: Pick<Loop, "stream" | "durable" | "ackWait_ms">,
): Promise<Consumer> {
  await ensureStream(broker, stream);
  await broker.manager.consumers.add(brokerName(stream), consumerConfig(durable, ackWait_ms));
  return broker.client.consumers.get(brokerName(stream), durable);
}

/** @returns undefined for what the relay has not published */
function decode(message: JsMsg): StreamMessage | undefined {
  try {
    const envelope = message.json<{ readonly key?: unknown; readonly body?: Json } | null>();
    return typeof envelope?.key === "string" ? { key: envelope.key, body: envelope.body ?? null } : undefined;
  } catch {
    return undefined;
  }
}

interface Loop extends DeliveryContext, ConsumerLoop {
  readonly broker: () => Promise<Broker>;
  readonly clock: Clock;
  readonly durable: string;
  readonly handler: StreamHandler;
}

async function handleMessage(loop: Loop, message: JsMsg): Promise<void> {
  try {
    if (loop.stopping.signal.aborted) {
      message.nak();
      return;
    }
    const decoded = decode(message);
    const outcome =
      decoded === undefined
        ? dropForeign(loop)
        : await deliver({ ...decoded, deliveries: message.info.deliveryCount }, loop.handler, loop);
    if (outcome.kind === "done") message.ack();
    else if (outcome.kind === "again") message.nak(outcome.after_ms);
    else if (outcome.kind === "dropped") message.term();
  } catch (error) {
    // An acknowledgement that cannot be sent: the broker delivers again when the ack wait has passed.
    loop.log.warn("stream.ack_failed", { component: loop.stream, ...errorFields(error) });
  }
}

/**
 * One pull: takes messages for the free lanes until they are full or LIMITS.stream_pull_ms has passed. @returns how
 * many came
 */
async function pull(loop: Loop, consumer: Consumer): Promise<number> {
  const messages = await consumer.fetch({
    max_messages: Math.min(loop.lanes.free(), LIMITS.stream_batch),
    expires: LIMITS.stream_pull_ms,
  });
  const guard = setTimeout(() => {
    messages.stop(new Error("the pull hangs"));
  }, PULL_HANGS_MS);
  let count = 0;
  try {
    for await (const message of messages) {
      count += 1;
      loop.lanes.run(() => handleMessage(loop, message));
    }
  } finally {
    clearTimeout(guard);
  }
  return count;
}

/**
 * The watchdog: a consumer that brings nothing for LIMITS.stream_stalled_ms although messages wait is made anew. A
 * queue keeps its messages without a consumer; copies would go with it, so there only our side is renewed.
 */
async function recreateStalled(loop: Loop, consumer: Consumer): Promise<boolean> {
  const info = await consumer.info();
  if (info.num_pending === 0) return false;
  loop.metrics.count("stream_consumer_restarts_total", { stream: loop.stream });
  loop.log.warn("stream.consumer_stalled", { component: loop.stream, count: info.num_pending });
  if (STREAMS[loop.stream].retention === "queue") await consumer.delete();
  return true;
}

/**
 * A server that is killed may come back with messages of which its consumer knows that they are acknowledged: nobody is
 * given them again, and they would count as waiting for ever. Those below everything that the consumer still waits for
 * are removed. Copies go by their age.
 */
async function removeAcknowledged(loop: Loop, consumer: Consumer): Promise<void> {
  if (STREAMS[loop.stream].retention !== "queue") return;
  const { ack_floor } = await consumer.info();
  const { manager } = await loop.broker();
  const { state } = await manager.streams.info(brokerName(loop.stream));
  if (state.messages > 0 && state.first_seq <= ack_floor.stream_seq)
    await manager.streams.purge(brokerName(loop.stream), { seq: ack_floor.stream_seq + 1 });
}

/**
 * Pulls until it is stopped. After any failure it looks for the broker, the stream and the consumer again, and makes
 * what is missing.
 */
async function runLoop(loop: Loop): Promise<void> {
  let consumer: Consumer | undefined;
  let failures = 0;
  let movedAt = loop.clock.monotonic();
  let lookedAt = -Infinity;
  while (!loop.stopping.signal.aborted) {
    try {
      await loop.lanes.whenFree();
      if (loop.stopping.signal.aborted) return;
      consumer ??= await ensureConsumer(await loop.broker(), loop);
      if (loop.clock.monotonic() - lookedAt > LIMITS.stream_stalled_ms) {
        lookedAt = loop.clock.monotonic();
        await removeAcknowledged(loop, consumer).catch((error: unknown) => {
          // Who may not purge has what is left counted, and everything else as before.
          loop.log.warn("stream.acknowledged_left", { component: loop.stream, ...errorFields(error) });
        });
      }
      const count = await pull(loop, consumer);
      failures = 0;
      if (count > 0) movedAt = loop.clock.monotonic();
      else if (loop.clock.monotonic() - movedAt > LIMITS.stream_stalled_ms) {
        if (await recreateStalled(loop, consumer)) consumer = undefined;
        movedAt = loop.clock.monotonic();
      }
    } catch (error) {
      consumer = undefined;
      failures += 1;
      loop.log.warn("stream.pull_failed", { component: loop.stream, ...errorFields(error) });
      if (!loop.stopping.signal.aborted)
        await loop.wake.wait(backoff(failures, LIMITS.stream_backoff_first_ms, LIMITS.stream_backoff_max_ms));
    }
  }
}

/** Publishes pipelined, and resolves when each is acknowledged. */
async function publishAll({ client }: Broker, stream: StreamName, bodies: readonly string[]): Promise<void> {
  const results = await Promise.allSettled(
    bodies.map((body) => client.publish(subject(stream), body, { timeout: LIMITS.stream_request_timeout_ms })),
  );
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

async function readStatus({ manager }: Broker, stream: StreamName, clock: Clock): Promise<StreamStatus> {
  try {
    const { state } = await manager.streams.info(brokerName(stream));
    const oldestAge_s = state.messages === 0 ? 0 : Math.max(0, (clock.now() - Date.parse(state.first_ts)) / 1_000);
    return { stream, pending: state.messages, oldestAge_s };
  } catch (error) {
    if (hasApiCode(error, JetStreamApiCodes.StreamNotFound)) return { stream, pending: 0, oldestAge_s: 0 };
    throw error;
  }
}

/** Streams of NATS, which others may have changed. */
interface NatsStreams extends Streams {
  /** What is amiss with them, a clause each; changes nothing. Rejects when the broker is away. */
  faults(): Promise<readonly string[]>;
}

/** Opens the streams of a NATS server. Connects when first used, so that the engine starts while NATS is away. */
export function openJetStream(options: JetStreamOptions): NatsStreams {
  const { log, metrics, clock } = options;
  const door = createDoor(options.url);
  // Bounded by the consumers that the engine starts.
  const loops = new Map<Loop, () => Promise<void>>();
  const ensured = new WeakMap<Broker, Set<StreamName>>();

  /**
   * A stream that was lost with the broker's store comes back with its consumers: copies are made for those it knows.
   */
  const ensureAll = async (broker: Broker, stream: StreamName): Promise<void> => {
    await ensureStream(broker, stream);
    for (const loop of loops.keys()) if (loop.stream === stream) await ensureConsumer(broker, loop);
  };
  const publish = async (stream: StreamName, bodies: readonly string[]): Promise<void> => {
    const broker = await door.broker();
    const known = ensured.get(broker) ?? new Set();
    ensured.set(broker, known);
    if (!known.has(stream)) await ensureAll(broker, stream);
    known.add(stream);
    try {
      await publishAll(broker, stream, bodies);
    } catch (error) {
      // The stream may have gone with the broker's store: the next call looks.
      known.delete(stream);
      throw error;
    }
  };

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
      clock,
      handler,
      ackWait_ms: options.ackWait_ms ?? LIMITS.stream_ack_wait_ms,
      broker: door.broker,
      durable: durableName(stream, consumer),
      lanes: createLanes(concurrency),
      wake: createWake(),
      stopping: new AbortController(),
    };
    await door
      .broker()
      .then((broker) => ensureConsumer(broker, loop))
      .catch((error: unknown) => {
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
        await publish(
          stream,
          messages.map(({ key, body }) => encodeBody({ key, body })),
        );
    },
    status: async () => {
      const broker = await door.broker();
      return Promise.all(STREAM_NAMES.map((stream) => readStatus(broker, stream, clock)));
    },
    faults: async () => {
      const broker = await door.broker();
      const found = await Promise.all(STREAM_NAMES.map((stream) => faultOf(broker, stream)));
      return found.filter((fault) => fault !== undefined);
    },
    close: async () => {
      await Promise.all([...loops.values()].map((stop) => stop()));
      await door.close();
    },
  };
}
