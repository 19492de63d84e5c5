/**
 * The dashboards with figures in them, for people to look at: a real engine under a little of every kind of load, a real
 * Prometheus that scrapes it, each expression of each panel over the whole run. Grafana itself is not run: the lines are
 * drawn by draw.ts. SCREENSHOTS=1 writes the pictures of docs/operators/dashboards.md anew; KURIER_TEST_SECONDS: how
 * long the load lasts.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { DASHBOARDS } from "../../../deploy/grafana/dashboards.mjs";
import { systemClock } from "../../../engine/base/clock.js";
import { runningEmbeddedPostgres } from "../../../engine/embedded/embedded.js";
import { openSql } from "../../../engine/storage/sql.js";
import { describeBrowser } from "../../support/callers/chromium.js";
import { startEngineProcess } from "../../support/engines/process.js";
import { startPrometheus } from "../../support/network/prometheus.js";
import type { PrometheusServer } from "../../support/network/prometheus.js";
import { ROOT } from "../../support/sources.js";
import { dashboardPage, PAGE_WIDTH } from "./draw.js";
import type { DrawnPanel, Line, Span } from "./draw.js";
import { loadEverything } from "./load.js";

const SECONDS = Number(process.env["KURIER_TEST_SECONDS"] ?? "150");
const RATE_INTERVAL = "15s";
const PICTURE_BYTES_MAX = 150_000;

interface Dashboard {
  readonly title: string;
  readonly panels: readonly {
    readonly title: string;
    readonly gridPos: DrawnPanel["place"];
    readonly fieldConfig: { readonly defaults: { readonly unit: string } };
    readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
}

describeBrowser("the dashboards, drawn from a real run", (executablePath) => {
  let browser: Browser;
  let prometheus: PrometheusServer;
  let span: Span;
  const undo: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "kurier-dashboards-"));
    undo.push(() => Promise.resolve(rmSync(dataDir, { recursive: true, force: true })));
    const engine = await startEngineProcess({ dataDir });
    undo.push(() => engine.stop());
    const sql = openSql({ url: runningEmbeddedPostgres(dataDir) ?? "", name: "dashboards", connections: 2 });
    undo.push(() => sql.end({ timeout: 1 }));
    prometheus = await startPrometheus(new URL(engine.sandbox.adminUrl).host, [
      join(ROOT, "deploy/prometheus/recording.yml"),
    ]);
    undo.push(() => prometheus.stop());
    const started_ms = systemClock.now();
    await loadEverything({ sandbox: engine.sandbox, sql }, SECONDS);
    span = { from_s: Math.floor(started_ms / 1_000), to_s: Math.floor(systemClock.now() / 1_000) };
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
    undo.push(() => browser.close());
  }, 900_000);

  afterAll(async () => {
    for (const step of undo.reverse()) await step();
  });

  const linesOf = async (expr: string, legendFormat: string): Promise<readonly Line[]> => {
    const series = await prometheus.range(expr.replaceAll("$__rate_interval", RATE_INTERVAL), span);
    return series.map(({ metric, values }) => ({
      legend: legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? ""),
      points: values.map(([time_s, value]) => [time_s, Number(value)] as const),
    }));
  };

  test.each(Object.keys(DASHBOARDS))("every panel of %s has lines, each with a name of its own", async (name) => {
    const read = readFileSync(join(ROOT, `deploy/grafana/${name}.json`), "utf8");
    const { title, panels } = JSON.parse(read) as Dashboard;
    const drawn: DrawnPanel[] = [];
    for (const { title: heading, gridPos, fieldConfig, targets } of panels) {
      const lines: Line[] = [];
      for (const { expr, legendFormat } of targets) lines.push(...(await linesOf(expr, legendFormat)));
      drawn.push({ title: heading, unit: fieldConfig.defaults.unit, place: gridPos, lines });
      const legends = lines.map(({ legend }) => legend);
      expect([heading, legends.filter((legend) => legend.trim() === "")]).toEqual([heading, []]);
      expect([heading, new Set(legends).size]).toEqual([heading, legends.length]);
      const seen = lines.some(({ points }) => points.some(([, value]) => Number.isFinite(value)));
      expect([heading, seen]).toEqual([heading, true]);
    }
    const page = await browser.newPage({ viewport: { width: PAGE_WIDTH, height: 400 } });
    await page.setContent(dashboardPage(title, drawn, span));
    expect(await page.locator("section svg path.line").count()).toBeGreaterThanOrEqual(panels.length);
    const picture = join(ROOT, "deploy/screenshots", `dashboard-${name}.png`);
    const taken = await page.screenshot(
      process.env["SCREENSHOTS"] === "1" ? { path: picture, fullPage: true } : { fullPage: true },
    );
    expect(taken.length).toBeLessThan(PICTURE_BYTES_MAX);
    await page.close();
  });
});
