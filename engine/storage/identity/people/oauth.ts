/** Statements on programs that ask integrators for keys, and on the codes of OAuth. */
import { isoInstant } from "../../../base/clock.js";
import type { Instant } from "../../../base/clock.js";
import type { IntegratorId, KeyId, OAuthClientId, PersonId } from "../../../base/ids.js";
import { LIMITS } from "../../../base/limits.js";
import type { Sql } from "../../sql.js";

interface OAuthClientRow {
  readonly id: OAuthClientId;
  readonly name: string;
  readonly secretSha256: Uint8Array;
  readonly redirectUris: readonly string[];
}

export async function insertOAuthClient(sql: Sql, client: OAuthClientRow, now: Instant): Promise<void> {
  await sql`
    insert into oauth_client (id, name, secret_sha256, redirect_uris, created_at)
    values (${client.id}, ${client.name}, ${client.secretSha256}, ${[...client.redirectUris]}, ${isoInstant(now)})`;
}

export async function findOAuthClient(sql: Sql, id: OAuthClientId): Promise<OAuthClientRow | undefined> {
  const rows = await sql<OAuthClientRow[]>`
    select id, name, secret_sha256 as "secretSha256", redirect_uris as "redirectUris"
    from oauth_client where id = ${id}`;
  return rows[0];
}

export async function listOAuthClients(sql: Sql, limit: number): Promise<Omit<OAuthClientRow, "secretSha256">[]> {
  return sql<OAuthClientRow[]>`
    select id, name, redirect_uris as "redirectUris" from oauth_client order by created_at desc, id limit ${limit}`;
}

interface OAuthCodeRow {
  readonly codeSha256: Uint8Array;
  readonly clientId: OAuthClientId;
  readonly personId: PersonId;
  readonly integratorId: IntegratorId;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly scopes: readonly string[];
}

/** Keeps an agreement, if the person still is the integrator's administrator. @returns whether it does */
export async function insertOAuthCode(sql: Sql, code: OAuthCodeRow, now: Instant): Promise<boolean> {
  const result = await sql`
    insert into oauth_code (code_sha256, client_id, person_id, integrator_id, redirect_uri, challenge, scopes,
      created_at, expires_at)
    select ${code.codeSha256}, ${code.clientId}, ${code.personId}, ${code.integratorId}, ${code.redirectUri},
      ${code.challenge}, ${[...code.scopes]}, ${isoInstant(now)}, ${isoInstant(now + LIMITS.oauth_code_ms)}
    from membership where person_id = ${code.personId} and integrator_id = ${code.integratorId}`;
  return result.count === 1;
}

interface RedeemedCode {
  readonly outcome: "redeemed" | "replayed" | "invalid";
  readonly personId: PersonId;
  readonly integratorId: IntegratorId;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly scopes: readonly string[];
  /** Of a code that came again: the key that its first use gave. */
  readonly keyId: KeyId | null;
}

/** Uses a code up; of any number of concurrent callers one has it. */
export async function redeemOAuthCode(
  sql: Sql,
  code: { readonly codeSha256: Uint8Array; readonly clientId: OAuthClientId },
  now: Instant,
): Promise<RedeemedCode | undefined> {
  const rows = await sql<RedeemedCode[]>`
    select outcome, person_id as "personId", integrator_id as "integratorId", redirect_uri as "redirectUri", challenge,
      scopes, key_id as "keyId"
    from redeem_oauth_code(${code.codeSha256}, ${code.clientId}, ${isoInstant(now)})`;
  return rows[0];
}

/** Notes which key a code gave. @returns whether the code has come again meanwhile, so that the key must end */
export async function noteKeyOfCode(sql: Sql, codeSha256: Uint8Array, keyId: KeyId): Promise<boolean> {
  const rows = await sql<{ readonly replayed: boolean }[]>`
    update oauth_code set key_id = ${keyId} where code_sha256 = ${codeSha256}
    returning replayed_at is not null as replayed`;
  return rows[0]?.replayed ?? true;
}

/** Deletes codes that are too old to be replayed to any effect. @returns rows deleted */
export async function pruneOAuthCodes(sql: Sql, now: Instant): Promise<number> {
  const result = await sql`
    delete from oauth_code where code_sha256 in (
      select code_sha256 from oauth_code where created_at <= ${isoInstant(now - LIMITS.oauth_code_kept_ms)}
      limit ${LIMITS.identity_prune_batch} for update skip locked)`;
  return result.count;
}
