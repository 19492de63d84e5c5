/**
 * What one node takes next from the Box: it looks at firms in turn, and takes one item of each that has one due. A look
 * is made again while claims still find something, so that who has much due never hides who has just become due.
 */
import type { Clock } from "../../base/clock.js";
import type { BoxItemId, FirmId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import { boxFirms, claimBoxItems, freeBoxLeases, nextBoxDue } from "../../storage/box/claims.js";
import type { ClaimedItem } from "../../storage/box/claims.js";
import type { Sql } from "../../storage/sql.js";

export type { ClaimedItem } from "../../storage/box/claims.js";

/** What taking items needs. */
export interface BoxAgendaPorts {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Names this process in leases. */
  readonly owner: string;
  /** Begins every owner of this machine's processes. */
  readonly node: string;
  readonly log: Log;
}

/** Places and octets that may still be taken. */
export interface Room {
  readonly places: number;
  readonly bytes: number;
  /** Whether one item goes whatever its size. */
  readonly one: boolean;
  /** Items under way: what else this process has under lease, it does not know of. */
  readonly working: readonly BoxItemId[];
}

/** What one turn took, and how long to wait for the next, in milliseconds, unless somebody pokes. */
interface BoxTurn {
  readonly items: readonly ClaimedItem[];
  readonly wait_ms: number;
}

/** Those that were served come after those that were not. */
const rotated = (firms: readonly FirmId[], served: ReadonlySet<FirmId>): readonly FirmId[] => [
  ...firms.filter((firm) => !served.has(firm)),
  ...firms.filter((firm) => served.has(firm)),
];

/** The turns of one node. */
export function boxAgenda({ sql, clock, log, metrics, owner, node }: BoxAgendaPorts): {
  readonly turn: (room: Room) => Promise<BoxTurn>;
} {
  let firms: readonly FirmId[] = [];
  let after: FirmId | undefined;
  let lookAt = 0;
  let freeAt = 0;
  let isFirst = true;

  async function look(): Promise<void> {
    const found = await boxFirms(sql, after, LIMITS.box_firms_max);
    after = found.length < LIMITS.box_firms_max ? undefined : found.at(-1)?.firmId;
    firms = found.filter(({ isDue }) => isDue).map(({ firmId }) => firmId);
    lookAt = clock.monotonic() + LIMITS.box_poll_ms;
  }

  /**
   * Frees what the dead have taken: at the start all of this machine's, then that of processes seen no more, and what
   * the answer to a claim of our own was lost for.
   */
  async function free(working: readonly BoxItemId[]): Promise<void> {
    if (!isFirst && clock.monotonic() < freeAt) return;
    const count = await freeBoxLeases(sql, { owner, working, node: isFirst ? node : undefined });
    if (count > 0) log.warn("box.leases_freed", { count });
    isFirst = false;
    freeAt = clock.monotonic() + LIMITS.lease_look_soon_ms;
  }

  return {
    turn: async (room) => {
      await free(room.working);
      if (room.places <= 0 || (room.bytes === 0 && !room.one)) return { items: [], wait_ms: LIMITS.box_poll_ms };
      if (firms.length === 0 || clock.monotonic() >= lookAt) {
        const due_ms = await nextBoxDue(sql);
        if (due_ms === undefined || due_ms > 0)
          return { items: [], wait_ms: Math.ceil(Math.min(due_ms ?? LIMITS.box_poll_ms, LIMITS.box_poll_ms)) };
        await look();
        // A look that came to none of the firms that have something due goes on where it ended.
        if (firms.length === 0) return { items: [], wait_ms: after === undefined ? 1 : 0 };
      }
      const items = await claimBoxItems(sql, {
        firms,
        owner,
        max: room.places,
        bytes_max: room.bytes,
        one: room.one,
      });
      for (const { late_ms } of items) metrics.observe("box_claim_lateness_seconds", {}, Math.max(0, late_ms) / 1_000);
      firms = items.length === 0 ? [] : rotated(firms, new Set(items.map(({ firmId }) => firmId)));
      // Nothing although something was due: others have just taken it, or it is too large for what is left.
      return { items, wait_ms: items.length === 0 ? LIMITS.box_claim_rest_ms : 0 };
    },
  };
}
