/** What its owner does about a delivery: repeats one that failed, or says that it is settled; and tests a receiver. */
import { Refusal } from "../../base/errors.js";
import { newId } from "../../base/ids.js";
import type { FeedKind } from "../../lifecycle/feed.js";
import { claimedTests, insertTests, repeatDelivery, resolveDelivery } from "../../storage/events/repairs.js";
import { orNotFound, orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { attemptDelivery } from "./attempt.js";
import type { AttemptPorts } from "./attempt.js";
import { testData } from "./envelope.js";
import { readSubscription } from "./subscriptions.js";
import type { NamedSubscription, SubscriptionOwner } from "./subscriptions.js";

/** A dead delivery of an owner. */
export interface NamedDelivery {
  readonly owner: SubscriptionOwner;
  readonly id: string;
}

/** What a repeat answers. */
export interface Replayed {
  readonly replayedFrom: string;
  readonly deliveryId: string;
  readonly webhookId: string;
  readonly webhookEventId: string;
}

/**
 * Sends an event again whose delivery failed, with the same event id; repeated twice, it is sent once.
 * @throws Refusal NOT_FOUND for a delivery that has not failed, is missing or of another owner; WEBHOOK_INACTIVE;
 * TEMPORARY
 */
export async function replayDelivery(sql: Sql, named: NamedDelivery): Promise<Replayed> {
  const repeat = await orNotFound(repeatDelivery(sql, named.owner, named.id));
  if (repeat.outcome === "inactive") throw new Refusal("WEBHOOK_INACTIVE");
  const { deliveryId, subscriptionId, eventId } = repeat;
  return { replayedFrom: named.id, deliveryId, webhookId: subscriptionId, webhookEventId: eventId };
}

/** Takes a delivery off the dead letters. Safe to repeat. @throws Refusal NOT_FOUND, TEMPORARY */
export async function settleDeadLetter(sql: Sql, named: NamedDelivery, reason: string | undefined): Promise<void> {
  if (!(await orTemporary(resolveDelivery(sql, named.owner, named.id, reason ?? "resolved"))))
    throw new Refusal("NOT_FOUND");
}

/** What is asked of a test. */
export interface TestWish {
  /** `direct` sends at once and answers what came of it; `queued` goes the way of every delivery. */
  readonly mode: "direct" | "queued";
  /** @default the first kind of the subscription */
  readonly event: FeedKind | undefined;
  readonly count: number;
}

/** What became of one test delivery so far. */
interface TestDelivery {
  readonly deliveryId: string;
  readonly webhookEventId: string;
  readonly status: "PENDING" | "SUCCESS" | "FAILED" | "RETRYING";
  readonly responseStatus: number | null;
  readonly error: string | null;
}

/** A test and what became of it. */
export interface TestRun {
  readonly testRunId: string;
  readonly mode: TestWish["mode"];
  readonly event: FeedKind;
  readonly deliveries: TestDelivery[];
}

/** Names this process in leases of what is sent while its caller waits: the loop does not know of them. */
const callerOf = (owner: string): string => `${owner}#test`;

/** Sends what was just made for it at once; each is attempted once and no more. */
async function sendNow(ports: AttemptPorts, ids: readonly string[]): Promise<TestDelivery[]> {
  const claimed = await orTemporary(claimedTests(ports.sql, ids));
  return Promise.all(
    claimed.map(async (delivery) => {
      const outcome = await attemptDelivery({ ...ports, owner: callerOf(ports.owner), once: true }, delivery);
      return {
        deliveryId: delivery.deliveryId,
        webhookEventId: delivery.eventId,
        status: outcome?.end.status ?? "PENDING",
        responseStatus: outcome?.end.responseStatus ?? null,
        error: outcome?.end.cause ?? null,
      };
    }),
  );
}

/**
 * Tells a subscription of events that never happened; their data say so.
 * @throws Refusal NOT_FOUND; REQUEST_INVALID that names mode, where there is no URL to send to; TEMPORARY
 */
export async function testSubscription(
  ports: AttemptPorts,
  named: NamedSubscription,
  wish: TestWish,
): Promise<TestRun> {
  const { sql, clock, owner } = ports;
  const { mode, count } = wish;
  const subscription = await readSubscription({ sql }, named);
  if (mode === "direct" && subscription.url === null)
    throw new Refusal("REQUEST_INVALID", [
      {
        field: "mode",
        message: "A subscription without a url has nowhere to send to; use queued and pull the events.",
      },
    ]);
  const event = wish.event ?? subscription.events[0] ?? "document.delivered";
  const testRunId = newId(clock);
  const events = Array.from({ length: count }, () => ({
    id: newId(clock),
    data: testData(newId(clock), event, clock.now()),
  }));
  const made = await orTemporary(
    insertTests(sql, named, {
      runId: testRunId,
      event,
      events,
      sender: mode === "direct" ? callerOf(owner) : undefined,
    }),
  );
  const deliveries =
    mode === "direct"
      ? await sendNow(
          ports,
          made.map(({ id }) => id),
        )
      : made.map(({ id, eventId }) => ({
          deliveryId: id,
          webhookEventId: eventId,
          status: "PENDING" as const,
          responseStatus: null,
          error: null,
        }));
  return { testRunId, mode, event, deliveries };
}
