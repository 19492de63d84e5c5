/** What operators see of subscriptions and of one firm, whoever's they are; no secret is read. */
import { LIMITS } from "../../base/limits.js";
import type { Sql } from "../sql.js";

/** A subscription that fails, or was switched off. */
export interface TroubledWebhook {
  readonly id: string;
  readonly firmId: string | null;
  readonly integratorId: string | null;
  /** Without its path, which may hold a secret. */
  readonly origin: string | null;
  readonly active: boolean;
  readonly disabledReason: string | null;
  readonly failedAttempts: number;
  readonly failingSince: Date | null;
}

const webhookColumns = (sql: Sql) => sql`
  s.id, s.firm_id as "firmId", s.integrator_id as "integratorId", w.origin, s.active,
  s.disabled_reason as "disabledReason", s.failed_attempts as "failedAttempts", s.failing_since as "failingSince"`;

/** Those that have failed longest first. */
export const listTroubledWebhooks = (sql: Sql): PromiseLike<TroubledWebhook[]> => sql<TroubledWebhook[]>`
  select ${webhookColumns(sql)}
  from webhook_subscription as s left join webhook_endpoint as w on w.id = s.endpoint_id
  where s.failing_since is not null and s.deleted_at is null
  order by s.failing_since limit ${LIMITS.operator_page_max}`;

/** Undefined where there is none, or it was deleted. */
export async function findWebhook(sql: Sql, id: string): Promise<TroubledWebhook | undefined> {
  const [row] = await sql<TroubledWebhook[]>`
    select ${webhookColumns(sql)}
    from webhook_subscription as s left join webhook_endpoint as w on w.id = s.endpoint_id
    where s.id = ${id} and s.deleted_at is null`;
  return row;
}

/** A delivery that has failed for good. */
interface DeadDelivery {
  readonly id: string;
  readonly subscriptionId: string;
  readonly event: string;
  readonly documentId: string;
  readonly attempts: number;
  readonly responseStatus: number | null;
  readonly createdAt: Date;
}

/** Of one subscription, newest first, without tests, what somebody has settled or sent again, and what was taken. */
export const listDeadDeliveries = (sql: Sql, subscriptionId: string): PromiseLike<DeadDelivery[]> => sql<
  DeadDelivery[]
>`
  select d.id, d.subscription_id as "subscriptionId", d.event, d.document_id as "documentId", d.attempts,
    d.response_status as "responseStatus", d.created_at as "createdAt"
  from webhook_delivery as d
  where d.subscription_id = ${subscriptionId} and d.status = 'FAILED' and d.resolved_at is null and d.test_data is null
    and not exists (
      select 1 from webhook_delivery as other
      where other.subscription_id = d.subscription_id and other.event_id = d.event_id
        and (other.position > d.position or other.status = 'SUCCESS'))
  order by d.position desc limit ${LIMITS.operator_page_max}`;

/** The subscription of a delivery; undefined where there is no such delivery. */
export async function findSubscriptionOf(sql: Sql, deliveryId: string): Promise<string | undefined> {
  const [row] = await sql<{ readonly id: string }[]>`
    select subscription_id as id from webhook_delivery where id = ${deliveryId}`;
  return row?.id;
}

/** A firm as operators see it. */
interface FirmSheet {
  readonly id: string;
  readonly name: string;
  readonly participants: readonly string[];
  readonly createdAt: Date;
  readonly bindings: readonly {
    readonly integratorId: string;
    readonly integrator: string;
    readonly state: string;
    readonly customerRef: string | null;
  }[];
}

/** Undefined where there is none. */
export async function findFirmSheet(sql: Sql, id: string): Promise<FirmSheet | undefined> {
  const [row] = await sql<FirmSheet[]>`
    select f.id, f.name, f.created_at as "createdAt",
      coalesce((select jsonb_agg(p.id order by p.id) from participant as p where p.firm_id = f.id), '[]')
        as participants,
      coalesce((
        select jsonb_agg(jsonb_build_object('integratorId', b.integrator_id, 'integrator', i.name, 'state', b.state,
          'customerRef', b.customer_ref) order by i.name)
        from firm_binding as b join integrator as i on i.id = b.integrator_id where b.firm_id = f.id
      ), '[]') as bindings
    from firm as f where f.id = ${id}`;
  return row;
}

/** A firm that is bound to an integrator. */
interface BoundFirm {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly customerRef: string | null;
}

/** The first LIMITS.console_page_max firms of an integrator, those that came first first. */
export const listFirmsOf = (sql: Sql, integratorId: string): PromiseLike<BoundFirm[]> => sql<BoundFirm[]>`
  select f.id, f.name, b.state, b.customer_ref as "customerRef"
  from firm_binding as b join firm as f on f.id = b.firm_id
  where b.integrator_id = ${integratorId} order by b.firm_id limit ${LIMITS.console_page_max}`;
