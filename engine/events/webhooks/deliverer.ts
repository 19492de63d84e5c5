/**
 * The loop of one node that turns the feed into deliveries and makes those that are due. It looks when it is told that
 * something happened, when an attempt ends, and once in LIMITS.webhook_poll_ms. What nobody is at any more it frees
 * once in LIMITS.dispatcher_beat_ms: a claim whose answer was lost with its connection, what a dead process had.
 */
import { LIMITS } from "../../base/limits.js";
import { errorFields } from "../../base/log.js";
import { claimDeliveries, fanOutConnector, fanOutFeed, freeDeliveries } from "../../storage/events/dispatch.js";
import type { ClaimedDelivery } from "../../storage/events/dispatch.js";
import { createWake, within } from "../wake.js";
import { attemptDelivery } from "./attempt.js";
import type { AttemptPorts } from "./attempt.js";

/** The loop of one node. */
export interface Deliverer {
  /** Something happened to a document: look at once. Costs nothing. */
  poke(): void;
  /** Takes nothing more, and waits for the attempts under way, at most LIMITS.drain_timeout_ms. Safe to repeat. */
  stop(): Promise<void>;
}

/**
 * Runs a step again and again; a step that fails is told in the log. @param step  answers how long to wait for the next
 */
function repeat({ log }: Pick<AttemptPorts, "log">, component: string, step: () => Promise<number>) {
  const wake = createWake();
  let stopping = false;
  const run = async (): Promise<void> => {
    while (!stopping) {
      let wait_ms: number = LIMITS.webhook_poll_ms;
      try {
        wait_ms = await step();
      } catch (error) {
        log.warn("webhook.look_failed", { component, ...errorFields(error) });
      }
      if (!stopping && wait_ms > 0) await wake.wait(wait_ms);
    }
  };
  const ended = run();
  return {
    poke: wake.poke,
    stop: () => {
      stopping = true;
      wake.poke();
      return ended;
    },
  };
}

/** Lets a moment pass before the next statement, so that what happens together is seen by one. */
const rest = (time_ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, time_ms);
  });

/** Whose places a delivery takes. */
type Placed = Pick<ClaimedDelivery, "endpointId" | "ownerId">;

/**
 * How long a node waits after a claim. A claim has its price, so that who has taken everything that was due looks again
 * later; who has filled all places, or all of an endpoint or an owner, has probably left some.
 * @param underWay  what was claimed included
 * @returns milliseconds
 */
export function claimAgainAfter(claimed: readonly Placed[], places: number, underWay: readonly Placed[]): number {
  if (claimed.length === 0) return 0;
  const isFull = ({ endpointId, ownerId }: Placed): boolean =>
    underWay.filter((one) => one.endpointId === endpointId).length >= LIMITS.webhook_per_endpoint ||
    underWay.filter((one) => one.ownerId === ownerId).length >= LIMITS.webhook_per_owner;
  return claimed.length >= places || claimed.some(isFull)
    ? LIMITS.webhook_claim_rest_ms
    : LIMITS.webhook_claim_idle_rest_ms;
}

/** Starts the loop. Several may run, in one process or in many: each delivery is under the lease of one of them. */
export function startDeliverer(ports: AttemptPorts): Deliverer {
  // Bounded by LIMITS.webhook_attempts_concurrent_max: no more is claimed.
  const underWay = new Map<string, ClaimedDelivery>();
  let idle: () => void = () => undefined;
  const begin = (delivery: ClaimedDelivery): void => {
    underWay.set(delivery.deliveryId, delivery);
    // A delivery whose receiver has moved is claimed again while the call to the old place is under way: only the newer
    // attempt counts, and only its end gives the place back.
    const isCurrent = (): boolean => underWay.get(delivery.deliveryId) === delivery;
    void attemptDelivery({ ...ports, isCurrent }, delivery).finally(() => {
      if (isCurrent()) underWay.delete(delivery.deliveryId);
      sending.poke();
      if (underWay.size === 0) idle();
    });
  };
  const sending = repeat(ports, "send", async () => {
    const places = LIMITS.webhook_attempts_concurrent_max - underWay.size;
    if (places === 0) return LIMITS.webhook_poll_ms;
    const claimed = await claimDeliveries(ports.sql, ports.owner, places);
    for (const delivery of claimed) begin(delivery);
    const rest_ms = claimAgainAfter(claimed, places, [...underWay.values()]);
    if (rest_ms > 0) await rest(rest_ms);
    return LIMITS.webhook_poll_ms;
  });
  const feeding = repeat(ports, "feed", async () => {
    const [enterprise, connector] = [await fanOutFeed(ports.sql), await fanOutConnector(ports.sql)];
    const [read, queued] = [enterprise.read + connector.read, enterprise.queued + connector.queued];
    if (queued > 0) sending.poke();
    if (read > 0) await rest(LIMITS.webhook_feed_rest_ms);
    return read > 0 ? 0 : LIMITS.webhook_poll_ms;
  });
  const freeing = repeat(ports, "leases", async () => {
    const count = await freeDeliveries(ports.sql, ports.owner, [...underWay.keys()]);
    if (count > 0) {
      ports.log.warn("webhook.leases_freed", { count });
      sending.poke();
    }
    return LIMITS.dispatcher_beat_ms;
  });
  let stopped: Promise<void> | undefined;
  return {
    poke: feeding.poke,
    stop: () =>
      (stopped ??= within(
        Promise.all([feeding.stop(), sending.stop(), freeing.stop()]).then(() =>
          underWay.size === 0
            ? undefined
            : new Promise<void>((resolve) => {
                idle = resolve;
              }),
        ),
        LIMITS.drain_timeout_ms,
        undefined,
      )),
  };
}
