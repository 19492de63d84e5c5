/** What is due and taken under lease: the looks and claims of the dispatcher, and the leases of those that are gone. */
import type { DocumentId, FirmId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import {
  claimDocuments,
  claimOverdue,
  freeDeadLeases,
  freeLeases,
  hearDispatcher,
  readLanes,
  readOldLeases,
  renewLeases,
} from "../../storage/documents/attempts.js";
import type { LaneCursor, LaneRow, LookBounds, TakenAttempt } from "../../storage/documents/attempts.js";
import type { Sql } from "../../storage/sql.js";
import type { FirmLanes, Share } from "./claims.js";

export type { LaneCursor, TakenAttempt } from "../../storage/documents/attempts.js";

/** What one look at the due documents found. */
export interface Look {
  readonly firms: readonly FirmLanes[];
  /** Where the next one goes on. */
  readonly cursor: LaneCursor;
  /** Whether there are firms or receivers that it did not come to. */
  readonly more: boolean;
}

export const FROM_THE_START: LaneCursor = { firm: undefined, receivers: new Map() };

/** As far as a look goes at the most. */
const FARTHEST: LookBounds = { firms: LIMITS.lane_firms_max, ready: LIMITS.lane_ready_max };

/**
 * How far to look for so many free places: a look over everything that is due costs Postgres more than the few
 * documents are worth that it finds room for. Each look that found nothing to take is followed by one twice as far.
 * @param empty looks in a row that found nothing to take
 */
export const boundsFor = (free: number, empty: number): LookBounds => ({
  firms: Math.min(FARTHEST.firms, Math.max(LIMITS.lane_firms_min, 2 * free) * 2 ** Math.min(empty, 10)),
  ready: Math.min(FARTHEST.ready, Math.max(LIMITS.lane_ready_min, free)),
});

/** Looks at the firms whose turn is next and, of each, at the receivers whose turn is next that have something due. */
export async function look(sql: Sql, cursor: LaneCursor, bounds: LookBounds = FARTHEST): Promise<Look> {
  const { lanes, firms, lastFirm } = await readLanes(sql, cursor, bounds);
  const byFirm = new Map<FirmId, LaneRow[]>();
  for (const row of lanes) {
    const own = byFirm.get(row.firmId) ?? [];
    own.push(row);
    byFirm.set(row.firmId, own);
  }
  const cut = [...firms].flatMap(([firmId, after]) => (after === undefined ? [] : [[firmId, after] as const]));
  // Where the lanes of firms that this look did not come to go on, the latest of them.
  const elsewhere = [...cursor.receivers].filter(([firmId]) => !firms.has(firmId));
  return {
    firms: [...byFirm].map(([firmId, own]) => ({ firmId, lanes: own })),
    cursor: { firm: lastFirm, receivers: new Map([...elsewhere.slice(-LIMITS.lane_firms_max), ...cut]) },
    more: cut.length > 0 || lastFirm !== undefined,
  };
}

/** Names a process in leases. */
interface Owner {
  readonly sql: Sql;
  readonly owner: string;
}

/** Octets that may be taken, and whether one document goes even when it alone has more. */
interface Room {
  readonly bytes: number;
  readonly one: boolean;
}

/** What one claim may bring of that: an answer of 256 MiB comes in seconds. */
const roomOfClaim = ({ bytes, one }: Room): { readonly bytes_max: number; readonly one: boolean } => ({
  bytes_max: Math.min(bytes, LIMITS.claim_bytes_max),
  one: one && bytes < LIMITS.claim_bytes_max,
});

/** Takes the shares under lease, as far as their payloads fit into so many octets. */
export const claim = ({ sql, owner }: Owner, shares: readonly Share[], room: Room): Promise<readonly TakenAttempt[]> =>
  claimDocuments(sql, { shares, owner, lease_ms: LIMITS.attempt_lease_ms, ...roomOfClaim(room) });

/** Documents that have been due for as long as the whole plan lasts are given a last attempt, to end. */
const OVERDUE_MS = LIMITS.retry_plan_ms.reduce((sum, wait) => sum + wait, 0) * (1 + LIMITS.retry_jitter_share);

export const claimForgotten = ({ sql, owner }: Owner, room: Room): Promise<readonly TakenAttempt[]> =>
  claimOverdue(sql, {
    owner,
    ...roomOfClaim(room),
    lease_ms: LIMITS.attempt_lease_ms,
    overdue_ms: OVERDUE_MS,
    limit: LIMITS.attempts_batch,
  });

/** Says that this process is alive. @returns whether there are dead ones, as far as it may judge */
export const beat = ({ sql, owner }: Owner): Promise<boolean> => hearDispatcher(sql, owner);

/** Frees what dead processes held. @returns how many leases are free again */
export const freeDead = ({ sql, owner }: Owner): Promise<number> => freeDeadLeases(sql, owner);

/**
 * Frees leases of this process on documents that it does not work on, and renews those of attempts that may outlive
 * theirs: another process would send what they have perhaps delivered. Which those are is asked when the leases have
 * been read: what was claimed before that and answered in time (answers.ts) is known by then, however late the
 * statement is.
 *
 * @returns how many are free
 */
export async function tendLeases({ sql, owner }: Owner, isAt: (id: DocumentId) => boolean): Promise<number> {
  const old = await readOldLeases(sql, owner);
  const idle = old.filter(({ id }) => !isAt(id));
  const ending = old.filter(({ id, is_ending: isEnding }) => isEnding && isAt(id));
  if (ending.length > 0) await renewLeases(sql, owner, ending);
  return idle.length === 0 ? 0 : freeLeases(sql, owner, idle);
}
