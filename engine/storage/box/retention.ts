/**
 * The end of Box items, by the time of the database: their payloads go, later they themselves. What is old enough is
 * told by `now()`, for an index is asked for no time that may change while it is read, and states that can end are
 * named, for a plan for any state knows no index of those alone.
 */
import { LIMITS } from "../../base/limits.js";
import type { BoxState } from "../../lifecycle/box.js";
import type { Sql } from "../sql.js";

/** Ends items that have been in this state for so long. Safe to run on every node at once. @returns how many */
export async function expireBoxItems(sql: Sql, status: BoxState, kept_ms: number): Promise<number> {
  const [row] = await sql<{ readonly count: number }[]>`
    with ended as (
      update box_item as i
      set status = 'expired', version = i.version + 1, payload_gone = true, status_since = clock_timestamp(),
        updated_at = clock_timestamp()
      where i.id in (
        select id from box_item
        where status = ${status} and status in ('sent', 'needs_repair', 'failed', 'cancelled', 'expired')
          and status_since < now() - ${kept_ms}::bigint * interval '1 millisecond'
        order by status_since limit ${LIMITS.box_prune_batch} for update skip locked
      )
      returning i.id, i.version
    ), gone as (
      delete from box_payload as p using ended where p.item_id = ended.id
    ), told as (
      insert into box_event (item_id, version, kind, status, actor_type, occurred_at)
      select id, version, 'expired', 'expired', 'system', clock_timestamp() from ended
    )
    select count(*)::integer as count from ended`;
  return row?.count ?? 0;
}

/** Drops the Box's copies of what was sent so long ago that nothing sends it again. @returns how many */
export async function dropSentPayloads(sql: Sql): Promise<number> {
  const [row] = await sql<{ readonly count: number }[]>`
    with sent as (
      update box_item as i set payload_gone = true, version = i.version + 1
      where i.id in (
        select id from box_item
        where status = 'sent' and not payload_gone
          and status_since < now() - ${LIMITS.box_ended_kept_ms}::bigint * interval '1 millisecond'
        order by status_since limit ${LIMITS.box_prune_batch} for update skip locked
      )
      returning i.id
    ), gone as (
      delete from box_payload as p using sent where p.item_id = sent.id
    )
    select count(*)::integer as count from sent`;
  return row?.count ?? 0;
}

/** Deletes items that expired so long ago, with their timelines. @returns how many */
export async function deleteExpiredBoxItems(sql: Sql): Promise<number> {
  const result = await sql`
    delete from box_item where id in (
      select id from box_item
      where status = 'expired'
        and status_since < now() - ${LIMITS.box_expired_kept_ms}::bigint * interval '1 millisecond'
      order by status_since limit ${LIMITS.box_prune_batch} for update skip locked
    )`;
  return result.count;
}
