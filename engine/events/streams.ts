/**
 * Streams carry wake-ups and copies of events between nodes. They are never the record: a message says which row to
 * look at, it may come twice, late or not at all, and whoever waits for it looks into Postgres by itself, too.
 */
import type { Json } from "../storage/sql.js";

/**
 * `queue`: each message goes to one of all consumers. `copies`: each consumer name gets every message that is published
 * after the name was first used, also while nobody of that name runs.
 */
export const STREAMS = {
  dispatch: { retention: "queue" },
  events: { retention: "copies" },
} as const satisfies Record<string, { readonly retention: "queue" | "copies" }>;

/** A stream of the table. */
export type StreamName = keyof typeof STREAMS;
/** Every stream of the table. */
export const STREAM_NAMES = Object.keys(STREAMS) as readonly StreamName[];

/** A message for a stream: a pointer to work that Postgres holds. */
export interface StreamMessage {
  /** What the message is about; for people who look into a broker. At most 255 characters. */
  readonly key: string;
  /** Ids, never content. At most LIMITS.stream_message_bytes_max as JSON. */
  readonly body: Json;
}

/** A message as a handler gets it. */
export interface StreamDelivery extends StreamMessage {
  /** How often the message was delivered, this time included. */
  readonly deliveries: number;
}

/** `done`: never again. Otherwise the message comes again after that time, until LIMITS.stream_deliveries_max. */
type StreamResult = "done" | { readonly retryAfter_ms: number };

/**
 * Handles one message. A handler that throws gets the message again, later and later; one that takes longer than
 * LIMITS.stream_ack_wait_ms loses the message to whoever is free, and keeps its place among the concurrent ones.
 */
export type StreamHandler = (delivery: StreamDelivery) => Promise<StreamResult>;

/** How far the consumers of a stream are behind. */
export interface StreamStatus {
  readonly stream: StreamName;
  /** Messages that not every consumer has finished. */
  readonly pending: number;
  /** Age of the oldest of them; 0 when there is none. */
  readonly oldestAge_s: number;
}

/** A consumer that is running. */
export interface StreamConsumer {
  /** Takes nothing more, and waits for the handlers under way, at most LIMITS.drain_timeout_ms. Safe to repeat. */
  stop(): Promise<void>;
}

/** The broker as the engine sees it, whether it is JetStream or Postgres. */
export interface Streams {
  /** Resolves when the broker has all of them. Rejects when it may lack some: publish all of them again. */
  publish(stream: StreamName, messages: readonly StreamMessage[]): Promise<void>;
  /**
   * Starts to handle the messages of a stream. Resolves when the consumer is known to the broker, or, when the broker
   * is away, at once: the consumer keeps trying.
   * @param consumer  a name shared by those who share the work; letters, digits, `-` and `_`, at most 64. On a queue
   * all
   *   consumers share, whatever their names.
   * @param options.concurrency  handlers at once.
   */
  consume(
    stream: StreamName,
    consumer: string,
    options: { readonly concurrency: number },
    handler: StreamHandler,
  ): Promise<StreamConsumer>;
  /** One row per stream. Rejects when the broker is away. */
  status(): Promise<readonly StreamStatus[]>;
  /** Stops all consumers and leaves the broker. */
  close(): Promise<void>;
}

const CONSUMER_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** The name under which the broker keeps a consumer's position. @throws Error on a name that no broker could keep */
export function durableName(stream: StreamName, consumer: string): string {
  if (!CONSUMER_NAME.test(consumer))
    throw new Error("the name of a stream consumer has letters, digits, - and _, at most 64");
  return STREAMS[stream].retention === "queue" ? stream : consumer;
}
