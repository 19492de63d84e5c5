/** Statements of the event feed: what happened to the documents of all firms; nothing appears behind a reader. */
import type { FirmId } from "../../base/ids.js";
import type { CONNECTOR_FEED_KINDS, FeedKind } from "../../lifecycle/feed.js";
import type { Sql } from "../sql.js";

/** A place in the feed: everything up to it was read. */
export interface FeedPlace {
  /** The transaction that wrote the event; as text, for it has 64 bits. */
  readonly transactionId: string;
  /** The event within its transaction; as text for the same reason. */
  readonly position: string;
}

/** The place before every event. */
export const FEED_START: FeedPlace = { transactionId: "0", position: "0" };

/**
 * Whether the database has not counted up to a place. It gave out none such: who holds one has it from before a
 * restore, or from a server whose last transactions a fail-over lost.
 */
export async function isNotYetCounted(sql: Sql, { transactionId }: FeedPlace): Promise<boolean> {
  const [row] = await sql<{ readonly ahead: boolean }[]>`
    select ${transactionId}::text::xid8 >= pg_snapshot_xmax(pg_current_snapshot()) as ahead`;
  return row?.ahead === true;
}

/** One event of the feed: what happened to which document, not what is in it. */
export interface FeedEvent extends FeedPlace {
  /** The same whenever and by whomever the event is read; no two events have the same. */
  readonly id: string;
  readonly kind: FeedKind | (typeof CONNECTOR_FEED_KINDS)[number];
  /** Of the outbound document, or of the received one. */
  readonly documentId: string;
  readonly firmId: FirmId;
  readonly direction: "outbound" | "inbound";
  readonly occurredAt: Date;
}

/**
 * The events after a place, oldest first. Events of transactions that may still commit, and those after them, come
 * later: a reader that goes on from the last event it got meets each event once, whatever commits late.
 * @param limit  rows of the tables at most; the acceptance of a document is one row and two events
 * @source design/reliability.md, F-11
 */
export function readFeed(sql: Sql, after: FeedPlace, limit: number): PromiseLike<FeedEvent[]> {
  return sql<FeedEvent[]>`
    select transaction_id::text as "transactionId", feed_position::text as position, id, kind,
      document_id as "documentId", firm_id as "firmId", direction, occurred_at as "occurredAt"
    from read_feed(${after.transactionId}::text::xid8, ${after.position}::bigint, ${limit})`;
}
