/** Statements that make deliveries of the feed, and hand those that go first to the process that makes them. */
import { LIMITS } from "../../base/limits.js";
import type { Sql } from "../sql.js";
import { claimedColumns, claimOf, messageJoins } from "./dispatch.js";
import type { ClaimedDelivery, StoredClaim } from "./dispatch.js";
import { giveBack, unlessAway } from "./unopened.js";
import type { GivenBack, OnGivenBack } from "./unopened.js";

/** How far a look at the feed came. */
interface FannedOut {
  /** Events that were read. */
  readonly read: number;
  /** Deliveries that were made of them. */
  readonly queued: number;
  /** Those that are due and under nobody's lease. */
  readonly waiting: number;
  /** Those that are under the lease of the taker, each with those of its document that wait behind it. */
  readonly taken: readonly string[];
}

/** A process that sends what it makes, and its free places. */
interface Taker {
  readonly owner: string;
  readonly places: number;
}

interface FannedOutRow {
  readonly read: string;
  readonly queued: string;
  readonly waiting: string;
  readonly taken: readonly string[] | null;
}

const fannedOut = (row: FannedOutRow | undefined): FannedOut => ({
  read: Number(row?.read ?? 0),
  queued: Number(row?.queued ?? 0),
  waiting: Number(row?.waiting ?? 0),
  taken: row?.taken ?? [],
});

/**
 * Makes deliveries of the next events of the feed; of nothing while another process is at it. What goes first of its
 * document is under the taker's lease from its beginning, within the bounds of a claim.
 * @param taker  @default nobody: everything waits for a claim
 */
export async function fanOutFeed(sql: Sql, { owner, places }: Taker = { owner: "", places: 0 }): Promise<FannedOut> {
  const [row] = await sql<FannedOutRow[]>`
    select read, queued, waiting, taken from fan_out_webhooks(
      ${LIMITS.webhook_feed_batch}, ${owner}, ${LIMITS.webhook_lease_ms}, ${places}, ${LIMITS.webhook_per_endpoint},
      ${LIMITS.webhook_per_owner}, ${LIMITS.webhook_owner_first}
    )`;
  return fannedOut(row);
}

/** The same for the subscriptions of the Connector; all of it waits for a claim. */
export async function fanOutConnector(sql: Sql): Promise<FannedOut> {
  const [row] = await sql<FannedOutRow[]>`
    select read, queued, queued as waiting, null as taken from fan_out_connector(${LIMITS.webhook_feed_batch})`;
  return fannedOut(row);
}

type Taken = ClaimedDelivery & { readonly isFirst: boolean };

/**
 * What waits behind a delivery as it is now; undefined where the first is under this lease no more, or it does not wait
 * or open any more.
 */
export async function standingBehind(
  sql: Sql,
  owner: string,
  { first, behind }: { readonly first: string; readonly behind: string },
): Promise<ClaimedDelivery | undefined> {
  const [row] = await sql<StoredClaim<ClaimedDelivery>[]>`
    select ${claimedColumns(sql)}
    from webhook_delivery as d join webhook_subscription as s on s.id = d.subscription_id
    ${messageJoins(sql)}
    where d.id = ${behind} and case when d.lease_owner is null and d.status in ('PENDING', 'RETRYING')
        then d.due_at = 'infinity' end
      and exists (select 1 from webhook_delivery as f where f.id = ${first} and f.lease_owner = ${owner})`;
  return row === undefined ? undefined : unlessAway(() => claimOf(sql, row));
}

/** Deliveries of one document for a subscription, in their order: the first is under lease, the others are behind. */
export type DeliveryChain = readonly [ClaimedDelivery, ...ClaimedDelivery[]];

/**
 * What the taker sends of what was handed to it, as it is now: what was changed meanwhile is another's, or nobody's.
 * What does not open for now is given back where it is first, and ends its chain where it waits behind another.
 * The rows are looked up by their ids: a condition that an index of open deliveries answers would have them all read.
 * @param ids  FannedOut.taken
 */
export async function takenChains(
  sql: Sql,
  owner: string,
  ids: readonly string[],
  onGivenBack?: OnGivenBack,
): Promise<DeliveryChain[]> {
  const rows = await sql<StoredClaim<Taken>[]>`
    select ${claimedColumns(sql)}, d.lease_owner is not null as "isFirst"
    from webhook_delivery as d join webhook_subscription as s on s.id = d.subscription_id
    ${messageJoins(sql)}
    where d.id = any (${[...ids]}::uuid[]) and d.status in ('PENDING', 'RETRYING')
      and case when d.lease_owner is null then d.due_at = 'infinity' else d.lease_owner = ${owner} end
    order by d.place`;
  // Bounded by the deliveries that one look at the feed makes.
  const chains = new Map<string, [ClaimedDelivery, ...ClaimedDelivery[]]>();
  const ended = new Set<string>();
  const unopened: GivenBack[] = [];
  for (const { isFirst, ...row } of rows) {
    const key = `${row.subscriptionId} ${row.documentId}`;
    const claim = unlessAway(() => claimOf(sql, row));
    if (claim === undefined) {
      ended.add(key);
      if (isFirst) unopened.push(row);
    } else if (isFirst) chains.set(key, [claim]);
    else if (!ended.has(key)) chains.get(key)?.push(claim);
  }
  await giveBack(sql, owner, unopened, onGivenBack);
  return [...chains.values()];
}
