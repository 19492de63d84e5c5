/**
 * Statements of the outbox. Rows are written by the functions that make the change they announce. Claims are database
 * time.
 */
import { LIMITS } from "../base/limits.js";
import type { Json, Sql } from "./sql.js";

/** One row: a message, or several of one change, as a list of their keys and bodies. */
export interface OutboxRow {
  readonly id: string;
  readonly stream: string;
  readonly key: string;
  readonly body: Json;
}

/** Takes the oldest rows that no relay holds; the claim ends by itself after `claim_ms`. */
export function claimOutbox(sql: Sql, limit: number, claim_ms: number): PromiseLike<OutboxRow[]> {
  return sql<OutboxRow[]>`
    with due as (
      select id
      from outbox
      where claimed_until is null or claimed_until <= now()
      order by id
      limit ${limit}
      for update skip locked
    ), claimed as (
      update outbox as o
      set claimed_until = now() + ${claim_ms}::integer * interval '1 millisecond'
      from due
      where o.id = due.id
      returning o.id, o.stream, o.key, o.body
    )
    select id, stream, key, body from claimed order by id`;
}

/** Removes rows that were published. */
export async function deleteOutbox(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql`delete from outbox where id = any (${ids as string[]}::bigint[])`;
}

/** Gives rows back that could not be published; they are taken again after `after_ms`. */
export async function releaseOutbox(sql: Sql, ids: readonly string[], after_ms: number): Promise<void> {
  await sql`
    update outbox
    set claimed_until = now() + ${Math.round(after_ms)}::integer * interval '1 millisecond'
    where id = any (${ids as string[]}::bigint[])`;
}

/** Rows that wait, counted up to LIMITS.census_open_max, and the age of the oldest, in seconds. */
export async function readOutboxStatus(sql: Sql): Promise<{ readonly pending: number; readonly oldestAge_s: number }> {
  const [row] = await sql<{ readonly pending: number; readonly oldestAge_s: number }[]>`
    select count(*)::integer as pending, coalesce(extract(epoch from now() - (
        select created_at from outbox order by id limit 1
      )), 0)::float8 as "oldestAge_s"
    from (select 1 from outbox order by id limit ${LIMITS.census_open_max}) as waiting`;
  return row ?? { pending: 0, oldestAge_s: 0 };
}
