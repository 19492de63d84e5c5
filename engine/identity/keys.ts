/** API keys: made with a secret that is shown once, ended for good. */
import type { Clock } from "../base/clock.js";
import { newId } from "../base/ids.js";
import type { FirmId, IntegratorId, KeyId } from "../base/ids.js";
import type { Scope } from "../base/scopes.js";
import { insertKey } from "../storage/identity/keys.js";
import type { KeyCreation } from "../storage/identity/keys.js";
import type { Sql } from "../storage/sql.js";
import { parseAllowlist } from "./allowlist.js";
import { OPERATOR, stampOf } from "./audit.js";
import type { Actor } from "./audit.js";
import { newSecret, sha256, shownPrefix } from "./tokens/secrets.js";
import type { SecretEnvironment } from "./tokens/secrets.js";

/** A firm's key, an integrator's central key, or an integrator's key for one firm. */
export type KeyOwner =
  | { readonly firmId: FirmId }
  | { readonly integratorId: IntegratorId; readonly scopedFirmId?: FirmId };

/** What an API key is made of; its secret is drawn here and shown once. */
export interface NewKey {
  readonly owner: KeyOwner;
  readonly scopes: readonly Scope[];
  readonly ipAllowlist?: readonly string[];
  readonly name?: string;
  /** The key that asks for this one, which then cannot have more than its own scopes. @default an operator asks */
  readonly issuer?: { readonly id: KeyId; readonly generation: number };
  /** @default OPERATOR */
  readonly actor?: Actor;
}

/** A key at the only moment at which its secret is known. */
export interface CreatedKey {
  /** Use it as client_id. */
  readonly id: KeyId;
  /** Also good as client_id. */
  readonly prefix: string;
  readonly secret: string;
}

/**
 * Makes a key.
 * @returns the key with its secret, or why there is none
 * @throws Refusal REQUEST_INVALID for a wrong allowlist
 * @source spec/enterprise.md, Authentication: Key management rules
 */
export async function createKey(
  ports: { readonly sql: Sql; readonly clock: Clock; readonly environment: SecretEnvironment },
  key: NewKey,
): Promise<CreatedKey | Exclude<KeyCreation, "created">> {
  const { owner } = key;
  const secret = newSecret("firmId" in owner ? "sk_live" : "sk_int", ports.environment);
  const created = { id: newId(ports.clock) as KeyId, prefix: shownPrefix(secret), secret };
  const outcome = await insertKey(
    ports.sql,
    {
      id: created.id,
      keyType: "firmId" in owner ? "sk_live" : "sk_int",
      firmId: "firmId" in owner ? owner.firmId : undefined,
      integratorId: "integratorId" in owner ? owner.integratorId : undefined,
      scopedFirmId: "integratorId" in owner ? owner.scopedFirmId : undefined,
      prefix: created.prefix,
      secretSha256: sha256(secret),
      scopes: key.scopes,
      ipAllowlist: parseAllowlist(key.ipAllowlist ?? []),
      name: key.name,
      issuer: key.issuer,
      audit: stampOf(key.actor ?? OPERATOR, ports.clock),
    },
    ports.clock.now(),
  );
  return outcome === "created" ? created : outcome;
}
