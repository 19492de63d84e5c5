/** Statements on refresh families and revoked access tokens. */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { KeyId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { Sql } from "../sql.js";
import { stampParameter } from "./audit.js";
import type { AuditStamp } from "./audit.js";

interface RefreshFamilyRow {
  readonly keyId: KeyId;
  readonly generation: number;
  readonly scopes: readonly string[];
  readonly currentSha256: Uint8Array;
  readonly expiresAt: Date;
}

interface NewRefreshFamily {
  readonly familySha256: Uint8Array;
  readonly currentSha256: Uint8Array;
  readonly keyId: KeyId;
  readonly generation: number;
  readonly scopes: readonly string[];
  readonly expiresAt: Instant;
  readonly audit: AuditStamp;
}

/**
 * Starts a family, ends the key's oldest ones beyond LIMITS.refresh_families_per_key_max, and notes that the key was
 * used. @returns false when the key has changed since it was read
 */
export async function openRefreshFamily(sql: Sql, family: NewRefreshFamily, now: Instant): Promise<boolean> {
  const rows = await sql<{ readonly opened: boolean }[]>`
    select open_refresh_family(${family.familySha256}, ${family.currentSha256}, ${family.keyId}, ${family.generation},
    ${[...family.scopes]},
      ${isoInstant(now)}, ${isoInstant(family.expiresAt)}, ${LIMITS.refresh_families_per_key_max},
      ${stampParameter(sql, family.audit)}) as opened`;
  return rows[0]?.opened ?? false;
}

export async function findRefreshFamily(sql: Sql, familySha256: Uint8Array): Promise<RefreshFamilyRow | undefined> {
  const rows = await sql<RefreshFamilyRow[]>`
    select key_id as "keyId", generation, scopes, current_sha256 as "currentSha256", expires_at as "expiresAt"
    from refresh_family where family_sha256 = ${familySha256}`;
  return rows[0];
}

interface Rotation {
  readonly familySha256: Uint8Array;
  readonly oldSha256: Uint8Array;
  readonly newSha256: Uint8Array;
  readonly generation: number;
  readonly expiresAt: Instant;
  readonly audit: AuditStamp;
}

/**
 * Consumes one refresh token and puts its successor. @returns false when it was not the newest; the family is gone then
 */
export async function rotateRefreshFamily(sql: Sql, rotation: Rotation, now: Instant): Promise<boolean> {
  const rows = await sql<{ readonly rotated: boolean }[]>`
    select rotate_refresh_family(${rotation.familySha256}, ${rotation.oldSha256}, ${rotation.newSha256},
    ${rotation.generation},
      ${isoInstant(now)}, ${isoInstant(rotation.expiresAt)}, ${stampParameter(sql, rotation.audit)}) as rotated`;
  return rows[0]?.rotated ?? false;
}

export async function deleteRefreshFamily(sql: Sql, familySha256: Uint8Array, audit: AuditStamp): Promise<void> {
  await sql`select end_refresh_family(${familySha256}, ${stampParameter(sql, audit)})`;
}

/** An access token that is to be blocked. */
export interface TokenEnd {
  readonly jti: string;
  readonly keyId: KeyId;
  readonly expiresAt: Instant;
  readonly audit: AuditStamp;
}

/** Blocks an access token for the rest of its life. Safe to repeat. */
export async function insertRevokedToken(sql: Sql, { jti, keyId, expiresAt, audit }: TokenEnd): Promise<void> {
  await sql`select revoke_access_token(${jti}, ${keyId}, ${isoInstant(expiresAt)}, ${stampParameter(sql, audit)})`;
}

export async function isTokenRevoked(sql: Sql, jti: string): Promise<boolean> {
  const rows = await sql<{ readonly found: number }[]>`select 1 as found from revoked_token where jti = ${jti}`;
  return rows.length > 0;
}

/** Blocked tokens that live by the earlier of two clocks, the node's and the database's, at most `limit`. */
export async function listRevokedTokens(
  sql: Sql,
  now: Instant,
  limit: number,
): Promise<{ readonly jti: string; readonly expiresAt: Date }[]> {
  return sql<{ readonly jti: string; readonly expiresAt: Date }[]>`
    select jti, expires_at as "expiresAt" from revoked_token
    where expires_at > least(${isoInstant(now)}::timestamptz, now())
    limit ${limit}`;
}

/**
 * Deletes blocked tokens that have expired by both clocks, the node's and the database's. A node whose clock is behind
 * must still find them for a while. @returns rows deleted
 */
export async function pruneRevokedTokens(sql: Sql, now: Instant): Promise<number> {
  const result = await sql`
    delete from revoked_token where jti in (
      select jti from revoked_token
      where expires_at < least(${isoInstant(now)}::timestamptz, now()) -
        ${`${LIMITS.token_access_s} seconds`}::interval
      limit ${LIMITS.identity_prune_batch} for update skip locked)`;
  return result.count;
}

/** Deletes families that have expired. @returns rows deleted */
export async function pruneRefreshFamilies(sql: Sql, now: Instant): Promise<number> {
  const result = await sql`
    delete from refresh_family where family_sha256 in (
      select family_sha256 from refresh_family where expires_at < ${isoInstant(now)}
      limit ${LIMITS.identity_prune_batch} for update skip locked)`;
  return result.count;
}
