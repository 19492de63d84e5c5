/** A real PostgreSQL from npm as our child: on a Unix socket inside its own data directory, for that user alone. */
import { spawn } from "node:child_process";
import type { SpawnOptions } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { mkdtempSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { errorCode } from "../base/errors.js";
import { EmbeddedError, isProgramOn, passes, reasonIn, stopProcess, superviseChild } from "./child.js";
import { asUser, choosePrivileges, giveTo, locateBinaries } from "./binaries.js";
import type { Binaries, Privileges } from "./binaries.js";
import { renameSynced } from "../base/files/durable.js";
import { LIMITS } from "../base/limits.js";
import type { Log } from "../base/log.js";
import { watchOver } from "./watcher.js";

interface EmbeddedPostgresOptions {
  /** The engine's data directory, absolute, claimed by this process (`claimDataDir`). */
  readonly dataDir: string;
  readonly log: Log;
  /** Server settings that differ from SETTINGS; for tests that need no durability. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** The embedded Postgres that is running. */
export interface EmbeddedPostgres {
  /** For `openSql`; the host parameter is the directory of the socket. */
  readonly url: string;
  /** Where its data is. */
  readonly directory: string;
  /** Of the postmaster. */
  readonly pid: number;
  /** Fast shutdown: clients are cut off, a checkpoint is written. */
  stop(): Promise<void>;
}

/** Durable as PostgreSQL is by default; sized for two engine processes beside each other on a small machine. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: "",
  unix_socket_permissions: "0700",
  max_connections: "120",
  shared_buffers: "128MB",
  // A large payload fills the buffers of the default several times, and each time whoever commits writes them out.
  wal_buffers: "16MB",
  max_wal_size: "1GB",
  // As many files as are filled between two checkpoints under load are kept to be used again (log-files.ts).
  min_wal_size: "512MB",
  fsync: "on",
  synchronous_commit: "on",
  // Our statements are short; compiling them costs more than it saves.
  jit: "off",
  // Three processes fewer than the default, which pays off with much I/O only.
  io_method: "sync",
  max_logical_replication_workers: "0",
  // Statements may carry what must not be logged.
  log_min_error_statement: "panic",
  log_min_messages: "fatal",
  log_error_verbosity: "terse",
  log_checkpoints: "off",
  log_timezone: "UTC",
  timezone: "UTC",
};

const FOLDER = "postgres";
const PORT = 5432;
const SOCKET = `.s.PGSQL.${PORT}`;
/** Fast shutdown, then immediate shutdown. PostgreSQL recovers from either. */
const STOP_SIGNALS = ["SIGINT", "SIGQUIT"] as const;

const urlOf = (socketDir: string): string =>
  `postgres://kurier@localhost/postgres?host=${encodeURIComponent(socketDir)}`;

/**
 * Lines of postmaster.pid: 1 process id, 2 directory, 3 start, 4 port, 5 socket directory, 6 address, 7 memory, 8
 * state.
 */
function readPidFile(directory: string): { readonly pid: number; readonly lines: string[] } | undefined {
  try {
    const lines = readFileSync(join(directory, "postmaster.pid"), "latin1").split("\n");
    return { pid: Number(lines[0]), lines };
  } catch {
    return undefined;
  }
}

const isReady = (directory: string, pid: number): boolean => {
  const file = readPidFile(directory);
  return file?.pid === pid && file.lines[7]?.trim() === "ready";
};

/** Whether a database was ever made in a data directory. */
export const hasEmbeddedPostgres = (dataDir: string): boolean => existsSync(join(dataDir, FOLDER, "PG_VERSION"));

/**
 * Finds the Postgres that a running engine has on this data directory, for commands that work beside it.
 * @returns its URL, or undefined when none runs
 */
export function runningEmbeddedPostgres(dataDir: string): string | undefined {
  const directory = join(dataDir, FOLDER);
  const file = readPidFile(directory);
  if (
    file === undefined ||
    !isProgramOn(file.pid, "postgres", realpathSync(directory)) ||
    !isReady(directory, file.pid)
  )
    return undefined;
  const socketDir = file.lines[4] ?? ".";
  return urlOf(socketDir === "." ? directory : socketDir);
}

/**
 * Whether somebody answers on the socket: a server in another container that shares the directory has a pid we cannot
 * see.
 */
const answers = (socket: string): Promise<boolean> =>
  new Promise((resolve) => {
    const connection = createConnection(socket);
    const finish = (answer: boolean): void => {
      connection.destroy();
      resolve(answer);
    };
    connection.setTimeout(LIMITS.child_stop_timeout_ms, () => {
      finish(true);
    });
    connection.once("connect", () => {
      finish(true);
    });
    connection.once("error", () => {
      finish(false);
    });
  });

/**
 * Deals with what an earlier engine left behind. An orphan is stopped, not adopted: its settings and its binary may be
 * those of an older release, and a child of our own is the only one whose death we hear of.
 */
async function clearLeftovers(directory: string, log: Log): Promise<void> {
  const file = readPidFile(directory);
  if (file !== undefined && isProgramOn(file.pid, "postgres", realpathSync(directory))) {
    log.warn("postgres.orphan_stopped", { component: "postgres", pid: file.pid });
    if (!(await stopProcess(file.pid, STOP_SIGNALS))) {
      throw new EmbeddedError(
        `An older PostgreSQL (process ${file.pid}) holds DATA_DIR and does not stop; stop it by hand.`,
      );
    }
  }
  if (await answers(join(directory, SOCKET))) {
    throw new EmbeddedError(
      "Another PostgreSQL is running on DATA_DIR, perhaps in another container; stop it, or use another DATA_DIR.",
      true,
    );
  }
  disownPidFile(directory);
  for (const name of [SOCKET, `${SOCKET}.lock`]) rmSync(join(directory, name), { force: true });
}

/**
 * Makes a stale postmaster.pid harmless when its number was given to another process, which PostgreSQL takes for a
 * living server. The file stays: it names the shared memory by which PostgreSQL notices backends that outlived their
 * postmaster. Our own number is the one that it never mistakes, because a parent cannot be the postmaster.
 */
function disownPidFile(directory: string): void {
  const file = readPidFile(directory);
  if (file === undefined) return;
  writeFileSync(join(directory, "postmaster.pid"), [String(process.pid), ...file.lines.slice(1)].join("\n"), {
    mode: 0o600,
  });
}

/** Nothing of our environment reaches PostgreSQL: PGDATA, PGOPTIONS and their like would change what it does. */
const environmentOf = (binaries: Binaries): Record<string, string> => ({
  PATH: "/usr/local/bin:/usr/bin:/bin",
  LC_ALL: "C",
  TZ: "UTC",
  ...(binaries.libraryPath === undefined ? {} : { LD_LIBRARY_PATH: binaries.libraryPath }),
});

/**
 * How the server names its own data directory: by a path of ours, or, when it may not walk that path, by where it
 * stands.
 */
const dataArgument = (privileges: Privileges, directory: string): string =>
  privileges.kind === "user" ? "/proc/self/cwd" : directory;

/** Runs a program to its end, in a session of its own. @throws EmbeddedError with its last words */
async function run(
  file: string,
  args: readonly string[],
  options: SpawnOptions,
  { timeout_ms, log }: { readonly timeout_ms: number; readonly log: Log },
): Promise<void> {
  const child = spawn(file, [...args], {
    ...options,
    stdio: ["ignore", "ignore", "pipe"],
    timeout: timeout_ms,
    detached: true,
  });
  // One that outlived us would work in the folder that the next start makes anew, and the two would spoil each other.
  child.once("spawn", () => {
    const { pid = 0 } = child;
    child.once("exit", watchOver({ name: "initdb", pid: -pid, signals: ["SIGKILL"], log }).standDown);
  });
  let output = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    output = (output + text).slice(-2_000);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", () => {
      reject(
        new EmbeddedError("PostgreSQL's initdb cannot be started here; set DATABASE_URL to a PostgreSQL 15 or newer."),
      );
    });
    child.once("close", resolve);
  });
  if (code !== 0) {
    const reason = reasonIn(output);
    throw new EmbeddedError(
      `The embedded PostgreSQL cannot be set up: ${reason}. Set DATABASE_URL to use a PostgreSQL of your own.`,
      passes(reason),
    );
  }
}

/** Makes the cluster in a folder aside and renames it: one that was cut off half-way is never taken for a whole one. */
async function initialise(directory: string, binaries: Binaries, privileges: Privileges, log: Log): Promise<void> {
  const draft = `${directory}.new`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o700 });
  giveTo(privileges, draft);
  const { file, args, uid, gid } = asUser(privileges, binaries.initdb, [
    "--pgdata",
    dataArgument(privileges, draft),
    "--username",
    "kurier",
    "--auth",
    "trust",
    "--encoding",
    "UTF8",
    "--locale-provider",
    "builtin",
    "--builtin-locale",
    "C.UTF-8",
    "--no-instructions",
  ]);
  const options: SpawnOptions = { cwd: draft, env: environmentOf(binaries) };
  if (uid !== undefined) options.uid = uid;
  if (gid !== undefined) options.gid = gid;
  await run(file, args, options, { timeout_ms: LIMITS.child_start_timeout_ms * 4, log });
  // initdb has synced what it made, under the name of the draft.
  await renameSynced(draft, directory).catch((error: unknown) => {
    rmSync(draft, { recursive: true, force: true });
    throw isInTheWay(error)
      ? new EmbeddedError(
          `DATA_DIR/${FOLDER} is there and is not the data of a PostgreSQL: move it away, or set DATABASE_URL to use a PostgreSQL of your own.`,
        )
      : error;
  });
}

/** Whether something has a folder's place that is not an empty folder, or that something is mounted on. */
const isInTheWay = (error: unknown): boolean =>
  ["ENOTEMPTY", "EEXIST", "ENOTDIR", "EBUSY"].includes(errorCode(error) ?? "");

/** Whether a cluster was ever made. @throws what the system says where this user may not look: it is not none */
function isMade(directory: string): boolean {
  try {
    statSync(join(directory, "PG_VERSION"));
    return true;
  } catch (error) {
    // Asked not to throw, Node.js 24 keeps silent about a path through a file, too.
    if (errorCode(error) === "ENOENT") return false;
    throw error;
  }
}

/** @throws EmbeddedError when the cluster was made by another major version */
function checkVersion(directory: string, binaries: Binaries): void {
  const found = readFileSync(join(directory, "PG_VERSION"), "latin1").trim();
  if (found === binaries.major) return;
  throw new EmbeddedError(
    `The data of the embedded PostgreSQL was written by version ${found}, this engine brings version ${binaries.major}; move DATA_DIR/postgres away or dump and restore it.`,
  );
}

/**
 * Where the socket lies: in the data directory, or in a private temporary folder when that path is too long for a
 * socket.
 */
function chooseSocketDir(
  directory: string,
  privileges: Privileges,
): { readonly setting: string; readonly path: string; remove(): void } {
  if (Buffer.byteLength(join(directory, SOCKET)) <= LIMITS.socket_path_bytes_max)
    return { setting: ".", path: directory, remove: () => undefined };
  const path = mkdtempSync(join(tmpdir(), "kurier-"));
  giveTo(privileges, path);
  return {
    setting: path,
    path,
    remove: () => {
      rmSync(path, { recursive: true, force: true });
    },
  };
}

/**
 * Starts PostgreSQL on DATA_DIR/postgres, making the cluster at the first start, and keeps it running until `stop`.
 * Measured on 2 cores: first start about 0.7 s, later ones under 0.1 s.
 * @throws EmbeddedError with a sentence for the operator
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { dataDir, log } = options;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const directory = join(realpathSync(dataDir), FOLDER);
  const privileges = choosePrivileges(directory);
  const binaries = locateBinaries(dataDir, privileges);
  if (isMade(directory)) {
    checkVersion(directory, binaries);
    await clearLeftovers(directory, log);
    giveTo(privileges, directory);
  } else {
    await initialise(directory, binaries, privileges, log);
  }
  const socket = chooseSocketDir(directory, privileges);
  const settings = Object.entries({
    ...SETTINGS,
    ...options.settings,
    unix_socket_directories: socket.setting,
    port: String(PORT),
  });
  const command = asUser(privileges, binaries.postgres, [
    "-D",
    dataArgument(privileges, directory),
    ...settings.flatMap(([name, value]) => ["-c", `${name}=${value}`]),
  ]);
  const child = await superviseChild({
    name: "postgres",
    ...command,
    cwd: directory,
    env: environmentOf(binaries),
    stopSignals: STOP_SIGNALS,
    ready: (pid) => isReady(directory, pid),
    beforeRestart: () => {
      disownPidFile(directory);
    },
    log,
  });
  return {
    url: urlOf(socket.path),
    directory,
    get pid() {
      return child.pid;
    },
    stop: async () => {
      await child.stop();
      socket.remove();
    },
  };
}
