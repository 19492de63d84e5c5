/** What several runs of one benchmark say together. */
import { expect, test } from "vitest";

import { acrossRuns, table } from "../../bench/runner.js";
import type { Figure } from "../../bench/runner.js";

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

test("a single run is told as it is", () => {
  const only = run(200, 0.2, 0);
  expect(acrossRuns([only])).toBe(only);
  expect(table(only)).not.toContain("spread");
});
