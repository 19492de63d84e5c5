/** `kurier bench table`: the pages of goals and of capacity, from the kept figures. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { EXIT } from "../command.js";
import type { Command } from "../command.js";
import { print } from "../terminal.js";

const tableCommand: Command = {
  name: "bench table",
  summary: "Write docs/performance.md and docs/operators/capacity.md from the kept figures of the benchmarks.",
  usage: ["kurier bench table", "In a checkout of the project: reads bench/results, writes both pages."],
  run: async () => {
    const { performancePage, PERFORMANCE_PAGE } = await import("../../../bench/report/page.js");
    const { capacityPage, CAPACITY_PAGE } = await import("../../../bench/report/capacity.js");
    writeFileSync(join(".", PERFORMANCE_PAGE), performancePage("."));
    writeFileSync(join(".", CAPACITY_PAGE), capacityPage("."));
    print(`written: ${PERFORMANCE_PAGE}, ${CAPACITY_PAGE}`);
    return EXIT.ok;
  },
};

/** The commands that read what benchmarks have left. */
export const reportCommands: readonly Command[] = [tableCommand];
