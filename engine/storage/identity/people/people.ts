/** Statements on people, their offices, their one-time codes and their sessions. */
import { isoInstant } from "../../../base/clock.js";
import type { Instant } from "../../../base/clock.js";
import type { Email, FirmId, IntegratorId, PersonId } from "../../../base/ids.js";
import { LIMITS } from "../../../base/limits.js";
import type { PersonRole } from "../../../base/roles.js";
import type { Sql } from "../../sql.js";

/** An office of a person: of a firm or of an integrator, never of both. */
interface Membership {
  readonly firmId: FirmId | null;
  readonly integratorId: IntegratorId | null;
  readonly role: PersonRole;
  /** Of the firm or the integrator. */
  readonly name: string;
}

/** An office with what a company is found by; both are null for an integrator. */
interface Office extends Membership {
  readonly ico: string | null;
  readonly dic: string | null;
}

/** Somebody who is signed in. */
export interface SignedIn {
  readonly personId: PersonId;
  readonly email: Email;
  readonly memberships: readonly Office[];
}

interface NewCode {
  readonly visitSha256: Uint8Array;
  readonly email: Email;
  readonly addressSha256: Uint8Array;
  /** Of the network address from which it was asked for. */
  readonly placeSha256: Uint8Array;
  readonly codeHmac: Uint8Array;
}

/**
 * Notes that a code was asked for; known and unknown addresses cost the same.
 * @returns whether a letter with the code is to be sent
 */
export async function insertSignIn(sql: Sql, code: NewCode, now: Instant): Promise<boolean> {
  const rows = await sql<{ readonly email: string | null }[]>`
    select start_sign_in(${code.visitSha256}, ${code.email}, ${code.addressSha256}, ${code.placeSha256},
      ${code.codeHmac}, ${isoInstant(now)}, ${isoInstant(now + LIMITS.sign_in_code_ms)},
      ${`${LIMITS.sign_in_window_ms} milliseconds`}, ${LIMITS.sign_in_codes_max},
      ${`${LIMITS.sign_in_place_ms} milliseconds`}) as email`;
  return (rows[0]?.email ?? null) !== null;
}

export type SignInOutcome = "signed_in" | "wrong" | "used_up";

/** Compares a code and opens a session where it is right. */
export async function redeemSignIn(
  sql: Sql,
  code: Pick<NewCode, "visitSha256" | "placeSha256" | "codeHmac"> & { readonly sessionSha256: Uint8Array },
  now: Instant,
): Promise<SignInOutcome> {
  const rows = await sql<{ readonly outcome: SignInOutcome }[]>`
    select finish_sign_in(${code.visitSha256}, ${code.placeSha256}, ${code.codeHmac}, ${isoInstant(now)},
      ${LIMITS.sign_in_tries_max}, ${code.sessionSha256}, ${isoInstant(now + LIMITS.session_ms)},
      ${LIMITS.sessions_per_person_max}, ${LIMITS.sign_in_places_max}) as outcome`;
  return rows[0]?.outcome ?? "used_up";
}

/** Who a session belongs to; undefined for none, an ended one and one that nobody has used for too long. */
export async function findSession(sql: Sql, sessionSha256: Uint8Array, now: Instant): Promise<SignedIn | undefined> {
  const rows = await sql<SignedIn[]>`
    with live as (
      select person_id from person_session
      where token_sha256 = ${sessionSha256} and expires_at > ${isoInstant(now)}
        and seen_at > ${isoInstant(now - LIMITS.session_idle_ms)}
    ), seen as (
      update person_session set seen_at = ${isoInstant(now)}
      where token_sha256 = ${sessionSha256} and seen_at < ${isoInstant(now - LIMITS.session_seen_step_ms)}
        and exists (select 1 from live)
    )
    select p.id as "personId", p.email, coalesce((
        select jsonb_agg(jsonb_build_object('firmId', m.firm_id, 'integratorId', m.integrator_id, 'role', m.role,
          'name', coalesce(f.name, i.name), 'ico', f.ico, 'dic', f.dic)
          order by coalesce(f.name, i.name), m.firm_id, m.integrator_id)
        from membership m left join firm f on f.id = m.firm_id left join integrator i on i.id = m.integrator_id
        where m.person_id = p.id
      ), '[]'::jsonb) as memberships
    from live join person p on p.id = live.person_id`;
  return rows[0];
}

export async function deleteSession(sql: Sql, sessionSha256: Uint8Array): Promise<void> {
  await sql`delete from person_session where token_sha256 = ${sessionSha256}`;
}

interface NewMember {
  readonly personId: PersonId;
  readonly email: Email;
  readonly firmId: FirmId | undefined;
  readonly integratorId: IntegratorId | undefined;
  readonly role: PersonRole;
}

/** Gives a person an office. @returns whether the firm or integrator exists */
export async function putMember(sql: Sql, member: NewMember, now: Instant): Promise<boolean> {
  const rows = await sql<{ readonly outcome: string }[]>`
    select put_member(${member.personId}, ${member.email}, ${member.firmId ?? null}, ${member.integratorId ?? null},
      ${member.role}, ${isoInstant(now)}) as outcome`;
  return rows[0]?.outcome === "put";
}

/** Takes an office away. @returns whether there was one */
export async function deleteMember(
  sql: Sql,
  email: Email,
  owner: { readonly firmId?: FirmId; readonly integratorId?: IntegratorId },
): Promise<boolean> {
  const result = await sql`
    delete from membership m using person p
    where p.id = m.person_id and p.email = ${email}
      and (m.firm_id = ${owner.firmId ?? null} or m.integrator_id = ${owner.integratorId ?? null})`;
  return result.count > 0;
}

/** An office as operators see it. */
export interface ListedMember extends Membership {
  readonly email: string;
}

/** Offices of one firm or integrator, or of all. */
export async function listMembers(
  sql: Sql,
  owner: { readonly firmId?: FirmId | undefined; readonly integratorId?: IntegratorId | undefined },
  limit: number,
): Promise<ListedMember[]> {
  return sql<ListedMember[]>`
    select p.email, m.firm_id as "firmId", m.integrator_id as "integratorId", m.role, coalesce(f.name, i.name) as name
    from membership m join person p on p.id = m.person_id left join firm f on f.id = m.firm_id
      left join integrator i on i.id = m.integrator_id
    where (${owner.firmId ?? null}::uuid is null or m.firm_id = ${owner.firmId ?? null})
      and (${owner.integratorId ?? null}::uuid is null or m.integrator_id = ${owner.integratorId ?? null})
    order by p.email, m.created_at limit ${limit}`;
}

/** Deletes codes that no window counts any more. @returns rows deleted */
export async function pruneSignIns(sql: Sql, now: Instant): Promise<number> {
  const result = await sql`
    delete from sign_in where visit_sha256 in (
      select visit_sha256 from sign_in
      where created_at <= ${isoInstant(now - Math.max(LIMITS.sign_in_window_ms, LIMITS.sign_in_code_ms))}
      limit ${LIMITS.identity_prune_batch} for update skip locked)`;
  return result.count;
}

/** Forgets network addresses from which nobody has signed in for long. @returns rows deleted */
export async function pruneSignInPlaces(sql: Sql, now: Instant): Promise<number> {
  const result = await sql`
    delete from sign_in_place where (address_sha256, place_sha256) in (
      select address_sha256, place_sha256 from sign_in_place
      where seen_at <= ${isoInstant(now - LIMITS.sign_in_place_ms)}
      limit ${LIMITS.identity_prune_batch} for update skip locked)`;
  return result.count;
}

/** Deletes sessions that have ended. @returns rows deleted */
export async function pruneSessions(sql: Sql, now: Instant): Promise<number> {
  const result = await sql`
    delete from person_session where token_sha256 in (
      select token_sha256 from person_session where expires_at <= ${isoInstant(now)}
      limit ${LIMITS.identity_prune_batch} for update skip locked)`;
  return result.count;
}
