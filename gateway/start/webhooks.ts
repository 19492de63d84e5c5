/** Subscriptions to events, their deliveries and pulls: what their rows ask and command, and the loop that delivers. */
import { subscriberKind, webhooksThroughActors } from "../../actors/subscriber.js";
import type { ActorSystem } from "../../actors/system.js";
import type { Config } from "../../engine/base/config.js";
import type { Cursors } from "../../engine/base/cursors.js";
import type { IntegratorId } from "../../engine/base/ids.js";
import { readConnectorDeliveries, readConnectorDelivery } from "../../engine/events/connector/deliveries.js";
import type { ConnectorDeliveriesAsked } from "../../engine/events/connector/deliveries.js";
import { connectorWebhookOperations } from "../../engine/events/connector/operations.js";
import { readTestSuite } from "../../engine/events/connector/tests.js";
import { readConnectorWebhook } from "../../engine/events/connector/webhook.js";
import type { Relay } from "../../engine/events/outbox.js";
import { startDeliverer } from "../../engine/events/webhooks/deliverer.js";
import type { Deliverer } from "../../engine/events/webhooks/deliverer.js";
import {
  readDeadLetters,
  readDeliveries,
  readSubscriptionWithDeliveries,
} from "../../engine/events/webhooks/deliveries.js";
import type { DeliveriesAsked } from "../../engine/events/webhooks/deliveries.js";
import { webhookOperations } from "../../engine/events/webhooks/operations.js";
import { pullEvents, pullEventsOfAll } from "../../engine/events/webhooks/pulls.js";
import type { PullPartner } from "../../engine/events/webhooks/pulls.js";
import { readSubscriptions } from "../../engine/events/webhooks/subscriptions.js";
import type { NamedSubscription, SubscriptionOwner } from "../../engine/events/webhooks/subscriptions.js";
import { startUpkeep } from "../../engine/events/webhooks/upkeep.js";
import { createHttpClient } from "../../engine/peppol/network/http.js";
import { namesOwnMachine } from "../../engine/peppol/network/outbound-address.js";
import { releaseDeliveries } from "../../engine/storage/events/dispatch.js";
import type { Sealer } from "../../engine/storage/sealer.js";
import type { Sql } from "../../engine/storage/sql.js";
import type { Base } from "./infrastructure.js";

/** What the rows on subscriptions work with. */
export type WebhookParts = ReturnType<typeof startWebhooks>["rows"];

interface WebhookGround {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly cursors: Cursors;
  readonly actors: ActorSystem;
  readonly publicUrl: string;
  /** Names this machine's processes, and this process, in leases. */
  readonly node: string;
  readonly owner: string;
}

/**
 * Where subscriptions may lead: to this machine only in a sandbox that is for this machine alone. One that others reach
 * has tenants who must not call, and read the answers of, what listens beside it.
 */
const policyOf = ({ ENVIRONMENT }: Config, publicUrl: string) => ({
  allowLoopback: ENVIRONMENT === "sandbox" && namesOwnMachine(publicUrl),
  ownOrigins: [],
});

/** A relay that also tells somebody of what it was told: where an event is announced, a delivery may be due. */
export const alsoTelling = (relay: Relay, tell: () => void): Relay => ({
  ...relay,
  poke: () => {
    relay.poke();
    tell();
  },
  take: (row) => {
    relay.take(row);
    tell();
  },
});

/** Makes what the rows on subscriptions work with, and what starts to deliver. */
export function startWebhooks(base: Base, { sql, sealer, cursors, actors, publicUrl, node, owner }: WebhookGround) {
  const { config, clock, log, metrics, stack } = base;
  const policy = policyOf(config, publicUrl);
  const client = createHttpClient({ policy });
  stack.add("client of webhooks", () => {
    client.close();
  });
  const ports = { sql, sealer, http: client.request, clock, log, metrics, owner, addresses: { policy } };
  const rows = {
    ...webhooksThroughActors(
      actors,
      subscriberKind({ ...webhookOperations(ports), ...connectorWebhookOperations(ports) }),
    ),
    webhook: (integratorId: IntegratorId) => readConnectorWebhook(sql, integratorId),
    suite: (integratorId: IntegratorId, id: string) => readTestSuite(sql, integratorId, id),
    connectorDeliveries: (integratorId: IntegratorId, asked: ConnectorDeliveriesAsked) =>
      readConnectorDeliveries({ sql, cursors }, integratorId, asked),
    connectorDelivery: (integratorId: IntegratorId, id: string) => readConnectorDelivery(sql, integratorId, id),
    subscriptions: (of: SubscriptionOwner) => readSubscriptions({ sql }, of),
    subscription: (named: NamedSubscription) => readSubscriptionWithDeliveries({ sql, cursors }, named),
    deliveries: (named: NamedSubscription, asked: DeliveriesAsked) => readDeliveries({ sql, cursors }, named, asked),
    deadLetters: (of: SubscriptionOwner, asked: DeliveriesAsked) => readDeadLetters({ sql, cursors }, of, asked),
    pull: (of: SubscriptionOwner, asked: Parameters<typeof pullEvents>[2]) => pullEvents(sql, of, asked),
    pullAll: (partner: PullPartner, asked: Parameters<typeof pullEventsOfAll>[2]) =>
      pullEventsOfAll(sql, partner, asked),
  };
  const deliver = async (): Promise<Deliverer> => {
    await releaseDeliveries(sql, node);
    const deliverer = startDeliverer(ports);
    stack.add("webhooks", () => deliverer.stop());
    stack.add("upkeep of webhooks", startUpkeep(ports));
    return deliverer;
  };
  return { rows, deliver };
}
