/** Statements on API keys. A secret never reaches this file, only its SHA-256. */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { FirmId, IntegratorId, KeyId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { Sql } from "../sql.js";
import { stampParameter } from "./audit.js";
import type { AuditStamp } from "./audit.js";

export interface KeyRow {
  readonly id: KeyId;
  readonly keyType: "sk_live" | "sk_int";
  readonly firmId: FirmId | null;
  readonly integratorId: IntegratorId | null;
  readonly scopedFirmId: FirmId | null;
  /** As shown to people; also accepted as client_id. */
  readonly prefix: string;
  readonly scopes: readonly string[];
  readonly ipAllowlist: readonly string[];
  readonly active: boolean;
  readonly generation: number;
  readonly name: string | null;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  /** Of the integrator; true for firm keys. */
  readonly productionAuthorized: boolean;
  /** Of the integrator; 0 for firm keys. */
  readonly bindingGeneration: number;
}

export async function findKey(sql: Sql, id: KeyId): Promise<KeyRow | undefined> {
  const rows = await sql<KeyRow[]>`
    select k.id, k.key_type as "keyType", k.firm_id as "firmId", k.integrator_id as "integratorId",
    k.scoped_firm_id as "scopedFirmId",
      k.prefix, k.scopes, k.ip_allowlist as "ipAllowlist", k.active, k.generation, k.name, k.created_at as "createdAt",
      k.last_used_at as "lastUsedAt", coalesce(i.production_authorized, true) as "productionAuthorized",
      coalesce(i.binding_generation, 0) as "bindingGeneration"
    from api_key k left join integrator i on i.id = k.integrator_id
    where k.id = ${id}`;
  return rows[0];
}

/** Keys of one owner, newest first. */
export async function listKeys(
  sql: Sql,
  owner: { readonly firmId: FirmId } | { readonly integratorId: IntegratorId },
  limit: number,
): Promise<KeyRow[]> {
  const firmId = "firmId" in owner ? owner.firmId : null;
  const integratorId = "integratorId" in owner ? owner.integratorId : null;
  return sql<KeyRow[]>`
    select k.id, k.key_type as "keyType", k.firm_id as "firmId", k.integrator_id as "integratorId",
    k.scoped_firm_id as "scopedFirmId",
      k.prefix, k.scopes, k.ip_allowlist as "ipAllowlist", k.active, k.generation, k.name, k.created_at as "createdAt",
      k.last_used_at as "lastUsedAt", coalesce(i.production_authorized, true) as "productionAuthorized",
      coalesce(i.binding_generation, 0) as "bindingGeneration"
    from api_key k left join integrator i on i.id = k.integrator_id
    where k.firm_id = ${firmId} or k.integrator_id = ${integratorId}
    order by k.created_at desc, k.id limit ${limit}`;
}

/** Whether there is a firm or an integrator with this id. */
export async function isOwnerKnown(
  sql: Sql,
  owner: { readonly firmId?: FirmId; readonly integratorId?: IntegratorId },
): Promise<boolean> {
  const [found] = await sql<{ readonly isKnown: boolean }[]>`
    select exists (select 1 from firm where id = ${owner.firmId ?? null})
      or exists (select 1 from integrator where id = ${owner.integratorId ?? null}) as "isKnown"`;
  return found?.isKnown === true;
}

interface SecretRow {
  readonly id: KeyId;
  readonly secretSha256: Uint8Array;
}

/**
 * The digest to compare a secret with, of the active key with this id. There is always one row: for an unknown id it is
 * `decoy`, so that known and unknown clients take the same path. One unique index a statement: with both in one
 * condition the planner reads a small table to its end for an unknown client, 20 µs longer than for a known one.
 */
export async function findSecretById(sql: Sql, id: KeyId, decoy: SecretRow): Promise<SecretRow> {
  const rows = await sql<SecretRow[]>`
    select coalesce(k.id, ${decoy.id}) as id, coalesce(k.secret_sha256, ${decoy.secretSha256}) as "secretSha256"
    from (select 1) as always left join api_key k on k.id = ${id} and k.active`;
  return rows[0] ?? decoy;
}

/** The same by the prefix that people see. */
export async function findSecretByPrefix(sql: Sql, prefix: string, decoy: SecretRow): Promise<SecretRow> {
  const rows = await sql<SecretRow[]>`
    select coalesce(k.id, ${decoy.id}) as id, coalesce(k.secret_sha256, ${decoy.secretSha256}) as "secretSha256"
    from (select 1) as always left join api_key k on k.prefix = ${prefix} and k.active`;
  return rows[0] ?? decoy;
}

interface NewKeyRow {
  readonly id: KeyId;
  readonly keyType: "sk_live" | "sk_int";
  readonly firmId: FirmId | undefined;
  readonly integratorId: IntegratorId | undefined;
  readonly scopedFirmId: FirmId | undefined;
  readonly prefix: string;
  readonly secretSha256: Uint8Array;
  readonly scopes: readonly string[];
  readonly ipAllowlist: readonly string[];
  readonly name: string | undefined;
  /** The key that asks for this one; undefined when an operator does. */
  readonly issuer: { readonly id: KeyId; readonly generation: number } | undefined;
  readonly audit: AuditStamp | undefined;
}

/** The last two are for keys that keys ask for; see create_api_key. */
export type KeyCreation =
  | "created"
  | "limit_reached"
  | "owner_unknown"
  | "not_bound"
  | "caller_changed"
  | "scope_exceeds";

/** Makes a key within the limits of its owner, also when many are made at once. */
export async function insertKey(sql: Sql, key: NewKeyRow, now: Instant): Promise<KeyCreation> {
  const rows = await sql<{ readonly outcome: KeyCreation }[]>`
    select create_api_key(${key.id}, ${key.keyType}, ${key.firmId ?? null}, ${key.integratorId ?? null},
    ${key.scopedFirmId ?? null},
      ${key.prefix}, ${key.secretSha256}, ${[...key.scopes]}, ${[...key.ipAllowlist]}, ${key.name ?? null},
      ${isoInstant(now)},
      ${LIMITS.keys_unrestricted_active_max}, ${LIMITS.keys_scoped_active_max}, ${stampParameter(sql, key.audit)},
      ${key.issuer?.id ?? null}, ${key.issuer?.generation ?? null}) as outcome`;
  return rows[0]?.outcome ?? "owner_unknown";
}

export type KeyDeactivation = "deactivated" | "already_inactive" | "unknown" | "last_main_key" | "caller_changed";

interface KeyEnd {
  readonly id: KeyId;
  /** Whose key it must be, with the last active main key protected; undefined for an operator. */
  readonly integratorId: IntegratorId | undefined;
  /** The key that asks; undefined for an operator. */
  readonly issuer: KeyId | undefined;
  readonly audit: AuditStamp | undefined;
}

export async function deactivateKey(sql: Sql, end: KeyEnd, now: Instant): Promise<KeyDeactivation> {
  const rows = await sql<{ readonly outcome: KeyDeactivation }[]>`
    select deactivate_api_key(${end.id}, ${end.integratorId ?? null}, ${isoInstant(now)},
      ${stampParameter(sql, end.audit)}, ${end.issuer ?? null}) as outcome`;
  return rows[0]?.outcome ?? "unknown";
}

interface KeyRotation {
  readonly id: KeyId;
  readonly generation: number;
  readonly newId: KeyId;
  readonly prefix: string;
  readonly secretSha256: Uint8Array;
  readonly audit: AuditStamp;
}

type KeyRotationOutcome = "rotated" | "changed" | "not_a_firm_key";

/** Ends a firm's key and makes its successor in one statement. */
export async function rotateKey(sql: Sql, rotation: KeyRotation, now: Instant): Promise<KeyRotationOutcome> {
  const { id, generation, newId, prefix, secretSha256, audit } = rotation;
  const rows = await sql<{ readonly outcome: KeyRotationOutcome }[]>`
    select rotate_api_key(${id}, ${generation}, ${newId}, ${prefix}, ${secretSha256}, ${isoInstant(now)},
      ${stampParameter(sql, audit)}) as outcome`;
  return rows[0]?.outcome ?? "changed";
}

/** The key of an integrator that people see under this prefix. */
export async function findKeyIdByPrefix(
  sql: Sql,
  integratorId: IntegratorId,
  prefix: string,
): Promise<KeyId | undefined> {
  const rows = await sql<{ readonly id: KeyId }[]>`
    select id from api_key where prefix = ${prefix} and integrator_id = ${integratorId}`;
  return rows[0]?.id;
}

/** @returns whether there is such an active key */
export async function replaceIpAllowlist(
  sql: Sql,
  id: KeyId,
  ipAllowlist: readonly string[],
  audit: AuditStamp,
): Promise<boolean> {
  const rows = await sql<{ readonly found: boolean }[]>`
    select replace_ip_allowlist(${id}, ${[...ipAllowlist]}, ${stampParameter(sql, audit)}) as found`;
  return rows[0]?.found ?? false;
}
