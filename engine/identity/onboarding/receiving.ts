/** Which firms have a mailbox here: one that only sends receives nothing, through whichever interface. */
import { BoundedMap } from "../../base/bounded.js";
import type { FirmId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { findMayReceive } from "../../storage/identity/onboarding/requests.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";

/**
 * Asks whether a firm may receive. A firm that may is remembered: nothing takes its mailbox away. One that may not is
 * asked for each time, so that a mailbox given to it is open at once on every node.
 */
export function createReceiving(sql: Sql): (firmId: FirmId) => true | Promise<boolean> {
  const known = new BoundedMap<FirmId, true>(LIMITS.receiving_firms_known_max);
  const ask = async (firmId: FirmId): Promise<boolean> => {
    const may = await orTemporary(findMayReceive(sql, firmId));
    if (may) known.set(firmId, true);
    return may;
  };
  return (firmId) => known.get(firmId) ?? ask(firmId);
}
