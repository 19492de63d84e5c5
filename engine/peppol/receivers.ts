/**
 * Receiving access points, one by one: how many attempts may be under way to each, and whether one is down.
 *
 * Nothing waits here. A receiver that is full or down gives back the time at which to come again, so that the documents of
 * others pass at once. Those times are handed out at the pace at which the receiver takes documents.
 */
import type { Clock, Instant } from "../clock.js";
import { randomUnit } from "../ids.js";
import { LIMITS } from "../limits.js";

/** `passed`: it answered, whatever it said. `failed`: it could not be reached or answered nothing that could be read. */
export type Passage = "passed" | "failed";

export type Admission =
  | { readonly kind: "admitted"; readonly leave: (passage: Passage) => void }
  | { readonly kind: "later"; readonly reason: "full" | "down"; readonly retryAfter_ms: number };

export interface Receivers {
  /** Asks to make one attempt to a receiver. @param key the receiver's endpoint */
  admit(key: string): Admission;
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
}

export interface ReceiverLimits {
  readonly attempts_per_receiver_max: number;
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

export function createReceivers(clock: Pick<Clock, "monotonic">, limits: ReceiverLimits = LIMITS, random: () => number = randomUnit): Receivers {
  const receivers = new Map<string, Receiver>();

  function find(key: string): Receiver {
    const known = receivers.get(key);
    const receiver = known ?? { underWay: 0, failures: 0, closedUntil: 0, pause_ms: limits.breaker_pause_first_ms, typical_ms: 0, handedOut: 0 };
    receivers.delete(key);
    receivers.set(key, receiver);
    if (receivers.size > limits.receivers_max) forgetOldest();
    return receiver;
  }

  function forgetOldest(): void {
    for (const [key, { underWay }] of receivers) {
      if (underWay > 0) continue;
      receivers.delete(key);
      return;
    }
  }

  function leave(receiver: Receiver, startedAt: Instant, passage: Passage): void {
    receiver.underWay -= 1;
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

  return {
    admit: (key) => {
      const receiver = find(key);
      const now = clock.monotonic();
      if (receiver.closedUntil > now) {
        return { kind: "later", reason: "down", retryAfter_ms: Math.round((receiver.closedUntil - now) * (1 + SPREAD * random())) + limits.receiver_retry_min_ms };
      }
      // After the pause one attempt shows whether it is back.
      const places = receiver.closedUntil > 0 ? 1 : limits.attempts_per_receiver_max;
      if (receiver.underWay >= places) {
        receiver.handedOut = Math.max(receiver.handedOut, now) + receiver.typical_ms / places;
        return { kind: "later", reason: receiver.closedUntil > 0 ? "down" : "full", retryAfter_ms: Math.round(Math.min(Math.max(receiver.handedOut - now, limits.receiver_retry_min_ms), limits.receiver_retry_max_ms)) };
      }
      receiver.underWay += 1;
      let left = false;
      return {
        kind: "admitted",
        leave: (passage) => {
          if (left) return;
          left = true;
          leave(receiver, now, passage);
        },
      };
    },
    open: () => {
      const now = clock.monotonic();
      return [...receivers.values()].filter(({ closedUntil }) => closedUntil > now).length;
    },
  };
}
