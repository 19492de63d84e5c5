/** Statements on single attempts at deliveries of the Connector: what left, what came back, and when. */
import { LIMITS } from "../../base/limits.js";
import { batched, inOrder } from "../batched.js";
import type { Sql } from "../sql.js";

/** What can become of an attempt. @source spec/rulings.md, section 11, Webhook */
export const WEBHOOK_ATTEMPT_OUTCOMES = [
  "STARTED",
  "SUCCESS",
  "RETRY_SCHEDULED",
  "TERMINAL_FAILURE",
  "AUTHORIZATION_CANCELLED",
] as const;
/** What became of an attempt. */
export type WebhookAttemptOutcome = (typeof WEBHOOK_ATTEMPT_OUTCOMES)[number];

/** What came back of an attempt, as it is kept; null where there is nothing of the kind. */
export interface AttemptReport {
  readonly outcome: Exclude<WebhookAttemptOutcome, "STARTED">;
  readonly completed_at: string;
  readonly response_status: number | null;
  readonly response_content_type: string | null;
  /** Its beginning. */
  readonly response_body: string | null;
  /** Of the octets that were read. */
  readonly response_body_sha256: string | null;
  readonly response_body_truncated: boolean | null;
  readonly retryable: boolean;
  readonly retry_after_ms: number | null;
  readonly next_retry_at: string | null;
  readonly cause: string | null;
}

interface Reported {
  readonly id: string;
  readonly attempt: number;
  readonly report?: AttemptReport | undefined;
}

/** The part of a statement that completes attempts whose numbers, from 1, its part `settled` has as n. */
export const completeReports = (sql: Sql, ends: readonly Reported[]) => sql`
  completed as (
    update webhook_attempt as a
    set outcome = r.outcome, completed_at = r.completed_at, response_status = r.response_status,
      response_content_type = r.response_content_type, response_body = r.response_body,
      response_body_sha256 = r.response_body_sha256, response_body_truncated = r.response_body_truncated,
      retryable = r.retryable, retry_after_ms = r.retry_after_ms, next_retry_at = r.next_retry_at, cause = r.cause
    from settled
    join unnest(
      ${ends.map(({ id }) => id)}::uuid[], ${ends.map(({ attempt }) => attempt)}::integer[],
      ${ends.map(({ report }) => JSON.stringify(report ?? {}))}::text[]::jsonb[]
    ) with ordinality as g (id, attempt, report, n) on g.n = settled.n
    cross join lateral jsonb_to_record(g.report) as r (
      outcome text, completed_at timestamptz, response_status integer, response_content_type text, response_body text,
      response_body_sha256 text, response_body_truncated boolean, retryable boolean, retry_after_ms bigint,
      next_retry_at timestamptz, cause text
    )
    where a.delivery_id = g.id and a.number = g.attempt and r.outcome is not null
  )`;

/** An attempt that is about to leave. */
interface BeginningAttempt {
  readonly id: string;
  readonly deliveryId: string;
  readonly owner: string;
  readonly attempt: number;
  readonly startedAt: string;
  readonly endpoint: string;
  /** Null where nothing is sent. */
  readonly timestamp_s: number | null;
  readonly bodySha256: string | null;
}

/**
 * Writes that an attempt begins, over one of its number that was cut off. The call returns undefined when the lease was
 * lost: then nothing may be sent.
 */
export const beginAttempt = batched<BeginningAttempt, true | undefined>(
  async (sql, begun) => {
    const column = <K extends keyof BeginningAttempt>(name: K): BeginningAttempt[K][] => begun.map((one) => one[name]);
    const rows = await sql<{ readonly n: string }[]>`
      with held as (
        select g.* from unnest(
          ${column("id")}::uuid[], ${column("deliveryId")}::uuid[], ${column("owner")}::text[],
          ${column("attempt")}::integer[], ${column("startedAt")}::timestamptz[], ${column("endpoint")}::text[],
          ${column("timestamp_s")}::bigint[], ${column("bodySha256")}::text[]
        ) with ordinality as g (id, delivery_id, owner, attempt, started_at, endpoint, timestamp_s, body_sha256, n)
        join webhook_delivery as d on d.id = g.delivery_id and d.lease_owner = g.owner and d.attempts = g.attempt - 1
      ), written as (
        insert into webhook_attempt as a (
          id, delivery_id, number, outcome, started_at, endpoint, request_timestamp, request_body_sha256
        )
        select h.id, h.delivery_id, h.attempt, 'STARTED', h.started_at, h.endpoint, h.timestamp_s, h.body_sha256
        from held as h
        on conflict (delivery_id, number) do update set
          started_at = excluded.started_at, endpoint = excluded.endpoint,
          request_timestamp = excluded.request_timestamp, request_body_sha256 = excluded.request_body_sha256
      )
      select n from held`;
    return inOrder(begun, rows, () => true as const);
  },
  { max: LIMITS.webhook_settle_batch, key: ({ deliveryId }) => deliveryId },
);
