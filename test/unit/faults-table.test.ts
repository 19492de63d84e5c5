/** The table of faults: complete, true, and the page that is drawn from it. @source design/reliability.md, sections 1 and 3 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { faultsPage, PAGE } from "../faults/table/page.js";
import type { FaultRow } from "../faults/table/row.js";
import { FAMILIES } from "../faults/table/table.js";
import { ROOT } from "../support/sources.js";

const rows: readonly FaultRow[] = FAMILIES.flatMap((family) => family.rows);

const sources = new Map<string, string>();
/** The text of a test file, read once: to parse them all would take seconds. */
function textOf(path: string): string {
  const text = sources.get(path) ?? readFileSync(join(ROOT, path), "utf8");
  sources.set(path, text);
  return text;
}

/** Whether a file has a title, as a string of its own. */
const hasTitle = (path: string, title: string): boolean =>
  ['"', "'", "`"].some((quote) => textOf(path).includes(`${quote}${title}${quote}`));

/** Tests that a row names and that are not there. */
const gone = ({ id, shown }: FaultRow): string[] =>
  shown.flatMap(({ file, titles: named }) =>
    named.filter((title) => !hasTitle(file, title)).map((title) => `${id}: ${file}: ${title}`),
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
    shown: [{ file: "test/tidy.test.ts", titles: ["nobody wrote it"] }],
  };
  expect(gone(made)).toHaveLength(1);
});

test("the page of faults is what the table and the kept figures make (npm run -s faults:table writes it)", () => {
  expect(readFileSync(join(ROOT, PAGE), "utf8")).toBe(faultsPage(ROOT));
});
