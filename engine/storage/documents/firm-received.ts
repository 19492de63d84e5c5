/** Statements on what firms have received, over all participants: pages, one document, the pull. */
import type postgres from "postgres";

import { isoInstant, isoOrNull } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import { firstIdAt } from "../../base/ids.js";
import type { FirmId, IntegratorId, ParticipantId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { ReceivedState } from "../../lifecycle/received.js";
import type { FeedPlace } from "../events/feed.js";
import { shownList, shownRows } from "../keyring/facts.js";
import type { ShownFacts, WithFacts } from "../keyring/facts.js";
import type { Sql } from "../sql.js";
import { markingShown } from "./received.js";

/** A received document as its firm may see it, without its content. */
export interface FirmReceived extends ShownFacts {
  readonly id: string;
  readonly firmId: FirmId;
  readonly firmName: string;
  readonly status: ReceivedState;
  readonly documentTypeId: string;
  readonly processId: string;
  readonly sender: string;
  readonly receiver: string;
  readonly receivedAt: Date;
  readonly apiReceivedAt: Date | null;
  readonly acknowledgedAt: Date | null;
  readonly clientReference: string | null;
  readonly as4MessageId: string;
  /** Hex. */
  readonly payloadSha256: string;
}

const columns = (sql: Sql) => sql`
  r.id, r.firm_id as "firmId", r.status, r.document_type_id as "documentTypeId", r.process_id as "processId", r.sender,
  r.receiver, r.facts, r.received_at as "receivedAt", r.api_received_at as "apiReceivedAt",
  r.acknowledged_at as "acknowledgedAt", r.client_reference as "clientReference", r.as4_message_id as "as4MessageId",
  encode(r.payload_sha256, 'hex') as "payloadSha256"`;

/** Whose documents are read: one firm's, or those of all firms that an integrator may act for at this moment. */
export type ReadFirms =
  | { readonly firmId: FirmId }
  | {
      readonly integratorId: IntegratorId;
      /** The only firm that the key is made for; undefined for all. */
      readonly onlyFirmId: FirmId | undefined;
      /** Tokens of an older generation than a firm's last withdrawal do not see it. */
      readonly bindingGeneration: number;
      /** What the consent must allow, and for which interface. */
      readonly scope: string;
      readonly through: string;
    };

/** A firm that only sends has no mailbox. */
const firmsOf = (sql: Sql, firms: ReadFirms) =>
  "firmId" in firms
    ? sql`select f.id, f.name from firm as f where f.id = ${firms.firmId}`
    : sql`
      select f.id, f.name from firm_binding as b join firm as f on f.id = b.firm_id
      where b.integrator_id = ${firms.integratorId} and b.state = 'active' and not f.sends_only
        and b.revoked_generation <= ${firms.bindingGeneration}
        and (${firms.onlyFirmId ?? null}::uuid is null or b.firm_id = ${firms.onlyFirmId ?? null}::uuid)
        and ${firms.scope} = any (b.scopes) and ${firms.through} = any (b.interfaces)`;

/** Whether a firm is one of them. */
const isOneOf = (sql: Sql, firms: ReadFirms, id: postgres.PendingQuery<postgres.Row[]>) =>
  sql`exists (select 1 from (${firmsOf(sql, firms)}) as f where f.id = ${id})`;

/** Marks what a page shows for the first time. */
const marking = (sql: Sql, shownAt: Instant | undefined) =>
  markingShown(sql, sql`select id from listed where is_shown and "apiReceivedAt" is null`, shownAt);

/** One page of an inbox. */
interface InboxPageQuery {
  readonly firms: ReadFirms;
  readonly statuses: readonly ReceivedState[];
  readonly since: Instant | undefined;
  readonly offset: number;
  readonly limit: number;
  /** Undefined for a page that nobody is given. */
  readonly shownAt: Instant | undefined;
}

/** The mailboxes that are asked for: each participant of the firms in each of the states. */
const mailboxes = (sql: Sql, { firms, statuses }: InboxPageQuery) => sql`
  select f.id, f.name, p.key, s.status from (${firmsOf(sql, firms)}) as f join participant as p on p.firm_id = f.id
  cross join unnest(${[...statuses]}::text[]) as s (status)`;

/**
 * A place behind which everything lies that was received since an instant: that of the last document whose id was made
 * a good while earlier, so that clocks of nodes may differ. Ids that do not begin with their time are passed over.
 */
const placeBefore = (sql: Sql, since: Instant | undefined) =>
  since === undefined
    ? sql`0::bigint`
    : sql`coalesce((
        select e.position from received_document as e
        where e.id < ${firstIdAt(since - LIMITS.inbox_since_slack_ms)}::uuid and e.id::text like '______________7%'
        order by e.id desc limit 1
      ), 0)`;

/** Where a mailbox is read to. */
const PLACES = {
  "the end": (sql: Sql) => sql`9223372036854775807`,
  "the horizon": (sql: Sql) => sql`h.position`,
} as const;

/**
 * The documents of the mailbox b: a stretch of the index of mailboxes, compared as a whole. Compared member by member,
 * a participant and its firm are two rare things to Postgres, whose product is a handful of rows: it then reads and
 * sorts the whole mailbox instead of its beginning, 30,301 entries for 2,501
 * (test/integration/documents/inbox-depth.test.ts).
 */
const inMailbox = (sql: Sql, { since }: InboxPageQuery, until: keyof typeof PLACES = "the end") => {
  const from = isoOrNull(since);
  return sql`
    from received_document as d
    where (d.participant_key, d.firm_id, d.status, d.position) > (b.key, b.id, b.status, ${placeBefore(sql, since)})
      and (d.participant_key, d.firm_id, d.status, d.position) <= (b.key, b.id, b.status, ${PLACES[until](sql)})
      and (${from}::timestamptz is null or d.received_at >= ${from}::timestamptz)`;
};

/** The order of arrival within a mailbox, in the words of its index. */
const arrival = (sql: Sql) => sql`order by d.participant_key, d.firm_id, d.status, d.position`;

/**
 * The first `most` documents of all mailboxes together. Of each mailbox only a share is looked at first: the place of
 * the last of the first `most` of these lies behind the end of the page, so no mailbox is read further. However the
 * documents lie, about 2 × most × √mailboxes entries of the index are read, and not most × mailboxes.
 */
const firstOf = (sql: Sql, query: InboxPageQuery, most: number) => sql`
  box as materialized (${mailboxes(sql, query)}),
  share as (select ceil(${most}::integer / sqrt(greatest(count(*), 1)))::integer as size from box),
  horizon as materialized (
    select case when count(*) < ${most} then 9223372036854775807 else max(h.position) end as position from (
      select l.position from box as b cross join share
      cross join lateral (select d.position ${inMailbox(sql, query)} ${arrival(sql)} limit share.size) as l
      order by l.position limit ${most}
    ) as h
  ),
  first as (
    select b.name, l.id as row_id, l.position from box as b cross join horizon as h
    cross join lateral (
      select d.id, d.position ${inMailbox(sql, query, "the horizon")} ${arrival(sql)} limit ${most}
    ) as l
    order by l.position limit ${most}
  )`;

/** Oldest first, one row more than the limit where there is a next page. */
export async function listFirmReceived(sql: Sql, query: InboxPageQuery): Promise<FirmReceived[]> {
  const { offset, limit, shownAt } = query;
  const rows = await sql<WithFacts<FirmReceived>[]>`
    with ${firstOf(sql, query, offset + limit + 1)}, listed as materialized (
      select m.name as "firmName", m.position, row_number() over (order by m.position) <= ${limit} as is_shown,
        ${columns(sql)}
      from (select * from first order by position offset ${offset}) as m join received_document as r on r.id = m.row_id
    ), marked as (${marking(sql, shownAt)})
    select * from listed order by position`;
  return shownRows(sql, rows);
}

/** How many there are, counted up to LIMITS.firm_documents_counted_max. */
export async function countFirmReceived(sql: Sql, query: InboxPageQuery): Promise<number> {
  const most = LIMITS.firm_documents_counted_max;
  const [row] = await sql<{ readonly total: number }[]>`
    select count(*)::integer as total from (
      select 1 from (${mailboxes(sql, query)}) as b
      cross join lateral (select 1 ${inMailbox(sql, query)} limit ${most}) as l limit ${most}) as counted`;
  return row?.total ?? 0;
}

/** One received document of a firm; undefined when it has none such to see. */
export async function findFirmReceived(sql: Sql, firmId: FirmId, id: string): Promise<FirmReceived | undefined> {
  const rows = await sql<WithFacts<FirmReceived>[]>`
    select f.name as "firmName", ${columns(sql)}
    from received_document as r join firm as f on f.id = r.firm_id
      join participant as p on p.key = r.participant_key and p.firm_id = r.firm_id
    where r.id = ${id} and r.firm_id = ${firmId} and received_is_visible(r.status)`;
  return shownRows(sql, rows)[0];
}

/** What is pulled of what a firm received. */
interface ReceivedPullQuery {
  readonly firmId: FirmId;
  readonly after: FeedPlace;
  readonly since: Instant | undefined;
  /** A regular expression of the document types that are wanted; undefined for all. */
  readonly type: string | undefined;
  readonly senderKey: string | undefined;
  readonly limit: number;
  /** Undefined for a page that nobody is given. */
  readonly shownAt: Instant | undefined;
}

/**
 * What a firm received after a place, in the order in which it could see it; one row more than the limit where there is
 * more. Rows of transactions that may still commit, and those after them, come later.
 */
export async function pullReceived(sql: Sql, query: ReceivedPullQuery): Promise<(FirmReceived & FeedPlace)[]> {
  const { firmId, after, since, type = null, limit, shownAt } = query;
  const senderKey = query.senderKey ?? null;
  const from = isoOrNull(since);
  const rows = await sql<WithFacts<FirmReceived & FeedPlace>[]>`
    with listed as materialized (
      select f.name as "firmName", row_number() over (order by q.transaction_id, q.place) <= ${limit} as is_shown,
        q.transaction_id, q.place, q.transaction_id::text as "transactionId", q.place::text as position, ${columns(sql)}
      from (
        select d.id as row_id, coalesce(d.feed_transaction_id, '1'::xid8) as transaction_id,
          coalesce(d.feed_position, d.position) as place
        from received_document as d join participant as p on p.key = d.participant_key and p.firm_id = d.firm_id
        where d.firm_id = ${firmId} and received_is_visible(d.status)
          and (coalesce(d.feed_transaction_id, '1'::xid8), coalesce(d.feed_position, d.position))
            > (${after.transactionId}::text::xid8, ${after.position}::bigint)
          and coalesce(d.feed_transaction_id, '1'::xid8) < pg_snapshot_xmin(pg_current_snapshot())
          and (${from}::timestamptz is null or d.received_at >= ${from}::timestamptz)
          and (${type}::text is null or d.document_type_id ~ ${type}::text)
          and (${senderKey}::text is null or lower(d.sender) = ${senderKey}::text)
        order by coalesce(d.feed_transaction_id, '1'::xid8), coalesce(d.feed_position, d.position)
        limit ${limit + 1}
      ) as q join received_document as r on r.id = q.row_id join firm as f on f.id = r.firm_id
    ), marked as (${marking(sql, shownAt)})
    select * from listed order by transaction_id, place`;
  return shownList(sql, rows);
}

/** What a list does not show yet, though it was committed before the list was read. */
interface NotYetListed {
  /** Received documents that are being judged. */
  readonly held: readonly string[];
  /** While transactions before this one are open, what was committed beside them is in no feed; null for nothing. */
  readonly before: string | null;
}

/** The feeds of one firm that a list goes by: of what it received, of what became of what it sent. */
type ListedFeed = "received" | "sent";

/** Whose lists, what is in them, and since when a document that has no verdict yet may have one in a moment. */
interface NotYetListedQuery {
  readonly firms: ReadFirms;
  /** Whether a document that is being judged will be in them. */
  readonly showsJudged: boolean;
  readonly feeds: readonly ListedFeed[];
  readonly heldSince: Instant;
}

/**
 * What lists do not show yet. Documents that are being judged are looked for first, of whomever they are, and then
 * whose they are: they are few, and an integrator may have thousands of firms. Only lists of one firm go by a feed.
 */
export async function findNotYetListed(sql: Sql, query: NotYetListedQuery): Promise<NotYetListed> {
  const { firms, showsJudged, feeds, heldSince } = query;
  const firmId = "firmId" in firms ? firms.firmId : null;
  const [row] = await sql<NotYetListed[]>`
    with judged as materialized (
      select id, firm_id from received_document
      where ${showsJudged}::boolean and status = 'HELD' and received_at > ${isoInstant(heldSince)}
      order by received_at desc limit ${LIMITS.held_listed_max}
    )
    select array(select j.id::text from judged as j where ${isOneOf(sql, firms, sql`j.firm_id`)}) as held,
      case when ${feeds.includes("received")}::boolean and exists (
          select 1 from received_document as r
          where r.firm_id = ${firmId}::uuid and received_is_visible(r.status)
            and coalesce(r.feed_transaction_id, '1'::xid8) >= pg_snapshot_xmin(pg_current_snapshot()))
        or ${feeds.includes("sent")}::boolean and exists (
          select 1 from document_event as e
          where e.firm_id = ${firmId}::uuid and e.transaction_id >= pg_snapshot_xmin(pg_current_snapshot())
            and (e.feed or e.kind = 'document.queued'))
        then pg_snapshot_xmax(pg_current_snapshot())::text end as before`;
  return row ?? { held: [], before: null };
}

/** Whether some of it is still not shown: a verdict counts for a feed when the feed shows it. */
export async function isNotYetListed(
  sql: Sql,
  { held, before }: NotYetListed,
  { feeds }: Pick<NotYetListedQuery, "feeds">,
): Promise<boolean> {
  const [row] = await sql<{ readonly hidden: boolean }[]>`
    select exists (
        select 1 from received_document where id = any (${[...held]}::uuid[])
          and (status = 'HELD' or ${feeds.includes("received")}::boolean
            and feed_transaction_id >= pg_snapshot_xmin(pg_current_snapshot()))
      )
      or coalesce(pg_snapshot_xmin(pg_current_snapshot()) < ${before}::text::xid8, false) as hidden`;
  return row?.hidden === true;
}

/** Whose turn a change of a document is: the participant that sent or received it. */
export interface DocumentOwner {
  readonly direction: "outbound" | "inbound";
  readonly participantId: ParticipantId;
}

/** The participant of a document that a firm sent, or received and may see; undefined when there is none such. */
export async function findDocumentOwner(sql: Sql, firmId: FirmId, id: string): Promise<DocumentOwner | undefined> {
  const [row] = await sql<DocumentOwner[]>`
    select 'outbound' as direction, d.sender as "participantId" from document as d
    where d.id = ${id} and d.firm_id = ${firmId}
    union all
    select 'inbound', p.id from received_document as r
      join participant as p on p.key = r.participant_key and p.firm_id = r.firm_id
    where r.id = ${id} and r.firm_id = ${firmId} and received_is_visible(r.status)`;
  return row;
}
