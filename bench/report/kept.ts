/** Figures as `kurier bench` keeps them in a file, and how they are read back. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

import { z } from "zod";

/** Where figures are kept in a checkout. */
export const RESULTS = "bench/results";

const keptFigure = z.object({
  name: z.string(),
  value: z.number(),
  unit: z.string().default(""),
  p50_ms: z.number().optional(),
  p99_ms: z.number().optional(),
  p999_ms: z.number().optional(),
  errors: z.number().optional(),
  /** The value of each run where the command made several, of which `value` is the median. */
  runs: z.array(z.number()).optional(),
  note: z.string().optional(),
});

/** What figures are called in full: one whose name is indented belongs to the one above it, and has its name first. */
export function fullNames(names: readonly string[]): string[] {
  let owner = "";
  return names.map((name) => {
    const indented = name.startsWith(" ");
    if (!indented) owner = name;
    return indented ? `${owner}: ${name.trim()}` : name;
  });
}

function withOwners(figures: readonly z.infer<typeof keptFigure>[]): z.infer<typeof keptFigure>[] {
  const names = fullNames(figures.map(({ name }) => name));
  return figures.map((figure, at) => ({ ...figure, name: names[at] ?? figure.name }));
}

const machine = z.object({ cpu: z.string(), cores: z.number(), memory_gb: z.number() });

/** An earlier run of the same benchmark: its figures by name. */
const pastRun = z.object({
  at: z.string(),
  commit: z.string(),
  /** Load average of the machine before the run; of runs that did not write it down nobody knows. */
  load: z.number().optional(),
  /** Of runs that did not write it down it is taken to be that of the last. */
  machine: machine.optional(),
  figures: z.array(keptFigure).transform(withOwners),
});

const keptBench = z.object({
  name: z.string(),
  question: z.string(),
  at: z.string(),
  commit: z.string().default("unknown"),
  node: z.string(),
  machine: machine.optional(),
  load: z.number().optional(),
  seconds: z.number().optional(),
  /** A benchmark of another form has figures without names; they are told elsewhere. */
  figures: z
    .array(z.unknown())
    .transform((all) => withOwners(all.flatMap((one) => keptFigure.safeParse(one).data ?? []))),
  earlier: z.array(pastRun).default([]),
});

/** One figure of a kept run. */
export type KeptFigure = z.infer<typeof keptFigure>;
/** A run of a benchmark without what ran before it. */
export type PastRun = z.infer<typeof pastRun>;
/** The last run of a benchmark, with those before it, the newest first. */
export type KeptBench = z.infer<typeof keptBench>;

/** What a goal may hold a figure to: its value, or one of its percentiles. */
export const MEASURES = ["value", "p50_ms", "p99_ms", "p999_ms"] as const;
/** @see MEASURES */
export type Measure = (typeof MEASURES)[number];

/** Reads the text of one file. @throws ZodError when it is none of a benchmark */
export const readKept = (text: string): KeptBench => keptBench.parse(JSON.parse(text));

/** Every kept benchmark of a folder by its name; files of another form are passed over. */
export function readKeptFolder(folder: string): ReadonlyMap<string, KeptBench> {
  if (!existsSync(folder)) return new Map();
  const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return new Map(
    files.flatMap((name) => {
      const read = keptBench.safeParse(JSON.parse(readFileSync(join(folder, name), "utf8")));
      return read.success ? [[basename(name, ".json"), read.data] as const] : [];
    }),
  );
}

/** Whether a run was on processors of another kind than the last one: their figures do not compare. */
export const isElsewhere = (kept: KeptBench, { machine: its }: PastRun): boolean =>
  its !== undefined && kept.machine !== undefined && its.cpu !== kept.machine.cpu;

function valueOf({ figures }: Pick<PastRun, "figures">, name: string, measure: Measure): readonly number[] {
  const value = figures.find((one) => one.name === name)?.[measure];
  return value === undefined ? [] : [value];
}

/**
 * The values of one figure, that of the last run first: where its command made several runs these are the others, else
 * the runs before it on processors of its kind.
 * @returns nothing when no run has it
 */
export function valuesOf(kept: KeptBench, name: string, measure: Measure = "value"): readonly number[] {
  const runs = measure === "value" ? kept.figures.find((one) => one.name === name)?.runs : undefined;
  if (runs === undefined)
    return [kept, ...kept.earlier.filter((run) => !isElsewhere(kept, run))].flatMap((run) =>
      valueOf(run, name, measure),
    );
  const [value] = valueOf(kept, name, measure);
  const at = runs.findIndex((one) => one === value);
  return [...(value === undefined ? [] : [value]), ...runs.filter((_, i) => i !== at)];
}
