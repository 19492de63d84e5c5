/** Statements on what a firm has agreed to, as its people see it. */
import type { FirmId, IntegratorId } from "../../../base/ids.js";
import type { Sql } from "../../sql.js";
import type { BindingRow } from "../bindings.js";

/** One integrator that acts, may soon act, or has acted for a firm. */
export interface FirmConsent extends Pick<BindingRow, "state" | "scopes" | "interfaces"> {
  readonly integratorId: IntegratorId;
  readonly integratorName: string;
  readonly updatedAt: Date;
}

/** The consents of a firm, which one that is only assigned has not given; those in force come first. */
export async function listFirmConsents(sql: Sql, firmId: FirmId, limit: number): Promise<FirmConsent[]> {
  return sql<FirmConsent[]>`
    select b.integrator_id as "integratorId", i.name as "integratorName", b.state, b.scopes, b.interfaces,
      b.updated_at as "updatedAt"
    from firm_binding b join integrator i on i.id = b.integrator_id
    where b.firm_id = ${firmId} and b.state <> 'required'
    order by b.state = 'revoked', b.updated_at desc, b.integrator_id limit ${limit}`;
}
