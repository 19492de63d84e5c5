/** An installation that lost files. Method: the program in a folder of its own, with a dist/ that is not what was built. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { EXIT } from "../../../gateway/commands/command.js";
import { ROOT } from "../../support/sources.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "kurier-damaged-"));
  for (const file of ["gateway/kurier.mjs", "deploy/build.mjs"]) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(ROOT, file), join(folder, file));
  }
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Nothing that ends by itself takes so long. */
const HUNG_MS = 60_000;
/** A dependency of the older form, as half of ours are. */
const REQUIRED = "../../node_modules/required";
const REQUIRING = { "cli.js": 'import "required"; export const main = () => {};' };

/** @param files  with their content, by their places from dist/gateway */
function run(files: Readonly<Record<string, string>>): { readonly status: number | null; readonly lines: string[] } {
  const gateway = join(folder, "dist/gateway");
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(gateway, name)), { recursive: true });
    writeFileSync(join(gateway, name), text);
  }
  const ran = spawnSync(process.execPath, [join(folder, "gateway/kurier.mjs"), "serve"], {
    ...{ encoding: "utf8", timeout: HUNG_MS },
  });
  return { status: ran.status, lines: ran.stderr.trim().split("\n") };
}

const SENTENCE =
  "This installation is damaged, for a file of it is missing or cut off: install it again (a checkout: npm ci). ";

test.each<[string, Readonly<Record<string, string>>, told: string]>([
  ["has lost a file", { "cli.js": 'import "./command.js";' }, "Cannot find module"],
  ["has lost a dependency", { "cli.js": 'import "nothing-of-this-name";' }, "Cannot find package"],
  ["has an empty file", { "cli.js": 'import { a } from "./a.js";', "a.js": "" }, "does not provide an export"],
  ["has a file that was cut off", { "cli.js": "export async function main() {" }, "Unexpected end of input"],
  [
    "has lost what is loaded later",
    { "cli.js": 'export const main = () => import("./serve.js");', "serve.js": "const" },
    "Unexpected end of input",
  ],
  [
    "has lost what is loaded when something is open",
    { "cli.js": 'export const main = () => (setInterval(() => {}, 1000), import("./serve.js"));' },
    "Cannot find module",
  ],
  ["has an empty first file", { "cli.js": "" }, "has no main"],
  ["has an empty file before the first one", { "../../deploy/build.mjs": "" }, "has no buildIfNeeded"],
  ["has a file before the first one that was cut off", { "../../deploy/build.mjs": "{" }, "Unexpected end of input"],
  [
    "has a dependency that lost a file that it requires",
    { ...REQUIRING, [`${REQUIRED}/index.js`]: 'require("./lib.js");' },
    "Cannot find module './lib.js'",
  ],
  ["has a required file that was cut off", { ...REQUIRING, [`${REQUIRED}/index.js`]: "{" }, "Unexpected end of input"],
  [
    "has a dependency whose package.json was cut off",
    { ...REQUIRING, [`${REQUIRED}/package.json`]: "{", [`${REQUIRED}/index.js`]: "" },
    "Invalid package config",
  ],
])("an installation that %s says so in one sentence, and is not started again", (_, files, told) => {
  const { status, lines } = run(files);
  expect([status, lines]).toEqual([EXIT.configuration, [expect.stringContaining(told)]]);
  expect(lines[0]?.startsWith(SENTENCE)).toBe(true);
});

test("what is wrong in a text that was read is no damage of the installation, and shows where it was read", () => {
  const { status, lines } = run({ "cli.js": 'export const main = () => JSON.parse("{");' });
  expect([status, lines.join("\n").includes(SENTENCE)]).toEqual([1, false]);
  expect(lines.join("\n")).toContain("cli.js:1");
});
