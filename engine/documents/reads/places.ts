/** Places in the pulls of a firm: where a client goes on, or the instant at which it begins. */
import { isStorable, parseInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import { placeIn } from "../../base/cursors.js";
import type { Cursors } from "../../base/cursors.js";
import { Refusal } from "../../base/errors.js";
import { FEED_START, isNotYetCounted } from "../../storage/events/feed.js";
import type { FeedPlace } from "../../storage/events/feed.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";

/** Where a page begins. */
interface Beginning {
  readonly after: FeedPlace;
  /** Nothing older is wanted; undefined behind a cursor. */
  readonly since: Instant | undefined;
}

const PLACE = /^(\d{1,20})\.(\d{1,20})$/u;
/** An instant with its zone; a cursor never looks like one. */
const INSTANT = /^\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/u;

/**
 * Reads `since` of a pull.
 * @throws Refusal REQUEST_INVALID for what is neither an instant nor a cursor of this list
 */
export function beginningOf(cursors: Cursors, list: string, since: string | undefined): Beginning {
  if (since === undefined) return { after: FEED_START, since: undefined };
  const instant = INSTANT.test(since) && isStorable(since) ? parseInstant(since) : undefined;
  if (instant !== undefined) return { after: FEED_START, since: instant };
  const after = feedPlaceOf(cursors.open(list, since) ?? "");
  if (after === undefined)
    throw new Refusal("REQUEST_INVALID", [
      {
        field: "since",
        message: "since must be the next_cursor of this list, unchanged, or an ISO 8601 date and time with its zone.",
      },
    ]);
  return { after, since: undefined };
}

function feedPlaceOf(text: string): FeedPlace | undefined {
  const [, transactionId, position] = PLACE.exec(text) ?? [];
  return transactionId === undefined || position === undefined ? undefined : { transactionId, position };
}

/** Where a list begins that goes by a feed and takes no instant. @throws Refusal REQUEST_INVALID, as `placeIn` */
export const placeBehind = (cursors: Cursors, list: string, cursor: string | undefined): FeedPlace =>
  placeIn(cursors, list, cursor, feedPlaceOf) ?? FEED_START;

/**
 * Refuses a place from before a restore or a fail-over: what comes now would come before it, and its reader would pass
 * over it and never know. Nothing is behind such a place, so that only an empty page has to ask.
 * @throws Refusal REQUEST_INVALID, TEMPORARY
 * @source spec/enterprise.md, Events: if a cursor is lost or rejected, restart without one
 */
export async function refuseLost(
  sql: Sql,
  field: "since" | "cursor",
  { after, rows }: { readonly after: FeedPlace; readonly rows: readonly unknown[] },
): Promise<void> {
  if (rows.length > 0 || after === FEED_START || !(await orTemporary(isNotYetCounted(sql, after)))) return;
  throw new Refusal("REQUEST_INVALID", [
    {
      field,
      message: "This place was lost when the database was restored; start without one and pass over what you have.",
    },
  ]);
}

/** A page of a pull. */
interface PulledPage<Row> {
  readonly rows: readonly Row[];
  /** Where the next page begins, also when there is none yet; null while nothing was ever there. */
  readonly nextCursor: string | null;
  readonly hasMore: boolean;
}

/**
 * Cuts a page from one row more than it has, and says where the next one begins.
 * @param given  `since` of the request: an empty page behind a cursor is followed by the same cursor
 */
export function pageOf<Row extends FeedPlace>(
  cursors: Cursors,
  list: string,
  { rows, limit, given }: { readonly rows: readonly Row[]; readonly limit: number; readonly given: string | undefined },
): PulledPage<Row> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    rows: shown,
    nextCursor: last === undefined ? (given ?? null) : cursors.seal(list, `${last.transactionId}.${last.position}`),
    hasMore: rows.length > limit,
  };
}
