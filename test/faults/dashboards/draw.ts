/**
 * A dashboard as a page: what its JSON says (titles, places, units, legends) and what Prometheus answers to its
 * expressions, drawn as lines. Grafana draws the same figures in its own way; this shows what they are.
 */
import { html, Html } from "../../../validators/view/markup.js";

/** One line of a panel. */
export interface Line {
  readonly legend: string;
  /** In order of time; NaN where there was nothing to divide by. */
  readonly points: readonly (readonly [time_s: number, value: number])[];
}

/** One panel with its lines. */
export interface DrawnPanel {
  readonly title: string;
  /** As Grafana calls it. */
  readonly unit: string;
  readonly place: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly lines: readonly Line[];
}

/** The span of time that all panels show, in seconds. */
export interface Span {
  readonly from_s: number;
  readonly to_s: number;
}

/** Pixels of the page, and of one step of Grafana's grid: the rows leave room for four lines of legends. */
export const PAGE_WIDTH = 960;
const GRID = { width: PAGE_WIDTH / 24, height: 27 };
const PLOT = { left: 64, top: 24, right: 8, bottom: 16, height: 120 };
const STEPS = 4;
/** Told apart by people who see few colours, too. */
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666", "#000000", "#8a2be2"];

const rounded = (value: number): string => String(Number(value.toPrecision(3)));
/** Names of the powers of a base, from the first; the last one that is not above the value is taken. */
const scaled =
  (base: number, names: readonly string[]) =>
  (value: number): string => {
    const power = value < base ? 0 : Math.min(names.length - 1, Math.floor(Math.log(value) / Math.log(base)));
    return `${rounded(value / base ** power)}${names[power] ?? ""}`;
  };
const seconds = (value: number): string => (value < 1 ? `${rounded(value * 1_000)} ms` : `${rounded(value)} s`);

/** How a value of each unit is written; the base is that in which round numbers are round. */
const UNITS: Readonly<Record<string, { readonly base: number; readonly text: (value: number) => string }>> = {
  none: { base: 10, text: rounded },
  short: { base: 10, text: scaled(1_000, ["", " K", " M", " G"]) },
  ops: { base: 10, text: (value) => `${scaled(1_000, ["", " K", " M"])(value)}/s` },
  reqps: { base: 10, text: (value) => `${scaled(1_000, ["", " K", " M"])(value)} req/s` },
  s: { base: 10, text: seconds },
  d: { base: 10, text: (value) => `${rounded(value)} days` },
  percentunit: { base: 10, text: (value) => `${rounded(value * 100)} %` },
  bytes: { base: 1_024, text: scaled(1_024, [" B", " KiB", " MiB", " GiB"]) },
  Bps: { base: 10, text: scaled(1_000, [" B/s", " kB/s", " MB/s", " GB/s"]) },
};

/** The least round number that is not below a value. */
function roundAbove(value: number, base: number): number {
  if (value <= 0) return 1;
  const power = base ** Math.floor(Math.log(value) / Math.log(base));
  const within = value / power;
  const ten = 10 ** Math.floor(Math.log10(within));
  return ([1, 2, 4, 6, 8, 10].find((step) => step * ten >= within) ?? 10) * ten * power;
}

const finite = (lines: readonly Line[]): readonly number[] =>
  lines.flatMap(({ points }) => points.map(([, value]) => value)).filter((value) => Number.isFinite(value));

function chart({ title, unit, place, lines }: DrawnPanel, { from_s, to_s }: Span): Html {
  const known = UNITS[unit];
  if (known === undefined) throw new Error(`${title}: no way is known to write ${unit}`);
  const width = place.w * GRID.width - 12;
  const top = roundAbove(Math.max(0, ...finite(lines)), known.base);
  const x = (time_s: number): number =>
    PLOT.left + ((time_s - from_s) / (to_s - from_s)) * (width - PLOT.left - PLOT.right);
  const y = (value: number): number => PLOT.top + PLOT.height * (1 - value / top);
  const levels = Array.from({ length: STEPS + 1 }, (_, step) => (top * step) / STEPS);
  const path = ({ points }: Line): string =>
    points
      .map(([time_s, value], at) => {
        if (!Number.isFinite(value)) return "";
        const begins = at === 0 || !Number.isFinite(points[at - 1]?.[1]);
        return `${begins ? "M" : "L"}${x(time_s).toFixed(1)} ${y(value).toFixed(1)}`;
      })
      .join("");
  const minutes = Array.from({ length: Math.floor((to_s - from_s) / 30) + 1 }, (_, half) => half * 30);
  const clock = (passed_s: number): string => `${Math.floor(passed_s / 60)}:${String(passed_s % 60).padStart(2, "0")}`;
  return html`<section
    style="left:${place.x * GRID.width}px;top:${place.y * GRID.height}px;width:${width}px;height:${place.h * GRID.height - 8}px"
  >
    <svg width="${width}" height="${PLOT.top + PLOT.height + PLOT.bottom}" shape-rendering="crispEdges">
      <text x="8" y="15" class="title">${title}</text>
      ${levels.map(
        (level) =>
          html`<path class="level" d="M${PLOT.left} ${y(level).toFixed(0)}H${width - PLOT.right}" />
            <text x="${PLOT.left - 5}" y="${(y(level) + 4).toFixed(0)}" text-anchor="end">${known.text(level)}</text>`,
      )}
      ${minutes.map(
        (passed_s) =>
          html`<text x="${x(from_s + passed_s).toFixed(0)}" y="${PLOT.top + PLOT.height + 14}" text-anchor="middle">
            ${clock(passed_s)}
          </text>`,
      )}
      ${lines.map((line, at) => html`<path class="line" stroke="${COLOURS[at % COLOURS.length]}" d="${path(line)}" />`)}
      ${finite(lines).length === 0 && html`<text x="${width / 2}" y="${y(top / 2)}">nothing was observed</text>`}
    </svg>
    <ul>
      ${lines.map(
        ({ legend }, at) => html`<li><i style="background:${COLOURS[at % COLOURS.length]}"></i>${legend}</li>`,
      )}
    </ul>
  </section>`;
}

const STYLE = new Html(`
  body { margin: 0; background: #fff; color: #222; font: 11px "DejaVu Sans", sans-serif; }
  h1 { font-size: 15px; margin: 8px; height: 20px; }
  main { position: relative; width: ${PAGE_WIDTH}px; }
  section { position: absolute; border: 1px solid #ccc; margin-left: 6px; overflow: hidden; }
  text { font-size: 10px; fill: #444; } .title { font-size: 12px; font-weight: bold; fill: #222; }
  .level { stroke: #ddd; } .line { fill: none; stroke-width: 1.5; }
  ul { margin: 0; padding: 0 8px; list-style: none; font-size: 10px; line-height: 12px; }
  li { display: inline-block; margin-right: 10px; } i { display: inline-block; width: 8px; height: 8px; margin-right: 3px; }
`);

/** The page of one dashboard. */
export function dashboardPage(title: string, panels: readonly DrawnPanel[], span: Span): string {
  const height = Math.max(...panels.map(({ place }) => (place.y + place.h) * GRID.height));
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>${title}</title>
        <style>
          ${STYLE}
        </style>
      </head>
      <body>
        <h1>${title}</h1>
        <main style="height:${height}px">${panels.map((panel) => chart(panel, span))}</main>
      </body>
    </html>`.text;
}
