/**
 * A connection to Postgres that is reset: each statement ends, with its own answer or with an error, also the one that is
 * made between the error and the end of the socket; and the connection is made anew and used.
 */
import { once } from "node:events";
import { connect, createServer, Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { createSecureContext, TLSSocket } from "node:tls";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { pemOf } from "../../../engine/peppol/pki/certificate.js";
import { socketsTo } from "../../../engine/storage/driver/sockets.js";
import { connectionTarget, openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { databaseErrorOf } from "../../../engine/storage/unusable.js";
import { eventually } from "../../support/eventually.js";
import { makeTestPki } from "../../support/peppol/test-pki.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";

/** What the proxy says to a request for TLS: a context to shake hands with, or that it has none. */
type Tls = ReturnType<typeof createSecureContext> | "none" | undefined;

/**
 * A proxy that resets what its clients hold, as the kernel does for a server that was killed.
 * @param tls  undefined where clients do not ask for it
 */
async function startResettingProxy(databaseUrl: string, tls?: Tls) {
  const { url, path } = connectionTarget(databaseUrl);
  const target = new URL(url);
  const clients = new Set<Socket>();
  const proxy = createServer((client) => {
    const server = path === undefined ? connect(Number(target.port), target.hostname) : connect(path);
    clients.add(client);
    client.on("close", () => clients.delete(client));
    const join = (plain: Socket): void => {
      for (const [from, to] of [
        [plain, server],
        [server, plain],
      ] as const) {
        from.on("error", () => to.destroy());
        from.on("close", () => to.destroySoon());
        from.pipe(to);
      }
    };
    if (tls === undefined) join(client);
    else
      client.once("data", () => {
        client.write(tls === "none" ? "N" : "S");
        join(tls === "none" ? client : new TLSSocket(client, { isServer: true, secureContext: tls }));
      });
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  target.hostname = "127.0.0.1";
  target.port = String((proxy.address() as AddressInfo).port);
  return {
    url: target.href,
    reset: () => {
      for (const client of clients) client.resetAndDestroy();
    },
    stop: () => {
      proxy.close();
      for (const client of clients) client.destroy();
    },
  };
}

let database: TestDatabase;
let proxy: Awaited<ReturnType<typeof startResettingProxy>>;
let stop = (): void => undefined;
let sql: Sql;
async function open(tls?: Tls, mode = ""): Promise<void> {
  proxy = await startResettingProxy(database.url, tls);
  stop = proxy.stop;
  sql = openSql({ url: `${proxy.url}${mode}`, connections: 1, name: "lost-sockets" });
}
beforeEach(async () => {
  database = await freshDatabase();
});
afterEach(async () => {
  await sql.end({ timeout: 0 });
  stop();
  stop = () => undefined;
  await database.drop();
});

const select = async (n: number): Promise<unknown> => {
  const rows = await sql<{ readonly n: number }[]>`select ${n}::integer as n`;
  // Told apart from an answer that has no row, which no statement here has.
  return rows.length === 1 ? rows[0]?.n : `${rows.length} rows`;
};
const ends = (statement: Promise<unknown>): Promise<unknown> => statement.catch((): unknown => "failed");

let made: Promise<ReturnType<typeof createSecureContext>> | undefined;
/** A certificate of localhost that nobody here trusts. */
const untrusted = (): Promise<ReturnType<typeof createSecureContext>> => (made ??= makeUntrusted());
async function makeUntrusted(): Promise<ReturnType<typeof createSecureContext>> {
  const host = (await makeTestPki()).leaf("smp", "localhost", { subject: { CN: "localhost" } });
  return createSecureContext({
    key: host.privateKey.export({ type: "pkcs8", format: "pem" }),
    cert: pemOf(host.certificate),
  });
}

describe.each([
  ["in clear", () => Promise.resolve(undefined), ""],
  ["over TLS", untrusted, "?sslmode=require"],
] as const)("a connection %s that is reset", (_, tls, mode) => {
  beforeEach(async () => {
    await open(await tls(), mode);
  });

  test("a statement that is made as soon as the one before has failed ends, and so does the next", async () => {
    expect(await select(1)).toBe(1);
    const slow = sql`select pg_sleep(2)`.catch(() => ends(select(2)));
    // The statement is on its way once its octets have left this turn.
    await turn();
    await turn();
    proxy.reset();
    expect(["failed", 2]).toContain(await slow);
    expect([await select(3), await select(4)]).toEqual([3, 4]);
  });

  test("a session that Postgres ends fails the statement under way with its reason, and none that comes later", async () => {
    expect(await select(1)).toBe(1);
    const [session] = await sql<{ readonly pid: number }[]>`select pg_backend_pid() as pid`;
    const pid = session?.pid ?? 0;
    const slow = sql`select pg_sleep(30)`.then(undefined, (error: unknown) => error);
    await eventually("the statement runs", async () => {
      const rows = await database.sql`select 1 from pg_stat_activity where pid = ${pid} and query like '%pg_sleep%'`;
      return rows.length === 1;
    });
    await database.sql`select pg_terminate_backend(${pid})`;
    expect(await slow).toMatchObject({ code: "57P01", severity: "FATAL" });
    expect([await select(2), await select(3)]).toEqual([2, 3]);
  });

  test("no statement is answered by nothing while connections are reset again and again", async () => {
    for (let round = 0; round < 40; round += 1) {
      const expected = [...Array(6).keys()].map((n) => round * 10 + n);
      const asked: Promise<unknown>[] = [];
      for (const n of expected) {
        if (n % 10 === round % 4) proxy.reset();
        asked.push(ends(select(n)));
        await turn();
      }
      const answers = await Promise.all(asked);
      answers.forEach((answer, index) => {
        expect(["failed", expected[index]]).toContain(answer);
      });
    }
    expect(await select(5)).toBe(5);
  });
});

describe("TLS", () => {
  test.each(["verify-full", "verify-ca"])("a certificate that nobody trusts is refused by sslmode=%s", async (mode) => {
    await open(await untrusted(), `?sslmode=${mode}`);
    await expect(select(1)).rejects.toMatchObject({ code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" });
  });

  test.each([
    ["prefer", 1],
    ["require", "DATABASE_URL asks for TLS, which this Postgres does not offer."],
  ])("where the server offers none, sslmode=%s ends with %j", async (mode, expected) => {
    await open("none", `?sslmode=${mode}`);
    const message = (error: unknown): unknown => (error instanceof Error ? error.message : error);
    expect(await select(1).catch(message)).toBe(expected);
  });

  test("a connection that was made without TLS because the server offers none stays while it is idle", async () => {
    proxy = await startResettingProxy(database.url, "none");
    stop = proxy.stop;
    sql = openSql({ url: `${proxy.url}?sslmode=prefer`, connections: 1, name: "lost-sockets", silence_ms: 500 });
    const session = async (): Promise<unknown> => (await sql`select pg_backend_pid() as pid`)[0]?.["pid"];
    const before = await session();
    await database.sql`select pg_sleep(1)`;
    expect(await session()).toBe(before);
  });

  test("a port on which nobody listens is said to be one, with TLS and without", async () => {
    for (const mode of ["", "?sslmode=require"]) {
      await open(undefined, mode);
      proxy.stop();
      await expect(select(1)).rejects.toMatchObject({ code: "ECONNREFUSED" });
      await sql.end({ timeout: 0 });
    }
  });
});

/** A message of the server's. @source PostgreSQL, Frontend/Backend Protocol, Message Formats */
function message(kind: string, ...parts: readonly (string | number)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => (typeof part === "number" ? int32(part) : Buffer.from(part))));
  return Buffer.concat([Buffer.from(kind), int32(body.length + 4), body]);
}
const int32 = (value: number): Buffer => {
  const octets = Buffer.alloc(4);
  octets.writeInt32BE(value);
  return octets;
};
const READY = message("Z", "I");
const BEGUN = Buffer.concat([message("R", 0), READY]);
/** One parameter, and one column `n`, both integers of four octets. */
const DESCRIBED = Buffer.concat([
  message("1"),
  message("t", "\0\x01", 23),
  message("T", "\0\x01", "n\0", 0, "\0\0", 23, "\0\x04", -1, "\0\0"),
]);
const ANSWERED = Buffer.concat([message("2"), message("D", "\0\x01", 1, "7"), message("C", "SELECT 1\0"), READY]);
const FATAL = message("E", "SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0");
const PROTOCOL_3 = 0x00030000;

describe("a server that ends the first session when it has described its statement", () => {
  /** Protocol versions in the first words of every connection that said any. */
  let openings: number[];
  let connections: number;
  /** What is said to the first statement that is to be described. */
  let said: readonly Buffer[];
  /** What is said to the first statement that is to be run. */
  let answered: readonly Buffer[];
  beforeEach(async () => {
    openings = [];
    connections = 0;
    answered = [ANSWERED];
    let [described, ran] = [0, 0];
    // Each piece arrives by itself.
    const say = async (client: Socket, pieces: readonly Buffer[]): Promise<void> => {
      for (const piece of pieces) {
        client.write(piece);
        for (let turns = 0; turns < 5; turns += 1) await turn();
      }
    };
    const server = createServer((client) => {
      let isOpen = false;
      connections += 1;
      client.on("error", () => undefined);
      client.on("data", (octets) => {
        if (!isOpen) {
          isOpen = true;
          const version = octets.readUInt32BE(4);
          openings.push(version);
          if (version === PROTOCOL_3) client.write(BEGUN);
          else client.end();
        } else if (octets[0] === "P".charCodeAt(0)) {
          described += 1;
          void say(client, described === 1 ? said : [DESCRIBED]);
        } else {
          ran += 1;
          void say(client, ran === 1 ? answered : [ANSWERED]);
        }
      });
      client.setNoDelay();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    stop = () => server.close();
    const { port } = server.address() as AddressInfo;
    sql = openSql({ url: `postgres://kurier@127.0.0.1:${port}/kurier`, connections: 1, name: "lost-sockets" });
  });

  test("a session that ends in the middle of an answer fails its statement, and the next has a session at once", async () => {
    said = [Buffer.concat([DESCRIBED, FATAL])];
    await expect(select(7)).rejects.toMatchObject({ code: "57P01" });
    expect(await select(7)).toBe(7);
    expect([connections, openings]).toEqual([2, [PROTOCOL_3, PROTOCOL_3]]);
  });

  test.each([1, 4, 5, 6, 13, FATAL.length - 1])(
    "the last words of a session are understood however they are cut: behind octet %i",
    async (cut) => {
      said = [DESCRIBED];
      answered = [Buffer.concat([message("2"), FATAL.subarray(0, cut)]), FATAL.subarray(cut)];
      await expect(select(7)).rejects.toMatchObject({ code: "57P01", severity: "FATAL" });
      expect(await select(7)).toBe(7);
      expect(openings).toEqual([PROTOCOL_3, PROTOCOL_3]);
    },
  );

  test("an answer that has come whole is given, whatever Postgres says between it and the end of the session", async () => {
    const notice = message("N", "SNOTICE\0VNOTICE\0C00000\0Mgoing\0\0");
    said = [DESCRIBED];
    answered = [Buffer.concat([ANSWERED, notice, message("S", "TimeZone\0UTC\0"), FATAL])];
    expect(await select(7)).toBe(7);
    expect(await select(7)).toBe(7);
    expect([connections, openings]).toEqual([2, [PROTOCOL_3, PROTOCOL_3]]);
  });

  test.each([1, 4, 5])(
    "an answer is whole with the last of its octets, also where %i of them come late",
    async (late) => {
      said = [DESCRIBED];
      answered = [ANSWERED.subarray(0, -late), Buffer.concat([ANSWERED.subarray(-late), FATAL])];
      expect(await select(7)).toBe(7);
      expect(await select(7)).toBe(7);
    },
  );

  test("an error that ends no session is one statement's, however it is cut", async () => {
    const error = message("E", "SERROR\0VERROR\0C22012\0Mdivision by zero, said VFATAL\0\0");
    said = [DESCRIBED];
    answered = [message("2"), error.subarray(0, 3), error.subarray(3, 20), error.subarray(20), READY];
    await expect(select(7)).rejects.toMatchObject({ code: "22012", severity: "ERROR" });
    expect(await select(7)).toBe(7);
    expect(connections).toBe(1);
  });

  test("what was about to be said on a socket that ends is said on none that comes later", async () => {
    said = [DESCRIBED];
    const connecting = vi.spyOn(Socket.prototype, "connect");
    expect(await select(7)).toBe(7);
    const [socket] = connecting.mock.contexts as Socket[];
    connecting.mockRestore();
    // A socket closes at the end of a turn, and what is said behind its immediates leaves in the next one.
    await turn();
    socket?.destroy();
    expect(await ends(select(7))).toBe("failed");
    expect(await select(7)).toBe(7);
    expect([...new Set(openings)]).toEqual([PROTOCOL_3]);
  });
});

describe("a server that is hardly there", () => {
  test("a pool that has ended makes no connection any more, also one that it was about to make", async () => {
    const server = createServer((client) => client.end()).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const target = { host: "127.0.0.1", port, path: undefined, tls: "disable" } as const;
    const came: Socket[] = [];
    server.on("connection", (client) => came.push(client));
    const late = await socketsTo(target, AbortSignal.abort(), 1_000)();
    late.on("error", () => undefined);
    await once(late, "close");
    await once(connect(port, "127.0.0.1"), "close");
    expect(came).toHaveLength(1);
    sql = openSql({ url: `postgres://kurier@127.0.0.1:${port}/kurier`, connections: 1, name: "lost-sockets" });
    server.close();
  });

  test("an address that the system refuses at once is an error, and ends nobody", async () => {
    sql = openSql({ url: "postgres://kurier@255.255.255.255:5432/kurier", connections: 1, name: "lost-sockets" });
    await expect(select(1)).rejects.toMatchObject({ syscall: "connect" });
  });

  test("a statement ends where each connection is taken and closed, as by a balancer without a server", async () => {
    const balancer = createServer((client) => client.end()).listen(0, "127.0.0.1");
    await once(balancer, "listening");
    const { port } = balancer.address() as AddressInfo;
    sql = openSql({ url: `postgres://kurier@127.0.0.1:${port}/kurier`, connections: 1, name: "lost-sockets" });
    await expect(select(1)).rejects.toMatchObject({ code: "CONNECTION_CLOSED" });
    balancer.close();
  });
});

describe("a session that can only read", () => {
  /** One that has begun when all was well. */
  let operator: Sql;
  /** Those that have begun stay as they are, as where an address is moved that they were made by. */
  const sessionsBegin = (as: "reading" | "writing"): Promise<unknown> =>
    operator.unsafe(`do $$ begin
      execute format(
        'alter database %I set default_transaction_read_only = ${as === "reading" ? "on" : "off"}', current_database());
    end $$`);
  beforeEach(async () => {
    operator = database.one("operator");
    await operator`create table kept (n integer)`;
    await sessionsBegin("reading");
    sql = openSql({ url: database.url, connections: 1, name: "lost-sockets" });
  });

  test("a write is refused by it once, and the next one has a session that begins anew", async () => {
    const told: unknown = await sql`insert into kept values (1)`.catch((error: unknown) => error);
    expect(databaseErrorOf(told)).toMatchObject({
      message: expect.stringContaining("it can only be read now, as a standby can (25006)") as string,
      passing: true,
    });
    await sessionsBegin("writing");
    await sql`insert into kept values (2)`;
    expect(await sql`select n from kept`).toEqual([{ n: 2 }]);
  });

  test("what waits behind a write that is refused by it is answered all the same", async () => {
    const [written, read] = await Promise.allSettled([sql`insert into kept values (3)`, select(1)]);
    expect(written).toMatchObject({ status: "rejected", reason: { code: "25006" } });
    expect(read).toEqual({ status: "fulfilled", value: 1 });
    await sessionsBegin("writing");
  });
});
