/** The command line as the documentation shows it: an operator who follows a page word by word is not turned away. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";

import { COMMAND_FILES } from "../../../gateway/cli.js";
import type { Command } from "../../../gateway/commands/command.js";
import { METRICS } from "../../../engine/base/metrics.js";
import { ROOT } from "../../support/sources.js";
import { kurier } from "./kurier.js";

const PAGES = [
  "README.md",
  "CHANGELOG.md",
  "deploy/env.example",
  ...readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name)),
];
const textOf = (page: string): string => readFileSync(join(ROOT, page), "utf8");
const RECORDED = readFileSync(join(ROOT, "deploy/prometheus/recording.yml"), "utf8");

/** Where a command stands in a line of a block or between backticks; behind what a shell reads as its end it is over. */
const IN_TEXT = /(?:^|`)(?:[A-Z_]+=\S+ )*(?:npx |npm run -s )?kurier (?:-- )?([a-z-][^`\n|<>#(…]*)/gm;

let commands: readonly Command[] = [];
beforeAll(async () => {
  commands = (await Promise.all(COMMAND_FILES.map(({ load }) => load()))).flat();
});

/** The longest command with which words begin. */
const commandOf = (words: readonly string[]): Command | undefined =>
  commands
    .toSorted((a, b) => b.name.length - a.name.length)
    .find(({ name }) => name.split(" ").every((word, index) => words[index] === word));
/** Families that pages speak of as a whole: `kurier participants`. */
const isFamily = (word: string): boolean => commands.some(({ name }) => name.startsWith(`${word} `));

test.each(PAGES)("every command that %s shows is one, and has the options that stand there", (page) => {
  const wrong: string[] = [];
  for (const [, line = ""] of textOf(page).matchAll(IN_TEXT)) {
    const words = line.trim().split(/\s+/);
    const command = commandOf(words);
    const options = words.filter((word) => word.startsWith("--") && !["--help", "--version"].includes(word));
    const known = [...(command?.usage.join(" ").match(/--[a-z][a-z-]*/g) ?? [])];
    if (command === undefined && !(words.length === 1 && isFamily(words[0] ?? "")) && !words[0]?.startsWith("--"))
      wrong.push(line);
    wrong.push(...options.map((option) => option.split("=")[0] ?? "").filter((option) => !known.includes(option)));
  }
  expect(wrong).toEqual([]);
});

test("the search finds commands in blocks and in sentences, and what is no command", () => {
  const found = ["npx kurier top --once\n", "see `kurier keys list`, or", "A=1 kurier serve # x\n"].flatMap((text) =>
    [...text.matchAll(IN_TEXT)].map(([, line = ""]) => line.trim()),
  );
  expect(found).toEqual(["top --once", "keys list", "serve"]);
  expect(commandOf(["keys", "lists"])).toBeUndefined();
});

/** What stands for an operator's own words. */
const OWN: Readonly<Record<string, string>> = {
  PARTICIPANT: "0245:2020202020",
  ID: "018f6a3e-0000-7000-8000-00000000aaaa",
};
const TYPED = [
  ...new Set([...textOf("docs/runbook.md").matchAll(/`npx kurier ([^`<]+)/g)].map(([, line = ""]) => line.trim())),
];

test("the runbook shows commands to type", () => {
  expect(TYPED.length).toBeGreaterThan(7);
});

test.each(TYPED)("kurier %s has every word that it needs where the runbook shows it", async (line) => {
  const words = line.split(/\s+/).map((word) => OWN[word] ?? word);
  // It comes as far as the configuration: words that are wrong or missing end it before, with 2. What is amiss with the
  // configuration is one of the things that doctor tells.
  const { code, out } = await kurier(words, { input: "token", env: { PORT: "none" } });
  expect([code, out !== ""]).toEqual(words[0] === "doctor" ? [1, true] : [78, false]);
});

test.each(PAGES)("every metric and recorded rule that %s names is there", (page) => {
  const text = textOf(page);
  const metrics = [...text.matchAll(/`kurier_(\w+)/g)].map(([, name = ""]) => name);
  // A name that ends in an underscore stands for all that begin with it.
  const isThere = (name: string): boolean =>
    name.endsWith("_") ? Object.keys(METRICS).some((known) => known.startsWith(name)) : name in METRICS;
  expect(metrics.filter((name) => !isThere(name))).toEqual([]);
  const rules = [...text.matchAll(/`(kurier:[\w:]+)/g)].map(([, name = ""]) => name);
  expect(rules.filter((name) => !RECORDED.includes(`record: ${name}\n`))).toEqual([]);
});
