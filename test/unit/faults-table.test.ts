/** The table of faults: complete, true, and the page that is drawn from it. @source design/reliability.md, sections 1 and 3 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { MUTATIONS } from "../faults/suites/mutations.js";
import { INVARIANT_ROWS } from "../faults/table/invariants.js";
import { faultsPage, PAGE } from "../faults/table/page.js";
import type { FaultRow } from "../faults/table/row.js";
import { FAMILIES } from "../faults/table/table.js";
import { missingTests } from "../support/shown.js";
import { ROOT } from "../support/sources.js";

const rows: readonly FaultRow[] = FAMILIES.flatMap((family) => family.rows);

/** Tests that a row names and that are not there. */
const gone = ({ id, shown }: FaultRow): string[] => missingTests(shown).map((missing) => `${id}: ${missing}`);

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

test("a row whose long tests have left figures leads to each of them, and each of them is led to", () => {
  const page = faultsPage(ROOT);
  const led = new Set([...page.matchAll(/\]\(#([\w-]+)\)/g)].map(([, anchor = ""]) => anchor));
  const headings = new Set(
    [...page.matchAll(/^## (.*)$/gm)].map(([, title = ""]) =>
      title
        .toLowerCase()
        .replace(/[^\w\s-]/g, "")
        .replaceAll(" ", "-"),
    ),
  );
  expect([...led].filter((anchor) => !headings.has(anchor))).toEqual([]);
  expect(page).toMatch(/^\| F-02 \|.*\(#kills\)/m);
  expect(page, "figures of how databases and machines may be added, which are no fault").not.toMatch(
    /\(#documents-over-two-servers\)/,
  );
  expect(led.size).toBeGreaterThan(12);
});

test("each invariant has a change of the code that breaks it, which still fits the code, and the test that must notice is there", () => {
  expect([...new Set(MUTATIONS.map(({ invariant }) => invariant))]).toEqual(INVARIANT_ROWS.map(({ id }) => id));
  const unfit = MUTATIONS.flatMap(({ invariant, edits }) =>
    edits
      .filter(({ file, from }) => !readFileSync(join(ROOT, file), "utf8").includes(from))
      .map(({ file }) => `${invariant}: ${file}`),
  );
  expect(unfit).toEqual([]);
  expect(missingTests(MUTATIONS.map(({ test: { file, title } }) => ({ file, titles: [title] })))).toEqual([]);
});

test("the page of faults is what the table and the kept figures make (npm run -s faults:table writes it)", () => {
  expect(readFileSync(join(ROOT, PAGE), "utf8")).toBe(faultsPage(ROOT));
});
