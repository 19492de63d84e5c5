/** Subscriptions to events, their deliveries and pulls: what their rows ask and command. */
import { subscriberKind, webhooksThroughActors } from "../../actors/subscriber.js";
import type { ActorSystem } from "../../actors/system.js";
import type { Config } from "../../engine/base/config.js";
import type { Cursors } from "../../engine/base/cursors.js";
import {
  readDeadLetters,
  readDeliveries,
  readSubscriptionWithDeliveries,
} from "../../engine/events/webhooks/deliveries.js";
import type { DeliveriesAsked } from "../../engine/events/webhooks/deliveries.js";
import { webhookOperations } from "../../engine/events/webhooks/operations.js";
import { readSubscriptions } from "../../engine/events/webhooks/subscriptions.js";
import type { NamedSubscription, SubscriptionOwner } from "../../engine/events/webhooks/subscriptions.js";
import type { Sealer } from "../../engine/storage/sealer.js";
import type { Sql } from "../../engine/storage/sql.js";
import type { Base } from "./infrastructure.js";

/** What the rows on subscriptions work with. */
export type WebhookParts = ReturnType<typeof startWebhooks>;

interface WebhookGround {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly cursors: Cursors;
  readonly actors: ActorSystem;
}

/** Where subscriptions may lead: to this machine only in the sandbox. */
const policyOf = ({ ENVIRONMENT }: Config) => ({ allowLoopback: ENVIRONMENT === "sandbox", ownOrigins: [] });

/** Makes what the rows on subscriptions work with. */
export function startWebhooks({ config, clock }: Base, { sql, sealer, cursors, actors }: WebhookGround) {
  const commands = webhookOperations({ sql, sealer, clock, addresses: { policy: policyOf(config) } });
  return {
    ...webhooksThroughActors(actors, subscriberKind(commands)),
    subscriptions: (owner: SubscriptionOwner) => readSubscriptions({ sql }, owner),
    subscription: (named: NamedSubscription) => readSubscriptionWithDeliveries({ sql, cursors }, named),
    deliveries: (named: NamedSubscription, asked: DeliveriesAsked) => readDeliveries({ sql, cursors }, named, asked),
    deadLetters: (owner: SubscriptionOwner, asked: DeliveriesAsked) => readDeadLetters({ sql, cursors }, owner, asked),
  };
}
