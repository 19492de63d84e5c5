/**
 * The debugger: deliveries of the Connector's webhook, what was sent, what came back and what to do about it.
 * @source spec/rulings.md, section 11, Webhook; spec/shapes.md, section 7
 */
import { isoInstant, isoOrNull } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import { cutPage, placeIn } from "../../base/cursors.js";
import type { Cursors } from "../../base/cursors.js";
import type { IntegratorId } from "../../base/ids.js";
import type { ConnectorEventType } from "../../lifecycle/connector.js";
import { WEBHOOK_ATTEMPT_OUTCOMES } from "../../storage/events/attempts.js";
import {
  findConnectorDelivery,
  listAttempts,
  listConnectorDeliveries,
} from "../../storage/events/connector-deliveries.js";
import type {
  AttemptRow,
  ConnectorDeliveryDetail,
  ConnectorDeliveryRow,
} from "../../storage/events/connector-deliveries.js";
import type { DeliveryStatus } from "../../storage/events/deliveries.js";
import { sha256Hex } from "../../storage/evidence/record.js";
import { orNotFound, orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { diagnosisOf, findingOf } from "./diagnosis.js";
import { pushedEvent } from "./event.js";
import { mannerOf } from "./scenarios.js";

export { WEBHOOK_ATTEMPT_OUTCOMES };

interface ReadPorts {
  readonly sql: Sql;
  readonly cursors: Cursors;
}

/** What is asked of the list; what is undefined does not matter. */
export interface ConnectorDeliveriesAsked {
  readonly cursor: string | undefined;
  readonly limit: number;
  readonly status: DeliveryStatus | undefined;
  readonly customerRef: string | undefined;
  readonly type: ConnectorEventType | undefined;
  readonly test: boolean | undefined;
  readonly from: Instant | undefined;
  /** Excluded. */
  readonly to: Instant | undefined;
}

const viewOf = (row: ConnectorDeliveryRow) => ({
  id: row.id,
  eventId: row.eventId,
  type: row.event,
  customerRef: row.customerRef,
  documentId: row.documentId,
  status: row.status,
  test: row.isTest,
  scenario: row.scenario,
  testSuiteId: row.testRunId,
  replayedFrom: row.replayOf,
  attempts: row.attempts,
  maxAttempts: mannerOf(row.scenario).attempts_max,
  nextAttemptAt: isoOrNull(row.nextAttemptAt),
  lastAttemptAt: isoOrNull(row.attemptedAt),
  completedAt: isoOrNull(row.settledAt),
  responseStatus: row.responseStatus,
  diagnosisCode: diagnosisOf(row),
  createdAt: isoInstant(row.createdAt),
});

/** One page of deliveries, newest first. @throws Refusal REQUEST_INVALID for a cursor of another list; TEMPORARY */
export async function readConnectorDeliveries(
  { sql, cursors }: ReadPorts,
  integratorId: IntegratorId,
  asked: ConnectorDeliveriesAsked,
) {
  const { cursor, limit, test, ...filter } = asked;
  const list = `connector deliveries/${integratorId}`;
  const before = placeIn(cursors, list, cursor, String);
  const query = { ...filter, isTest: test, before, limit: limit + 1 };
  const read = await orTemporary(listConnectorDeliveries(sql, integratorId, query));
  const { rows, ...next } = cutPage(cursors, list, read, { limit, placeOf: ({ position }) => position });
  return { deliveries: rows.map(viewOf), ...next };
}

const numberOrNull = (text: string | null): number | null => (text === null ? null : Number(text));

const attemptOf = (row: AttemptRow) => {
  const finding = findingOf(row.cause);
  return {
    id: row.id,
    number: row.number,
    outcome: row.outcome,
    startedAt: isoInstant(row.startedAt),
    completedAt: isoOrNull(row.completedAt),
    durationMs: row.completedAt === null ? null : Math.max(0, row.completedAt.getTime() - row.startedAt.getTime()),
    endpoint: row.endpoint,
    requestTimestamp: numberOrNull(row.requestTimestamp),
    requestBodySha256: row.requestBodySha256,
    responseStatus: row.responseStatus,
    responseContentType: row.responseContentType,
    responseBody: row.responseBody,
    responseBodySha256: row.responseBodySha256,
    responseBodyTruncated: row.responseBodyTruncated ?? false,
    retryable: row.retryable ?? false,
    retryAfterMs: numberOrNull(row.retryAfterMs),
    nextRetryAt: isoOrNull(row.nextRetryAt),
    diagnosisCode: finding?.code ?? null,
    errorMessage: finding?.message ?? null,
  };
};

/** The body as it was sent. What the firm's consent no longer covers is not shown. */
function bodyOf(row: ConnectorDeliveryDetail) {
  if (!row.allowed) return { payload: null, rawBody: null };
  const payload = pushedEvent(row);
  return { payload, rawBody: JSON.stringify(payload) };
}

/** One delivery with all its attempts. @throws Refusal NOT_FOUND, also for one of another account; TEMPORARY */
export async function readConnectorDelivery(sql: Sql, integratorId: IntegratorId, id: string) {
  const row = await orNotFound(findConnectorDelivery(sql, integratorId, id));
  const attempts = await orTemporary(listAttempts(sql, [id]));
  const { payload, rawBody } = bodyOf(row);
  const last = attempts.at(-1);
  return {
    delivery: viewOf(row),
    payload,
    rawBody,
    rawBodySha256: rawBody === null ? (last?.requestBodySha256 ?? null) : sha256Hex(rawBody),
    attemptHistoryComplete: attempts.filter(({ outcome }) => outcome !== "STARTED").length === row.attempts,
    endpoint: row.url,
    signature: {
      algorithm: "HMAC-SHA256" as const,
      signedValue: rawBody === null || last?.requestTimestamp == null ? null : `${last.requestTimestamp}.${rawBody}`,
      signaturePersisted: false as const,
    },
    attempts: attempts.map(attemptOf),
  };
}
