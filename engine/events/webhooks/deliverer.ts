/**
 * The loops of one node that turn the feed into deliveries and send them. What is made of the feed is sent at once
 * where there is a place for it, without a claim. A claim is for what had none, for repeats and for what others left:
 * it is made when something is known to be due, and once in LIMITS.webhook_due_poll_ms. What nobody is at any more is
 * freed once in LIMITS.lease_look_soon_ms: a claim whose answer was lost with its connection, what a dead process had;
 * then what many waited for at a subscription that was switched off ends, part by part.
 */
import { LIMITS } from "../../base/limits.js";
import { errorFields } from "../../base/log.js";
import { claimDeliveries, endMarkedDeliveries, freeDeliveries } from "../../storage/events/dispatch.js";
import type { ClaimedDelivery } from "../../storage/events/dispatch.js";
import { fanOutConnector, fanOutFeed, takenChains } from "../../storage/events/fan-out.js";
import type { DeliveryChain } from "../../storage/events/fan-out.js";
import type { OnGivenBack } from "../../storage/events/unopened.js";
import { repeat, within } from "../../base/waiting/wake.js";
import type { Loop } from "../../base/waiting/wake.js";
import { attemptDelivery } from "./attempt.js";
import type { AttemptPorts } from "./attempt.js";

/** The loop of one node. */
export interface Deliverer {
  /** Something happened to a document: look at once. Costs nothing. */
  poke(): void;
  /** Takes nothing more, and waits for the attempts under way, at most LIMITS.drain_timeout_ms. Safe to repeat. */
  stop(): Promise<void>;
}

/** Starts a loop: a step that fails is told in the log. */
const startLoop = ({ log }: Pick<AttemptPorts, "log">, component: string, step: () => Promise<number>): Loop =>
  repeat(step, (error) => {
    log.warn("webhook.look_failed", { component, ...errorFields(error) });
    return LIMITS.webhook_poll_ms;
  });

/** Lets a moment pass before the next statement, so that what happens together is seen by one. */
const rest = (time_ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, time_ms);
  });

/** Whose places a delivery takes. */
type Placed = Pick<ClaimedDelivery, "endpointId" | "ownerId">;

/** Whether some endpoint or owner has all its places taken, so that more of it may be due than can be under way. */
const isSomeoneFull = (some: readonly Placed[], underWay: readonly Placed[]): boolean =>
  some.some(
    ({ endpointId, ownerId }) =>
      underWay.filter((one) => one.endpointId === endpointId).length >= LIMITS.webhook_per_endpoint ||
      underWay.filter((one) => one.ownerId === ownerId).length >= LIMITS.webhook_per_owner - LIMITS.webhook_owner_first,
  );

/**
 * How long a node waits after a claim. A claim has its price, so that who has taken everything that was due looks again
 * later; who has filled all places, or all of an endpoint or an owner, has probably left some.
 * @param underWay  what was claimed included
 * @returns milliseconds
 */
export function claimAgainAfter(claimed: readonly Placed[], places: number, underWay: readonly Placed[]): number {
  if (claimed.length === 0) return 0;
  return claimed.length >= places || isSomeoneFull(claimed, underWay)
    ? LIMITS.webhook_claim_rest_ms
    : LIMITS.webhook_claim_idle_rest_ms;
}

/** What a claim has left, as far as its node knows. */
interface Left {
  /** Whether the node had places for no more, so that anything may wait for any of them. */
  readonly isShort: boolean;
  /** What had places when the claim was made, and what it has taken. */
  readonly underWay: readonly Placed[];
}

/**
 * Whether something that is due may wait for the place of a delivery: all places of the node, of its endpoint or of its
 * owner were taken at the last claim. Where a receiver is slow and has more to come, the ends of others make no claim.
 */
export const isWantedPlace = (delivery: Placed, { isShort, underWay }: Left): boolean =>
  isShort || isSomeoneFull([delivery], underWay);

/** Runs steps one after the other, in the order in which they were asked for. */
function oneAtATime(): <T>(step: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (step) => {
    const next = last.then(step, step);
    last = next.catch(() => undefined);
    return next;
  };
}

/** Starts the loops. Several may run, in one process or in many: each delivery is under the lease of one of them. */
export function startDeliverer(ports: AttemptPorts): Deliverer {
  const { sql, owner, log } = ports;
  // Bounded by LIMITS.webhook_attempts_concurrent_max: no more is claimed.
  const underWay = new Map<string, ClaimedDelivery>();
  const free = (): number => LIMITS.webhook_attempts_concurrent_max - underWay.size;
  // Two steps at once would give out the same places.
  const inTurn = oneAtATime();
  let idle: () => void = () => undefined;
  let left: Left = { isShort: false, underWay: [] };
  // Told by the next look at leases: while keys are away, claims that give back follow each other closely.
  let givenBack = 0;
  const countGivenBack: OnGivenBack = ({ length }) => {
    givenBack += length;
  };
  const begin = (...chain: DeliveryChain): void => {
    const [delivery] = chain;
    underWay.set(delivery.deliveryId, delivery);
    const hasTime = (): boolean =>
      2 * free() > LIMITS.webhook_attempts_concurrent_max && !isWantedPlace(delivery, left);
    // A delivery whose receiver has moved is claimed again while the call to the old place is under way: only the newer
    // attempt counts, and only its end gives the place back.
    const isCurrent = (): boolean => underWay.get(delivery.deliveryId) === delivery;
    void attemptDelivery({ ...ports, isCurrent, hasTime, onGivenBack: countGivenBack }, ...chain).then((written) => {
      if (isCurrent()) underWay.delete(delivery.deliveryId);
      if (isWantedPlace(delivery, left) || written?.freed !== false) sending.poke();
      if (underWay.size === 0) idle();
    });
  };
  const claim = async (): Promise<number> => {
    const places = free();
    if (places === 0) return 0;
    const before = [...underWay.values()];
    let unopened: readonly Placed[] = [];
    const claimed = await claimDeliveries(sql, owner, places, (given) => {
      unopened = given;
      countGivenBack(given);
    });
    const taken = [...claimed, ...unopened];
    left = { isShort: taken.length >= places, underWay: [...before, ...taken] };
    for (const delivery of claimed) begin(delivery);
    // No end will tell that the places of what was given back are free for what is due behind it.
    if (unopened.length > 0 && (left.isShort || isSomeoneFull(unopened, left.underWay))) sending.poke();
    return claimAgainAfter(taken, places, left.underWay);
  };
  const sending = startLoop(ports, "send", async () => {
    const rest_ms = await inTurn(claim);
    if (rest_ms > 0) await rest(rest_ms);
    return LIMITS.webhook_due_poll_ms;
  });
  const fanOut = async (): Promise<number> => {
    const fed = await fanOutFeed(sql, { owner, places: free() });
    const chains = fed.taken.length === 0 ? [] : await takenChains(sql, owner, fed.taken, countGivenBack);
    for (const chain of chains) begin(...chain);
    const connector = await fanOutConnector(sql);
    if (fed.waiting + connector.waiting > 0) {
      left = { ...left, isShort: true };
      sending.poke();
    }
    return fed.read + connector.read;
  };
  const feeding = startLoop(ports, "feed", async () => {
    const read = await inTurn(fanOut);
    if (read > 0) await rest(LIMITS.webhook_feed_rest_ms);
    return read > 0 ? 0 : LIMITS.webhook_poll_ms;
  });
  const freeing = startLoop(ports, "leases", async () => {
    if (givenBack > 0) log.warn("webhook.unopened", { count: givenBack });
    givenBack = 0;
    const { freed, isMarked } = await freeDeliveries(sql, owner, [...underWay.keys()]);
    if (freed > 0) {
      log.warn("webhook.leases_freed", { count: freed });
      sending.poke();
    }
    return isMarked && (await endMarkedDeliveries(sql)) ? 0 : LIMITS.lease_look_soon_ms;
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
