/** The table of faults: complete, true, and the page that is drawn from it. @source design/reliability.md, sections 1 and 3 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";

import { faultsPage, PAGE } from "../faults/table/page.js";
import type { FaultRow } from "../faults/table/row.js";
import { FAMILIES } from "../faults/table/table.js";
import { eachNode, parse, ROOT } from "../support/sources.js";

const rows: readonly FaultRow[] = FAMILIES.flatMap((family) => family.rows);

/** `test` of `test.skipIf(…).each(rows)("title")`. */
const calleeOf = (node: ts.Expression): string =>
  ts.isIdentifier(node)
    ? node.text
    : ts.isPropertyAccessExpression(node) || ts.isCallExpression(node)
      ? calleeOf(node.expression)
      : "";

/** Titles of the tests of a file, as they are written there. */
function titlesOf(path: string): ReadonlySet<string> {
  const titles = new Set<string>();
  eachNode(parse(path, readFileSync(join(ROOT, path), "utf8")).file, (node) => {
    if (!ts.isCallExpression(node) || !/^(?:test|it)$/.test(calleeOf(node.expression))) return;
    const [title] = node.arguments;
    if (title !== undefined && ts.isStringLiteralLike(title)) titles.add(title.text);
    else if (title !== undefined && ts.isTemplateExpression(title)) titles.add(title.getText().slice(1, -1));
  });
  return titles;
}

const known = new Map<string, ReadonlySet<string>>();
const titles = (path: string): ReadonlySet<string> => {
  const found = known.get(path) ?? titlesOf(path);
  known.set(path, found);
  return found;
};

/** Tests that a row names and that are not there. */
const gone = ({ id, shown }: FaultRow): string[] =>
  shown.flatMap(({ file, titles: named }) =>
    named.filter((title) => !titles(file).has(title)).map((title) => `${id}: ${file}: ${title}`),
  );

test("the table of faults has each row of the design once, in its order", () => {
  for (const { prefix, count, rows: own } of FAMILIES) {
    const digits = prefix === "I" ? 1 : 2;
    expect(own.map(({ id }) => id)).toEqual(
      Array.from({ length: count }, (_, n) => `${prefix}${String(n + 1).padStart(digits, "0")}`),
    );
  }
});

test("every test that the table of faults names is there", () => {
  expect(rows.flatMap(gone)).toEqual([]);
});

test("a row of the table of faults that names no test says why", () => {
  expect(rows.filter(({ shown, missing }) => shown.length === 0 && missing === undefined)).toEqual([]);
});

test("a test that the table of faults names and nobody has written is found", () => {
  const made = {
    id: "F-00",
    what: "",
    shown: [{ file: "test/unit/faults-table.test.ts", titles: ["nobody wrote it"] }],
  };
  expect(gone(made)).toHaveLength(1);
});

test("the page of faults is what the table and the kept figures make (npm run -s faults:table writes it)", () => {
  expect(readFileSync(join(ROOT, PAGE), "utf8")).toBe(faultsPage(ROOT));
});
