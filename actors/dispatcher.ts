/**
 * The dispatcher of one node: claims due documents for the places that are free and gives them to their actors. It
 * looks when it is told that there is work, when an attempt ends, and once in LIMITS.due_poll_ms; nothing that is told
 * to it is the work itself, so that nothing is lost with a message.
 */
import { createAgenda, restAfter } from "../engine/documents/delivery/agenda.js";
import { createPlaces } from "../engine/documents/delivery/claims.js";
import type { Places, ReceiverCapacity } from "../engine/documents/delivery/claims.js";
import { Answers } from "../engine/documents/delivery/answers.js";
import {
  beat,
  boundsFor,
  claim,
  claimForgotten,
  freeDead,
  FROM_THE_START,
  look,
  tendLeases,
} from "../engine/documents/delivery/due.js";
import type { ClaimedAttempt } from "../engine/documents/delivery/dispatch.js";
import type { Look, TakenAttempt } from "../engine/documents/delivery/due.js";
import { createWake, within } from "../engine/events/wake.js";
import type { Clock } from "../engine/base/clock.js";
import type { Reserve } from "../engine/documents/delivery/first-attempt.js";
import type { DocumentId } from "../engine/base/ids.js";
import { participantKey } from "../engine/base/ids.js";
import { LIMITS } from "../engine/base/limits.js";
import { budget } from "../engine/base/memory/budgets.js";
import { errorFields } from "../engine/base/log.js";
import type { Log } from "../engine/base/log.js";
import type { Metrics } from "../engine/base/metrics.js";
import { tracedAttempt } from "../engine/base/tracing/tracing.js";
import type { Sql } from "../engine/storage/sql.js";
import type { DocumentKind } from "./document.js";
import type { ActorSystem } from "./system.js";

interface DispatcherPorts {
  readonly sql: Sql;
  /** For the signs of life alone: behind other statements they would come too late. */
  readonly beatSql: Sql;
  readonly actors: ActorSystem;
  readonly document: DocumentKind;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Names this process in leases. */
  readonly owner: string;
  /** What there is room for at the access point of a participant, given in lower case. */
  readonly capacityOf: (receiver: string) => ReceiverCapacity;
}

/** The loop of one node that claims due documents and gives them to their actors. */
export interface Dispatcher {
  /** There is work: look at once. Costs nothing. */
  poke(): void;
  /** A place for the first attempt at a document that is being accepted, unless others wait to be claimed. */
  readonly reserve: Reserve;
  /**
   * Begins nothing more, and waits for the attempts under way, at most LIMITS.drain_timeout_ms. The others still hear
   * that this process is alive. Safe to repeat.
   */
  drain(): Promise<void>;
  /**
   * Drains, and lets the others hear of this process and keeps its leases until the last attempt has ended, however
   * long that takes: sooner they would send what it is still sending. Safe to repeat.
   */
  stop(): Promise<void>;
}

/** An attempt under lease, as the node that makes it knows it. */
interface Attempt {
  readonly isUnderWay: () => boolean;
  /** Its lease ran out while it was under way, and the document was taken again. */
  readonly takeAgain: () => void;
  readonly end: () => void;
}

/** What has ended. */
interface Ended {
  readonly isTakenAgain: boolean;
}

/** The attempts of a node under lease: their places, their octets, and whether they have begun. */
class Working {
  readonly places: Places = createPlaces();
  /** Bounded by the places; last attempts, which wait for no place, by the octets. */
  readonly #attempts = new Map<DocumentId, Attempt>();
  readonly #onEnd: (ended: Ended) => void;
  #bytes = 0;
  /** How many went although they had more octets than were left. */
  #beyond = 0;
  /** Octets were set aside so many times for attempts that may still come. */
  #aside = 0;
  /** Who waits until nothing is under way. Bounded by the steps of a stop. */
  readonly #waiting: (() => void)[] = [];

  constructor(onEnd: (ended: Ended) => void) {
    this.#onEnd = onEnd;
  }

  /** Whether an attempt at the document is under lease here. */
  readonly isAt = (id: DocumentId): boolean => this.#attempts.has(id);

  /**
   * Octets of payloads that may still be taken, and whether one may go although it has more: as many as a payload has
   * at the most are kept for one at a time, so that no large one waits for as long as there are small ones.
   */
  room(): { readonly bytes: number; readonly one: boolean } {
    const shared = budget("attempt_bytes_max") - LIMITS.payload_bytes_max;
    return { bytes: Math.max(0, shared - this.#bytes), one: this.#beyond === 0 };
  }

  /** @returns gives the octets back; safe to repeat */
  #hold(bytes: number): () => void {
    const isBeyond = bytes > this.room().bytes;
    const add = (sign: 1 | -1): void => {
      if (isBeyond) this.#beyond += sign;
      else this.#bytes += sign * bytes;
    };
    add(1);
    let isBack = false;
    return () => {
      if (isBack) return;
      isBack = true;
      add(-1);
    };
  }

  /** Sets octets aside for an attempt that may come. @returns gives them back; safe to repeat */
  setAside(bytes: number): () => void {
    const giveBack = this.#hold(bytes);
    this.#aside += 1;
    let isBack = false;
    return () => {
      if (isBack) return;
      isBack = true;
      giveBack();
      this.#aside -= 1;
      this.#wakeWaiting();
    };
  }

  /**
   * @returns the attempt as its actor gets it; undefined while one at the same document is under way, which has
   *   outlived its lease: a second one beside it would send the document twice
   */
  add(
    taken: TakenAttempt,
    giveBack: () => void,
  ): (ClaimedAttempt & { readonly isUnderWay: () => boolean }) | undefined {
    const before = this.#attempts.get(taken.id);
    if (before?.isUnderWay() === true) {
      before.takeAgain();
      giveBack();
      return undefined;
    }
    let [isUnderWay, isTakenAgain, hasEnded] = [false, false, false];
    const attempt: Attempt = {
      isUnderWay: () => isUnderWay,
      takeAgain: () => {
        isTakenAgain = true;
      },
      end: () => {
        if (hasEnded) return;
        hasEnded = true;
        if (this.#attempts.get(taken.id) === attempt) this.#attempts.delete(taken.id);
        isUnderWay = false;
        giveOctetsBack();
        giveBack();
        this.#onEnd({ isTakenAgain });
        this.#wakeWaiting();
      },
    };
    this.#attempts.set(taken.id, attempt);
    const giveOctetsBack = this.#hold(taken.payloadBytes);
    // One whose lease ended before it began is never made.
    before?.end();
    return {
      taken,
      start: () => {
        if (isUnderWay || this.#attempts.get(taken.id) !== attempt) return false;
        isUnderWay = true;
        return true;
      },
      end: attempt.end,
      isUnderWay: attempt.isUnderWay,
    };
  }

  /** Resolves when nothing is under way, nor may come under way by what was set aside. */
  async whenIdle(): Promise<void> {
    // What was set aside is given back in the same turn in which its attempt is added.
    while (this.#attempts.size + this.#aside > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #wakeWaiting(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/**
 * Whether leases may be left that nobody works on: a claim whose answer was lost with its connection, an end that could
 * not be written. They can be told from those of a claim on its way only by their age, so that the doubt lasts as long.
 */
class Doubt {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #onDoubt: () => void;
  /** A look that begins then or later finds what there was when the doubt was raised. */
  #until = -Infinity;

  constructor(clock: Pick<Clock, "monotonic">, onDoubt: () => void) {
    this.#clock = clock;
    this.#onDoubt = onDoubt;
  }

  raise(): void {
    const now = this.#clock.monotonic();
    const isNew = now >= this.#until;
    this.#until = now + LIMITS.lease_young_ms + LIMITS.lease_look_soon_ms;
    if (isNew) this.#onDoubt();
  }

  /** @param begun  when the look began that is over now, in monotonic time. @returns how long to wait for the next */
  wait_ms(begun: number): number {
    return begun < this.#until ? LIMITS.lease_look_soon_ms : LIMITS.lease_look_ms;
  }
}

/** What this node works on, and whether it knows all of it. */
interface Hand {
  readonly working: Working;
  readonly doubt: Doubt;
  readonly claims: Answers;
}

/** Gives a document under lease to its actor. @param giveBack gives its place back when the attempt is over */
async function give(
  { actors, document, log }: DispatcherPorts,
  { working, doubt }: Hand,
  taken: TakenAttempt,
  giveBack: () => void,
): Promise<void> {
  const claimed = working.add(taken, giveBack);
  if (claimed === undefined) return;
  try {
    await tracedAttempt({ messageId: taken.as4MessageId, attempt: taken.attempt, documentId: taken.id }, () =>
      actors.ask(document, taken.id, "Attempt", claimed),
    );
  } catch (error) {
    // An attempt that has begun goes on although its asker has given up: its peer is slow, and nothing is wrong.
    if (claimed.isUnderWay()) return;
    // One that has not is never made. One that is over may have left its lease: its end could not be written.
    if (claimed.start()) claimed.end();
    doubt.raise();
    log.warn("dispatch.delayed", { documentId: taken.id, ...errorFields(error) });
  }
}

const placeFor = ({ capacityOf }: DispatcherPorts, working: Working, { receiver }: TakenAttempt): (() => void) =>
  working.places.take(capacityOf(participantKey(receiver)));

/** Gives what was claimed to its actors, the smallest first: no more than one goes beyond the octets that are left. */
function giveAll(ports: DispatcherPorts, hand: Hand, taken: readonly TakenAttempt[]): void {
  for (const attempt of taken.toSorted((left, right) => left.payloadBytes - right.payloadBytes))
    void give(ports, hand, attempt, placeFor(ports, hand.working, attempt));
}

/** Gives a first attempt back that came too late to be begun: nothing was sent, and nothing is to be called cut. */
async function giveUnbegun(
  { log }: Pick<DispatcherPorts, "log">,
  { claims, doubt }: Hand,
  taken: TakenAttempt,
): Promise<void> {
  try {
    await claims.giveBack([taken]);
  } catch (error) {
    doubt.raise();
    log.warn("dispatch.delayed", { documentId: taken.id, ...errorFields(error) });
  }
}

/** Takes places for first attempts, which never overtake a document that waits to be claimed. */
const reserving =
  (ports: DispatcherPorts, hand: Hand, queue: { readonly waits: () => boolean }): Reserve =>
  (receiver, payloadBytes) => {
    const { working, doubt, claims } = hand;
    const asked = ports.clock.monotonic();
    const capacity = ports.capacityOf(participantKey(receiver));
    const room = working.room();
    if (queue.waits() || !working.places.isFree(capacity) || (payloadBytes > room.bytes && !room.one)) return undefined;
    const giveBack = working.places.take(capacity);
    const giveOctetsBack = working.setAside(payloadBytes);
    let settled = false;
    const settle = (then: () => void): void => {
      if (settled) return;
      settled = true;
      giveOctetsBack();
      then();
    };
    return {
      owner: ports.owner,
      begin: (taken) => {
        settle(() => {
          if (!claims.isLate(asked)) return void give(ports, hand, taken, giveBack);
          giveBack();
          void giveUnbegun(ports, hand, taken);
        });
      },
      release: () => {
        settle(giveBack);
      },
      lose: () => {
        settle(giveBack);
        doubt.raise();
      },
    };
  };

/** Runs a step again and again until it is stopped; a step that fails is told in the log, and runs again. */
function repeat(
  { log }: Pick<DispatcherPorts, "log">,
  component: string,
  step: () => Promise<number>,
): { readonly poke: () => void; readonly stop: () => Promise<void> } {
  const wake = createWake();
  let stopping = false;
  const run = async (): Promise<void> => {
    while (!stopping) {
      let wait_ms: number = LIMITS.due_poll_ms;
      try {
        wait_ms = await step();
      } catch (error) {
        log.warn("dispatch.due_unreadable", { component, ...errorFields(error) });
      }
      if (wait_ms > 0 && !stopping) await wake.wait(wait_ms);
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

/** One turn of the claims after another: what the last look found is claimed before there is another one. */
class Claims {
  readonly #ports: DispatcherPorts;
  readonly #hand: Hand;
  readonly #agenda = createAgenda();
  #last: Pick<Look, "cursor" | "more"> = { cursor: FROM_THE_START, more: false };
  /** Whether somebody has said that there is work since the last look began. */
  #told = true;
  #waitedBefore = false;
  /** Whether there may be more documents of the lanes that the last look found than it counted. */
  #cut = false;
  /** Whether a claim left documents that were too large for the octets that were free. */
  #left = false;
  /** Looks since something was claimed or a place became free. */
  #empty = 0;
  /** Monotonic times: there is no look before the one, and one at the latest at the other. */
  #restUntil = 0;
  #lookBy = 0;

  constructor(ports: DispatcherPorts, hand: Hand) {
    this.#ports = ports;
    this.#hand = hand;
  }

  /**
   * Whether documents may wait to be claimed: what was told or found and is not claimed yet, and, while a look is under
   * way, whatever there was before it.
   */
  waits(): boolean {
    const elsewhere = this.#last.more && this.#empty < LIMITS.lane_looks_max;
    return this.#told || this.#waitedBefore || elsewhere || this.#cut || !this.#agenda.isEmpty();
  }

  /** There is work that no look has seen. */
  tell(): void {
    this.#told = true;
  }

  /** What was passed over for want of a place may go now. */
  placeFreed(): void {
    this.#empty = 0;
  }

  /** @returns how long to wait for the next turn, in milliseconds, unless somebody pokes */
  async turn(): Promise<number> {
    const { clock, capacityOf } = this.#ports;
    const { working, claims } = this.#hand;
    const { places } = working;
    const room = working.room();
    if (places.free() === 0 || (room.bytes === 0 && !room.one)) return LIMITS.due_poll_ms;
    let shares = this.#agenda.shares(places, capacityOf);
    if (this.#wantsLook(shares.length) && clock.monotonic() >= this.#restUntil) {
      await this.#look();
      shares = this.#agenda.shares(places, capacityOf);
    }
    if (shares.length === 0)
      return Math.max(1, (this.#wantsLook(0) ? this.#restUntil : this.#lookBy) - clock.monotonic());
    const taken = await claims.inTime(() => claim(this.#ports, shares, room));
    this.#agenda.served(
      shares,
      taken.map(({ firmId, receiver }) => ({ firmId, receiver: participantKey(receiver) })),
    );
    giveAll(this.#ports, this.#hand, taken);
    if (taken.length > 0) this.#empty = 0;
    // Documents that were too large for the octets that are left are still due.
    if (taken.length < shares.reduce((sum, { count }) => sum + count, 0)) [this.#cut, this.#left] = [true, true];
    return 0;
  }

  /**
   * Whether a look may find what no claim of the agenda gets.
   *
   * @param claimable  documents of the agenda for which there are places. Those for receivers without one may stand
   *   there for hours, and nobody waits for them
   */
  #wantsLook(claimable: number): boolean {
    const elsewhere = this.#last.more && this.#empty < LIMITS.lane_looks_max;
    const beyond = claimable === 0 && (this.#left || this.#agenda.hasEndedShort());
    return this.#told || elsewhere || beyond || this.#ports.clock.monotonic() >= this.#lookBy;
  }

  async #look(): Promise<void> {
    const { sql, clock } = this.#ports;
    const [begun, bounds] = [clock.monotonic(), boundsFor(this.#hand.working.places.free(), this.#empty)];
    this.#waitedBefore = this.waits();
    this.#told = false;
    try {
      const found = await look(sql, this.#last.cursor, bounds);
      this.#last = found;
      this.#cut = found.firms.some(({ lanes }) => lanes.some(({ ready }) => ready >= bounds.ready));
      this.#left = false;
      this.#agenda.renew(found.firms, bounds.ready);
      this.#empty += 1;
    } catch (error) {
      this.#told = true;
      throw error;
    } finally {
      this.#waitedBefore = false;
      const ended = clock.monotonic();
      this.#restUntil = ended + restAfter(ended - begun);
      this.#lookBy = ended + LIMITS.due_poll_ms;
    }
  }
}

/** Says that this process is alive, and frees what the dead held, without the one waiting for the other. */
function startBeats(ports: DispatcherPorts, tell: (component: string, freed: number) => void): () => Promise<void> {
  const { beatSql, owner, clock } = ports;
  const freeing = repeat(ports, "the dead", async () => {
    tell("dead process", await freeDead(ports));
    return LIMITS.lease_look_ms;
  });
  const beats = repeat(ports, "beat", async () => {
    const begun = clock.monotonic();
    if (await beat({ sql: beatSql, owner })) freeing.poke();
    return Math.max(1, LIMITS.dispatcher_beat_ms - (clock.monotonic() - begun));
  });
  return async () => {
    await Promise.all([freeing.stop(), beats.stop()]);
  };
}

/** Starts to claim. Resolves when the other processes know that this one is alive. */
export async function startDispatcher(ports: DispatcherPorts): Promise<Dispatcher> {
  await beat({ sql: ports.beatSql, owner: ports.owner });
  const working = new Working(({ isTakenAgain }) => {
    // Nobody works on the lease that the document was given meanwhile.
    if (isTakenAgain) doubt.raise();
    claims.placeFreed();
    loop.poke();
  });
  const doubt = new Doubt(ports.clock, () => {
    care.poke();
  });
  const hand: Hand = {
    working,
    doubt,
    claims: new Answers(ports, () => {
      doubt.raise();
    }),
  };
  const claims = new Claims(ports, hand);
  const loop = repeat(ports, "claims", () => claims.turn());
  const poke = (): void => {
    claims.tell();
    loop.poke();
  };
  const tell = (component: string, count: number): void => {
    if (count === 0) return;
    ports.log.warn("dispatch.leases_freed", { component, count });
    poke();
  };
  const stopBeats = startBeats(ports, tell);
  const care = repeat(ports, "leases", async () => {
    const begun = ports.clock.monotonic();
    tell("nobody", await tendLeases(ports, working.isAt));
    return doubt.wait_ms(begun);
  });
  const forgotten = repeat(ports, "forgotten", async () => {
    giveAll(ports, hand, await hand.claims.inTime(() => claimForgotten(ports, working.room())));
    return LIMITS.lease_look_ms;
  });
  const reserve = reserving(ports, hand, claims);
  let drained: Promise<void> | undefined;
  const drain = async (): Promise<void> => {
    await Promise.all([loop.stop(), forgotten.stop()]);
    await within(working.whenIdle(), LIMITS.drain_timeout_ms, undefined);
  };
  return {
    poke,
    // What is accepted during a stop is claimed by another process, or after the next start.
    reserve: (...document) => (drained === undefined ? reserve(...document) : undefined),
    drain: () => (drained ??= drain()),
    stop: async () => {
      await (drained ??= drain());
      await working.whenIdle();
      await Promise.all([care.stop(), stopBeats()]);
    },
  };
}
