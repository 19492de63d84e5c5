/**
 * DECISIONS.md: a number is given once, entries stand in the order of their numbers within a section, whoever names one
 * finds it, and what an entry names is there: paths from the root of the checkout, and the names by which it is changed.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";

import { ROOT, readSources } from "./support/sources.js";

const text = readFileSync(join(ROOT, "DECISIONS.md"), "utf8");
const sections = text.split(/^## /m).slice(1);
const entries = (part: string): readonly number[] =>
  [...part.matchAll(/^\*\*D-(\d+) /gm)].map(([, number = ""]) => Number(number));

const sources = readSources();
const schema = readFileSync(join(ROOT, "test/integration/database/schema.sql"), "utf8");

/** What is written in backticks. */
const quoted = (part: string): readonly string[] => [...part.matchAll(/`([^`]+)`/g)].map(([, word = ""]) => word);
const PATH = /^(?:\.ci|actors|bench|deploy|docs|engine|gateway|spec|test|validators)\/[\w./*-]+$/;
/** The name of a file without its folder: a reader cannot open it. */
const BARE_FILE = /^[\w.-]+\.(?:ts|sql|mjs)$/;
/** Files that stand in the root itself. */
const ROOT_FILE = /^(?:vitest\.config\.ts|[A-Z]+\.md|package\.json)$/;
/** Words of a configuration that another program reads, and what a user writes: neither is declared in our code. */
const NAME = /^(?:LIMITS\.)?[A-Za-z]\w*(?:\*|…)?$/;

const isThere = (path: string): boolean =>
  path.includes("*")
    ? readdirSync(join(ROOT, dirname(path))).some((file) => file.endsWith(path.slice(path.lastIndexOf("*") + 1)))
    : existsSync(join(ROOT, path));

/** What TypeScript or SQL declares: as itself, as a member, a row of a table, a method; functions and tables of the schema. */
const DECLARATION =
  /FUNCTION public\.(\w+)\(|\b(?:const|let|function|class|interface|type|table|view) (\w+)|^ *(?:readonly |async |static |#)*(\w+)\??[:(=;]/gm;
const declaredIn = (written: string): ReadonlySet<string> =>
  new Set([...written.matchAll(DECLARATION)].map(([, first, second, third]) => first ?? second ?? third ?? ""));
const declaredAnywhere = declaredIn(`${sources.map(({ file }) => file.text).join("\n")}\n${schema}`);

/** `LIMITS.webhook_*` is declared when one name begins so. */
function isDeclared(name: string, declared: ReadonlySet<string>): boolean {
  const word = name.replace(/^LIMITS\./, "");
  return /[*…]$/.test(word) ? [...declared].some((other) => other.startsWith(word.slice(0, -1))) : declared.has(word);
}

interface Entry {
  readonly number: string;
  readonly said: string;
}

const readEntries = (part: string): readonly Entry[] =>
  [...part.matchAll(/^\*\*D-(\d+) [^]*?(?=^\*\*D-|^## |$(?![^]))/gm)].map(([said, number = ""]) => ({ number, said }));

/** Paths of an entry that lead nowhere. */
const lostPaths = ({ number, said }: Entry): readonly string[] =>
  quoted(said)
    .filter((word) => (PATH.test(word) && !isThere(word)) || (BARE_FILE.test(word) && !ROOT_FILE.test(word)))
    .map((word) => `D-${number}: ${word}`);

/** Names and migrations behind "To change:" that are not there; a name of which the entry says its file is sought in it. */
function lostNames({ number, said }: Entry): readonly string[] {
  const [, change = ""] = /To change: ([^]*)$/.exec(said) ?? [];
  const homes = new Map(
    [...change.matchAll(/`(\w+)` in `([\w./-]+\.ts)`/g)].map(([, name = "", home = ""]) => [name, home]),
  );
  const names = quoted(change).filter((word) => NAME.test(word));
  const migrations = [...change.matchAll(/\b(?:migrations?|and|,) (0\d{3})\b/g)].map(([, file = ""]) => file);
  const files = readdirSync(join(ROOT, "engine/storage/migrations"));
  return [
    ...names.filter((name) => {
      const home = homes.get(name);
      const isKnown = home !== undefined && isThere(home);
      return !isDeclared(name, isKnown ? declaredIn(readFileSync(join(ROOT, home), "utf8")) : declaredAnywhere);
    }),
    ...migrations.filter((migration) => !files.some((file) => file.startsWith(`${migration}_`))),
  ].map((lost) => `D-${number}: ${lost}`);
}

describe("the list of decisions", () => {
  test("each decision stands once, below a heading, in the order of numbers", () => {
    const all = entries(text);
    expect(all.length).toBeGreaterThan(200);
    expect(all.filter((number, index) => all.indexOf(number) !== index)).toEqual([]);
    expect(sections.flatMap(entries)).toEqual(all);
    for (const section of sections) expect(entries(section)).toEqual(entries(section).toSorted((a, b) => a - b));
  });

  test("no paragraph of the decisions stands twice, and an empty line parts entries and headings", () => {
    const paragraphs = text.split("\n\n");
    const begins = paragraphs.map((paragraph) => paragraph.slice(0, 60)).filter((begin) => begin.length === 60);
    expect(begins.filter((begin, index) => begins.indexOf(begin) !== index)).toEqual([]);
    expect(paragraphs.filter((paragraph) => /\n(?:## |\*\*D-)/.test(paragraph))).toEqual([]);
    const astray = paragraphs.filter((paragraph) => !/^(?:#|\*\*D-|\|)/.test(paragraph)).slice(1);
    expect(astray.filter((paragraph) => text.indexOf(paragraph) !== text.lastIndexOf(paragraph))).toEqual([]);
  });

  test("every decision that a file names is there", () => {
    const known = new Set(entries(text));
    const named = [
      ...sources.map(({ path, file }) => [path, file.text] as const),
      ...["README.md", "CONTRIBUTING.md", "DECISIONS.md"].map(
        (path) => [path, readFileSync(join(ROOT, path), "utf8")] as const,
      ),
    ].flatMap(([path, content]) =>
      [...content.matchAll(/\bD-(\d{3})\b/g)].map(([, number]) => [path, Number(number)] as const),
    );
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter(([, number]) => !known.has(number))).toEqual([]);
  });

  test("every path that a decision names leads to a file or a folder of this checkout", () => {
    expect(readEntries(text).length).toBe(entries(text).length);
    expect(readEntries(text).flatMap(lostPaths)).toEqual([]);
  });

  test("every name by which a decision is changed is declared, and the words before it are always the same", () => {
    expect(readEntries(text).flatMap(lostNames)).toEqual([]);
    expect(text.match(/(?<!To )\bChange: |To change it: /g)).toBeNull();
  });

  test.each([
    ["a folder that is not there", "`engine/nowhere`"],
    ["a file without its folder", "`sql.ts`"],
    ["files of a kind that no folder has", "`docs/*.pdf`"],
  ])("a decision that names %s is found", (_, word) => {
    expect(readEntries(`**D-001 x.** ${word}\n`).flatMap(lostPaths)).toHaveLength(1);
  });

  test.each([
    ["a limit that is gone", "To change: `LIMITS.nothing_ms`."],
    ["a function that is gone", "To change: `doNothing`."],
    ["a migration that is not there", "To change: migration 0999."],
    ["the wrong file for a name", "To change: `LIMITS` in `engine/base/errors.ts`."],
  ])("a decision to be changed by %s is found", (_, change) => {
    expect(readEntries(`**D-001 x.** y. ${change}\n`).flatMap(lostNames)).toHaveLength(1);
  });
});
