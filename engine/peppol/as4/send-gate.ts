/**
 * Receiving access points, one by one: how many attempts may be under way to each, and whether one is down.
 *
 * A quick receiver has many places, and who finds them taken waits for the next one: it is free in a moment. A slow one
 * has few, and slow ones together leave places for others; who finds those taken, or the receiver down, is told when to
 * come again, so that the documents of others pass at once. Those times are handed out at the pace at which the
 * receiver takes documents. Measured on a backlog for one quick receiver: 9 documents a second when everyone had to
 * come again.
 */
import type { Clock, Instant } from "../../base/clock.js";
import { randomUnit } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";

/**
 * `passed`: it answered, whatever it said. `failed`: it could not be reached or answered nothing that could be read.
 */
export type Passage = "passed" | "failed";

export type Admission =
  | { readonly kind: "admitted"; readonly leave: (passage: Passage) => void }
  | { readonly kind: "later"; readonly reason: "full" | "down"; readonly retryAfter_ms: number };

export interface Receivers {
  /**
   * Asks to make one attempt to a receiver; answers at once, or within LIMITS.receiver_place_wait_ms. @param key the
   * receiver's endpoint
   */
  admit(key: string): Promise<Admission>;
  /** Receivers whose breaker is open, for a gauge. */
  open(): number;
}

interface Receiver {
  underWay: number;
  failures: number;
  /** Until when nothing is sent; 0 when the receiver is up. */
  closedUntil: Instant;
  /** The pause after the next failure. */
  pause_ms: number;
  /** Moving average of the time that one attempt takes. */
  typical_ms: number;
  /** The time handed out last to somebody who found it full. */
  handedOut: Instant;
  /** Those who wait for a place, the first to come first. Each is called once. */
  readonly waiting: Set<(admission: Admission) => void>;
}

export interface ReceiverLimits {
  readonly attempts_per_receiver_max: number;
  readonly attempts_per_slow_receiver_max: number;
  readonly attempts_slow_max: number;
  readonly receiver_quick_ms: number;
  readonly receiver_place_wait_ms: number;
  readonly breaker_failures: number;
  readonly breaker_pause_first_ms: number;
  readonly breaker_pause_max_ms: number;
  readonly receiver_retry_min_ms: number;
  readonly receiver_retry_max_ms: number;
  readonly receivers_max: number;
}

/** Weight of the newest attempt in the average. */
const NEWEST = 0.2;
/** The spread of the times after a pause, so that they do not all come at once. */
const SPREAD = 0.2;

export function createReceivers(
  clock: Pick<Clock, "monotonic">,
  limits: ReceiverLimits = LIMITS,
  random: () => number = randomUnit,
): Receivers {
  const receivers = new Map<string, Receiver>();

  function find(key: string): Receiver {
    const known = receivers.get(key);
    const receiver = known ?? {
      underWay: 0,
      failures: 0,
      closedUntil: 0,
      pause_ms: limits.breaker_pause_first_ms,
      typical_ms: 0,
      handedOut: 0,
      waiting: new Set(),
    };
    receivers.delete(key);
    receivers.set(key, receiver);
    if (receivers.size > limits.receivers_max) forgetOldest();
    return receiver;
  }

  function forgetOldest(): void {
    for (const [key, { underWay, waiting }] of receivers) {
      if (underWay > 0 || waiting.size > 0) continue;
      receivers.delete(key);
      return;
    }
  }

  const isSlow = ({ typical_ms }: Receiver): boolean => typical_ms > limits.receiver_quick_ms;
  const underWayToSlow = (): number =>
    [...receivers.values()].reduce((sum, receiver) => sum + (isSlow(receiver) ? receiver.underWay : 0), 0);

  /** Attempts that may be under way to a receiver now. */
  function placesOf(receiver: Receiver): number {
    // After the pause one attempt shows whether it is back.
    if (receiver.closedUntil > 0) return 1;
    if (isSlow(receiver))
      return Math.max(
        0,
        Math.min(
          limits.attempts_per_slow_receiver_max,
          limits.attempts_slow_max - underWayToSlow() + receiver.underWay,
        ),
      );
    return receiver.typical_ms === 0 ? limits.attempts_per_slow_receiver_max : limits.attempts_per_receiver_max;
  }

  function enter(receiver: Receiver): Admission {
    receiver.underWay += 1;
    const startedAt = clock.monotonic();
    let left = false;
    return {
      kind: "admitted",
      leave: (passage) => {
        if (left) return;
        left = true;
        receiver.underWay -= 1;
        learn(receiver, startedAt, passage);
        letIn(receiver);
      },
    };
  }

  function learn(receiver: Receiver, startedAt: Instant, passage: Passage): void {
    const now = clock.monotonic();
    const took = now - startedAt;
    receiver.typical_ms = receiver.typical_ms === 0 ? took : receiver.typical_ms * (1 - NEWEST) + took * NEWEST;
    if (passage === "passed") {
      receiver.failures = 0;
      receiver.closedUntil = 0;
      receiver.pause_ms = limits.breaker_pause_first_ms;
      return;
    }
    receiver.failures += 1;
    // Attempts that were under way when it opened say nothing new when they fail too.
    if (receiver.failures < limits.breaker_failures || receiver.closedUntil > now) return;
    receiver.closedUntil = now + receiver.pause_ms;
    receiver.pause_ms = Math.min(receiver.pause_ms * 2, limits.breaker_pause_max_ms);
  }

  /** Gives free places to those who wait; all of them are sent away from a receiver that is down. */
  function letIn(receiver: Receiver): void {
    for (const answer of receiver.waiting) {
      if (receiver.closedUntil === 0 && receiver.underWay >= placesOf(receiver)) return;
      receiver.waiting.delete(answer);
      answer(receiver.closedUntil > 0 ? later(receiver) : enter(receiver));
    }
  }

  function later(receiver: Receiver): Admission {
    const now = clock.monotonic();
    if (receiver.closedUntil > now) {
      return {
        kind: "later",
        reason: "down",
        retryAfter_ms:
          Math.round((receiver.closedUntil - now) * (1 + SPREAD * random())) + limits.receiver_retry_min_ms,
      };
    }
    // One that has not answered yet is taken to be as slow as a quick one may be.
    const pace_ms = receiver.typical_ms === 0 ? limits.receiver_quick_ms : receiver.typical_ms;
    receiver.handedOut = Math.max(receiver.handedOut, now) + pace_ms / Math.max(1, placesOf(receiver));
    return {
      kind: "later",
      reason: receiver.closedUntil > 0 ? "down" : "full",
      retryAfter_ms: Math.round(
        Math.min(Math.max(receiver.handedOut - now, limits.receiver_retry_min_ms), limits.receiver_retry_max_ms),
      ),
    };
  }

  /** Whether a place is likely to be free before somebody who starts to wait now would give up. */
  function isSoonFree(receiver: Receiver): boolean {
    if (receiver.closedUntil > 0 || limits.receiver_place_wait_ms === 0 || isSlow(receiver)) return false;
    return (receiver.typical_ms * (receiver.waiting.size + 1)) / placesOf(receiver) < limits.receiver_place_wait_ms;
  }

  const wait = (receiver: Receiver): Promise<Admission> =>
    new Promise((resolve) => {
      const answer = (admission: Admission): void => {
        clearTimeout(timer);
        resolve(admission);
      };
      const timer = setTimeout(() => {
        receiver.waiting.delete(answer);
        resolve(later(receiver));
      }, limits.receiver_place_wait_ms);
      receiver.waiting.add(answer);
    });

  return {
    admit: (key) => {
      const receiver = find(key);
      const isDown = receiver.closedUntil > clock.monotonic();
      if (!isDown && receiver.waiting.size === 0 && receiver.underWay < placesOf(receiver))
        return Promise.resolve(enter(receiver));
      return isSoonFree(receiver) ? wait(receiver) : Promise.resolve(later(receiver));
    },
    open: () => {
      const now = clock.monotonic();
      return [...receivers.values()].filter(({ closedUntil }) => closedUntil > now).length;
    },
  };
}
