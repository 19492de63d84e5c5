/**
 * A connection to Postgres whose other end is gone without a word, as behind a host that was switched off: what waits on it
 * is told so, and asks again on another one. Method: a proxy in front of Postgres that stops passing octets.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";

import { openSql, orTemporary } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { eventually } from "../../support/eventually.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { shortenLimits } from "../../support/engines/limits.js";
import { startFreezingProxy } from "../../support/network/freezing-proxy.js";
import type { FreezingProxy } from "../../support/network/freezing-proxy.js";

const SILENCE_MS = 1_000;
let db: TestDatabase;
let proxy: FreezingProxy;

beforeAll(async () => {
  db = await freshDatabase();
  proxy = await startFreezingProxy(db.url);
});
afterAll(async () => {
  proxy.stop();
  await db.drop();
});

/** One connection through the proxy. */
function open(): Sql {
  const sql = openSql({ url: proxy.url, name: "silent", connections: 1, silence_ms: SILENCE_MS });
  onTestFinished(() => sql.end({ timeout: 1 }));
  return sql;
}

const sessionOf = async (sql: Sql): Promise<number | undefined> =>
  (await sql<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]?.pid;

test("a statement on a connection that says nothing any more fails as one whose outcome is unknown, and the next one has another connection", async () => {
  const sql = open();
  const before = await sessionOf(sql);
  proxy.freeze();
  await expect(sessionOf(sql)).rejects.toMatchObject({ code: "CONNECTION_CLOSED" });
  proxy.thaw();
  const after = await eventually("it is answered", () => sessionOf(sql).catch(() => undefined));
  expect(after).not.toBe(before);
});

test("a connection that was idle for longer than a silence may last is given up all the same when its other end is gone", async () => {
  const sql = open();
  await sessionOf(sql);
  await db.sql`select pg_sleep(${(1.5 * SILENCE_MS) / 1_000})`;
  proxy.freeze();
  onTestFinished(() => {
    proxy.thaw();
  });
  await expect(sessionOf(sql)).rejects.toMatchObject({ code: "CONNECTION_CLOSED" });
});

test("a statement fails whose connection nobody answers while it is made", async () => {
  proxy.freeze();
  onTestFinished(() => {
    proxy.thaw();
  });
  const sql = open();
  await expect(sessionOf(sql)).rejects.toMatchObject({ code: expect.stringMatching(/^CONNECT/u) as string });
});

test("a connection that owes no answer may be silent for as long as it likes", async () => {
  const sql = open();
  const before = await sessionOf(sql);
  await db.sql`select pg_sleep(${(1.5 * SILENCE_MS) / 1_000})`;
  expect(await sessionOf(sql)).toBe(before);
});

test("an answer may take as long as it likes while something of it comes", async () => {
  const sql = open();
  // Each row is longer than what Postgres gathers before it sends.
  const filled = await sql`
    select repeat('x', 20000), pg_sleep(${SILENCE_MS / 6 / 1_000})::text from generate_series(1, 12)`;
  expect(filled).toHaveLength(12);
});

test("a statement that may take as long as it likes is not ended for saying nothing", async () => {
  onTestFinished(shortenLimits({ db_silence_ms: 50 }));
  const sql = openSql({ url: db.url, name: "unhurried", connections: 1, statement_timeout_ms: 0 });
  onTestFinished(() => sql.end({ timeout: 1 }));
  const before = await sessionOf(sql);
  await sql`select pg_sleep(${SILENCE_MS / 2 / 1_000})`;
  expect(await sessionOf(sql)).toBe(before);
});

/** A server that listens at a Unix socket and stands still from its first moment on. @returns its address */
async function startStandingServer(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "kurier-standing-"));
  const listen = `require("node:net").createServer().listen({ path: process.argv[1], backlog: 1 }, () => {
    process.stdout.write("listens", () => process.kill(process.pid, "SIGSTOP"));
  });`;
  const server = spawn(process.execPath, ["-e", listen, join(folder, ".s.PGSQL.5432")], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => {
    server.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });
  await once(server.stdout, "data");
  return `postgres://kurier@localhost/postgres?host=${encodeURIComponent(folder)}`;
}

test("a server that stands still until the queue of its Unix socket is full is away, and callers are told to come again", async () => {
  const sql = openSql({ url: await startStandingServer(), name: "standing", connections: 8 });
  onTestFinished(() => sql.end({ timeout: 0 }));
  const first = Promise.race(Array.from({ length: 8 }, () => sql`select 1`));
  await expect(orTemporary(first)).rejects.toMatchObject({
    reason: "TEMPORARY",
    extras: { failure: expect.stringMatching(/^E(?:AGAIN|CONNREFUSED)$/u) as string },
  });
});
