/** The commands on subscriptions, their deliveries and the events that are pulled. */
import type { Actor } from "../../identity/audit.js";
import type { AttemptPorts } from "./attempt.js";
import { acknowledgeEvent, acknowledgeEvents, acknowledgeEventsOfAll } from "./pulls.js";
import type { PullPartner } from "./pulls.js";
import { replayDelivery, settleDeadLetter, testSubscription } from "./repairs.js";
import type { NamedDelivery, Replayed, TestRun, TestWish } from "./repairs.js";
import {
  changeSubscription,
  createSubscription,
  deleteSubscription,
  rotateSubscriptionSecret,
} from "./subscriptions.js";
import type {
  ListedSubscription,
  MadeSubscription,
  NamedSubscription,
  SubscriptionChanges,
  SubscriptionOwner,
  SubscriptionPorts,
  SubscriptionWish,
} from "./subscriptions.js";

/** Commands of the owners of subscriptions; what each refuses stands at the function that does it. */
export interface WebhookOperations {
  create(owner: SubscriptionOwner, wish: SubscriptionWish, actor: Actor): Promise<MadeSubscription>;
  change(named: NamedSubscription, changes: SubscriptionChanges, actor: Actor): Promise<ListedSubscription>;
  remove(named: NamedSubscription, actor: Actor): Promise<null>;
  rotateSecret(named: NamedSubscription, actor: Actor): Promise<{ readonly id: string; readonly secret: string }>;
  test(named: NamedSubscription, wish: TestWish): Promise<TestRun>;
  replay(named: NamedDelivery): Promise<Replayed>;
  resolve(named: NamedDelivery, reason: string | undefined): Promise<null>;
  acknowledge(owner: SubscriptionOwner, id: string): Promise<null>;
  /** @returns how many of the ids are events of the owner */
  acknowledgeMany(owner: SubscriptionOwner, ids: readonly string[]): Promise<number>;
  acknowledgeAll(partner: PullPartner, ids: readonly string[]): Promise<number>;
}

/** The commands of one node. */
export const webhookOperations = (ports: SubscriptionPorts & AttemptPorts): WebhookOperations => ({
  create: (owner, wish, actor) => createSubscription(ports, owner, wish, actor),
  change: (named, changes, actor) => changeSubscription(ports, named, changes, actor),
  remove: async (named, actor) => {
    await deleteSubscription(ports, named, actor);
    return null;
  },
  rotateSecret: (named, actor) => rotateSubscriptionSecret(ports, named, actor),
  test: (named, wish) => testSubscription(ports, named, wish),
  replay: (named) => replayDelivery(ports.sql, named),
  resolve: async (named, reason) => {
    await settleDeadLetter(ports.sql, named, reason);
    return null;
  },
  acknowledge: async (owner, id) => {
    await acknowledgeEvent(ports.sql, owner, id);
    return null;
  },
  acknowledgeMany: (owner, ids) => acknowledgeEvents(ports.sql, owner, ids),
  acknowledgeAll: (partner, ids) => acknowledgeEventsOfAll(ports.sql, partner, ids),
});
