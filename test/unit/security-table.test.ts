/** The threat model and the table of ASVS: in order, true, and the page that is drawn from them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { CHAPTERS } from "../security/asvs.js";
import { PAGE, securityPage } from "../security/page.js";
import { by } from "../security/row.js";
import { THREATS } from "../security/threats.js";
import { missingTests } from "../support/shown.js";
import { ROOT } from "../support/sources.js";

const rows = CHAPTERS.flatMap((chapter) => chapter.rows);
const threats = THREATS.flatMap((family) => family.threats);

/** The place of a number in its chapter; of several, that of the first. */
const place = (id: string): number[] => (id.split("–")[0] ?? "").split(".").map(Number);

test("every test that a threat or a requirement of ASVS names is there", () => {
  expect([...rows, ...threats].flatMap(({ shown }) => missingTests(shown))).toEqual([]);
});

test("every threat is met by a test, and every requirement of ASVS by a test or a reason", () => {
  expect(threats.filter(({ shown }) => shown.length === 0)).toEqual([]);
  expect(rows.filter(({ verdict, shown }) => verdict === "met" && shown.length === 0)).toEqual([]);
  expect(rows.filter(({ verdict, why }) => (verdict === "met") !== (why === undefined))).toEqual([]);
});

test("the requirements of ASVS stand once, in their chapters and in their order", () => {
  for (const { number, rows: own } of CHAPTERS) {
    const places = own.map(({ id }) => place(id));
    expect(places.map(([chapter]) => chapter)).toEqual(own.map(() => number));
    const ordered = places.toSorted(([, a = 0, b = 0], [, c = 0, d = 0]) => a - c || b - d);
    expect(places).toEqual(ordered);
    expect(new Set(own.map(({ id }) => id)).size).toBe(own.length);
  }
});

test("a test that the table of security names and nobody has written is found", () => {
  expect(missingTests([by("tidy", "nobody wrote it")])).toEqual(["test/tidy.test.ts: nobody wrote it"]);
});

test("the page of security is what its lists make (npm run -s security:table writes it)", () => {
  expect(readFileSync(join(ROOT, PAGE), "utf8")).toBe(securityPage());
});
