/**
 * The webhook of an integrator's account: where the Connector's events of all its firms go.
 * @source spec/enterprise.md, Connector; spec/rulings.md, section 11, Webhook
 */
import { isoInstant } from "../../base/clock.js";
import { Refusal } from "../../base/errors.js";
import { newId, randomOctets } from "../../base/ids.js";
import type { IntegratorId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { stampOf } from "../../identity/audit.js";
import type { Actor } from "../../identity/audit.js";
import { CONNECTOR_EVENT_TYPES } from "../../lifecycle/connector.js";
import type { ConnectorEventType } from "../../lifecycle/connector.js";
import {
  findConnectorWebhook,
  putWebhook,
  removeWebhook,
  replaceWebhookSecret,
} from "../../storage/events/connector-webhook.js";
import type { ConnectorWebhookRow } from "../../storage/events/connector-webhook.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { judgeUrl } from "../webhooks/addresses.js";
import { eachOnce, sealed } from "../webhooks/subscriptions.js";
import type { SubscriptionPorts } from "../webhooks/subscriptions.js";

/** The webhook as its integrator sees it. */
export interface ConnectorWebhook {
  readonly id: string;
  readonly url: string;
  readonly events: ConnectorEventType[];
  readonly active: boolean;
  /** Attempts that have failed since the last that succeeded. */
  readonly failedAttempts: number;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** What the webhook is to be. */
export interface WebhookWish {
  readonly url: string;
  /** @default every type */
  readonly events: readonly ConnectorEventType[] | undefined;
  /** @default true */
  readonly active: boolean | undefined;
}

/** The webhook at a moment at which a secret of it may be shown. */
export interface ShownWebhook {
  readonly webhook: ConnectorWebhook;
  /** Absent unless it was made just now. */
  readonly secret?: string;
}

const viewOf = ({ createdAt, updatedAt, ...row }: ConnectorWebhookRow): ConnectorWebhook => ({
  ...row,
  createdAt: isoInstant(createdAt),
  updatedAt: isoInstant(updatedAt),
});

/** 256 bits in hex: its own letters, as UTF-8, are the key. @source spec/rulings.md, section 11: 64 hex */
const newSecret = (): string => randomOctets(32).toString("hex");

/** The webhook of an account; null where there is none. @throws Refusal TEMPORARY */
export async function readConnectorWebhook(sql: Sql, integratorId: IntegratorId): Promise<ConnectorWebhook | null> {
  const row = await orTemporary(findConnectorWebhook(sql, integratorId));
  return row === undefined ? null : viewOf(row);
}

/** The same where there must be one. @throws Refusal NOT_FOUND, TEMPORARY */
async function presentWebhook(sql: Sql, integratorId: IntegratorId): Promise<ConnectorWebhook> {
  const webhook = await readConnectorWebhook(sql, integratorId);
  if (webhook === null)
    throw new Refusal("NOT_FOUND", [
      { field: "webhook", message: "There is no webhook; make one with PUT /connector/webhook." },
    ]);
  return webhook;
}

/**
 * Makes the webhook, or puts other words in the place of the old ones: its secret stays. One that is switched on is
 * told of what happens from now on.
 * @returns the secret only when the webhook was made
 * @throws Refusal REQUEST_INVALID that names url, TEMPORARY
 */
export async function putConnectorWebhook(
  { sql, sealer, clock, addresses }: SubscriptionPorts,
  integratorId: IntegratorId,
  wish: WebhookWish,
  actor: Actor,
): Promise<ShownWebhook> {
  const origin = await judgeUrl(addresses, wish.url);
  const [id, secret] = [newId(clock), newSecret()];
  const wanted = {
    id,
    url: wish.url,
    origin,
    events: eachOnce(wish.events ?? CONNECTOR_EVENT_TYPES),
    active: wish.active ?? true,
    secret: sealed(sealer, id, secret),
    now: clock.now(),
  };
  if (await orTemporary(putWebhook(sql, integratorId, wanted, stampOf(actor, clock)))) {
    const { url, events, active, now } = wanted;
    const at = isoInstant(now);
    // Not read again: by now another may be in its place, and this secret signs nothing of that one.
    return { webhook: { id, url, events, active, failedAttempts: 0, createdAt: at, updatedAt: at }, secret };
  }
  const webhook = await readConnectorWebhook(sql, integratorId);
  // It was changed and then ended by somebody else: there is nothing to show, and it is safe to put it again.
  if (webhook === null) throw new Refusal("TEMPORARY");
  return { webhook };
}

/** Ends the webhook. Safe to repeat. @throws Refusal TEMPORARY */
export async function deleteConnectorWebhook(
  { sql, clock }: Pick<SubscriptionPorts, "sql" | "clock">,
  integratorId: IntegratorId,
  actor: Actor,
): Promise<void> {
  await orTemporary(removeWebhook(sql, integratorId, clock.now(), stampOf(actor, clock)));
}

/**
 * Makes a new secret. The old one signs beside it for LIMITS.webhook_secret_overlap_ms, so that a receiver can change
 * over without losing an event.
 * @throws Refusal NOT_FOUND, TEMPORARY
 */
export async function rotateConnectorSecret(
  { sql, sealer, clock }: Pick<SubscriptionPorts, "sql" | "sealer" | "clock">,
  integratorId: IntegratorId,
  actor: Actor,
): Promise<ShownWebhook> {
  const { id } = await presentWebhook(sql, integratorId);
  const secret = newSecret();
  const now = clock.now();
  const change = { secret: sealed(sealer, id, secret), oldUntil: now + LIMITS.webhook_secret_overlap_ms, now };
  const isDone = await orTemporary(replaceWebhookSecret(sql, { id, integratorId }, change, stampOf(actor, clock)));
  if (!isDone) throw new Refusal("NOT_FOUND");
  const webhook = await presentWebhook(sql, integratorId);
  // Another is in its place by now, of which this secret signs nothing.
  if (webhook.id !== id) throw new Refusal("NOT_FOUND");
  return { webhook, secret };
}
