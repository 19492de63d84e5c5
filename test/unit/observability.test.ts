/** Alerts, runbook, dashboards and metrics are one story: what one of them names, the others have. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { DASHBOARDS, written } from "../../deploy/grafana/dashboards.mjs";
import { LIMITS } from "../../engine/base/limits.js";
import { LOG_EVENTS } from "../../engine/base/log-events.js";
import { METRICS, createMetrics } from "../../engine/base/metrics.js";
import { ROOT } from "../support/sources.js";

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const alerts = read("deploy/prometheus/alerts.yml");
const runbook = read("docs/runbook.md");
const EXPRESSIONS = [
  ...["prometheus/recording.yml", "prometheus/alerts.yml", "prometheus/alerts.test.yml"].map((name) =>
    read(`deploy/${name}`),
  ),
  ...written().map(([, text]) => text),
];

const found = (text: string, pattern: RegExp): readonly string[] =>
  [...text.matchAll(pattern)].map(([, name = ""]) => name);
const exprsOf = ({ targets }: { readonly targets: readonly (readonly [expr: string, legend: string])[] }) =>
  targets.map(([expr]) => expr);
const ALERTS = found(alerts, /^ +- alert: (\w+)$/gm);

test("alerts, recorded rules and dashboards ask only for metrics that the engine exposes", async () => {
  const exposed = new Set(
    found(await createMetrics().exposition(), /^# TYPE (\w+) /gm).flatMap((name) => [
      name,
      ...["bucket", "sum", "count"].map((part) => `${name}_${part}`),
    ]),
  );
  const asked = EXPRESSIONS.flatMap((text) => found(text, /\b(kurier_\w+)/g));
  expect(asked.length).toBeGreaterThan(50);
  expect([...new Set(asked.filter((name) => !exposed.has(name)))]).toEqual([]);
});

test("every alert has a section of the runbook that its link leads to, and the runbook has no others", () => {
  expect(ALERTS.length).toBeGreaterThan(15);
  expect(found(runbook, /^## (\w+)$/gm)).toEqual(ALERTS);
  expect(found(alerts, /runbook_url: docs\/runbook\.md#(\w+)$/gm)).toEqual(ALERTS.map((name) => name.toLowerCase()));
});

test("every alert is tested twice: on the series that it is for, and just below its bound", () => {
  const tests = found(read("deploy/prometheus/alerts.test.yml"), /^ +- name: (\w+ [\w ]+)$/gm);
  expect(tests).toEqual(ALERTS.flatMap((name) => [`${name} fires`, `${name} is quiet`]));
});

test("the page of keys names the alert of 30 days, and the runbook the change of a certificate without a restart", () => {
  const ofDays = (days: number): readonly string[] =>
    found(alerts, new RegExp(`alert: (\\w+)\\n +expr: "[^"]*cert_expiry[^"]* < ${days} `, "g"));
  expect([ofDays(LIMITS.doctor_certificate_days), ofDays(5)]).toEqual([
    ["KurierCertificateEnds"],
    ["KurierCertificateEndsSoon"],
  ]);
  expect(read("docs/operators/keys.md")).toContain(
    `within ${LIMITS.doctor_certificate_days} days; the alert \`KurierCertificateEnds\` watches the same figure`,
  );
  const [, section = ""] = /^## KurierCertificateEnds\n([^]*?)^## /m.exec(runbook) ?? [];
  expect(section).toContain("without a restart");
  expect(section).not.toContain("start the engines");
});

test("what an alert asks for is on a panel of a dashboard, where its course can be seen when it fires", () => {
  // A recorded rule is on a panel by its name, or by every metric that it is made of.
  const recorded = new Map(
    [...read("deploy/prometheus/recording.yml").matchAll(/- record: (\S+)\n +expr: (.+)$/gm)].map(
      ([, name = "", expr = ""]) => [name, expr] as const,
    ),
  );
  const namesIn = (expr: string): readonly string[] => found(expr, /\b(kurier[_:][\w:]+)/g);
  const shown = new Set(
    Object.values(DASHBOARDS)
      .flatMap(({ panels }) => panels.flatMap(exprsOf))
      .flatMap(namesIn),
  );
  const isShown = (name: string): boolean => {
    const expr = recorded.get(name);
    return shown.has(name) || (expr !== undefined && namesIn(expr).every(isShown));
  };
  const asked = found(alerts, /^ +expr: (.+)$/gm).flatMap(namesIn);
  expect(asked.length).toBeGreaterThan(20);
  expect(asked.filter((name) => !isShown(name))).toEqual([]);
});

test("figures that are old wake somebody within minutes, and are on the dashboard of the node", () => {
  // What is due in a database that is silent stands still at its last age: no other alert sees it.
  const rules = alerts.split(/^ +- alert: /gm).filter((rule) => rule.includes("kurier_collectors_late"));
  expect(rules).toEqual([expect.stringMatching(/> 0"\n +for: 2m\n +labels:\n +severity: page\n/)]);
  expect(read("deploy/grafana/node.json")).toContain("kurier_collectors_late");
});

test("the runbook names log events, metrics and commands that exist", () => {
  const commands = new Set(found(read("gateway/commands/README.md") + read("gateway/cli.ts"), /\b([a-z][a-z-]+)\b/g));
  const names = found(runbook, /`([a-z]+\.[a-z_]+)`/g);
  expect(names.filter((name) => !(name in LOG_EVENTS))).toEqual([]);
  expect(names.length).toBeGreaterThan(2);
  const metrics = found(runbook, /`kurier_(\w+)/g);
  expect(metrics.filter((name) => !(name in METRICS))).toEqual([]);
  expect(found(runbook, /npx kurier ([a-z-]+)/g).filter((name) => !commands.has(name))).toEqual([]);
});

test("the dashboards are those that their tables make", () => {
  for (const [name, text] of written()) expect(read(`deploy/grafana/${name}`), name).toBe(text);
});

test("no metric has more than three labels, and each name has a unit or counts something", () => {
  for (const [name, { kind, labels }] of Object.entries(METRICS)) {
    expect(labels.length, name).toBeLessThanOrEqual(3);
    if (kind === "counter") expect(name).toMatch(/_total$/);
    else expect(name).not.toMatch(/_total$/);
    if (kind === "histogram") expect(name).toMatch(/_(seconds|bytes|ratio|depth)$/);
  }
});
