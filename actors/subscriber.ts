/**
 * The actor of one owner of subscriptions, a firm or an integrator about one firm: its commands take turns. Its turns
 * touch Postgres, the name service where a URL is new, and a receiver where its owner tests it; between nodes the
 * statements decide.
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
    test: async (_, asked) => ({ reply: await webhooks.test(...asked) }),
    replay: async (_, asked) => ({ reply: await webhooks.replay(...asked) }),
    resolve: async (_, asked) => ({ reply: await webhooks.resolve(...asked) }),
    acknowledge: async (_, asked) => ({ reply: await webhooks.acknowledge(...asked) }),
    acknowledgeMany: async (_, asked) => ({ reply: await webhooks.acknowledgeMany(...asked) }),
    acknowledgeAll: async (_, asked) => ({ reply: await webhooks.acknowledgeAll(...asked) }),
  },
});

const keyOf = ({ firmId, integratorId }: SubscriptionOwner): string => `${integratorId ?? "own"}/${firmId}`;
/** A test waits for a receiver: it has turns of its own, so that nothing else of its owner waits with it. */
const testKeyOf = (id: string): string => `test/${id}`;

/** The commands through their actors. */
export const webhooksThroughActors = (actors: ActorSystem, kind: SubscriberKind): WebhookOperations => ({
  create: (...asked) => actors.ask(kind, keyOf(asked[0]), "create", asked),
  change: (...asked) => actors.ask(kind, keyOf(asked[0].owner), "change", asked),
  remove: (...asked) => actors.ask(kind, keyOf(asked[0].owner), "remove", asked),
  rotateSecret: (...asked) => actors.ask(kind, keyOf(asked[0].owner), "rotateSecret", asked),
  test: (...asked) => actors.ask(kind, testKeyOf(asked[0].id), "test", asked),
  replay: (...asked) => actors.ask(kind, keyOf(asked[0].owner), "replay", asked),
  resolve: (...asked) => actors.ask(kind, keyOf(asked[0].owner), "resolve", asked),
  acknowledge: (...asked) => actors.ask(kind, keyOf(asked[0]), "acknowledge", asked),
  acknowledgeMany: (...asked) => actors.ask(kind, keyOf(asked[0]), "acknowledgeMany", asked),
  acknowledgeAll: (...asked) => actors.ask(kind, `${asked[0].integratorId}/all`, "acknowledgeAll", asked),
});
