/** Statements that read what became of the deliveries of subscriptions. */
import type { FeedKind } from "../../lifecycle/feed.js";
import type { Sql } from "../sql.js";
import type { SubscriptionOwner } from "./subscriptions.js";

/** What can become of a delivery. @source spec/rulings.md, section 10 */
export const DELIVERY_STATUSES = ["PENDING", "SUCCESS", "FAILED", "RETRYING"] as const;
/** What became of a delivery so far. */
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** One delivery as it is read. */
export interface DeliveryRow {
  readonly id: string;
  /** Grows with time within a subscription. */
  readonly position: string;
  readonly subscriptionId: string;
  readonly eventId: string;
  readonly event: FeedKind;
  readonly documentId: string;
  readonly status: DeliveryStatus;
  readonly attempts: number;
  readonly testRunId: string | null;
  /** The delivery that this one repeats. */
  readonly replayOf: string | null;
  readonly nextAttemptAt: Date | null;
  readonly attemptedAt: Date | null;
  readonly settledAt: Date | null;
  readonly responseStatus: number | null;
  /** Null unless it was asked for. */
  readonly responseBody: string | null;
  /** Why the last attempt failed, a short code. */
  readonly cause: string | null;
  readonly createdAt: Date;
}

/** What is asked of deliveries; what is undefined does not matter. */
export interface DeliveryQuery {
  readonly subscriptionId: string | undefined;
  readonly status: DeliveryStatus | undefined;
  readonly event: FeedKind | undefined;
  readonly testRunId: string | undefined;
  /** Only those that failed and that nobody has resolved. */
  readonly dead: boolean;
  readonly withBody: boolean;
  /** Position before which the page begins, going back in time. */
  readonly before: string | undefined;
  readonly offset: number;
  readonly limit: number;
}

/** Deliveries of an owner, newest first. */
export function listDeliveries(
  sql: Sql,
  { firmId, integratorId }: SubscriptionOwner,
  query: DeliveryQuery,
): PromiseLike<DeliveryRow[]> {
  const { subscriptionId = null, status = null, event = null, testRunId = null, before = null } = query;
  return sql<DeliveryRow[]>`
    select d.id, d.position, d.subscription_id as "subscriptionId", d.event_id as "eventId", d.event,
      d.document_id as "documentId", d.status, d.attempts, d.test_run_id as "testRunId", d.replay_of as "replayOf",
      case when d.status in ('PENDING', 'RETRYING') and d.lease_owner is null and isfinite(d.due_at) then d.due_at end
        as "nextAttemptAt",
      d.attempted_at as "attemptedAt", d.settled_at as "settledAt", d.response_status as "responseStatus",
      case when ${query.withBody} then d.response_body end as "responseBody", d.cause, d.created_at as "createdAt"
    from webhook_delivery as d
    join webhook_subscription as s on s.id = d.subscription_id and s.deleted_at is null
    where d.owner_id = ${integratorId ?? firmId} and d.firm_id = ${firmId}
      and (${subscriptionId}::uuid is null or d.subscription_id = ${subscriptionId}::uuid)
      and (not ${query.dead} or d.status = 'FAILED' and d.resolved_at is null and d.test_run_id is null)
      and (${status}::text is null or d.status = ${status}) and (${event}::text is null or d.event = ${event})
      and (${testRunId}::uuid is null or d.test_run_id = ${testRunId}::uuid)
      and (${before}::bigint is null or d.position < ${before}::bigint)
    order by d.position desc limit ${query.limit} offset ${query.offset}`;
}
