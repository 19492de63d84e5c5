/** Statements of subscriptions to the feed. A secret is here only sealed. */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { FirmId, IntegratorId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { FeedKind } from "../../lifecycle/feed.js";
import { stampParameter } from "../identity/audit.js";
import type { AuditStamp } from "../identity/audit.js";
import type { Sql } from "../sql.js";

/** Whose subscriptions: a firm's own, or an integrator's about one firm. Neither sees the other's. */
export interface SubscriptionOwner {
  readonly firmId: FirmId;
  readonly integratorId: IntegratorId | undefined;
}

/** A secret as it is stored. */
export interface SealedSecret {
  readonly keyId: string;
  readonly sealed: Buffer;
}

interface NewSubscription {
  readonly id: string;
  readonly owner: SubscriptionOwner;
  /** Null when its events are pulled. */
  readonly url: string | null;
  /** Of the url. */
  readonly origin: string | null;
  readonly events: readonly FeedKind[];
  readonly isActive: boolean;
  readonly secret: SealedSecret;
  readonly createdAt: Instant;
}

/** @returns false when the owner has as many as may be */
export async function insertSubscription(sql: Sql, wanted: NewSubscription, audit: AuditStamp): Promise<boolean> {
  const { id, owner, url, origin, events, isActive, secret, createdAt } = wanted;
  const rows = await sql<{ readonly created: boolean }[]>`
    select create_webhook(
      ${id}, ${owner.firmId}, ${owner.integratorId ?? null}, ${url}, ${origin}, ${[...events]}::text[], ${isActive},
      ${secret.keyId}, ${secret.sealed}, ${isoInstant(createdAt)}, ${LIMITS.webhooks_per_firm_max},
      ${LIMITS.webhooks_per_integrator_max}, ${stampParameter(sql, audit)}
    ) as created`;
  return rows[0]?.created === true;
}

/** A subscription without its secret. */
export interface SubscriptionRow {
  readonly id: string;
  readonly url: string | null;
  readonly events: FeedKind[];
  readonly isActive: boolean;
  /** Attempts that have failed since the last that succeeded. */
  readonly failedAttempts: number;
  readonly createdAt: Date;
}

const ofOwner = (sql: Sql, { firmId, integratorId }: SubscriptionOwner) => sql`
  s.firm_id = ${firmId} and s.integrator_id is not distinct from ${integratorId ?? null}::uuid
  and s.deleted_at is null`;

const columnsOfSubscription = (sql: Sql) => sql`
  s.id, s.url, s.events, s.active as "isActive", s.failed_attempts as "failedAttempts", s.created_at as "createdAt"`;

/** The subscriptions of an owner, oldest first; at most LIMITS.webhooks_per_firm_max. */
export function listSubscriptions(sql: Sql, owner: SubscriptionOwner): PromiseLike<SubscriptionRow[]> {
  return sql<SubscriptionRow[]>`
    select ${columnsOfSubscription(sql)} from webhook_subscription as s
    where ${ofOwner(sql, owner)} order by s.created_at, s.id limit ${LIMITS.webhooks_per_firm_max}`;
}

/** One subscription of an owner. */
export async function findSubscription(
  sql: Sql,
  owner: SubscriptionOwner,
  id: string,
): Promise<SubscriptionRow | undefined> {
  const [row] = await sql<SubscriptionRow[]>`
    select ${columnsOfSubscription(sql)} from webhook_subscription as s where s.id = ${id} and ${ofOwner(sql, owner)}`;
  return row;
}

/** What changes; what is undefined stays. */
interface SubscriptionChange {
  /** Null makes it one whose events are pulled. */
  readonly url: string | null | undefined;
  readonly origin: string | null;
  readonly events: readonly FeedKind[] | undefined;
  readonly isActive: boolean | undefined;
}

/** @returns false when the owner has no such subscription */
export async function updateSubscription(
  sql: Sql,
  named: { readonly owner: SubscriptionOwner; readonly id: string },
  change: SubscriptionChange,
  audit: AuditStamp,
): Promise<boolean> {
  const { owner, id } = named;
  const { url, origin, events, isActive } = change;
  const rows = await sql<{ readonly changed: boolean }[]>`
    select change_webhook(
      ${id}, ${owner.firmId}, ${owner.integratorId ?? null}, ${url !== undefined}, ${url ?? null}, ${origin},
      ${events === undefined ? null : [...events]}::text[], ${isActive ?? null}, ${stampParameter(sql, audit)}
    ) as changed`;
  return rows[0]?.changed === true;
}

/** Nothing is sent or shown of it any more. @returns false when the owner has no such subscription */
export async function removeSubscription(
  sql: Sql,
  named: { readonly owner: SubscriptionOwner; readonly id: string },
  now: Instant,
  audit: AuditStamp,
): Promise<boolean> {
  const { owner, id } = named;
  const rows = await sql<{ readonly deleted: boolean }[]>`
    select delete_webhook(${id}, ${owner.firmId}, ${owner.integratorId ?? null}, ${isoInstant(now)},
      ${stampParameter(sql, audit)}) as deleted`;
  return rows[0]?.deleted === true;
}

/**
 * Switches a subscription off whose receiver is gone, or has failed for days without a break. Tests ask receivers to
 * refuse them, and are no failure.
 * @param of.url  where the attempt went that told so: a subscription that leads elsewhere by now stays on
 * @returns false when it was off already, or has moved
 */
export async function disableSubscription(
  sql: Sql,
  of: { readonly subscriptionId: string; readonly url: string },
  reason: "gone" | "failing",
  audit: AuditStamp,
): Promise<boolean> {
  const rows = await sql<{ readonly disabled: boolean }[]>`
    select disable_webhook(${of.subscriptionId}, ${reason}, ${of.url}, ${stampParameter(sql, audit)}) as disabled`;
  return rows[0]?.disabled === true;
}

/**
 * Puts a new secret beside the old one, which signs too until `oldUntil`. @returns false without such a subscription
 */
export async function replaceSubscriptionSecret(
  sql: Sql,
  named: { readonly owner: SubscriptionOwner; readonly id: string },
  change: { readonly secret: SealedSecret; readonly oldUntil: Instant },
  audit: AuditStamp,
): Promise<boolean> {
  const { owner, id } = named;
  const { secret, oldUntil } = change;
  const rows = await sql<{ readonly rotated: boolean }[]>`
    select rotate_webhook_secret(${id}, ${owner.firmId}, ${owner.integratorId ?? null}, ${secret.keyId},
      ${secret.sealed}, ${isoInstant(oldUntil)}, ${stampParameter(sql, audit)}) as rotated`;
  return rows[0]?.rotated === true;
}
