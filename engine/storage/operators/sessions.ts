/** Statements on operators' sessions at the console. */
import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import type { Sql } from "../sql.js";

/** Opens a session; of more than LIMITS.console_sessions_max the oldest end. @param id  names it in the audit */
export async function insertConsoleSession(
  sql: Sql,
  session: { readonly tokenHmac: Uint8Array; readonly id: string },
  now: Instant,
): Promise<void> {
  await sql`
    select open_console_session(${session.tokenHmac}, ${session.id}, ${isoInstant(now)},
      ${isoInstant(now + LIMITS.console_session_ms)}, ${LIMITS.console_sessions_max})`;
}

/** An operator who is signed in. */
export interface ConsoleSession {
  /** Names the session in the audit. */
  readonly id: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/**
 * @param isUse  whether somebody has clicked, who is then signed in for longer
 * @returns undefined for no session, an ended one and one that nobody has used for too long
 */
export async function findConsoleSession(
  sql: Sql,
  { tokenHmac, isUse }: { readonly tokenHmac: Uint8Array; readonly isUse: boolean },
  now: Instant,
): Promise<ConsoleSession | undefined> {
  const [session] = await sql<ConsoleSession[]>`
    with live as (
      select id, created_at, expires_at from console_session
      where token_hmac = ${tokenHmac} and expires_at > ${isoInstant(now)}
        and seen_at > ${isoInstant(now - LIMITS.console_idle_ms)}
    ), seen as (
      update console_session set seen_at = ${isoInstant(now)}
      where token_hmac = ${tokenHmac} and seen_at < ${isoInstant(now - LIMITS.session_seen_step_ms)}
        and ${isUse} and exists (select 1 from live)
    )
    select id, created_at as "createdAt", expires_at as "expiresAt" from live`;
  return session;
}

/** The end of a session, at once and everywhere. */
export async function deleteConsoleSession(sql: Sql, tokenHmac: Uint8Array): Promise<void> {
  await sql`delete from console_session where token_hmac = ${tokenHmac}`;
}

/** Deletes sessions that have ended. @returns rows deleted */
export async function pruneConsoleSessions(sql: Sql, now: Instant): Promise<number> {
  const result = await sql`
    delete from console_session where token_hmac in (
      select token_hmac from console_session where expires_at <= ${isoInstant(now)}
      limit ${LIMITS.identity_prune_batch} for update skip locked)`;
  return result.count;
}
