/** Statements on the plans of firms. */
import { isoInstant, isoOrNull } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { FirmId } from "../../base/ids.js";
import { stampParameter } from "../identity/audit.js";
import type { AuditStamp } from "../identity/audit.js";
import type { Sql } from "../sql.js";

/** The plans that there are. */
export const PLAN_CODES = ["standard", "start", "business"] as const;
/** The code of a plan. */
export type PlanCode = (typeof PLAN_CODES)[number];

/** A firm's plan. */
export interface PlanRow {
  readonly code: PlanCode;
  readonly expiresAt: Date | null;
}

/** The plan of a firm; one that was given none has the first. */
export async function findPlan(sql: Sql, firmId: FirmId): Promise<PlanRow> {
  const rows = await sql<PlanRow[]>`
    select code, expires_at as "expiresAt" from firm_plan where firm_id = ${firmId}`;
  return rows[0] ?? { code: "standard", expiresAt: null };
}

/** Gives a firm a plan. @returns whether there is such a firm */
export async function putPlan(
  sql: Sql,
  plan: {
    readonly firmId: FirmId;
    readonly code: PlanCode;
    readonly expiresAt: Instant | undefined;
    readonly audit: AuditStamp;
  },
  now: Instant,
): Promise<boolean> {
  const expiresAt = isoOrNull(plan.expiresAt);
  const rows = await sql<{ readonly isKnown: boolean }[]>`
    select put_firm_plan(${plan.firmId}, ${plan.code}, ${expiresAt}, ${isoInstant(now)},
      ${stampParameter(sql, plan.audit)}) as "isKnown"`;
  return rows[0]?.isKnown ?? false;
}
