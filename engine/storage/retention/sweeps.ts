/**
 * Removes rows whose time has come, a batch at a time: each batch is one statement, finds its rows by an index, and
 * passes over those that another node removes.
 */
import type postgres from "postgres";

import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import type { Sql } from "../sql.js";
import { SWEPT } from "./ends.js";
import type { SweptTable } from "./ends.js";

type Fragment = postgres.PendingQuery<postgres.Row[]>;

interface Sweep {
  /** Selects the keys of the rows that may go. @param before ISO 8601 */
  readonly due: (sql: Sql, before: string) => Fragment;
  /** Removes the rows of a selection of keys; answers in its one column `gone` how many. */
  readonly remove: (sql: Sql, due: Fragment) => Fragment;
}

/** What evidence proves goes after the evidence. */
const unproved = (sql: Sql, id: Fragment): Fragment =>
  sql`not exists (select 1 from evidence as e where e.document_id = ${id})`;

/**
 * The first id that is kept. Ids tell the time of their making; no other column is asked, for Postgres would rather go
 * through an index of firms and times. Where a row may have evidence, none younger than all of it is looked at.
 */
const floor = (sql: Sql, before: string): Fragment => sql`id_floor(${before}::timestamptz)`;
const provedFloor = (sql: Sql, before: string): Fragment =>
  sql`id_floor(least(${before}::timestamptz, (select min(stored_at) from evidence)))`;

/** Removes rows to which nothing else belongs. */
const removeFrom =
  (table: SweptTable, key = "id"): Sweep["remove"] =>
  (sql, due) =>
    sql`
    with gone as (delete from ${sql(table)} where ${sql(key)} in (${due}) returning 1)
    select count(*)::integer as gone from gone`;

const SWEEPS: Readonly<Record<SweptTable, Sweep>> = {
  service_message: {
    due: (sql, before) => sql`
      select d.id from service_message as d
      where d.id < ${provedFloor(sql, before)} and not document_is_open(d.status)
        and ${unproved(sql, sql`d.id`)}
      order by d.id`,
    remove: (sql, due) => sql`select remove_service_messages(array(${due})) as gone`,
  },
  inbound_status: {
    due: (sql, before) => sql`
      select d.id from inbound_status as d
      where d.id < ${provedFloor(sql, before)} and d.received_at < ${before} and ${unproved(sql, sql`d.id`)}
      order by d.id`,
    remove: (sql, due) => sql`
      with gone as (delete from inbound_status where id in (${due}) returning id),
      duties as (delete from mls_duty where id in (select gone.id from gone))
      select count(*)::integer as gone from gone`,
  },
  document: {
    due: (sql, before) => sql`
      select d.id from document as d
      where d.id < ${provedFloor(sql, before)} and not document_is_open(d.status)
        and ${unproved(sql, sql`d.id`)}
        and not exists (select 1 from inbound_status as s where s.document_id = d.id)
      order by d.id`,
    remove: (sql, due) => sql`select remove_documents(array(${due})) as gone`,
  },
  received_document: {
    due: (sql, before) => sql`
      select d.id from received_document as d
      where d.id < ${provedFloor(sql, before)} and d.received_at < ${before} and ${unproved(sql, sql`d.id`)}
      order by d.id`,
    remove: (sql, due) => sql`select remove_received(array(${due})) as gone`,
  },
  exchange: {
    due: (sql, before) => sql`
      select d.id from exchange as d where d.exchanged_at < ${before} order by d.exchanged_at`,
    remove: removeFrom("exchange"),
  },
  usage_month: {
    // A month is named by its first day, and what was used on its last one is kept as long.
    due: (sql, before) => sql`
      select d.firm_id, d.month from usage_month as d
      where d.month < (${before}::timestamptz - interval '1 month')::date order by d.month`,
    remove: (sql, due) => sql`
      with gone as (delete from usage_month where (firm_id, month) in (${due}) returning 1)
      select count(*)::integer as gone from gone`,
  },
  registration_operation: {
    due: (sql, before) => sql`
      select d.id from registration_operation as d
      where d.id < ${floor(sql, before)} and d.ended_at < ${before} order by d.id`,
    remove: removeFrom("registration_operation"),
  },
  white_label_operation: {
    due: (sql, before) => sql`
      select d.id from white_label_operation as d
      where d.id < ${floor(sql, before)} and d.completed_at < ${before}
        and not exists (select 1 from white_label_participant as p where p.operation_id = d.id)
      order by d.id`,
    remove: removeFrom("white_label_operation"),
  },
  onboarding_request: {
    due: (sql, before) => sql`
      select d.id from onboarding_request as d
      where d.status <> 'active' and d.updated_at < ${before} order by d.updated_at`,
    remove: (sql, due) => sql`select remove_onboarding(array(${due})) as gone`,
  },
  pfs_confirmation: {
    due: (sql, before) => sql`
      select d.token_sha256 from pfs_confirmation as d
      where d.request_id is null and d.received_at < ${before} order by d.received_at`,
    remove: removeFrom("pfs_confirmation", "token_sha256"),
  },
  api_key: {
    due: (sql, before) => sql`
      select d.id from api_key as d
      where d.deactivated_at < ${before}
        and not exists (select 1 from api_key as k where k.successor_id = d.id)
        and not exists (select 1 from consent_offer as o where o.key_id = d.id)
        and not exists (select 1 from oauth_code as c where c.key_id = d.id)
        and not exists (select 1 from refresh_family as f where f.key_id = d.id)
      order by d.deactivated_at`,
    remove: removeFrom("api_key"),
  },
  signing_key: {
    due: (sql, before) => sql`
      select d.kid from signing_key as d
      where d.signs_until < ${before} and exists (select 1 from signing_key as l where l.seq > d.seq) order by d.seq`,
    remove: removeFrom("signing_key", "kid"),
  },
  person: {
    due: (sql, before) => sql`
      select d.id from person as d
      where d.id < ${floor(sql, before)} and d.created_at < ${before}
        and not exists (select 1 from membership as m where m.person_id = d.id)
        and not exists (select 1 from person_session as s where s.person_id = d.id)
        and not exists (select 1 from sign_in as s where s.person_id = d.id)
        and not exists (select 1 from oauth_code as c where c.person_id = d.id)
      order by d.id`,
    remove: removeFrom("person"),
  },
};

/** What it is by both clocks: a node's or the database's may be years ahead, and what has gone is not brought back. */
export async function earlierNow(sql: Sql, now: Instant): Promise<Instant> {
  const [row] = await sql<{ readonly now: Date }[]>`select now() as now`;
  // Without the database's word nothing is old.
  return Math.min(now, row?.now.getTime() ?? 0);
}

const dueOf = (sql: Sql, table: SweptTable, now: Instant): Fragment =>
  SWEEPS[table].due(sql, isoInstant(now - SWEPT[table].kept_ms));

/** Removes a batch of a table's rows whose time has come. @returns how many, at most LIMITS.sweep_batch */
export async function sweepTable(sql: Sql, table: SweptTable, now: Instant): Promise<number> {
  const due = sql`${dueOf(sql, table, now)} limit ${LIMITS.sweep_batch} for update of d skip locked`;
  const [row] = await sql<{ readonly gone: number }[]>`${SWEEPS[table].remove(sql, due)}`;
  return row?.gone ?? 0;
}

/** How many rows of a table may go, counted as far as one pass would remove. */
export async function countSwept(sql: Sql, table: SweptTable, now: Instant): Promise<number> {
  const [row] = await sql<{ readonly due: number }[]>`
    select count(*)::integer as due from (
      ${dueOf(sql, table, now)} limit ${LIMITS.sweep_batch * LIMITS.sweep_rounds_max}
    ) as d`;
  return row?.due ?? 0;
}
