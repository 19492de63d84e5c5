/** The record of what operators did at the console: entries of the audit that belong to no tenant. */
import { LIMITS } from "../../base/limits.js";
import { stampParameter } from "../identity/audit.js";
import type { AuditStamp } from "../identity/audit.js";
import type { Json, Sql } from "../sql.js";

/** What operators do at the console, and by commands for which they say why. */
const OPERATOR_EVENTS = [
  "operator.signed_in",
  "operator.unmasked",
  "operator.retried",
  "operator.released",
  "operator.reviewed",
  "operator.decided",
  "operator.replayed",
  "operator.switched_off",
  "operator.key_ended",
  "operator.consent_withdrawn",
  "operator.integrator_approved",
  "operator.integrator_withdrawn",
  "operator.customer_ended",
  "operator.signing_key_retired",
  "operator.failed",
] as const;
export type OperatorEvent = (typeof OPERATOR_EVENTS)[number];

/** One thing that an operator does, and why. */
export interface OperatorEntry {
  readonly event: OperatorEvent;
  readonly targetType: string;
  readonly targetId: string;
  readonly reason: string | null;
  /** Why nothing came of it; null where something did. */
  readonly refusal: string | null;
}

/** Writes an entry, which nobody changes any more. */
export async function insertOperatorEntry(sql: Sql, stamp: AuditStamp, entry: OperatorEntry): Promise<void> {
  const { event, targetType, targetId, ...metadata } = entry;
  await sql`
    select append_audit(${stampParameter(sql, stamp)}, ${event}, null, null, ${targetType}, ${targetId},
      ${sql.json({ ...metadata })})`;
}

/** An entry as it is read. */
export interface ListedOperatorEntry {
  readonly id: string;
  readonly at: Date;
  readonly session: string | null;
  readonly address: string | null;
  readonly event: string;
  readonly targetType: string;
  readonly targetId: string;
  readonly metadata: Json;
}

/** The last LIMITS.operator_page_max, newest first. */
export const listOperatorEntries = (sql: Sql): PromiseLike<ListedOperatorEntry[]> => sql<ListedOperatorEntry[]>`
  select id, occurred_at as at, actor_id as session, ip as address, event, target_type as "targetType",
    target_id as "targetId", metadata
  from audit_entry where firm_id is null and integrator_id is null and event = any (${[...OPERATOR_EVENTS]}::text[])
  order by position desc limit ${LIMITS.operator_page_max}`;
