/**
 * PgBouncer in transaction mode between the engines and Postgres, with the settings that docs/deploy.md names. Skipped
 * where it is not installed.
 * @source docs/deploy.md, A pooler
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { MigrationError, requireMigrated } from "../../../engine/storage/migrate.js";
import { losesStatements } from "../../../engine/storage/pooler.js";
import { isPassing, openSql, untilAnswered } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { databaseErrorOf } from "../../../engine/storage/unusable.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { EXIT } from "../../../gateway/commands/command.js";
import { signingKeyCommands } from "../../../gateway/commands/keys/signing.js";
import { startLoad } from "../../faults/load.js";
import { brokenOf, hurry, openDocuments } from "../../faults/servers/machines.js";
import { accessToken, http } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { hearCommand } from "../../support/engines/heard-command.js";
import { startMachines } from "../../support/engines/machines.js";
import type { Machines } from "../../support/engines/machines.js";
import { findPgBouncer, startPgBouncer } from "../../support/database/pgbouncer.js";
import type { Pooler } from "../../support/database/pgbouncer.js";
import { preparePostgresHost } from "../../support/database/postgres-host.js";
import type { PostgresHost } from "../../support/database/postgres-host.js";
import { isInstalled, POSTGRES_15 } from "../../support/database/postgres-server.js";
import { ROOT } from "../../support/sources.js";

const program = findPgBouncer();
const GUIDE = readFileSync(join(ROOT, "docs/deploy.md"), "utf8");
/** Settings that our connections ask for when they begin, and that PgBouncer does not know. */
const IGNORED = /^ignore_startup_parameters = (.*)$/m.exec(GUIDE)?.[1] ?? "";
/** What the role is told instead, and how an engine is told of the pooler. */
const ALTER_ROLE = [...GUIDE.matchAll(/^alter role kurier in database kurier set .*;$/gm)].map(([line]) => line);
const [, ASKED = ""] = /^DATABASE_URL=\S+(\?\S+)$/m.exec(GUIDE) ?? [];
const DOCUMENTS = 48;
const REVOCATIONS = 8;
const LONG_TO_READ = 200_000;
/** @source PostgreSQL, Message Formats: ReadyForQuery, idle */
const READY = Buffer.from("Z\0\0\0\x05I", "latin1");

/** Forwards to a pooler, and ends the first connection that has had the answer to its first question. */
async function endingFirstAnswered(port: number): Promise<{ readonly port: number; ended(): number; stop(): void }> {
  let ended = 0;
  const forwarder = createServer((client) => {
    const onward = connect(port, "127.0.0.1");
    let readies = 0;
    client.on("error", () => onward.destroy()).pipe(onward);
    onward
      .on("error", () => client.destroy())
      .on("data", (octets) => {
        client.write(octets);
        // ReadyForQuery comes when a session has begun and behind each answer.
        if (octets.subarray(-READY.length).equals(READY)) readies += 1;
        if (readies !== 2 || ended > 0) return;
        ended += 1;
        client.end();
      })
      .on("close", () => client.destroy());
  });
  await new Promise<void>((resolve) => forwarder.listen(0, "127.0.0.1", resolve));
  return { port: (forwarder.address() as AddressInfo).port, ended: () => ended, stop: () => forwarder.close() };
}

describe.skipIf(program === undefined || !isInstalled(POSTGRES_15))("behind PgBouncer in transaction mode", () => {
  let folder: string;
  let server: PostgresHost;
  let sql: Sql;
  let pooler: Pooler;
  let machines: Machines;

  beforeAll(async () => {
    await buildIfNeeded();
    folder = mkdtempSync(join(tmpdir(), "kurier-pooled-"));
    server = await preparePostgresHost(POSTGRES_15, join(folder, "postgres"), true);
    await server.start({ fsync: "off" });
    sql = openSql({ url: server.url, name: "oracle", connections: 2 });
    // What the pooler does not pass on belongs to the role.
    expect(ALTER_ROLE).toHaveLength(4);
    for (const line of ALTER_ROLE) await sql.unsafe(line.replace("database kurier", "database postgres"));
    pooler = await startPgBouncer(program ?? "", server.url, { ignore_startup_parameters: IGNORED });
    machines = await startMachines({
      count: 2,
      folder,
      databaseUrl: `${pooler.url}${ASKED}`,
      natsUrl: "embedded",
    });
  });
  afterAll(async () => {
    await machines.end();
    await pooler.stop();
    await sql.end({ timeout: 1 });
    await server.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });

  test("behind PgBouncer every setting that our connections ask for is passed on or named to be ignored", async () => {
    const strict = await startPgBouncer(program ?? "", server.url, {});
    const refused = openSql({ url: `${strict.url}?prepare=false`, name: "test", connections: 1 });
    const told: unknown = await refused`select 1`.catch((error: unknown) => error);
    expect(databaseErrorOf(told)).toMatchObject({
      message: expect.stringMatching(
        /^The database cannot be used: the pooler before it does not take the setting \w+, see ignore_startup_parameters in docs\/deploy\.md \(08P01\); correct it\.$/,
      ) as string,
      passing: false,
    });
    await refused.end({ timeout: 1 });
    await strict.stop();
    const behind = openSql({ url: `${pooler.url}${ASKED}`, name: "test", connections: 1 });
    const [row] = await behind<{ seqscan: string; jit: string }[]>`
      select current_setting('enable_seqscan') as seqscan, current_setting('jit') as jit`;
    await behind.end({ timeout: 1 });
    expect(row).toEqual({ seqscan: "off", jit: "off" });
  });

  test("behind PgBouncer nothing starts where the role lacks what the pooler drops, and the sentence says what it lacks", async () => {
    await sql`create database bare`;
    const bare = new URL(server.url);
    bare.pathname = "/bare";
    const dropping = await startPgBouncer(program ?? "", bare.href, { ignore_startup_parameters: IGNORED });
    const told: unknown = await requireMigrated({ url: `${dropping.url}${ASKED}` }).catch((error: unknown) => error);
    await dropping.stop();
    expect(told).toBeInstanceOf(MigrationError);
    expect((told as MigrationError).message).toMatch(
      /^Connections to this database have enable_seqscan = on, jit = on, lock_timeout = 0, which is not what they ask for: a pooler drops it, /,
    );
  });

  test("behind PgBouncer nothing starts whose prepared statements it loses, and the sentence says what ends that", async () => {
    const refusal = (url: string): Promise<string> => requireMigrated({ url }).then(() => "none", String);
    expect(await refusal(pooler.url)).toMatch(
      /^MigrationError: The pooler before this database gives prepared statements to sessions that do not have them: put prepare=false into DATABASE_URL /,
    );
    expect(await refusal(`${pooler.url}${ASKED}`)).toBe("none");
  });

  test("behind PgBouncer in session mode, where each connection finds its statements again, a start needs no prepare=false", async () => {
    const keeping = await startPgBouncer(program ?? "", server.url, {
      ignore_startup_parameters: IGNORED,
      pool_mode: "session",
    });
    await requireMigrated({ url: keeping.url });
    const sql = openSql({ url: keeping.url, name: "test", connections: 1 });
    expect(await losesStatements(sql, keeping.url)).toBe(false);
    await sql.end({ timeout: 1 });
    await keeping.stop();
  });

  test("behind PgBouncer that gives each session away in turn nothing starts whose prepared statements it loses", async () => {
    const turning = await startPgBouncer(program ?? "", server.url, {
      ignore_startup_parameters: IGNORED,
      server_round_robin: "1",
    });
    const refusal = await requireMigrated({ url: turning.url }).then(() => "none", String);
    await turning.stop();
    expect(refusal).toContain("put prepare=false into DATABASE_URL");
  });

  test("a connection that ends while a start looks for its statements does not make the pooler one that loses them", async () => {
    const keeping = await startPgBouncer(program ?? "", server.url, {
      ignore_startup_parameters: IGNORED,
      pool_mode: "session",
    });
    const balancer = await endingFirstAnswered(Number(new URL(keeping.url).port));
    const through = new URL(keeping.url);
    through.port = String(balancer.port);
    const sql = openSql({ url: keeping.url, name: "test", connections: 1 });
    // One that ends later than it was meant to ends a question: a start that meets this begins again.
    const told = await losesStatements(sql, through.href).catch((error: unknown) => !isPassing(error));
    expect(balancer.ended()).toBe(1);
    expect(told).toBe(false);
    await sql.end({ timeout: 1 });
    balancer.stop();
    await keeping.stop();
  });

  test("what the role is told holds behind PgBouncer once it has begun its sessions anew, as the sentence says", async () => {
    await sql`create database told`;
    const place = new URL(server.url);
    place.pathname = "/told";
    const dropping = await startPgBouncer(program ?? "", place.href, {
      ignore_startup_parameters: IGNORED,
      admin_users: place.username,
    });
    const refusal = async (): Promise<string> =>
      requireMigrated({ url: `${dropping.url}${ASKED}` }).then(String, String);
    expect(await refusal()).toMatch(/; and RECONNECT at the console of a PgBouncer in between \(docs\/deploy.md, /);
    for (const line of ALTER_ROLE) await sql.unsafe(line.replace("database kurier", "database told"));
    expect(await refusal()).toMatch(/have enable_seqscan = on, /);
    const commands = new URL(`${dropping.url}${ASKED}`);
    commands.pathname = "/pgbouncer";
    const admin = openSql({ url: commands.href, name: "test", connections: 1 });
    await admin.unsafe("RECONNECT").simple();
    await admin.end({ timeout: 1 });
    expect(await refusal()).toMatch(/The schema lacks/);
    await dropping.stop();
  });

  test("behind PgBouncer a statement that is asked for on a connection where another is under way is answered", async () => {
    const one = openSql({ url: `${pooler.url}${ASKED}`, name: "test", connections: 1 });
    await one`select 1`;
    // So long to read that what Postgres says of it comes well behind the answer to the first.
    const long = `select $1::text as said where 1 in (${"1,".repeat(LONG_TO_READ)}1)`;
    const answers = await untilAnswered(Promise.all([one`select 1 as first`, one.unsafe(long, ["heard"])]));
    await one.end({ timeout: 1 });
    expect(answers).toMatchObject([[{ first: 1 }], [{ said: "heard" }]]);
  });

  test("behind PgBouncer two machines accept and deliver each document once, and all invariants hold", async () => {
    const load = await startLoad(() => machines, sql, 8);
    await load.ready();
    await load.send(DOCUMENTS);
    await load.repeat();
    // A pooler that is busy may cost a repeat: a kept connection that ended, or 503, and no other answer.
    expect(load.refusals.filter((refusal) => /^[1-9]/.test(refusal) && !refusal.startsWith("503 "))).toEqual([]);
    await eventually("everything is delivered", async () => {
      await hurry(sql);
      return (await openDocuments(sql)) === 0;
    });
    expect(load.accepted).toHaveLength(DOCUMENTS);
    expect(await brokenOf({ load, sql })).toEqual([]);
    for (const index of [0, 1]) expect(machines.machine(index).output()).not.toMatch(/prepared statement|26000/);
  });

  test("behind PgBouncer, where no announcement is heard, a token that one machine has revoked is refused by the other at once", async () => {
    const origin = (index: number): string => `http://127.0.0.1:${machines.machine(index).port}/sapi/v1`;
    const own = machines.sandbox.sender;
    for (let n = 0; n < REVOCATIONS; n += 1) {
      const token = await accessToken({ sapiBaseUrl: origin(0) }, own);
      const headers = { authorization: `Bearer ${token}`, "x-peppol-participant-id": own.participantId };
      expect((await http("GET", `${origin(1)}/document/receive`, headers)).status).toBe(200);
      const revoked = await http(
        "POST",
        `${origin(0)}/auth/revoke`,
        { ...headers, "content-type": "application/json" },
        JSON.stringify({ token }),
      );
      expect(revoked.status).toBe(200);
      expect((await http("GET", `${origin(1)}/document/receive`, headers)).status).toBe(401);
    }
  });

  test("behind PgBouncer, where no announcement is heard, tokens of a retired key are refused by every engine, and none signs with it", async () => {
    const origin = (index: number): string => `http://127.0.0.1:${machines.machine(index).port}/sapi/v1`;
    const own = machines.sandbox.sender;
    const answers = (token: string): Promise<readonly number[]> =>
      Promise.all(
        [0, 1].map(async (index) => {
          const headers = { authorization: `Bearer ${token}`, "x-peppol-participant-id": own.participantId };
          return (await http("GET", `${origin(index)}/document/receive`, headers)).status;
        }),
      );
    const token = await accessToken({ sapiBaseUrl: origin(0) }, own);
    expect(await answers(token)).toEqual([200, 200]);
    const databaseUrl = `${pooler.url}${ASKED}`;
    const { code } = await hearCommand({
      ...{ commands: signingKeyCommands, name: "keys retire-signing", databaseUrl },
      args: ["--all", "--reason", "a copy was stolen"],
    });
    expect([code, await answers(token)]).toEqual([EXIT.ok, [401, 401]]);
    for (const index of [0, 1])
      expect(await answers(await accessToken({ sapiBaseUrl: origin(index) }, own))).toEqual([200, 200]);
  });
});
