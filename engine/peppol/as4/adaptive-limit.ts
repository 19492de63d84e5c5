/**
 * How many attempts one receiving access point takes at once, learned from its own answers: LEDBAT (RFC 6817), counted
 * in attempts instead of octets, with the slow start of LEDBAT++.
 *
 * An answer that takes longer than the quickest one has waited in a queue of the receiver. While that wait is shorter
 * than a target the limit grows, beyond it shrinks, and after a failure it is halved. Our own queues are no part of it:
 * a sample begins with the first octet on the wire. Measured before, when an attempt's whole time counted: our own load
 * made a quick receiver look slow, and it stayed so, at half the throughput and with idle cores.
 */
import type { Instant } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";

/** The numbers between which the number of attempts to one receiver moves. */
export interface AdaptiveLimits {
  /** Attempts at once to a receiver that has not answered yet, and the most ever. */
  readonly attempts_receiver_first: number;
  readonly attempts_per_receiver_max: number;
  /**
   * The wait in the receiver's queue that is aimed at: this long, or this share of its quickest answer when that is
   * longer.
   */
  readonly receiver_queue_target_ms: number;
  readonly receiver_queue_target_share: number;
  /** Receivers that answer later than this are not approached in doubled steps. */
  readonly receiver_slow_start_ms: number;
}

/** One answer: when its first octet went out, when it was there, how many attempts were on the wire with it. */
interface AnswerSample {
  readonly sentAt: Instant;
  readonly answeredAt: Instant;
  readonly onWire: number;
}

/** How many attempts may be on the wire to one receiver, as its own answers show. */
export interface AdaptiveLimit {
  /** Attempts that may be on the wire now, at least one. */
  current(): number;
  answered(sample: AnswerSample): void;
  /** The attempt that was begun then could not reach the receiver, or got nothing that could be read. */
  failed(sentAt: Instant, now: Instant): void;
  /** Forgets what was learned: the receiver was away and is back. */
  restart(): void;
}

/**
 * The current wait is the least of the newest answers, so that one that is slow for a reason of its own says nothing
 * (RFC 6817, CURRENT_FILTER): of so many, or of a quarter of a round when that is fewer, because older ones tell of a
 * shorter queue.
 */
const SAMPLES = 4;
/** The share of the target at which doubling ends (LEDBAT++). */
const SLOW_START_UNTIL = 0.75;
/** Growth in one round of answers: one attempt, or this share of the limit when that is more. */
const GROWTH_SHARE = 1 / 8;
/** No single round takes more than this share of the limit away. */
const KEPT_SHARE = 0.5;

/** Makes the limit of one receiver, which begins low and grows while answers stay quick. */
export function createAdaptiveLimit(limits: AdaptiveLimits = LIMITS): AdaptiveLimit {
  let window: number = limits.attempts_receiver_first;
  let isDoubling = true;
  /** The quickest answer, which waited in no queue. */
  let base_ms = Infinity;
  // Bounded by SAMPLES: older answers leave when one is added.
  let recent: number[] = [];
  /** Answers to what was sent before the last decrease tell of the time before it. */
  let decreasedAt: Instant = -Infinity;

  function remember(took_ms: number, onWire: number): void {
    // Alone on the wire there is no queue of ours: the receiver itself has become slower, or quicker.
    if (onWire <= 1 && window < 2) {
      base_ms = took_ms;
      recent = [];
    }
    base_ms = Math.min(base_ms, took_ms);
    recent.push(took_ms);
    const kept = Math.max(1, Math.min(SAMPLES, Math.floor(window / 4)));
    if (recent.length > kept) recent.splice(0, recent.length - kept);
  }

  function grow(share: number, took_ms: number): void {
    if (isDoubling && 1 - share > SLOW_START_UNTIL) isDoubling = false;
    const step =
      isDoubling && took_ms <= limits.receiver_slow_start_ms
        ? 1
        : (Math.max(1, window * GROWTH_SHARE) * share) / Math.max(1, window);
    window = Math.min(limits.attempts_per_receiver_max, window + step);
  }

  function shrink(kept: number, sentAt: Instant, now: Instant): void {
    isDoubling = false;
    if (sentAt < decreasedAt) return;
    window = Math.max(1, window * Math.max(KEPT_SHARE, kept));
    decreasedAt = now;
  }

  return {
    current: () => Math.floor(window),
    answered: ({ sentAt, answeredAt, onWire }) => {
      const took_ms = answeredAt - sentAt;
      remember(took_ms, onWire);
      const target_ms = Math.max(limits.receiver_queue_target_ms, base_ms * limits.receiver_queue_target_share);
      const queued = (Math.min(...recent) - base_ms) / target_ms;
      if (queued > 1) shrink(2 - queued, sentAt, answeredAt);
      // A limit that is not used is not known to be right.
      else if (onWire * 2 >= window) grow(1 - queued, took_ms);
    },
    failed: (sentAt, now) => {
      shrink(KEPT_SHARE, sentAt, now);
    },
    restart: () => {
      window = limits.attempts_receiver_first;
      isDoubling = true;
      base_ms = Infinity;
      recent = [];
    },
  };
}
