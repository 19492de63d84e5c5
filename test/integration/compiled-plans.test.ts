/**
 * No plan of ours is compiled. Method: a server that would compile every plan and counts, for each statement, the
 * functions that it compiled; a whole engine on it that is sent documents, judges, delivers and answers.
 * @source the column jit_functions of pg_stat_statements, PostgreSQL 15 and newer
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { describe, expect, test } from "vitest";

import { startEmbeddedPostgres } from "../../engine/embedded/postgres.js";
import { silentLog } from "../../engine/base/log.js";
import { openSql } from "../../engine/storage/sql.js";
import type { Sql } from "../../engine/storage/sql.js";
import { accessToken, invoiceXml, sapi, send, sendParts, startTestEngine } from "../support/engine.js";
import type { Mailbox } from "../support/engine.js";
import { eventually } from "../support/eventually.js";
import { isInstalled, POSTGRES_15, startPostgresServer } from "../support/postgres-server.js";
import type { PostgresServer } from "../support/postgres-server.js";

const COMPILES_EVERYTHING = {
  jit: "on",
  jit_above_cost: "0",
  jit_inline_above_cost: "0",
  jit_optimize_above_cost: "0",
  shared_preload_libraries: "pg_stat_statements",
  "pg_stat_statements.track": "all",
  "pg_stat_statements.max": "5000",
};

async function startEmbedded(): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), "kurier-pg-"));
  const server = await startEmbeddedPostgres({ dataDir: folder, log: silentLog, settings: COMPILES_EVERYTHING });
  return {
    url: server.url,
    stop: async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const SERVERS = [
  ["the embedded PostgreSQL", true, startEmbedded],
  [
    `PostgreSQL 15 at ${POSTGRES_15}`,
    isInstalled(POSTGRES_15),
    (): Promise<PostgresServer> => startPostgresServer(POSTGRES_15, COMPILES_EVERYTHING),
  ],
] as const;

/** Statements of which something was compiled. */
const compiled = async (sql: Sql): Promise<readonly string[]> =>
  (
    await sql<{ readonly query: string }[]>`
      select query from pg_stat_statements where jit_functions > 0`
  ).map(({ query }) => query);

/** One statement of a client that says nothing about compilation. @returns whether the server can compile */
async function ofAnother(url: string): Promise<boolean> {
  const host = new URL(url).searchParams.get("host") ?? "";
  const client = postgres({ host, port: 5432, user: "kurier", database: "postgres", max: 1 });
  try {
    await client`select sum(n) from generate_series(1, 1000) as s (n) where n % 7 = 3`;
    const [row] = await client<{ readonly able: boolean }[]>`select pg_jit_available() as able`;
    return row?.able === true;
  } finally {
    await client.end({ timeout: 1 });
  }
}

/** Documents there and back, one of them refused by its receiver, read and answered. */
async function exerciseEngine(url: string, sql: Sql): Promise<void> {
  const engine = await startTestEngine({
    transport: "as4",
    db: { url, sql, another: () => sql, drop: () => Promise.resolve() },
  });
  try {
    const { sender, receiver } = engine.sandbox;
    const mailbox = async (of: typeof sender): Promise<Mailbox> => ({
      participantId: of.participantId,
      token: await accessToken(engine.sandbox, of),
    });
    const [from, to] = [await mailbox(sender), await mailbox(receiver)];
    for (let i = 0; i < 8; i += 1) {
      const xml = invoiceXml(sender.participantId, receiver.participantId);
      expect(
        (await send(engine.sandbox, from, sendParts(sender.participantId, receiver.participantId, xml))).status,
      ).toBe(202);
    }
    await eventually(
      "all are delivered",
      async () => (await sql`select 1 from document where status = 'delivered'`).length === 8,
    );
    await eventually(
      "all are judged",
      async () => (await sql`select 1 from received_document where status = 'RECEIVED'`).length === 8,
    );
    const listed = await sapi(engine.sandbox, to, "GET", "/document/receive?limit=10");
    expect(listed.status).toBe(200);
    expect((await fetch(`${engine.sandbox.adminUrl}/metrics`)).status).toBe(200);
  } finally {
    await engine.stop();
  }
}

describe.each(SERVERS)("%s", (name, isThere, start) => {
  if (!isThere && process.env["CI"] === "true") throw new Error(`${name} is missing`);

  test.skipIf(!isThere)("no plan of ours is compiled by a server that would compile every plan", async () => {
    const server = await start();
    const sql = openSql({ url: server.url, name: "test", connections: 4 });
    try {
      await sql`create extension pg_stat_statements`;
      // What others ask is compiled where the server can: a count that is always nothing would prove nothing.
      const isAble = await ofAnother(server.url);
      expect((await compiled(sql)).length > 0).toBe(isAble);
      await sql`select pg_stat_statements_reset()`;
      await exerciseEngine(server.url, sql);
      expect(await sql`select count(*) > 100 as many from pg_stat_statements`).toEqual([{ many: true }]);
      expect(await compiled(sql)).toEqual([]);
    } finally {
      await sql.end({ timeout: 1 });
      await server.stop();
    }
  });
});
