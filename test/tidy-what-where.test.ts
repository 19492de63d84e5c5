/** The table "What / where" of CONTRIBUTING.md: it names files that exist, and each holds the list that it is named for. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { METRICS } from "../engine/base/metrics.js";
import { SCOPES } from "../engine/base/scopes.js";
import { OUTBOUND_STATES } from "../engine/lifecycle/document.js";
import { EBMS_ERRORS } from "../engine/peppol/as4/ebms-errors.js";
import { missingTests } from "./support/shown.js";
import { ROOT, readSources } from "./support/sources.js";

const ROOMS_MAX = 2;

/** Rows of the table of laws: law, file and title of its test. */
const LAW_ROW = /^\| ([1-4][^|]*) \| `([^`]+)`: (.+) \|$/gm;

interface Change {
  readonly what: string;
  /** Paths in backticks, each with the words in capitals or with an underscore of the brackets behind it. */
  readonly places: readonly { readonly path: string; readonly lists: readonly string[] }[];
}

function readTable(text: string): readonly Change[] {
  const [, behind = ""] = text.split("| Change | Where |\n|---|---|\n");
  const [table = ""] = behind.split("\n\n");
  return table.split("\n").map((line) => {
    const [, what = "", where = ""] = line.split("|").map((cell) => cell.trim());
    const places = [...where.matchAll(/`([^`]+)`(?: \(([^)]*)\))?/g)].map(([, path = "", said = ""]) => ({
      path,
      lists: said.match(/\b(?:[A-Z]{2,}(?:_[A-Z]+)*|[a-z]+(?:_[a-z]+)+|[a-z]+[A-Z]\w+)\b/g) ?? [],
    }));
    return { what, places };
  });
}

const isFolder = (path: string): boolean => statSync(join(ROOT, path)).isDirectory();
const declares = (path: string, name: string): boolean =>
  new RegExp(`(?:const ${name}\\b|^  ${name}:)`, "m").test(readFileSync(join(ROOT, path), "utf8"));

/** What is wrong with a row. */
const faultsOf = ({ what, places }: Change): readonly string[] => [
  ...(places.length === 0 || places.length > ROOMS_MAX ? [`${what}: ${places.length} places`] : []),
  ...places.flatMap(({ path, lists }) =>
    !existsSync(join(ROOT, path))
      ? [`${what}: ${path} does not exist`]
      : isFolder(path)
        ? []
        : [
            ...(lists.length === 0 ? [`${what}: what ${path} holds is not named`] : []),
            ...lists.filter((list) => !declares(path, list)).map((list) => `${what}: ${path} has no ${list}`),
          ],
  ),
];

const changes = readTable(readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8"));
const product = readSources().filter(({ path }) => !path.startsWith("bench/"));
/** The files that name a word of a list, without the one that declares it. */
const filesNaming = (word: string, home: string): readonly string[] =>
  product
    .filter(({ path, file }) => path !== home && new RegExp(`"${word}"`).test(file.getFullText()))
    .map(({ path }) => path);

describe("the table of changes in CONTRIBUTING.md", () => {
  test("the table of changes has the ten of a newcomer, each in at most two places that hold what is promised", () => {
    expect(changes).toHaveLength(10);
    expect(changes.flatMap(faultsOf)).toEqual([]);
  });

  test("each of the four laws names the tests that fail when it is broken, and they are there", () => {
    const rows = [...readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8").matchAll(LAW_ROW)];
    expect([...new Set(rows.map(([, law = ""]) => law[0]))]).toEqual(["1", "2", "3", "4"]);
    expect(missingTests(rows.map(([, , file = "", title = ""]) => ({ file, titles: [title] })))).toEqual([]);
  });

  test("a metric is observed in one file beside the table of metrics", () => {
    const places = Object.keys(METRICS).map((name) => [name, filesNaming(name, "engine/base/metrics.ts")] as const);
    expect(places.filter(([, files]) => files.length !== 1)).toEqual([]);
  });

  test("what an ebMS code of another access point means for a document stands in its row alone", () => {
    const judging = product.filter(({ path }) => /^engine\/peppol\/as4\/(send|outcomes)\.ts$/.test(path));
    const codes = Object.keys(EBMS_ERRORS);
    const asked = judging.flatMap(({ path, file }) =>
      codes
        .filter((code) => new RegExp(`has\\("${code}"|code === "${code}"|\\["${code}"`).test(file.getFullText()))
        .map((code) => `${path}: ${code}`),
    );
    expect(judging).toHaveLength(2);
    expect(asked).toEqual([]);
  });

  test.each([
    ["scopes", SCOPES, /^engine\/base\//],
    ["states of a document", OUTBOUND_STATES, /^engine\/(lifecycle|storage\/migrations)\//],
  ])("no list of all %s stands outside the rooms that the table of changes names", (_, words, homes) => {
    const isNamed = (text: string) => (word: string) => new RegExp(`"${word}"|^\\s+${word}:`, "m").test(text);
    const lists = product.filter(({ file }) => words.every(isNamed(file.getFullText()))).map(({ path }) => path);
    expect(lists.length).toBeGreaterThan(0);
    expect(lists.filter((path) => !homes.test(path))).toEqual([]);
  });

  test.each([
    [
      "a file that is not there",
      "| x | `engine/base/nowhere.ts` (LIMITS) |",
      "x: engine/base/nowhere.ts does not exist",
    ],
    [
      "a list that its file does not hold",
      "| x | `engine/base/limits.ts` (NOTHING) |",
      "x: engine/base/limits.ts has no NOTHING",
    ],
    ["a file without its list", "| x | `engine/base/limits.ts` |", "x: what engine/base/limits.ts holds is not named"],
    ["three places", "| x | `gateway/routes`, `gateway/start`, `gateway/web` |", "x: 3 places"],
  ])("a row with %s is found", (_, row, fault) => {
    expect(readTable(`| Change | Where |\n|---|---|\n${row}\n\n`).flatMap(faultsOf)).toEqual([fault]);
  });
});
