/** Whether an integrator may act for firms in production: operators say so, and take it back. */
import type { Clock } from "../../base/clock.js";
import type { IntegratorId } from "../../base/ids.js";
import { setProductionAuthorized } from "../../storage/identity/firms.js";
import type { ApprovalOutcome } from "../../storage/identity/firms.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { OPERATOR, stampOf } from "../audit.js";
import type { Actor } from "../audit.js";
import { noteOperator } from "./record.js";

interface Ports {
  readonly sql: Sql;
  readonly clock: Clock;
}

/** An integrator, and what an operator decides about it. */
export interface Approval {
  readonly id: IntegratorId;
  readonly isAuthorized: boolean;
}

/**
 * Approves an integrator for production, or takes that back; in a sandbox it is written and changes nothing. Keys,
 * consents and what waits stay as they are: each is asked anew whenever it is used. Safe to repeat.
 * @throws Refusal TEMPORARY
 */
export const decideProduction = ({ sql, clock }: Ports, approval: Approval, actor: Actor): Promise<ApprovalOutcome> =>
  orTemporary(setProductionAuthorized(sql, approval, clock.now(), stampOf(actor, clock)));

/** The same by the command line, written into the operators' record with its reason before it is done. */
export async function decideProductionBy(
  ports: Ports,
  { reason, ...approval }: Approval & { readonly reason: string },
): Promise<ApprovalOutcome> {
  const entry = { targetType: "integrator", targetId: approval.id, reason, refusal: null };
  const event = approval.isAuthorized ? "operator.integrator_approved" : "operator.integrator_withdrawn";
  await noteOperator(ports, OPERATOR, { ...entry, event });
  const outcome = await decideProduction(ports, approval, OPERATOR);
  if (outcome === "unknown")
    await noteOperator(ports, OPERATOR, { ...entry, event: "operator.failed", refusal: "NOT_FOUND" });
  return outcome;
}
