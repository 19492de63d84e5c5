/**
 * Who vouches for a token that the registry cannot check: an operator, who has asked the tax authority or the present
 * provider and names what they said. Nobody is shown the token that came with the operation.
 */
import { timingSafeEqual } from "node:crypto";

import { Refusal } from "../../base/errors.js";
import { findWhiteLabel, UNVOUCHED, vouchWhiteLabel } from "../../storage/identity/white-label.js";
import { orNotFound, orTemporary } from "../../storage/sql.js";
import { OPERATOR, stampOf } from "../audit.js";
import { sha256 } from "../tokens/secrets.js";
import { operationContext } from "./operations.js";
import type { WhiteLabelPorts } from "./operations.js";

/** What an operator vouches for. */
export interface Vouching {
  /** Of the operation. */
  readonly id: string;
  /** The verification token or the migration code, as the one who gave it out has told it. */
  readonly token: string;
}

/**
 * Lets an operation that waits for an operator's word go on, when its token is the one that the operator has checked.
 * @throws Refusal NOT_FOUND; WHITE_LABEL_STATE where nothing waits for that word; VERIFICATION_MISMATCH,
 *   INTEGRATOR_UNAPPROVED and CUSTOMER_REF_CONFLICT, and nothing is changed; TEMPORARY
 */
export async function vouchFor(
  { sql, clock, sealer, environment }: WhiteLabelPorts,
  { id, token }: Vouching,
): Promise<void> {
  const row = await orNotFound(findWhiteLabel(sql, id, undefined));
  const { status, version, errorCode, secretKeyId, secretSealed } = row;
  if (status !== "manual_review" || errorCode !== UNVOUCHED || secretKeyId === null || secretSealed === null)
    throw new Refusal("WHITE_LABEL_STATE");
  const given = sealer.open(secretKeyId, secretSealed, operationContext(id, "secret")).toString("utf8");
  if (!timingSafeEqual(sha256(given), sha256(token)))
    throw new Refusal("VERIFICATION_MISMATCH", [{ field: "token", message: "The operation came with another one." }]);
  const vouching = { id, version, isProduction: environment === "production", audit: stampOf(OPERATOR, clock) };
  const outcome = await orTemporary(vouchWhiteLabel(sql, vouching, clock.now()));
  if (outcome === "not_authorized")
    throw new Refusal("INTEGRATOR_UNAPPROVED", [
      { field: "id", message: "The operation is one of an integrator that is not approved for production." },
    ]);
  if (outcome === "ref_conflict")
    throw new Refusal("CUSTOMER_REF_CONFLICT", [
      { field: "id", message: "Its customerRef was given to a firm meanwhile; release the operation." },
    ]);
  if (outcome === "changed") throw new Refusal("WHITE_LABEL_STATE");
}
