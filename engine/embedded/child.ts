/**
 * Children that belong to a data directory: they survive our terminal, are found again after a crash, and stop in
 * steps.
 */
import { execFileSync, spawn } from "node:child_process";
import type { ChildProcess, SpawnOptions } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

import { errorCode } from "../base/errors.js";
import { LIMITS } from "../base/limits.js";
import type { Log } from "../base/log.js";
import { firstChars } from "../base/text.js";
import { watchOver } from "./watcher.js";

/**
 * The zero-configuration default cannot work here; the message is one sentence for the operator that says what to do.
 */
export class EmbeddedError extends Error {
  override readonly name = "EmbeddedError";
  /** Whether the same start may succeed a moment later. */
  readonly passing: boolean;

  constructor(sentence: string, passing = false) {
    super(sentence);
    this.passing = passing;
  }
}

/** What is said in English, in which our programs run, where there is no room, or room for a part alone. */
const NO_ROOM = /No space left on device|Disk quota exceeded|wrote only \d+ of \d+ bytes/;

/**
 * The line of a program's last words that says why it ended: what it tidies away is told after that, and so is what it
 * could not tidy away where there was no room.
 */
export function reasonIn(output: string): string {
  const lines = output.trim().split("\n");
  const reasons = lines.flatMap((line) => /\b(?:FATAL|PANIC|ERROR|error): +(.+)$/.exec(line)?.[1] ?? []);
  const told = reasons.findLast((reason) => NO_ROOM.test(reason)) ?? reasons.at(-1) ?? lines.at(-1) ?? "";
  return told === "" ? "it said nothing" : told;
}

/** Whether what a program could not do may succeed a moment later. @param reason  as `reasonIn` tells it */
export const passes = (reason: string): boolean => NO_ROOM.test(reason);

/** State letter and start time (clock ticks after boot) of a Linux process. */
function procStat(pid: number): { readonly state: string; readonly startedAt: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0] ?? "", startedAt: fields[19] ?? "" };
  } catch {
    return undefined;
  }
}

const onLinux = process.platform === "linux";

/** `ps` for systems without /proc: one column of one process, undefined when there is no such process. */
function ps(pid: number, column: string): string | undefined {
  try {
    const line = execFileSync("ps", ["-o", `${column}=`, "-p", String(pid)], {
      encoding: "utf8",
      timeout: LIMITS.child_stop_timeout_ms,
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
    return line === "" ? undefined : line;
  } catch {
    return undefined;
  }
}

/** Whether a process runs. A zombie does not: nobody may have reaped it where we are process 1 of a container. */
export function isRunning(pid: number): boolean {
  if (onLinux) {
    const stat = procStat(pid);
    return stat !== undefined && stat.state !== "Z" && stat.state !== "X";
  }
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}

/** A text that tells this start of the machine from every other one. */
const bootId = (): string => readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();

/** A text that tells a process from a later one with the same number; undefined when there is no such process. */
export function processIdentity(pid: number): string | undefined {
  if (!isRunning(pid)) return undefined;
  if (!onLinux) return ps(pid, "lstart");
  const stat = procStat(pid);
  if (stat === undefined) return undefined;
  return `${bootId()}/${stat.startedAt}`;
}

/**
 * Where process ids mean what they do here: this start of this machine, and in a container that container. Empty where
 * the system tells neither.
 */
export function processSpace(): string {
  if (!onLinux) return "";
  try {
    return `${bootId()}/${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return "";
  }
}

/** Whether the process runs a program of that name in (Linux) or on (elsewhere, by its command line) that directory. */
export function isProgramOn(pid: number, program: string, directory: string): boolean {
  if (!isRunning(pid)) return false;
  if (!onLinux) {
    const command = ps(pid, "command") ?? "";
    return command.includes(program) && command.includes(directory);
  }
  try {
    const executable = readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, "");
    return executable.endsWith(`/${program}`) && readlinkSync(`/proc/${pid}/cwd`) === directory;
  } catch {
    return false;
  }
}

/** Waits for a condition in steps of 10 ms; false when it did not come true within the time. */
async function waitFor(condition: () => boolean | Promise<boolean>, timeout_ms: number): Promise<boolean> {
  for (let waited_ms = 0; waited_ms <= timeout_ms; waited_ms += LIMITS.child_poll_ms) {
    if (await condition()) return true;
    await delay(LIMITS.child_poll_ms);
  }
  return false;
}

/**
 * Sends the signals one after the other, each with its share of LIMITS.child_stop_timeout_ms, until the process is
 * gone.
 */
export async function stopProcess(pid: number, signals: readonly NodeJS.Signals[]): Promise<boolean> {
  // 0 and negative numbers are process groups, ours first of all.
  if (!(pid > 0)) return true;
  for (const signal of signals) {
    try {
      process.kill(pid, signal);
    } catch {
      return true;
    }
    if (await waitFor(() => !isRunning(pid), LIMITS.child_stop_timeout_ms / signals.length)) return true;
  }
  return false;
}

interface ChildSpec {
  /** `postgres` or `nats-server`; shown in the log. */
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
  /** The directory the child works in; an orphan is recognised by it. */
  readonly cwd: string;
  /** All that it gets: our own environment has secrets. */
  readonly env: Record<string, string>;
  readonly uid?: number;
  readonly gid?: number;
  /** From the gentlest to the last. */
  readonly stopSignals: readonly [NodeJS.Signals, ...NodeJS.Signals[]];
  /** Whether the child with this process id answers. */
  ready(pid: number): boolean | Promise<boolean>;
  /** Runs before each start after the first. */
  beforeRestart?(): void;
  readonly log: Log;
}

interface Child {
  /** Of the process that runs now; 0 while it is being restarted. */
  readonly pid: number;
  /** Stops the child and waits until it is gone. Safe to repeat. */
  stop(): Promise<void>;
}

interface Started {
  readonly process: ChildProcess;
  readonly pid: number;
  readonly lastWords: readonly string[];
  /** Ends the process when we are gone. */
  readonly watcher: ReturnType<typeof watchOver>;
}

/**
 * Starts the process in a session of its own, so that Ctrl-C reaches us and not it: we stop it when we have drained.
 */
async function spawnChild(spec: ChildSpec): Promise<Started> {
  const options: SpawnOptions = {
    cwd: spec.cwd,
    env: spec.env,
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  };
  if (spec.uid !== undefined) options.uid = spec.uid;
  if (spec.gid !== undefined) options.gid = spec.gid;
  const child = spawn(spec.file, [...spec.args], options);
  // Bounded by the cut after each line: the last few are enough to tell why it ended.
  const lastWords: string[] = [];
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    lastWords.push(
      ...text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => firstChars(line, LIMITS.child_last_words_chars_max)),
    );
    lastWords.splice(0, lastWords.length - LIMITS.child_last_words_max);
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (error) => {
      reject(new EmbeddedError(`${spec.name} cannot be started here (${errorCode(error) ?? error.name}).`));
    });
  });
  const pid = child.pid ?? 0;
  const watcher = watchOver({ name: spec.name, pid, signals: [...spec.stopSignals, "SIGKILL"], log: spec.log });
  child.once("exit", watcher.standDown);
  return { process: child, pid, lastWords, watcher };
}

const hasExited = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

async function startReady(spec: ChildSpec): Promise<Started> {
  const started = await spawnChild(spec);
  let ready = false;
  await waitFor(async () => {
    if (hasExited(started.process)) return true;
    ready = await spec.ready(started.pid);
    return ready;
  }, LIMITS.child_start_timeout_ms);
  if (ready) return started;
  await stopProcess(started.pid, [...spec.stopSignals, "SIGKILL"]);
  throw new EmbeddedError(`${spec.name} did not start: ${started.lastWords.at(-1) ?? "it said nothing"}`, true);
}

/**
 * Starts a child, waits until it is ready, starts it again when it dies, and ends it with our process.
 * @throws EmbeddedError when the first start fails
 */
export async function superviseChild(spec: ChildSpec): Promise<Child> {
  let current: Started | undefined = await startReady(spec);
  let stopping: Promise<void> | undefined;
  const aborted = new AbortController();
  let restarting: Promise<void> = Promise.resolve();

  const endWithUs = (): void => {
    if (current !== undefined && !hasExited(current.process)) process.kill(current.pid, spec.stopSignals[0]);
  };
  process.once("exit", endWithUs);

  const restart = async (): Promise<void> => {
    for (
      let wait_ms: number = LIMITS.child_restart_first_ms;
      !aborted.signal.aborted;
      wait_ms = Math.min(wait_ms * 2, LIMITS.child_restart_max_ms)
    ) {
      await delay(wait_ms, undefined, { signal: aborted.signal }).catch(() => undefined);
      if (aborted.signal.aborted) return;
      try {
        spec.beforeRestart?.();
        watch(await startReady(spec));
        spec.log.warn("child.restarted", { component: spec.name });
        return;
      } catch {
        spec.log.error("child.restart_failed", { component: spec.name });
      }
    }
  };
  const watch = (started: Started): void => {
    current = started;
    const onExit = (): void => {
      current = undefined;
      if (aborted.signal.aborted) return;
      spec.log.error("child.died", { component: spec.name, pid: started.pid });
      restarting = restart();
    };
    if (hasExited(started.process)) onExit();
    else started.process.once("exit", onExit);
  };
  watch(current);

  const stop = async (): Promise<void> => {
    aborted.abort();
    await restarting;
    process.off("exit", endWithUs);
    if (current === undefined) return;
    const { pid, process: child, watcher } = current;
    await stopProcess(pid, [...spec.stopSignals, "SIGKILL"]);
    watcher.standDown();
    child.stderr?.destroy();
  };
  return {
    get pid() {
      return current?.pid ?? 0;
    },
    stop: () => (stopping ??= stop()),
  };
}
