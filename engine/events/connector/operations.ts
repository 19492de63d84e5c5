/** The commands on the webhook of an integrator's account. */
import type { IntegratorId } from "../../base/ids.js";
import type { Actor } from "../../identity/audit.js";
import type { TestScenario } from "../../storage/events/dispatch.js";
import type { SubscriptionPorts } from "../webhooks/subscriptions.js";
import { replayConnector } from "./replay.js";
import type { QueuedReplay, ReplayWish } from "./replay.js";
import { startTestSuite, testConnectorWebhook } from "./tests.js";
import type { QueuedTest, SuiteWish, TestSubject, TestSuite } from "./tests.js";
import { deleteConnectorWebhook, putConnectorWebhook, rotateConnectorSecret } from "./webhook.js";
import type { ShownWebhook, WebhookWish } from "./webhook.js";

/** Commands of integrators; what each refuses stands at the function that does it. */
export interface ConnectorWebhookOperations {
  putAccountWebhook(integratorId: IntegratorId, wish: WebhookWish, actor: Actor): Promise<ShownWebhook>;
  removeAccountWebhook(integratorId: IntegratorId, actor: Actor): Promise<null>;
  rotateAccountSecret(integratorId: IntegratorId, actor: Actor): Promise<ShownWebhook>;
  testAccountWebhook(integratorId: IntegratorId, subject: TestSubject, scenario: TestScenario): Promise<QueuedTest>;
  testSuite(
    integratorId: IntegratorId,
    wish: SuiteWish,
  ): Promise<{ readonly isNew: boolean; readonly suite: TestSuite }>;
  replayAccountDelivery(integratorId: IntegratorId, wish: ReplayWish): Promise<QueuedReplay>;
}

/** The commands of one node. */
export const connectorWebhookOperations = (ports: SubscriptionPorts): ConnectorWebhookOperations => ({
  putAccountWebhook: (integratorId, wish, actor) => putConnectorWebhook(ports, integratorId, wish, actor),
  removeAccountWebhook: async (integratorId, actor) => {
    await deleteConnectorWebhook(ports, integratorId, actor);
    return null;
  },
  rotateAccountSecret: (integratorId, actor) => rotateConnectorSecret(ports, integratorId, actor),
  testAccountWebhook: (integratorId, subject, scenario) => testConnectorWebhook(ports, integratorId, subject, scenario),
  testSuite: (integratorId, wish) => startTestSuite(ports, integratorId, wish),
  replayAccountDelivery: (integratorId, wish) => replayConnector(ports, integratorId, wish),
});
