/** Rules and dashboards on a real Prometheus that scrapes a real engine: every expression is understood and gives data. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { DASHBOARDS } from "../../../deploy/grafana/dashboards.mjs";
import { STREAM_NAMES } from "../../../engine/events/streams.js";
import { UNREADABLE_CAUSES, WRITE_OUTCOMES } from "../../../engine/storage/evidence/counted.js";
import { RESTART_REASONS } from "../../../validators/protocol.js";
import { readSources, ROOT } from "../../support/sources.js";
import { accessToken, invoiceXml, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { describePrometheus, runPromtool, startPrometheus } from "../../support/network/prometheus.js";
import type { PrometheusServer } from "../../support/network/prometheus.js";

const FOLDER = join(ROOT, "deploy/prometheus");
const RULES = ["recording.yml", "alerts.yml"];
/** Recorded only where statuses travel, which takes another access point. */
const NEEDS_STATUSES = ["kurier:mls_sent_in_time:ratio1h", "kurier:mls_received_in_time:ratio1h"];

/** Names of the kinds of actors, as their files give them. */
const KINDS = readSources()
  .filter(({ path }) => path.startsWith("actors/"))
  .flatMap(({ file }) => [...file.text.matchAll(/^ +name: "(\w+)",$/gm)].map(([, name = ""]) => name));

describePrometheus("Prometheus", () => {
  let running: TestEngine;
  let prometheus: PrometheusServer;
  let sendOne: () => Promise<unknown>;

  beforeAll(async () => {
    running = await startTestEngine({ transport: "as4" });
    const { sandbox, engine } = running;
    const { sender, receiver } = sandbox;
    const mailbox = { participantId: sender.participantId, token: await accessToken(sandbox, sender) };
    sendOne = async () => {
      const xml = invoiceXml(sender.participantId, receiver.participantId);
      const answer = await send(sandbox, mailbox, sendParts(sender.participantId, receiver.participantId, xml));
      expect(answer.status).toBe(202);
    };
    prometheus = await startPrometheus(
      new URL(engine.adminUrl).host,
      RULES.map((name) => join(FOLDER, name)),
    );
  });

  afterAll(async () => {
    await prometheus.stop();
    await running.stop();
  });

  test("promtool accepts the rules, and each alert fires on its series and is quiet below its bound", async () => {
    expect(await runPromtool(["check", "rules", ...RULES], { cwd: FOLDER })).toMatch(/SUCCESS/);
    expect(await runPromtool(["test", "rules", "alerts.test.yml"], { cwd: FOLDER })).toMatch(/SUCCESS/);
  });

  test("a panel's quantile of observations that were not made is a line at 0, and no hole", async () => {
    const metric = "kurier_box_claim_lateness_seconds";
    const asked = Object.values(DASHBOARDS)
      .flatMap(({ panels }) => panels.flatMap(({ targets }) => targets))
      .map(([expr]) => expr.replace("$__rate_interval", "5m"))
      .filter((expr) => expr.includes("histogram_quantile"));
    expect(asked.some((expr) => expr.includes(metric))).toBe(true);
    /** Where the legend names a label, its value is "none". */
    const labelsOf = (expr: string): string => {
      const label = /label_replace\(vector\(0\), "(\w+)", "none"/.exec(expr)?.[1];
      return label === undefined ? "{}" : `{${label}="none"}`;
    };
    const series = asked.flatMap((expr) => expr.match(/kurier_\w+_bucket/g) ?? []);
    const cases = {
      evaluation_interval: "1m",
      tests: [
        {
          interval: "1m",
          input_series: [...new Set(series)].flatMap((name) =>
            ["1", "+Inf"].map((le) => ({ series: `${name}{le="${le}"}`, values: "0x20" })),
          ),
          promql_expr_test: asked.map((expr) => ({
            ...{ expr, eval_time: "10m" },
            exp_samples: [{ labels: labelsOf(expr), value: 0 }],
          })),
        },
      ],
    };
    const folder = mkdtempSync(join(tmpdir(), "kurier-quantiles-"));
    writeFileSync(join(folder, "cases.yml"), JSON.stringify(cases));
    expect(await runPromtool(["test", "rules", "cases.yml"], { cwd: folder })).toMatch(/SUCCESS/);
    rmSync(folder, { recursive: true });
  });

  test("promtool finds nothing to improve in the names, units and helps of the metrics", async () => {
    const text = await (await fetch(`${running.engine.adminUrl}/metrics`)).text();
    expect(text).toMatch(/^kurier_http_requests_total\{/m);
    expect(await runPromtool(["check", "metrics"], { input: text })).toBe("");
  });

  test("no label says what strangers and tenants choose: paths, methods, ids, participants", async () => {
    const { publicUrl, adminUrl } = running.engine;
    const login = { grant_type: "client_credentials", client_id: randomUUID(), client_secret: "guessed" };
    const asked: readonly (readonly [path: string, init?: RequestInit])[] = [
      ["/nowhere/1"],
      ["/api/v1", { method: "NOTHING" }],
      [`/api/v1/documents/${randomUUID()}`],
      ["/smp/iso6523-actorid-upis::0245:2120000017"],
      [
        "/sapi/v1/auth/token",
        { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(login) },
      ],
    ];
    for (const [path, init] of asked) await (await fetch(publicUrl + path, init)).arrayBuffer();
    await sendOne();
    const text = await (await fetch(`${adminUrl}/metrics`)).text();
    expect(text).toContain('kurier_http_requests_total{route="(none)",method="(none)",status="404"}');
    const values = [...text.matchAll(/\w+="([^"]*)"/g)].map(([, value = ""]) => value);
    expect(values.length).toBeGreaterThan(100);
    const chosen = /nowhere|NOTHING|[0-9a-f]{8}-[0-9a-f]{4}-|\d{4}:\d{5}/;
    expect(values.filter((value) => chosen.test(value))).toEqual([]);
  });

  test("a counter whose steps an alert waits for is at 0 from the start, for each of its labels", async () => {
    const counters: Readonly<Record<string, readonly string[]>> = {
      kurier_evidence_writes_total: WRITE_OUTCOMES,
      kurier_evidence_unreadable_total: UNREADABLE_CAUSES,
      kurier_worker_restarts_total: RESTART_REASONS,
      kurier_actor_crashes_total: KINDS,
      kurier_stream_messages_dropped_total: STREAM_NAMES,
    };
    const alerts = readFileSync(join(FOLDER, "alerts.yml"), "utf8");
    const asked = [...alerts.matchAll(/\bincrease\((\w+)/g)].map(([, name = ""]) => name);
    expect(asked.toSorted()).toEqual(Object.keys(counters).toSorted());
    const text = await (await fetch(`${running.engine.adminUrl}/metrics`)).text();
    for (const [name, labels] of Object.entries(counters)) {
      const series = [...text.matchAll(new RegExp(`^${name}\\{\\w+="(\\w+)"\\} \\d+$`, "gm"))];
      expect(series.map(([, label]) => label).toSorted(), name).toEqual(labels.toSorted());
    }
  });

  test("every recorded rule gives data while documents travel", async () => {
    const names = [
      "kurier:http_requests:rate5m",
      "kurier:http_request_duration_seconds:p99_5m",
      "kurier:sends:rate5m",
      "kurier:sends:errors_ratio5m",
      "kurier:sends:errors_ratio1h",
      "kurier:documents_accepted:rate5m",
      "kurier:documents_received:rate5m",
      "kurier:dispatch_attempts:rate5m",
      "kurier:dispatch_duration_seconds:p50_5m",
      "kurier:dispatch_duration_seconds:p99_5m",
    ];
    for (const name of names)
      await eventually(`${name} has data`, async () => {
        await sendOne();
        return (await prometheus.query(name)).length > 0;
      });
    for (const name of NEEDS_STATUSES) expect(await prometheus.query(name)).toEqual([]);
  });

  test.each(Object.entries(DASHBOARDS))("every expression of the dashboard %s gives data", async (_, { panels }) => {
    for (const { title, targets } of panels)
      for (const [expr] of targets)
        await eventually(`${title}: ${expr}`, async () => {
          const samples = await prometheus.query(expr.replaceAll("$__rate_interval", "1m"));
          return samples.length > 0;
        });
  });

  test("no alert fires for a healthy engine", async () => {
    expect(await prometheus.query('ALERTS{alertstate="firing"}')).toEqual([]);
  });
});
