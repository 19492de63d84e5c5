/** What look-ups need of the engine: the network, a directory, and a budget for each key. */
import { createLookupBudget } from "../../engine/lookup/budget.js";
import { networkOf, ownNetwork } from "../../engine/lookup/network.js";
import type { LookupSource } from "../../engine/lookup/network.js";
import { createParticipantLookups } from "../../engine/lookup/participants.js";
import type { ParticipantLookups } from "../../engine/lookup/participants.js";
import type { SMP_MODES } from "../../engine/base/config.js";
import type { AccessPoint } from "../../engine/peppol/access-point.js";
import { findOwnParticipant } from "../../engine/storage/documents/received.js";
import type { Sql } from "../../engine/storage/sql.js";
import type { Base } from "./infrastructure.js";

/** What the rows of look-ups need. */
export interface LookupParts {
  readonly participants: ParticipantLookups;
}

const SOURCES: Readonly<Record<(typeof SMP_MODES)[number], LookupSource>> = {
  embedded: "internal",
  sml: "smp",
  static: "static",
};

/** Opens the look-ups of this process. */
export function startLookups(
  { config, clock }: Base,
  { sql, accessPoint }: { readonly sql: Sql; readonly accessPoint: AccessPoint | undefined },
): LookupParts {
  const findOwn = (key: string) => findOwnParticipant(sql, key);
  return {
    participants: createParticipantLookups({
      network:
        accessPoint === undefined ? ownNetwork(findOwn) : networkOf(accessPoint.lookup, SOURCES[config.SMP_MODE]),
      isOwn: async (key) => (await findOwn(key)) !== undefined,
      budget: createLookupBudget(clock),
      clock,
    }),
  };
}
