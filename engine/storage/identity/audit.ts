/** Statements on the audit entries. They are written by the functions that make the changes; here they are read. */
import { isoInstant, isoOrNull } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { FirmId, IntegratorId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { Json, Sql } from "../sql.js";

/** Who can make a change: a key, a person who is signed in, an operator, the engine by itself. */
export const ACTOR_TYPES = ["api_key", "user", "operator", "system"] as const;
export type ActorType = (typeof ACTOR_TYPES)[number];

/** What an audit entry can be about. @source spec/shapes.md, section 4 */
export const AUDIT_EVENTS = [
  "jwt.issued",
  "jwt.renewed",
  "jwt.revoked",
  "refresh.revoked",
  "refresh.reused",
  "api_key.created",
  "api_key.rotated",
  "api_key.revoked",
  "api_key.allowlist_changed",
  "consent_offer.created",
  "consent.accepted",
  "consent.declined",
  "consent.granted",
  "consent.revoked",
  "firm.created",
  "firm.changed",
  "firm.assigned",
  "firm.identifier_added",
  "firm.erased",
  "integrator.created",
  "integrator.approved",
  "integrator.withdrawn",
  "box.scheduled",
  "box.sent_now",
  "box.retried",
  "box.cancelled",
  "connector.sent",
  "connector.cancelled",
  "webhook.created",
  "webhook.changed",
  "webhook.deleted",
  "webhook.secret_rotated",
  "webhook.disabled",
  "plan.changed",
  "white_label.requested",
  "white_label.vouched",
  "white_label.ended",
  "white_label.customer_ended",
] as const;
export type AuditEvent = (typeof AUDIT_EVENTS)[number];

/** What a changing function needs of the one who asks for the change; the members of its parameter p_audit. */
export interface AuditStamp {
  /** Of the entry. */
  readonly id: string;
  readonly at: string;
  readonly actorType: ActorType;
  readonly actorId: string | null;
  readonly ip: string | null;
  readonly userAgent: string | null;
}

/** The stamp as a parameter of type jsonb; null writes no entry. */
export const stampParameter = (sql: Sql, stamp: AuditStamp | undefined): ReturnType<Sql["json"]> | null =>
  stamp === undefined ? null : sql.json({ ...stamp });

export interface AuditRow {
  readonly id: string;
  /** Grows with the commits of a tenant. */
  readonly position: string;
  readonly occurredAt: Date;
  readonly actorType: ActorType;
  readonly actorId: string | null;
  readonly firmId: FirmId | null;
  readonly integratorId: IntegratorId | null;
  readonly event: AuditEvent;
  readonly targetType: string;
  readonly targetId: string;
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly metadata: Json;
}

/** Whose entries are read: a firm's, an integrator's, or an integrator's about one firm. */
export interface AuditScope {
  readonly firmId: FirmId | undefined;
  readonly integratorId: IntegratorId | undefined;
}

/** What is asked of the entries; `before` is the position after which a page begins, going back in time. */
interface AuditQuery {
  readonly event: string | undefined;
  readonly actorType: ActorType | undefined;
  readonly since: Instant | undefined;
  readonly until: Instant | undefined;
  readonly before: string | undefined;
  readonly limit: number;
}

/** Entries of one tenant, newest first. */
export async function listAudit(sql: Sql, scope: AuditScope, query: AuditQuery): Promise<AuditRow[]> {
  const { event = null, actorType = null, before = null } = query;
  const [since, until] = [isoOrNull(query.since), isoOrNull(query.until)];
  return sql<AuditRow[]>`
    select id, position::text as position, occurred_at as "occurredAt", actor_type as "actorType",
      actor_id as "actorId", firm_id as "firmId", integrator_id as "integratorId", event, target_type as "targetType",
      target_id as "targetId", ip, user_agent as "userAgent", metadata
    from audit_entry
    where ${
      scope.integratorId === undefined
        ? sql`firm_id = ${scope.firmId ?? null}`
        : scope.firmId === undefined
          ? sql`integrator_id = ${scope.integratorId}`
          : sql`integrator_id = ${scope.integratorId} and firm_id = ${scope.firmId}`
    }
      and (${before}::bigint is null or position < ${before}::bigint)
      and (${event}::text is null or event = ${event})
      and (${actorType}::text is null or actor_type = ${actorType})
      and (${since}::timestamptz is null or occurred_at >= ${since}::timestamptz)
      and (${until}::timestamptz is null or occurred_at < ${until}::timestamptz)
    order by audit_entry.position desc limit ${query.limit}`;
}

/** Deletes entries that are old enough to go. @returns rows deleted */
export async function pruneAudit(sql: Sql, now: Instant): Promise<number> {
  const result = await sql`
    delete from audit_entry where id in (
      select id from audit_entry where occurred_at < ${isoInstant(now - LIMITS.audit_kept_ms)}
      limit ${LIMITS.identity_prune_batch} for update skip locked)`;
  return result.count;
}
