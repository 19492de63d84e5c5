/**
 * Goal: whatever the database does, the event loop of the engine goes on: who can be told something is told it in time.
 * Method: an engine of its own process with a probe of its loop, its database behind a proxy, and clients in another
 * process that send and read at an even pace, whatever they are answered. The database is slow, hangs, holds a lock that
 * everybody needs, and has no connection left; between these everything that was accepted is delivered.
 *
 * KURIER_TEST_SECONDS: of each of these. KURIER_TEST_FIGURES: a folder that the figures are kept in.
 * @source design/reliability.md, F-07: event-loop delay < 50 ms
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { makeFirms } from "../../../bench/engine.js";
import type { BenchFirm } from "../../../bench/engine.js";
import type { Operation } from "../../../bench/hostile/jobs.js";
import { loopProbe, readLoop } from "../../../bench/loop/probe.js";
import type { LoopReading } from "../../../bench/loop/probe.js";
import { silentLog } from "../../../engine/base/log.js";
import { startEmbeddedPostgres } from "../../../engine/embedded/postgres.js";
import type { EmbeddedPostgres } from "../../../engine/embedded/postgres.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { MASTER_KEY } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { startFreezingProxy } from "../../support/network/freezing-proxy.js";
import type { FreezingProxy } from "../../support/network/freezing-proxy.js";
import { killEverythingOn, startEngineProcess } from "../../support/engines/process.js";
import type { EngineProcess } from "../../support/engines/process.js";
import { openTransaction } from "../../support/database/transactions.js";
import { behaveWellApart } from "../../support/callers/well-behaved.js";
import { keepFigures } from "../figures.js";

const SECONDS = Number(process.env["KURIER_TEST_SECONDS"] ?? "30");
/** No key comes near the limit of its rate. */
const FIRMS = 24;
const PER_SECOND = { sends: 5, polls: 20, lookUps: 10 } as const;
const LATE_MS = 2_000;
/** Few enough for a test to take all of them. */
const CONNECTIONS = 60;
/** design/reliability.md, F-07, of a turn of the loop in processor time: what other processes take is not the engine's. */
const TURN_MAX_MS = 50;

let folder: string;
let server: EmbeddedPostgres;
let proxy: FreezingProxy;
let engine: EngineProcess;
let sql: Sql;
let firms: readonly BenchFirm[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "kurier-slow-"));
  const settings = { max_connections: String(CONNECTIONS), fsync: "off" };
  server = await startEmbeddedPostgres({ dataDir: folder, log: silentLog, settings });
  proxy = await startFreezingProxy(server.url);
  sql = openSql({ url: server.url, name: "test", connections: 1 });
  engine = await startEngineProcess({
    dataDir: join(folder, "engine"),
    env: {
      ...{ DATABASE_URL: proxy.url, MASTER_KEY: MASTER_KEY.toString("base64"), LOG_LEVEL: "fatal" },
      ...{ NODE_OPTIONS: `--import=${loopProbe(join(folder, "loop"))}`, VALIDATOR_THREADS: "1" },
    },
  });
  firms = await makeFirms({ sandbox: engine.sandbox, sql }, FIRMS);
}, 120_000);
afterAll(async () => {
  proxy.delay(0);
  proxy.thaw();
  await engine.stop();
  proxy.stop();
  await sql.end({ timeout: 1 });
  await server.stop();
  killEverythingOn(folder);
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

/** Ends the engine's connections and takes every one that there is. @returns gives them back */
async function takeAllConnections(): Promise<() => Promise<void>> {
  const taken: Sql[] = [];
  const takeOne = async (): Promise<boolean> => {
    const one = openSql({ url: server.url, name: "taken", connections: 1 });
    try {
      await one`select 1`;
      taken.push(one);
      return true;
    } catch {
      await one.end({ timeout: 1 });
      return false;
    }
  };
  await eventually("the engine has no connection left", async () => {
    await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where backend_type = 'client backend' and application_name not in ('test', 'taken')`;
    let isFree = true;
    while (isFree) isFree = await takeOne();
    const left = await sql`
      select 1 from pg_stat_activity
      where backend_type = 'client backend' and application_name not in ('test', 'taken')`;
    return left.length === 0;
  });
  return async () => {
    await Promise.all(taken.map((one) => one.end({ timeout: 1 })));
  };
}

/** Holds a lock that everything about documents waits for. @returns gives it back */
async function holdDocuments(): Promise<() => Promise<void>> {
  const transaction = await openTransaction(server.url);
  await transaction.run("set local idle_in_transaction_session_timeout = 0");
  await transaction.run("lock table document in access exclusive mode");
  return () => transaction.commit();
}

type Undo = () => unknown;
/** What the database does, by its name in the figures. */
const STATES: readonly (readonly [name: string, begin: () => Undo | Promise<Undo>])[] = [
  ["works as usual", () => () => undefined],
  [
    `answers ${LATE_MS / 1_000} s late`,
    () => {
      proxy.delay(LATE_MS);
      return () => {
        proxy.delay(0);
      };
    },
  ],
  [
    "answers nothing",
    () => {
      proxy.freeze();
      return () => {
        proxy.thaw();
      };
    },
  ],
  ["holds a lock on every document", holdDocuments],
  ["has no connection left", takeAllConnections],
  ["works as usual again", () => () => undefined],
];

interface Seen {
  readonly name: string;
  readonly operations: readonly Operation[];
  readonly loop: LoopReading;
}

async function behave(seconds: number): Promise<readonly Operation[]> {
  const url = engine.sandbox.sapiBaseUrl.replace("/sapi/v1", "");
  return behaveWellApart(folder, { kind: "well-behaved", url, seconds, firms, ...PER_SECOND });
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
const answered = ({ operations }: Seen, status: number): number =>
  sum(operations.map(({ statuses }) => statuses[status] ?? 0));

/** Waits until whatever was accepted is delivered. @returns how many documents that are */
const settled = (): Promise<number> =>
  eventually("everything that was accepted is delivered", async () => {
    const [row] = await sql<{ readonly open: number; readonly delivered: number }[]>`
      select count(*) filter (where status <> 'delivered')::integer as open, count(*)::integer as delivered
      from document`;
    // What waits after a fault of ours waits for minutes by its plan: time is let pass.
    await sql`update document set next_attempt_at = now() where lease_owner is null and next_attempt_at > now()`;
    return row?.open === 0 ? row.delivered : undefined;
  });

const rowOf = ({ name, operations, loop }: Seen): readonly (string | number)[] => [
  name,
  sum(operations.map(({ answers, errors }) => answers + errors)),
  sum(operations.map(({ statuses }) => (statuses[200] ?? 0) + (statuses[202] ?? 0))),
  ...[503, 409].map((status) => sum(operations.map(({ statuses }) => statuses[status] ?? 0))),
  Math.round(Math.max(...operations.map(({ p50_ms }) => p50_ms))),
  Math.round(Math.max(...operations.map(({ p99_ms }) => p99_ms))),
  loop.longest_ms.toFixed(0),
  loop.longest_clock_ms.toFixed(0),
  loop.stalled_ms.toFixed(0),
];

test("the event loop has no turn of 50 ms while the database is slow, hangs, holds a lock or has no connection left, and every client is answered", async () => {
  const seen: Seen[] = [];
  await behave(Math.ceil(SECONDS / 3));
  await settled();
  for (const [name, begin] of STATES) {
    const end = await begin();
    await readLoop(engine.pid, join(folder, "loop"));
    const operations = await behave(SECONDS);
    const loop = await readLoop(engine.pid, join(folder, "loop"));
    await end();
    seen.push({ name, operations, loop });
    // Connections are made anew by those who ask.
    await behave(Math.ceil(SECONDS / 10));
    await settled();
  }
  keepFigures("slow-database", {
    title: "A database that is slow, hangs, or has no connection left",
    command: "npm run -s test:faults -- slow-database",
    remark: `One engine and its Postgres; ${FIRMS} firms send ${PER_SECOND.sends}, poll ${PER_SECOND.polls} and list ${PER_SECOND.lookUps} times a second, whatever they are answered, each state for ${SECONDS} s; times of answers are those of the operation that waits longest. A turn of the event loop is counted in processor time of its thread, which other processes do not lengthen, and by the clock. Between two states everything that was accepted is delivered.`,
    columns: [
      ...["The database", "Requests", "Served", "Told 503", "Told 409", "Answer p50, ms", "p99, ms"],
      ...["Longest turn, ms", "by the clock, ms", "In turns of 20 ms and more, ms"],
    ],
    rows: seen.map(rowOf),
  });
  for (const { name, operations, loop } of seen) {
    const odd = operations.flatMap(({ errors, statuses }) => [
      ...(errors === 0 ? [] : [`${errors} without an answer`]),
      // 409 is what SAPI has for a request that somebody else's lock holds up: it may be repeated.
      ...Object.keys(statuses).filter((status) => !["200", "202", "409", "503"].includes(status)),
    ]);
    expect.soft([name, odd]).toEqual([name, []]);
    expect.soft(loop.longest_ms, name).toBeLessThan(TURN_MAX_MS);
  }
  const away = seen.filter(({ name }) => !name.startsWith("works"));
  for (const one of away) expect.soft(answered(one, 503), one.name).toBeGreaterThan(0);
  for (const one of seen.filter(({ name }) => name.startsWith("works")))
    expect.soft([one.name, answered(one, 503)]).toEqual([one.name, 0]);
  expect(await settled()).toBeGreaterThanOrEqual(sum(seen.map((one) => answered(one, 202))));
  expect(engine.ended()).toBe(false);
});
