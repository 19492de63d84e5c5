/**
 * Receiving access points, one by one: how many attempts may be on the wire to each, and whether one is down.
 *
 * The number on the wire follows what the receiver itself shows (adaptive-limit.ts). Whoever is ready to send waits for
 * a place, the first to come first; so that there is always somebody ready, a few more documents than that are
 * prepared. Who takes documents to send asks first how many the receiver has room for, so that none is taken only to be
 * put off.
 */
import type { Clock, Instant } from "../../base/clock.js";
import { randomUnit } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { createAdaptiveLimit } from "./adaptive-limit.js";
import type { AdaptiveLimit, AdaptiveLimits } from "./adaptive-limit.js";

/**
 * `passed`: it answered, whatever it said. `failed`: it could not be reached or answered nothing that could be read.
 */
export type Passage = "passed" | "failed";

/** There is no place now: the receiver is `full` or `down`, and the document is due again after that time. */
export interface Later {
  readonly kind: "later";
  readonly reason: "full" | "down";
  readonly retryAfter_ms: number;
  /** How long this node has known the receiver to be down; 0 where it is up. */
  readonly down_ms: number;
}

/** A place on the wire. */
export interface Place {
  readonly kind: "place";
  /**
   * The first octet leaves now: what came before was our own time. May be called again when the message is sent anew.
   */
  readonly sending: () => void;
  /**
   * The answer is there, or there will be none. The place is free for the next. Without a passage nothing was sent for
   * want of our own time, which says nothing of the receiver.
   */
  readonly leave: (passage?: Passage) => void;
}

/** An attempt that is being prepared for a receiver. */
export interface Begun {
  readonly kind: "begun";
  /** Asks for a place on the wire; `answer` is called once, now or within LIMITS.receiver_place_wait_ms. */
  readonly enter: (answer: (entry: Place | Later) => void) => void;
  /** Nothing more is done for this attempt. Safe to repeat. */
  readonly end: () => void;
}

/** What is known of the access point of a participant. */
interface Capacity {
  /** The access point, or the participant itself while nobody has looked it up. */
  readonly key: string;
  /**
   * Attempts that are worth having under way, those included that are still being prepared. 0: it is down, or somebody
   * found no place and nobody has ended since, so that whoever is claimed for it would find none either.
   */
  readonly places: number;
  /** What an answer takes, in milliseconds; undefined before the first. */
  readonly typical_ms: number | undefined;
}

/** The gate before each receiving access point of this node. */
export interface Receivers {
  /**
   * Begins an attempt, at once. @param key the receiver's endpoint @param participant who is reached there, for
   * `capacityOf`
   */
  begin(key: string, participant?: string): Begun | Later;
  capacityOf(participant: string): Capacity;
  /** Receivers whose breaker is open, for a gauge. */
  open(): number;
}

interface ReceiverLimits extends AdaptiveLimits {
  readonly receiver_place_wait_ms: number;
  readonly breaker_failures: number;
  readonly breaker_pause_first_ms: number;
  readonly breaker_pause_max_ms: number;
  readonly receiver_retry_min_ms: number;
  readonly receiver_retry_max_ms: number;
  readonly receivers_max: number;
  readonly receiver_routes_max: number;
}

interface ReceiversOptions {
  readonly clock: Pick<Clock, "monotonic">;
  /** @default LIMITS */
  readonly limits?: ReceiverLimits;
  /** From 0 to 1, for the spread after a pause. @default a random number */
  readonly random?: () => number;
  /** Calls back after that time unless it is cancelled. @default a timer */
  readonly after?: (ms: number, call: () => void) => () => void;
}

/** What is known of one receiving access point; only the gate holds it. */
class Receiver {
  readonly limit: AdaptiveLimit;
  /** Attempts that were begun and have not ended, and those of them on the wire. */
  underWay = 0;
  onWire = 0;
  /** Whether somebody found no place and no attempt has ended since. */
  isFull = false;
  failures = 0;
  /** Until when nothing is sent; 0 when the receiver is up. */
  closedUntil: Instant = 0;
  /** Since when it is down, where it is. */
  downSince: Instant = 0;
  /** The pause after the next failure. */
  pause_ms: number;
  /** Moving averages of an answer's time on the wire and of our own time around it; 0 before the first. */
  wire_ms = 0;
  own_ms = 0;
  /** Those who wait for a place, the first to come first. */
  // Bounded by the attempts that `begin` lets in.
  readonly waiting = new Set<(entry: Place | Later) => void>();

  constructor(limits: ReceiverLimits) {
    this.limit = createAdaptiveLimit(limits);
    this.pause_ms = limits.breaker_pause_first_ms;
  }
}

/** Weight of the newest attempt in the averages. */
const NEWEST = 0.2;
/** The spread of the times after a pause, so that they do not all come at once. */
const SPREAD = 0.2;

const average = (before: number, value: number): number =>
  before === 0 ? value : before * (1 - NEWEST) + value * NEWEST;

const timer = (ms: number, call: () => void): (() => void) => {
  const handle = setTimeout(call, ms);
  return () => {
    clearTimeout(handle);
  };
};

/** A map that forgets what was used least lately. */
function touch<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
}

class Gate implements Receivers {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #limits: ReceiverLimits;
  readonly #random: () => number;
  readonly #after: (ms: number, call: () => void) => () => void;
  readonly #receivers = new Map<string, Receiver>();
  /** Participants and the access points at which they were found last. */
  readonly #routes = new Map<string, string>();

  constructor({ clock, limits = LIMITS, random = randomUnit, after = timer }: ReceiversOptions) {
    this.#clock = clock;
    this.#limits = limits;
    this.#random = random;
    this.#after = after;
  }

  begin(key: string, participant?: string): Begun | Later {
    if (participant !== undefined) this.#learnRoute(participant, key);
    const receiver = this.#find(key);
    if (receiver.underWay >= this.#places(receiver)) {
      receiver.isFull = receiver.underWay > 0;
      return this.#later(receiver);
    }
    receiver.underWay += 1;
    const begunAt = this.#clock.monotonic();
    let ended = false;
    let wire_ms = 0;
    return {
      kind: "begun",
      enter: (answer) => {
        this.#enter(receiver, answer, (took_ms) => {
          wire_ms += took_ms;
        });
      },
      end: () => {
        if (ended) return;
        ended = true;
        receiver.underWay -= 1;
        receiver.isFull = false;
        // An attempt that never was on the wire says nothing of what it takes to prepare one.
        if (wire_ms > 0)
          receiver.own_ms = average(receiver.own_ms, Math.max(0, this.#clock.monotonic() - begunAt - wire_ms));
      },
    };
  }

  capacityOf(participant: string): Capacity {
    const key = this.#routes.get(participant) ?? participant;
    const receiver = this.#receivers.get(key);
    if (receiver === undefined) return { key, places: this.#limits.attempts_receiver_first, typical_ms: undefined };
    return {
      key,
      places: receiver.isFull ? 0 : this.#places(receiver),
      typical_ms: receiver.wire_ms === 0 ? undefined : receiver.wire_ms,
    };
  }

  open(): number {
    const now = this.#clock.monotonic();
    return [...this.#receivers.values()].filter(({ closedUntil }) => closedUntil > now).length;
  }

  #learnRoute(participant: string, key: string): void {
    touch(this.#routes, participant, key);
    if (this.#routes.size <= this.#limits.receiver_routes_max) return;
    for (const oldest of this.#routes.keys()) {
      this.#routes.delete(oldest);
      return;
    }
  }

  #find(key: string): Receiver {
    const receiver = this.#receivers.get(key) ?? new Receiver(this.#limits);
    touch(this.#receivers, key, receiver);
    if (this.#receivers.size > this.#limits.receivers_max) this.#forgetOldest();
    return receiver;
  }

  #forgetOldest(): void {
    for (const [key, { underWay }] of this.#receivers) {
      if (underWay > 0) continue;
      this.#receivers.delete(key);
      return;
    }
  }

  /**
   * Attempts worth having under way: what the wire takes, and as many more as are prepared in the time of one answer.
   */
  #places(receiver: Receiver): number {
    if (receiver.closedUntil > this.#clock.monotonic()) return 0;
    // After the pause one attempt shows whether it is back.
    if (receiver.closedUntil > 0) return 1;
    const { wire_ms, own_ms, limit } = receiver;
    const ahead = wire_ms === 0 || wire_ms > LIMITS.attempt_ahead_max_ms ? 0 : own_ms / wire_ms;
    return Math.floor(limit.current() * (1 + ahead));
  }

  #onWireMax(receiver: Receiver): number {
    return receiver.closedUntil > 0 ? 1 : receiver.limit.current();
  }

  #enter(receiver: Receiver, answer: (entry: Place | Later) => void, spent: (took_ms: number) => void): void {
    if (receiver.closedUntil > this.#clock.monotonic()) {
      answer(this.#later(receiver));
      return;
    }
    if (receiver.waiting.size === 0 && receiver.onWire < this.#onWireMax(receiver)) {
      answer(this.#place(receiver, spent));
      return;
    }
    const next = (entry: Place | Later): void => {
      cancel();
      receiver.waiting.delete(next);
      answer(entry.kind === "later" ? entry : this.#place(receiver, spent));
    };
    const cancel = this.#after(this.#limits.receiver_place_wait_ms, () => {
      next(this.#later(receiver));
    });
    receiver.waiting.add(next);
  }

  #place(receiver: Receiver, spent: (took_ms: number) => void): Place {
    receiver.onWire += 1;
    const enteredAt = this.#clock.monotonic();
    let sentAt: Instant | undefined;
    let left = false;
    return {
      kind: "place",
      sending: () => {
        sentAt = this.#clock.monotonic();
      },
      leave: (passage) => {
        if (left) return;
        left = true;
        const now = this.#clock.monotonic();
        if (passage !== undefined) {
          this.#learn(receiver, { enteredAt, sentAt, now, passage });
          spent(now - enteredAt);
        }
        receiver.onWire -= 1;
        this.#letIn(receiver);
      },
    };
  }

  #learn(
    receiver: Receiver,
    {
      enteredAt,
      sentAt,
      now,
      passage,
    }: {
      readonly enteredAt: Instant;
      readonly sentAt: Instant | undefined;
      readonly now: Instant;
      readonly passage: Passage;
    },
  ): void {
    const { limit } = receiver;
    if (passage === "passed") {
      if (receiver.closedUntil > 0) limit.restart();
      else if (sentAt !== undefined) limit.answered({ sentAt, answeredAt: now, onWire: receiver.onWire });
      if (sentAt !== undefined) receiver.wire_ms = average(receiver.wire_ms, now - sentAt);
      receiver.failures = 0;
      receiver.closedUntil = 0;
      receiver.pause_ms = this.#limits.breaker_pause_first_ms;
      return;
    }
    limit.failed(sentAt ?? enteredAt, now);
    receiver.failures += 1;
    // Attempts that were under way when it opened say nothing new when they fail too.
    if (receiver.failures < this.#limits.breaker_failures || receiver.closedUntil > now) return;
    if (receiver.closedUntil === 0) receiver.downSince = now;
    receiver.closedUntil = now + receiver.pause_ms;
    receiver.pause_ms = Math.min(receiver.pause_ms * 2, this.#limits.breaker_pause_max_ms);
  }

  /** Gives free places to those who wait; all of them are sent away from a receiver that is down. */
  #letIn(receiver: Receiver): void {
    const isDown = receiver.closedUntil > this.#clock.monotonic();
    for (const next of receiver.waiting) {
      if (!isDown && receiver.onWire >= this.#onWireMax(receiver)) return;
      next(isDown ? this.#later(receiver) : LET_IN);
    }
  }

  #later(receiver: Receiver): Later {
    const now = this.#clock.monotonic();
    const { receiver_retry_min_ms: min, receiver_retry_max_ms: max } = this.#limits;
    const down_ms = receiver.closedUntil > 0 ? now - receiver.downSince : 0;
    if (receiver.closedUntil > now) {
      const pause_ms = (receiver.closedUntil - now) * (1 + SPREAD * this.#random());
      return { kind: "later", reason: "down", retryAfter_ms: Math.round(pause_ms) + min, down_ms };
    }
    // Each comes again after the time in which a place becomes free, however many they are: from then on the route is
    // known, and documents are claimed for free places alone. Times handed out one after the other are not pulled
    // forward when the receiver proves quick: 125 documents of 40 participants with one access point took 46 s so.
    const pace_ms = Math.min(Math.max(receiver.wire_ms / receiver.limit.current(), min), max);
    return {
      kind: "later",
      reason: receiver.closedUntil > 0 ? "down" : "full",
      retryAfter_ms: Math.round(pace_ms * (1 + SPREAD * this.#random())),
      down_ms,
    };
  }
}

/** Tells somebody who waits that a place is free; the place itself is made for them. */
const LET_IN: Place = { kind: "place", sending: () => undefined, leave: () => undefined };

/** Makes the gate of one node; nodes do not share what they have seen of a receiver. */
export const createReceivers = (options: ReceiversOptions): Receivers => new Gate(options);
