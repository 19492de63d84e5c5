/** docs/performance.md: each benchmark's goals, what it came to when it last ran, and how to run it again. */
import { join } from "node:path";

import { isElsewhere, readKeptFolder, RESULTS, valuesOf } from "./kept.js";
import type { KeptBench, KeptFigure, PastRun } from "./kept.js";
import { BENCH_GOALS } from "./goals.js";
import type { BenchGoals, Goal } from "./goals.js";
import { LIMITED_BY } from "./limited-by.js";

/** Where the page stands in a checkout. */
export const PERFORMANCE_PAGE = "docs/performance.md";

const INTRODUCTION = `# Performance

What each benchmark asks, what it should come to on two cores, and what it came to when it last ran. \`npm run -s performance:table\` writes this page from \`bench/report/goals.ts\` and from \`bench/results\`; a test holds it to them.

A benchmark measures its limit or its peer in the same run: a ratio to it survives a machine that others use too, a figure by itself does not. The client, the engine and its database share the cores. Where a command made several runs, the median stands before the least and the most of them; where it made one, those of the runs before it do that are kept, which may be of other commits. Runs on processors of another kind stand by themselves, for their figures do not compare: RSA, above all, takes a third of the time on some. The load is the machine's average over the minute before the run: with a load of two or more on two cores, others were at work. A run that did not write it down has none. \`processors stolen\` is the share of their time that other guests of the host had during the run, where it was written down: above a few hundredths limit and figure, which most benchmarks measure one after the other, were not measured on one machine. RSA alone is measured beside what is held against it, by the time of the processor.
`;

const cell = (text: string): string => text.replaceAll("|", "\\|");
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.map(cell).join(" | ")} |`).join("\n");

/** Three digits that count, with commas: 1,330, 15.7, 0.0878. */
export const digits = (value: number): string =>
  value === 0 || Math.abs(value) >= 100
    ? Math.round(value).toLocaleString("en-US")
    : String(Number(value.toPrecision(3)));

const withUnit = (text: string, unit: string): string =>
  unit === "" ? text : unit === "/s" ? text + unit : `${text} ${unit}`;
const UNITS: Readonly<Record<string, string>> = { ratio: "×", count: "" };
const unitOf = (unit: string): string => UNITS[unit] ?? unit;

/** The last value, and the least and the most of all where there are several. */
function measured(values: readonly number[], unit: string): string {
  const [last] = values;
  if (last === undefined) return "not measured";
  const shown = withUnit(digits(last), unit);
  if (values.length === 1) return shown;
  return `${shown} (${digits(Math.min(...values))} to ${digits(Math.max(...values))} in ${values.length} runs)`;
}

const MEASURE_NAMES: Readonly<Record<string, string>> = { p50_ms: "p50", p99_ms: "p99", p999_ms: "p99.9" };

const isMet = ({ at, value }: Goal, last: number): boolean => (at === "least" ? last >= value : last <= value);

/** What a run was smaller by than the design asks; nothing where it was not. */
function smaller({ size }: BenchGoals, kept: KeptBench | undefined): string {
  if (size === undefined || kept === undefined) return "";
  const [had = 0] = valuesOf(kept, size.figure);
  return had >= size.full ? "" : ` with ${digits(had)} of ${digits(size.full)} ${size.figure}`;
}

function goalRow(goals: BenchGoals, goal: Goal, kept: KeptBench | undefined): readonly string[] {
  const { bench } = goals;
  const measure = goal.measure ?? "value";
  const values = kept === undefined ? [] : valuesOf(kept, goal.figure, measure);
  const [last] = values;
  const verdict = last === undefined ? "" : (isMet(goal, last) ? "met" : "**missed**") + smaller(goals, kept);
  return [
    bench,
    [goal.figure, MEASURE_NAMES[measure]].filter((part) => part !== undefined).join(", "),
    `${goal.at === "least" ? "≥" : "≤"} ${withUnit(digits(goal.value), goal.unit)}`,
    kept === undefined ? "not run" : measured(values, goal.unit),
    verdict,
  ];
}

function figureRow(kept: KeptBench, figure: KeptFigure): readonly string[] {
  const of = (measure: "p50_ms" | "p99_ms"): string =>
    figure[measure] === undefined ? "" : measured(valuesOf(kept, figure.name, measure), "ms");
  return [
    figure.name,
    measured(valuesOf(kept, figure.name), unitOf(figure.unit)),
    of("p50_ms"),
    of("p99_ms"),
    figure.note ?? "",
  ];
}

const machineOf = ({ machine, node }: KeptBench): string =>
  [
    ...(machine === undefined ? [] : [`${machine.cores} cores, ${machine.cpu}, ${machine.memory_gb} GB`]),
    `Node ${node}`,
  ].join(", ");

const loadOf = (load: number | undefined): string =>
  load === undefined ? "no load written down" : `load ${digits(load)}`;

/** `74bf3c9 of 2026-11-22, 17:16 UTC, no load written down`. */
const runOf = ({ commit, at, load }: Pick<KeptBench, "commit" | "at" | "load">): string =>
  `\`${commit}\`, ${at.slice(0, 10)} ${at.slice(11, 16)} UTC, ${loadOf(load)}`;

/** What a run on processors of another kind came to, of the figures that have goals. */
const elsewhereOf = ({ goals }: BenchGoals, { figures }: PastRun): string =>
  goals
    .flatMap(({ figure, measure = "value", unit }) => {
      const value = figures.find(({ name }) => name === figure)?.[measure];
      if (value === undefined) return [];
      return [
        [figure, MEASURE_NAMES[measure], withUnit(digits(value), unit)].filter((part) => part !== undefined).join(" "),
      ];
    })
    .join(", ");

/** A run before the last, and what it came to where the machine was another. */
const beforeIt = (goals: BenchGoals, kept: KeptBench, run: PastRun): string =>
  isElsewhere(kept, run)
    ? `- before it, on ${run.machine?.cpu ?? ""}: ${runOf(run)}: ${elsewhereOf(goals, run)}`
    : `- before it: ${runOf(run)}`;

/** Where the front page stands, and the line below which its table of figures is drawn. */
export const FRONT_PAGE = "README.md";
const FRONT_MARK = "| Benchmark | Its first goal | Measured | On | Goals met |\n| --- | --- | --- | --- | --- |\n";

/** One row a benchmark: its first goal, what that came to and where, and how many of its goals the last run met. */
function frontRow(goals: BenchGoals, kept: KeptBench | undefined): readonly (readonly string[])[] {
  const rows = goals.goals.map((goal) => goalRow(goals, goal, kept));
  const [first] = rows;
  if (first === undefined) return [];
  const [bench = "", figure = "", goal = "", value = ""] = first;
  const met = rows.filter(([, , , , verdict = ""]) => verdict.startsWith("met")).length;
  const short = smaller(goals, kept);
  const processor = kept?.machine?.cpu.replace(/\(R\)| Processor$/g, "") ?? "";
  return [[bench, `${figure} ${goal}`, value, processor, kept === undefined ? "" : `${met} of ${rows.length}${short}`]];
}

/** Draws the table of figures into the front page. @param page  its text @param root  of the project */
export function withFigures(page: string, root: string): string {
  const kept = readKeptFolder(join(root, RESULTS));
  const rows = BENCH_GOALS.flatMap((goals) => frontRow(goals, kept.get(goals.bench)));
  const [before = "", behind] = page.split(FRONT_MARK);
  if (behind === undefined) return page;
  const drawn = rows.map((cells) => `| ${cells.map(cell).join(" | ")} |\n`).join("");
  return before + FRONT_MARK + drawn + behind.replace(/^(?:\|.*\n)*/, "");
}

/** Whether a goal of the benchmark is missed by its last run. */
export const missesAny = ({ goals }: BenchGoals, kept: KeptBench | undefined): boolean =>
  kept !== undefined &&
  goals.some((goal) => {
    const [last] = valuesOf(kept, goal.figure, goal.measure ?? "value");
    return last !== undefined && !isMet(goal, last);
  });

function section(goals: BenchGoals, kept: KeptBench | undefined): string {
  const command = goals.command ?? `npm run -s bench -- ${goals.bench}`;
  const head = `## ${goals.bench}\n\n${goals.asks[0]?.toUpperCase() ?? ""}${goals.asks.slice(1)}. Against: ${goals.against}.\n`;
  if (kept === undefined) return `${head}\nNot run. \`${command}\`\n`;
  const rows = kept.figures.map((figure) => figureRow(kept, figure));
  const limit = missesAny(goals, kept) ? LIMITED_BY[goals.bench] : undefined;
  const earlier = kept.earlier.map((run) => beforeIt(goals, kept, run));
  return [
    `${head}\n- \`${command}\`${kept.seconds === undefined ? "" : `, ${kept.seconds} s each part`}`,
    `- the last run: ${runOf(kept)}; ${machineOf(kept)}`,
    ...earlier,
    ...(limit === undefined ? [] : [`- what keeps it from its goals: ${limit}`]),
    `\n${table(["Figure", "Value", "p50", "p99", ""], rows)}\n`,
  ].join("\n");
}

/** Draws the page. @param root  of the project */
export function performancePage(root: string): string {
  const kept = readKeptFolder(join(root, RESULTS));
  const of = ({ bench }: BenchGoals): KeptBench | undefined => kept.get(bench);
  const rows = BENCH_GOALS.flatMap((bench) => bench.goals.map((goal) => goalRow(bench, goal, of(bench))));
  const summary = table(["Benchmark", "Figure", "Goal on two cores", "Measured", ""], rows);
  return [INTRODUCTION, `## Goals\n\n${summary}\n`, ...BENCH_GOALS.map((bench) => section(bench, of(bench)))].join(
    "\n",
  );
}
