/**
 * What became of the deliveries of an account's webhook, attempt by attempt, and their replay. @source
 * spec/enterprise.md, Connector; spec/rulings.md, section 11, Webhook; spec/shapes.md, section 7
 */
import { z } from "zod";

import { connectorEventData } from "../../../engine/events/connector/event-shape.js";
import type { IntegratorId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { WEBHOOK_ATTEMPT_OUTCOMES } from "../../../engine/events/connector/deliveries.js";
import type {
  ConnectorDeliveriesAsked,
  readConnectorDeliveries,
  readConnectorDelivery,
} from "../../../engine/events/connector/deliveries.js";
import { DIAGNOSES } from "../../../engine/events/connector/diagnosis.js";
import type { ConnectorWebhookOperations } from "../../../engine/events/connector/operations.js";
import { TEST_SCENARIOS } from "../../../engine/events/connector/tests.js";
import { DELIVERY_STATUSES } from "../../../engine/events/webhooks/deliveries.js";
import { integratorOf } from "../../../engine/identity/caller.js";
import { CONNECTOR_EVENT_TYPES, CONNECTOR_STATES } from "../../../engine/lifecycle/connector.js";
import { instant, uuid, wholeNumber } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

/** What the rows need of the engine. */
interface DebuggerPorts extends Pick<ConnectorWebhookOperations, "replayAccountDelivery"> {
  connectorDeliveries(
    integratorId: IntegratorId,
    asked: ConnectorDeliveriesAsked,
  ): ReturnType<typeof readConnectorDeliveries>;
  /** @throws Refusal NOT_FOUND for one that is missing or of another account */
  connectorDelivery(integratorId: IntegratorId, id: string): ReturnType<typeof readConnectorDelivery>;
}

const COMMON = {
  mounts: ["/api/v1"],
  family: "connector",
  credential: "partner_unrestricted",
  context: "forbidden",
  rate: "enterprise",
  tag: "Webhook",
} as const;

const eventType = z.enum(CONNECTOR_EVENT_TYPES);
const diagnosisCode = z.enum(DIAGNOSES).nullable().describe("What is wrong; null while nothing is.");
const moment = z.iso.datetime();
const digest = z.string().describe("SHA-256 in hex.");

const delivery = z
  .object({
    id: z.uuid(),
    eventId: z.uuid().describe("X-Webhook-Event-Id: the same for every attempt and replay of an event."),
    type: eventType,
    customerRef: z.string(),
    documentId: z.uuid(),
    status: z.enum(DELIVERY_STATUSES),
    test: z.boolean(),
    scenario: z.enum(TEST_SCENARIOS).nullable(),
    testSuiteId: z.uuid().nullable(),
    replayedFrom: z.uuid().nullable().describe("The delivery that this one repeats."),
    attempts: z.int(),
    maxAttempts: z.int(),
    nextAttemptAt: moment.nullable(),
    lastAttemptAt: moment.nullable(),
    completedAt: moment.nullable(),
    responseStatus: z.int().nullable(),
    diagnosisCode,
    createdAt: moment,
  })
  .meta({ id: "ConnectorDelivery" });

const payload = z.object({
  id: z.uuid(),
  type: eventType,
  customerRef: z.string(),
  documentId: z.uuid(),
  state: z.enum(CONNECTOR_STATES),
  occurredAt: moment,
  data: connectorEventData,
  test: z.literal(true).optional(),
});

const attempt = z
  .object({
    id: z.uuid(),
    number: z.int(),
    outcome: z.enum(WEBHOOK_ATTEMPT_OUTCOMES),
    startedAt: moment,
    completedAt: moment.nullable(),
    durationMs: z.int().nullable(),
    endpoint: z.string(),
    requestTimestamp: z.int().nullable().describe("X-Webhook-Timestamp; null where nothing was sent."),
    requestBodySha256: digest.nullable(),
    responseStatus: z.int().nullable(),
    responseContentType: z.string().nullable(),
    responseBody: z.string().nullable().describe("The beginning of the answer."),
    responseBodySha256: digest.nullable().describe("Of as much of the answer as was read, 16 KB at most."),
    responseBodyTruncated: z.boolean(),
    retryable: z.boolean(),
    retryAfterMs: z.int().nullable().describe("What the receiver asked for."),
    nextRetryAt: moment.nullable(),
    diagnosisCode,
    errorMessage: z.string().nullable().describe("What happened and what to do."),
  })
  .meta({ id: "ConnectorDeliveryAttempt" });

const detail = z.object({
  delivery,
  payload: payload.nullable().describe("Null when the firm's consent no longer covers it."),
  rawBody: z.string().nullable().describe("The exact text that is sent, the same in every attempt."),
  rawBodySha256: digest.nullable(),
  attemptHistoryComplete: z.boolean().describe("Whether every attempt that was made is shown."),
  endpoint: z.string().describe("Where the next attempt goes."),
  signature: z.object({
    algorithm: z.literal("HMAC-SHA256"),
    signedValue: z.string().nullable().describe("What the last attempt's signature is of; null before the first."),
    signaturePersisted: z.literal(false),
  }),
  attempts: z.array(attempt),
});

const flag = z
  .enum(["true", "false"])
  .transform((text) => text === "true")
  .meta({ openapi: { type: "boolean" } })
  .optional();

/** Deliveries and their replay. */
export const webhookDebuggerRoutes = (ports: DebuggerPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "connectorListDeliveries",
    method: "GET",
    path: "/connector/webhook/deliveries",
    scopes: ["webhooks:read"],
    summary: "List deliveries of the account's webhook",
    description: "Newest first. Those that succeeded are kept for 7 days, others for 30.",
    request: {
      query: z.object({
        cursor: z.string().min(1).optional(),
        limit: wholeNumber({ min: 1, max: LIMITS.webhook_page_max, byDefault: LIMITS.webhook_page_default }),
        status: z.enum(DELIVERY_STATUSES).optional(),
        customerRef: z.string().trim().min(1).optional(),
        type: eventType.optional(),
        test: flag,
        from: instant.optional(),
        to: instant.optional(),
      }),
    },
    responses: {
      200: {
        description: "One page.",
        schema: z.object({ deliveries: z.array(delivery), nextCursor: z.string().nullable(), hasMore: z.boolean() }),
      },
    },
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    handler: async ({ query, caller }) => {
      const { cursor, limit = LIMITS.webhook_page_default, status, customerRef, type, test, from, to } = query;
      const asked = { cursor, limit, status, customerRef, type, test, from, to };
      return { status: 200, body: await ports.connectorDeliveries(integratorOf(caller), asked) };
    },
  }),
  route({
    ...COMMON,
    operation: "connectorGetDelivery",
    method: "GET",
    path: "/connector/webhook/deliveries/{deliveryId}",
    scopes: ["webhooks:read"],
    summary: "Read a delivery with every attempt",
    description: "What was sent, what came back, why it was not taken, and when it is tried again.",
    request: { params: z.object({ deliveryId: uuid }) },
    responses: { 200: { description: "As it is now.", schema: detail } },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ params, caller }) => ({
      status: 200,
      body: await ports.connectorDelivery(integratorOf(caller), params.deliveryId),
    }),
  }),
  route({
    ...COMMON,
    operation: "connectorReplayDelivery",
    idempotency: "text",
    method: "POST",
    path: "/connector/webhook/deliveries/{deliveryId}/replay",
    scopes: ["webhooks:write"],
    summary: "Send the event of a delivery again",
    description:
      "A new delivery with the same event id, once no other of the event is under way. An event that was taken is sent again only with confirmSuccessfulReplay. The same request under the same Idempotency-Key answers the delivery that was made.",
    request: {
      params: z.object({ deliveryId: uuid }),
      body: z
        .object({
          confirmSuccessfulReplay: z.boolean().optional().describe("Whether an event that was taken may come again."),
        })
        .optional(),
    },
    responses: {
      202: {
        description: "It is sent in a moment; read the new delivery.",
        schema: z.object({
          deliveryId: z.uuid(),
          replayedFrom: z.uuid(),
          eventId: z.uuid(),
          status: z.literal("queued"),
          idempotent: z.boolean().describe("Whether an earlier request has made it."),
        }),
      },
    },
    errors: [
      "NOT_FOUND",
      "CONNECTOR_WEBHOOK_INACTIVE",
      "CONNECTOR_DELIVERY_PENDING",
      "CONNECTOR_REPLAY_UNCONFIRMED",
      "IDEMPOTENCY_REUSED",
      "REQUEST_INVALID",
      "TEMPORARY",
    ],
    handler: async ({ params, body, caller, idempotencyKey }) => ({
      status: 202,
      body: await ports.replayAccountDelivery(integratorOf(caller), {
        deliveryId: params.deliveryId,
        confirmSuccessfulReplay: body?.confirmSuccessfulReplay ?? false,
        idempotencyKey,
      }),
    }),
  }),
];
