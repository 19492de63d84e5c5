/** How long it takes from a kill until the struck access point answers and delivers again, and how long documents took. */
import { BLOWS } from "./blows.js";
import type { BlowName } from "./blows.js";
import type { Made } from "./calls.js";
import type { PointName } from "./points.js";

/** One kill. All times here are milliseconds of the system's clock. */
export interface Kill {
  readonly name: BlowName;
  readonly at: number;
  /** When what was killed had been started again, where somebody has to. */
  readonly back: number;
}

/** A document that was delivered, and by which access point. */
export interface Delivery {
  readonly point: PointName;
  readonly accepted: number;
  readonly delivered: number;
}

export const RECOVERY_COLUMNS = [
  ...["Killed", "Kills", "Running again p50, s", "max", "First good answer p50, s", "max"],
  ...["Next delivery p50, s", "max"],
];

const quantile = (values: readonly number[], share: number): number => {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
};
const seconds = (ms: number): string => (Number.isFinite(ms) ? (ms / 1_000).toFixed(2) : "–");

/** What followed from one kill, in milliseconds; Infinity, or its negative, where nothing did. */
interface Recovery {
  readonly name: BlowName;
  readonly back: number;
  readonly answer: number;
  readonly delivery: number;
}

/** From acceptance to delivery, over all documents. */
export function waitsText(deliveries: readonly Delivery[]): string {
  const waits = deliveries.map(({ accepted, delivered }) => delivered - accepted);
  return `${seconds(quantile(waits, 0.5))} s (p50), ${seconds(quantile(waits, 0.95))} s (p95) and ${seconds(Math.max(...waits))} s (the longest)`;
}

/** Of each kill, in their order. */
export const recoveries = (
  kills: readonly Kill[],
  made: readonly Made[],
  deliveries: readonly Delivery[],
): readonly Recovery[] =>
  kills.map(({ name, at, back }) => {
    const { point } = BLOWS[name];
    const good = made.filter((one) => one.point === point && one.begun >= at && one.outcome === "good");
    const next = deliveries.filter((one) => one.point === point && one.delivered >= at);
    return {
      name,
      back: back - at,
      answer: Math.min(...good.map(({ ended }) => ended)) - at,
      delivery: Math.min(...next.map(({ delivered }) => delivered)) - at,
    };
  });

/** A row for each kind of kill, and one for all. */
export function recoveryRows(all: readonly Recovery[]): readonly (readonly (string | number)[])[] {
  const row = (title: string, some: readonly Recovery[]): readonly (string | number)[] => [
    title,
    some.length,
    ...(["back", "answer", "delivery"] as const).flatMap((what) => {
      const values = some.map((one) => one[what]).filter(Number.isFinite);
      return [seconds(quantile(values, 0.5)), seconds(Math.max(...values))];
    }),
  ];
  const names = [...new Set(all.map(({ name }) => name))].sort();
  const rows = names.map((name) =>
    row(
      name,
      all.filter((one) => one.name === name),
    ),
  );
  return [...rows, row("all", all)];
}
