/** `rows`: what a delivered document costs Postgres, in rows, statements, commits and octets of WAL. */
import { setTimeout as pause } from "node:timers/promises";

import { systemClock } from "../engine/base/clock.js";
import { openSql } from "../engine/storage/sql.js";
import type { Sql } from "../engine/storage/sql.js";
import { makeFirms, startBenchEngine } from "./engine.js";
import type { BenchEngine } from "./engine.js";
import { mustBeAccepted, runLoad } from "./load.js";
import type { Bench, BenchOptions, Figure } from "./runner.js";
import { originOf, requests, templateOf } from "./send-requests.js";

const FIRMS = 20;
const DOCUMENTS = 1_000;
const CONNECTIONS = 16;
const ROWS_GOAL = 15;
/** How long the engine is watched while it has nothing to do, in the tiny form and in the full one. */
const IDLE_MS = { tiny: 1_000, full: 5_000 };
const LOOK_MS = 50;
const PATIENCE_MS = 300_000;
/** Written by the beat of each process, whether documents are delivered or not. */
const BEATING = ["dispatcher", "node"];

/** What Postgres counted of one table since it was started. */
interface TableWrites {
  readonly name: string;
  readonly inserted: number;
  readonly updated: number;
  /** Of the updates, those that touched no index. */
  readonly hot: number;
  readonly deleted: number;
}

/** What Postgres counted of everything since it was started. */
interface Totals {
  /** Every statement is a transaction of its own. The bench's own are not among them. */
  readonly statements: number;
  /** Transactions that wrote. */
  readonly commits: number;
  readonly walBytes: number;
}

interface Written extends Totals {
  readonly at: number;
  readonly tables: readonly TableWrites[];
}

/** The one session through which the bench looks; it knows how many statements it took. */
class Looker {
  readonly #sql: Sql;
  #statements = 0;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  statements(): number {
    return this.#statements;
  }

  ask<T>(question: (sql: Sql) => PromiseLike<T>): PromiseLike<T> {
    this.#statements += 1;
    return question(this.#sql);
  }
}

/**
 * Makes the engine's sessions tell what they counted. A session tells it when it ends, and otherwise up to ten seconds
 * late; the engine opens others. Only sessions that do nothing are ended.
 */
async function tell(looker: Looker): Promise<void> {
  const idle = await looker.ask(
    (sql) => sql<{ readonly pid: number }[]>`
      select pid from pg_stat_activity
      where datname = current_database() and application_name = 'kurier' and state = 'idle'`,
  );
  const pids = idle.map(({ pid }) => pid);
  // In a statement of its own: beside the conditions above it might be called before they are looked at.
  await looker.ask((sql) => sql`select pg_terminate_backend(pid) from unnest(${pids}::integer[]) as pid`);
  const end = systemClock.monotonic() + PATIENCE_MS;
  for (;;) {
    const left = await looker.ask((sql) => sql`select 1 from pg_stat_activity where pid = any (${pids}::integer[])`);
    if (left.length === 0) return;
    if (systemClock.monotonic() > end) throw new Error("a session of the engine does not end");
    await pause(LOOK_MS);
  }
}

async function written(looker: Looker): Promise<Written> {
  await tell(looker);
  await looker.ask((sql) => sql`select pg_stat_force_next_flush()`);
  const told = looker.statements();
  const [totals] = await looker.ask(
    (sql) => sql<Totals[]>`
      select (select xact_commit::float8 from pg_stat_database where datname = current_database()) as statements,
        pg_snapshot_xmax(pg_current_snapshot())::text::float8 as commits,
        pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as "walBytes"`,
  );
  const tables = await looker.ask(
    (sql) => sql<TableWrites[]>`
      select relname as name, n_tup_ins::float8 as inserted, n_tup_upd::float8 as updated,
        n_tup_hot_upd::float8 as hot, n_tup_del::float8 as deleted
      from pg_stat_user_tables where relname <> all (${BEATING}::text[])
      order by n_tup_ins + n_tup_upd + n_tup_del desc, relname`,
  );
  if (totals === undefined) throw new Error("Postgres counts nothing");
  return { ...totals, at: systemClock.monotonic(), tables, statements: totals.statements - told };
}

/** What was written between two looks, table by table. */
const writesBetween = (from: Written, to: Written): TableWrites[] =>
  to.tables.map((table) => {
    const before = from.tables.find(({ name }) => name === table.name);
    return {
      name: table.name,
      inserted: table.inserted - (before?.inserted ?? 0),
      updated: table.updated - (before?.updated ?? 0),
      hot: table.hot - (before?.hot ?? 0),
      deleted: table.deleted - (before?.deleted ?? 0),
    };
  });

const rowsOf = ({ inserted, updated, deleted }: TableWrites): number => inserted + updated + deleted;

/** Rows that acceptances have written until now: they are answered with a 202 when these are committed. */
async function acceptanceRows(looker: Looker): Promise<number> {
  const [row] = await looker.ask(
    (sql) => sql<{ readonly n: number }[]>`
      select (select count(*) from document)::integer
        + (select count(*) from payload as p join document as d on d.id = p.document_id)::integer
        + (select count(*) from document_history where trigger = 'accepted')::integer
        + (select count(*) from document_event where kind = 'document.queued')::integer as n`,
  );
  return row?.n ?? 0;
}

/** Waits until so many documents are delivered and nothing of them is left to be done. */
async function delivered(looker: Looker, count: number): Promise<void> {
  const end = systemClock.monotonic() + PATIENCE_MS;
  for (;;) {
    const [row] = await looker.ask(
      (sql) => sql<{ readonly n: number; readonly left: boolean }[]>`
        select count(*) filter (where status = 'delivered')::integer as n,
          exists (select 1 from document where next_attempt_at is not null)
          or exists (select 1 from mls_duty where next_at is not null) or exists (select 1 from outbox) as left
        from document`,
    );
    if (row?.n === count && !row.left) return;
    if (systemClock.monotonic() > end) throw new Error(`${row?.n ?? 0} of ${count} documents were delivered`);
    await pause(LOOK_MS);
  }
}

/** What is left of a counter when the engine's idle work of the same time is taken off. */
const without = (idle: readonly [Written, Written], all: readonly [Written, Written], name: keyof Totals): number =>
  all[1][name] - all[0][name] - ((idle[1][name] - idle[0][name]) * (all[1].at - all[0].at)) / (idle[1].at - idle[0].at);

async function measure(options: BenchOptions, engine: BenchEngine, looker: Looker): Promise<Figure[]> {
  const firms = await makeFirms(engine, options.tiny ? 2 : FIRMS);
  const templates = firms.map((firm, index) =>
    templateOf(firm, firms[(index + 1) % firms.length]?.participantId ?? ""),
  );
  const next = requests(templates);
  const url = originOf(engine.sandbox);
  const send = async (amount: number): Promise<number> => {
    const result = await runLoad({
      url,
      connections: options.tiny ? 2 : CONNECTIONS,
      seconds: options.seconds,
      amount,
      next,
    });
    mustBeAccepted(result);
    return result.answers;
  };
  const warm = await send(options.tiny ? 4 : DOCUMENTS / 10);
  await delivered(looker, warm);
  const start = await written(looker);
  await pause(options.tiny ? IDLE_MS.tiny : IDLE_MS.full);
  const quiet = await written(looker);
  const acceptedBefore = await acceptanceRows(looker);
  const count = await send(options.tiny ? 8 : DOCUMENTS);
  await delivered(looker, warm + count);
  const end = await written(looker);
  const tables = writesBetween(quiet, end).filter((table) => rowsOf(table) > 0);
  const each = (of: (table: TableWrites) => number): number =>
    tables.reduce((sum, table) => sum + of(table), 0) / count;
  for (const table of tables)
    options.say(
      `${table.name}: ${(table.inserted / count).toFixed(2)} inserted, ${(table.updated / count).toFixed(2)} updated ` +
        `(${(table.hot / count).toFixed(2)} without an index), ${(table.deleted / count).toFixed(2)} deleted`,
    );
  const accepted = ((await acceptanceRows(looker)) - acceptedBefore) / count;
  const rows = each(rowsOf);
  const total = (name: keyof Totals): number => without([start, quiet], [quiet, end], name) / count;
  return [
    {
      name: "row writes a document",
      value: rows,
      unit: "count",
      note: `${count} documents, both access points in one engine; inserted, updated and deleted rows of all tables but ${BEATING.join(" and ")}`,
    },
    { name: "of these before the 202", value: accepted, unit: "count", note: "written by the acceptance" },
    { name: "of these after the 202", value: rows - accepted, unit: "count", note: "sending and receiving, evidence" },
    { name: "inserted", value: each(({ inserted }) => inserted), unit: "count" },
    { name: "updated", value: each(({ updated }) => updated), unit: "count" },
    { name: "of these without an index", value: each(({ hot }) => hot), unit: "count" },
    { name: "deleted", value: each(({ deleted }) => deleted), unit: "count" },
    {
      name: "statements a document",
      value: total("statements"),
      unit: "count",
      note: "reads and writes; what the engine does when idle is taken off, as it is below",
    },
    {
      name: "commits a document",
      value: total("commits"),
      unit: "count",
      note: "transactions that wrote, the acceptance's included; calls that come together share one",
    },
    { name: "WAL a document, octets", value: total("walBytes"), unit: "count" },
    {
      name: "row writes after the 202 ÷ 15",
      value: (rows - accepted) / ROWS_GOAL,
      unit: "ratio",
      note: "15 are the goal",
    },
  ];
}

/** What a delivered document costs Postgres, from its acceptance to the receipt. */
export const rowsBench: Bench = {
  name: "rows",
  question: "What does a delivered document cost Postgres, from its acceptance to the receipt, on both sides?",
  seconds: 20,
  run: async (options) => {
    const engine = await startBenchEngine({ role: "all" });
    const sql = openSql({ url: engine.databaseUrl, name: "rows", connections: 1 });
    try {
      return await measure(options, engine, new Looker(sql));
    } finally {
      await sql.end({ timeout: 1 });
      await engine.stop();
    }
  },
};
