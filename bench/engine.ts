/** An engine process for benchmarks: embedded Postgres with full durability, many firms with a token each. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { createHash, createHmac, randomBytes, randomInt } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { systemClock } from "../engine/base/clock.js";
import { childEnvironment } from "../engine/base/config.js";
import { runningEmbeddedPostgres } from "../engine/embedded/embedded.js";
import { readSandbox } from "../engine/identity/sandbox.js";
import type { Sandbox } from "../engine/identity/sandbox.js";
import { newId } from "../engine/base/ids.js";
import { BILLING_CAPABILITIES } from "../engine/peppol/envelope/identifiers.js";
import type { Scope } from "../engine/base/scopes.js";
import { openSql } from "../engine/storage/sql.js";
import type { Sql } from "../engine/storage/sql.js";

/** As `npm start` starts it; D-289, D-384 and D-424 say what for. */
export const AS_NPM_START = {
  nodeOptions: ["--max-semi-space-size=16", `--v8-pool-size=${Math.floor(availableParallelism() / 2)}`],
  env: { MALLOC_MMAP_THRESHOLD_: "131072", MALLOC_ARENA_MAX: "2" },
} as const;

const START_PATIENCE_MS = 60_000;
const STOP_PATIENCE_MS = 30_000;
const POLL_MS = 20;

/** An engine of its own process, with the addresses that a benchmark needs. */
export interface BenchEngine {
  readonly sandbox: Sandbox;
  readonly sql: Sql;
  readonly databaseUrl: string;
  readonly pid: number;
  /** Where `/readyz` and `/metrics` are. */
  readonly adminUrl: string;
  readonly dataDir: string;
  stop(): Promise<void>;
}

/** Below the ports that the system hands out: none of those may take the place of an engine that is about to start. */
const PORTS = { first: 15_000, beyond: 32_000 } as const;

/** Processes that look for ports at the same time have strips of their own, the first half of them test workers. */
const STRIPS = 64;
const STRIP_PORTS = Math.floor((PORTS.beyond - PORTS.first) / STRIPS);
const STRIP =
  process.env["VITEST_POOL_ID"] === undefined
    ? STRIPS / 2 + (process.pid % (STRIPS / 2))
    : Number(process.env["VITEST_POOL_ID"]) % (STRIPS / 2);
/** Goes round the strip: a port that was given out a moment ago may not be listened on yet. */
let lastOfStrip = randomInt(STRIP_PORTS);

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => {
      resolve(false);
    });
    server.listen(port, "127.0.0.1", () => {
      server.close(() => {
        resolve(true);
      });
    });
  });

/** A loopback port that was free a moment ago, and that nobody is given by chance. */
export async function freePort(): Promise<number> {
  for (;;) {
    lastOfStrip = (lastOfStrip + 1) % STRIP_PORTS;
    const port = PORTS.first + STRIP * STRIP_PORTS + lastOfStrip;
    if (await isFree(port)) return port;
  }
}

const isReady = async (url: string): Promise<boolean> => {
  try {
    return (await fetch(`${url}/readyz`)).status === 200;
  } catch {
    return false;
  }
};

/** How a process of the engine is started. */
interface ServeOptions {
  readonly role: "all" | "gateway";
  readonly nodeOptions?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Where the API listens. Default a port that nobody listens on. */
  readonly port?: number;
}

/** A `kurier serve` that is ready. */
interface Served {
  readonly pid: number;
  /** Where the API listens. */
  readonly url: string;
  /** Where `/readyz` and `/metrics` are. */
  readonly adminUrl: string;
  /** Milliseconds from the start of the process to its first `/readyz` of 200, to the nearest look. */
  readonly ready_ms: number;
  /** Drains and ends it, its children too; the data directory stays. */
  stop(): Promise<void>;
}

/** Asks a child to end, and ends it when it does not. */
async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const kill = setTimeout(() => child.kill("SIGKILL"), STOP_PATIENCE_MS);
  await exit;
  clearTimeout(kill);
}

/**
 * Starts `kurier serve` on a data directory, and waits until it is ready.
 * @throws Error when it ends or is not ready in time; then it no longer runs
 */
export async function serve(dataDir: string, options: ServeOptions): Promise<Served> {
  const port = options.port ?? (await freePort());
  const adminPort = await freePort();
  const program = fileURLToPath(new URL("../../gateway/kurier.mjs", import.meta.url));
  const start = systemClock.monotonic();
  const child: ChildProcess = spawn(
    process.execPath,
    [...AS_NPM_START.nodeOptions, ...(options.nodeOptions ?? []), program, "serve", "--role", options.role],
    {
      env: childEnvironment({
        DATA_DIR: dataDir,
        PORT: String(port),
        ADMIN_PORT: String(adminPort),
        LOG_LEVEL: "error",
        ...AS_NPM_START.env,
        ...options.env,
      }),
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  const adminUrl = `http://127.0.0.1:${adminPort}`;
  while (!(await isReady(adminUrl))) {
    if (child.exitCode !== null || systemClock.monotonic() - start > START_PATIENCE_MS) {
      await ended(child);
      throw new Error("the engine did not start");
    }
    await pause(POLL_MS);
  }
  return {
    pid: child.pid ?? 0,
    url: `http://127.0.0.1:${port}`,
    adminUrl,
    ready_ms: systemClock.monotonic() - start,
    stop: () => ended(child),
  };
}

/**
 * Makes a database on a server that is not the engine's own.
 * @returns what an engine is told of it, and how it goes
 */
async function databaseOn(server: string): Promise<{
  readonly env: Readonly<Record<string, string>>;
  readonly drop: () => Promise<void>;
}> {
  const name = `kurier_bench_${randomBytes(6).toString("hex")}`;
  const administer = async (statement: string): Promise<void> => {
    const sql = openSql({ url: server, name: "bench", connections: 1 });
    try {
      await sql.unsafe(statement);
    } finally {
      await sql.end({ timeout: 1 });
    }
  };
  await administer(`create database ${name} template template0`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    env: { ENVIRONMENT: "sandbox", MASTER_KEY: randomBytes(32).toString("base64"), DATABASE_URL: url.href },
    drop: () => administer(`drop database ${name} with (force)`),
  };
}

/** Starts `kurier serve` in a data directory of its own. */
export async function startBenchEngine(
  options: ServeOptions & {
    /** Where there is a PostgreSQL on which the engine gets a database. Default the embedded one. */
    readonly server?: string | undefined;
    /** Puts into the data directory what must be there before the start. @returns more of the environment */
    readonly prepare?: (dataDir: string, port: number) => Promise<Readonly<Record<string, string>>>;
  },
): Promise<BenchEngine> {
  const dataDir = mkdtempSync(join(tmpdir(), "kurier-bench-"));
  const database = options.server === undefined ? undefined : await databaseOn(options.server);
  const gone = async (): Promise<void> => {
    rmSync(dataDir, { recursive: true, force: true });
    await database?.drop();
  };
  try {
    const port = await freePort();
    const prepared = await options.prepare?.(dataDir, port);
    const served = await serve(dataDir, { ...options, port, env: { ...options.env, ...database?.env, ...prepared } });
    const sandbox = readSandbox(dataDir);
    const databaseUrl = database?.env["DATABASE_URL"] ?? runningEmbeddedPostgres(dataDir);
    if (sandbox === undefined || databaseUrl === undefined) {
      await served.stop();
      throw new Error("the engine left no sandbox.json");
    }
    const sql = openSql({ url: databaseUrl, name: "bench", connections: 2 });
    return {
      sandbox,
      sql,
      databaseUrl,
      pid: served.pid,
      adminUrl: served.adminUrl,
      dataDir,
      stop: async () => {
        await sql.end({ timeout: 1 });
        await served.stop();
        await gone();
      },
    };
  } catch (error) {
    await gone();
    throw error;
  }
}

/** A firm of the benchmark and its current access token. */
export interface BenchFirm {
  readonly participantId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly token: string;
}

const SECRET_CHARS = 40;
const TOKENS_AT_ONCE = 16;

/** A secret of the sandbox's form, made from the firm's number: reproducible, and good for nothing else. */
const secretOf = (index: number): string =>
  `sk_live_test_${createHmac("sha512", "bench")
    .update(String(index))
    .digest("base64")
    .replace(/[^A-Za-z0-9]/g, "x")
    .slice(0, SECRET_CHARS)}`;

/**
 * Makes `count` firms, each with a participant that takes billing documents, a key and a token from the token endpoint.
 * @param from  the number of the first: firms that are made in several goes have different numbers
 */
export async function makeFirms(
  engine: Pick<BenchEngine, "sandbox" | "sql">,
  count: number,
  from = 0,
): Promise<readonly BenchFirm[]> {
  const firms = Array.from({ length: count }, (_, index) => ({
    participantId: `0245:8${String(from + index).padStart(9, "0")}`,
    clientId: newId(systemClock),
    clientSecret: secretOf(from + index),
  }));
  await insertBenchFirms(engine.sql, firms, BILLING_CAPABILITIES);
  return withTokens(engine, firms);
}

/** Firms with a new token each: what takes longer than a token is good for asks for others afterwards. */
export async function withTokens(
  { sandbox }: Pick<BenchEngine, "sandbox">,
  firms: readonly Omit<BenchFirm, "token">[],
): Promise<readonly BenchFirm[]> {
  const ready: BenchFirm[] = [];
  for (let i = 0; i < firms.length; i += TOKENS_AT_ONCE)
    ready.push(...(await Promise.all(firms.slice(i, i + TOKENS_AT_ONCE).map((firm) => withToken(sandbox, firm)))));
  return ready;
}

async function withToken({ sapiBaseUrl }: Sandbox, firm: Omit<BenchFirm, "token">): Promise<BenchFirm> {
  const answer = await fetch(`${sapiBaseUrl}/auth/token`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      grant_type: "client_credentials",
      client_id: firm.clientId,
      client_secret: firm.clientSecret,
    }),
  });
  const body = (await answer.json()) as { readonly access_token?: string };
  if (body.access_token === undefined) throw new Error(`no token for a bench firm: ${answer.status}`);
  return { ...firm, token: body.access_token };
}

const SCOPES: readonly Scope[] = ["documents:send", "documents:read", "documents:write", "webhooks:write"];
const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Inserts firms, each with a participant, its capabilities and one key. */
async function insertBenchFirms(
  sql: Sql,
  firms: readonly { readonly participantId: string; readonly clientId: string; readonly clientSecret: string }[],
  capabilities: readonly { readonly documentTypeId: string; readonly processId: string }[],
): Promise<void> {
  await sql`
    with given as (
      select * from unnest(
        ${firms.map((firm) => firm.participantId)}::text[], ${firms.map((firm) => firm.clientId)}::uuid[],
          ${firms.map((firm) => sha256(firm.clientSecret).toString("hex"))}::text[]
      ) as g (participant, key_id, secret)
    ), firms as (
      insert into firm (id, name, peppol_status, sandbox, created_at)
      select key_id, 'Bench ' || participant, 'registered', true, now() from given
    ), participants as (
      insert into participant (key, id, firm_id, registered_at) select participant, participant, key_id, now()
        from given
    ), keys as (
      insert into api_key (id, key_type, firm_id, prefix, secret_sha256, scopes, ip_allowlist, active, name, created_at)
      select key_id, 'sk_live', key_id, 'sk_live_bench_' || substr(participant, 6), decode(secret, 'hex'),
        ${[...SCOPES]}::text[], '{}', true, 'bench', now() from given
    )
    insert into participant_capability (participant_key, document_type_id, process_id)
    select given.participant, c.document_type_id, c.process_id
    from given cross join unnest(${capabilities.map((c) => c.documentTypeId)}::text[],
      ${capabilities.map((c) => c.processId)}::text[]) as c (document_type_id, process_id)`;
}

/** Puts `items` received documents into the inbox of each participant. */
export async function fillBenchInbox(
  sql: Sql,
  participants: readonly string[],
  items: number,
  next: () => { readonly id: string; readonly message: string },
): Promise<void> {
  for (const participant of participants) {
    const rows = Array.from({ length: items }, next);
    await sql`
      insert into received_document (
        id, firm_id, participant_key, sender, receiver, document_type_id, process_id, creation_date_time, status,
        payload_sha256, as4_message_id,
        sbdh_instance_id, facts, received_at
      )
      select r.id, p.firm_id, p.key, '0245:1234567890', p.id, c.document_type_id, c.process_id, now(), 'RECEIVED',
        sha256(r.message::bytea), r.message, r.message, '{}', now()
      from unnest(${rows.map((row) => row.id)}::uuid[], ${rows.map((row) => row.message)}::text[]) as r (id, message)
      cross join participant as p
      cross join lateral (select document_type_id, process_id from participant_capability where participant_key = p.key
        order by document_type_id limit 1) as c
      where p.key = ${participant}`;
  }
}
