/** Keys that keys ask for: an integrator's own and those for one firm, and the successor of a firm's key. */
import { isoInstant, isoOrNull } from "../../base/clock.js";
import type { Clock } from "../../base/clock.js";
import { Refusal } from "../../base/errors.js";
import type { ErrorName } from "../../base/errors.js";
import { newId } from "../../base/ids.js";
import type { FirmId, IntegratorId, KeyId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { SCOPES } from "../../base/scopes.js";
import type { Scope } from "../../base/scopes.js";
import { findBinding } from "../../storage/identity/bindings.js";
import type { BindingRow } from "../../storage/identity/bindings.js";
import { deactivateKey, findKey, findKeyIdByPrefix, listKeys, rotateKey } from "../../storage/identity/keys.js";
import type { KeyCreation, KeyDeactivation, KeyRow } from "../../storage/identity/keys.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { parseAllowlist } from "../allowlist.js";
import { stampOf } from "../audit.js";
import type { Actor } from "../audit.js";
import { integratorOf } from "../caller.js";
import type { Caller } from "../caller.js";
import { createKey } from "../keys.js";
import type { CreatedKey } from "../keys.js";
import { isForFirmKeys, knownScopes } from "../scopes.js";
import { newSecret, sha256, shownPrefix } from "../tokens/secrets.js";
import type { SecretEnvironment } from "../tokens/secrets.js";

/** What the commands on keys need of the engine. */
export interface PartnerKeyPorts {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly environment: SecretEnvironment;
  /** Whether the operator lets integrators make keys for single firms. */
  readonly firmKeyIssuance: boolean;
}

/** What an integrator asks a new key to be. */
export interface KeyWish {
  readonly name: string | undefined;
  /** @default all that the caller, and for a firm's key the consent, allows, without keys:manage for a firm's key */
  readonly scopes: readonly Scope[] | undefined;
  readonly ipAllowlist: readonly string[] | undefined;
  /** The only firm for which the key may act. */
  readonly scopedFirmId: FirmId | undefined;
}

/** A new key of an integrator at the only moment at which its secret is known. */
export interface IssuedKey extends CreatedKey {
  readonly name: string | null;
  readonly scopes: readonly Scope[];
  readonly ipAllowlist: readonly string[];
  readonly scopedFirmId: FirmId | null;
}

/** A key as its integrator sees it in a list. @source spec/enterprise.md, Integrator API key */
export interface ListedKey {
  readonly id: KeyId;
  readonly keyPrefix: string;
  readonly name: string | null;
  readonly scopes: string[];
  readonly ipAllowlist: string[];
  readonly isActive: boolean;
  readonly lastUsedAt: string | null;
  readonly createdAt: string;
  readonly scopedFirmId: FirmId | null;
}

/**
 * The scopes that a caller can give on: its own, and for a firm's key those of the firm's consent.
 * @param binding of the firm that the key is for; undefined for a main key
 */
function grantableScopes(held: ReadonlySet<Scope>, binding: Pick<BindingRow, "scopes"> | undefined): readonly Scope[] {
  const own = SCOPES.filter((scope) => held.has(scope));
  if (binding === undefined) return own;
  return own.filter((scope) => binding.scopes.includes(scope) && isForFirmKeys(scope));
}

/** What is said of a key that was not made. `owner_unknown` cannot be: the caller is the owner. */
const CREATION_REFUSALS: Readonly<Record<Exclude<KeyCreation, "created">, ErrorName>> = {
  limit_reached: "KEY_LIMIT_REACHED",
  owner_unknown: "KEY_CHANGED",
  not_bound: "FIRM_FORBIDDEN",
  caller_changed: "KEY_CHANGED",
  scope_exceeds: "SCOPE_EXCEEDS",
};

/** The active binding through which a caller may make keys for a firm. @throws Refusal FIRM_FORBIDDEN */
async function bindingFor(ports: PartnerKeyPorts, caller: Caller, firmId: FirmId): Promise<BindingRow> {
  const binding = await orTemporary(findBinding(ports.sql, integratorOf(caller), firmId));
  const isAuthorized = ports.environment === "sandbox" || caller.productionAuthorized;
  if (
    binding?.state !== "active" ||
    !isAuthorized ||
    caller.bindingGeneration < binding.revokedGeneration ||
    (caller.scopedFirmId !== undefined && caller.scopedFirmId !== firmId)
  )
    throw new Refusal("FIRM_FORBIDDEN");
  return binding;
}

/**
 * Makes a key for the caller's integrator. The rules are judged again by the statement that writes it, so that nothing
 * that changes meanwhile lets through more than the caller and the firm allow.
 * @throws Refusal FIRM_KEY_ISSUANCE_DISABLED, FIRM_FORBIDDEN, SCOPE_EXCEEDS, REQUEST_INVALID, KEY_LIMIT_REACHED,
 *   KEY_CHANGED, TEMPORARY
 * @source spec/enterprise.md, POST /integrator/keys; Key management rules
 */
export async function issueKey(
  ports: PartnerKeyPorts,
  caller: Caller,
  wish: KeyWish,
  actor: Actor,
): Promise<IssuedKey> {
  const { scopedFirmId, name } = wish;
  if (scopedFirmId !== undefined && !ports.firmKeyIssuance) throw new Refusal("FIRM_KEY_ISSUANCE_DISABLED");
  const binding = scopedFirmId === undefined ? undefined : await bindingFor(ports, caller, scopedFirmId);
  const grantable = grantableScopes(caller.scopes, binding);
  const scopes = SCOPES.filter((scope) => (wish.scopes ?? grantable).includes(scope));
  const beyond = scopes.filter((scope) => !grantable.includes(scope));
  if (scopes.length === 0 || beyond.length > 0)
    throw new Refusal(
      "SCOPE_EXCEEDS",
      beyond.map((scope) => ({ field: "scopes", message: `${scope} cannot be given to this key.` })),
    );
  const ipAllowlist = parseAllowlist(wish.ipAllowlist ?? [], "ipAllowlist");
  const made = await orTemporary(
    createKey(ports, {
      owner: { integratorId: integratorOf(caller), ...(scopedFirmId === undefined ? {} : { scopedFirmId }) },
      scopes,
      ipAllowlist,
      ...(name === undefined ? {} : { name }),
      issuer: { id: caller.keyId, generation: caller.generation },
      actor,
    }),
  );
  if (typeof made === "string") throw new Refusal(CREATION_REFUSALS[made]);
  return { ...made, name: name ?? null, scopes, ipAllowlist, scopedFirmId: scopedFirmId ?? null };
}

/** How a key is named that is to end: by one of the two, or by both, which must then mean the same key. */
export interface NamedKey {
  readonly keyId: KeyId | undefined;
  readonly prefix: string | undefined;
}

const END_REFUSALS: Readonly<Record<Exclude<KeyDeactivation, "deactivated">, ErrorName>> = {
  already_inactive: "KEY_INACTIVE",
  unknown: "NOT_FOUND",
  last_main_key: "KEY_LAST_MAIN",
  caller_changed: "KEY_CHANGED",
};

/**
 * Ends a key of the caller's integrator, and its tokens with it.
 * @returns the key's id
 * @throws Refusal NOT_FOUND for a key of nobody or of somebody else, KEY_INACTIVE, KEY_LAST_MAIN, KEY_CHANGED,
 *   TEMPORARY
 * @source spec/enterprise.md, DELETE /integrator/keys; States: integrator key
 */
export async function endKey(ports: PartnerKeyPorts, caller: Caller, named: NamedKey, actor: Actor): Promise<KeyId> {
  const integratorId = integratorOf(caller);
  const byPrefix =
    named.prefix === undefined
      ? named.keyId
      : await orTemporary(findKeyIdByPrefix(ports.sql, integratorId, named.prefix));
  const id = named.keyId ?? byPrefix;
  if (id === undefined || id !== byPrefix) throw new Refusal("NOT_FOUND");
  const end = { id, integratorId, issuer: caller.keyId, audit: stampOf(actor, ports.clock) };
  const outcome = await orTemporary(deactivateKey(ports.sql, end, ports.clock.now()));
  if (outcome !== "deactivated") throw new Refusal(END_REFUSALS[outcome]);
  return id;
}

/**
 * Ends the calling firm key and makes its successor with the same scopes, allowlist and name.
 * @throws Refusal ROTATION_FORBIDDEN for an integrator's key, SCOPE_MISSING for a token that lacks a scope of its key,
 *   KEY_CHANGED when another call was first, TEMPORARY
 * @source spec/enterprise.md, POST /auth/rotate-secret; Key management rules, 2
 */
export async function rotateSecret(ports: PartnerKeyPorts, caller: Caller, actor: Actor): Promise<CreatedKey> {
  if (caller.kind !== "firm") throw new Refusal("ROTATION_FORBIDDEN");
  // Whoever was handed a token with less than its key would else have all of it, and the key's owner nothing.
  const key = await orTemporary(findKey(ports.sql, caller.keyId));
  const lacking = knownScopes(key?.scopes ?? []).find((scope) => !caller.scopes.has(scope));
  if (lacking !== undefined) throw new Refusal("SCOPE_MISSING", [], { requiredScope: lacking });
  const secret = newSecret("sk_live", ports.environment);
  const made = { id: newId(ports.clock) as KeyId, prefix: shownPrefix(secret), secret };
  const outcome = await orTemporary(
    rotateKey(
      ports.sql,
      {
        id: caller.keyId,
        generation: caller.generation,
        newId: made.id,
        prefix: made.prefix,
        secretSha256: sha256(secret),
        audit: stampOf(actor, ports.clock),
      },
      ports.clock.now(),
    ),
  );
  if (outcome === "not_a_firm_key") throw new Refusal("ROTATION_FORBIDDEN");
  if (outcome === "changed") throw new Refusal("KEY_CHANGED");
  return made;
}

const listed = (row: KeyRow): ListedKey => ({
  id: row.id,
  keyPrefix: row.prefix,
  name: row.name,
  scopes: [...row.scopes],
  ipAllowlist: [...row.ipAllowlist],
  isActive: row.active,
  lastUsedAt: isoOrNull(row.lastUsedAt),
  createdAt: isoInstant(row.createdAt),
  scopedFirmId: row.scopedFirmId,
});

/** The keys of an integrator, newest first, also those that have ended. @throws Refusal TEMPORARY */
export async function readKeys(sql: Sql, integratorId: IntegratorId): Promise<ListedKey[]> {
  return (await orTemporary(listKeys(sql, { integratorId }, LIMITS.keys_listed_max))).map(listed);
}
