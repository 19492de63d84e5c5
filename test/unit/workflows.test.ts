/** What the workflows of the repository do: releases run in somebody else's machine, so their words are checked here. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";

import { ROOT } from "../support/sources.js";

interface Step {
  readonly name?: string;
  readonly run?: string;
  readonly uses?: string;
  readonly with?: Readonly<Record<string, string | number>>;
  readonly env?: Readonly<Record<string, string>>;
}
interface Job {
  readonly needs?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly strategy?: { readonly matrix: { readonly node: readonly number[] } };
  readonly steps: readonly Step[];
}
interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const workflow = (name: string): Workflow =>
  parse(readFileSync(join(ROOT, ".github/workflows", `${name}.yml`), "utf8")) as Workflow;
const packed = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  readonly private: boolean;
  readonly engines: { readonly node: string };
  readonly scripts: Readonly<Record<string, string>>;
};
const commandsOf = ({ jobs }: Workflow): string =>
  Object.values(jobs)
    .flatMap(({ steps }) => steps.map(({ run = "" }) => run))
    .join("\n");

test("CI runs the same script on Node 20, 22 and 24, the oldest of which the package allows", () => {
  const { test: job } = workflow("ci").jobs;
  expect(job?.strategy?.matrix.node).toEqual([20, 22, 24]);
  expect(job?.steps.map(({ run }) => run)).toContain(".ci/run");
  expect(packed.engines.node).toMatch(/^>=20\./);
});

test("what the workflows run is there: scripts of the package, files of the checkout", () => {
  const text = ["ci", "release"].map((name) => commandsOf(workflow(name))).join("\n");
  const scripts = [...text.matchAll(/npm run -s ([\w:]+)/g)].map(([, name = ""]) => name);
  const files = [...text.matchAll(/(?:-f|--notes-file) (\S+)/g)].map(([, path = ""]) => path);
  expect([scripts.length, files.length]).toEqual([3, 2]);
  expect(scripts.filter((name) => packed.scripts[name] === undefined)).toEqual([]);
  expect([...files, ".ci/run"].filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test("a tag alone releases, and what npm gets is the package that was tried, signed by the workflow and without a token", () => {
  const { on, jobs } = workflow("release");
  expect(on).toEqual({ push: { tags: ["v*"] } });
  const { package: made, npm } = jobs;
  const order = made?.steps.map(({ run = "" }) => run) ?? [];
  const places = ["npm pkg delete private", "npm run -s pack", "kurier demo", "gh release create"].map((what) =>
    order.findIndex((run) => run.includes(what)),
  );
  expect(places).not.toContain(-1);
  expect(places).toEqual([...places].sort((left, right) => left - right));
  expect(npm).toMatchObject({ needs: "package", permissions: { contents: "read", "id-token": "write" } });
  expect(npm?.steps.map(({ uses }) => uses)).not.toContain("actions/checkout@v4");
  expect(npm?.steps.map(({ run = "" }) => run.split(" ").slice(0, 3).join(" "))).toEqual([
    "",
    "gh release download",
    "npm publish --provenance",
  ]);
  expect(JSON.stringify(npm)).not.toMatch(/secrets\.|_authToken|NODE_AUTH_TOKEN/);
});

test("a checkout cannot be published by mistake, and the release lifts that and says where the package comes from", () => {
  expect(packed.private).toBe(true);
  const lift = workflow("release").jobs["package"]?.steps.find(({ run = "" }) => run.includes("delete private"))?.run;
  const folder = mkdtempSync(join(tmpdir(), "kurier-release-"));
  try {
    copyFileSync(join(ROOT, "package.json"), join(folder, "package.json"));
    execFileSync("bash", ["-e", "-c", lift ?? "false"], {
      cwd: folder,
      env: { PATH: process.env["PATH"], HOME: folder, GITHUB_REPOSITORY: "somebody/kurier" },
    });
    const released = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Readonly<
      Record<string, unknown>
    >;
    expect(released["private"]).toBeUndefined();
    expect(released["repository"]).toEqual({ type: "git", url: "git+https://github.com/somebody/kurier.git" });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Looked for and never run. */
const LOOKED_FOR = ["nats-server", "chromium-headless-shell", "promtool", "java", "mvn", "apt-get", "apt-cache"];
const REPORT = JSON.stringify({ testResults: [], numPassedTests: 1, numFailedTests: 0, numPendingTests: 0 });
const PARTS = JSON.stringify({ bomFormat: "CycloneDX", components: Array.from({ length: 20 }, () => 0) });
/** Fails at the command that $FAILS names; the tests wait until the build beside them runs. */
const NPM = `
for word in "$@"; do case "$word" in --outputFile=*) echo '${REPORT}' >"\${word#*=}" ;; esac; done
case "$*" in *sbom*) echo '${PARTS}' ;; test*) cat "$HOME/building" >"$HOME/built" ;; esac
case "$*" in "$FAILS"*) exit 1 ;; esac
`;
/** Nothing takes a second; what would never end holds the worker. */
const PATIENCE_MS = 60_000;

describe("the script of continuous integration, with programs that only say how they end", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "kurier-ci-"));
    cpSync(join(ROOT, ".ci/run"), join(folder, "checkout/.ci/run"));
    mkdirSync(join(folder, "bin"));
    spawnSync("mkfifo", [join(folder, "building")]);
    program("npm", NPM);
    program("php", "echo curl");
    for (const name of LOOKED_FOR) program(name, "");
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  function program(name: string, text: string): void {
    const path = join(folder, "bin", name);
    writeFileSync(path, `#!/bin/sh\n${text}\n`);
    chmodSync(path, 0o755);
  }
  /** @param fails  the command of npm that fails @param build  what the build beside the tests does then */
  function ci(fails: string, build = ""): number | null {
    program("npx", `echo $$ >"$HOME/building"\n${build}`);
    const PATH = [join(folder, "bin"), dirname(process.execPath), "/usr/bin", "/bin"].join(delimiter);
    const env = { PATH, HOME: folder, TMPDIR: folder, FAILS: fails };
    return spawnSync(join(folder, "checkout/.ci/run"), { env, stdio: "ignore", timeout: PATIENCE_MS }).status;
  }

  test("continuous integration is green when nothing fails, also where the build beside the tests does", () => {
    expect([ci("nothing"), ci("nothing", "exit 1")]).toEqual([0, 0]);
  });

  test.each([
    "test",
    "run -s format:check",
    "run -s lint",
    "run -s env:check",
    "run -s licences",
    "run -s test:interop",
  ])("continuous integration is red when npm %s fails", (command) => {
    expect(ci(command)).toBe(1);
  });

  test("the build beside the tests does not outlive continuous integration", () => {
    expect(ci("test", "exec sleep 600")).toBe(1);
    const building = Number(readFileSync(join(folder, "built"), "utf8"));
    try {
      expect(() => process.kill(building, 0)).toThrow("ESRCH");
    } finally {
      spawnSync("kill", [String(building)]);
    }
  });
});
