/** The package as npm installs it: without sources, without development dependencies, in a folder that nobody may write to. */
import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

import { ROOT } from "../support/sources.js";

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "kurier-packed-"));
const installed = join(folder, "node_modules/kurier");
const { PATH = "", HOME = "" } = process.env;

const npm = (args: readonly string[], cwd: string) => run("npm", [...args], { cwd, maxBuffer: 16_000_000 });
const kurier = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  run(join(folder, "node_modules/.bin/kurier"), [...args], { cwd: folder, env: { PATH, HOME, ...env } });

const files = (path: string): readonly string[] =>
  readdirSync(path, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? files(join(path, entry.name)).map((name) => `${entry.name}/${name}`) : [entry.name],
  );

beforeAll(async () => {
  const { stdout } = await npm(["run", "-s", "pack", "--", "--json", "--pack-destination", folder], ROOT);
  const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf("["))) as [{ readonly filename: string }];
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "bare", private: true }));
  await npm(["install", "--omit=dev", "--ignore-scripts", "--prefer-offline", `./${filename}`], folder);
  for (const name of files(installed)) chmodSync(join(installed, name), 0o444);
  chmodSync(join(installed, "gateway/kurier.mjs"), 0o555);
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

test("the package holds what runs and what operators read, and neither tests nor sources", () => {
  const names = files(installed).filter((name) => !name.startsWith("node_modules/"));
  expect(names).toContain("dist/gateway/cli.js");
  expect(names).toContain("docs/runbook.md");
  expect(names).toContain("dist/gateway/web/guide/pages/operators--security.html");
  expect(names).toContain("deploy/prometheus/alerts.yml");
  expect(names.filter((name) => /(^|\/)(test|\.ci|reviews)\//.test(name) || /(?<!\.d)\.ts$/.test(name))).toEqual([]);
});

test("an invoice goes the whole way with what the package brings", async () => {
  const env = { DATA_DIR: join(folder, "data"), PORT: "0", ADMIN_PORT: "0", NATS_URL: "embedded", LOG_LEVEL: "warn" };
  const { stdout } = await kurier(["demo"], env);
  expect(stdout).toMatch(/delivered/);
  expect(stdout).toMatch(/acknowledged/);
});

test("what needs a checkout says so in one sentence", async () => {
  await expect(kurier(["bench"])).rejects.toMatchObject({
    stderr: expect.stringContaining("Benchmarks need a checkout of the project") as string,
  });
});
