/** Statements on onboarding requests, their history and the tax authority's confirmations. */
import { isoInstant } from "../../../base/clock.js";
import type { Instant } from "../../../base/clock.js";
import type { FirmId, IntegratorId, OnboardingId } from "../../../base/ids.js";
import type { OnboardingState, OnboardingTrigger } from "../../../lifecycle/onboarding.js";
import type { Sql } from "../../sql.js";
import { stampParameter } from "../audit.js";
import type { AuditStamp } from "../audit.js";

/** Who pays, and how the integrator stands to the firm. @source spec/enterprise.md, Onboarding request */
export const ONBOARDING_RELATIONSHIPS = ["technical_delegation", "managed_service"] as const;
export type OnboardingRelationship = (typeof ONBOARDING_RELATIONSHIPS)[number];

export interface OnboardingRow {
  readonly id: OnboardingId;
  readonly integratorId: IntegratorId;
  readonly customerRef: string;
  readonly dic: string;
  readonly relationshipMode: OnboardingRelationship;
  readonly status: OnboardingState;
  readonly firmId: FirmId | null;
  readonly nextAction: string | null;
  readonly legalName: string | null;
  readonly vouchedAt: Date | null;
  readonly version: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

interface NewOnboarding {
  readonly id: OnboardingId;
  readonly integratorId: IntegratorId;
  readonly idempotencyKey: string;
  readonly customerRef: string;
  readonly dic: string;
  readonly contactEmail: string;
  readonly relationshipMode: OnboardingRelationship;
  readonly createdAt: Instant;
}

export type OnboardingCreation =
  | "created"
  | "replay"
  | "key_conflict"
  | "ref_conflict"
  | "not_authorized"
  | "no_billing";

/** Writes a request, or says why there is none. */
export async function insertOnboarding(
  sql: Sql,
  request: NewOnboarding,
  more: { readonly bodySha256: Uint8Array; readonly isProduction: boolean; readonly nextAction: string },
): Promise<{ readonly outcome: OnboardingCreation; readonly id: OnboardingId | null } | undefined> {
  const row = {
    id: request.id,
    integrator_id: request.integratorId,
    idempotency_key: request.idempotencyKey,
    service_mode: "send_only",
    customer_ref: request.customerRef,
    dic: request.dic,
    contact_email: request.contactEmail,
    relationship_mode: request.relationshipMode,
    created_at: isoInstant(request.createdAt),
  };
  const rows = await sql<{ readonly outcome: OnboardingCreation; readonly id: OnboardingId | null }[]>`
    select outcome, id from create_onboarding_request(${sql.json(row)}, ${more.bodySha256}, ${more.isProduction},
      ${more.nextAction})`;
  return rows[0];
}

const columns = (sql: Sql) => sql`
  id, integrator_id as "integratorId", customer_ref as "customerRef", dic, relationship_mode as "relationshipMode",
  status, firm_id as "firmId", next_action as "nextAction", legal_name as "legalName", vouched_at as "vouchedAt",
  version, created_at as "createdAt", updated_at as "updatedAt"`;

/** @param integratorId whose it must be; undefined for an operator */
export async function findOnboarding(
  sql: Sql,
  id: OnboardingId,
  integratorId: IntegratorId | undefined,
): Promise<OnboardingRow | undefined> {
  const rows = await sql<OnboardingRow[]>`
    select ${columns(sql)} from onboarding_request
    where id = ${id} and (${integratorId ?? null}::uuid is null or integrator_id = ${integratorId ?? null})`;
  return rows[0];
}

/** Requests of all integrators, the newest first. */
export async function listOnboardings(
  sql: Sql,
  status: OnboardingState | undefined,
  limit: number,
): Promise<OnboardingRow[]> {
  return sql<OnboardingRow[]>`
    select ${columns(sql)} from onboarding_request where (${status ?? null}::text is null or status = ${status ?? null})
    order by created_at desc, id limit ${limit}`;
}

/** Requests that somebody has vouched for and that are not active yet. */
export async function listDueActivations(sql: Sql, before: Instant, limit: number): Promise<OnboardingRow[]> {
  return sql<OnboardingRow[]>`
    select ${columns(sql)} from onboarding_request
    where status = 'activating' and vouched_at is not null and vouched_at < ${isoInstant(before)}
    order by vouched_at limit ${limit}`;
}

interface OnboardingMove {
  readonly id: OnboardingId;
  /** The version that was read; a request that has moved since stays where it is. */
  readonly version: number;
  readonly to: OnboardingState;
  readonly trigger: OnboardingTrigger;
  readonly detail: string | null;
  readonly nextAction: string | null;
  readonly isVouchedFor: boolean;
  readonly legalName: string | null;
  /** Digest of the confirmation's token. */
  readonly confirmation: Uint8Array | null;
}

/** @returns false when the request has moved since it was read */
export async function moveOnboarding(sql: Sql, move: OnboardingMove, now: Instant): Promise<boolean> {
  const rows = await sql<{ readonly moved: boolean }[]>`
    select move_onboarding(${move.id}, ${move.version}, ${move.to}, ${move.trigger}, ${move.detail}, ${move.nextAction},
      ${move.isVouchedFor}, ${move.legalName}, ${move.confirmation}, ${isoInstant(now)}) as moved`;
  return rows[0]?.moved ?? false;
}

/** Notes a confirmation once. @returns the one request that it vouches for */
export async function noteConfirmation(
  sql: Sql,
  confirmation: { readonly tokenSha256: Uint8Array; readonly dic: string; readonly legalName: string | null },
  now: Instant,
): Promise<OnboardingId | undefined> {
  const { tokenSha256, dic, legalName } = confirmation;
  const rows = await sql<{ readonly id: OnboardingId | null }[]>`
    select request_id as id from note_pfs_confirmation(${tokenSha256}, ${dic}, ${legalName}, ${isoInstant(now)})`;
  return rows[0]?.id ?? undefined;
}

type Activation = "activated" | "changed" | "firm_elsewhere" | "ref_taken";

/** Makes the firm and its binding, and the request active, all or nothing. */
export async function activateOnboarding(
  sql: Sql,
  activation: {
    readonly id: OnboardingId;
    readonly version: number;
    readonly firmId: FirmId;
    readonly participantKey: string;
    readonly isSandbox: boolean;
    /** Of the new firm and of its consent: each entry of the record has an id of its own. */
    readonly audit: readonly [AuditStamp, AuditStamp];
  },
  now: Instant,
): Promise<Activation> {
  const { id, version, firmId, participantKey, isSandbox, audit } = activation;
  const rows = await sql<{ readonly outcome: Activation }[]>`
    select activate_onboarding(${id}, ${version}, ${firmId}, ${participantKey}, ${isSandbox},
      ${isoInstant(now)}, ${stampParameter(sql, audit[0])}, ${stampParameter(sql, audit[1])}) as outcome`;
  return rows[0]?.outcome ?? "changed";
}

/** @returns whether there is such an integrator */
export async function setManagedBilling(sql: Sql, id: IntegratorId, isManaged: boolean): Promise<boolean> {
  const result = await sql`update integrator set managed_billing = ${isManaged} where id = ${id}`;
  return result.count === 1;
}

/** Whether a firm may receive; one that there is not may not. */
export async function findMayReceive(sql: Sql, firmId: FirmId): Promise<boolean> {
  const rows = await sql<{ readonly may: boolean }[]>`select not sends_only as may from firm where id = ${firmId}`;
  return rows[0]?.may ?? false;
}
