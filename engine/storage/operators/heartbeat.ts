/** What operators see of the whole engine at a glance. Nothing here reads more rows than LIMITS say. */
import { LIMITS } from "../../base/limits.js";
import type { Sql } from "../sql.js";

/** A receiver for whom documents wait. */
interface WaitingReceiver {
  readonly receiver: string;
  readonly waiting: number;
  /** Most attempts that one of them has behind it. */
  readonly attempts: number;
  /** Acceptance of the oldest of them. */
  readonly oldestAt: Date;
}

/** Those whose documents have waited longest, of the LIMITS.heartbeat_open_max that are due first. */
export const listWaitingReceivers = (sql: Sql): PromiseLike<WaitingReceiver[]> => sql<WaitingReceiver[]>`
  select w.receiver_key as receiver, count(*)::integer as waiting, max(w.attempts) as attempts,
    min(w.created_at) as "oldestAt"
  from (
    select receiver_key, attempts, created_at from document
    where next_attempt_at is not null and attempts > 0
    order by next_attempt_at limit ${LIMITS.heartbeat_open_max}
  ) as w
  group by w.receiver_key order by min(w.created_at), w.receiver_key limit ${LIMITS.heartbeat_rows_max}`;

/** A receiver of events whose last attempts have failed. */
interface FailingEndpoint {
  readonly origin: string;
  readonly failures: number;
  /** Until when nothing is sent to it; null while it is tried. */
  readonly restUntil: Date | null;
}

/** Most failures in a row first. */
export const listFailingEndpoints = (sql: Sql): PromiseLike<FailingEndpoint[]> => sql<FailingEndpoint[]>`
  select origin, failures, case when rest_until > now() then rest_until end as "restUntil"
  from webhook_endpoint where failures > 0 order by failures desc limit ${LIMITS.heartbeat_rows_max}`;

/** The end of the chain of evidence. */
interface EvidenceEnd {
  readonly index: number;
  readonly hash: string;
  /** Of the last record; null while there is none. */
  readonly storedAt: Date | null;
}

/** @throws Error where the schema has no chain */
export async function findEvidenceEnd(sql: Sql): Promise<EvidenceEnd> {
  const [end] = await sql<EvidenceEnd[]>`
    select h.index::float8 as index, encode(h.hash, 'hex') as hash, e.stored_at as "storedAt"
    from evidence_head as h left join evidence as e on e.index = h.index`;
  if (end === undefined) throw new Error("the chain of evidence has no end");
  return end;
}

/** What waits for a person, each counted up to LIMITS.operator_page_max. */
interface Reviews {
  readonly registrations: number;
  readonly whiteLabel: number;
  readonly onboarding: number;
  readonly held: number;
}

/** @param heldSince  received documents without a verdict since then wait for a person */
export async function countReviews(sql: Sql, heldSince: Date): Promise<Reviews> {
  const max = LIMITS.operator_page_max;
  const [row] = await sql<Reviews[]>`
    select
      (select count(*) from (
        select 1 from registration where state = 'manual_review' limit ${max}) as r)::integer as registrations,
      (select count(*) from (
        select 1 from white_label_operation where status = 'manual_review' limit ${max}) as w)::integer as "whiteLabel",
      (select count(*) from (
        select 1 from onboarding_request where status in ('awaiting_pfs', 'action_required') limit ${max}
      ) as o)::integer as onboarding,
      (select count(*) from (
        select 1 from received_document where status = 'HELD' and received_at <= ${heldSince} limit ${max}
      ) as h)::integer as held`;
  return row ?? { registrations: 0, whiteLabel: 0, onboarding: 0, held: 0 };
}
