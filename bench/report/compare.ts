/** Two sets of kept figures beside each other: which are better, which worse, and which differ no more than runs do. */
import { BENCH_GOALS } from "./goals.js";
import { MEASURES } from "./kept.js";
import type { KeptBench, KeptFigure, Measure } from "./kept.js";
import { digits } from "./page.js";

/** How far apart two single runs of one commit may lie on a machine that others use too. */
const NOISE = 0.1;

/** What is said of a figure; of one whose good direction nobody has named, only that it moved. */
export type Verdict = "better" | "worse" | "within the spread" | "moved";

/** One figure of two runs. */
export interface ComparedFigure {
  readonly bench: string;
  readonly figure: string;
  readonly measure: Measure;
  readonly before: number;
  readonly after: number;
  readonly verdict: Verdict;
}

/** Whether more is better, by the unit of a value. */
const BY_UNIT: Readonly<Record<string, "least" | "most">> = { "/s": "least", ms: "most", MB: "most" };

/** A goal says which side is good; a time is good when it is short, a rate when it is high. */
function goodSide(bench: string, { name, unit }: KeptFigure, measure: Measure): "least" | "most" | undefined {
  if (measure !== "value") return "most";
  const goals = BENCH_GOALS.find((one) => one.bench === bench)?.goals ?? [];
  return goals.find((goal) => goal.figure === name && (goal.measure ?? "value") === "value")?.at ?? BY_UNIT[unit];
}

/** The values of the runs of one commit: those of others say how the program changed, not how runs differ. */
const ofOneCommit = (kept: KeptBench, name: string, measure: Measure): readonly number[] =>
  [kept, ...kept.earlier.filter(({ commit }) => commit === kept.commit)].flatMap(
    ({ figures }) => figures.find((figure) => figure.name === name)?.[measure] ?? [],
  );

/** Where the next run of the same commit would be expected. */
function spread(values: readonly number[]): { readonly low: number; readonly high: number } {
  const margin = values.length > 1 ? 0 : NOISE;
  return { low: Math.min(...values) * (1 - margin), high: Math.max(...values) * (1 + margin) };
}

function verdictOf(before: readonly number[], after: readonly number[], good: "least" | "most" | undefined): Verdict {
  const [one, other] = [spread(before), spread(after)];
  if (one.low <= other.high && other.low <= one.high) return "within the spread";
  if (good === undefined) return "moved";
  return other.low > one.high === (good === "least") ? "better" : "worse";
}

/** Compares every figure that both have. */
export const compareKept = (
  before: ReadonlyMap<string, KeptBench>,
  after: ReadonlyMap<string, KeptBench>,
): readonly ComparedFigure[] =>
  [...before].flatMap(([bench, old]) => {
    const now = after.get(bench);
    if (now === undefined) return [];
    return old.figures.flatMap((figure) =>
      MEASURES.flatMap((measure) => {
        const [was, is] = [ofOneCommit(old, figure.name, measure), ofOneCommit(now, figure.name, measure)];
        if (was[0] === undefined || is[0] === undefined) return [];
        const verdict = verdictOf(was, is, goodSide(bench, figure, measure));
        return [{ bench, figure: figure.name, measure, before: was[0], after: is[0], verdict }];
      }),
    );
  });

const ratioOf = ({ before, after }: ComparedFigure): string => (before === 0 ? "" : `${digits(after / before)} ×`);

/** The comparison as lines for people: what is better and worse first, and a count of everything at the end. */
export function comparisonLines(compared: readonly ComparedFigure[]): readonly string[] {
  const order: readonly Verdict[] = ["worse", "better", "moved", "within the spread"];
  const rows = order.flatMap((verdict) =>
    compared
      .filter((one) => one.verdict === verdict)
      .map((one) => [
        verdict,
        one.bench,
        one.measure === "value" ? one.figure : `${one.figure}, ${one.measure}`,
        digits(one.before),
        digits(one.after),
        ratioOf(one),
      ]),
  );
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  const counts = order.map((verdict) => `${compared.filter((one) => one.verdict === verdict).length} ${verdict}`);
  return [...lines, counts.join(", ")];
}
