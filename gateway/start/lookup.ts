/** What look-ups need of the engine: the network, a directory, and a budget for each key. */
import type { Directory } from "../../engine/lookup/directory.js";
import { engineDirectory } from "../../engine/lookup/directory-engine.js";
import { peppolDirectory } from "../../engine/lookup/directory-peppol.js";
import { createLookupBudget } from "../../engine/lookup/budget.js";
import { networkOf, ownNetwork } from "../../engine/lookup/network.js";
import type { LookupSource } from "../../engine/lookup/network.js";
import { createParticipantLookups } from "../../engine/lookup/participants.js";
import type { ParticipantLookups } from "../../engine/lookup/participants.js";
import type { SMP_MODES } from "../../engine/base/config.js";
import type { AccessPoint } from "../../engine/peppol/access-point.js";
import { createHttpClient } from "../../engine/peppol/network/http.js";
import { findOwnParticipant } from "../../engine/storage/documents/received.js";
import type { Sql } from "../../engine/storage/sql.js";
import type { Base } from "./infrastructure.js";

/** What the rows of look-ups need. */
export interface LookupParts {
  readonly directory: Directory;
  readonly participants: ParticipantLookups;
}

const SOURCES: Readonly<Record<(typeof SMP_MODES)[number], LookupSource>> = {
  embedded: "internal",
  sml: "smp",
  static: "static",
};

/** Opens the look-ups of this process. */
export function startLookups(
  base: Base,
  { sql, accessPoint }: { readonly sql: Sql; readonly accessPoint: AccessPoint | undefined },
): LookupParts {
  const { config, clock } = base;
  const findOwn = (key: string) => findOwnParticipant(sql, key);
  return {
    directory: openDirectory(base, sql),
    participants: createParticipantLookups({
      network:
        accessPoint === undefined ? ownNetwork(findOwn) : networkOf(accessPoint.lookup, SOURCES[config.SMP_MODE]),
      isOwn: async (key) => (await findOwn(key)) !== undefined,
      budget: createLookupBudget(clock),
      clock,
    }),
  };
}

/** The directory that DIRECTORY_URL names, which the operator's word lets be anywhere; else our own firms. */
function openDirectory({ config, clock, log, stack }: Base, sql: Sql): Directory {
  if (config.DIRECTORY_URL === undefined) return engineDirectory(sql);
  const url = config.DIRECTORY_URL.replace(/\/+$/, "");
  const client = createHttpClient({ policy: { allowLoopback: false, ownOrigins: [new URL(url).origin] } });
  stack.add("client of the directory", () => {
    client.close();
  });
  return peppolDirectory({ url, http: client.request, clock, log });
}
