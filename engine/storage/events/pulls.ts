/** Statements of events that wait to be pulled, and of their confirmation. */
import { isoOrNull } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import { temporary } from "../../base/errors.js";
import type { FirmId, IntegratorId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { mapInSlices } from "../../base/memory/slices.js";
import type { FeedKind } from "../../lifecycle/feed.js";
import { shownOnce } from "../keyring/facts.js";
import type { Sql } from "../sql.js";
import { messageColumns, messageJoins, messageOf } from "./dispatch.js";
import type { MessageRow, StoredMessage } from "./dispatch.js";
import type { SubscriptionOwner } from "./subscriptions.js";
import { unlessAway } from "./unopened.js";

/** What is asked of the events of one owner. */
interface PullQuery {
  readonly kind: FeedKind | undefined;
  readonly limit: number;
}

/** A page of events that wait to be pulled. */
export interface PendingPage {
  readonly rows: readonly MessageRow[];
  /** Whether more wait behind it; false where nothing of the page opens, so that nobody asks again at once. */
  readonly hasMore: boolean;
}

/**
 * What opens of a page. What stands behind an event of its document that does not open is left out, too: whoever pulls
 * takes the last event of a document for its state. All of it comes at a later pull.
 */
async function openedInOrder<Row extends StoredMessage<MessageRow>>(sql: Sql, rows: readonly Row[]) {
  // Bounded by the rows of a page.
  const held = new Set<string>();
  // Bounded by the rows of a page.
  const away = new Set<FirmId>();
  const shown = shownOnce(sql);
  const messages = await mapInSlices(rows, (row) => {
    const open = () => messageOf(sql, row, shown(row.documentId, row.facts));
    const message = held.has(row.documentId) ? undefined : unlessAway(open);
    if (message !== undefined) return message;
    held.add(row.documentId);
    away.add(row.firmId);
    return undefined;
  });
  return { opened: messages.filter((message) => message !== undefined), away };
}

const pageOf = (opened: readonly MessageRow[], limit: number, isFull: boolean): PendingPage => ({
  rows: opened.slice(0, limit),
  hasMore: opened.length > limit || (isFull && opened.length > 0),
});

/**
 * Events of one owner that wait to be pulled, oldest first, each once however many subscriptions have it.
 * @throws Refusal TEMPORARY where events wait and none of them opens: an empty page would say that nothing has happened
 */
export async function listPending(
  sql: Sql,
  { firmId, integratorId }: SubscriptionOwner,
  { kind, limit }: PullQuery,
): Promise<PendingPage> {
  const rows = await sql<StoredMessage<MessageRow>[]>`
    with page as (
      select distinct on (p.place) p.place, p.id from webhook_delivery as p
      where p.owner_id = ${integratorId ?? firmId} and p.firm_id = ${firmId} and p.endpoint_id is null
        and p.settled_at is null and (${kind ?? null}::text is null or p.event = ${kind ?? null})
      order by p.place, p.id limit ${limit + 1}
    )
    select ${messageColumns(sql)} from page join webhook_delivery as d on d.id = page.id
    ${messageJoins(sql)}
    order by page.place`;
  const { opened } = await openedInOrder(sql, rows);
  if (opened.length === 0 && rows.length > 0) throw temporary();
  return pageOf(opened, limit, rows.length > limit);
}

/** An integrator over all its firms: those whose consent lets it read their events, and none that it has lost since. */
export interface PullPartner {
  readonly integratorId: IntegratorId;
  /** Bindings that the caller's token does not know of do not count. */
  readonly bindingGeneration: number;
}

/** The firms whose events an integrator may pull or confirm now. */
const consenting = (sql: Sql, partner: PullPartner, scope: "webhooks:read" | "webhooks:write") => sql`
  select b.firm_id from firm_binding as b
  join integrator as i on i.id = b.integrator_id
  join firm as f on f.id = b.firm_id and (f.sandbox or i.production_authorized)
  where b.integrator_id = ${partner.integratorId} and b.state = 'active' and 'enterprise' = any (b.interfaces)
    and ${scope} = any (b.scopes) and b.revoked_generation <= ${partner.bindingGeneration}`;

/** What is asked of the events of all firms. */
interface PullAllQuery {
  readonly since: Instant | undefined;
  readonly limit: number;
}

/** Where a look goes on behind the one before. */
interface Further {
  readonly after: string | undefined;
  /** Firms whose events did not open. */
  readonly without: readonly FirmId[];
}

type Placed = StoredMessage<MessageRow> & { readonly place: string };

function readOfAll(sql: Sql, partner: PullPartner, { since, limit }: PullAllQuery, { after, without }: Further) {
  const from = isoOrNull(since);
  return sql<Placed[]>`
    with page as (
      select distinct on (p.place) p.place, p.id from webhook_delivery as p
      where p.owner_id = ${partner.integratorId} and p.endpoint_id is null and p.settled_at is null
        and (${from}::timestamptz is null or p.occurred_at >= ${from}::timestamptz)
        and p.firm_id in (${consenting(sql, partner, "webhooks:read")})
        and (${after ?? null}::bigint is null or p.place > ${after ?? null}::bigint)
        and p.firm_id <> all (${[...without]}::uuid[])
      order by p.place, p.id limit ${limit}
    )
    select page.place, ${messageColumns(sql)} from page join webhook_delivery as d on d.id = page.id
    ${messageJoins(sql)}
    order by page.place`;
}

/**
 * Events of all firms of an integrator that wait to be pulled, oldest first. Behind a page on which some do not open it
 * reads on without their firms, LIMITS.webhook_pull_looks_max times at most: those of the others wait for no key.
 */
export async function listPendingOfAll(sql: Sql, partner: PullPartner, query: PullAllQuery): Promise<PendingPage> {
  const found: MessageRow[] = [];
  const without = new Set<FirmId>();
  let after: string | undefined;
  for (let look = 1; ; look += 1) {
    const limit = query.limit + 1 - found.length;
    const rows = await readOfAll(sql, partner, { ...query, limit }, { after, without: [...without] });
    const { opened, away } = await openedInOrder(sql, rows);
    found.push(...opened);
    const isFull = rows.length === limit;
    if (away.size === 0 || !isFull || look === LIMITS.webhook_pull_looks_max) return pageOf(found, query.limit, isFull);
    for (const firmId of away) without.add(firmId);
    after = rows.at(-1)?.place;
  }
}

interface AckRow {
  readonly eventId: string;
}

/**
 * Confirms the deliveries of `named` that still wait to be pulled. They are held by their ids, as by whoever changes or
 * deletes their subscription meanwhile.
 */
const confirming = (sql: Sql) => sql`
  held as materialized (
    select d.id from named join webhook_delivery as d on d.id = named.id
    where d.settled_at is null and d.endpoint_id is null order by d.id for update of d
  ), confirmed as (
    update webhook_delivery as d set status = 'SUCCESS', settled_at = clock_timestamp() from held where d.id = held.id
  )`;

/** Confirms events of one owner. @returns those of the ids that are events of it, confirmed now or before */
export async function confirmEvents(
  sql: Sql,
  { firmId, integratorId }: SubscriptionOwner,
  ids: readonly string[],
): Promise<string[]> {
  const rows = await sql<AckRow[]>`
    with named as (
      select d.id, d.event_id from webhook_subscription as s
      join webhook_delivery as d on d.subscription_id = s.id and d.event_id = any (${[...ids]}::uuid[])
      where s.firm_id = ${firmId} and s.integrator_id is not distinct from ${integratorId ?? null}::uuid
        and s.deleted_at is null and d.endpoint_id is null
    ), ${confirming(sql)}
    select distinct event_id as "eventId" from named`;
  return rows.map(({ eventId }) => eventId);
}

/** Confirms events of any firm of an integrator. @returns as confirmEvents does */
export async function confirmEventsOfAll(sql: Sql, partner: PullPartner, ids: readonly string[]): Promise<string[]> {
  const rows = await sql<AckRow[]>`
    with named as (
      select d.id, d.event_id from webhook_subscription as s
      join webhook_delivery as d on d.subscription_id = s.id and d.event_id = any (${[...ids]}::uuid[])
      where s.integrator_id = ${partner.integratorId} and s.deleted_at is null and d.endpoint_id is null
        and s.firm_id in (${consenting(sql, partner, "webhooks:write")})
    ), ${confirming(sql)}
    select distinct event_id as "eventId" from named`;
  return rows.map(({ eventId }) => eventId);
}
