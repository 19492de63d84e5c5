/**
 * What becomes of one delivered message, the same in every form of the streams; and the lanes in which handlers run.
 */
import { LIMITS } from "../base/limits.js";
import { errorFields } from "../base/log.js";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import { STREAM_NAMES } from "./streams.js";
import type { StreamDelivery, StreamHandler, StreamName } from "./streams.js";
import { backoff, within } from "../base/waiting/wake.js";
import type { Wake } from "../base/waiting/wake.js";

/**
 * `dropped`: the broker forgets the message; work that there still is stays due in Postgres, where it is found.
 * `abandoned`: the handler takes too long; nothing is said to the broker, which delivers again by itself.
 */
type DeliveryOutcome =
  | { readonly kind: "done" }
  | { readonly kind: "dropped" }
  | { readonly kind: "again"; readonly after_ms: number }
  | { readonly kind: "abandoned" };

/** What handling a message needs beside the message, whichever broker it came from. */
export interface DeliveryContext {
  readonly stream: StreamName;
  readonly log: Log;
  readonly metrics: Metrics;
  /** How long a handler has before the message goes to somebody else. LIMITS.stream_ack_wait_ms but in tests. */
  readonly ackWait_ms: number;
}

/** The first message that is given up is a step from 0 for whoever watches the counter, or none. */
export function countDropsFromNone(metrics: Metrics): void {
  for (const stream of STREAM_NAMES) metrics.count("stream_messages_dropped_total", { stream }, 0);
}

function orDropped(context: DeliveryContext, deliveries: number, after_ms: number): DeliveryOutcome {
  if (deliveries < LIMITS.stream_deliveries_max) return { kind: "again", after_ms };
  countDropped(context);
  context.log.error("stream.message_dropped", { component: context.stream, count: deliveries });
  return { kind: "dropped" };
}

function countDropped({ metrics, stream }: DeliveryContext): void {
  metrics.count("stream_messages_dropped_total", { stream });
}

/** Gives up what somebody has put on a stream by hand: it would come again for ever, and count as waiting. */
export function dropForeign(context: DeliveryContext): DeliveryOutcome {
  countDropped(context);
  context.log.error("stream.message_foreign", { component: context.stream });
  return { kind: "dropped" };
}

/** Runs the handler for one message. Never rejects. */
export async function deliver(
  delivery: StreamDelivery,
  handler: StreamHandler,
  context: DeliveryContext,
): Promise<DeliveryOutcome> {
  const { deliveries } = delivery;
  // A handler that takes its process down every time is not called for ever.
  if (deliveries > LIMITS.stream_deliveries_max) return orDropped(context, deliveries, 0);
  try {
    const running = handler(delivery);
    const result = await within(running, context.ackWait_ms, "late" as const);
    if (result === "done") return { kind: "done" };
    if (result === "late") {
      context.log.error("stream.handler_late", { component: context.stream, count: deliveries });
      // Its lane stays taken: handlers that hang must not pile up.
      await running.catch(() => undefined);
      return { kind: "abandoned" };
    }
    return orDropped(context, deliveries, Math.max(0, result.retryAfter_ms));
  } catch (error) {
    context.log.error("stream.handler_failed", { component: context.stream, count: deliveries, ...errorFields(error) });
    return orDropped(
      context,
      deliveries,
      backoff(deliveries, LIMITS.stream_redelivery_first_ms, LIMITS.stream_redelivery_max_ms),
    );
  }
}

interface Lanes {
  /** How many tasks may start now. */
  free(): number;
  /** Resolves when one may start. */
  whenFree(): Promise<void>;
  /** Starts a task, which must not reject. */
  run(task: () => Promise<void>): void;
  /** Resolves when none runs. */
  whenIdle(): Promise<void>;
}

/** @param count  tasks at once. */
export function createLanes(count: number): Lanes {
  let busy = 0;
  // Bounded by the places of the consumer: each of its deliveries waits for one thing at most.
  let waiters: { readonly holds: () => boolean; readonly resolve: () => void }[] = [];
  const when = (holds: () => boolean): Promise<void> =>
    holds()
      ? Promise.resolve()
      : new Promise((resolve) => {
          waiters.push({ holds, resolve });
        });
  const settle = (): void => {
    busy -= 1;
    const ready = waiters.filter((waiter) => waiter.holds());
    waiters = waiters.filter((waiter) => !ready.includes(waiter));
    for (const waiter of ready) waiter.resolve();
  };
  return {
    free: () => count - busy,
    whenFree: () => when(() => busy < count),
    whenIdle: () => when(() => busy === 0),
    run: (task) => {
      busy += 1;
      void task().finally(settle);
    },
  };
}

/** What the loop of a consumer shares with whoever stops it. */
export interface ConsumerLoop {
  readonly lanes: Lanes;
  readonly wake: Wake;
  /** Aborted when the loop is to end. */
  readonly stopping: AbortController;
}

/**
 * The `stop` of a consumer: its loop ends, then the handlers under way do; at most LIMITS.drain_timeout_ms.
 * @param ended  resolves when the loop has ended.
 */
export function stopOf(loop: ConsumerLoop, ended: Promise<void>, onStopped: () => void): () => Promise<void> {
  let stopped: Promise<void> | undefined;
  return () => {
    loop.stopping.abort();
    loop.wake.poke();
    return (stopped ??= within(
      ended.then(() => loop.lanes.whenIdle()),
      LIMITS.drain_timeout_ms,
      undefined,
    ).finally(onStopped));
  };
}
