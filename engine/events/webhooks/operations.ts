/** The commands on subscriptions. */
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
import type { Actor } from "../../identity/audit.js";

/** Commands of the owners of subscriptions; what each refuses stands at the function that does it. */
export interface WebhookOperations {
  create(owner: SubscriptionOwner, wish: SubscriptionWish, actor: Actor): Promise<MadeSubscription>;
  change(named: NamedSubscription, changes: SubscriptionChanges, actor: Actor): Promise<ListedSubscription>;
  remove(named: NamedSubscription, actor: Actor): Promise<null>;
  rotateSecret(named: NamedSubscription, actor: Actor): Promise<{ readonly id: string; readonly secret: string }>;
}

/** The commands of one node. */
export const webhookOperations = (ports: SubscriptionPorts): WebhookOperations => ({
  create: (owner, wish, actor) => createSubscription(ports, owner, wish, actor),
  change: (named, changes, actor) => changeSubscription(ports, named, changes, actor),
  remove: async (named, actor) => {
    await deleteSubscription(ports, named, actor);
    return null;
  },
  rotateSecret: (named, actor) => rotateSubscriptionSecret(ports, named, actor),
});
