/** The engine as a process of its own, that can be killed. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { freePort } from "../../../bench/engine.js";
import { readSandbox } from "../../../engine/identity/sandbox.js";
import type { Sandbox } from "../../../engine/identity/sandbox.js";
import { EXIT } from "../../../gateway/commands/command.js";
import { giveDevelopmentPki } from "../peppol/development-pki.js";
import { eventually } from "../eventually.js";

export { freePort };
export const PROJECT = fileURLToPath(new URL("../../..", import.meta.url));

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
  /** Of Node itself. @default none */
  readonly nodeOptions?: readonly string[];
  /** Files that it may have open. @default as many as this process */
  readonly openFiles?: number;
  /** Where the engine's own files are; another release makes its own keys. @default this checkout */
  readonly project?: string;
}

const ended = (child: ChildProcess): Promise<number | null> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve(child.exitCode)
    : new Promise((resolve) => {
        child.once("exit", (code) => {
          resolve(code);
        });
      });

/** Starts after an end that says that the next start may succeed: a supervisor makes them, and so do tests. */
const STARTS_MAX = 3;

/** Starts `kurier serve` on a data directory and waits until it is ready. */
export async function startEngineProcess(options: EngineProcessOptions): Promise<EngineProcess> {
  if (options.project === undefined) await giveDevelopmentPki(options.dataDir);
  for (let starts = 1; ; starts += 1) {
    const engine = await startOnce(options);
    if (typeof engine !== "string") return engine;
    if (starts === STARTS_MAX) throw new Error(engine);
  }
}

/** @returns what it wrote when it ended with EXIT.away @throws Error when it was not ready in time or ended otherwise */
async function startOnce(options: EngineProcessOptions): Promise<EngineProcess | string> {
  const [port, adminPort] = [await freePort(), await freePort()];
  const { PATH = "", HOME = "" } = process.env;
  const command = [
    process.execPath,
    ...(options.nodeOptions ?? []),
    join(options.project ?? PROJECT, "gateway/kurier.mjs"),
    "serve",
    "--role",
    options.role ?? "all",
  ];
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
  const isReady = async (): Promise<boolean> => {
    if (child.exitCode !== null) return true;
    try {
      return (await fetch(`http://127.0.0.1:${adminPort}/readyz`)).status === 200;
    } catch {
      return false;
    }
  };
  try {
    await eventually("the engine is ready", isReady);
  } catch (error) {
    // Nobody else would end it, and it would keep its ports from whoever comes next.
    child.kill("SIGKILL");
    throw error;
  }
  const said = `the engine ended before it was ready:\n${output}`;
  if (child.exitCode === EXIT.away) return said;
  if (child.exitCode !== null) throw new Error(said);
  const sandbox = readSandbox(options.dataDir);
  if (sandbox === undefined || child.pid === undefined) throw new Error("the engine wrote no sandbox.json");
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

/** What Linux tells of a process: its command line or its environment, empty when it has ended. */
function told(pid: string, what: "cmdline" | "environ"): string {
  try {
    return readFileSync(`/proc/${pid}/${what}`, "utf8");
  } catch {
    return "";
  }
}

/**
 * Kills every process whose command line has a directory, and every engine whose DATA_DIR lies there: what a `kill -9` of
 * everything leaves behind, and what a test that failed does. Linux only.
 */
export function killEverythingOn(directory: string): number {
  const others = readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name) && Number(name) !== process.pid);
  const found = others.filter(
    (pid) => told(pid, "cmdline").includes(directory) || told(pid, "environ").includes(`DATA_DIR=${directory}`),
  );
  for (const pid of found) {
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // It has ended by itself meanwhile.
    }
  }
  return found.length;
}
