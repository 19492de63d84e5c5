/** Signing keys of tokens that an operator ends, because they leaked. */
import type { Clock } from "../../base/clock.js";
import { retireSigningKeys } from "../../storage/identity/signing-keys.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { OPERATOR } from "../audit.js";
import { signingKeysSince } from "../tokens/signing-keys.js";
import { noteOperator } from "./record.js";

interface Ports {
  readonly sql: Sql;
  readonly clock: Clock;
}

/** The key that leaked, and why it ends; without one all keys do of which tokens could live. */
interface Retirement {
  readonly kid: string | undefined;
  readonly reason: string;
}

/**
 * Ends keys and every token that they have signed, written into the operators' record before it is done. Of one key
 * safe to repeat; all of them again are those that were made since, too.
 * @returns the ids of those that there are
 * @throws Refusal TEMPORARY
 */
export async function retireSigningKeysBy(ports: Ports, { kid, reason }: Retirement): Promise<readonly string[]> {
  const { sql, clock } = ports;
  const entry = { targetType: "signing_key", targetId: kid ?? "all", reason, refusal: null };
  await noteOperator(ports, OPERATOR, { ...entry, event: "operator.signing_key_retired" });
  const now = clock.now();
  const retired = await orTemporary(retireSigningKeys(sql, { kid, since: signingKeysSince(now) }, now));
  if (retired.length === 0 && kid !== undefined)
    await noteOperator(ports, OPERATOR, { ...entry, event: "operator.failed", refusal: "NOT_FOUND" });
  return retired;
}
