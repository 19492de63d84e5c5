/** Debian's Prometheus and promtool, for tests of rules and dashboards. */
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { describe, test } from "vitest";

import { eventually } from "../eventually.js";
import { freePort } from "../engines/process.js";

const onPath = (name: string): string | undefined =>
  (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));

const prometheus = onPath("prometheus");
const promtool = onPath("promtool");

/** A `describe` for tests that need Prometheus: skipped with a word on why where there is none, failing there when CI=true. */
export function describePrometheus(title: string, body: () => void): void {
  if (prometheus !== undefined && promtool !== undefined) describe(title, body);
  else if (process.env["CI"] === "true")
    test(title, () => {
      throw new Error("no prometheus and promtool on PATH");
    });
  else describe.skip(`${title} (skipped: no prometheus and promtool on PATH)`, () => undefined);
}

/** Runs promtool. @returns what it printed @throws Error with what it printed, when it is not content */
export async function runPromtool(
  args: readonly string[],
  given: { readonly cwd?: string; readonly input?: string },
): Promise<string> {
  const { cwd, input = "" } = given;
  const running = promisify(execFile)(promtool ?? "promtool", [...args], cwd === undefined ? {} : { cwd });
  running.child.stdin?.end(input);
  const { stdout, stderr } = await running;
  return stdout + stderr;
}

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time_s: number, value: string];
}

/** What an expression was over a time: NaN where there was nothing to divide by, no value where it had none. */
export interface Series {
  readonly metric: Sample["metric"];
  readonly values: readonly Sample["value"][];
}

export interface PrometheusServer {
  /** The instant vector of an expression, now. @throws Error with Prometheus' own words when it refuses the expression */
  query(expression: string): Promise<readonly Sample[]>;
  /** Its series over a span, one value a second. @throws Error with Prometheus' own words when it refuses the expression */
  range(expression: string, span: { readonly from_s: number; readonly to_s: number }): Promise<readonly Series[]>;
  stop(): Promise<void>;
}

/** A Prometheus that scrapes one target each second and evaluates rule files as often. */
export async function startPrometheus(target: string, ruleFiles: readonly string[]): Promise<PrometheusServer> {
  const folder = mkdtempSync(join(tmpdir(), "kurier-prometheus-"));
  const port = await freePort();
  const config = {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: ruleFiles,
    scrape_configs: [{ job_name: "kurier", static_configs: [{ targets: [target] }] }],
  };
  // YAML reads JSON.
  writeFileSync(join(folder, "prometheus.yml"), JSON.stringify(config));
  const child = spawn(
    prometheus ?? "prometheus",
    [
      `--config.file=${join(folder, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--log.level=error",
    ],
    { stdio: "ignore" },
  );
  const over = new Promise<void>((resolve) => {
    child.once("exit", () => {
      resolve();
    });
    child.once("error", () => {
      resolve();
    });
  });
  const url = `http://127.0.0.1:${port}`;
  const isReady = (): Promise<boolean> =>
    fetch(`${url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  await eventually("Prometheus is ready", isReady);
  const ask = async (path: string, query: Readonly<Record<string, string>>): Promise<unknown> => {
    const answer = await fetch(`${url}/api/v1/${path}?${new URLSearchParams(query).toString()}`);
    const { data, error } = (await answer.json()) as {
      readonly data?: { readonly result: unknown };
      readonly error?: string;
    };
    if (data === undefined) throw new Error(`${query["query"] ?? ""}: ${error ?? answer.status}`);
    return data.result;
  };
  return {
    query: async (query) => (await ask("query", { query })) as readonly Sample[],
    range: async (query, { from_s, to_s }) =>
      (await ask("query_range", { query, start: `${from_s}`, end: `${to_s}`, step: "1" })) as readonly Series[],
    stop: async () => {
      child.kill("SIGTERM");
      await over;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
