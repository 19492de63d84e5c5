/**
 * An engine that cannot start says why in one sentence; one that is told to end, or is killed, leaves nothing running.
 * Method: the program as users start it, in processes of its own.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { errorCode } from "../../../engine/base/errors.js";
import { isRunning } from "../../../engine/embedded/child.js";
import { findNatsServer } from "../../../engine/embedded/embedded.js";
import { openKeyring } from "../../../engine/storage/keyring/keyring.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { accessToken, invoiceXml, send, sendParts } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { descendantsOf } from "../../support/process-memory.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { freePort, killEverythingOn, PROJECT, startEngineProcess } from "../../support/engines/process.js";
import { kurier } from "../../unit/commands/kurier.js";

/** What a runtime without tables of time zones takes every zone for. */
const WITHOUT_ZONES =
  "const Known = Intl.DateTimeFormat; Intl.DateTimeFormat = class extends Known { constructor(locale, options) { super(locale, { ...options, timeZone: 'UTC' }); } };";

/** A machine for which there is no package of uWebSockets.js. */
const WITHOUT_UWS =
  "import { syncBuiltinESMExports } from 'node:module'; Object.defineProperty(process, 'arch', { value: 'none' }); syncBuiltinESMExports();";

const undo: (() => void)[] = [];
beforeAll(async () => {
  await buildIfNeeded();
});
afterEach(() => {
  for (const step of undo.splice(0).reverse()) step();
});

function newDataDir(): string {
  const path = mkdtempSync(join(tmpdir(), "kurier-starting-"));
  undo.push(() => {
    killEverythingOn(path);
    rmSync(path, { recursive: true, force: true });
  });
  return path;
}

const pidIn = (file: string): number => (existsSync(file) ? Number(readFileSync(file, "latin1").split("\n")[0]) : 0);
const childrenOn = (dataDir: string): readonly number[] =>
  [join(dataDir, "postgres/postmaster.pid"), join(dataDir, "streams/nats.pid")].map(pidIn).filter((pid) => pid > 0);

describe("an engine that ends", () => {
  test("npm start, ended by SIGTERM alone, drains and leaves neither the engine nor its children", async () => {
    const dataDir = newDataDir();
    const [port, adminPort] = [await freePort(), await freePort()];
    const { PATH = "", HOME = "" } = process.env;
    const npm: ChildProcess = spawn("npm", ["start", "--silent"], {
      cwd: PROJECT,
      env: { PATH, HOME, DATA_DIR: dataDir, PORT: String(port), ADMIN_PORT: String(adminPort), LOG_LEVEL: "warn" },
      stdio: "ignore",
      // Not of our group: what ends the engine is the signal to npm and nothing else.
      detached: true,
    });
    undo.push(() => npm.kill("SIGKILL"));
    await eventually("the engine is ready", async () =>
      fetch(`http://127.0.0.1:${adminPort}/readyz`).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    // Should the signal end npm alone, the test's end does not leave the engine behind.
    const engine = pidIn(join(dataDir, "engine.lock"));
    undo.push(() => {
      if (isRunning(engine)) process.kill(engine, "SIGKILL");
    });
    const left = [engine, ...childrenOn(dataDir)];
    expect(left.every((pid) => isRunning(pid))).toBe(true);
    npm.kill("SIGTERM");
    await eventually("nothing is left", () => !left.some((pid) => isRunning(pid)));
  });

  test.each(["is there", "is gone"])(
    "an engine that is killed takes its Postgres and its nats-server with it, while its folder %s",
    async (folder) => {
      const dataDir = newDataDir();
      const engine = await startEngineProcess({ dataDir });
      const children = childrenOn(dataDir);
      expect(children).toHaveLength(findNatsServer() === undefined ? 1 : 2);
      expect(children.every((pid) => isRunning(pid))).toBe(true);
      if (folder === "is gone") rmSync(dataDir, { recursive: true, force: true, maxRetries: 10 });
      await engine.kill();
      await eventually("the children are gone", () => !children.some((pid) => isRunning(pid)));
    },
  );
});

test("an engine that waits for the migrations of another process is gone soon after it is told to end", async () => {
  const db = await freshDatabase({ migrated: false });
  // What a process has that applies migrations; see engine/storage/migrate.ts.
  await db.one("migrates")`select pg_advisory_lock(118091513783666)`;
  const { PATH = "" } = process.env;
  const env = { PATH, DATA_DIR: newDataDir(), DATABASE_URL: db.url, NATS_URL: "embedded", LOG_LEVEL: "silent" };
  const engine = spawn(process.execPath, [join(PROJECT, "gateway/kurier.mjs"), "serve"], {
    env: { ...env, PORT: "0", ADMIN_PORT: "0", ENVIRONMENT: "sandbox" },
    stdio: "ignore",
  });
  undo.push(() => engine.kill("SIGKILL"));
  const waiting = (): Promise<readonly unknown[]> =>
    db.sql`select 1 from pg_locks where locktype = 'advisory' and not granted and database = (
      select oid from pg_database where datname = current_database())`;
  await eventually("it waits", async () => (await waiting()).length > 0);
  engine.kill("SIGTERM");
  await eventually("it is gone", () => engine.exitCode !== null || engine.signalCode !== null);
  expect(engine.exitCode).toBe(0);
  await db.drop();
});

/** Has a process take itself for the first one of a container, and tells it to end as soon as anybody listens. */
const FIRST = `data:text/javascript,${encodeURIComponent(
  'const { pid } = process; Object.defineProperty(process, "pid", { value: 1 }); process.on("newListener", (signal) => { if (signal === "SIGTERM") setImmediate(() => process.kill(pid, signal)); });',
)}`;

test.each(["serve", "validate -"])(
  "kurier %s, told to end as the first process of a container, ends also while nothing of it listens yet",
  async (words) => {
    const { PATH = "" } = process.env;
    const file = join(PROJECT, "gateway/kurier.mjs");
    const child = spawn(process.execPath, ["--import", FIRST, file, ...words.split(" ")], {
      env: { PATH, DATA_DIR: newDataDir(), ENVIRONMENT: "sandbox" },
      stdio: ["pipe", "ignore", "ignore"],
    });
    undo.push(() => child.kill("SIGKILL"));
    await eventually("it is gone", () => child.exitCode !== null || child.signalCode !== null);
    expect([child.exitCode, child.signalCode]).toEqual([143, null]);
  },
);

/** Tells a process or, below 0, a group; one that has ended meanwhile needs no telling. */
function tell(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) !== "ESRCH") throw error;
  }
}

/** Whether a process runs initdb; one that has ended meanwhile does not. */
function isInitdb(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/exe`).endsWith("/initdb");
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    return false;
  }
}

/** A first start in the moment in which its database is made; everything that it has started by then. */
async function startMaking(): Promise<{ readonly engine: ChildProcess; readonly begun: readonly number[] }> {
  const dataDir = newDataDir();
  const { PATH = "" } = process.env;
  const env = { PATH, DATA_DIR: dataDir, NATS_URL: "embedded", LOG_LEVEL: "silent", ENVIRONMENT: "sandbox" };
  const engine = spawn(process.execPath, [join(PROJECT, "gateway/kurier.mjs"), "serve"], {
    env: { ...env, PORT: "0", ADMIN_PORT: "0" },
    stdio: "ignore",
    detached: true,
  });
  undo.push(() => engine.kill("SIGKILL"));
  await eventually("its database is being made", () => existsSync(join(dataDir, "postgres.new/base")));
  return { engine, begun: descendantsOf(engine.pid ?? 0) };
}

test.each([
  ["whose whole group is told to end, as by Ctrl-C,", (pid: number) => [-pid]],
  ["all of whose processes are told to end, as by systemd,", (pid: number) => [pid, ...descendantsOf(pid)]],
])("an engine %s while its database is made ends with 0 and leaves nothing running", async (_, told) => {
  const { engine, begun } = await startMaking();
  for (const pid of told(engine.pid ?? 0)) tell(pid, "SIGTERM");
  await eventually("it is gone", () => engine.exitCode !== null || engine.signalCode !== null);
  expect(engine.exitCode).toBe(0);
  await eventually("nothing is left", () => !begun.some((pid) => isRunning(pid)));
});

test("an engine that is killed while its database is made leaves nobody who works on it, however long that takes", async () => {
  const { engine, begun } = await startMaking();
  const making = begun.filter(isInitdb);
  expect(making.length).toBeGreaterThan(0);
  for (const pid of making) tell(pid, "SIGSTOP");
  engine.kill("SIGKILL");
  await eventually("nothing is left", () => !begun.some((pid) => isRunning(pid)));
});

describe("an engine whose operator loads a module before it", () => {
  const note = (to: string): string =>
    `.appendFileSync(${JSON.stringify(to)}, isMainThread ? "engine\\n" : "thread\\n");`;

  /** Writes an ES module and a CommonJS one that asks for it by `require`; each notes in a file who has loaded it. */
  function newModules(): { readonly es: string; readonly common: string; readonly loaded: () => readonly string[] } {
    const folder = newDataDir();
    const [es, common, log] = [join(folder, "es.mjs"), join(folder, "common.cjs"), join(folder, "loaded")];
    writeFileSync(es, `import fs from "node:fs"; import { isMainThread } from "node:worker_threads"; fs${note(log)}`);
    writeFileSync(common, `require(${JSON.stringify(es)});`);
    return { es, common, loaded: () => readFileSync(log, "utf8").trim().split("\n") };
  }

  test.each<readonly [string, (of: { readonly es: string; readonly common: string }) => string]>([
    ["--import of an ES module", ({ es }) => `--import ${es}`],
    ["--import of a CommonJS module that requires one", ({ common }) => `--import=${common}`],
    ["--require of an ES module", ({ es }) => `--no-warnings --require "${es}" --max-semi-space-size=16`],
    ["-r of a CommonJS module that requires one", ({ common }) => `-r ${common}`],
  ])("NODE_OPTIONS with %s is heard by the engine and stops none of its threads", async (_, optionsOf) => {
    const modules = newModules();
    const engine = await startEngineProcess({ dataDir: newDataDir(), env: { NODE_OPTIONS: optionsOf(modules) } });
    try {
      const { sandbox } = engine;
      const [from, to] = [sandbox.sender.participantId, sandbox.receiver.participantId];
      const sender = { participantId: from, token: await accessToken(sandbox, sandbox.sender) };
      const sent = await send(sandbox, sender, sendParts(from, to, invoiceXml(from, to)));
      expect(sent.status, sent.text).toBe(202);
      expect(new Set(modules.loaded())).toEqual(new Set(["engine"]));
    } finally {
      await engine.stop();
    }
  });
});

describe("an engine that cannot start", () => {
  const taken = createServer();
  /** A server of Postgres as far as it says that it offers no TLS. */
  const plain = createServer((socket) => socket.once("data", () => socket.end("N")));
  /** One that cannot take a connection at this moment: it says so before it says anything of TLS. */
  const full = createServer((socket) => socket.once("data", () => socket.end("Ecould not fork\0")));
  let db: TestDatabase;
  let empty: TestDatabase;
  beforeAll(async () => {
    for (const server of [taken, plain, full])
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    [db, empty] = await Promise.all([freshDatabase(), freshDatabase({ migrated: false })]);
    await openKeyring(db.sql, [Buffer.alloc(32, 7)], systemClock);
  });
  afterAll(async () => {
    taken.close();
    plain.close();
    full.close();
    await Promise.all([db.drop(), empty.drop()]);
  });

  const onPorts = { PORT: "0", ADMIN_PORT: "0", ENVIRONMENT: "sandbox" };
  const sealedDatabase = (): Readonly<Record<string, string>> => ({
    DATABASE_URL: db.url,
    NATS_URL: "embedded",
    MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
  });
  const withParameter = (url: string): string => `${url}${url.includes("?") ? "&" : "?"}`;
  const AWAY = 75;
  const WRONG = 78;
  const cases: readonly (readonly [
    name: string,
    code: number,
    env: () => Readonly<Record<string, string>>,
    says: RegExp,
  ])[] = [
    [
      "a database at whose address nobody listens",
      AWAY,
      () => ({ DATABASE_URL: "postgres://kurier@127.0.0.1:1/kurier" }),
      /^The database cannot be used: nobody listens at the address of DATABASE_URL \(ECONNREFUSED\); try again when it is there\.$/,
    ],
    [
      "a database at a port that there is none of",
      WRONG,
      () => ({ DATABASE_URL: "postgres://kurier@127.0.0.1:99999/kurier" }),
      /^DATABASE_URL must be a URL that begins with postgres: or postgresql:\.$/,
    ],
    [
      "a public address without a host",
      WRONG,
      () => ({ PUBLIC_URL: "http://", NATS_URL: "embedded" }),
      /^PUBLIC_URL must be a URL that begins with http: or https:\.$/,
    ],
    [
      "a data directory that is a file",
      WRONG,
      () => {
        const file = join(newDataDir(), "file");
        writeFileSync(file, "");
        return { DATA_DIR: file };
      },
      /^DATA_DIR \S+ cannot be used: it is a file and not a folder\.$/,
    ],
    [
      "a master key that is a folder, as a container makes it of a file that is not there",
      WRONG,
      () => {
        const dataDir = newDataDir();
        mkdirSync(join(dataDir, "master.key"));
        return { DATA_DIR: dataDir, DATABASE_URL: db.url, NATS_URL: "embedded" };
      },
      /^\S+\/master\.key cannot be used: it is a folder and not a file\.$/,
    ],
    [
      "a file of the sandbox that is a folder",
      WRONG,
      () => {
        const dataDir = newDataDir();
        mkdirSync(join(dataDir, "sandbox.json"));
        return { ...sealedDatabase(), DATA_DIR: dataDir };
      },
      /^A file that is needed cannot be used: it is a folder and not a file\.$/,
    ],
    [
      "a data directory where the system lets nobody make one",
      WRONG,
      () => ({ DATA_DIR: "/proc/nothing/deeper" }),
      /^DATA_DIR \S+ cannot be used: it is not there, or lies where nothing can be made\.$/,
    ],
    [
      "a store of evidence that is a file",
      WRONG,
      () => {
        const file = join(newDataDir(), "file");
        writeFileSync(file, "");
        return { EVIDENCE_STORE: `file:${file}`, NATS_URL: "embedded" };
      },
      /^\S+ cannot be used: it is a file and not a folder\.$/,
    ],
    [
      "a directory of firms' keys that is a file",
      WRONG,
      () => {
        const file = join(newDataDir(), "file");
        writeFileSync(file, "");
        return { ...sealedDatabase(), FIRM_KEYS: `file:${file}` };
      },
      /^FIRM_KEYS could not be (read|written): (ENOTDIR|EEXIST)\.$/,
    ],
    [
      "a directory of firms' keys where the system lets nobody make one",
      WRONG,
      () => ({ ...sealedDatabase(), FIRM_KEYS: "file:/proc/nothing/deeper" }),
      /^FIRM_KEYS could not be written: ENOENT\.$/,
    ],
    [
      "a password of the database that is not encoded",
      WRONG,
      () => ({ DATABASE_URL: "postgres://kurier:100%secret@127.0.0.1:1/kurier" }),
      /^DATABASE_URL must be percent-encoded: a % that stands for itself is written %25\.$/,
    ],
    [
      "resolvers that are no addresses, though nothing would ask them",
      WRONG,
      () => ({ DNS_SERVERS: "abc" }),
      /^DNS_SERVERS must be addresses, such as .*\.$/,
    ],
    [
      "a master key that is not the one of its database",
      WRONG,
      () => {
        const env = { DATABASE_URL: db.url, NATS_URL: "embedded" };
        return { ...env, MASTER_KEY: Buffer.alloc(32, 9).toString("base64") };
      },
      /^MASTER_KEY is not the key that what is stored is sealed with, which is [0-9a-f]{16}; .*\.$/,
    ],
    [
      "a database that it may not change and that is behind",
      WRONG,
      () => ({ DATABASE_URL: empty.url, NATS_URL: "embedded", MIGRATE: "by-command" }),
      /^The schema lacks \d+ migrations, the first is 0001_\w+\.sql; run kurier migrate, or set MIGRATE=at-start\.$/,
    ],
    [
      "a database of another name",
      WRONG,
      () => ({ DATABASE_URL: db.url.replace(/\/test_\w+/, "/nowhere"), NATS_URL: "embedded" }),
      /^The database cannot be used: there is no database of the name in DATABASE_URL \(3D000\); correct it\.$/,
    ],
    [
      "a parameter of its database's address that Postgres does not have",
      WRONG,
      () => ({ DATABASE_URL: `${withParameter(db.url)}schema=public` }),
      /^The database cannot be used: it has no setting schema, which DATABASE_URL asks for \(42704\); correct it\.$/,
    ],
    [
      "a parameter of its database's address with a value that Postgres does not take",
      WRONG,
      () => ({ DATABASE_URL: `${withParameter(db.url)}statement_timeout=soon` }),
      /^The database cannot be used: it does not take the value of statement_timeout in DATABASE_URL \(22023\); correct it\.$/,
    ],
    [
      "a parameter of its database's address that a connection may not change",
      WRONG,
      () => ({ DATABASE_URL: `${withParameter(db.url)}port=5432` }),
      /^The database cannot be used: DATABASE_URL asks for the setting port, which no connection may change \(55P02\); correct it\.$/,
    ],
    [
      "a search path without a schema",
      WRONG,
      () => ({ DATABASE_URL: `${withParameter(db.url)}search_path=nowhere`, NATS_URL: "embedded" }),
      /^The database cannot be used: it has no schema of the search path that DATABASE_URL or its user asks for \(3F000\); correct it\.$/,
    ],
    [
      "several hosts, at none of which anybody listens",
      WRONG,
      () => ({ DATABASE_URL: "postgres://kurier@127.0.0.1,127.0.0.2:1/kurier" }),
      /^DATABASE_URL must name one host, such as a pooler or a DNS name that leads to the primary\.$/,
    ],
    [
      "several hosts whose comma is percent-encoded, at none of which anybody listens",
      WRONG,
      () => ({ DATABASE_URL: "postgres://kurier@127.0.0.1%2C127.0.0.2:1/kurier" }),
      /^DATABASE_URL must name one host, such as a pooler or a DNS name that leads to the primary\.$/,
    ],
    ...["any", "primary", "leader"].map(
      (kind) =>
        [
          `an address that asks for a server of the kind ${kind}`,
          WRONG,
          () => ({ DATABASE_URL: `${withParameter(db.url)}target_session_attrs=${kind}` }),
          /^DATABASE_URL must have no target_session_attrs: it names one server, which has to be the primary\.$/,
        ] as const,
    ),
    [
      "an environment that asks for a kind of server",
      WRONG,
      () => ({ PGTARGETSESSIONATTRS: "any" }),
      /^PGTARGETSESSIONATTRS must not be set: DATABASE_URL names one server, which has to be the primary\.$/,
    ],
    [
      "TLS that its database does not offer",
      WRONG,
      () => {
        const { port } = plain.address() as AddressInfo;
        return { DATABASE_URL: `postgres://kurier@127.0.0.1:${port}/kurier?sslmode=require`, NATS_URL: "embedded" };
      },
      /^The database cannot be used: it offers no TLS, which DATABASE_URL asks for \(TLS_NOT_OFFERED\); correct it\.$/,
    ],
    [
      "a database that cannot take a connection at this moment",
      AWAY,
      () => {
        const { port } = full.address() as AddressInfo;
        return { DATABASE_URL: `postgres://kurier@127.0.0.1:${port}/kurier?sslmode=require`, NATS_URL: "embedded" };
      },
      /^The database cannot be used: it ended the connection \(CONNECTION_CLOSED\); try again when it is there\.$/,
    ],
    [
      "an address that is not ours",
      WRONG,
      () => ({ HOST: "192.0.2.1" }),
      /^HOST 192\.0\.2\.1 is no address of this machine; .*\.$/,
    ],
    [
      "a port that is taken",
      AWAY,
      () => ({ ADMIN_PORT: String((taken.address() as AddressInfo).port) }),
      /^Port \d+ on 127\.0\.0\.1 is taken; choose another ADMIN_PORT\.$/,
    ],
    [
      "one port for both listeners",
      WRONG,
      () => ({ PORT: "18120", ADMIN_PORT: "18120" }),
      /^ADMIN_PORT must differ from PORT: HOST and ADMIN_HOST share an address, which has one listener a port\.$/,
    ],
    [
      "tables of time zones that know no Slovak day",
      WRONG,
      () => ({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(WITHOUT_ZONES)}` }),
      /^The time-zone data of this Node\.js gives a wrong Europe\/Bratislava day for \S+; install a Node\.js with full ICU\.$/,
    ],
    [
      "a form of the HTTP server whose binary this machine does not have",
      WRONG,
      () => ({
        ...sealedDatabase(),
        HTTP_SERVER: "uws",
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(WITHOUT_UWS)}`,
      }),
      /^HTTP_SERVER must not be uws here: no uWebSockets\.js binary loads .*; leave it out to have the form that fits\.$/,
    ],
    [
      "a server of NATS that is none",
      WRONG,
      () => ({ NATS_URL: "http://x" }),
      /^NATS_URL must be embedded, or comma-separated servers such as nats:.*\.$/,
    ],
  ];

  test.each(cases)("because of %s ends with %i and one sentence", async (_name, code, env, says) => {
    const ran = await kurier(["serve"], { env: { DATA_DIR: newDataDir(), ...onPorts, ...env() } });
    expect(ran.err.trimEnd()).toMatch(says);
    expect(ran.out).not.toMatch(/\n\s+at /);
    expect(ran.code).toBe(code);
  });

  test("a start tells in one line which names are one slip away from its variables, and no value", async () => {
    const env = { DATABASE_URL: "postgres://kurier@127.0.0.1:1/kurier", LOGLEVEL: "warn", MAILFROM: "productive" };
    const ran = await kurier(["serve"], { env: { DATA_DIR: newDataDir(), ...onPorts, ...env } });
    const told = ran.out.split("\n").filter((line) => line.includes("config.name_misspelt"));
    expect(told).toEqual([expect.stringContaining('"LOGLEVEL (LOG_LEVEL?), MAILFROM (MAIL_FROM?)"')]);
    expect(ran.out).not.toContain("productive");
  });

  test("because of a word that it does not know ends with 2 and one sentence", async () => {
    const ran = await kurier(["serve", "gateway"], { env: { DATA_DIR: newDataDir(), ...onPorts } });
    expect([ran.code, ran.err.trimEnd()]).toEqual([
      2,
      "gateway is a word too many: this command takes no words, only options.",
    ]);
  });

  test.each([
    ["appears", /^\d+/],
    ["is ready", /ready\s*$/],
  ])(
    "because its Postgres is killed as soon as it %s ends with 75 and one sentence, or starts all the same",
    async (_when, shows) => {
      const dataDir = newDataDir();
      const child = spawn(process.execPath, [join(PROJECT, "gateway/kurier.mjs"), "serve"], {
        env: {
          PATH: process.env["PATH"] ?? "",
          DATA_DIR: dataDir,
          NATS_URL: "embedded",
          LOG_LEVEL: "silent",
          ...onPorts,
        },
        stdio: ["ignore", "pipe", "pipe"],
      });
      undo.push(() => child.kill("SIGKILL"));
      let [out, err] = ["", ""];
      child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
      child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
      const pidFile = join(dataDir, "postgres/postmaster.pid");
      await eventually("Postgres is there", () => existsSync(pidFile) && shows.test(readFileSync(pidFile, "latin1")));
      process.kill(pidIn(pidFile), "SIGKILL");
      await eventually("it has ended or is ready", () => child.exitCode !== null || out.includes("Kurier is ready"));
      if (child.exitCode === null) return;
      expect(err).toMatch(/^(The database cannot be used: |postgres did not start: )[^\n]*\n$/);
      expect(child.exitCode).toBe(AWAY);
    },
  );
});
