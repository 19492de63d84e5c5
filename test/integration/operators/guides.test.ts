/**
 * The guides of docs/, run as a reader runs them: the commands of a page one after the other in one shell, its programs
 * in their languages, and what they print compared with what the page says.
 */
import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { transform } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { buildIfNeeded } from "../../../deploy/build.mjs";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { PROJECT, startEngineProcess } from "../../support/engines/process.js";
import type { EngineProcess } from "../../support/engines/process.js";

interface Block {
  readonly language: string;
  readonly text: string;
  /** What the page says comes out, where it says so. */
  readonly expected: string | undefined;
}

const DOCS = join(PROJECT, "docs");
/** Blocks that nobody runs here: what a program prints, a file's content, what a server of one's own is told, and commands of another machine. */
const SHOWN = new Set(["text", "console", "json", "xml", "yaml", "ini", "sql"]);
/** Commands of another machine or of the first start, each of which has a test of its own or needs what tests have not. */
const CONSOLE = /^(npm ci && npm start|npm run |npm install |docker |helm |kurier |npx kurier |systemctl |#|$)/;
const TIMEOUT_MS = 240_000;
/** Pages whose commands end servers and begin others: test/faults/suites/guide.test.ts runs them. */
const ELSEWHERE = new Set(["operators/backup.md"]);

const pages = readdirSync(DOCS, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".md"))
  .toSorted();

function blocksOf(page: string): readonly Block[] {
  const found = [...readFileSync(join(DOCS, page), "utf8").matchAll(/^```(\w*)[^\n]*\n([^]*?)^```$/gm)].map(
    ([, language = "", text = ""]) => ({ language, text }),
  );
  return found.flatMap(({ language, text }, n) => {
    const next = found[n + 1];
    return language === "text" ? [] : [{ language, text, expected: next?.language === "text" ? next.text : undefined }];
  });
}

let engine: EngineProcess;
let db: TestDatabase;
let folder: string;

beforeAll(async () => {
  await buildIfNeeded();
  folder = mkdtempSync(join(tmpdir(), "kurier-guides-"));
  db = await freshDatabase();
  const kurier = `exec "${process.execPath}" "${PROJECT}/gateway/kurier.mjs" "$@"`;
  writeFileSync(join(folder, "kurier"), `#!/bin/sh\n${kurier}\n`, { mode: 0o755 });
  engine = await startEngineProcess({
    dataDir: join(folder, "data"),
    env: { DATABASE_URL: db.url, NATS_URL: "embedded", VALIDATOR_THREADS: "1" },
  });
});
afterAll(async () => {
  await engine.stop();
  await db.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** A text of a page with the addresses of this run. */
const here = (text: string): string =>
  text
    .replaceAll("http://127.0.0.1:8080", `http://127.0.0.1:${engine.port}`)
    .replaceAll("http://127.0.0.1:9090", engine.sandbox.adminUrl);

const environment = (): NodeJS.ProcessEnv => {
  const { PATH = "", HOME = "" } = process.env;
  const { integrator, baseUrl } = engine.sandbox;
  return {
    PATH: `${folder}:${PATH}`,
    HOME,
    // What `kurier` on an operator's machine has of the engine's.
    ENVIRONMENT: "sandbox",
    DATABASE_URL: db.url,
    DATA_DIR: join(folder, "data"),
    NATS_URL: "embedded",
    KURIER_URL: baseUrl,
    KURIER_CLIENT_ID: integrator.clientId,
    KURIER_CLIENT_SECRET: integrator.clientSecret,
  };
};

async function run(command: string, args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(command, [...args], {
    cwd: folder,
    env: environment(),
    encoding: "utf8",
    timeout: TIMEOUT_MS,
  });
  return stdout;
}

/** Whether a program can be run here. */
function isThere(command: string, args: readonly string[], answer: RegExp): boolean {
  try {
    return answer.test(execFileSync(command, [...args], { encoding: "utf8" }));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  }
}

const file = (name: string, text: string): string => {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
};

const PROGRAMS: Readonly<
  Record<string, { readonly isHere: () => boolean; readonly run: (text: string) => Promise<string> }>
> = {
  ts: {
    isHere: () => true,
    run: async (text) =>
      run(process.execPath, [file("program.mjs", (await transform(text, { loader: "ts", format: "esm" })).code)]),
  },
  py: {
    isHere: () => isThere("python3", ["--version"], /Python 3\./u),
    run: (text) => run("python3", [file("program.py", text)]),
  },
  php: {
    isHere: () => isThere("php", ["-m"], /^curl$/mu),
    run: (text) => run("php", [file("program.php", text)]),
  },
  java: {
    isHere: () => isThere("java", ["--version"], /\b(1[7-9]|[2-9]\d)\./u),
    run: (text) => run("java", [file("Program.java", text)]),
  },
};

/** Pages whose blocks are run; those at the top, for operators, and those of words alone have none. */
const guides = pages
  .map((page) => ({ page, blocks: blocksOf(page) }))
  .filter(
    ({ page, blocks }) =>
      page.includes("/") &&
      !ELSEWHERE.has(page) &&
      blocks.some(({ language }) => language === "sh" || language in PROGRAMS),
  );

/** A pattern of what a page says comes out. */
const pattern = (text: string): RegExp =>
  new RegExp(
    `^${text
      .trim()
      .split("…")
      .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
      .join(".*")}$`,
    "s",
  );

test("every block of every page is run, is what comes out, or is known to be of another machine", () => {
  for (const { page, blocks } of pages.map((page) => ({ page, blocks: blocksOf(page) })))
    for (const { language, text } of blocks) {
      if (!page.includes("/")) continue;
      expect(["sh", ...Object.keys(PROGRAMS), ...SHOWN], `${page}: ${text}`).toContain(language);
      if (language === "console") for (const line of text.trim().split("\n")) expect(line, page).toMatch(CONSOLE);
    }
});

test("every link of every page leads to a file that is there", () => {
  const broken = pages.flatMap((page) =>
    [...readFileSync(join(DOCS, page), "utf8").matchAll(/\]\((?!https?:)([^)#]+)(#[^)]*)?\)/g)]
      .map(([, link = ""]) => link)
      .filter((link) => !existsSync(join(DOCS, dirname(page), link)))
      .map((link) => `${page}: ${link}`),
  );
  expect(broken).toEqual([]);
});

describe.each(guides)("docs/$page", ({ blocks }) => {
  const commands = blocks.filter(({ language }) => language === "sh");
  if (commands.length > 0)
    test("the commands of the page, one after the other in one shell, print what it says", async () => {
      const script = commands.map(({ text }, n) => `${here(text)}\necho "@@ ${n}"\n`).join("");
      const output = await run("bash", ["-euo", "pipefail", "-c", script]);
      const printed = output.split(/^@@ \d+\n/m);
      expect(printed).toHaveLength(commands.length + 1);
      for (const [n, { text, expected }] of commands.entries())
        if (expected !== undefined) expect(printed[n]?.trim(), text).toMatch(pattern(expected));
    });

  const programs = blocks.filter(({ language }) => language in PROGRAMS);
  if (programs.length > 0)
    test("the programs of the page print what it says, in each language that is installed; in CI all but Java", async () => {
      for (const { language, text, expected } of programs) {
        const program = PROGRAMS[language];
        const isOptional = language === "java" || process.env["CI"] === undefined;
        if (program === undefined || (isOptional && !program.isHere())) continue;
        const output = await program.run(here(text));
        expect(expected, text).toBeDefined();
        expect(output.trim(), text).toMatch(pattern(expected ?? ""));
      }
    });
});
