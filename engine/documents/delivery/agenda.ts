/**
 * What the last look at the due documents found and nobody has claimed yet. A look costs Postgres more than a claim, so
 * that none is made while there is something left to claim of the one before.
 */
import type { FirmId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { shareOut } from "./claims.js";
import type { FirmLanes, Lane, Places, ReceiverCapacity, Share } from "./claims.js";

/** The lanes that are known to have due documents, in the order of their turns. */
interface Agenda {
  /**
   * Forgets what was known for what a look has just found.
   *
   * @param counted  so many documents of a lane were counted at the most
   */
  renew(firms: readonly FirmLanes[], counted: number): void;
  /** What to claim now. No place is held by it: who claims takes them for what was really claimed. */
  shares(places: Places, capacityOf: (receiver: string) => ReceiverCapacity): readonly Share[];
  /** Takes off what was claimed, and lets the firms that were served wait for the others. */
  served(shares: readonly Share[]): void;
  /** Whether nothing is left to claim. */
  isEmpty(): boolean;
  /**
   * Whether of some lane everything was claimed that the look had counted, and it had not counted all: there may be
   * more of it, whatever is left of others.
   */
  hasEndedShort(): boolean;
}

const laneKey = (firmId: FirmId, receiver: string): string => `${firmId} ${receiver}`;

/** Lanes whose turns are remembered; of one that is forgotten it has been longest. */
const TURNS_MAX = 4 * LIMITS.lane_firms_max * LIMITS.lanes_per_firm_max;

/** When each lane was served last, in the order of its turns. */
class Turns {
  // Bounded by TURNS_MAX.
  readonly #last = new Map<string, number>();
  #turn = 0;

  of(firmId: FirmId, { receiver }: Lane): number {
    return this.#last.get(laneKey(firmId, receiver)) ?? 0;
  }

  note({ firmId, receiver }: Share): void {
    const key = laneKey(firmId, receiver);
    this.#turn += 1;
    this.#last.delete(key);
    this.#last.set(key, this.#turn);
    for (const oldest of this.#last.keys()) {
      if (this.#last.size <= TURNS_MAX) return;
      this.#last.delete(oldest);
    }
  }

  /**
   * The lanes that were not served for longest come first, of a firm and among firms. A firm's place is that of its
   * lane whose receiver has room: neither what it was served elsewhere nor whom it cannot reach counts.
   */
  inOrder(firms: readonly FirmLanes[], hasRoom: (receiver: string) => boolean): readonly FirmLanes[] {
    return firms
      .map(({ firmId, lanes }) => {
        const sorted = lanes.toSorted((left, right) => this.of(firmId, left) - this.of(firmId, right));
        const first = sorted.find(({ receiver }) => hasRoom(receiver));
        return { firm: { firmId, lanes: sorted }, turn: first === undefined ? Infinity : this.of(firmId, first) };
      })
      .toSorted((left, right) => (left.turn === right.turn ? 0 : left.turn - right.turn))
      .map(({ firm }) => firm);
  }
}

/** An agenda on which nothing stands. */
export function createAgenda(): Agenda {
  // Bounded by what a look finds: LIMITS.lane_firms_max firms with LIMITS.lanes_per_firm_max lanes each.
  let firms: readonly FirmLanes[] = [];
  // A look that finds the same firms again does not give the first of them another turn.
  const turns = new Turns();
  // Bounded by the same lanes.
  let cut: ReadonlySet<string> = new Set();
  let endedShort = false;
  return {
    renew: (found, counted) => {
      firms = found.filter(({ lanes }) => lanes.some(({ ready }) => ready > 0));
      cut = new Set(
        firms.flatMap(({ firmId, lanes }) =>
          lanes.filter(({ ready }) => ready >= counted).map(({ receiver }) => laneKey(firmId, receiver)),
        ),
      );
      endedShort = false;
    },
    shares: (places, capacityOf) => {
      if (firms.length === 0) return [];
      // Bounded by the same lanes.
      const room = new Map<string, boolean>();
      const hasRoom = (receiver: string): boolean => {
        const known = room.get(receiver) ?? places.isFree(capacityOf(receiver));
        room.set(receiver, known);
        return known;
      };
      return shareOut(turns.inOrder(firms, hasRoom), places, capacityOf);
    },
    served: (shares) => {
      const claimed = new Map(shares.map((share) => [laneKey(share.firmId, share.receiver), share.count]));
      for (const share of shares) turns.note(share);
      firms = firms.flatMap(({ firmId, lanes }) => {
        const left = lanes.map((lane) => {
          const key = laneKey(firmId, lane.receiver);
          const ready = lane.ready - (claimed.get(key) ?? 0);
          endedShort ||= claimed.has(key) && ready <= 0 && cut.has(key);
          return { ...lane, ready };
        });
        const waiting = left.filter(({ ready }) => ready > 0);
        return waiting.length === 0 ? [] : [{ firmId, lanes: waiting }];
      });
    },
    isEmpty: () => firms.length === 0,
    hasEndedShort: () => endedShort,
  };
}

/**
 * How long to rest after a look that took so long: looks have a tenth of the time at the most, and whoever waits for
 * one waits no longer than LIMITS.lane_look_rest_max_ms.
 */
export const restAfter = (look_ms: number): number =>
  Math.min(LIMITS.lane_look_rest_max_ms, look_ms * LIMITS.lane_look_rest_factor);
