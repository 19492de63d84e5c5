/**
 * The commands of README.md, through npm as a reader types them. What comes before `&&` is done: the suite runs on what
 * `npm ci` installed, and `npm test` is the suite.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { BENCHES } from "../../../bench/benches.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { eventually } from "../../support/eventually.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { freePort, PROJECT } from "../../support/engines/process.js";

const commandsOfReadme = (): readonly string[] =>
  [...readFileSync(join(PROJECT, "README.md"), "utf8").matchAll(/^```\n([^]*?)^```$/gm)]
    .flatMap(([, block = ""]) => block.split("\n"))
    .map((line) => line.replace(/\s+# .*$/, "").trim())
    .filter((line) => /^np[mx] /.test(line));
/** A command of the page, which fails the test when the page has it no longer. */
function shown(command: string): string {
  expect(commandsOfReadme()).toContain(command);
  return command.replace("npm ci && ", "");
}

let db: TestDatabase;
let folder: string;
beforeAll(async () => {
  await buildIfNeeded();
  folder = mkdtempSync(join(tmpdir(), "kurier-readme-"));
  db = await freshDatabase();
});
afterAll(async () => {
  await db.drop();
  rmSync(folder, { recursive: true, force: true });
});

interface Started {
  readonly output: () => string;
  readonly ended: Promise<number | null>;
  readonly end: () => void;
}

/** Starts a command in a shell of its own, whose processes are ended together. */
function start(command: string, ports: Readonly<Record<"PORT" | "ADMIN_PORT", string>>): Started {
  const { PATH, HOME } = process.env;
  const ours = {
    ENVIRONMENT: "sandbox",
    DATA_DIR: join(folder, "data"),
    DATABASE_URL: db.url,
    NATS_URL: "embedded",
    VALIDATOR_THREADS: "1",
  };
  const env = { PATH, HOME, ...ours, ...ports };
  const child = spawn("sh", ["-c", command], { cwd: PROJECT, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const end = (): void => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGTERM");
  };
  return { output: () => output, ended, end };
}

async function outputOf(command: string): Promise<string> {
  const started = start(command, { PORT: "0", ADMIN_PORT: "0" });
  const code = await started.ended;
  expect(code, started.output()).toBe(0);
  return started.output();
}

test("npm start is a sandbox that becomes ready, and a signal ends it", async () => {
  const ports = { PORT: String(await freePort()), ADMIN_PORT: String(await freePort()) };
  const started = start(shown("npm ci && npm start"), ports);
  try {
    await eventually("the sandbox is ready", async () => {
      const answer = await fetch(`http://127.0.0.1:${ports.ADMIN_PORT}/readyz`).catch(() => undefined);
      return answer?.status === 200;
    });
    const page = await fetch(`http://127.0.0.1:${ports.PORT}/`);
    expect(page.status).toBe(200);
  } finally {
    started.end();
    await started.ended;
  }
});

test.each([
  ["npm run demo", "acknowledged"],
  ["npm run demo -- --connector", "the seller reads: accepted"],
])("%s tells its story to the end", async (command, end) => {
  expect(await outputOf(shown(command))).toContain(end);
});

test("npm run -s bench lists every benchmark, and those that the page names are among them", async () => {
  const output = await outputOf(shown("npm run -s bench"));
  for (const { name } of BENCHES) expect(output).toMatch(new RegExp(`^ *${name} `, "m"));
  const named = commandsOfReadme().flatMap((line) => /^npm run -s bench -- (\S+)$/.exec(line)?.[1] ?? []);
  expect(named.length).toBeGreaterThan(0);
  const names: readonly string[] = BENCHES.map(({ name }) => name);
  expect(named.filter((name) => !names.includes(name))).toEqual([]);
});

test("every command of the page is a script that package.json has, or the program that a package brings", () => {
  const { scripts } = JSON.parse(readFileSync(join(PROJECT, "package.json"), "utf8")) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  for (const command of commandsOfReadme()) {
    const name = /^npm run (?:-s )?(\S+)/.exec(command)?.[1] ?? /&& npm (\w+)$/.exec(command)?.[1];
    expect(name === undefined ? command : scripts[name], command).toMatch(name === undefined ? /^npx kurier / : /./);
  }
});
