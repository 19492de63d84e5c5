/** Statements of White Label: operations, the participants that they make, and customers. */
import { isoInstant, isoOrNull } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { FirmId, IntegratorId, ParticipantId } from "../../base/ids.js";
import type { Scope } from "../../base/scopes.js";
import type { WhiteLabelState } from "../../lifecycle/white-label.js";
import type { Sql } from "../sql.js";
import { stampParameter } from "./audit.js";
import type { AuditStamp } from "./audit.js";

/** What an operation does. @source spec/rulings.md, section 12 */
export const WHITE_LABEL_TYPES = ["registration", "migration_in", "migration_out"] as const;
/** What an operation does. */
export type WhiteLabelType = (typeof WHITE_LABEL_TYPES)[number];

/** The code of an operation under review whose token an operator must vouch for before the registry is asked. */
export const UNVOUCHED = "VERIFICATION_REQUIRED";
/** The code of an operation that was released because no operator vouched for its token in time. */
export const EXPIRED = "VERIFICATION_EXPIRED";

/** Something sealed, with the id of its key. */
export interface SealedText {
  readonly keyId: string;
  readonly sealed: Buffer;
}

/** One operation. */
export interface WhiteLabelRow {
  readonly id: string;
  readonly integratorId: IntegratorId;
  readonly operationType: WhiteLabelType;
  readonly status: WhiteLabelState;
  readonly version: number;
  readonly customerRef: string;
  readonly dic: string;
  readonly participant: ParticipantId;
  readonly companyEmail: string;
  readonly legalName: string | null;
  readonly secretKeyId: string | null;
  readonly secretSealed: Buffer | null;
  readonly bodyKeyId: string | null;
  readonly bodySealed: Buffer | null;
  readonly firmId: FirmId | null;
  readonly participantId: string | null;
  readonly errorCode: string | null;
  readonly createdAt: Date;
  /** When an operator has vouched for its token. */
  readonly vouchedAt: Date | null;
  readonly completedAt: Date | null;
}

interface NewWhiteLabel {
  readonly id: string;
  readonly integratorId: IntegratorId;
  readonly operationType: Exclude<WhiteLabelType, "migration_out">;
  readonly idempotencyKey: string;
  readonly customerRef: string;
  readonly dic: string;
  readonly participant: ParticipantId;
  readonly companyEmail: string;
  readonly legalName: string | undefined;
  readonly secret: SealedText;
  readonly body: SealedText;
  /** Whether an operator must vouch for the secret before the registry is asked. */
  readonly isUnvouched: boolean;
}

export type WhiteLabelCreation =
  | "created"
  | "repeat"
  | "identity_taken"
  | "under_way"
  | "ref_conflict"
  | "not_authorized";

/** Writes an operation, due at once or under review, or says why there is none. */
export async function insertWhiteLabel(
  sql: Sql,
  operation: NewWhiteLabel,
  more: { readonly isProduction: boolean; readonly audit: AuditStamp; readonly now: Instant },
): Promise<{ readonly outcome: WhiteLabelCreation; readonly id: string | null } | undefined> {
  const at = isoInstant(more.now);
  const row = {
    id: operation.id,
    integrator_id: operation.integratorId,
    operation_type: operation.operationType,
    status: operation.isUnvouched ? "manual_review" : "processing",
    error_code: operation.isUnvouched ? UNVOUCHED : null,
    version: 1,
    idempotency_key: operation.idempotencyKey,
    customer_ref: operation.customerRef,
    dic: operation.dic,
    participant_key: operation.participant,
    company_email: operation.companyEmail,
    legal_name: operation.legalName ?? null,
    secret_key_id: operation.secret.keyId,
    body_key_id: operation.body.keyId,
    due_at: operation.isUnvouched ? null : at,
    created_at: at,
    updated_at: at,
  };
  const rows = await sql<{ readonly outcome: WhiteLabelCreation; readonly id: string | null }[]>`
    select outcome, id from create_white_label_operation(${sql.json(row)}, ${operation.secret.sealed},
      ${operation.body.sealed}, ${more.isProduction}, ${stampParameter(sql, more.audit)})`;
  return rows[0];
}

/** Writes that a participant is to leave, or finds the operation by which it does. */
export async function insertWhiteLabelLeave(
  sql: Sql,
  leave: {
    readonly id: string;
    readonly integratorId: IntegratorId;
    readonly participantId: string;
    readonly audit: AuditStamp;
  },
  now: Instant,
): Promise<{ readonly outcome: "created" | "repeat" | "under_review" | "unknown"; readonly id: string | null }> {
  const rows = await sql<
    { readonly outcome: "created" | "repeat" | "under_review" | "unknown"; readonly id: string | null }[]
  >`
    select outcome, id from create_white_label_leave(${leave.id}, ${leave.integratorId}, ${leave.participantId},
      ${isoInstant(now)}, ${stampParameter(sql, leave.audit)})`;
  return rows[0] ?? { outcome: "unknown", id: null };
}

const columns = (sql: Sql) => sql`
  id, integrator_id as "integratorId", operation_type as "operationType", status, version,
  customer_ref as "customerRef", dic, participant_key as participant, company_email as "companyEmail",
  legal_name as "legalName", secret_key_id as "secretKeyId", secret_sealed as "secretSealed",
  body_key_id as "bodyKeyId", body_sealed as "bodySealed", firm_id as "firmId", participant_id as "participantId",
  error_code as "errorCode", created_at as "createdAt", vouched_at as "vouchedAt",
  completed_at as "completedAt"`;

/** @param integratorId whose it must be; undefined for an operator */
export async function findWhiteLabel(
  sql: Sql,
  id: string,
  integratorId: IntegratorId | undefined,
): Promise<WhiteLabelRow | undefined> {
  const rows = await sql<WhiteLabelRow[]>`
    select ${columns(sql)} from white_label_operation
    where id = ${id} and (${integratorId ?? null}::uuid is null or integrator_id = ${integratorId ?? null})`;
  return rows[0];
}

/** Operations of all integrators in a state, the newest first. */
export async function listWhiteLabel(
  sql: Sql,
  status: WhiteLabelState | undefined,
  limit: number,
): Promise<WhiteLabelRow[]> {
  return sql<WhiteLabelRow[]>`
    select ${columns(sql)} from white_label_operation
    where (${status ?? null}::text is null or status = ${status ?? null}) order by updated_at desc, id limit ${limit}`;
}

/** Takes due operations; those that a dead process had asked the registry about are put under review. */
export async function claimWhiteLabel(
  sql: Sql,
  claim: { readonly limit: number; readonly lease_ms: number },
  now: Instant,
): Promise<WhiteLabelRow[]> {
  return sql<WhiteLabelRow[]>`
    select ${columns(sql)} from claim_white_label(${claim.limit}, ${claim.lease_ms}, ${isoInstant(now)})`;
}

/** Writes what came of asking the registry. @returns false when the operation is not what was read */
export async function moveWhiteLabel(
  sql: Sql,
  move: {
    readonly id: string;
    readonly version: number;
    readonly status: WhiteLabelState;
    readonly errorCode: string | undefined;
    readonly dueAt: Instant | undefined;
    readonly secret: SealedText | undefined;
  },
  now: Instant,
): Promise<boolean> {
  const rows = await sql<{ readonly moved: boolean }[]>`
    select move_white_label(${move.id}, ${move.version}, ${move.status}, ${move.errorCode ?? null},
      ${isoOrNull(move.dueAt)}, ${move.secret?.keyId ?? null},
      ${move.secret?.sealed ?? null}, ${isoInstant(now)}) as moved`;
  return rows[0]?.moved ?? false;
}

/**
 * Writes that an operator vouches for an operation.
 * @returns changed when it is not what was read; not_authorized where production would be open to an integrator that is
 *   not approved for it; ref_conflict where its name was given to a firm meanwhile
 */
export async function vouchWhiteLabel(
  sql: Sql,
  {
    id,
    version,
    ...more
  }: {
    readonly id: string;
    readonly version: number;
    readonly isProduction: boolean;
    readonly audit: AuditStamp;
  },
  now: Instant,
): Promise<"vouched" | "changed" | "not_authorized" | "ref_conflict"> {
  const rows = await sql<{ readonly vouched: boolean | null }[]>`
    select case when i.production_authorized or not ${more.isProduction}::boolean then
      vouch_white_label(o.id, ${version}, ${isoInstant(now)}, ${stampParameter(sql, more.audit)}) end as vouched
    from white_label_operation as o join integrator as i on i.id = o.integrator_id where o.id = ${id}`;
  const [row] = rows;
  if (row?.vouched === null) return "not_authorized";
  if (row?.vouched === true) return "vouched";
  return (await isNameBound(sql, id)) ? "ref_conflict" : "changed";
}

/** Whether the name of an operation under review is a firm's, also of one whose consent was withdrawn. */
export async function isNameBound(sql: Sql, id: string): Promise<boolean> {
  const rows = await sql`
    select 1 from white_label_operation as o
    join firm_binding as b on b.integrator_id = o.integrator_id and b.customer_ref = o.customer_ref
    where o.id = ${id} and o.status = 'manual_review'`;
  return rows.length > 0;
}

/** Makes what the registry has done true here. */
export async function bindWhiteLabel(
  sql: Sql,
  bind: {
    readonly id: string;
    readonly version: number;
    readonly firmId: FirmId;
    readonly participantId: string;
    readonly isSandbox: boolean;
    readonly scopes: readonly Scope[];
    readonly capabilities: readonly { readonly documentTypeId: string; readonly processId: string }[];
    readonly audit: AuditStamp;
  },
  now: Instant,
): Promise<"bound" | "changed" | "identity_taken" | "ref_conflict"> {
  const rows = await sql<{ readonly outcome: "bound" | "changed" | "identity_taken" | "ref_conflict" }[]>`
    select bind_white_label(${bind.id}, ${bind.version}, ${bind.firmId}, ${bind.participantId}, ${bind.isSandbox},
      ${[...bind.scopes]}::text[], ${bind.capabilities.map(({ documentTypeId }) => documentTypeId)}::text[],
      ${bind.capabilities.map(({ processId }) => processId)}::text[], ${isoInstant(now)},
      ${stampParameter(sql, bind.audit)}) as outcome`;
  return rows[0]?.outcome ?? "changed";
}

/** Whether a participant, given in lower case, is being registered here. */
export async function isBeingRegistered(sql: Sql, participantKey: string): Promise<boolean> {
  const rows = await sql`
    select 1 from white_label_operation
    where participant_key = ${participantKey} and status in ('processing', 'smp_succeeded')
      and operation_type <> 'migration_out'`;
  return rows.length > 0;
}

/** A participant that White Label has made. */
export interface WhiteLabelParticipantRow {
  readonly id: string;
  readonly customerRef: string;
  readonly firmId: FirmId;
  readonly operationId: string;
  readonly legalName: string;
  readonly ico: string | null;
  readonly dic: string | null;
  readonly icDph: string | null;
  readonly participant: ParticipantId;
  readonly status: "active" | "leaving";
  readonly authorizationSource: "fs_verification_token" | "smp_migration_code";
  readonly managedSince: Date;
}

const participantColumns = (sql: Sql) => sql`
  w.id, w.customer_ref as "customerRef", w.firm_id as "firmId", w.operation_id as "operationId", f.name as "legalName",
  f.ico, f.dic, f.ic_dph as "icDph", p.id as participant, w.status, w.authorization_source as "authorizationSource",
  w.managed_since as "managedSince"`;

/** One participant of an integrator. */
export async function findWhiteLabelParticipant(
  sql: Sql,
  integratorId: IntegratorId,
  id: string,
): Promise<WhiteLabelParticipantRow | undefined> {
  const rows = await sql<WhiteLabelParticipantRow[]>`
    select ${participantColumns(sql)} from white_label_participant w
      join firm f on f.id = w.firm_id join participant p on p.key = w.participant_key
    where w.id = ${id} and w.integrator_id = ${integratorId}`;
  return rows[0];
}

interface WhiteLabelPage {
  readonly integratorId: IntegratorId;
  /** The last of the page before. */
  readonly after: string | undefined;
  readonly limit: number;
}

/** Participants of an integrator in the order in which they came. */
export async function listWhiteLabelParticipants(
  sql: Sql,
  { integratorId, after, limit }: WhiteLabelPage,
): Promise<WhiteLabelParticipantRow[]> {
  return sql<WhiteLabelParticipantRow[]>`
    select ${participantColumns(sql)} from white_label_participant w
      join firm f on f.id = w.firm_id join participant p on p.key = w.participant_key
    where w.integrator_id = ${integratorId} and (${after ?? null}::uuid is null or w.id > ${after ?? null}::uuid)
    order by w.id limit ${limit}`;
}

/** A customer that an integrator represents. */
export interface WhiteLabelCustomerRow {
  readonly id: string;
  readonly customerRef: string;
  readonly relationship: "represented";
  readonly dic: string;
  readonly createdAt: Date;
}

interface NewCustomer {
  readonly id: string;
  readonly integratorId: IntegratorId;
  readonly idempotencyKey: string;
  readonly customerRef: string;
  readonly customerAuthorization: string;
  readonly dic: string;
  readonly companyEmail: string;
  readonly legalName: string | undefined;
  readonly bodySha256: Buffer;
}

export type CustomerCreation = "created" | "repeat" | "key_conflict" | "key_ended" | "ref_conflict";

/** Writes a customer, or says why there is none. */
export async function insertWhiteLabelCustomer(
  sql: Sql,
  customer: NewCustomer,
  now: Instant,
): Promise<{ readonly outcome: CustomerCreation; readonly id: string | null } | undefined> {
  const row = {
    id: customer.id,
    integrator_id: customer.integratorId,
    idempotency_key: customer.idempotencyKey,
    customer_ref: customer.customerRef,
    relationship: "represented",
    customer_authorization: customer.customerAuthorization,
    dic: customer.dic,
    company_email: customer.companyEmail,
    legal_name: customer.legalName ?? null,
    created_at: isoInstant(now),
  };
  const rows = await sql<{ readonly outcome: CustomerCreation; readonly id: string | null }[]>`
    select outcome, id from create_white_label_customer(${sql.json(row)}, ${customer.bodySha256})`;
  return rows[0];
}

/** Customers of an integrator in the order in which they came. */
export async function listWhiteLabelCustomers(
  sql: Sql,
  { integratorId, after, limit }: WhiteLabelPage,
): Promise<WhiteLabelCustomerRow[]> {
  return sql<WhiteLabelCustomerRow[]>`
    select id, customer_ref as "customerRef", relationship, dic, created_at as "createdAt" from white_label_customer
    where integrator_id = ${integratorId} and (${after ?? null}::uuid is null or id > ${after ?? null}::uuid)
    order by id limit ${limit}`;
}

/** One customer of an integrator. */
export async function findWhiteLabelCustomer(
  sql: Sql,
  integratorId: IntegratorId,
  id: string,
): Promise<WhiteLabelCustomerRow | undefined> {
  const rows = await sql<WhiteLabelCustomerRow[]>`
    select id, customer_ref as "customerRef", relationship, dic, created_at as "createdAt" from white_label_customer
    where id = ${id} and integrator_id = ${integratorId}`;
  return rows[0];
}

/**
 * What came of the end of a customer: `in_use` where its company is, was or is being bound under its name. A binding
 * that was withdrawn keeps the name for its company, so that nothing would be free.
 */
export type CustomerEnd = "ended" | "in_use" | "unknown";

/**
 * Takes a customer away, with an entry in the audit of its integrator, by which a late repeat of the request that noted
 * it is known.
 */
export async function endWhiteLabelCustomer(sql: Sql, id: string, audit: AuditStamp): Promise<CustomerEnd> {
  const rows = await sql<{ readonly outcome: CustomerEnd }[]>`
    select end_white_label_customer(${id}, ${stampParameter(sql, audit)}) as outcome`;
  return rows[0]?.outcome ?? "unknown";
}

/** Whether a customer was taken away before, as long as the audit of its integrator says so. */
export async function isCustomerEnded(sql: Sql, id: string): Promise<boolean> {
  const rows = await sql`
    select 1 from audit_entry where event = 'white_label.customer_ended' and target_id = ${id} limit 1`;
  return rows.length > 0;
}
