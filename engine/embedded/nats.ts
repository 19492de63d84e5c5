/**
 * A JetStream server as our child, when `nats-server` is installed: on loopback, behind a token, below
 * DATA_DIR/streams.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { createConnection, createServer } from "node:net";
import { join } from "node:path";

import { EmbeddedError, isProgramOn, stopProcess, superviseChild } from "./child.js";
import { childEnvironment } from "../base/config.js";
import { writeDraftNow } from "../base/files/durable.js";
import { LIMITS } from "../base/limits.js";
import type { Log } from "../base/log.js";

/** The embedded NATS server that is running. */
export interface EmbeddedNats {
  /** `nats://<token>@127.0.0.1:<port>`; a secret. */
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

const FOLDER = "streams";
const STOP_SIGNALS = ["SIGTERM", "SIGKILL"] as const;
/** Debian installs the server where an ordinary user's PATH does not look. */
const PROGRAMS = [
  "nats-server",
  "/usr/sbin/nats-server",
  "/usr/local/sbin/nats-server",
  "/usr/local/bin/nats-server",
  "/opt/homebrew/bin/nats-server",
];

/**
 * Finds the program `nats-server`: on PATH, or where packages put it.
 * @returns what `startNatsServer` takes, or undefined when it is not installed
 */
export const findNatsServer = (): string | undefined =>
  PROGRAMS.find(
    (file) => spawnSync(file, ["--version"], { stdio: "ignore", timeout: LIMITS.child_start_timeout_ms }).status === 0,
  );

/**
 * A loopback port that nobody has; the server takes it a moment later, and a collision fails the start, which is
 * repeated.
 */
const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => {
        resolve(address !== null && typeof address === "object" ? address.port : 0);
      });
    });
  });

/** Whether a NATS server greets on that port. */
const greets = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const connection = createConnection(port, "127.0.0.1");
    const finish = (answer: boolean): void => {
      connection.destroy();
      resolve(answer);
    };
    connection.setTimeout(LIMITS.child_stop_timeout_ms, () => {
      finish(false);
    });
    connection.once("data", (data) => {
      finish(data.toString("latin1").startsWith("INFO "));
    });
    connection.once("error", () => {
      finish(false);
    });
    connection.once("close", () => {
      finish(false);
    });
  });

interface NatsConfig {
  readonly port: number;
  readonly token: string;
}

/** The settings file; readable by us alone, because it holds the token. JSON is a subset of its language. */
const configText = (config: NatsConfig, directory: string): string =>
  JSON.stringify(
    {
      host: "127.0.0.1",
      port: config.port,
      server_name: "kurier-embedded",
      pid_file: join(directory, "nats.pid"),
      authorization: { token: config.token },
      max_payload: LIMITS.stream_message_bytes_max * 4,
      jetstream: {
        store_dir: directory,
        max_memory_store: LIMITS.stream_memory_bytes_max,
        max_file_store: LIMITS.stream_file_bytes_max,
      },
    },
    undefined,
    2,
  );

const pidOf = (directory: string): number => {
  try {
    return Number(readFileSync(join(directory, "nats.pid"), "latin1").trim());
  } catch {
    return 0;
  }
};

const urlOf = (config: NatsConfig): string => `nats://${config.token}@127.0.0.1:${config.port}`;

/**
 * Finds the JetStream server that a running engine has on this data directory, for commands that work beside it.
 * @returns its URL, or undefined when none runs
 */
export function runningNatsServer(dataDir: string): string | undefined {
  try {
    const directory = realpathSync(join(dataDir, FOLDER));
    if (!isProgramOn(pidOf(directory), "nats-server", directory)) return undefined;
    const config: unknown = JSON.parse(readFileSync(join(directory, "nats.json"), "utf8"));
    if (typeof config !== "object" || config === null || !("port" in config) || !("authorization" in config))
      return undefined;
    const { authorization, port } = config;
    if (typeof authorization !== "object" || authorization === null || !("token" in authorization)) return undefined;
    return urlOf({ port: Number(port), token: String(authorization.token) });
  } catch {
    return undefined;
  }
}

/**
 * Starts nats-server with JetStream and keeps it running until `stop`; a restart keeps port and token, so that clients
 * find it again. An orphan of a killed engine is stopped first.
 * @param options.program  from `findNatsServer`.
 * @throws EmbeddedError when it does not start
 */
export async function startNatsServer(options: {
  readonly dataDir: string;
  readonly program: string;
  readonly log: Log;
  readonly port?: number;
  readonly token?: string;
}): Promise<EmbeddedNats> {
  const { log } = options;
  mkdirSync(join(options.dataDir, FOLDER), { recursive: true, mode: 0o700 });
  const directory = realpathSync(join(options.dataDir, FOLDER));
  const orphan = pidOf(directory);
  if (isProgramOn(orphan, "nats-server", directory)) {
    log.warn("nats.orphan_stopped", { component: "nats-server", pid: orphan });
    if (!(await stopProcess(orphan, STOP_SIGNALS)))
      throw new EmbeddedError(
        `An older nats-server (process ${orphan}) holds DATA_DIR and does not stop; stop it by hand.`,
      );
  }
  const config = {
    port: options.port ?? (await freePort()),
    token: options.token ?? randomBytes(24).toString("base64url"),
  };
  const file = join(directory, "nats.json");
  const writeConfig = (): void => {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    rmSync(file, { force: true });
    writeDraftNow(file, configText(config, directory));
  };
  writeConfig();
  const child = await superviseChild({
    name: "nats-server",
    file: options.program,
    args: ["-c", file],
    cwd: directory,
    env: childEnvironment(),
    stopSignals: STOP_SIGNALS,
    ready: () => greets(config.port),
    beforeRestart: writeConfig,
    log,
  });
  return {
    url: urlOf(config),
    get pid() {
      return child.pid;
    },
    stop: () => child.stop(),
  };
}
