/** The page of performance: drawn from goals and kept figures, and what it says of each. @source design/performance.md */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";

import { capacityPage, CAPACITY_PAGE } from "../bench/report/capacity.js";
import { BENCH_GOALS } from "../bench/report/goals.js";
import { readKeptFolder, RESULTS, valuesOf } from "../bench/report/kept.js";
import { LIMITED_BY } from "../bench/report/limited-by.js";
import { FRONT_PAGE, missesAny, performancePage, PERFORMANCE_PAGE, withFigures } from "../bench/report/page.js";
import { ROOT } from "./support/sources.js";

const roots: string[] = [];
afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true, force: true });
});

const MACHINE = { cpu: "Some CPU", cores: 2, memory_gb: 25 };
const run = (figures: readonly object[]): object => ({
  name: "send",
  question: "How many?",
  at: "2026-11-22T17:16:55.677Z",
  commit: "74bf3c9",
  node: "v20.20.2",
  machine: MACHINE,
  figures,
});

/** The page of a project whose results are these files. */
function pageOf(files: Readonly<Record<string, object>>): string {
  const root = mkdtempSync(join(tmpdir(), "kurier-performance-"));
  roots.push(root);
  mkdirSync(join(root, RESULTS), { recursive: true });
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(root, RESULTS, `${name}.json`), JSON.stringify(content));
  return performancePage(root);
}

const lineOf = (page: string, begin: string): string => page.split("\n").find((line) => line.startsWith(begin)) ?? "";

describe("the page of performance", () => {
  test("the page of performance is what goals and kept figures make (npm run -s performance:table writes it)", () => {
    expect(readFileSync(join(ROOT, PERFORMANCE_PAGE), "utf8")).toBe(performancePage(ROOT));
  });

  test("every goal of a benchmark that has run names a figure that it has", () => {
    const kept = readKeptFolder(join(ROOT, RESULTS));
    const unknown = BENCH_GOALS.flatMap(({ bench, goals }) => {
      const found = kept.get(bench);
      return found === undefined
        ? []
        : goals.filter(({ figure, measure }) => valuesOf(found, figure, measure).length === 0);
    });
    expect(unknown).toEqual([]);
  });

  test("a goal is met or missed by the last run, whichever side it must be on", () => {
    const page = pageOf({
      send: run([
        { name: "send ÷ limit (a)", value: 0.61, unit: "ratio" },
        { name: "kurier send", value: 3_100, unit: "/s", p99_ms: 61 },
      ]),
    });
    expect(lineOf(page, "| send | send ÷ limit (a) |")).toBe("| send | send ÷ limit (a) | ≥ 0.6 × | 0.61 × | met |");
    expect(lineOf(page, "| send | kurier send, p99")).toBe(
      "| send | kurier send, p99 | ≤ 60 ms | 61 ms | **missed** |",
    );
  });

  test("every benchmark that misses a goal says what keeps it from it, and only there is it said", () => {
    const kept = readKeptFolder(join(ROOT, RESULTS));
    const missing = BENCH_GOALS.filter((goals) => missesAny(goals, kept.get(goals.bench))).map(({ bench }) => bench);
    expect(missing.filter((bench) => LIMITED_BY[bench] === undefined)).toEqual([]);
    expect(Object.keys(LIMITED_BY).filter((bench) => BENCH_GOALS.every((goals) => goals.bench !== bench))).toEqual([]);
    const figures = (value: number): object => run([{ name: "send ÷ limit (a)", value, unit: "ratio" }]);
    expect(pageOf({ send: figures(0.4) })).toContain("- what keeps it from its goals: Processors");
    expect(pageOf({ send: figures(0.7) })).not.toContain("what keeps it from its goals");
  });

  test("a goal that a smaller run has met says how much smaller it was", () => {
    const figures = [{ name: "send, p99 long past ÷ nothing stored", value: 1.1, unit: "ratio" }];
    const stored = (value: number): object => run([{ name: "stored documents", value, unit: "count" }, ...figures]);
    const rowOf = (value: number): string => lineOf(pageOf({ history: stored(value) }), "| history | send, p99");
    expect(rowOf(200_000)).toContain("| met with 200,000 of 10,000,000 stored documents |");
    expect(rowOf(10_000_000)).toContain("| met |");
  });

  test("a figure of several runs is shown with the least and the most of them", () => {
    const earlier = [0.4, 0.7].map((value) => ({
      at: "2026-11-21T00:00:00.000Z",
      commit: "abc1234",
      figures: [{ name: "send ÷ limit (a)", value, unit: "ratio" }],
    }));
    const page = pageOf({ send: { ...run([{ name: "send ÷ limit (a)", value: 0.5, unit: "ratio" }]), earlier } });
    expect(page).toContain("| ≥ 0.6 × | 0.5 × (0.4 to 0.7 in 3 runs) | **missed** |");
  });

  test("a figure of a command that made several runs is their median, with the least and the most of these alone", () => {
    const earlier = [
      { at: "2026-11-21T00:00:00.000Z", commit: "abc1234", figures: [{ name: "send ÷ limit (a)", value: 0.9 }] },
    ];
    const figures = [{ name: "send ÷ limit (a)", value: 0.5, unit: "ratio", runs: [0.4, 0.55, 0.5] }];
    expect(pageOf({ send: { ...run(figures), earlier } })).toContain("| 0.5 × (0.4 to 0.55 in 3 runs) | **missed** |");
  });

  test("what ran on processors of another kind is told apart, with their kind and what they came to", () => {
    const before = (cpu: string, value: number): object => ({
      at: "2026-11-21T00:00:00.000Z",
      commit: "abc1234",
      machine: { ...MACHINE, cpu },
      figures: [
        { name: "send ÷ limit (a)", value, unit: "ratio" },
        { name: "kurier send", value: 900, unit: "/s", p99_ms: 61 },
      ],
    });
    const earlier = [before("Another CPU", 0.9), before(MACHINE.cpu, 0.4)];
    const page = pageOf({ send: { ...run([{ name: "send ÷ limit (a)", value: 0.5, unit: "ratio" }]), earlier } });
    expect(page).toContain("| 0.5 × (0.4 to 0.5 in 2 runs) | **missed** |");
    expect(page).toContain(
      "- before it, on Another CPU: `abc1234`, 2026-11-21 00:00 UTC, no load written down: send ÷ limit (a) 0.9 ×, kurier send 900/s, kurier send p99 61 ms\n",
    );
    expect(page).toContain("- before it: `abc1234`, 2026-11-21 00:00 UTC, no load written down\n");
  });

  test("what never ran and what a run did not measure each say so", () => {
    const page = pageOf({ poll: run([{ name: "empty ÷ limit", value: 0.8, unit: "ratio" }]) });
    expect(lineOf(page, "| send | kurier send |")).toContain("| not run |  |");
    expect(lineOf(page, "| poll | 20 items ÷ limit |")).toContain("| not measured |  |");
  });

  test("each run is named with its command, commit, day, machine and the load before it", () => {
    const page = pageOf({ send: { ...run([]), load: 7.25, seconds: 6 } });
    expect(page).toContain("- `npm run -s bench -- send`, 6 s each part");
    expect(page).toContain(
      "- the last run: `74bf3c9`, 2026-11-22 17:16 UTC, load 7.25; 2 cores, Some CPU, 25 GB, Node v20.20.2",
    );
  });

  test("an indented figure is one of the figure above it", () => {
    const page = pageOf({
      validate: run([
        { name: "20 lines", value: 1, unit: "ms" },
        { name: "  chain ÷ libxml2-wasm", value: 0.4, unit: "ratio" },
        { name: "200 lines", value: 2, unit: "ms" },
        { name: "  chain ÷ libxml2-wasm", value: 0.6, unit: "ratio" },
      ]),
    });
    expect(page).toContain("| validate | 20 lines: chain ÷ libxml2-wasm | ≤ 0.5 × | 0.4 × | met |");
    expect(page).toContain("| validate | 200 lines: chain ÷ libxml2-wasm | ≤ 0.5 × | 0.6 × | **missed** |");
  });

  test("what is no list of named figures among the results are passed over", () => {
    expect(pageOf({ kills: [{ kind: "none" }] as unknown as object, other: { title: "x" } })).toContain("not run");
  });
});

test("the figures of the front page are what the kept figures make (npm run -s performance:table writes them)", () => {
  const front = readFileSync(join(ROOT, FRONT_PAGE), "utf8");
  expect(front).toContain("\n| validate | official base example ≤ 0.2 ms | ");
  expect(withFigures(front, ROOT)).toBe(front);
  expect(withFigures(front.replace(/(\| send \|[^|]*\|)[^|]*\|/, "$1 99,999/s |"), ROOT)).toBe(front);
});

test("the page of capacity is what the kept figures make (npm run -s performance:table writes it)", () => {
  expect(readFileSync(join(ROOT, CAPACITY_PAGE), "utf8")).toBe(capacityPage(ROOT));
});
