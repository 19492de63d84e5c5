/** What several runs of one benchmark say together. */
import { expect, test } from "vitest";

import { processorName, stolenShare } from "../../bench/cpu.js";
import { acrossRuns, beside, measureOnce, table } from "../../bench/runner.js";
import type { PastRun } from "../../bench/report/kept.js";
import type { Bench, BenchOptions, Figure } from "../../bench/runner.js";

const OPTIONS: BenchOptions = {
  ...{
    tiny: true,
    subscribed: false,
    everyEvent: false,
    server: undefined,
    only: undefined,
    size: undefined,
    seconds: 1,
  },
  say: () => undefined,
};

const run = (rate: number, ratio: number, errors: number): readonly Figure[] => [
  { name: "drains", value: rate, unit: "/s", p50_ms: rate / 10, errors },
  { name: "drains ÷ limit", value: ratio, unit: "ratio" },
];

test("several runs are told by their median, with the value of each, the spread, and the errors of all", () => {
  const figures = acrossRuns([run(200, 0.2, 1), run(240, 0.25, 0), run(220, 0.21, 2)]);
  expect(figures).toEqual([
    { name: "drains", value: 220, unit: "/s", p50_ms: 22, errors: 3, runs: [200, 240, 220] },
    { name: "drains ÷ limit", value: 0.21, unit: "ratio", runs: [0.2, 0.25, 0.21] },
  ]);
  expect(table(figures)).toContain("200 to 240, spread 1.20");
});

test("an even number of runs has its median between the two in the middle", () => {
  const [drains] = acrossRuns([run(200, 1, 0), run(210, 1, 0), run(230, 1, 0), run(300, 1, 0)]);
  expect(drains?.value).toBe(220);
});

test("figures that are called the same under different owners are each told by their own runs", () => {
  const lines = (two: number, twenty: number): readonly Figure[] => [
    { name: "2 lines", value: 1, unit: "ms" },
    { name: "  libxml2-wasm", value: two, unit: "ms" },
    { name: "20 lines", value: 2, unit: "ms" },
    { name: "  libxml2-wasm", value: twenty, unit: "ms" },
  ];
  const [, two, , twenty] = acrossRuns([lines(1, 8), lines(3, 9), lines(2, 7)]);
  expect([two?.runs, two?.value, twenty?.runs, twenty?.value]).toEqual([[1, 3, 2], 2, [8, 9, 7], 8]);
});

test("a single run is told as it is", () => {
  const only = run(200, 0.2, 0);
  expect(acrossRuns([only])).toBe(only);
  expect(table(only)).not.toContain("spread");
});

test("time that other guests of the host had is told as a share of all, and not where the system does not tell", () => {
  expect(stolenShare({ all: 1_000, stolen: 10 }, { all: 1_400, stolen: 110 })).toBe(0.25);
  expect(stolenShare(undefined, { all: 1, stolen: 0 })).toBeUndefined();
  expect(stolenShare({ all: 5, stolen: 0 }, { all: 5, stolen: 0 })).toBeUndefined();
});

test("a benchmark's figures come with the share of the processors that was stolen meanwhile", async () => {
  const bench: Bench = { name: "b", question: "?", seconds: 1, run: () => Promise.resolve(run(200, 0.2, 0)) };
  const readings = [{ all: 0, stolen: 0 }, { all: 200, stolen: 30 }, undefined, undefined];
  const timeNow = () => readings.shift();
  expect(await measureOnce(bench, OPTIONS, timeNow)).toEqual([
    ...run(200, 0.2, 0),
    { name: "processors stolen", value: 0.15, unit: "ratio", note: "by other guests of the host" },
  ]);
  expect(await measureOnce(bench, OPTIONS, timeNow)).toEqual(run(200, 0.2, 0));
});

test("processors of one name are told apart by what makes RSA quick on some of them", () => {
  expect(processorName("AMD EPYC", "flags\t\t: fpu avx512f avx512ifma sha_ni\n")).toBe("AMD EPYC, AVX-512 IFMA");
  expect(processorName("AMD EPYC", "flags\t\t: fpu avx512f\n")).toBe("AMD EPYC");
  expect(processorName("Apple M2", "")).toBe("Apple M2");
});

test("five runs of another processor stay beside those of this one", () => {
  const past = (cpu: string, at: number): PastRun => ({
    ...{ at: String(at), commit: "c", machine: { cpu, cores: 2, memory_gb: 1 }, figures: [] },
  });
  const runs = [...[9, 8, 7, 6, 5].map((at) => past("new", at)), ...[4, 3, 2, 1].map((at) => past("old", at))];
  expect(beside("new", runs).map(({ at }) => at)).toEqual(["9", "8", "7", "6", "4", "3", "2", "1"]);
  expect(beside("old", runs).map(({ at }) => at)).toEqual(["9", "8", "7", "6", "5", "4", "3", "2", "1"]);
});
