/** Statements on consent offers. The secret of an offer's link never reaches this file, only its SHA-256. */
import { isoInstant, isoOrNull } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { FirmId, IntegratorId, KeyId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { Scope } from "../../base/scopes.js";
import type { Sql } from "../sql.js";
import { stampParameter } from "./audit.js";
import type { AuditStamp } from "./audit.js";
import type { Interface } from "./bindings.js";

/** Who pays and who answers for the firm. @source spec/enterprise.md, Onboarding request */
export const RELATIONSHIP_MODES = ["technical_delegation", "managed_service"] as const;
export type RelationshipMode = (typeof RELATIONSHIP_MODES)[number];

/** What an offer can ask for, in the words of clients. @source spec/shapes.md, section 3 */
export const REQUESTED_INTERFACES = ["enterprise_api", "sapi", "connector", "all"] as const;
export type RequestedInterface = (typeof REQUESTED_INTERFACES)[number];

/**
 * The last two are no status of a row: they are told from its end, a withdrawal since, and its key when it is read.
 * @source spec/rulings.md, section 8
 */
export const OFFER_STATUSES = ["issued", "viewed", "accepted", "declined", "expired", "withdrawn"] as const;
export type OfferStatus = (typeof OFFER_STATUSES)[number];

/** What an offer asks, as it is written. */
interface NewOffer {
  readonly id: string;
  readonly integratorId: IntegratorId;
  readonly keyId: KeyId;
  readonly targetIdentifier: string;
  readonly customerReference: string | null;
  readonly relationshipMode: RelationshipMode;
  readonly requestedInterface: RequestedInterface;
  readonly interfaces: readonly Interface[];
  readonly requestedScopes: readonly Scope[];
  readonly createdAt: Instant;
  readonly expiresAt: Instant;
}

interface OfferCreation {
  readonly tokenSha256: Uint8Array;
  readonly keyGeneration: number;
  readonly sandbox: boolean;
  readonly audit: AuditStamp;
}

export type OfferOutcome = "created" | "caller_changed" | "scope_exceeds" | "unavailable";

/** Writes an offer when its key still allows it and its company can be asked. */
export async function insertOffer(sql: Sql, offer: NewOffer, creation: OfferCreation): Promise<OfferOutcome> {
  const row = {
    id: offer.id,
    integrator_id: offer.integratorId,
    key_id: offer.keyId,
    target_identifier: offer.targetIdentifier,
    customer_reference: offer.customerReference,
    relationship_mode: offer.relationshipMode,
    requested_interface: offer.requestedInterface,
    interfaces: [...offer.interfaces],
    requested_scopes: [...offer.requestedScopes],
    created_at: isoInstant(offer.createdAt),
    expires_at: isoInstant(offer.expiresAt),
  };
  const rows = await sql<{ readonly outcome: OfferOutcome }[]>`
    select create_consent_offer(${sql.json(row)}, ${creation.tokenSha256}, ${creation.keyGeneration},
      ${creation.sandbox}, ${stampParameter(sql, creation.audit)}) as outcome`;
  return rows[0]?.outcome ?? "caller_changed";
}

export interface OfferRow extends Omit<NewOffer, "createdAt" | "expiresAt" | "interfaces" | "keyId"> {
  readonly status: OfferStatus;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** Who asks. */
  readonly integratorName: string;
}

const columnsOfOffer = (sql: Sql, now: Instant) => sql`
  o.id, o.integrator_id as "integratorId", o.target_identifier as "targetIdentifier",
  o.customer_reference as "customerReference", o.relationship_mode as "relationshipMode",
  o.requested_interface as "requestedInterface", o.requested_scopes as "requestedScopes",
  offer_status(o, ${isoInstant(now)}) as status, o.created_at as "createdAt", o.expires_at as "expiresAt",
  i.name as "integratorName"`;

/** The offer of an integrator. */
export async function findOffer(
  sql: Sql,
  integratorId: IntegratorId,
  id: string,
  now: Instant,
): Promise<OfferRow | undefined> {
  const rows = await sql<OfferRow[]>`
    select ${columnsOfOffer(sql, now)} from consent_offer o join integrator i on i.id = o.integrator_id
    where o.id = ${id} and o.integrator_id = ${integratorId}`;
  return rows[0];
}

/** The offer behind a link. */
export async function findOfferByToken(sql: Sql, tokenSha256: Uint8Array, now: Instant): Promise<OfferRow | undefined> {
  const rows = await sql<OfferRow[]>`
    select ${columnsOfOffer(sql, now)} from consent_offer o join integrator i on i.id = o.integrator_id
    where o.token_sha256 = ${tokenSha256}`;
  return rows[0];
}

/** Notes that the link of an offer was opened. Safe to repeat. */
export async function markOfferViewed(sql: Sql, tokenSha256: Uint8Array): Promise<void> {
  await sql`update consent_offer set status = 'viewed' where token_sha256 = ${tokenSha256} and status = 'issued'`;
}

interface OfferDecision {
  readonly offerId: string;
  readonly firmId: FirmId;
  readonly accept: boolean;
  readonly sandbox: boolean;
  readonly personId: string;
  readonly audit: AuditStamp;
}

export type OfferAnswer = "accepted" | "declined" | "expired" | "withdrawn" | "unavailable" | "unknown" | "already";

/** Answers an offer and, where it is accepted, binds the firm. */
export async function decideOffer(sql: Sql, decision: OfferDecision, now: Instant): Promise<OfferAnswer> {
  const { offerId, firmId, accept, sandbox, personId, audit } = decision;
  const rows = await sql<{ readonly answer: OfferAnswer }[]>`
    select decide_consent_offer(${offerId}, ${firmId}, ${accept}, ${sandbox}, ${personId}, ${isoInstant(now)},
      ${stampParameter(sql, audit)}) as answer`;
  return rows[0]?.answer ?? "unknown";
}

/** Whether an offer to this company, or under this name for it, that was made after an instant waits for an answer. */
export async function hasOpenOffer(
  sql: Sql,
  integratorId: IntegratorId,
  named: { readonly firmId: FirmId | null; readonly customerReference: string | null; readonly after: Instant | null },
  now: Instant,
): Promise<boolean> {
  const after = isoOrNull(named.after);
  const rows = await sql<{ readonly open: boolean }[]>`
    select exists (
      select 1 from consent_offer o join firm f on o.target_identifier in (f.ico, f.dic)
      where f.id = ${named.firmId} and o.integrator_id = ${integratorId}
        and offer_status(o, ${isoInstant(now)}) in ('issued', 'viewed')
        and o.created_at > coalesce(${after}::timestamptz, '-infinity')
    ) or exists (
      select 1 from consent_offer o
      where o.customer_reference = ${named.customerReference} and o.integrator_id = ${integratorId}
        and offer_status(o, ${isoInstant(now)}) in ('issued', 'viewed')
        and o.created_at > coalesce(${after}::timestamptz, '-infinity')
    ) as open`;
  return rows[0]?.open ?? false;
}

/** Deletes offers that nobody accepted, long after their end. @returns rows deleted */
export async function pruneOffers(sql: Sql, now: Instant): Promise<number> {
  const result = await sql`
    delete from consent_offer where id in (
      select id from consent_offer
      where expires_at < ${isoInstant(now - LIMITS.consent_offer_kept_ms)} and status <> 'accepted'
      limit ${LIMITS.identity_prune_batch} for update skip locked)`;
  return result.count;
}
