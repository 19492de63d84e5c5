/** What a database server counts of itself, for the metrics: any engine may read it, and all read the same. */
import type { Metrics } from "../../base/metrics.js";
import type { Sql } from "../sql.js";

/** Sessions by what they do; `hidden` are those of other roles, of which the server does not tell. */
const SESSIONS = ["active", "waiting", "in_transaction", "idle", "hidden"] as const;
const COUNTS = [
  "committed",
  "rolled_back",
  "memory",
  "disk",
  "inserted",
  "updated",
  "deleted",
  "deadlocks",
  "wal",
] as const;
type Count = (typeof COUNTS)[number];

interface Figures {
  readonly sessions: Readonly<Record<(typeof SESSIONS)[number], number>>;
  readonly sessionsMax: number;
  readonly oldest_s: number;
  readonly size_bytes: number;
  readonly deadRows: number;
  readonly idsAge: number;
  /** Since the server's figures were last reset; `wal` in bytes. */
  readonly counts: Readonly<Record<Count, number>>;
}

async function readFigures(sql: Sql): Promise<Figures> {
  const [row] = await sql<Figures[]>`
    select
      (select jsonb_build_object(
          'active', count(*) filter (where state = 'active' and wait_event_type is distinct from 'Lock'),
          'waiting', count(*) filter (where state = 'active' and wait_event_type = 'Lock'),
          'in_transaction', count(*) filter (where state like 'idle in transaction%'),
          'idle', count(*) filter (where state = 'idle'),
          'hidden', count(*) filter (
            where state is null or state not in ('active', 'idle') and state not like 'idle in transaction%'))
        from pg_stat_activity where datname = current_database()) as sessions,
      current_setting('max_connections')::integer as "sessionsMax",
      (select coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::float8
        from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()) as oldest_s,
      pg_database_size(current_database())::float8 as size_bytes,
      (select coalesce(sum(n_dead_tup), 0)::float8 from pg_stat_user_tables) as "deadRows",
      (select age(datfrozenxid)::float8 from pg_database where datname = current_database()) as "idsAge",
      jsonb_build_object(
        'committed', d.xact_commit, 'rolled_back', d.xact_rollback, 'memory', d.blks_hit, 'disk', d.blks_read,
        'inserted', d.tup_inserted, 'updated', d.tup_updated, 'deleted', d.tup_deleted, 'deadlocks', d.deadlocks,
        'wal', case when pg_is_in_recovery() then 0 else pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') end) as counts
    from pg_stat_database as d where d.datname = current_database()`;
  if (row === undefined) throw new Error("the server counts nothing of this database");
  return row;
}

/** Where a growth goes, by the count that grew. */
const GROWS: Readonly<Record<Count, (metrics: Metrics, by: number) => void>> = {
  committed: (metrics, by) => {
    metrics.count("postgres_transactions_total", { outcome: "committed" }, by);
  },
  rolled_back: (metrics, by) => {
    metrics.count("postgres_transactions_total", { outcome: "rolled_back" }, by);
  },
  memory: (metrics, by) => {
    metrics.count("postgres_blocks_total", { source: "memory" }, by);
  },
  disk: (metrics, by) => {
    metrics.count("postgres_blocks_total", { source: "disk" }, by);
  },
  inserted: (metrics, by) => {
    metrics.count("postgres_rows_written_total", { kind: "inserted" }, by);
  },
  updated: (metrics, by) => {
    metrics.count("postgres_rows_written_total", { kind: "updated" }, by);
  },
  deleted: (metrics, by) => {
    metrics.count("postgres_rows_written_total", { kind: "deleted" }, by);
  },
  deadlocks: (metrics, by) => {
    metrics.count("postgres_deadlocks_total", {}, by);
  },
  wal: (metrics, by) => {
    metrics.count("postgres_wal_bytes_total", {}, by);
  },
};

/**
 * Sets the gauges of the server anew at each call, and adds to its counters what it has counted since the last call.
 * The first call adds nothing, so that an engine's counters begin at 0 like all its others.
 * @throws Error where the server gives no answer
 */
export function serverObserver(sql: Sql, metrics: Metrics): () => Promise<void> {
  let before: Figures["counts"] | undefined;
  return async () => {
    const { sessions, sessionsMax, oldest_s, size_bytes, deadRows, idsAge, counts } = await readFigures(sql);
    for (const state of SESSIONS) metrics.set("postgres_sessions", { state }, sessions[state]);
    metrics.set("postgres_sessions_allowed", {}, sessionsMax);
    metrics.set("postgres_oldest_transaction_seconds", {}, oldest_s);
    metrics.set("postgres_size_bytes", {}, size_bytes);
    metrics.set("postgres_dead_rows", {}, deadRows);
    metrics.set("postgres_transaction_ids_age", {}, idsAge);
    // A server whose figures were reset counts from 0 again: less than before is no growth.
    for (const count of COUNTS) GROWS[count](metrics, Math.max(0, counts[count] - (before ?? counts)[count]));
    before = counts;
  };
}
