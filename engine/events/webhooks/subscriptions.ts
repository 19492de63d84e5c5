/**
 * Subscriptions to what happens to the documents of a firm: made, read, changed and ended by whoever acts for it.
 * @source spec/enterprise.md, Events; spec/shapes.md, section 5
 */
import { isoInstant } from "../../base/clock.js";
import type { Clock } from "../../base/clock.js";
import { Refusal } from "../../base/errors.js";
import { newId, randomOctets } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { stampOf } from "../../identity/audit.js";
import type { Actor } from "../../identity/audit.js";
import { EVENT_KINDS } from "../../lifecycle/document.js";
import type { FeedKind } from "../../lifecycle/feed.js";
import {
  findSubscription,
  insertSubscription,
  listSubscriptions,
  removeSubscription,
  replaceSubscriptionSecret,
  updateSubscription,
} from "../../storage/events/subscriptions.js";
import type { SealedSecret, SubscriptionOwner, SubscriptionRow } from "../../storage/events/subscriptions.js";
import type { Sealer } from "../../storage/sealer.js";
import { orNotFound, orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { judgeUrl } from "./addresses.js";
import type { AddressPorts } from "./addresses.js";

export type { SubscriptionOwner };

/** What the commands and reads on subscriptions need of the engine. */
export interface SubscriptionPorts {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly addresses: AddressPorts;
}

/** What a subscription is to be. */
export interface SubscriptionWish {
  /** Null to pull its events. */
  readonly url: string | null;
  /** @default the six kinds of the specification */
  readonly events: readonly FeedKind[] | undefined;
  /** @default true */
  readonly isActive: boolean | undefined;
}

/** A subscription as its owner sees it. */
interface Subscription {
  readonly id: string;
  readonly url: string | null;
  readonly events: FeedKind[];
  readonly isActive: boolean;
  readonly createdAt: string;
}

/** The same in a list. */
export interface ListedSubscription extends Subscription {
  /** Attempts that have failed since the last that succeeded. */
  readonly failedAttempts: number;
}

/** The same at the moment at which its secret is shown. */
export interface MadeSubscription extends Subscription {
  readonly secret: string;
}

/** Whose subscription it is, and which. */
export interface NamedSubscription {
  readonly owner: SubscriptionOwner;
  readonly id: string;
}

const viewOf = ({ id, url, events, isActive, createdAt }: SubscriptionRow): Subscription => ({
  id,
  url,
  events,
  isActive,
  createdAt: isoInstant(createdAt),
});
const listedOf = (row: SubscriptionRow): ListedSubscription => ({ ...viewOf(row), failedAttempts: row.failedAttempts });

/** What a sealed secret belongs to. */
export const secretContext = (id: string): string => `webhook_subscription:${id}`;

/** A secret of 256 bits; its own letters, as UTF-8, are the key of the signature. */
export const newSigningSecret = (): string => `whsec_${randomOctets(32).toString("hex")}`;

/** The secret of the subscription with this id, as it is stored. */
export const sealed = (sealer: Sealer, id: string, secret: string): SealedSecret => ({
  keyId: sealer.keyId,
  sealed: sealer.seal(Buffer.from(secret), secretContext(id)),
});

/** Kinds in the order in which they were named, each once. */
export const eachOnce = <Kind extends string>(events: readonly Kind[]): Kind[] => [...new Set(events)];

/**
 * Makes a subscription, which is told of what happens from now on.
 * @throws Refusal REQUEST_INVALID that names url, WEBHOOK_LIMIT_REACHED, TEMPORARY
 */
export async function createSubscription(
  ports: SubscriptionPorts,
  owner: SubscriptionOwner,
  wish: SubscriptionWish,
  actor: Actor,
): Promise<MadeSubscription> {
  const { sql, sealer, clock, addresses } = ports;
  const origin = wish.url === null ? null : await judgeUrl(addresses, wish.url);
  const id = newId(clock);
  const secret = newSigningSecret();
  const subscription = {
    id,
    url: wish.url,
    events: eachOnce(wish.events ?? EVENT_KINDS),
    isActive: wish.isActive ?? true,
  };
  const createdAt = clock.now();
  const wanted = { ...subscription, owner, origin, secret: sealed(sealer, id, secret), createdAt };
  if (!(await orTemporary(insertSubscription(sql, wanted, stampOf(actor, clock)))))
    throw new Refusal("WEBHOOK_LIMIT_REACHED");
  return { ...subscription, secret, createdAt: isoInstant(createdAt) };
}

/** All subscriptions of an owner, oldest first. @throws Refusal TEMPORARY */
export async function readSubscriptions(
  { sql }: Pick<SubscriptionPorts, "sql">,
  owner: SubscriptionOwner,
): Promise<ListedSubscription[]> {
  return (await orTemporary(listSubscriptions(sql, owner))).map(listedOf);
}

/** @throws Refusal NOT_FOUND for one that is missing or of another owner; TEMPORARY */
export async function readSubscription(
  { sql }: Pick<SubscriptionPorts, "sql">,
  { owner, id }: NamedSubscription,
): Promise<ListedSubscription> {
  return listedOf(await orNotFound(findSubscription(sql, owner, id)));
}

/** What changes; what is undefined stays. */
export interface SubscriptionChanges {
  readonly url: string | null | undefined;
  readonly events: readonly FeedKind[] | undefined;
  readonly isActive: boolean | undefined;
}

/**
 * Changes a subscription. One that is switched on again is told of nothing that happened while it was off.
 * @throws Refusal NOT_FOUND, REQUEST_INVALID that names url, TEMPORARY
 */
export async function changeSubscription(
  ports: SubscriptionPorts,
  named: NamedSubscription,
  changes: SubscriptionChanges,
  actor: Actor,
): Promise<ListedSubscription> {
  const { sql, clock, addresses } = ports;
  const { url, events, isActive } = changes;
  // A stranger learns nothing of what is behind a name: whose subscription it is not is told first.
  await readSubscription(ports, named);
  const origin = url === null || url === undefined ? null : await judgeUrl(addresses, url);
  const change = { url, origin, events: events === undefined ? undefined : eachOnce(events), isActive };
  if (!(await orTemporary(updateSubscription(sql, named, change, stampOf(actor, clock)))))
    throw new Refusal("NOT_FOUND");
  return readSubscription(ports, named);
}

/** Ends a subscription. @throws Refusal NOT_FOUND, TEMPORARY */
export async function deleteSubscription(
  { sql, clock }: Pick<SubscriptionPorts, "sql" | "clock">,
  named: NamedSubscription,
  actor: Actor,
): Promise<void> {
  if (!(await orTemporary(removeSubscription(sql, named, clock.now(), stampOf(actor, clock)))))
    throw new Refusal("NOT_FOUND");
}

/**
 * Makes a new secret. The old one signs beside it for LIMITS.webhook_secret_overlap_ms, so that a receiver can change
 * over without losing an event.
 * @throws Refusal NOT_FOUND, TEMPORARY
 */
export async function rotateSubscriptionSecret(
  { sql, sealer, clock }: Pick<SubscriptionPorts, "sql" | "sealer" | "clock">,
  named: NamedSubscription,
  actor: Actor,
): Promise<{ readonly id: string; readonly secret: string }> {
  const secret = newSigningSecret();
  const change = {
    secret: sealed(sealer, named.id, secret),
    oldUntil: clock.now() + LIMITS.webhook_secret_overlap_ms,
  };
  if (!(await orTemporary(replaceSubscriptionSecret(sql, named, change, stampOf(actor, clock)))))
    throw new Refusal("NOT_FOUND");
  return { id: named.id, secret };
}
