/** What became of deliveries, as the owner of their subscription reads it. @source spec/shapes.md, section 5 */
import { isoInstant, isoOrNull } from "../../base/clock.js";
import { cutPage, placeIn } from "../../base/cursors.js";
import type { Cursors } from "../../base/cursors.js";
import { LIMITS } from "../../base/limits.js";
import type { FeedKind } from "../../lifecycle/feed.js";
import { DELIVERY_STATUSES, listDeliveries } from "../../storage/events/deliveries.js";
import type { DeliveryQuery, DeliveryRow, DeliveryStatus } from "../../storage/events/deliveries.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { readSubscription } from "./subscriptions.js";
import type { ListedSubscription, NamedSubscription, SubscriptionOwner } from "./subscriptions.js";

export { DELIVERY_STATUSES };

/** One delivery in a list. */
export interface DeliveryView {
  readonly id: string;
  readonly webhookId: string;
  readonly webhookEventId: string;
  readonly event: FeedKind;
  readonly documentId: string;
  readonly status: DeliveryStatus;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly testRunId: string | null;
  readonly replayedFrom: string | null;
  readonly nextAttemptAt: string | null;
  readonly lastAttemptAt: string | null;
  readonly completedAt: string | null;
  readonly responseStatus: number | null;
  /** The beginning of what the receiver answered; absent unless it was asked for. */
  readonly responseBody?: string | null;
  readonly error: string | null;
  readonly createdAt: string;
}

/** A page of deliveries, newest first. */
export interface DeliveryPage {
  readonly data: DeliveryView[];
  readonly pagination: {
    readonly limit: number;
    readonly offset: number;
    readonly nextCursor: string | null;
    readonly hasMore: boolean;
  };
}

/** What is asked of a list of deliveries; a cursor and an offset are two ways to come to a page. */
export interface DeliveriesAsked {
  readonly limit: number;
  readonly offset: number;
  readonly cursor: string | undefined;
  readonly status?: DeliveryStatus | undefined;
  readonly event: FeedKind | undefined;
  readonly testRunId?: string | undefined;
  readonly subscriptionId?: string | undefined;
  readonly withBody: boolean;
}

const deliveryOf = (row: DeliveryRow, withBody: boolean): DeliveryView => ({
  id: row.id,
  webhookId: row.subscriptionId,
  webhookEventId: row.eventId,
  event: row.event,
  documentId: row.documentId,
  status: row.status,
  attempts: row.attempts,
  maxAttempts: LIMITS.webhook_attempts_max,
  testRunId: row.testRunId,
  replayedFrom: row.replayOf,
  nextAttemptAt: isoOrNull(row.nextAttemptAt),
  lastAttemptAt: isoOrNull(row.attemptedAt),
  completedAt: isoOrNull(row.settledAt),
  responseStatus: row.responseStatus,
  ...(withBody ? { responseBody: row.responseBody } : {}),
  error: row.cause,
  createdAt: isoInstant(row.createdAt),
});

interface ReadPorts {
  readonly sql: Sql;
  readonly cursors: Cursors;
}

/** One page of a list. @throws Refusal REQUEST_INVALID for a cursor of another list; TEMPORARY */
async function page(
  { sql, cursors }: ReadPorts,
  owner: SubscriptionOwner,
  list: { readonly name: string; readonly dead: boolean },
  asked: DeliveriesAsked,
): Promise<DeliveryPage> {
  const { limit, offset, cursor, status, event, testRunId, subscriptionId, withBody } = asked;
  const name = `${list.name}/${owner.integratorId ?? ""}/${owner.firmId}/${subscriptionId ?? ""}`;
  const before = placeIn(cursors, name, cursor, String);
  const query: DeliveryQuery = {
    subscriptionId,
    status,
    event,
    testRunId,
    dead: list.dead,
    withBody,
    before,
    offset,
    limit: limit + 1,
  };
  const read = await orTemporary(listDeliveries(sql, owner, query));
  const { rows, ...next } = cutPage(cursors, name, read, { limit, placeOf: ({ position }) => position });
  return { data: rows.map((row) => deliveryOf(row, withBody)), pagination: { limit, offset, ...next } };
}

/** Deliveries of one subscription. @throws Refusal NOT_FOUND, REQUEST_INVALID for a foreign cursor, TEMPORARY */
export async function readDeliveries(
  ports: ReadPorts,
  named: NamedSubscription,
  asked: DeliveriesAsked,
): Promise<DeliveryPage> {
  await readSubscription(ports, named);
  return page(ports, named.owner, { name: "webhook-deliveries", dead: false }, { ...asked, subscriptionId: named.id });
}

/** Deliveries of an owner that have failed for good and are not resolved. @throws as readDeliveries */
export const readDeadLetters = (
  ports: ReadPorts,
  owner: SubscriptionOwner,
  asked: DeliveriesAsked,
): Promise<DeliveryPage> => page(ports, owner, { name: "webhook-dead-letter", dead: true }, asked);

/** A subscription with its latest deliveries. @throws Refusal NOT_FOUND, TEMPORARY */
export async function readSubscriptionWithDeliveries(
  ports: ReadPorts,
  named: NamedSubscription,
): Promise<ListedSubscription & { readonly deliveries: DeliveryView[] }> {
  const subscription = await readSubscription(ports, named);
  const latest = { limit: LIMITS.webhook_latest_deliveries, offset: 0, cursor: undefined, event: undefined };
  const { data } = await readDeliveries(ports, named, { ...latest, withBody: false });
  return { ...subscription, deliveries: data };
}
