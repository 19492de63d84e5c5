/**
 * Each invariant is watched: a change of the code that breaks it makes its test fail. Method: a copy of the project, in
 * which one place is changed and built, and the test run by vitest in a process of its own. KURIER_TEST_MUTATIONS: names
 * of invariants, comma-separated; all without it.
 * @source design/reliability.md, section 1
 */
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { PROJECT } from "../../support/engines/process.js";
import { keepFigures } from "../figures.js";
import { MUTATIONS } from "./mutations.js";
import type { Mutation } from "./mutations.js";

const ONLY = process.env["KURIER_TEST_MUTATIONS"]?.split(",");
const chosen = MUTATIONS.filter(({ invariant }) => ONLY?.includes(invariant) ?? true);
const COPIED = [
  ...["actors", "bench", "deploy", "docs", "engine", "examples", "gateway", "test", "validators"],
  ...["DECISIONS.md", "package.json", "tsconfig.json", "vitest.config.ts"],
];

let copy: string;
beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), "kurier-mutant-"));
  for (const name of COPIED) cpSync(join(PROJECT, name), join(copy, name), { recursive: true });
  symlinkSync(join(PROJECT, "node_modules"), join(copy, "node_modules"));
});
afterAll(() => {
  rmSync(copy, { recursive: true, force: true });
});

/** Runs a program of Node in the copy. */
const run = (args: readonly string[]): Promise<{ readonly code: number | null; readonly text: string }> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: copy, env: { ...process.env, NO_COLOR: "1" } });
    let text = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (piece: string) => {
        text += piece;
      });
    child.once("error", reject).once("close", (code) => {
      resolve({ code, text });
    });
  });

/** Builds what is changed and runs a test on it. */
async function judge({
  test: { file, title },
}: Mutation): Promise<{ readonly code: number | null; readonly text: string }> {
  const built = await run(["deploy/build.mjs"]);
  if (built.code !== 0) throw new Error(`the changed code cannot be built:\n${built.text}`);
  const pattern = `^(.* )?${title.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&")}$`;
  return run(["node_modules/vitest/vitest.mjs", "run", file, "-t", pattern]);
}

const outcomes: (readonly string[])[] = [];

test("the tests that watch the invariants pass on the code as it is", async () => {
  for (const one of new Map(chosen.map((mutation) => [mutation.test.title, mutation])).values()) {
    const { code, text } = await judge(one);
    expect(code, text).toBe(0);
    expect(text).toMatch(/Tests +1 passed/);
  }
});

test.each(chosen)("$invariant is seen to break when $what", async (mutation) => {
  const originals = mutation.edits.map(({ file }) => [file, readFileSync(join(copy, file), "utf8")] as const);
  try {
    for (const { file, from, to } of mutation.edits) {
      const text = readFileSync(join(copy, file), "utf8");
      expect(text).toContain(from);
      writeFileSync(join(copy, file), text.replaceAll(from, to));
    }
    const { code, text } = await judge(mutation);
    expect(code, text).toBe(1);
    expect(text).toMatch(mutation.says);
    const { invariant, what, edits, test: watching } = mutation;
    outcomes.push([invariant, what, edits.map(({ file }) => file).join(", "), watching.file, "fails"]);
  } finally {
    for (const [file, text] of originals) writeFileSync(join(copy, file), text);
  }
});

test("the outcome for each invariant is kept", () => {
  expect(outcomes).toHaveLength(chosen.length);
  keepFigures("mutations", {
    title: "Mutations",
    command: "npm run -s test:faults -- mutations",
    remark:
      "Each invariant has a change of the code that breaks it. The tool applies each in a copy of the project, builds it, and runs the test that must fail, after the same tests have passed on the code as it is.",
    columns: ["Invariant", "Changed so that", "In", "Test", "Outcome"],
    rows: outcomes,
  });
});
