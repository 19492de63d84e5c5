/** Where the processor's time goes: user and system seconds of a process tree, by part. Linux only; empty elsewhere. */
import { readdirSync, readFileSync } from "node:fs";

/** Clock ticks a second of /proc: 100 on every Linux that Node.js runs on. */
const TICKS = 100;

/** What takes two thirds off an RSA operation where OpenSSL finds it. @source /proc/cpuinfo, flags */
const QUICK_RSA = /^flags\s*:.*\bavx512ifma\b/mu;

/**
 * A processor by its name and by what makes RSA quick on it: some hosts give all of theirs one name.
 * @param info  the text of /proc/cpuinfo; empty where there is none
 */
export const processorName = (model: string, info: string): string =>
  QUICK_RSA.test(info) ? `${model}, AVX-512 IFMA` : model;

/** What the system says of its processors; empty where it does not. */
export function processorInfo(): string {
  try {
    return readFileSync("/proc/cpuinfo", "utf8");
  } catch {
    // Only Linux has it.
    return "";
  }
}

interface Times {
  readonly name: string;
  readonly parent: number;
  readonly seconds: number;
}

function times(path: string): Times | undefined {
  try {
    const text = readFileSync(path, "utf8");
    const rest = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return {
      name: text.slice(text.indexOf("(") + 1, text.lastIndexOf(")")),
      parent: Number(rest[1]),
      seconds: (Number(rest[11]) + Number(rest[12])) / TICKS,
    };
  } catch {
    return undefined;
  }
}

interface Process extends Partial<Times> {
  readonly pid: number;
}

/** Every process of the machine, and the ids of those that are `root` or come from it. */
function processes(root: number): { readonly all: readonly Process[]; readonly below: ReadonlySet<number> } {
  const all = readdirSync("/proc")
    .filter((name) => /^[0-9]+$/.test(name))
    .map((pid): Process => ({ pid: Number(pid), ...times(`/proc/${pid}/stat`) }));
  const below = new Set([root]);
  for (let grown = true; grown;) {
    const more = all.filter(({ pid, parent }) => parent !== undefined && below.has(parent) && !below.has(pid));
    for (const { pid } of more) below.add(pid);
    grown = more.length > 0;
  }
  return { all, below };
}

/**
 * Memory of a process and of all that it has started, in MB: each has its share of what several of them use, so that
 * the sum counts nothing twice. 0 where the system does not tell.
 */
export function memoryOfTree(root: number): number {
  return [...processes(root).below].reduce((sum, pid) => {
    try {
      const [, kb = "0"] = /^Pss:\s+(\d+) kB/mu.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8")) ?? [];
      return sum + (Number(kb) * 1_024) / 1_000_000;
    } catch {
      // It has ended meanwhile.
      return sum;
    }
  }, 0);
}

/** Time of all processors of the machine so far, in ticks. */
interface MachineTime {
  readonly all: number;
  /** What other guests of the same host were given while this one had work to do. */
  readonly stolen: number;
}

/** @returns undefined where the system does not tell. @source proc(5), /proc/stat */
export function machineTime(): MachineTime | undefined {
  try {
    const [, line = ""] = /^cpu +(.*)$/mu.exec(readFileSync("/proc/stat", "utf8")) ?? [];
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are counted in user already.
    const ticks = line.split(" ").slice(0, 8).map(Number);
    return { all: ticks.reduce((sum, part) => sum + part, 0), stolen: ticks[7] ?? 0 };
  } catch {
    return undefined;
  }
}

/** Share of the processors' time between two readings that other guests had; undefined where nobody knows. */
export const stolenShare = (before: MachineTime | undefined, after: MachineTime | undefined): number | undefined =>
  before === undefined || after === undefined || after.all <= before.all
    ? undefined
    : (after.stolen - before.stolen) / (after.all - before.all);

/**
 * Seconds so far by part: the engine's main thread, its other threads, each kind of child, this process, and the
 * receiver of events where there is one.
 */
export function processorTime(enginePid: number, receiverPid?: number): ReadonlyMap<string, number> {
  const parts = new Map<string, number>();
  const add = (part: string, seconds: number): void => {
    parts.set(part, (parts.get(part) ?? 0) + seconds);
  };
  let tasks: string[] = [];
  try {
    tasks = readdirSync(`/proc/${enginePid}/task`);
  } catch {
    return parts;
  }
  for (const task of tasks)
    add(
      Number(task) === enginePid ? "engine, event loop" : "engine, threads",
      times(`/proc/${enginePid}/task/${task}/stat`)?.seconds ?? 0,
    );
  const { all, below } = processes(enginePid);
  for (const { pid, name, seconds } of all)
    if (pid !== enginePid && below.has(pid) && name !== undefined) add(name, seconds ?? 0);
  add("client", times(`/proc/${process.pid}/stat`)?.seconds ?? 0);
  if (receiverPid !== undefined) add("receiver", times(`/proc/${receiverPid}/stat`)?.seconds ?? 0);
  return parts;
}

/** Milliseconds of processor time per unit of work and part, between two readings. */
export function perUnit(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  units: number,
): string {
  return [...after]
    .map(
      ([part, seconds]) => `${part} ${(((seconds - (before.get(part) ?? 0)) * 1000) / Math.max(units, 1)).toFixed(3)}`,
    )
    .join(", ");
}
