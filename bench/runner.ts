/** What a benchmark is, how its figures are shown, and where they are kept. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";

import { isoInstant, systemClock } from "../engine/base/clock.js";
import { machineTime, processorInfo, processorName, stolenShare } from "./cpu.js";
import { fullNames, readKept } from "./report/kept.js";
import type { PastRun } from "./report/kept.js";

/** Runs that a file keeps beside the last one: enough to see how far they lie apart. */
const EARLIER_MAX = 4;
/** Runs that it keeps of other processors, which do not compare with these. */
const ELSEWHERE_MAX = 5;
/** How busy the machine was before this process had done anything. */
const LOAD_BEFORE = Math.round((loadavg()[0] ?? 0) * 100) / 100;

/** One line of a benchmark's table. */
export interface Figure {
  readonly name: string;
  /** Units a second, or milliseconds, as `unit` says. */
  readonly value: number;
  readonly unit: "/s" | "ms" | "s" | "ratio" | "MB" | "count";
  readonly p50_ms?: number;
  readonly p99_ms?: number;
  readonly p999_ms?: number;
  readonly errors?: number;
  readonly note?: string;
  /** The value of each run, in their order, where there were several; `value` is their median. */
  readonly runs?: readonly number[];
}

/** How a benchmark is run. */
export interface BenchOptions {
  /** The form that runs with the tests: proves that the benchmark works, measures nothing. */
  readonly tiny: boolean;
  /** Every firm has a subscription to what integrators act on; for the benches that take it. */
  readonly subscribed: boolean;
  /** Those subscriptions name every event. */
  readonly everyEvent: boolean;
  /** The PostgreSQL server that the engine's database is on, for the benches that take it; else the embedded one. */
  readonly server: string | undefined;
  /** The one of the benchmark's parts that is measured; all where there is none. */
  readonly only: string | undefined;
  /** How much there is of what the benchmark grows with; undefined as much as its question says. */
  readonly size: number | undefined;
  /** Seconds of each measured part. */
  readonly seconds: number;
  readonly say: (line: string) => void;
}

/** A benchmark: its question and how it is answered. */
export interface Bench {
  readonly name: string;
  /** The question that the figures answer. */
  readonly question: string;
  /** Seconds of each measured part in the full form. */
  readonly seconds: number;
  /** Parts that can be measured alone, with `--only`. Default none. */
  readonly parts?: readonly string[];
  /** Whether it can be run on another PostgreSQL than the embedded one, with `--postgres`. @default false */
  readonly takesServer?: boolean;
  /** @throws Error when what was measured was not correct */
  run(options: BenchOptions): Promise<readonly Figure[]>;
}

/** Measures once, and how much of the processors others had meanwhile: a limit is measured a moment later. */
export async function measureOnce(
  bench: Bench,
  options: BenchOptions,
  timeNow = machineTime,
): Promise<readonly Figure[]> {
  const before = timeNow();
  const figures = await bench.run(options);
  const stolen = stolenShare(before, timeNow());
  if (stolen === undefined) return figures;
  return [...figures, { name: "processors stolen", value: stolen, unit: "ratio", note: "by other guests of the host" }];
}

const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((left, right) => left - right);
  const middle = Math.floor(sorted.length / 2);
  const [below, above] = [sorted[Math.ceil(sorted.length / 2) - 1] ?? 0, sorted[middle] ?? 0];
  return (below + above) / 2;
};

/**
 * Several runs as one table: of each figure the median, with the value of every run. Latencies are those of the run in
 * the middle, errors those of all runs.
 */
export function acrossRuns(runs: readonly (readonly Figure[])[]): readonly Figure[] {
  const [first = []] = runs;
  if (runs.length < 2) return first;
  const named = runs.map((run) => {
    const names = fullNames(run.map(({ name }) => name));
    return new Map(run.map((figure, at) => [names[at], figure]));
  });
  return fullNames(first.map(({ name }) => name)).map((name) => {
    const same = named.flatMap((run) => run.get(name) ?? []);
    const values = same.map(({ value }) => value);
    const middle = [...same].sort((left, right) => left.value - right.value)[Math.floor(same.length / 2)];
    if (middle === undefined) throw new Error(`no run has the figure ${name}`);
    const errors = same.some((figure) => figure.errors !== undefined)
      ? { errors: same.reduce((sum, figure) => sum + (figure.errors ?? 0), 0) }
      : {};
    return { ...middle, ...errors, value: median(values), runs: values };
  });
}

/** From the lowest to the highest run, and how many times the lowest the highest is. */
const spreadOf = ({ runs }: Figure): string => {
  if (runs === undefined) return "";
  const [low, high] = [Math.min(...runs), Math.max(...runs)];
  return `${number(low)} to ${number(high)}${low > 0 ? `, spread ${number(high / low)}` : ""}`;
};

const number = (value: number): string =>
  value >= 100 ? value.toFixed(0) : value >= 1 ? value.toFixed(2) : value.toFixed(4);

/** The figures as an aligned table. */
export function table(figures: readonly Figure[]): string {
  const rows = figures.map((f) => [
    f.name,
    `${number(f.value)} ${f.unit === "ratio" ? "×" : f.unit}`,
    f.p50_ms === undefined ? "" : `p50 ${number(f.p50_ms)} ms`,
    f.p99_ms === undefined ? "" : `p99 ${number(f.p99_ms)} ms`,
    f.p999_ms === undefined ? "" : `p99.9 ${number(f.p999_ms)} ms`,
    f.errors === undefined ? "" : `${f.errors} errors`,
    spreadOf(f),
    f.note ?? "",
  ]);
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function commit(): string {
  try {
    return execFileSync("git", ["rev-parse", "--short", "HEAD"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  } catch {
    return "unknown";
  }
}

/** What a file has of the runs before this one, the newest first. */
function earlierIn(file: string): readonly PastRun[] {
  if (!existsSync(file)) return [];
  const { at, commit: of, load, machine, figures, earlier } = readKept(readFileSync(file, "utf8"));
  const where = { ...(load === undefined ? {} : { load }), ...(machine === undefined ? {} : { machine }) };
  return [{ at, commit: of, ...where, figures }, ...earlier];
}

/** Of the runs before one on such a processor, the last first, those that are kept. */
export function beside(cpu: string, runs: readonly PastRun[]): readonly PastRun[] {
  const isHere = ({ machine }: PastRun): boolean => machine === undefined || machine.cpu === cpu;
  const here = runs.filter(isHere).slice(0, EARLIER_MAX);
  const elsewhere = runs.filter((run) => !isHere(run)).slice(0, ELSEWHERE_MAX);
  return runs.filter((run) => here.includes(run) || elsewhere.includes(run));
}

/** Writes the figures, what they were measured on, and those of the runs before. @returns the file */
export function keep(bench: Bench, options: BenchOptions, figures: readonly Figure[], folder: string): string {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${bench.name}.json`);
  const cpu = processorName(cpus()[0]?.model ?? "unknown", processorInfo());
  const machine = { cpu, cores: cpus().length, memory_gb: Math.round(totalmem() / 1e9) };
  const run = {
    name: bench.name,
    question: bench.question,
    at: isoInstant(systemClock.now()),
    commit: commit(),
    node: process.version,
    machine,
    load: LOAD_BEFORE,
    seconds: options.seconds,
    figures,
    earlier: beside(cpu, earlierIn(file)),
  };
  writeFileSync(file, `${JSON.stringify(run, null, 2)}\n`);
  return file;
}
