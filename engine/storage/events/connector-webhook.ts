/** Statements of the Connector's webhook: an account's one subscription. A secret is here only sealed. */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { IntegratorId } from "../../base/ids.js";
import type { ConnectorEventType } from "../../lifecycle/connector.js";
import { stampParameter } from "../identity/audit.js";
import type { AuditStamp } from "../identity/audit.js";
import type { Sql } from "../sql.js";
import type { SealedSecret } from "./subscriptions.js";

/** A webhook without its secret. */
export interface ConnectorWebhookRow {
  readonly id: string;
  readonly url: string;
  readonly events: ConnectorEventType[];
  readonly active: boolean;
  /** Attempts that have failed since the last that succeeded. */
  readonly failedAttempts: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The webhook of an account; undefined where there is none. */
export async function findConnectorWebhook(
  sql: Sql,
  integratorId: IntegratorId,
): Promise<ConnectorWebhookRow | undefined> {
  const [row] = await sql<ConnectorWebhookRow[]>`
    select s.id, s.url, s.events, s.active, s.failed_attempts as "failedAttempts", s.created_at as "createdAt",
      s.updated_at as "updatedAt"
    from webhook_subscription as s
    where s.integrator_id = ${integratorId} and s.firm_id is null and s.deleted_at is null`;
  return row;
}

interface ConnectorWebhookWish {
  /** Of the webhook, if it is made. */
  readonly id: string;
  readonly url: string;
  /** Of the url. */
  readonly origin: string;
  readonly events: readonly ConnectorEventType[];
  readonly active: boolean;
  /** Of the webhook, if it is made. */
  readonly secret: SealedSecret;
  readonly now: Instant;
}

/** Makes the webhook, or puts other words in the place of the old ones. @returns whether it was made */
export async function putWebhook(
  sql: Sql,
  integratorId: IntegratorId,
  wish: ConnectorWebhookWish,
  audit: AuditStamp,
): Promise<boolean> {
  const { id, url, origin, events, active, secret, now } = wish;
  const rows = await sql<{ readonly created: boolean }[]>`
    select put_connector_webhook(
      ${id}, ${integratorId}, ${url}, ${origin}, ${[...events]}::text[], ${active}, ${secret.keyId}, ${secret.sealed},
      ${isoInstant(now)}, ${stampParameter(sql, audit)}
    ) as created`;
  return rows[0]?.created === true;
}

/** Ends the webhook, if there is one. */
export async function removeWebhook(
  sql: Sql,
  integratorId: IntegratorId,
  now: Instant,
  audit: AuditStamp,
): Promise<void> {
  await sql`select delete_connector_webhook(${integratorId}, ${isoInstant(now)}, ${stampParameter(sql, audit)})`;
}

/** Puts a new secret beside the old one, which signs too until `oldUntil`. @returns false without such a webhook */
export async function replaceWebhookSecret(
  sql: Sql,
  { id, integratorId }: { readonly id: string; readonly integratorId: IntegratorId },
  change: { readonly secret: SealedSecret; readonly oldUntil: Instant; readonly now: Instant },
  audit: AuditStamp,
): Promise<boolean> {
  const { secret, oldUntil, now } = change;
  const rows = await sql<{ readonly rotated: boolean }[]>`
    select rotate_connector_secret(${id}, ${integratorId}, ${secret.keyId}, ${secret.sealed}, ${isoInstant(oldUntil)},
      ${isoInstant(now)}, ${stampParameter(sql, audit)}) as rotated`;
  return rows[0]?.rotated === true;
}
