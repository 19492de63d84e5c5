/**
 * Events that are pulled. @source spec/enterprise.md, Events, Pull mode; spec/rulings.md, section 10;
 * spec/shapes.md, section 5
 */
import { z } from "zod";

import { LIMITS } from "../../../engine/base/limits.js";
import type { PulledEvents, PullPartner } from "../../../engine/events/webhooks/pulls.js";
import type { SubscriptionOwner } from "../../../engine/events/webhooks/subscriptions.js";
import type { Caller, FirmContext } from "../../../engine/identity/caller.js";
import { integratorOf } from "../../../engine/identity/caller.js";
import { FEED_KINDS } from "../../../engine/lifecycle/feed.js";
import type { FeedKind } from "../../../engine/lifecycle/feed.js";
import { instant, uuid, wholeNumber } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

/** What the rows need of the engine. */
interface PullRoutesPorts {
  pull(
    owner: SubscriptionOwner,
    asked: { readonly limit: number; readonly kind: FeedKind | undefined },
  ): Promise<PulledEvents>;
  pullAll(
    partner: PullPartner,
    asked: { readonly limit: number; readonly since: number | undefined },
  ): Promise<PulledEvents>;
  acknowledge(owner: SubscriptionOwner, id: string): Promise<null>;
  /** @returns how many of them are events of the owner */
  acknowledgeMany(owner: SubscriptionOwner, ids: readonly string[]): Promise<number>;
  acknowledgeAll(partner: PullPartner, ids: readonly string[]): Promise<number>;
}

const COMMON = {
  mounts: ["/api/v1"],
  family: "enterprise",
  rate: "enterprise",
  tag: "Webhooks",
} as const;
const OF_FIRM = { ...COMMON, credential: "bearer", context: "firm" } as const;
const OF_ALL = { ...COMMON, credential: "partner_unrestricted", context: "forbidden" } as const;

const ownerOf = ({ caller, firm }: { readonly caller: Caller; readonly firm: FirmContext }): SubscriptionOwner => ({
  firmId: firm.firmId,
  integratorId: caller.integratorId,
});
const partnerOf = (caller: Caller): PullPartner => ({
  integratorId: integratorOf(caller),
  bindingGeneration: caller.bindingGeneration,
});

const envelope = z.object({
  event: z.enum(FEED_KINDS),
  event_version: z.literal("1"),
  webhook_id: z.uuid(),
  webhook_event_id: z.uuid(),
  timestamp: z.iso.datetime(),
  data: z
    .record(z.string(), z.unknown())
    .describe("document_id, direction, doctype_key, status, previous_status, and the members of the kind."),
});
const pulled = z.object({
  events: z.array(
    z.object({
      event_id: z.uuid(),
      firm_id: z.uuid(),
      event: z.enum(FEED_KINDS),
      payload: envelope.describe("The same as a push carries."),
      created_at: z.iso.datetime(),
    }),
  ),
  has_more: z.boolean(),
});
const acknowledgedMany = z.object({ acknowledged: z.number().int() });
const ids = z.object({ event_ids: z.array(uuid).min(1).max(LIMITS.webhook_ack_batch_max) });

const firmRows = (ports: PullRoutesPorts): readonly Route[] => [
  route({
    ...OF_FIRM,
    operation: "pullEvents",
    method: "GET",
    path: "/events/pull",
    scopes: ["webhooks:read"],
    showsMany: true,
    summary: "Events that wait to be pulled",
    description:
      "Those of subscriptions without a url that are not acknowledged, oldest first. Store them, then acknowledge each; go on while has_more is true. What is not acknowledged within 30 days is gone.",
    errors: ["TEMPORARY"],
    request: {
      query: z.object({
        limit: wholeNumber({ min: 1, max: LIMITS.webhook_pull_max, byDefault: LIMITS.webhook_pull_max }),
        event_type: z.enum(FEED_KINDS).optional(),
      }),
    },
    responses: { 200: { description: "A page.", schema: pulled } },
    handler: async (request) => {
      const { limit, event_type: kind } = request.query;
      const asked = { limit: limit ?? LIMITS.webhook_pull_max, kind };
      return { status: 200, body: await ports.pull(ownerOf(request), asked) };
    },
  }),
  route({
    ...OF_FIRM,
    operation: "acknowledgeEvent",
    method: "POST",
    path: "/events/{eventId}/ack",
    scopes: ["webhooks:write"],
    summary: "Confirm one event",
    description: "It is not shown again. Safe to repeat.",
    errors: ["NOT_FOUND", "TEMPORARY"],
    request: { params: z.object({ eventId: uuid }) },
    responses: { 200: { description: "It is confirmed.", schema: z.object({ acknowledged: z.literal(true) }) } },
    handler: async (request) => {
      await ports.acknowledge(ownerOf(request), request.params.eventId);
      return { status: 200, body: { acknowledged: true as const } };
    },
  }),
  route({
    ...OF_FIRM,
    operation: "acknowledgeEvents",
    method: "POST",
    path: "/events/batch-ack",
    scopes: ["webhooks:write"],
    summary: "Confirm many events",
    description:
      "Answers how many of the ids are events of yours, confirmed now or before; the others are passed over.",
    errors: ["TEMPORARY"],
    request: { body: ids },
    responses: { 200: { description: "How many are confirmed.", schema: acknowledgedMany } },
    handler: async (request) => ({
      status: 200,
      body: { acknowledged: await ports.acknowledgeMany(ownerOf(request), request.body.event_ids) },
    }),
  }),
];

const partnerRows = (ports: PullRoutesPorts): readonly Route[] => [
  route({
    ...OF_ALL,
    operation: "pullEventsOfAllFirms",
    method: "GET",
    path: "/webhook-queue/all",
    scopes: ["webhooks:read"],
    showsMany: true,
    summary: "Events of all firms that wait to be pulled",
    description: "Of every firm whose consent to you is active, oldest first.",
    errors: ["TEMPORARY"],
    request: {
      query: z.object({
        limit: wholeNumber({ min: 1, max: LIMITS.webhook_pull_all_max, byDefault: LIMITS.webhook_pull_max }),
        since: instant.optional().describe("Only what happened since then."),
      }),
    },
    responses: { 200: { description: "A page.", schema: pulled } },
    handler: async ({ caller, query }) => {
      const asked = { limit: query.limit ?? LIMITS.webhook_pull_max, since: query.since };
      return { status: 200, body: await ports.pullAll(partnerOf(caller), asked) };
    },
  }),
  route({
    ...OF_ALL,
    operation: "acknowledgeEventsOfAllFirms",
    method: "POST",
    path: "/webhook-queue/all/batch-ack",
    scopes: ["webhooks:write"],
    summary: "Confirm events of any firm",
    description: "Answers how many of the ids are events of firms whose consent to you is active.",
    errors: ["TEMPORARY"],
    request: { body: ids },
    responses: { 200: { description: "How many are confirmed.", schema: acknowledgedMany } },
    handler: async ({ caller, body }) => ({
      status: 200,
      body: { acknowledged: await ports.acknowledgeAll(partnerOf(caller), body.event_ids) },
    }),
  }),
];

export const pullRoutes = (ports: PullRoutesPorts): readonly Route[] => [...firmRows(ports), ...partnerRows(ports)];
