/**
 * The webhook of an integrator's account, and tests of what is behind it. @source spec/enterprise.md, Connector;
 * spec/rulings.md, section 11, Webhook; spec/shapes.md, section 7
 */
import { z } from "zod";

import type { IntegratorId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import type { ConnectorWebhookOperations } from "../../../engine/events/connector/operations.js";
import { TEST_SCENARIOS, TEST_VERDICTS } from "../../../engine/events/connector/tests.js";
import type { TestSuite } from "../../../engine/events/connector/tests.js";
import type { ConnectorWebhook } from "../../../engine/events/connector/webhook.js";
import { actorOf } from "../../../engine/identity/audit.js";
import { integratorOf } from "../../../engine/identity/caller.js";
import { CONNECTOR_EVENT_TYPES } from "../../../engine/lifecycle/connector.js";
import { uuid } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

/** What the rows need of the engine. */
interface WebhookPorts extends Omit<ConnectorWebhookOperations, "replayAccountDelivery"> {
  webhook(integratorId: IntegratorId): Promise<ConnectorWebhook | null>;
  /** @throws Refusal NOT_FOUND for one that is missing or of another account */
  suite(integratorId: IntegratorId, id: string): Promise<TestSuite>;
}

/** A key for one firm neither reads nor changes what is told of all firms. */
const COMMON = {
  mounts: ["/api/v1"],
  family: "connector",
  credential: "partner_unrestricted",
  rate: "enterprise",
  tag: "Webhook",
} as const;
const READS = { ...COMMON, context: "forbidden", scopes: ["webhooks:read"] } as const;
const WRITES = { ...COMMON, context: "forbidden", scopes: ["webhooks:write"] } as const;
const TESTS = { ...COMMON, context: "customer_body", scopes: ["webhooks:write"] } as const;

const eventType = z.enum(CONNECTOR_EVENT_TYPES);
const webhook = z
  .object({
    id: z.uuid(),
    url: z.url(),
    events: z.array(eventType),
    active: z.boolean(),
    failedAttempts: z.int().describe("Attempts that have failed since the last that succeeded."),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: "ConnectorWebhook" });
const secret = z.string().describe("64 hex digits; their letters are the key of the signature. Shown this once.");
const shown = z.object({ webhook: webhook.nullable() });

const customerRef = z.string().min(1).describe("The firm of whose events the test tells.");
const event = eventType.optional().describe("Without it the first type of the webhook.");
const scenario = z.enum(TEST_SCENARIOS);
const suite = z
  .object({
    id: z.uuid(),
    customerRef: z.string(),
    event: eventType,
    status: z.enum(TEST_VERDICTS),
    scenarios: z.array(
      z.object({
        scenario,
        deliveryId: z.uuid(),
        status: z.enum(TEST_VERDICTS),
        expected: z.array(z.string()).describe("What each attempt must come to."),
        observed: z.array(z.string()).describe("What the attempts came to so far: the status, or a short code."),
        nextAction: z.string().nullable().describe("What the receiver is asked for; null when it has done so."),
      }),
    ),
    createdAt: z.iso.datetime(),
    completedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: "ConnectorTestSuite" });

const webhookRows = (ports: WebhookPorts): readonly Route[] => [
  route({
    ...READS,
    operation: "connectorGetWebhook",
    method: "GET",
    path: "/connector/webhook",
    summary: "Read the account's webhook",
    responses: { 200: { description: "Null where there is none.", schema: shown } },
    errors: ["TEMPORARY"],
    handler: async ({ caller }) => ({ status: 200, body: { webhook: await ports.webhook(integratorOf(caller)) } }),
  }),
  route({
    ...WRITES,
    operation: "connectorPutWebhook",
    method: "PUT",
    path: "/connector/webhook",
    summary: "Set the account's webhook",
    description:
      "One webhook for all firms of the account whose consent has webhooks:read. What is pushed is the event as GET /connector/events shows it, with X-Webhook-Timestamp, X-Webhook-Signature and X-Webhook-Event-Id. Answer 2xx when it is stored, 503 when it is to come again; 500 ends a delivery. What happened before is not told.",
    request: {
      body: z.object({
        url: z.url().max(LIMITS.outbound_url_chars_max).describe("HTTPS, at a public address."),
        events: z
          .array(eventType)
          .min(1)
          .max(CONNECTOR_EVENT_TYPES.length)
          .optional()
          .describe("Without it every type."),
        active: z.boolean().optional().describe("With false nothing is sent. Without it true."),
      }),
    },
    responses: {
      201: { description: "It was made.", schema: shown.extend({ secret }) },
      200: { description: "It was changed; its secret stays.", schema: shown },
    },
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    handler: async (request) => {
      const { url, events, active } = request.body;
      const put = await ports.putAccountWebhook(
        integratorOf(request.caller),
        { url, events, active },
        actorOf(request),
      );
      return put.secret === undefined
        ? { status: 200, body: { webhook: put.webhook } }
        : { status: 201, body: { webhook: put.webhook, secret: put.secret } };
    },
  }),
  route({
    ...WRITES,
    operation: "connectorDeleteWebhook",
    method: "DELETE",
    path: "/connector/webhook",
    summary: "End the account's webhook",
    description: "Nothing more is sent, and its deliveries are shown no more. Safe to repeat.",
    responses: { 200: { description: "There is none.", schema: z.object({ webhook: z.null() }) } },
    errors: ["TEMPORARY"],
    handler: async (request) => {
      await ports.removeAccountWebhook(integratorOf(request.caller), actorOf(request));
      return { status: 200, body: { webhook: null } };
    },
  }),
  route({
    ...WRITES,
    operation: "connectorRotateWebhookSecret",
    method: "POST",
    path: "/connector/webhook/rotate-secret",
    summary: "Replace the webhook's secret",
    description: "For 24 hours deliveries carry the signature of the old secret too, in X-Webhook-Signature-Previous.",
    responses: { 200: { description: "The new secret.", schema: shown.extend({ secret }) } },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async (request) => {
      const { webhook: kept, secret: fresh = "" } = await ports.rotateAccountSecret(
        integratorOf(request.caller),
        actorOf(request),
      );
      return { status: 200, body: { webhook: kept, secret: fresh } };
    },
  }),
];

const testRows = (ports: WebhookPorts): readonly Route[] => [
  route({
    ...TESTS,
    operation: "connectorTestWebhook",
    method: "POST",
    path: "/connector/webhook/test",
    summary: "Send a test delivery",
    description:
      "The event never happened: its body has `test` true, and its document does not exist. X-Webhook-Test-Scenario names the scenario, X-Webhook-Attempt the attempt, so that a receiver can answer as the scenario asks. It is tried three times at most.",
    request: { body: z.object({ customerRef, event, scenario: scenario.optional().describe("Without it success.") }) },
    responses: {
      202: {
        description: "It is sent in a moment; read the delivery.",
        schema: z.object({ deliveryId: z.uuid(), status: z.literal("queued"), event: eventType }),
      },
    },
    errors: ["CONNECTOR_WEBHOOK_INACTIVE", "REQUEST_INVALID", "TEMPORARY"],
    handler: async ({ body, caller, firm }) => {
      const subject = { firmId: firm.firmId, customerRef: firm.customerRef, event: body.event };
      const queued = await ports.testAccountWebhook(integratorOf(caller), subject, body.scenario ?? "success");
      return { status: 202, body: queued };
    },
  }),
  route({
    ...TESTS,
    operation: "connectorStartTestSuite",
    idempotency: "text",
    method: "POST",
    path: "/connector/webhook/test-suite",
    summary: "Test the receiver in several scenarios",
    description:
      "Each scenario is a test delivery of its own; the suite says of each whether the receiver did what the scenario asks. The same request under the same Idempotency-Key answers the suite that was started.",
    request: {
      body: z.object({
        customerRef,
        event,
        scenarios: z.array(scenario).min(1).max(TEST_SCENARIOS.length).describe("Each counts once."),
      }),
    },
    responses: {
      202: { description: "It is under way; read it again in a moment.", schema: suite },
      200: { description: "It was started before; as it is now.", schema: suite },
    },
    errors: ["CONNECTOR_WEBHOOK_INACTIVE", "IDEMPOTENCY_REUSED", "REQUEST_INVALID", "TEMPORARY"],
    handler: async ({ body, caller, firm, idempotencyKey }) => {
      const { isNew, suite: started } = await ports.testSuite(integratorOf(caller), {
        firmId: firm.firmId,
        customerRef: firm.customerRef,
        event: body.event,
        scenarios: body.scenarios,
        idempotencyKey,
      });
      return { status: isNew ? 202 : 200, body: started };
    },
  }),
  route({
    ...READS,
    operation: "connectorGetTestSuite",
    method: "GET",
    path: "/connector/webhook/test-suite/{suiteId}",
    summary: "Read what became of a test suite",
    request: { params: z.object({ suiteId: uuid }) },
    responses: { 200: { description: "As it is now.", schema: suite } },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ params, caller }) => ({
      status: 200,
      body: await ports.suite(integratorOf(caller), params.suiteId),
    }),
  }),
];

/** The webhook and its tests. */
export const connectorWebhookRoutes = (ports: WebhookPorts): readonly Route[] => [
  ...webhookRows(ports),
  ...testRows(ports),
];
