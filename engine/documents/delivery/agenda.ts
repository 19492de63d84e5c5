/**
 * What the last look at the due documents found and nobody has claimed yet. A look costs Postgres more than a claim, so
 * that none is made while there is something left to claim of the one before.
 */
import type { FirmId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { shareOut } from "./claims.js";
import type { FirmLanes, Places, ReceiverCapacity, Share } from "./claims.js";

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

/** In the order of their keys, beginning behind the last whose turn it was. */
function inTurn<T>(items: readonly T[], keyOf: (item: T) => string, last: string | undefined): readonly T[] {
  if (last === undefined) return items;
  const sorted = [...items].sort((left, right) => (keyOf(left) < keyOf(right) ? -1 : 1));
  return [...sorted.filter((item) => keyOf(item) > last), ...sorted.filter((item) => keyOf(item) <= last)];
}

/** An agenda on which nothing stands. */
export function createAgenda(): Agenda {
  // Bounded by what a look finds: LIMITS.lane_firms_max firms with LIMITS.lanes_per_firm_max lanes each.
  let firms: readonly FirmLanes[] = [];
  /** Whose turn it was last. A look that finds the same firms again does not give the first of them another one. */
  let lastFirm: FirmId | undefined;
  // The same of the receivers of each firm, bounded by the same firms.
  let lastReceivers: ReadonlyMap<FirmId, string> = new Map();
  // Bounded by the same lanes.
  let cut: ReadonlySet<string> = new Set();
  let endedShort = false;
  return {
    renew: (found, counted) => {
      const due = found.filter(({ lanes }) => lanes.some(({ ready }) => ready > 0));
      const ids = new Set(due.map(({ firmId }) => firmId));
      lastReceivers = new Map([...lastReceivers].filter(([id]) => ids.has(id)));
      firms = inTurn(due, ({ firmId }) => firmId, lastFirm).map(({ firmId, lanes }) => ({
        firmId,
        lanes: inTurn(lanes, ({ receiver }) => receiver, lastReceivers.get(firmId)),
      }));
      cut = new Set(
        firms.flatMap(({ firmId, lanes }) =>
          lanes.filter(({ ready }) => ready >= counted).map(({ receiver }) => `${firmId} ${receiver}`),
        ),
      );
      endedShort = false;
    },
    shares: (places, capacityOf) => (firms.length === 0 ? [] : shareOut(firms, places, capacityOf)),
    served: (shares) => {
      const claimed = new Map<string, Map<string, number>>();
      for (const { firmId, receiver, count } of shares)
        claimed.set(firmId, (claimed.get(firmId) ?? new Map<string, number>()).set(receiver, count));
      const turns = new Map(lastReceivers);
      const after = firms.map((firm): FirmLanes => {
        const counts = claimed.get(firm.firmId);
        if (counts === undefined) return firm;
        const lanes = firm.lanes.map((lane) => ({ ...lane, ready: lane.ready - (counts.get(lane.receiver) ?? 0) }));
        endedShort ||= lanes.some(({ receiver, ready }) => ready <= 0 && cut.has(`${firm.firmId} ${receiver}`));
        const last = lanes.findLast(({ receiver }) => counts.has(receiver))?.receiver;
        lastFirm = firm.firmId;
        if (last !== undefined) turns.set(firm.firmId, last);
        const left = lanes.filter(({ ready }) => ready > 0);
        return { firmId: firm.firmId, lanes: inTurn(left, ({ receiver }) => receiver, last) };
      });
      lastReceivers = turns;
      const left = after.filter(({ lanes }) => lanes.length > 0);
      firms = [
        ...left.filter(({ firmId }) => !claimed.has(firmId)),
        ...left.filter(({ firmId }) => claimed.has(firmId)),
      ];
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
