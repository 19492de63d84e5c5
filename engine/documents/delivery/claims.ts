/**
 * Whose documents are claimed next: one of each firm in turn, of a firm one for each receiver in turn, and for each
 * receiving access point only as many as there are places. Pure: what is due and what there is room for go in, shares
 * come out.
 */
import type { FirmId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";

/** What is known of a receiver's access point: how many attempts it is worth having under way there. */
export interface ReceiverCapacity {
  /** Access points with the same key share their places. */
  readonly key: string;
  readonly places: number;
  /** What an answer takes, in milliseconds; undefined when nobody knows. */
  readonly typical_ms: number | undefined;
}

/** Due documents of one firm for one receiver. */
export interface Lane {
  /** The participant, in lower case. */
  readonly receiver: string;
  /** How many are due, as far as they were counted. */
  readonly ready: number;
}

/** One firm's lanes, in the order of their turns. */
export interface FirmLanes {
  readonly firmId: FirmId;
  readonly lanes: readonly Lane[];
}

/** So many documents of this firm for this receiver are to be claimed, the longest due first. */
export interface Share {
  readonly firmId: FirmId;
  readonly receiver: string;
  readonly count: number;
}

/** The places of this node, and who holds them. */
export interface Places {
  /** Whether one more attempt to a receiver of that capacity may be begun now. */
  isFree(capacity: ReceiverCapacity): boolean;
  /** Takes a place. @returns gives it back; safe to repeat */
  take(capacity: ReceiverCapacity): () => void;
  /** Places that nobody holds. */
  free(): number;
}

/**
 * A receiver may hold twice as many places as are free: one alone gets two thirds of all, many get the same share each,
 * and some are always left for who comes next (Choudhury and Hahne, Dynamic Queue Length Thresholds, 1998).
 */
const SHARE_OF_FREE = 2;
/**
 * The slower a receiver, the more places must be free for it: up to this share, so that slow ones together leave the
 * others' places alone.
 */
const LEFT_BY_SLOW = 1 / 2;

/** @param total places of the node @param quick_ms an answer that takes no longer needs to leave no place free */
export function createPlaces(
  total: number = LIMITS.attempts_concurrent_max,
  quick_ms: number = LIMITS.receiver_quick_ms,
): Places {
  // Bounded by the attempts under way on this node.
  const held = new Map<string, number>();
  let taken = 0;
  const left = (typical_ms: number | undefined): number =>
    Math.floor(total * LEFT_BY_SLOW * (1 - Math.min(1, quick_ms / (typical_ms ?? 2 * quick_ms))));
  return {
    free: () => total - taken,
    isFree: ({ key, places, typical_ms }) => {
      const own = held.get(key) ?? 0;
      const free = total - taken;
      return own < places && own < SHARE_OF_FREE * free && free > left(typical_ms);
    },
    take: ({ key }) => {
      held.set(key, (held.get(key) ?? 0) + 1);
      taken += 1;
      let given = false;
      return () => {
        if (given) return;
        given = true;
        taken -= 1;
        const own = (held.get(key) ?? 1) - 1;
        if (own === 0) held.delete(key);
        else held.set(key, own);
      };
    },
  };
}

/** What is given to one firm while places are shared out. */
class Turn {
  readonly #firm: FirmLanes;
  /** How many documents of each lane are to be claimed. */
  readonly #counts: number[];
  /** The lane that comes first in the next turn. */
  #next = 0;

  constructor(firm: FirmLanes) {
    this.#firm = firm;
    this.#counts = firm.lanes.map(() => 0);
  }

  /**
   * One document of this firm, for the next receiver that has a place. @returns what gives the place back; undefined
   * when there was none
   */
  take(places: Places, capacityOf: (receiver: string) => ReceiverCapacity): (() => void) | undefined {
    const { lanes } = this.#firm;
    for (let i = 0; i < lanes.length; i += 1) {
      const at = (this.#next + i) % lanes.length;
      const [lane, count] = [lanes[at], this.#counts[at] ?? 0];
      if (lane === undefined || count >= lane.ready) continue;
      const capacity = capacityOf(lane.receiver);
      if (!places.isFree(capacity)) continue;
      this.#counts[at] = count + 1;
      this.#next = (at + 1) % lanes.length;
      return places.take(capacity);
    }
    return undefined;
  }

  shares(): readonly Share[] {
    const { firmId, lanes } = this.#firm;
    return lanes
      .map(({ receiver }, at) => ({ firmId, receiver, count: this.#counts[at] ?? 0 }))
      .filter(({ count }) => count > 0);
  }
}

/**
 * Shares the free places out, one document at a time.
 * @param firms in the order of their turns: the first is served first
 * @returns what to claim. No place is held by it: who claims takes them for what was really claimed
 */
export function shareOut(
  firms: readonly FirmLanes[],
  places: Places,
  capacityOf: (receiver: string) => ReceiverCapacity,
): readonly Share[] {
  const turns = firms.map((firm) => new Turn(firm));
  const setAside: (() => void)[] = [];
  let waiting = turns;
  while (waiting.length > 0 && places.free() > 0) {
    waiting = waiting.filter((turn) => {
      const giveBack = turn.take(places, capacityOf);
      if (giveBack !== undefined) setAside.push(giveBack);
      return giveBack !== undefined;
    });
  }
  for (const giveBack of setAside) giveBack();
  return turns.flatMap((turn) => turn.shares());
}
