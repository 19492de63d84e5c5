/**
 * The actor of one owner of subscriptions, a firm or an integrator about one firm: its commands take turns. Its turns
 * touch Postgres, and the name service where a URL is new; between nodes the statements decide.
 */
import type { WebhookOperations } from "../engine/events/webhooks/operations.js";
import type { SubscriptionOwner } from "../engine/events/webhooks/subscriptions.js";
import type { ActorKind, ActorSystem } from "./system.js";

type SubscriberProtocol = {
  readonly [C in keyof WebhookOperations]: {
    readonly ask: Parameters<WebhookOperations[C]>;
    readonly reply: Awaited<ReturnType<WebhookOperations[C]>>;
  };
};

type SubscriberKind = ActorKind<SubscriberProtocol, null>;

/** Makes the kind of actor through which subscriptions change. */
export const subscriberKind = (webhooks: WebhookOperations): SubscriberKind => ({
  name: "subscriber",
  idle_ms: 0,
  start: () => null,
  handlers: {
    create: async (_, asked) => ({ reply: await webhooks.create(...asked) }),
    change: async (_, asked) => ({ reply: await webhooks.change(...asked) }),
    remove: async (_, asked) => ({ reply: await webhooks.remove(...asked) }),
    rotateSecret: async (_, asked) => ({ reply: await webhooks.rotateSecret(...asked) }),
  },
});

const keyOf = ({ firmId, integratorId }: SubscriptionOwner): string => `${integratorId ?? "own"}/${firmId}`;

/** The commands through their actors. */
export const webhooksThroughActors = (actors: ActorSystem, kind: SubscriberKind): WebhookOperations => ({
  create: (...asked) => actors.ask(kind, keyOf(asked[0]), "create", asked),
  change: (...asked) => actors.ask(kind, keyOf(asked[0].owner), "change", asked),
  remove: (...asked) => actors.ask(kind, keyOf(asked[0].owner), "remove", asked),
  rotateSecret: (...asked) => actors.ask(kind, keyOf(asked[0].owner), "rotateSecret", asked),
});
