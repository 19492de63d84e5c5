/** The end of a customer: the interface notes customers and takes none back, so that an operator does. */
import type { Clock } from "../../base/clock.js";
import { endWhiteLabelCustomer, isCustomerEnded } from "../../storage/identity/white-label.js";
import type { CustomerEnd } from "../../storage/identity/white-label.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { OPERATOR, stampOf } from "../audit.js";
import { noteOperator } from "../operators/record.js";

/** A customer that an operator ends, and why. */
export interface EndingCustomer {
  readonly id: string;
  readonly reason: string;
}

/** What the operators' record says where nothing was ended. */
const REFUSALS: Readonly<Record<Exclude<CustomerEnd, "ended">, string>> = {
  in_use: "WHITE_LABEL_STATE",
  unknown: "NOT_FOUND",
};

/**
 * Ends a customer by the command line, for one whose tax id was wrong: its name and its company are free again. One
 * whose company is bound under its name stays, because it says who vouched for that company. It is written into the
 * operators' record before it is done. Safe to repeat: one that was ended before is ended.
 * @throws Refusal TEMPORARY
 */
export async function endCustomerBy(
  ports: { readonly sql: Sql; readonly clock: Clock },
  { id, reason }: EndingCustomer,
): Promise<CustomerEnd> {
  const entry = { targetType: "white_label_customer", targetId: id, reason, refusal: null };
  await noteOperator(ports, OPERATOR, { ...entry, event: "operator.customer_ended" });
  const outcome = await orTemporary(endWhiteLabelCustomer(ports.sql, id, stampOf(OPERATOR, ports.clock)));
  // Who was killed behind its end could not say so.
  if (outcome === "unknown" && (await orTemporary(isCustomerEnded(ports.sql, id)))) return "ended";
  if (outcome !== "ended")
    await noteOperator(ports, OPERATOR, { ...entry, event: "operator.failed", refusal: REFUSALS[outcome] });
  return outcome;
}
