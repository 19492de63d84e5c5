/** `rows`: what a delivered document costs Postgres, in rows, statements, commits and octets of WAL. */
import { setTimeout as pause } from "node:timers/promises";

import { systemClock } from "../engine/base/clock.js";
import { makeFirms, startBenchEngine } from "./engine.js";
import type { BenchEngine } from "./engine.js";
import { refusedOf, runLoad } from "./load.js";
import type { Bench, BenchOptions, Figure } from "./runner.js";
import { requests, templateOf } from "./send-requests.js";

const FIRMS = 20;
const DOCUMENTS = 1_000;
const CONNECTIONS = 16;
const ROWS_GOAL = 15;
/** An idle backend of Postgres tells what it did after ten seconds at the latest. */
const TOLD_MS = 11_000;
const LOOK_MS = 500;
const PATIENCE_MS = 300_000;

/** What Postgres counted since it was started. */
interface Written {
  readonly at: number;
  readonly inserted: number;
  readonly updated: number;
  /** Of the updates, those that touched no index. */
  readonly hot: number;
  readonly deleted: number;
  /** Every statement of ours is a transaction of its own. */
  readonly statements: number;
  /** Transactions that wrote. */
  readonly commits: number;
  readonly walBytes: number;
}

type Counter = Exclude<keyof Written, "at">;
const COUNTERS = ["inserted", "updated", "hot", "deleted", "statements", "commits", "walBytes"] as const;

async function written({ sql }: BenchEngine): Promise<Written> {
  const [row] = await sql<Record<Counter, number>[]>`
    select sum(n_tup_ins)::float8 as inserted, sum(n_tup_upd)::float8 as updated, sum(n_tup_hot_upd)::float8 as hot,
      sum(n_tup_del)::float8 as deleted,
      (select xact_commit::float8 from pg_stat_database where datname = current_database()) as statements,
      pg_snapshot_xmax(pg_current_snapshot())::text::float8 as commits,
      pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as "walBytes"
    from pg_stat_user_tables`;
  if (row === undefined) throw new Error("Postgres counts nothing");
  return { at: systemClock.monotonic(), ...row };
}

const between = (from: Written, to: Written): Record<Counter, number> =>
  Object.fromEntries(COUNTERS.map((name) => [name, to[name] - from[name]])) as Record<Counter, number>;

async function delivered({ sql }: BenchEngine, count: number): Promise<void> {
  const end = systemClock.monotonic() + PATIENCE_MS;
  for (;;) {
    const open = await sql`select 1 from document where next_attempt_at is not null limit 1`;
    const [row] = await sql<{ readonly n: number }[]>`
      select count(*)::integer as n from document where status = 'delivered'`;
    if (open.length === 0 && row?.n === count) return;
    if (systemClock.monotonic() > end) throw new Error(`${row?.n ?? 0} of ${count} documents were delivered`);
    await pause(LOOK_MS);
  }
}

/** What a stretch of time without documents writes, as long as that one took. */
const idleShare = (idle: Record<Counter, number>, idle_ms: number, took_ms: number, name: Counter): number =>
  (idle[name] * took_ms) / idle_ms;

async function measure(options: BenchOptions, engine: BenchEngine): Promise<Figure[]> {
  const firms = await makeFirms(engine, options.tiny ? 2 : FIRMS);
  const templates = firms.map((firm, index) =>
    templateOf(firm, firms[(index + 1) % firms.length]?.participantId ?? ""),
  );
  const next = requests(templates, "/sapi/v1/document/send");
  const url = engine.sandbox.sapiBaseUrl.replace("/sapi/v1", "");
  const send = async (amount: number): Promise<number> => {
    const result = await runLoad({
      url,
      connections: options.tiny ? 2 : CONNECTIONS,
      seconds: options.seconds,
      amount,
      next,
    });
    if (refusedOf(result) > 0) throw new Error(`the engine refused ${refusedOf(result)} documents`);
    return result.answers;
  };
  const warm = await send(options.tiny ? 4 : DOCUMENTS / 10);
  await delivered(engine, warm);
  await pause(TOLD_MS);
  const start = await written(engine);
  await pause(TOLD_MS);
  const quiet = await written(engine);
  const count = await send(options.tiny ? 8 : DOCUMENTS);
  await delivered(engine, warm + count);
  await pause(TOLD_MS);
  const end = await written(engine);
  const [idle, all] = [between(start, quiet), between(quiet, end)];
  const of = (name: Counter): number =>
    (all[name] - idleShare(idle, quiet.at - start.at, end.at - quiet.at, name)) / count;
  const note = `${count} documents, both access points in one engine; what the engine writes when idle is taken off`;
  const rows = of("inserted") + of("updated") + of("deleted");
  return [
    { name: "row writes a document", value: rows, unit: "count", note },
    { name: "inserted", value: of("inserted"), unit: "count" },
    { name: "updated", value: of("updated"), unit: "count" },
    { name: "of these without an index", value: of("hot"), unit: "count" },
    { name: "deleted", value: of("deleted"), unit: "count" },
    { name: "statements a document", value: of("statements"), unit: "count", note: "reads and writes" },
    { name: "commits a document", value: of("commits"), unit: "count", note: "transactions that wrote" },
    { name: "WAL a document, octets", value: of("walBytes"), unit: "count" },
    { name: "row writes ÷ 15", value: rows / ROWS_GOAL, unit: "ratio", note: "15 are the goal" },
  ];
}

/** What a delivered document costs Postgres, from its acceptance to the receipt. */
export const rowsBench: Bench = {
  name: "rows",
  question: "What does a delivered document cost Postgres, from its acceptance to the receipt, on both sides?",
  seconds: 20,
  run: async (options) => {
    const engine = await startBenchEngine({ role: "all" });
    try {
      return await measure(options, engine);
    } finally {
      await engine.stop();
    }
  },
};
