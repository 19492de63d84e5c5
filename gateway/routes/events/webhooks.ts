/**
 * Subscriptions to events of a firm's documents, and what became of their deliveries.
 * @source spec/enterprise.md, Webhooks, events and lifecycle;
 * spec/rulings.md, section 10; spec/shapes.md, section 5
 */
import { z } from "zod";

import { LIMITS } from "../../../engine/base/limits.js";
import { DELIVERY_STATUSES } from "../../../engine/events/webhooks/deliveries.js";
import type { DeliveriesAsked, DeliveryPage, DeliveryView } from "../../../engine/events/webhooks/deliveries.js";
import type { WebhookOperations } from "../../../engine/events/webhooks/operations.js";
import type {
  ListedSubscription,
  NamedSubscription,
  SubscriptionOwner,
} from "../../../engine/events/webhooks/subscriptions.js";
import { actorOf } from "../../../engine/identity/audit.js";
import type { Caller, FirmContext } from "../../../engine/identity/caller.js";
import { EVENT_KINDS } from "../../../engine/lifecycle/document.js";
import { FEED_KINDS } from "../../../engine/lifecycle/feed.js";
import { uuid, wholeNumber } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

/** What the rows need of the engine. */
interface WebhookRoutesPorts extends WebhookOperations {
  subscriptions(owner: SubscriptionOwner): Promise<ListedSubscription[]>;
  subscription(named: NamedSubscription): Promise<ListedSubscription & { readonly deliveries: DeliveryView[] }>;
  deliveries(named: NamedSubscription, asked: DeliveriesAsked): Promise<DeliveryPage>;
  deadLetters(owner: SubscriptionOwner, asked: DeliveriesAsked): Promise<DeliveryPage>;
}

const testRun = z.object({
  testRunId: z.uuid(),
  mode: z.enum(["direct", "queued"]),
  event: z.enum(FEED_KINDS),
  deliveries: z.array(
    z.object({
      deliveryId: z.uuid(),
      webhookEventId: z.uuid(),
      status: z.enum(DELIVERY_STATUSES),
      responseStatus: z.number().int().nullable(),
      error: z.string().nullable(),
    }),
  ),
});

const COMMON = {
  mounts: ["/api/v1"],
  family: "enterprise",
  credential: "bearer",
  context: "firm",
  rate: "enterprise",
  tag: "Webhooks",
} as const;
const READS = { ...COMMON, scopes: ["webhooks:read"] } as const;
const WRITES = { ...COMMON, scopes: ["webhooks:write"] } as const;

/** Whose subscriptions a caller has to do with: its firm's, or its integrator's about that firm. */
const ownerOf = ({ caller, firm }: { readonly caller: Caller; readonly firm: FirmContext }): SubscriptionOwner => ({
  firmId: firm.firmId,
  integratorId: caller.integratorId,
});

const named = z.object({ id: uuid });

const events = z.array(z.enum(FEED_KINDS)).min(1).max(FEED_KINDS.length);
const url = z
  .url()
  .max(LIMITS.outbound_url_chars_max)
  .nullable()
  .describe("HTTPS, at a public address; null to pull the events.");

const subscriptionBody = z.object({
  url,
  events: events
    .nullish()
    .describe(
      `${EVENT_KINDS.join(", ")} when absent; others, such as document.received, are told where they are named.`,
    ),
  isActive: z.boolean().nullish().describe("true when absent; false is told nothing until it is switched on."),
});

const subscription = z.object({
  id: z.uuid(),
  url: z.url().nullable(),
  events: z.array(z.enum(FEED_KINDS)),
  isActive: z.boolean(),
  createdAt: z.iso.datetime(),
});
const made = subscription.extend({ secret: z.string().describe("Signs what is delivered; it is shown this once.") });
const listed = subscription.extend({
  failedAttempts: z.number().int().describe("Attempts that have failed since the last that succeeded."),
});
const delivery = z.object({
  id: z.uuid(),
  webhookId: z.uuid(),
  webhookEventId: z.uuid().describe("The same for every attempt and replay of an event."),
  event: z.enum(FEED_KINDS),
  documentId: z.uuid(),
  status: z.enum(DELIVERY_STATUSES),
  attempts: z.number().int(),
  maxAttempts: z.number().int(),
  testRunId: z.uuid().nullable(),
  replayedFrom: z.uuid().nullable(),
  nextAttemptAt: z.iso.datetime().nullable(),
  lastAttemptAt: z.iso.datetime().nullable(),
  completedAt: z.iso.datetime().nullable(),
  responseStatus: z.number().int().nullable(),
  responseBody: z.string().nullable().optional(),
  error: z.string().nullable().describe("Why the last attempt failed."),
  createdAt: z.iso.datetime(),
});
const page = z.object({
  data: z.array(delivery),
  pagination: z.object({
    limit: z.number().int(),
    offset: z.number().int(),
    nextCursor: z.string().nullable(),
    hasMore: z.boolean(),
  }),
});

const pageMembers = {
  limit: wholeNumber({ min: 1, max: LIMITS.webhook_page_max, byDefault: LIMITS.webhook_page_default }),
  offset: wholeNumber({ min: 0, max: LIMITS.webhook_offset_max, byDefault: 0 }),
  cursor: z.string().optional(),
};
const flag = z
  .enum(["true", "false"])
  .transform((text) => text === "true")
  .meta({ openapi: { type: "boolean", default: false } })
  .optional();

type DeliveriesQuery = {
  readonly [Name in Exclude<keyof DeliveriesAsked, "withBody">]?: DeliveriesAsked[Name] | undefined;
} & { readonly includeResponseBody?: boolean | undefined };
const askedOf = ({ includeResponseBody = false, ...query }: DeliveriesQuery): DeliveriesAsked => ({
  ...query,
  limit: query.limit ?? LIMITS.webhook_page_default,
  offset: query.offset ?? 0,
  cursor: query.cursor,
  event: query.event,
  withBody: includeResponseBody,
});

const makingRows = (ports: WebhookRoutesPorts): readonly Route[] => [
  route({
    ...WRITES,
    operation: "createWebhook",
    method: "POST",
    path: "/webhooks",
    summary: "Subscribe to events",
    description:
      "What happened before is not told. A subscription belongs to its firm, or to the integrator that made it for the firm, and covers the firm's documents of every interface.",
    errors: ["WEBHOOK_LIMIT_REACHED", "REQUEST_INVALID", "TEMPORARY"],
    request: { body: subscriptionBody },
    responses: { 201: { description: "The subscription with its secret.", schema: made } },
    handler: async (request) => {
      const { url: wanted, events: kinds, isActive } = request.body;
      const wish = { url: wanted, events: kinds ?? undefined, isActive: isActive ?? undefined };
      return { status: 201, body: await ports.create(ownerOf(request), wish, actorOf(request)) };
    },
  }),
  route({
    ...READS,
    operation: "listWebhooks",
    method: "GET",
    path: "/webhooks",
    summary: "Subscriptions",
    errors: ["TEMPORARY"],
    responses: { 200: { description: "Oldest first, without secrets.", schema: z.object({ data: z.array(listed) }) } },
    handler: async (request) => ({ status: 200, body: { data: await ports.subscriptions(ownerOf(request)) } }),
  }),
];

const singleRows = (ports: WebhookRoutesPorts): readonly Route[] => [
  route({
    ...READS,
    operation: "getWebhook",
    method: "GET",
    path: "/webhooks/{id}",
    summary: "One subscription with its latest deliveries",
    errors: ["NOT_FOUND", "TEMPORARY"],
    request: { params: named },
    responses: {
      200: { description: "Without its secret.", schema: listed.extend({ deliveries: z.array(delivery) }) },
    },
    handler: async (request) => ({
      status: 200,
      body: await ports.subscription({ owner: ownerOf(request), id: request.params.id }),
    }),
  }),
  route({
    ...WRITES,
    operation: "changeWebhook",
    method: "PATCH",
    path: "/webhooks/{id}",
    summary: "Change a subscription",
    description:
      "Members that are left out stay. What is still to be delivered goes to the new url; with isActive false it ends, and can be replayed.",
    errors: ["NOT_FOUND", "REQUEST_INVALID", "TEMPORARY"],
    request: {
      params: named,
      body: z.object({ url: url.optional(), events: events.nullish(), isActive: z.boolean().nullish() }),
    },
    responses: { 200: { description: "The subscription as it is now.", schema: listed } },
    handler: async (request) => {
      const { url: wanted, events: kinds, isActive } = request.body;
      const changes = { url: wanted, events: kinds ?? undefined, isActive: isActive ?? undefined };
      const subject = { owner: ownerOf(request), id: request.params.id };
      return { status: 200, body: await ports.change(subject, changes, actorOf(request)) };
    },
  }),
  route({
    ...WRITES,
    operation: "deleteWebhook",
    method: "DELETE",
    path: "/webhooks/{id}",
    summary: "End a subscription",
    description: "Nothing more is delivered; what was not delivered is gone.",
    errors: ["NOT_FOUND", "TEMPORARY"],
    request: { params: named },
    responses: { 204: { description: "It has ended." } },
    handler: async (request) => {
      await ports.remove({ owner: ownerOf(request), id: request.params.id }, actorOf(request));
      return { status: 204 };
    },
  }),
];

const usingRows = (ports: WebhookRoutesPorts): readonly Route[] => [
  route({
    ...WRITES,
    operation: "rotateWebhookSecret",
    method: "POST",
    path: "/webhooks/{id}/rotate-secret",
    summary: "Replace the secret of a subscription",
    description: "For 24 hours deliveries carry the signature of the old secret too, in X-Webhook-Signature-Previous.",
    errors: ["NOT_FOUND", "TEMPORARY"],
    request: { params: named },
    responses: {
      200: {
        description: "The new secret; it is shown this once.",
        schema: z.object({ id: z.uuid(), secret: z.string(), message: z.string() }),
      },
    },
    handler: async (request) => {
      const rotated = await ports.rotateSecret({ owner: ownerOf(request), id: request.params.id }, actorOf(request));
      const message = "Store the new secret now; it is not shown again. The old one signs beside it for 24 hours.";
      return { status: 200, body: { ...rotated, message } };
    },
  }),
  route({
    ...WRITES,
    operation: "testWebhook",
    method: "POST",
    path: "/webhooks/{id}/test",
    summary: "Tell a subscription of events that never happened",
    description:
      "direct sends at once, one attempt each, and answers what came of it; queued goes the way of every delivery. data.test is true in a test and in nothing else.",
    errors: ["NOT_FOUND", "REQUEST_INVALID", "TEMPORARY"],
    request: {
      params: named,
      query: z.object({
        event: z.enum(FEED_KINDS).optional().describe("The first of the subscription when absent."),
        count: wholeNumber({ min: 1, max: LIMITS.webhook_test_count_max, byDefault: 1 }),
        mode: z.enum(["direct", "queued"]).default("direct"),
      }),
    },
    responses: { 200: { description: "The test and what became of it so far.", schema: testRun } },
    handler: async (request) => {
      const { event, count, mode } = request.query;
      const wish = { mode, event, count: count ?? 1 };
      return { status: 200, body: await ports.test({ owner: ownerOf(request), id: request.params.id }, wish) };
    },
  }),
  route({
    ...READS,
    operation: "listWebhookDeliveries",
    method: "GET",
    path: "/webhooks/{id}/deliveries",
    summary: "What became of the deliveries of a subscription",
    description: "Newest first. They are kept for 30 days.",
    errors: ["NOT_FOUND", "REQUEST_INVALID", "TEMPORARY"],
    request: {
      params: named,
      query: z.object({
        ...pageMembers,
        status: z.enum(DELIVERY_STATUSES).optional(),
        event: z.enum(FEED_KINDS).optional(),
        testRunId: uuid.optional(),
        includeResponseBody: flag,
      }),
    },
    responses: { 200: { description: "A page.", schema: page } },
    handler: async (request) => {
      const named = { owner: ownerOf(request), id: request.params.id };
      return { status: 200, body: await ports.deliveries(named, askedOf(request.query)) };
    },
  }),
];

const deadLetterRows = (ports: WebhookRoutesPorts): readonly Route[] => [
  route({
    ...READS,
    operation: "listWebhookDeadLetters",
    method: "GET",
    path: "/webhook-dead-letter",
    summary: "Deliveries that failed for good",
    description: "Those of all subscriptions that nobody has resolved, newest first. They are kept for 30 days.",
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    request: {
      query: z.object({
        ...pageMembers,
        event: z.enum(FEED_KINDS).optional(),
        subscriptionId: uuid.optional(),
        includeResponseBody: flag,
      }),
    },
    responses: { 200: { description: "A page.", schema: page } },
    handler: async (request) => ({
      status: 200,
      body: await ports.deadLetters(ownerOf(request), askedOf(request.query)),
    }),
  }),
  route({
    ...WRITES,
    operation: "replayWebhookDelivery",
    method: "POST",
    path: "/webhook-dead-letter/{deliveryId}/replay",
    summary: "Send an event again whose delivery failed",
    description: "With the same event id and ten new attempts. Repeated, it answers the same and sends nothing more.",
    errors: ["NOT_FOUND", "WEBHOOK_INACTIVE", "TEMPORARY"],
    request: { params: z.object({ deliveryId: uuid }) },
    responses: {
      200: {
        description: "The new delivery.",
        schema: z.object({
          replayedFrom: z.uuid(),
          deliveryId: z.uuid(),
          webhookId: z.uuid(),
          webhookEventId: z.uuid(),
        }),
      },
    },
    handler: async (request) => ({
      status: 200,
      body: await ports.replay({ owner: ownerOf(request), id: request.params.deliveryId }),
    }),
  }),
  route({
    ...WRITES,
    operation: "resolveWebhookDelivery",
    method: "POST",
    path: "/webhook-dead-letter/{deliveryId}/resolve",
    summary: "Take a delivery off the dead letters",
    description: "Nothing is sent. Safe to repeat.",
    errors: ["NOT_FOUND", "TEMPORARY"],
    request: {
      params: z.object({ deliveryId: uuid }),
      body: z.object({ reason: z.string().min(1).max(LIMITS.webhook_resolution_chars_max).nullish() }).optional(),
    },
    responses: { 200: { description: "It is resolved.", schema: z.object({ resolved: z.literal(true) }) } },
    handler: async (request) => {
      await ports.resolve(
        { owner: ownerOf(request), id: request.params.deliveryId },
        request.body?.reason ?? undefined,
      );
      return { status: 200, body: { resolved: true as const } };
    },
  }),
];

export const webhookRoutes = (ports: WebhookRoutesPorts): readonly Route[] => [
  ...makingRows(ports),
  ...singleRows(ports),
  ...usingRows(ports),
  ...deadLetterRows(ports),
];
