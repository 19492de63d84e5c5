/** Statements on the bindings of firms to integrators. */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { FirmId, IntegratorId } from "../../base/ids.js";
import type { Sql } from "../sql.js";

/** @source spec/enterprise.md, States: firm and partner binding */
export const BINDING_STATES = ["required", "pending", "active", "revoked"] as const;
type BindingState = (typeof BINDING_STATES)[number];

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
}

export async function findBinding(
  sql: Sql,
  integratorId: IntegratorId,
  firmId: FirmId,
): Promise<BindingRow | undefined> {
  const rows = await sql<BindingRow[]>`
    select integrator_id as "integratorId", firm_id as "firmId", customer_ref as "customerRef", state, scopes,
    interfaces,
      revoked_generation as "revokedGeneration"
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
      revoked_generation as "revokedGeneration"
    from firm_binding where integrator_id = ${integratorId} and customer_ref = ${customerRef}`;
  return rows[0];
}

/** Sets a binding's state and content; makes it when there is none. What a withdrawal has ended stays ended. */
export async function putBinding(
  sql: Sql,
  binding: Omit<BindingRow, "revokedGeneration">,
  now: Instant,
): Promise<void> {
  await sql`
    insert into firm_binding (integrator_id, firm_id, customer_ref, state, scopes, interfaces, created_at, updated_at)
    values (${binding.integratorId}, ${binding.firmId}, ${binding.customerRef}, ${binding.state},
    ${[...binding.scopes]},
      ${[...binding.interfaces]}, ${isoInstant(now)}, ${isoInstant(now)})
    on conflict (integrator_id, firm_id) do update set
      customer_ref = excluded.customer_ref, state = excluded.state, scopes = excluded.scopes,
      interfaces = excluded.interfaces,
      updated_at = excluded.updated_at`;
}

/** @returns whether there was a binding to withdraw */
export async function revokeBinding(
  sql: Sql,
  integratorId: IntegratorId,
  firmId: FirmId,
  now: Instant,
): Promise<boolean> {
  const rows = await sql<{ readonly revoked: boolean }[]>`
    select revoke_firm_binding(${integratorId}, ${firmId}, ${isoInstant(now)}) as revoked`;
  return rows[0]?.revoked ?? false;
}
