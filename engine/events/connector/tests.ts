/**
 * Tests of a receiver with events that never happened: one delivery, or a suite of scenarios with a verdict on each.
 * @source spec/rulings.md, section 11, Webhook; spec/shapes.md, section 7
 */
import { isoInstant } from "../../base/clock.js";
import type { Clock } from "../../base/clock.js";
import { keyReused, Refusal } from "../../base/errors.js";
import { newId } from "../../base/ids.js";
import type { FirmId, IntegratorId } from "../../base/ids.js";
import type { ConnectorEventType } from "../../lifecycle/connector.js";
import { listAttempts, listTestRun } from "../../storage/events/connector-deliveries.js";
import type { AttemptRow, ConnectorDeliveryRow } from "../../storage/events/connector-deliveries.js";
import { insertConnectorTests } from "../../storage/events/connector-tests.js";
import { TEST_SCENARIOS } from "../../storage/events/dispatch.js";
import type { TestScenario } from "../../storage/events/dispatch.js";
import { sha256Hex } from "../../storage/evidence/record.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { connectorTestData } from "./event.js";
import { isExpected, SCENARIOS } from "./scenarios.js";
import { readConnectorWebhook } from "./webhook.js";

export { TEST_SCENARIOS };

interface TestPorts {
  readonly sql: Sql;
  readonly clock: Clock;
}

/** Whose events are told, and which. */
export interface TestSubject {
  readonly firmId: FirmId;
  readonly customerRef: string;
  /** @default the first type of the webhook */
  readonly event: ConnectorEventType | undefined;
}

/** A test that will be sent. */
export interface QueuedTest {
  readonly deliveryId: string;
  readonly status: "queued";
  readonly event: ConnectorEventType;
}

/** The tests of a subject in some scenarios, ready to be made. */
async function made(
  { sql, clock }: TestPorts,
  integratorId: IntegratorId,
  { firmId, customerRef, event }: TestSubject,
  { scenarios, idempotencyKey }: { readonly scenarios: readonly TestScenario[]; readonly idempotencyKey?: string },
) {
  const webhook = await readConnectorWebhook(sql, integratorId);
  const told = event ?? webhook?.events[0];
  if (told === undefined) throw new Refusal("CONNECTOR_WEBHOOK_INACTIVE");
  const tests = scenarios.map((scenario) => ({
    id: newId(clock),
    eventId: newId(clock),
    documentId: newId(clock),
    scenario,
  }));
  const { outcome, made: runId } = await orTemporary(
    insertConnectorTests(sql, integratorId, {
      ...{ firmId, customerRef, event: told, data: { ...connectorTestData(told) }, tests, runId: newId(clock) },
      request:
        idempotencyKey === undefined
          ? undefined
          : {
              key: idempotencyKey,
              sha256: sha256Hex(JSON.stringify(["test-suite", customerRef, event ?? null, scenarios])),
            },
    }),
  );
  if (outcome === "inactive") throw new Refusal("CONNECTOR_WEBHOOK_INACTIVE");
  if (outcome === "conflict") throw keyReused();
  return { runId, tests, event: told, isNew: outcome === "new" };
}

/** Sends one test. @throws Refusal CONNECTOR_WEBHOOK_INACTIVE, TEMPORARY */
export async function testConnectorWebhook(
  ports: TestPorts,
  integratorId: IntegratorId,
  subject: TestSubject,
  scenario: TestScenario,
): Promise<QueuedTest> {
  const { tests, event } = await made(ports, integratorId, subject, { scenarios: [scenario] });
  return { deliveryId: tests[0]?.id ?? "", status: "queued", event };
}

/** How far a scenario or a suite is. */
export const TEST_VERDICTS = ["running", "passed", "failed"] as const;
type TestVerdict = (typeof TEST_VERDICTS)[number];

/** What an attempt came to: the status, or the short code of a fault; null while it is under way. */
const seenOf = ({ outcome, responseStatus, cause }: AttemptRow): number | string | null =>
  outcome === "STARTED" ? null : (responseStatus ?? cause);

function scenarioOf(delivery: ConnectorDeliveryRow, attempts: readonly AttemptRow[]) {
  const scenario = delivery.scenario ?? "success";
  const { expected, ask } = SCENARIOS[scenario];
  const seen = attempts.filter(({ deliveryId }) => deliveryId === delivery.id).map(seenOf);
  const isAsExpected = seen.length === expected.length && seen.every((each, at) => isExpected(expected[at], each));
  const isOver = delivery.status === "SUCCESS" || delivery.status === "FAILED";
  const status: TestVerdict = !isOver ? "running" : isAsExpected ? "passed" : "failed";
  return {
    scenario,
    deliveryId: delivery.id,
    status,
    expected: expected.map(String),
    observed: seen.filter((each) => each !== null).map(String),
    nextAction: status === "passed" ? null : ask,
  };
}

/** What became of a suite of tests so far. @throws Refusal NOT_FOUND, also for one of another account; TEMPORARY */
export async function readTestSuite(sql: Sql, integratorId: IntegratorId, id: string) {
  const deliveries = await orTemporary(listTestRun(sql, integratorId, id));
  const [first] = deliveries;
  if (first === undefined) throw new Refusal("NOT_FOUND");
  const attempts = await orTemporary(
    listAttempts(
      sql,
      deliveries.map((delivery) => delivery.id),
    ),
  );
  const scenarios = deliveries.map((delivery) => scenarioOf(delivery, attempts));
  const status: TestVerdict =
    (["running", "failed"] as const).find((each) => scenarios.some((scenario) => scenario.status === each)) ?? "passed";
  const ends = deliveries.map(({ settledAt }) => settledAt?.getTime() ?? 0);
  return {
    id,
    customerRef: first.customerRef,
    event: first.event,
    status,
    scenarios,
    createdAt: isoInstant(first.createdAt),
    completedAt: status === "running" ? null : isoInstant(Math.max(...ends)),
  };
}

/** A suite of tests and what became of it so far. */
export type TestSuite = Awaited<ReturnType<typeof readTestSuite>>;

/** Starts a suite; the same request under the same key answers the one that was started. */
export interface SuiteWish extends TestSubject {
  /** Each once, in this order. */
  readonly scenarios: readonly TestScenario[];
  readonly idempotencyKey: string;
}

/** @throws Refusal CONNECTOR_WEBHOOK_INACTIVE, IDEMPOTENCY_REUSED, TEMPORARY */
export async function startTestSuite(
  ports: TestPorts,
  integratorId: IntegratorId,
  { scenarios, idempotencyKey, ...subject }: SuiteWish,
): Promise<{ readonly isNew: boolean; readonly suite: TestSuite }> {
  const asked = { scenarios: [...new Set(scenarios)], idempotencyKey };
  const { runId, isNew } = await made(ports, integratorId, subject, asked);
  return { isNew, suite: await readTestSuite(ports.sql, integratorId, runId) };
}
