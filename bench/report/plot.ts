/** A page that shows each goal's figure over the runs that the history has: drawn as SVG, needs no network. */
import { html } from "../../validators/view/markup.js";
import type { Html } from "../../validators/view/markup.js";
import { BENCH_GOALS } from "./goals.js";
import type { Goal } from "./goals.js";
import type { KeptBench } from "./kept.js";
import { digits } from "./page.js";

const WIDTH = 640;
const HEIGHT = 160;
const LEFT = 64;
const EDGE = 16;
/** Room above the highest point. */
const HEADROOM = 1.1;

const STYLE = `
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  body { max-width: 44rem; margin: 2rem auto; padding: 0 1rem; }
  figure { margin: 2rem 0; } figcaption { font-weight: 600; }
  svg { width: 100%; height: auto; overflow: visible; }
  polyline { fill: none; stroke: #2563eb; stroke-width: 2; } circle { fill: #2563eb; }
  .goal { stroke: #c2410c; stroke-dasharray: 6 4; } .axis { stroke: #888; } text { fill: currentColor; font-size: 12px; }`;

interface Point {
  readonly at: string;
  readonly commit: string;
  readonly value: number;
}

const pointsOf = (runs: readonly KeptBench[], { figure, measure = "value" }: Goal): readonly Point[] =>
  runs.flatMap(({ at, commit, figures }) => {
    const value = figures.find(({ name }) => name === figure)?.[measure];
    return value === undefined ? [] : [{ at, commit, value }];
  });

function chart(bench: string, goal: Goal, points: readonly Point[]): Html {
  const top = HEADROOM * Math.max(goal.value, ...points.map(({ value }) => value));
  const y = (value: number): number => Math.round(HEIGHT - EDGE - (value / top) * (HEIGHT - 2 * EDGE));
  const step = points.length > 1 ? (WIDTH - LEFT - EDGE) / (points.length - 1) : 0;
  const x = (n: number): number => Math.round(LEFT + n * step);
  const name = [goal.figure, goal.measure === "value" ? undefined : goal.measure?.replace("_ms", "")];
  const title = `${bench}: ${name.filter((part) => part !== undefined).join(", ")}`;
  const side = goal.at === "least" ? "at least" : "at most";
  return html`<figure>
    <figcaption>${title}</figcaption>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}, ${points.length} runs">
      <line class="axis" x1="${LEFT}" y1="${y(0)}" x2="${WIDTH - EDGE}" y2="${y(0)}" />
      <line class="goal" x1="${LEFT}" y1="${y(goal.value)}" x2="${WIDTH - EDGE}" y2="${y(goal.value)}" />
      <text x="0" y="${y(goal.value) + 4}">${digits(goal.value)} ${goal.unit}</text>
      <text x="0" y="${y(0) + 4}">0</text>
      <polyline points="${points.map(({ value }, n) => `${x(n)},${y(value)}`).join(" ")}" />
      ${points.map(
        ({ at, commit, value }, n) =>
          html`<circle cx="${x(n)}" cy="${y(value)}" r="4"
            ><title>${digits(value)} ${goal.unit}, ${commit}, ${at.slice(0, 16)}</title></circle
          >`,
      )}
    </svg>
    <p>
      The goal is ${side} ${digits(goal.value)} ${goal.unit}; ${points.length} runs, the last
      ${digits(points.at(-1)?.value ?? 0)} ${goal.unit} at ${points.at(-1)?.commit}.
    </p>
  </figure> `;
}

/** Draws every goal that has run. @param history  the runs of each benchmark, the oldest first */
export function plotPage(history: ReadonlyMap<string, readonly KeptBench[]>): string {
  const charts = BENCH_GOALS.flatMap(({ bench, goals }) =>
    goals.flatMap((goal) => {
      const points = pointsOf(history.get(bench) ?? [], goal);
      return points.length === 0 ? [] : [chart(bench, goal, points)];
    }),
  );
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Kurier: figures over commits</title><style>${STYLE}</style></head>
<body>
<h1>Figures over commits</h1>
<p>Each point is a run that was kept, in the order of time; the dashed line is the goal. Runs on a machine that others used too lie apart by more than the program does.</p>
${html`${charts}`.text}</body>
</html>
`;
}
