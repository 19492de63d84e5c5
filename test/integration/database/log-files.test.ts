// Goal: files of the embedded Postgres' log are there before commits wait for them, and only where they are wanted.
// Method: a real embedded server; what is written to its log, the room on its disk and the ends are chosen by the test.
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import { runningEmbeddedPostgres, startEmbeddedPostgres } from "../../../engine/embedded/embedded.js";
import type { EmbeddedPostgres } from "../../../engine/embedded/embedded.js";
import { countLogFiles, keepLogFiles, makeLogFiles } from "../../../engine/embedded/log-files.js";
import type { LogFilesOptions } from "../../../engine/embedded/log-files.js";
import { openLogFiles } from "../../../engine/storage/log-files.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { startEngineProcess } from "../../support/engines/process.js";
import { eventually } from "../../support/eventually.js";

const GIB = 2 ** 30;
/** As 28 of the 32 that 512 MB are. */
const FILES = 6;
const never = new AbortController().signal;

let dataDir: string;
let server: EmbeddedPostgres;
let sql: Sql;
/** What the connection under test was asked for. */
const said: string[] = [];
let connections = 0;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "kurier-test-"));
  server = await startEmbeddedPostgres({ dataDir, log: silentLog, settings: { min_wal_size: "160MB" } });
  sql = openSql({ url: server.url, name: "test", connections: 1 });
});
afterAll(async () => {
  await sql.end({ timeout: 1 });
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
});
beforeEach(() => {
  said.length = 0;
  connections = 0;
});

const options = (more: Partial<LogFilesOptions> = {}): LogFilesOptions => ({
  directory: server.directory,
  files: FILES,
  rest_ms: 0,
  freeBytes: () => 100 * GIB,
  connect: () => {
    connections += 1;
    const connection = openLogFiles(server.url);
    return {
      write: connection.write,
      switchFile: () => {
        said.push("switch");
        return connection.switchFile();
      },
      checkpoint: connection.checkpoint,
      end: () => {
        connections -= 1;
        return connection.end();
      },
    };
  },
  ...more,
});

/** As many files are full as an engine at work fills. */
async function atWork(): Promise<void> {
  while (countLogFiles(server.directory) < 3) {
    await sql`select pg_logical_emit_message(false, 'test', 'full')`;
    await sql`select pg_switch_wal()`;
  }
}

test("a server that was only started gets no file and is not asked", async () => {
  expect(countLogFiles(server.directory)).toBe(1);
  expect(await makeLogFiles(options(), never)).toBe(false);
  expect(said).toEqual([]);
  expect(countLogFiles(server.directory)).toBe(1);
});

test("a server at work whose disk has little room gets no file", async () => {
  await atWork();
  expect(await makeLogFiles(options({ freeBytes: () => 4 * GIB - 1 }), never)).toBe(false);
  expect(said).toEqual([]);
});

test("an end that comes between two files is the last statement, and the connection is given back", async () => {
  const ending = new AbortController();
  const stopping = options({
    connect: () => {
      const connection = options().connect();
      return {
        ...connection,
        switchFile: async () => {
          await connection.switchFile();
          ending.abort();
        },
      };
    },
  });
  expect(await makeLogFiles(stopping, ending.signal)).toBe(false);
  expect(said).toEqual(["switch"]);
  expect(connections).toBe(0);
});

test("a server at work has as many files as are wanted, which stand ready behind the one that is written", async () => {
  expect(await makeLogFiles(options(), never)).toBe(true);
  const names = readdirSync(join(server.directory, "pg_wal")).filter((name) => /^[0-9A-F]{24}$/u.test(name));
  const [{ current } = { current: "" }] = await sql<{ current: string }[]>`
    select pg_walfile_name(pg_current_wal_lsn()) as current`;
  expect(names.filter((name) => name > current).length).toBeGreaterThanOrEqual(FILES - 2);
  expect(connections).toBe(0);
});

test("a server that has its files is asked for nothing more", async () => {
  expect(await makeLogFiles(options(), never)).toBe(true);
  expect(said).toEqual([]);
});

test("an engine that is at work has its files made ahead without being told", async () => {
  // On a disk: a folder in memory may have less room than the files ask for.
  const own = mkdtempSync("/var/tmp/kurier-test-");
  const engine = await startEngineProcess({ dataDir: own, env: { NATS_URL: "embedded", VALIDATOR_THREADS: "1" } });
  try {
    const connection = openLogFiles(runningEmbeddedPostgres(own) ?? "");
    for (let filled = 1; filled < LIMITS.log_files_at_work; filled += 1) {
      await connection.write();
      await connection.switchFile();
    }
    await connection.end();
    await eventually("the files are there", () => countLogFiles(join(own, "postgres")) >= LIMITS.log_files);
  } finally {
    await engine.stop();
    rmSync(own, { recursive: true, force: true });
  }
});

test("a connection that fails is told in the log, and the loop ends when it is told to", async () => {
  const lines: string[] = [];
  const log = { ...silentLog, warn: (event: string) => void lines.push(event) };
  const failing = options({
    files: 20,
    connect: () => ({ ...options().connect(), switchFile: () => Promise.reject(new Error("away")) }),
  });
  const stop = keepLogFiles(failing, log);
  await expect.poll(() => lines).toEqual(["postgres.log_files_failed"]);
  await stop();
});
