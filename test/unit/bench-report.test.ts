/** Kept figures of two runs beside each other, and the picture of many. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { compareKept, comparisonLines } from "../../bench/report/compare.js";
import type { Verdict } from "../../bench/report/compare.js";
import { keptHistory, keptIn } from "../../bench/report/history.js";
import { readKept } from "../../bench/report/kept.js";
import type { KeptBench } from "../../bench/report/kept.js";
import { plotPage } from "../../bench/report/plot.js";
import { ROOT } from "../support/sources.js";

interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly p99_ms?: number;
}

const at = "2026-11-22T17:16:55.677Z";
/** A run of a commit whose earlier runs had these values of its first figure. */
function kept(
  commit: string,
  figures: readonly Figure[],
  earlier: readonly (readonly [string, number])[] = [],
): KeptBench {
  const before = earlier.map(([of, value]) => ({ at, commit: of, figures: [{ ...figures[0], value }] }));
  return readKept(JSON.stringify({ name: "send", question: "?", at, commit, node: "v20", figures, earlier: before }));
}
const sets = (...runs: readonly KeptBench[]) => runs.map((run) => new Map([[run.name, run]]));

function verdict(before: KeptBench, after: KeptBench): Verdict | undefined {
  const [was = new Map(), is = new Map()] = sets(before, after);
  return compareKept(was, is)[0]?.verdict;
}
const figure = (unit: string, value: number, name = "x"): Figure => ({ name, unit, value });

describe("a comparison", () => {
  test.each([
    ["a rate that grew is better", "/s", 100, 130, "better"],
    ["a rate that fell is worse", "/s", 100, 70, "worse"],
    ["a time that fell is better", "ms", 100, 70, "better"],
    ["a time that grew is worse", "ms", 100, 130, "worse"],
    ["a tenth to either side of single runs is nothing", "/s", 100, 115, "within the spread"],
    ["what has no good side has moved", "count", 100, 130, "moved"],
  ] as const)("a comparison says: %s", (_, unit, before, after, expected) => {
    expect(verdict(kept("a", [figure(unit, before)]), kept("b", [figure(unit, after)]))).toBe(expected);
  });

  test("a ratio is better on the side on which its goal is", () => {
    const of = (value: number) => kept("a", [figure("ratio", value, "send ÷ limit (a)")]);
    expect(verdict(of(0.3), of(0.6))).toBe("better");
    expect(verdict(of(0.6), of(0.3))).toBe("worse");
  });

  test("earlier runs of the same commit say how far runs lie apart, those of others do not", () => {
    const after = kept("b", [figure("/s", 130)]);
    expect(verdict(kept("a", [figure("/s", 100)], [["a", 125]]), after)).toBe("within the spread");
    expect(verdict(kept("a", [figure("/s", 100)], [["z", 125]]), after)).toBe("better");
  });

  test("percentiles are compared like figures, and a short one is better", () => {
    const [was = new Map(), is = new Map()] = sets(
      kept("a", [{ ...figure("/s", 100), p99_ms: 50 }]),
      kept("b", [{ ...figure("/s", 100), p99_ms: 20 }]),
    );
    expect(comparisonLines(compareKept(was, is))).toEqual([
      "better             send  x, p99_ms  50   20   0.4 ×",
      "within the spread  send  x          100  100  1 ×",
      "0 worse, 1 better, 0 moved, 1 within the spread",
    ]);
  });

  test("nothing in common is said in one line", () => {
    expect(comparisonLines(compareKept(new Map(), new Map()))).toEqual([
      "0 worse, 0 better, 0 moved, 0 within the spread",
    ]);
  });

  test("a folder of results is read, and what is neither a folder nor a commit is refused", () => {
    const root = mkdtempSync(join(tmpdir(), "kurier-compare-"));
    mkdirSync(join(root, "results"));
    writeFileSync(join(root, "results", "send.json"), JSON.stringify(kept("a", [figure("/s", 1)])));
    expect([...keptIn(join(root, "results")).keys()]).toEqual(["send"]);
    expect(() => keptIn(join(root, "gone"))).toThrow();
    rmSync(root, { recursive: true });
  });
});

describe("the picture over commits", () => {
  test("each goal that has run is a chart with a point for each run and the goal's line, and text is escaped", () => {
    const runs = [0.3, 0.5].map((value, n) => kept(`c<${n}`, [figure("ratio", value, "send ÷ limit (a)")]));
    const page = plotPage(new Map([["send", runs]]));
    expect(page.match(/<circle /g)).toHaveLength(2);
    expect(page.match(/class="goal"/g)).toHaveLength(1);
    expect(page).toContain("c&lt;1");
    expect(page).not.toMatch(/https?:|<script|NaN|undefined/);
  });

  // A copy of the sources without their repository has no history.
  const hasHistory = existsSync(join(ROOT, ".git"));
  test.runIf(hasHistory)("the history of this checkout, where it has one, is in the order of time", () => {
    for (const runs of keptHistory().values()) {
      const times = runs.map((run) => run.at);
      expect(times).toEqual([...new Set(times)].toSorted());
    }
  });
});
