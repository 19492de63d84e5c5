/** `kurier bench table`, `compare` and `plot`: what becomes of kept figures. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { EXIT, parseArguments, UsageError } from "../command.js";
import type { Command } from "../command.js";
import { print } from "../terminal.js";

const tableCommand: Command = {
  name: "bench table",
  summary:
    "Write docs/performance.md, docs/operators/capacity.md and the figures of README.md from those of the benchmarks.",
  usage: ["kurier bench table", "In a checkout of the project: reads bench/results, writes the pages."],
  run: async (args) => {
    parseArguments(args, {});
    const { FRONT_PAGE, performancePage, PERFORMANCE_PAGE, withFigures } =
      await import("../../../bench/report/page.js");
    const { capacityPage, CAPACITY_PAGE } = await import("../../../bench/report/capacity.js");
    writeFileSync(join(".", PERFORMANCE_PAGE), performancePage("."));
    writeFileSync(join(".", CAPACITY_PAGE), capacityPage("."));
    writeFileSync(join(".", FRONT_PAGE), withFigures(readFileSync(join(".", FRONT_PAGE), "utf8"), "."));
    print(`written: ${PERFORMANCE_PAGE}, ${CAPACITY_PAGE}, ${FRONT_PAGE}`);
    return EXIT.ok;
  },
};

const compareCommand: Command = {
  name: "bench compare",
  summary: "Compare the kept figures of two commits or folders.",
  usage: [
    "kurier bench compare BEFORE AFTER",
    "Each is a folder of results (bench/results) or a commit (HEAD~5). A figure is better or worse when the spreads of",
    "its runs do not meet; of a commit with a single run the spread is taken for 10 % to either side.",
  ],
  run: async (args) => {
    const [before, after] = parseArguments(args, { words: 2 }).values;
    if (before === undefined || after === undefined)
      throw new UsageError("Name two commits or folders, the older one first.");
    const [{ keptIn }, { compareKept, comparisonLines }] = await Promise.all([
      import("../../../bench/report/history.js"),
      import("../../../bench/report/compare.js"),
    ]);
    const [was, is] = [before, after].map((place) => {
      try {
        return keptIn(place);
      } catch {
        throw new UsageError(`${place} is neither a folder of results nor a commit of this checkout.`);
      }
    });
    for (const line of comparisonLines(compareKept(was ?? new Map(), is ?? new Map()))) print(line);
    return EXIT.ok;
  },
};

const plotCommand: Command = {
  name: "bench plot",
  summary: "Draw the kept figures over the commits of this checkout.",
  usage: ["kurier bench plot [FILE]", "FILE is a page of HTML that needs no network. Default: performance.html."],
  run: async (args) => {
    const [file = "performance.html"] = parseArguments(args, { words: 1 }).values;
    const [{ keptHistory }, { plotPage }] = await Promise.all([
      import("../../../bench/report/history.js"),
      import("../../../bench/report/plot.js"),
    ]);
    writeFileSync(file, plotPage(keptHistory()));
    print(`written: ${file}`);
    return EXIT.ok;
  },
};

/** The commands that read what benchmarks have left. */
export const reportCommands: readonly Command[] = [tableCommand, compareCommand, plotCommand];
