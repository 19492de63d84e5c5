/** DECISIONS.md: a number is given once, entries stand in the order of their numbers within a section, and whoever names one finds it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { ROOT, readSources } from "./support/sources.js";

const text = readFileSync(join(ROOT, "DECISIONS.md"), "utf8");
const sections = text.split(/^## /m).slice(1);
const entries = (part: string): readonly number[] =>
  [...part.matchAll(/^\*\*D-(\d+) /gm)].map(([, number = ""]) => Number(number));

test("each decision stands once, below a heading, in the order of numbers", () => {
  const all = entries(text);
  expect(all.length).toBeGreaterThan(200);
  expect(all.filter((number, index) => all.indexOf(number) !== index)).toEqual([]);
  expect(sections.flatMap(entries)).toEqual(all);
  for (const section of sections) expect(entries(section)).toEqual(entries(section).toSorted((a, b) => a - b));
});

test("every decision that a file names is there", () => {
  const known = new Set(entries(text));
  const named = [
    ...readSources().map(({ path, file }) => [path, file.text] as const),
    ...["README.md", "CONTRIBUTING.md", "DECISIONS.md"].map(
      (path) => [path, readFileSync(join(ROOT, path), "utf8")] as const,
    ),
  ].flatMap(([path, content]) =>
    [...content.matchAll(/\bD-(\d{3})\b/g)].map(([, number]) => [path, Number(number)] as const),
  );
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter(([, number]) => !known.has(number))).toEqual([]);
});
