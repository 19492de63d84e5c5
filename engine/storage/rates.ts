/** Statements on nodes that are alive, and on the rate windows they share. Times here are database time. */
import { LIMITS } from "../base/limits.js";
import type { Json, Sql } from "./sql.js";

/**
 * Says that a node is alive and forgets the dead.
 * @param facts  what it says of itself
 * @returns ids of the nodes that are alive, this one included
 */
export async function beatNode(sql: Sql, nodeId: string, facts: Json = null): Promise<string[]> {
  const rows = await sql<{ readonly id: string }[]>`
    with beat as (
      insert into node (id, seen_at, facts) values (${nodeId}, clock_timestamp(), ${sql.json(facts)})
      on conflict (id) do update set seen_at = excluded.seen_at, facts = excluded.facts
    ), dead as (
      delete from node where seen_at < clock_timestamp() - ${`${LIMITS.node_dead_ms} milliseconds`}::interval
        and id <> ${nodeId}
    )
    select id from node
    where id <> ${nodeId} and seen_at >= clock_timestamp() - ${`${LIMITS.node_dead_ms} milliseconds`}::interval`;
  return [nodeId, ...rows.map((row) => row.id)];
}

/** A node that is alive, and what it has said of itself; null of a release that says nothing. */
interface ListedNode {
  readonly id: string;
  readonly facts: Json;
}

/** The nodes that are alive, by the time of their start. */
export const listNodes = (sql: Sql): PromiseLike<ListedNode[]> => sql<ListedNode[]>`
  select id, facts from node
  where seen_at >= clock_timestamp() - ${`${LIMITS.node_dead_ms} milliseconds`}::interval
  order by facts ->> 'startedAt', id limit ${LIMITS.operator_page_max}`;

/** Takes a node out of the list at once. */
export async function removeNode(sql: Sql, nodeId: string): Promise<void> {
  await sql`delete from node where id = ${nodeId}`;
}

export interface RateRequest {
  /** Row of the rate table and key of the client. */
  readonly bucket: string;
  readonly key: string;
  readonly limit: number;
  readonly window_ms: number;
  /** Admissions wanted. */
  readonly want: number;
  /** Admissions of an earlier lease that were not used. */
  readonly unused: number;
}

export interface RateLease {
  /** Requests admitted, at most as many as were asked for. */
  readonly granted: number;
  /** Milliseconds until the oldest counted admissions leave the window. */
  readonly resetIn_ms: number;
}

/** Gives unused admissions back and admits up to `want` requests to a window that all nodes share. */
export async function leaseRate(sql: Sql, request: RateRequest): Promise<RateLease> {
  const rows = await sql<RateLease[]>`
    select granted, resets_in_ms as "resetIn_ms"
    from lease_rate(${`${request.bucket}:${request.key}`}, ${request.want}, ${request.unused}, ${request.limit},
    ${request.window_ms},
      ${LIMITS.rate_bucket_ms})`;
  const [lease] = rows;
  if (lease === undefined) throw new Error("lease_rate answered no row");
  return { granted: lease.granted, resetIn_ms: lease.resetIn_ms };
}

/** Deletes windows that count nothing any more. @returns rows deleted */
export async function pruneRates(sql: Sql): Promise<number> {
  const result = await sql`
    delete from rate_window where key in (
      select key from rate_window where touched_at < now() -
        ${`${2 * LIMITS.rate_window_ms} milliseconds`}::interval
      limit ${LIMITS.identity_prune_batch} for update skip locked)`;
  return result.count;
}
