/** Statements on the bindings of firms to integrators. */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { FirmId, IntegratorId } from "../../base/ids.js";
import type { Sql } from "../sql.js";
import { stampParameter } from "./audit.js";
import type { AuditStamp } from "./audit.js";

/** @source spec/enterprise.md, States: firm and partner binding */
export const BINDING_STATES = ["required", "pending", "active", "revoked"] as const;
export type BindingState = (typeof BINDING_STATES)[number];

/** Interfaces that a consent names. @source spec/enterprise.md, Consent offer; Endpoints: GET /firms/consent-status */
export const INTERFACES = ["enterprise", "sapi", "connector"] as const;
export type Interface = (typeof INTERFACES)[number];

export interface BindingRow {
  readonly integratorId: IntegratorId;
  readonly firmId: FirmId;
  readonly customerRef: string | null;
  readonly state: BindingState;
  readonly scopes: readonly string[];
  readonly interfaces: readonly string[];
  /** Access tokens with a smaller binding generation were born before the last withdrawal. */
  readonly revokedGeneration: number;
  readonly updatedAt: Date;
}

export async function findBinding(
  sql: Sql,
  integratorId: IntegratorId,
  firmId: FirmId,
): Promise<BindingRow | undefined> {
  const rows = await sql<BindingRow[]>`
    select integrator_id as "integratorId", firm_id as "firmId", customer_ref as "customerRef", state, scopes,
    interfaces,
      revoked_generation as "revokedGeneration", updated_at as "updatedAt"
    from firm_binding where integrator_id = ${integratorId} and firm_id = ${firmId}`;
  return rows[0];
}

/** The binding that an integrator calls by its own name for the customer. */
export async function findBindingByCustomerRef(
  sql: Sql,
  integratorId: IntegratorId,
  customerRef: string,
): Promise<BindingRow | undefined> {
  const rows = await sql<BindingRow[]>`
    select integrator_id as "integratorId", firm_id as "firmId", customer_ref as "customerRef", state, scopes,
    interfaces,
      revoked_generation as "revokedGeneration", updated_at as "updatedAt"
    from firm_binding where integrator_id = ${integratorId} and customer_ref = ${customerRef}`;
  return rows[0];
}

/** Sets a binding's state and content; makes it when there is none. What a withdrawal has ended stays ended. */
export async function putBinding(
  sql: Sql,
  binding: Omit<BindingRow, "revokedGeneration" | "updatedAt">,
  now: Instant,
  audit: AuditStamp,
): Promise<void> {
  await sql`
    select put_firm_binding(${binding.integratorId}, ${binding.firmId}, ${binding.customerRef}, ${binding.state},
      ${[...binding.scopes]}, ${[...binding.interfaces]}, ${isoInstant(now)}, ${stampParameter(sql, audit)})`;
}

/** The state of the binding that there is now, or which of the two is not there. */
export type SandboxAssignment = BindingState | "unknown_integrator" | "unknown_firm";

/**
 * Gives a firm of the sandbox to an integrator, who may invite it from then on and nothing else. A binding that there
 * is stays as it is.
 */
export async function assignSandboxFirm(
  sql: Sql,
  { integratorId, firmId }: Pick<BindingRow, "integratorId" | "firmId">,
  now: Instant,
  audit: AuditStamp,
): Promise<SandboxAssignment> {
  await sql`
    with made as (
      insert into firm_binding (integrator_id, firm_id, state, scopes, interfaces, created_at, updated_at)
      select i.id, f.id, 'required', '{}', '{}', ${isoInstant(now)}, ${isoInstant(now)}
      from integrator as i join firm as f on f.id = ${firmId} and f.sandbox and lock_living_firm(f.id)
      where i.id = ${integratorId}
      on conflict (integrator_id, firm_id) do nothing
      returning integrator_id, firm_id, state
    )
    select append_audit(${stampParameter(sql, audit)}, 'firm.assigned', firm_id, integrator_id, 'firm', firm_id::text,
      jsonb_build_object('state', state)) from made`;
  // A statement of its own, which sees what the one before had to wait for.
  const rows = await sql<{ readonly isIntegrator: boolean; readonly state: BindingState | null }[]>`
    select exists (select 1 from integrator where id = ${integratorId}) as "isIntegrator", (
      select b.state from firm_binding as b join firm as f on f.id = b.firm_id
      where b.integrator_id = ${integratorId} and f.id = ${firmId} and f.sandbox and f.erased_at is null
    ) as state`;
  const [row] = rows;
  if (row?.isIntegrator !== true) return "unknown_integrator";
  return row.state ?? "unknown_firm";
}

/** @returns whether there was a binding to withdraw */
export async function revokeBinding(
  sql: Sql,
  binding: Pick<BindingRow, "integratorId" | "firmId">,
  now: Instant,
  audit: AuditStamp,
): Promise<boolean> {
  const rows = await sql<{ readonly revoked: boolean }[]>`
    select revoke_firm_binding(${binding.integratorId}, ${binding.firmId}, ${isoInstant(now)},
      ${stampParameter(sql, audit)}) as revoked`;
  return rows[0]?.revoked ?? false;
}
