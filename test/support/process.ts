/** The engine as a process of its own, that can be killed. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { readSandbox } from "../../engine/identity/sandbox.js";
import type { Sandbox } from "../../engine/identity/sandbox.js";
import { eventually } from "./eventually.js";

export const PROJECT = fileURLToPath(new URL("../..", import.meta.url));

/** A loopback port that was free a moment ago. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => {
        resolve(typeof address === "object" && address !== null ? address.port : 0);
      });
    });
  });

export interface EngineProcess {
  readonly pid: number;
  readonly port: number;
  readonly sandbox: Sandbox;
  /** Everything it wrote. */
  output(): string;
  /** Whether it has ended, in whatever way. */
  ended(): boolean;
  /** SIGKILL to the engine alone: its children are ended by their watchers. */
  kill(): Promise<void>;
  /** SIGTERM and its end. @returns the exit code */
  stop(): Promise<number | null>;
}

export interface EngineProcessOptions {
  readonly dataDir: string;
  readonly role?: "all" | "gateway" | "worker";
  readonly env?: Readonly<Record<string, string>>;
  /** Files that it may have open. @default as many as this process */
  readonly openFiles?: number;
}

const ended = (child: ChildProcess): Promise<number | null> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve(child.exitCode)
    : new Promise((resolve) => {
        child.once("exit", (code) => {
          resolve(code);
        });
      });

/** Starts `kurier serve` on a data directory and waits until it is ready. */
export async function startEngineProcess(options: EngineProcessOptions): Promise<EngineProcess> {
  const [port, adminPort] = [await freePort(), await freePort()];
  const { PATH = "", HOME = "" } = process.env;
  const command = [process.execPath, join(PROJECT, "gateway/kurier.mjs"), "serve", "--role", options.role ?? "all"];
  const { openFiles } = options;
  // The shell puts the engine in its own place, so that the child is the engine.
  const bounded = ["/bin/sh", "-c", `ulimit -n ${openFiles ?? 0} && exec "$@"`, "sh", ...command];
  const [program = "", ...parameters] = openFiles === undefined ? command : bounded;
  const child = spawn(program, parameters, {
    env: {
      PATH,
      HOME,
      DATA_DIR: options.dataDir,
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
      LOG_LEVEL: "warn",
      ENVIRONMENT: "sandbox",
      ...options.env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  const ready = await eventually("the engine is ready", async () => {
    if (child.exitCode !== null) throw new Error(`the engine ended before it was ready:\n${output}`);
    try {
      return (await fetch(`http://127.0.0.1:${adminPort}/readyz`)).status === 200;
    } catch {
      return false;
    }
  });
  const sandbox = readSandbox(options.dataDir);
  if (!ready || sandbox === undefined || child.pid === undefined) throw new Error("the engine wrote no sandbox.json");
  return {
    pid: child.pid,
    port,
    sandbox,
    output: () => output,
    ended: () => child.exitCode !== null || child.signalCode !== null,
    kill: async () => {
      child.kill("SIGKILL");
      await ended(child);
    },
    stop: async () => {
      child.kill("SIGTERM");
      return ended(child);
    },
  };
}

/** Kills every process whose command line has the text, as that of a directory: what a `kill -9` of everything leaves behind. Linux only. */
export function killEverythingOn(directory: string): number {
  let killed = 0;
  for (const pid of readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name))) {
    try {
      if (readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(directory) && Number(pid) !== process.pid) {
        process.kill(Number(pid), "SIGKILL");
        killed += 1;
      }
    } catch {
      // The process ended while we looked.
    }
  }
  return killed;
}
