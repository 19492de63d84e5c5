/** Statements of the streams that Postgres carries itself. Due times and leases are database time. */
import { LIMITS } from "../base/limits.js";
import type { Json, Sql } from "./sql.js";

/** The channel on which a publisher tells the consumers; the payload is the stream's name. */
export const STREAM_CHANNEL = "kurier_stream";

export interface StreamRow {
  readonly id: string;
  readonly key: string;
  readonly body: Json;
  /** How often it was delivered, this time included. */
  readonly deliveries: number;
}

/** Registers a consumer: what is published from now on is kept for it. Safe to repeat. */
export async function addStreamConsumer(sql: Sql, stream: string, consumer: string): Promise<void> {
  await sql`insert into stream_consumer (stream, consumer) values (${stream}, ${consumer}) on conflict do nothing`;
}

/** Stores one row per message and consumer and wakes the consumers, once per call. */
export async function putStreamMessages(
  sql: Sql,
  stream: string,
  messages: readonly { readonly key: string; readonly body: string }[],
): Promise<void> {
  await sql`
    with put as (
      insert into stream_message (stream, consumer, key, body)
      select c.stream, c.consumer, m.key, m.body::jsonb
      from unnest(${messages.map((m) => m.key)}::text[], ${messages.map((m) => m.body)}::text[]) with ordinality as m
        (key, body, n)
      cross join stream_consumer as c
      where c.stream = ${stream}
      order by m.n, c.consumer
      returning 1
    )
    select pg_notify(${STREAM_CHANNEL}, ${stream}) from (select count(*) from put) as done`;
}

/** Takes due messages of a consumer; they are due again when `lease_ms` has passed. */
export function claimStreamMessages(
  sql: Sql,
  claim: { readonly stream: string; readonly consumer: string; readonly limit: number; readonly lease_ms: number },
): PromiseLike<StreamRow[]> {
  return sql<StreamRow[]>`
    with due as (
      select id
      from stream_message
      where stream = ${claim.stream} and consumer = ${claim.consumer} and available_at <= now()
      order by available_at, id
      limit ${claim.limit}
      for update skip locked
    )
    update stream_message as m
    set available_at = now() + ${claim.lease_ms}::integer * interval '1 millisecond', deliveries = m.deliveries + 1
    from due
    where m.id = due.id
    returning m.id, m.key, m.body, m.deliveries`;
}

/** Removes messages that their consumer has finished. */
export async function deleteStreamMessages(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql`delete from stream_message where id = any (${ids as string[]}::bigint[])`;
}

/** Sets when a message is delivered again, unless somebody else has taken it since. */
export async function postponeStreamMessage(
  sql: Sql,
  row: Pick<StreamRow, "id" | "deliveries">,
  after_ms: number,
): Promise<void> {
  await sql`
    update stream_message
    set available_at = now() + ${Math.round(after_ms)}::bigint * interval '1 millisecond'
    where id = ${row.id}::bigint and deliveries = ${row.deliveries}`;
}

/** Removes what a consumer of copies has not taken for `age_ms`. */
export async function deleteOldStreamMessages(sql: Sql, stream: string, age_ms: number): Promise<number> {
  const gone =
    await sql`delete from stream_message where stream = ${stream} and published_at < now() - ${age_ms}::bigint *
      interval '1 millisecond'`;
  return gone.count;
}

/**
 * Messages per stream, counted up to LIMITS.census_open_max for each of its consumers, and the age of those longest
 * available, in seconds.
 */
export function readStreamStatus(
  sql: Sql,
): PromiseLike<{ readonly stream: string; readonly pending: number; readonly oldestAge_s: number }[]> {
  return sql<{ readonly stream: string; readonly pending: number; readonly oldestAge_s: number }[]>`
    select c.stream, sum(w.pending)::integer as pending,
      extract(epoch from now() - min(w.oldest))::float8 as "oldestAge_s"
    from stream_consumer as c cross join lateral (
      select count(*) as pending, min(published_at) as oldest from (
        select published_at from stream_message as m where m.stream = c.stream and m.consumer = c.consumer
        order by m.stream, m.consumer, m.available_at, m.id limit ${LIMITS.census_open_max}
      ) as taken
    ) as w
    where w.pending > 0 group by c.stream`;
}
