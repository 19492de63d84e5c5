// Goal: the door to Postgres reads and writes arrays as the server does, and a backend that dies never takes the process along.
import { randomUUID } from "node:crypto";
import { createServer } from "node:net";

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import type { ReceivedDocumentId } from "../../../engine/base/ids.js";
import { Refusal } from "../../../engine/base/errors.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { createLog, silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { release } from "../../../engine/documents/inbound/held.js";
import { EvidenceStoreFailure } from "../../../engine/storage/evidence/store.js";
import {
  isPassing,
  isUnknownOutcome,
  openSql,
  orTemporary,
  readOrTemporary,
  untilBack,
} from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { databaseErrorOf } from "../../../engine/storage/unusable.js";
import { route } from "../../../gateway/contract/route.js";
import { eventually } from "../../support/eventually.js";
import { fakeClock } from "../../support/fake-clock.js";
import { fakeSql } from "../../support/fake-sql.js";
import { serverForms, startGateway } from "../../support/engines/gateway.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(async () => {
  await database.drop();
});

const SEED = Number(process.env["SEED"] ?? 20_261_120);

describe("a Postgres that is away", () => {
  const failing = (code: string) => Object.assign(new Error(code), { code });

  test("what waits for Postgres is asked again while nobody can speak to it, and not when it is busy or full, refuses, or was left by us", async () => {
    const triesAt = async (code: string): Promise<number> => {
      let tries = 0;
      const ask = (): Promise<number> => {
        tries += 1;
        return tries === 2 ? Promise.resolve(tries) : Promise.reject(failing(code));
      };
      await untilBack(fakeClock(), ask).catch(() => undefined);
      return tries;
    };
    const away = ["CONNECTION_CLOSED", "ECONNREFUSED", "ENOENT", "57P01", "57P03", "08006"];
    const there = ["23505", "40001", "53100", "53300", "55P03", "57014", "25006", "CONNECTION_ENDED"];
    expect(await Promise.all(away.map(triesAt))).toEqual(away.map(() => 2));
    expect(await Promise.all(there.map(triesAt))).toEqual(there.map(() => 1));
  });

  test("who has waited as long as may be for Postgres is told what the last try met", async () => {
    const clock = fakeClock();
    let tries = 0;
    const ask = (): Promise<never> => {
      tries += 1;
      clock.advance(LIMITS.db_back_wait_ms / 2);
      return Promise.reject(failing(tries === 1 ? "ECONNREFUSED" : "57P03"));
    };
    await expect(untilBack(clock, ask)).rejects.toMatchObject({ code: "57P03" });
    expect(tries).toBe(2);
  });
});

describe("arrays", () => {
  test("any texts travel there and back unchanged", async () => {
    const text = fc.oneof(
      fc.string({ unit: "binary" }).filter((s) => !s.includes("\0") && s.isWellFormed()),
      fc.constantFrom("", "NULL", "null", '"', "\\", "{}", ",", " a ", "a\nb"),
      fc.constant(null),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 8 }), async (texts) => {
        const [row] =
          await database.sql`select ${texts as string[]}::text[] as same, cardinality(${texts as string[]}::text[]) as length`;
        expect(row).toEqual({ same: texts, length: texts.length });
      }),
      { seed: SEED, numRuns: 200 },
    );
  });

  test("every element type that our statements use keeps its value", async () => {
    const id = "0190b8f0-1c5e-7000-8000-000000000001";
    const [row] = await database.sql`select
      ${[1, -2]}::integer[] as ints, ${["9007199254740993"]}::bigint[] as bigints, ${[3]}::smallint[] as smallints, ${[0.5]}::float8[] as floats,
      ${[id]}::uuid[] as ids, ${["2026-11-20T09:00:00.123Z"]}::timestamptz[] as instants, ${["t", "f"]}::boolean[] as flags,
      ${["\\x00ff"]}::bytea[] as bytes, ${["1.10"]}::numeric[] as decimals, array['{"a": 1}'::jsonb] as objects, '{}'::text[] as none`;
    expect(row).toEqual({
      ints: [1, -2],
      bigints: ["9007199254740993"],
      smallints: [3],
      floats: [0.5],
      ids: [id],
      instants: [new Date("2026-11-20T09:00:00.123Z")],
      flags: [true, false],
      bytes: [Buffer.from([0, 255])],
      decimals: ["1.10"],
      objects: [{ a: 1 }],
      none: [],
    });
  });
});

test("a statement has the time that its pool gives it, which is not that of a request where a command says so", async () => {
  const shown = async (sql: typeof database.sql): Promise<unknown> =>
    (await sql<{ statement_timeout: string }[]>`show statement_timeout`)[0]?.statement_timeout;
  const ordinary = openSql({ url: database.url, name: "test", connections: 1 });
  const patient = openSql({ url: database.url, name: "test", connections: 1, statement_timeout_ms: 1_800_000 });
  onTestFinished(async () => {
    await Promise.all([ordinary, patient].map((sql) => sql.end({ timeout: 1 })));
  });
  expect([await shown(ordinary), await shown(patient)]).toEqual(["10s", "30min"]);
});

describe("answers of a connection whose last statement ended in the middle of its own", () => {
  const failing = {
    "failed after three rows": (sql: Sql) => sql`select 1 / (4 - n) from generate_series(1, 10) n`,
    "failed after three rows and had parameters": (sql: Sql) =>
      sql`select 1 / (${4}::integer - n) from generate_series(1, 10) n`,
    "lost its backend after three rows": (sql: Sql) =>
      sql`select case when n > 3 then pg_terminate_backend(pg_backend_pid()) end from generate_series(1, 10) n`,
  } satisfies Record<string, (sql: Sql) => PromiseLike<unknown>>;

  test.each(Object.entries(failing))("the answers behind a statement that %s are whole", async (_name, fail) => {
    const sql = openSql({ url: database.url, name: "test", connections: 1 });
    try {
      for (const rows of [1, 2, 0]) {
        const ask = () => sql<{ n: number }[]>`select n from generate_series(1, ${rows}::integer) n`;
        const [failed, next] = await Promise.allSettled([fail(sql), ask()]);
        expect(failed.status).toBe("rejected");
        // A backend that dies takes the statements with it that were sent behind, and its death is told once more.
        const answer =
          next.status === "fulfilled"
            ? next.value
            : await eventually("the connection is there again", async () => {
                const [again] = await Promise.allSettled([ask()]);
                return again.status === "fulfilled" ? again.value : undefined;
              });
        expect([...answer]).toEqual(Array.from({ length: rows }, (_, index) => ({ n: index + 1 })));
        expect([answer.length, answer.count]).toEqual([rows, rows]);
      }
    } finally {
      await sql.end({ timeout: 1 });
    }
  });
});

describe("a pool that ends", () => {
  const nap = (sql: Sql, seconds: number): Promise<unknown> =>
    sql`select pg_sleep(${seconds})`.then(
      () => "answered",
      (error: unknown) => codeIn(error),
    );
  const codeIn = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : error);
  const sessions = (name: string): Promise<number> =>
    database.sql`select 1 from pg_stat_activity where application_name = ${name}`.then(({ length }) => length);

  test.each([{}, { timeout: 30 }])(
    "what was asked of it before is answered, and later nothing, with %j",
    async (time) => {
      const sql = openSql({ url: database.url, connections: 1, name: "ending" });
      const answers = [1, 2, 3].map(() => nap(sql, 0.05));
      const ended = Promise.all([sql.end(time), sql.end(time)]);
      const late = nap(sql, 0);
      expect([await late, ...(await Promise.all(answers))]).toEqual(["CONNECTION_ENDED", ...Array(3).fill("answered")]);
      await ended;
      await eventually("its session has ended", async () => (await sessions("ending")) === 0);
    },
  );

  test("what has no answer in time fails with what waits behind it, and no session is opened for it any more", async () => {
    const sql = openSql({ url: database.url, connections: 1, name: "ending late" });
    const answers = [1, 2, 3].map(() => nap(sql, 30));
    await eventually("the first is under way", async () => (await sessions("ending late")) === 1);
    await sql.end({ timeout: 0.05 });
    expect(await Promise.all(answers)).toEqual(Array(3).fill("CONNECTION_DESTROYED"));
    const told = await database.sql<{ readonly pid: number }[]>`
      select pid, pg_terminate_backend(pid) from pg_stat_activity where application_name = 'ending late'`;
    expect(told.length).toBeLessThanOrEqual(1);
    await eventually("its session has ended", async () => (await sessions("ending late")) === 0);
  });
});

test("no plan of ours is compiled, also where the server would compile every plan", async () => {
  const [{ name } = { name: "" }] = await database.sql<{ readonly name: string }[]>`select current_database() as name`;
  for (const setting of ["jit = on", "jit_above_cost = 0", "jit_inline_above_cost = 0", "jit_optimize_above_cost = 0"])
    await database.sql.unsafe(`alter database ${name} set ${setting}`);
  const sql = database.another();
  const settings =
    await sql`select name, setting, source from pg_settings where name in ('jit', 'jit_above_cost') order by name`;
  // The database's own settings reached the connection, so that what turns compilation off is the connection itself.
  expect(settings).toEqual([
    { name: "jit", setting: "off", source: "client" },
    { name: "jit_above_cost", setting: "0", source: "database" },
  ]);
  const [plan] = await sql`explain (analyze, format json) select sum(version) from document where attempts > 0`;
  expect(JSON.stringify(plan)).toContain("Seq Scan");
  expect(JSON.stringify(plan)).not.toContain("JIT");
});

/** A server that lets everybody in and dies at the first statement, as a backend does that is terminated in that moment. */
async function dyingServer(): Promise<{ readonly url: string; close(): void }> {
  const message = (type: string, body: Buffer): Buffer => {
    const head = Buffer.alloc(5);
    head.write(type, "latin1");
    head.writeUInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  };
  const welcome = Buffer.concat([message("R", Buffer.alloc(4)), message("Z", Buffer.from("I"))]);
  const farewell = message("E", Buffer.from("SFATAL\0C57P01\0Mterminating connection\0\0"));
  const server = createServer((connection) => {
    connection.on("error", () => undefined);
    connection.once("data", () => {
      connection.write(welcome);
      connection.once("data", () => {
        connection.end(farewell);
      });
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  const port = address !== null && typeof address === "object" ? address.port : 0;
  return {
    url: `postgres://kurier@127.0.0.1:${port}/kurier`,
    close: () => {
      server.close();
    },
  };
}

test.each(serverForms)(
  "a statement that Postgres refuses for want of room is 503 and one line of the log a second, with its SQLSTATE and none of its text (%s)",
  async (form) => {
    const lines: string[] = [];
    const clock = fakeClock();
    const row = route({
      ...{ operation: "test", method: "GET", path: "/full", mounts: [""], family: "enterprise", summary: "Full" },
      ...{ errors: ["TEMPORARY"], credential: "bearer", responses: { 200: { description: "Never" } } },
      handler: async () => {
        await orTemporary(
          database.sql`do $$ begin raise exception 'FO-2026-17 has no room' using errcode = '53100'; end $$`,
        );
        return { status: 200 };
      },
    });
    const gateway = await startGateway(form, [row], {
      ports: { clock, log: createLog("info", { write: (line) => void lines.push(line) }) },
    });
    const ask = (): Promise<number> =>
      fetch(`${gateway.origin}/full`, { headers: { authorization: "Bearer good" } }).then(({ status }) => status);
    expect(await Promise.all([ask(), ask(), ask()])).toEqual([503, 503, 503]);
    clock.advance(LIMITS.log_kind_ms);
    expect(await ask()).toBe(503);
    await gateway.stop();
    const told = lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
    expect(told.filter(({ event }) => event === "database.failed")).toMatchObject([
      { level: "warn", code: "53100" },
      { level: "warn", code: "53100", count: 3 },
    ]);
    expect(lines.join("")).not.toContain("FO-2026-17");
  },
);

test("a backend that dies as soon as a connection stands rejects our statement and nothing else", async () => {
  const server = await dyingServer();
  const sql = openSql({ url: server.url, name: "test", connections: 1 });
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => {
    unhandled.push(reason);
  };
  process.on("unhandledRejection", note);
  const failure: unknown = await sql`select 1`.then(
    () => undefined,
    (error: unknown) => error,
  );
  await sql.end({ timeout: 1 });
  process.off("unhandledRejection", note);
  server.close();
  expect(isPassing(failure)).toBe(true);
  expect(unhandled).toEqual([]);
});

test("a role that may not log in for a while, as while its password is changed, is 503 for who asks", async () => {
  const role = `barred_${randomUUID().replaceAll("-", "")}`;
  const url = new URL(database.url);
  await database.sql.unsafe(`create role ${role} login password '${role}'`);
  [url.username, url.password] = [role, role];
  const sql = openSql({ url: url.href, name: "test", connections: 1 });
  expect(await readOrTemporary(async () => [...(await sql`select 1 as one`)])).toEqual([{ one: 1 }]);
  await database.sql.unsafe(`alter role ${role} nologin`);
  await database.sql`select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = ${role}`;
  const refused = (): Promise<unknown> =>
    readOrTemporary(async () => [...(await sql`select 1`)]).catch((error: unknown) => error);
  const told = await refused();
  expect(told).toMatchObject({ reason: "TEMPORARY" });
  // A client may ask once more on its connection before it hears that this has ended, and is told of that first.
  const failure = told instanceof Refusal && told.extras.failure === "CONNECTION_CLOSED" ? await refused() : told;
  expect(failure).toMatchObject({ reason: "TEMPORARY", extras: { failure: "28000" } });
  await sql.end({ timeout: 1 });
  await database.sql.unsafe(`drop role ${role}`);
});

test("a server that misses a file of its own is 503 for who asks", async () => {
  const raised = readOrTemporary(async () => [
    ...(await database.sql.unsafe("do $$ begin raise exception 'x' using errcode = '58P01'; end $$")),
  ]);
  await expect(raised).rejects.toMatchObject({ reason: "TEMPORARY", extras: { failure: "58P01" } });
});

test("a role that may open no more connections is told how many an engine takes", async () => {
  const role = `limited_${randomUUID().replaceAll("-", "")}`;
  await database.sql.unsafe(`create role ${role} login password '${role}' connection limit 0`);
  const url = new URL(database.url);
  [url.username, url.password] = [role, role];
  const sql = openSql({ url: url.href, name: "test", connections: 1 });
  const refused: unknown = await sql`select 1`.catch((error: unknown) => error);
  await sql.end({ timeout: 1 });
  await database.sql.unsafe(`drop role ${role}`);
  expect(databaseErrorOf(refused)).toMatchObject({
    passing: true,
    message:
      "The database cannot be used: it has no connection left, of which each engine takes up to 24 (53300); try again when it is there.",
  });
});

test.each([
  ["a session that is refused, as for a password", { code: "28P01", severity: "FATAL" }, true, false],
  ["a pooler that refuses one in its own words", { code: "28P01", severity_local: "FATAL" }, true, false],
  ["a session whose idle time is over", { code: "57P05", severity: "FATAL" }, true, true],
  ["a certificate whose time is over", { code: "CERT_HAS_EXPIRED" }, true, false],
  ["a server that may open no more files", { code: "53000", severity: "ERROR" }, true, false],
  ["a server whose disk cannot be read", { code: "58030", severity: "ERROR" }, true, false],
  ["a server that misses a file of its own", { code: "58P01", severity: "ERROR" }, true, false],
  ["the same code inside a session", { code: "28000", severity: "ERROR" }, false, false],
  ["a socket that is not there", { code: "ENOENT", syscall: "connect" }, true, false],
  ["a file that is not there", { code: "ENOENT", syscall: "open" }, false, false],
  ["a socket whose queue is full", { code: "EAGAIN", syscall: "connect" }, true, false],
  ["a process for which the machine has no room", { code: "EAGAIN", syscall: "spawn" }, false, false],
])("%s passes, or is a fault of ours, by who is refused", (_what, said, passes, isUnknown) => {
  const error = Object.assign(new Error("x"), said);
  expect([isPassing(error), isUnknownOutcome(error)]).toEqual([passes, isUnknown]);
});

test("a store of evidence that is away is no database that is away, though the system has one code for both", () => {
  expect(["ENOENT", "ETIMEDOUT"].map((code) => isPassing(new EvidenceStoreFailure("x", code)))).toEqual([false, false]);
});

test.each([
  ["a database that is closed for a moment", Object.assign(new Error("x"), { code: "55000", severity: "FATAL" }), 2],
  ["a password that is not taken", Object.assign(new Error("x"), { code: "28P01", severity: "FATAL" }), 1],
  ["a certificate whose time is over", Object.assign(new Error("x"), { code: "CERT_HAS_EXPIRED" }), 1],
  ["a file that is not there", Object.assign(new Error("x"), { code: "ENOENT", syscall: "open" }), 1],
  ["a socket whose queue is full", Object.assign(new Error("x"), { code: "EAGAIN", syscall: "connect" }), 2],
])("%s is asked again for as long as a wait may mend it", async (_what, error, times) => {
  let asked = 0;
  const ask = () => {
    asked += 1;
    return asked === 1 ? Promise.reject(error) : Promise.resolve("answered");
  };
  await untilBack(fakeClock(), ask).catch(() => undefined);
  expect(asked).toBe(times);
});

test("an operator who shows a held document while the database lets nobody in is told to come again", async () => {
  const refused = Object.assign(new Error("x"), { code: "28P01", severity: "FATAL" });
  const sql = fakeSql(() => Promise.reject(refused));
  const released = release(
    { sql, clock: fakeClock(), log: silentLog, metrics: createMetrics() },
    randomUUID() as ReceivedDocumentId,
  );
  await expect(released).rejects.toMatchObject({ reason: "TEMPORARY", extras: { failure: "28P01" } });
});
