/** Statements on the keys that sign access tokens. */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import type { Json, Sql } from "../sql.js";

export interface SigningKeyRow {
  readonly kid: string;
  /** Grows by one with each key. */
  readonly seq: number;
  readonly publicJwk: { readonly kty: string; readonly crv: string; readonly x: string };
  readonly privateSealed: Uint8Array;
  readonly masterKeyId: string;
  readonly signsFrom: Date;
  readonly signsUntil: Date;
  readonly retiredAt: Date | null;
}

/** Keys that sign, will sign, or signed until `since`, in order. */
export async function listSigningKeys(sql: Sql, since: Instant, limit: number): Promise<SigningKeyRow[]> {
  return sql<SigningKeyRow[]>`
    select kid, seq, public_jwk as "publicJwk", private_sealed as "privateSealed", master_key_id as "masterKeyId",
      signs_from as "signsFrom", signs_until as "signsUntil", retired_at as "retiredAt"
    from signing_key where signs_until > ${isoInstant(since)} order by seq desc limit ${limit}`;
}

/** The highest `seq` there ever was; 0 before the first key. */
export async function lastSigningKeySeq(sql: Sql): Promise<number> {
  const rows = await sql<{ readonly seq: number }[]>`select coalesce(max(seq), 0) as seq from signing_key`;
  return rows[0]?.seq ?? 0;
}

export interface NewSigningKey {
  readonly kid: string;
  readonly seq: number;
  readonly publicJwk: { readonly [member: string]: Json };
  readonly privateSealed: Uint8Array;
  readonly masterKeyId: string;
  readonly signsFrom: Instant;
  readonly signsUntil: Instant;
}

/** Publishes a key. @returns false when another node has published one with this `seq` */
export async function insertSigningKey(sql: Sql, key: NewSigningKey, now: Instant): Promise<boolean> {
  const result = await sql`
    insert into signing_key (kid, seq, alg, public_jwk, private_sealed, master_key_id, published_at, signs_from,
      signs_until)
    values (${key.kid}, ${key.seq}, 'EdDSA', ${sql.json(key.publicJwk)}, ${key.privateSealed}, ${key.masterKeyId},
    ${isoInstant(now)},
      ${isoInstant(key.signsFrom)}, ${isoInstant(key.signsUntil)})
    on conflict (seq) do nothing`;
  return result.count === 1;
}

/**
 * Stops a key at once, or all that sign, will sign or signed until `since`: they sign nothing more and nothing they
 * signed is believed. One that was stopped before is announced again and keeps its time.
 * @returns which of them there are
 */
export async function retireSigningKeys(
  sql: Sql,
  { kid = null, since }: { readonly kid: string | null | undefined; readonly since: Instant },
  now: Instant,
): Promise<string[]> {
  const rows = await sql<{ readonly kid: string }[]>`
    update signing_key set retired_at = coalesce(retired_at, ${isoInstant(now)})
    where case when ${kid}::text is null then signs_until > ${isoInstant(since)} else kid = ${kid}::text end
    returning kid`;
  return rows.map(({ kid }) => kid);
}
