/**
 * The actor of one owner of subscriptions, a firm, an integrator about one firm, or an integrator's account with the
 * Connector's webhook: its commands take turns. Its turns
 * touch Postgres, the name service where a URL is new, and a receiver where its owner tests it; between nodes the
 * statements decide.
 */
import type { ConnectorWebhookOperations } from "../engine/events/connector/operations.js";
import type { WebhookOperations } from "../engine/events/webhooks/operations.js";
import type { SubscriptionOwner } from "../engine/events/webhooks/subscriptions.js";
import type { ActorKind, ActorSystem } from "./system.js";

/** Every command on subscriptions, of both interfaces. */
interface SubscriberOperations extends WebhookOperations, ConnectorWebhookOperations {}

type SubscriberProtocol = {
  readonly [C in keyof SubscriberOperations]: {
    readonly ask: Parameters<SubscriberOperations[C]>;
    readonly reply: Awaited<ReturnType<SubscriberOperations[C]>>;
  };
};

type SubscriberKind = ActorKind<SubscriberProtocol, null>;

/** Makes the kind of actor through which subscriptions change. */
export const subscriberKind = (webhooks: SubscriberOperations): SubscriberKind => ({
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
    putAccountWebhook: async (_, asked) => ({ reply: await webhooks.putAccountWebhook(...asked) }),
    removeAccountWebhook: async (_, asked) => ({ reply: await webhooks.removeAccountWebhook(...asked) }),
    rotateAccountSecret: async (_, asked) => ({ reply: await webhooks.rotateAccountSecret(...asked) }),
    testAccountWebhook: async (_, asked) => ({ reply: await webhooks.testAccountWebhook(...asked) }),
    testSuite: async (_, asked) => ({ reply: await webhooks.testSuite(...asked) }),
    replayAccountDelivery: async (_, asked) => ({ reply: await webhooks.replayAccountDelivery(...asked) }),
  },
});

const keyOf = ({ firmId, integratorId }: SubscriptionOwner): string => `${integratorId ?? "own"}/${firmId}`;
/** A test waits for a receiver: it has turns of its own, so that nothing else of its owner waits with it. */
const testKeyOf = (id: string): string => `test/${id}`;

/** The turns of an account's webhook are its integrator's. */
const accountOf = (integratorId: string): string => `${integratorId}/connector`;

/** The commands through their actors. */
export const webhooksThroughActors = (actors: ActorSystem, kind: SubscriberKind): SubscriberOperations => ({
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
  putAccountWebhook: (...asked) => actors.ask(kind, accountOf(asked[0]), "putAccountWebhook", asked),
  removeAccountWebhook: (...asked) => actors.ask(kind, accountOf(asked[0]), "removeAccountWebhook", asked),
  rotateAccountSecret: (...asked) => actors.ask(kind, accountOf(asked[0]), "rotateAccountSecret", asked),
  testAccountWebhook: (...asked) => actors.ask(kind, accountOf(asked[0]), "testAccountWebhook", asked),
  testSuite: (...asked) => actors.ask(kind, accountOf(asked[0]), "testSuite", asked),
  replayAccountDelivery: (...asked) => actors.ask(kind, accountOf(asked[0]), "replayAccountDelivery", asked),
});
