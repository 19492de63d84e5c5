/** Statements on firms, their participants, and integrators. */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { FirmId, IntegratorId, ParticipantId } from "../../base/ids.js";
import type { Json, Sql } from "../sql.js";
import { stampParameter } from "./audit.js";
import type { AuditStamp } from "./audit.js";

export const PEPPOL_STATUSES = ["not_registered", "registered"] as const;
type PeppolStatus = (typeof PEPPOL_STATUSES)[number];

interface FirmRow {
  readonly id: FirmId;
  readonly name: string;
  readonly ico: string | null;
  readonly dic: string | null;
  readonly icDph: string | null;
  readonly address: Json;
  readonly peppolStatus: PeppolStatus;
  readonly sandbox: boolean;
  readonly createdAt: Date;
}

export async function insertFirm(
  sql: Sql,
  firm: Omit<FirmRow, "peppolStatus" | "createdAt">,
  now: Instant,
  audit: AuditStamp,
): Promise<void> {
  await sql`
    with added as (
      insert into firm (id, name, ico, dic, ic_dph, address, peppol_status, sandbox, created_at)
      values (${firm.id}, ${firm.name}, ${firm.ico}, ${firm.dic}, ${firm.icDph},
        ${firm.address === null ? null : sql.json(firm.address)}, 'not_registered', ${firm.sandbox}, ${isoInstant(now)})
      returning id
    )
    select append_audit(${stampParameter(sql, audit)}, 'firm.created', id, null, 'firm', id::text, '{}') from added`;
}

/**
 * Changes what is given of a firm; an address is completed by its members.
 * @returns false when there is no such firm, or it was erased
 */
export async function updateFirm(
  sql: Sql,
  firm: Pick<FirmRow, "id"> & {
    readonly [K in "name" | "ico" | "icDph"]?: string | undefined;
  } & { readonly address?: Readonly<Record<string, string>> },
  audit: AuditStamp,
): Promise<boolean> {
  const { id, name = null, ico = null, icDph = null, address = {} } = firm;
  const rows = await sql`
    with changed as (
      update firm set name = coalesce(${name}, name), ico = coalesce(${ico}, ico), ic_dph = coalesce(${icDph}, ic_dph),
        address = coalesce(address, '{}') || ${sql.json(address)}
      where id = ${id} and erased_at is null
      returning id
    )
    select append_audit(${stampParameter(sql, audit)}, 'firm.changed', id, null, 'firm', id::text, '{}') from changed`;
  return rows.length === 1;
}

export interface ParticipantRow {
  /** As registered. */
  readonly id: ParticipantId;
  readonly firmId: FirmId;
}

/**
 * Gives a participant to a firm and marks the firm as registered.
 * @returns the firm that owns the participant now: another one's when it was taken already
 */
export async function insertParticipant(
  sql: Sql,
  participant: { readonly key: string; readonly id: ParticipantId; readonly firmId: FirmId },
  now: Instant,
): Promise<FirmId | undefined> {
  const rows = await sql<{ readonly firmId: FirmId }[]>`
    with added as (
      insert into participant (key, id, firm_id, registered_at)
      values (${participant.key}, ${participant.id}, ${participant.firmId}, ${isoInstant(now)})
      on conflict (key) do update set key = participant.key
      returning firm_id
    ), marked as (
      update firm set peppol_status = 'registered'
      where id = (select firm_id from added) and id = ${participant.firmId} and peppol_status <> 'registered'
    )
    select firm_id as "firmId" from added`;
  return rows[0]?.firmId;
}

/** @param key the participant's id in lower case */
export async function findParticipant(sql: Sql, key: string): Promise<ParticipantRow | undefined> {
  const rows = await sql<ParticipantRow[]>`select id, firm_id as "firmId" from participant where key = ${key}`;
  return rows[0];
}

interface IntegratorRow {
  readonly id: IntegratorId;
  readonly name: string;
  readonly productionAuthorized: boolean;
  readonly createdAt: Date;
}

export async function insertIntegrator(
  sql: Sql,
  integrator: Omit<IntegratorRow, "createdAt">,
  now: Instant,
  audit: AuditStamp,
): Promise<void> {
  await sql`
    with added as (
      insert into integrator (id, name, production_authorized, created_at)
      values (${integrator.id}, ${integrator.name}, ${integrator.productionAuthorized}, ${isoInstant(now)})
      returning id
    )
    select append_audit(${stampParameter(sql, audit)}, 'integrator.created', null, id, 'integrator', id::text, '{}')
    from added`;
}

/** What came of an approval, or of its end: `already` where it was so before, and nothing is written. */
export type ApprovalOutcome = "changed" | "already" | "unknown";

/**
 * Lets an integrator act for firms in production, or ends that. The change is announced to every node with its commit,
 * and the integrator finds it in its audit.
 */
export async function setProductionAuthorized(
  sql: Sql,
  { id, isAuthorized }: { readonly id: IntegratorId; readonly isAuthorized: boolean },
  now: Instant,
  audit: AuditStamp,
): Promise<ApprovalOutcome> {
  const stamp = stampParameter(sql, audit);
  const rows = await sql<{ readonly outcome: ApprovalOutcome }[]>`
    with changed as (
      update integrator set production_authorized = ${isAuthorized}, production_changed_at = ${isoInstant(now)}
      where id = ${id} and production_authorized <> ${isAuthorized}
      returning id, production_authorized as approved
    ), noted as (
      select append_audit(${stamp}, case when approved then 'integrator.approved' else 'integrator.withdrawn' end, null,
        id, 'integrator', id::text, '{}') from changed
    )
    select case when (select count(*) from noted) = 1 then 'changed'
      when exists (select 1 from integrator where id = ${id}) then 'already' else 'unknown' end as outcome`;
  return rows[0]?.outcome ?? "unknown";
}
