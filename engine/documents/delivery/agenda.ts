/**
 * What the last look at the due documents found and nobody has claimed yet. A look costs Postgres more than a claim, so
 * that none is made while there is something left to claim of the one before.
 */
import type { FirmId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { shareOut } from "./claims.js";
import type { FirmLanes, Lane, Places, ReceiverCapacity, Share } from "./claims.js";

/** A firm of which a document for this receiver was taken. */
type Served = Pick<Share, "firmId" | "receiver">;

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
  /**
   * Takes off what was asked for, and lets the firms that were served wait for the others.
   *
   * @param taken  of whom something was taken: whose documents were passed over, too large for the octets that were
   *   left, keeps its turn
   */
  served(shares: readonly Share[], taken: readonly Served[]): void;
  /** Whether nothing is left to claim. */
  isEmpty(): boolean;
  /**
   * Whether of some lane everything was claimed that the look had counted, and it had not counted all: there may be
   * more of it, whatever is left of others.
   */
  hasEndedShort(): boolean;
}

const keyOf = (firmId: FirmId, where: string): string => `${firmId} ${where}`;

/** Turns that are remembered, of firms at access points and of lanes; of who is forgotten it has been longest. */
const TURNS_MAX = 4 * LIMITS.lane_firms_max * LIMITS.lanes_per_firm_max;

/** When each was served last, in the order of its turns. */
class Turns {
  // Bounded by TURNS_MAX.
  readonly #last = new Map<string, number>();
  #turn = 0;

  of(key: string): number {
    return this.#last.get(key) ?? 0;
  }

  note(key: string): void {
    this.#turn += 1;
    this.#last.delete(key);
    this.#last.set(key, this.#turn);
    for (const oldest of this.#last.keys()) {
      if (this.#last.size <= TURNS_MAX) return;
      this.#last.delete(oldest);
    }
  }
}

/** What is known of a receiver while places are shared out. */
interface Place {
  readonly key: string;
  readonly hasRoom: boolean;
}

/** What a look found of one lane, with the key of its turns. */
interface KeyedLane extends Lane {
  readonly key: string;
}

interface KeyedFirm {
  readonly firmId: FirmId;
  readonly lanes: readonly KeyedLane[];
}

/** A firm with its lanes in order, and its least turn at an access point with room; Infinity where none has. */
interface RankedFirm {
  readonly firm: KeyedFirm;
  readonly turn: number;
}

/** Where receivers are of which nobody knows the access point: a firm has one turn for all of them. */
const UNKNOWN_PLACE = "";

/**
 * The order of firms and lanes: who was not served for longest comes first. Where access points are what is scarce, a
 * firm's place is that of its turn at one of its that has room: neither whom it cannot reach, nor how many receivers it
 * has there counts. Where the node has fewer places than firms that could take one, each firm has one turn, however
 * many access points it sends to. Of a firm the lanes go by its turns at their access points, and then by their own.
 */
class Order {
  readonly #ofFirms = new Turns();
  readonly #atPlaces = new Turns();
  readonly #ofLanes = new Turns();

  /** @param free places of the node */
  sorted(firms: readonly KeyedFirm[], placeOf: (receiver: string) => Place, free: number): readonly KeyedFirm[] {
    const ranked = this.#ranked(firms, placeOf);
    const isNodeScarce = free < ranked.filter(({ turn }) => turn < Infinity).length;
    const turnOf = ({ firm, turn }: RankedFirm): number =>
      isNodeScarce && turn < Infinity ? this.#ofFirms.of(firm.firmId) : turn;
    return ranked
      .map((one) => ({ firm: one.firm, turn: turnOf(one) }))
      .sort((left, right) => (left.turn === right.turn ? 0 : left.turn - right.turn))
      .map(({ firm }) => firm);
  }

  #ranked(firms: readonly KeyedFirm[], placeOf: (receiver: string) => Place): readonly RankedFirm[] {
    return firms.map(({ firmId, lanes }) => {
      // Bounded by the lanes of a firm.
      const known = new Map<string, number>();
      const atPlace = (key: string): number => {
        const turn = known.get(key) ?? this.#atPlaces.of(keyOf(firmId, key));
        known.set(key, turn);
        return turn;
      };
      let turn = Infinity;
      const ranked = lanes.map((lane) => {
        const { key, hasRoom } = placeOf(lane.receiver);
        const place = atPlace(key);
        if (hasRoom) turn = Math.min(turn, place);
        return { lane, place, own: this.#ofLanes.of(lane.key) };
      });
      ranked.sort((left, right) => left.place - right.place || left.own - right.own);
      return { firm: { firmId, lanes: ranked.map(({ lane }) => lane) }, turn };
    });
  }

  note({ firmId, receiver }: Share, placeKey: string): void {
    this.#ofFirms.note(firmId);
    this.#atPlaces.note(keyOf(firmId, placeKey));
    this.#ofLanes.note(keyOf(firmId, receiver));
  }
}

/** An agenda on which nothing stands. */
export function createAgenda(): Agenda {
  // Bounded by what a look finds: LIMITS.lane_firms_max firms with LIMITS.lanes_per_firm_max lanes each.
  let firms: readonly KeyedFirm[] = [];
  // A look that finds the same firms again does not give the first of them another turn.
  const order = new Order();
  // Bounded by the same lanes.
  let known = new Map<string, Place>();
  // Bounded by the same lanes.
  let cut: ReadonlySet<string> = new Set();
  let endedShort = false;
  return {
    renew: (found, counted) => {
      firms = found
        .filter(({ lanes }) => lanes.some(({ ready }) => ready > 0))
        .map(({ firmId, lanes }) => ({
          firmId,
          lanes: lanes.map((lane) => ({ ...lane, key: keyOf(firmId, lane.receiver) })),
        }));
      cut = new Set(firms.flatMap(({ lanes }) => lanes.filter(({ ready }) => ready >= counted).map(({ key }) => key)));
      endedShort = false;
    },
    shares: (places, capacityOf) => {
      if (firms.length === 0) return [];
      known = new Map();
      const placeOf = (receiver: string): Place => {
        const before = known.get(receiver);
        if (before !== undefined) return before;
        const capacity = capacityOf(receiver);
        const key = capacity.key === receiver ? UNKNOWN_PLACE : capacity.key;
        const place = { key, hasRoom: places.isFree(capacity) };
        known.set(receiver, place);
        return place;
      };
      return shareOut(order.sorted(firms, placeOf, places.free()), places, capacityOf);
    },
    served: (shares, taken) => {
      const claimed = new Map(shares.map(({ firmId, receiver, count }) => [keyOf(firmId, receiver), count]));
      const served = new Set(taken.map(({ firmId, receiver }) => keyOf(firmId, receiver)));
      for (const share of shares)
        if (served.has(keyOf(share.firmId, share.receiver)))
          order.note(share, known.get(share.receiver)?.key ?? UNKNOWN_PLACE);
      firms = firms.flatMap(({ firmId, lanes }) => {
        const left = lanes.map((lane) => {
          const { key } = lane;
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
