/** How long it takes from a kill until the struck access point answers again, and until documents are delivered again. */
import type { BlowName } from "./blows.js";
import type { Made } from "./calls.js";
import type { PointName } from "./points.js";

/** Milliseconds of the system's clock. */
export interface Kill {
  readonly name: BlowName;
  readonly at: number;
  /** When what was killed had been started again, where somebody has to. */
  readonly back: number;
}

const STRUCK = {
  "one of A's two engines": "A",
  "both engines of A": "A",
  "Postgres of A": "A",
  "a session of A's Postgres": "A",
  "A's nats-server": "A",
  "A's nats-server with its store": "A",
  "B's engine, and its Postgres with it": "B",
  "B's Postgres": "B",
  "a worker thread of A": "A",
  "a worker thread of B": "B",
} as const satisfies Readonly<Record<BlowName, PointName>>;

const quantile = (values: readonly number[], share: number): number => {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
};
const seconds = (ms: number): string => (Number.isFinite(ms) ? (ms / 1_000).toFixed(2) : "–");

/** A row for each kind of kill, and one for all. @param delivered  when documents were, milliseconds */
export function recoveryRows(
  kills: readonly Kill[],
  made: readonly Made[],
  delivered: readonly number[],
): readonly (readonly (string | number)[])[] {
  const all = kills.map(({ name, at, back }) => {
    const good = made.filter(
      ({ point, begun, outcome }) => point === STRUCK[name] && begun >= at && outcome === "good",
    );
    return {
      name,
      back: back - at,
      answer: Math.min(...good.map(({ ended }) => ended)) - at,
      delivery: Math.min(...delivered.filter((one) => one >= at)) - at,
    };
  });
  const row = (title: string, some: typeof all): readonly (string | number)[] => [
    title,
    some.length,
    ...(["back", "answer", "delivery"] as const).flatMap((what) => {
      const values = some.map((one) => one[what]);
      return [seconds(quantile(values, 0.5)), seconds(Math.max(...values))];
    }),
  ];
  const names = [...new Set(kills.map(({ name }) => name))].sort();
  return [
    ...names.map((name) =>
      row(
        name,
        all.filter((one) => one.name === name),
      ),
    ),
    row("all", all),
  ];
}
