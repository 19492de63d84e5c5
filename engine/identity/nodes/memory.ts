/** What a node remembers of identity, under the keys by which announcements name it. */
import type { Clock } from "../../base/clock.js";
import type { FirmId, IntegratorId, KeyId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { findBinding } from "../../storage/identity/bindings.js";
import type { BindingRow } from "../../storage/identity/bindings.js";
import { findParticipant } from "../../storage/identity/firms.js";
import type { ParticipantRow } from "../../storage/identity/firms.js";
import { findKey } from "../../storage/identity/keys.js";
import type { KeyRow } from "../../storage/identity/keys.js";
import { readOrTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { createCache } from "./cache.js";
import type { Cache } from "./cache.js";

/** Everything that a node remembers of identity. */
export interface Memory {
  readonly keys: Cache<KeyRow>;
  /** By the participant's id in lower case; null: nobody's. */
  readonly participants: Cache<ParticipantRow | null>;
  /** By `<integratorId>:<firmId>`; null: not bound. */
  readonly bindings: Cache<BindingRow | null>;
  clear(): void;
}

/** The key under which a binding is remembered and announced. */
export const bindingKey = (integratorId: IntegratorId, firmId: FirmId): string => `${integratorId}:${firmId}`;

/** Makes an empty memory over the statements that fill it. */
export function createMemory(ports: { readonly sql: Sql; readonly clock: Clock; isFresh(): boolean }): Memory {
  const { sql, clock, isFresh } = ports;
  const common = { clock, isFresh, ttl_ms: LIMITS.key_cache_ms };
  const keys = createCache<KeyRow>({
    ...common,
    entries_max: LIMITS.key_cache_entries,
    load: (id) => readOrTemporary(() => findKey(sql, id as KeyId)),
  });
  // Absence is remembered too, so that an unknown participant or firm costs what a foreign one costs.
  const participants = createCache<ParticipantRow | null>({
    ...common,
    entries_max: LIMITS.participant_cache_entries,
    load: async (key) => (await readOrTemporary(() => findParticipant(sql, key))) ?? null,
  });
  const bindings = createCache<BindingRow | null>({
    ...common,
    entries_max: LIMITS.binding_cache_entries,
    load: async (key) => {
      const [integratorId = "", firmId = ""] = key.split(":");
      return (await readOrTemporary(() => findBinding(sql, integratorId as IntegratorId, firmId as FirmId))) ?? null;
    },
  });
  return {
    keys,
    participants,
    bindings,
    clear: () => {
      for (const cache of [keys, participants, bindings]) cache.clear();
    },
  };
}
