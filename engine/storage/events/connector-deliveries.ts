/** Statements that read what became of deliveries of the Connector's webhook, attempt by attempt. */
import { isoOrNull } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { IntegratorId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { ConnectorEventType } from "../../lifecycle/connector.js";
import { numbered } from "../keyring/facts.js";
import type { WithFacts } from "../keyring/facts.js";
import type { Json, Sql } from "../sql.js";
import type { WebhookAttemptOutcome } from "./attempts.js";
import type { DeliveryStatus } from "./deliveries.js";
import { openedAnswer } from "./answers.js";
import type { StoodAnswer } from "./answers.js";
import { answerColumn, messageJoins } from "./dispatch.js";
import type { StoredAnswer } from "./dispatch.js";
import type { TestScenario } from "./dispatch.js";

/** One delivery. */
export interface ConnectorDeliveryRow {
  readonly id: string;
  /** Grows with time within a webhook. */
  readonly position: string;
  readonly eventId: string;
  readonly event: ConnectorEventType;
  readonly customerRef: string;
  readonly documentId: string;
  readonly status: DeliveryStatus;
  readonly attempts: number;
  readonly isTest: boolean;
  readonly scenario: TestScenario | null;
  readonly testRunId: string | null;
  /** The delivery that this one repeats. */
  readonly replayOf: string | null;
  readonly nextAttemptAt: Date | null;
  readonly attemptedAt: Date | null;
  readonly settledAt: Date | null;
  readonly responseStatus: number | null;
  /** Why the last attempt failed, a short code. */
  readonly cause: string | null;
  /** Whether the last attempt could have been made again, and there were enough of them. */
  readonly isExhausted: boolean;
  readonly createdAt: Date;
}

/** What is asked of deliveries; what is undefined does not matter. */
interface ConnectorDeliveryQuery {
  readonly status: DeliveryStatus | undefined;
  readonly customerRef: string | undefined;
  readonly type: ConnectorEventType | undefined;
  readonly isTest: boolean | undefined;
  readonly from: Instant | undefined;
  /** Excluded. */
  readonly to: Instant | undefined;
  /** Position before which the page begins, going back in time. */
  readonly before: string | undefined;
  readonly limit: number;
}

const deliveryColumns = (sql: Sql) => sql`
  d.id, d.position, d.event_id as "eventId", d.event, d.customer_ref as "customerRef", d.document_id as "documentId",
  d.status, d.attempts, d.test_data is not null as "isTest", d.scenario, d.test_run_id as "testRunId",
  d.replay_of as "replayOf",
  case when d.status in ('PENDING', 'RETRYING') and d.lease_owner is null and isfinite(d.due_at) then d.due_at end
    as "nextAttemptAt",
  d.attempted_at as "attemptedAt", d.settled_at as "settledAt", d.response_status as "responseStatus", d.cause,
  exists (
    select 1 from webhook_attempt as a
    where a.delivery_id = d.id and a.number = d.attempts and a.outcome = 'TERMINAL_FAILURE' and a.retryable
  ) as "isExhausted",
  d.created_at as "createdAt"`;

/** What makes a row named d one of an integrator's webhook. */
const ofWebhook = (sql: Sql, integratorId: IntegratorId) => sql`
  join webhook_subscription as s on s.id = d.subscription_id and s.integrator_id = ${integratorId} and s.firm_id is null
    and s.deleted_at is null`;

/** Deliveries of an integrator's webhook, newest first. */
export function listConnectorDeliveries(
  sql: Sql,
  integratorId: IntegratorId,
  query: ConnectorDeliveryQuery,
): PromiseLike<ConnectorDeliveryRow[]> {
  const { status = null, customerRef = null, type = null, isTest = null, before = null } = query;
  const [from, to] = [isoOrNull(query.from), isoOrNull(query.to)];
  return sql<ConnectorDeliveryRow[]>`
    select ${deliveryColumns(sql)}
    from webhook_delivery as d ${ofWebhook(sql, integratorId)}
    where (${status}::text is null or d.status = ${status})
      and (${customerRef}::text is null or d.customer_ref = ${customerRef})
      and (${type}::text is null or d.event = ${type})
      and (${isTest}::boolean is null or (d.test_data is not null) = ${isTest}::boolean)
      and (${from}::timestamptz is null or d.created_at >= ${from}::timestamptz)
      and (${to}::timestamptz is null or d.created_at < ${to}::timestamptz)
      and (${before}::bigint is null or d.position < ${before}::bigint)
    order by d.position desc limit ${query.limit}`;
}

/** One delivery with what its body is made of. */
export interface ConnectorDeliveryDetail extends ConnectorDeliveryRow {
  readonly occurredAt: Date;
  readonly testData: Json;
  readonly documentTypeId: string | null;
  readonly number: string | null;
  readonly answer: StoodAnswer | null;
  /** Of the webhook now. */
  readonly url: string;
  /** Whether the integrator may still be told of the firm. */
  readonly allowed: boolean;
}

/** One delivery of an integrator's webhook; undefined when it has none such. */
export async function findConnectorDelivery(
  sql: Sql,
  integratorId: IntegratorId,
  id: string,
): Promise<ConnectorDeliveryDetail | undefined> {
  const rows = await sql<(Omit<WithFacts<ConnectorDeliveryDetail, "number">, "answer"> & StoredAnswer)[]>`
    select ${deliveryColumns(sql)}, d.occurred_at as "occurredAt", d.test_data as "testData",
      coalesce(o.document_type_id, r.document_type_id) as "documentTypeId",
      coalesce(o.facts, r.facts) as facts, ${answerColumn(sql)}, s.url,
      connector_is_told(s.integrator_id, d.firm_id) as allowed
    from webhook_delivery as d ${ofWebhook(sql, integratorId)}
    ${messageJoins(sql)}
    where d.id = ${id}`;
  const opened = rows.map((row) => ({ ...row, answer: openedAnswer(sql, row.storedAnswer) }));
  return numbered(sql, opened, ({ documentId }) => documentId)[0];
}

/** One attempt as it was kept. */
export interface AttemptRow {
  readonly id: string;
  readonly deliveryId: string;
  readonly number: number;
  readonly outcome: WebhookAttemptOutcome;
  readonly startedAt: Date;
  readonly completedAt: Date | null;
  readonly endpoint: string;
  /** Unix seconds; null where nothing was sent. */
  readonly requestTimestamp: string | null;
  readonly requestBodySha256: string | null;
  readonly responseStatus: number | null;
  readonly responseContentType: string | null;
  readonly responseBody: string | null;
  readonly responseBodySha256: string | null;
  readonly responseBodyTruncated: boolean | null;
  readonly retryable: boolean | null;
  readonly retryAfterMs: string | null;
  readonly nextRetryAt: Date | null;
  readonly cause: string | null;
}

/** The attempts at some deliveries, by delivery in their order. */
export function listAttempts(sql: Sql, deliveryIds: readonly string[]): PromiseLike<AttemptRow[]> {
  return sql<AttemptRow[]>`
    select a.id, a.delivery_id as "deliveryId", a.number, a.outcome, a.started_at as "startedAt",
      a.completed_at as "completedAt", a.endpoint, a.request_timestamp as "requestTimestamp",
      a.request_body_sha256 as "requestBodySha256", a.response_status as "responseStatus",
      a.response_content_type as "responseContentType", a.response_body as "responseBody",
      a.response_body_sha256 as "responseBodySha256", a.response_body_truncated as "responseBodyTruncated", a.retryable,
      a.retry_after_ms as "retryAfterMs", a.next_retry_at as "nextRetryAt", a.cause
    from webhook_attempt as a where a.delivery_id = any (${[...deliveryIds]}::uuid[])
    order by a.delivery_id, a.number limit ${LIMITS.connector_attempts_shown_max}`;
}

/** The deliveries of one run of tests, in their order; none where the integrator has no such run. */
export function listTestRun(sql: Sql, integratorId: IntegratorId, runId: string): PromiseLike<ConnectorDeliveryRow[]> {
  return sql<ConnectorDeliveryRow[]>`
    select ${deliveryColumns(sql)}
    from webhook_delivery as d ${ofWebhook(sql, integratorId)}
    where d.test_run_id = ${runId} and d.scenario is not null
    order by d.position limit ${LIMITS.connector_attempts_shown_max}`;
}
