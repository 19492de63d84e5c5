/** Statements on single deliveries: repeats, settlements, tests; and the removal of old ones. */
import { LIMITS } from "../../base/limits.js";
import type { FeedKind } from "../../lifecycle/feed.js";
import type { Json, Sql } from "../sql.js";
import { claimedColumns, claimOf, messageJoins } from "./dispatch.js";
import type { ClaimedDelivery, StoredClaim } from "./dispatch.js";
import type { SubscriptionOwner } from "./subscriptions.js";

interface Repeat {
  /** `inactive`: the subscription is switched off, and nothing was made. */
  readonly outcome: "replayed" | "inactive";
  readonly deliveryId: string;
  readonly subscriptionId: string;
  readonly eventId: string;
}

/** Makes a new delivery of one that failed. @returns undefined when the owner has no such delivery */
export async function repeatDelivery(
  sql: Sql,
  { firmId, integratorId }: SubscriptionOwner,
  id: string,
): Promise<Repeat | undefined> {
  const [row] = await sql<Repeat[]>`
    select outcome, delivery_id as "deliveryId", subscription_id as "subscriptionId", event_id as "eventId"
    from replay_webhook(${id}, ${firmId}, ${integratorId ?? null})`;
  return row;
}

/** Takes a delivery off the dead letters; the first reason stays. @returns false when the owner has no such delivery */
export async function resolveDelivery(
  sql: Sql,
  { firmId, integratorId }: SubscriptionOwner,
  id: string,
  reason: string,
): Promise<boolean> {
  const rows = await sql`
    update webhook_delivery as d
    set resolved_at = coalesce(d.resolved_at, now()), resolution = coalesce(d.resolution, ${reason})
    from webhook_subscription as s
    where d.id = ${id} and d.owner_id = ${integratorId ?? firmId} and d.firm_id = ${firmId} and d.status = 'FAILED'
      and d.test_run_id is null and s.id = d.subscription_id and s.deleted_at is null
    returning d.id`;
  return rows.length === 1;
}

interface NewTests {
  readonly runId: string;
  readonly event: FeedKind;
  readonly events: readonly { readonly id: string; readonly data: Json }[];
  /** The process that sends them at once; undefined lets them wait like any other. */
  readonly sender: string | undefined;
}

/** Makes deliveries of events that never happened. @returns none when the owner has no such subscription */
export function insertTests(
  sql: Sql,
  named: { readonly owner: SubscriptionOwner; readonly id: string },
  { runId, event, events, sender }: NewTests,
): PromiseLike<{ readonly id: string; readonly eventId: string }[]> {
  const { owner, id } = named;
  return sql<{ readonly id: string; readonly eventId: string }[]>`
    select id, event_id as "eventId" from test_webhook(${id}, ${owner.firmId}, ${owner.integratorId ?? null}, ${runId},
      ${event}, ${events.map((one) => one.id)}::uuid[],
      ${events.map(({ data }) => JSON.stringify(data))}::text[]::jsonb[],
      ${sender ?? null}, ${LIMITS.webhook_lease_ms})`;
}

/** The deliveries of a test that are to be sent at once; they tell of no document, and so of nothing that is sealed. */
export async function claimedTests(sql: Sql, ids: readonly string[]): Promise<ClaimedDelivery[]> {
  const rows = await sql<StoredClaim<ClaimedDelivery>[]>`
    select ${claimedColumns(sql)}
    from webhook_delivery as d join webhook_subscription as s on s.id = d.subscription_id
    ${messageJoins(sql)}
    where d.id = any (${[...ids]}::uuid[])
    order by d.position`;
  return rows.map((row) => claimOf(sql, row));
}

/** Removes old deliveries and what nothing is left of. @returns how many deliveries went */
export async function pruneDeliveries(sql: Sql): Promise<number> {
  const [row] = await sql<{ readonly gone: string }[]>`
    with forgotten as (
      delete from connector_request
      where created_at < now() - ${LIMITS.webhook_delivered_kept_ms}::bigint * interval '1 millisecond'
    )
    select prune_ended_webhooks(${LIMITS.webhook_delivered_kept_ms}, ${LIMITS.webhook_kept_ms},
      ${LIMITS.webhook_prune_batch}) as gone`;
  return Number(row?.gone ?? 0);
}

/** A delivery's place among those that are open, in the order of documents. */
export interface OpenPlace {
  readonly documentId: string;
  readonly subscriptionId: string;
  readonly place: string;
}

/** Before every open delivery. */
export const FIRST_OPEN: OpenPlace = {
  documentId: "00000000-0000-0000-0000-000000000000",
  subscriptionId: "00000000-0000-0000-0000-000000000000",
  place: "0",
};

/**
 * Lets deliveries go that wait behind nothing, among LIMITS.webhook_waiting_part open ones.
 * @returns the last of them, behind which the next part begins; undefined when there is none
 */
export async function freeWaiting(sql: Sql, after: OpenPlace): Promise<OpenPlace | undefined> {
  const [last] = await sql<OpenPlace[]>`
    select document_id as "documentId", subscription_id as "subscriptionId", place::text as place
    from free_waiting_webhooks(${after.documentId}, ${after.subscriptionId}, ${after.place}::bigint,
      ${LIMITS.webhook_waiting_part})`;
  return last;
}
