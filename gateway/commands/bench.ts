/** `kurier bench NAME`: the benchmarks of bench/, with their limits in the same run. */
import { join } from "node:path";

import { colour, print } from "./terminal.js";
import { EXIT, parseArguments, UsageError } from "./command.js";
import type { Command } from "./command.js";
import type { Figure } from "../../bench/runner.js";

export const benchCommand: Command = {
  name: "bench",
  summary: "Measure one thing against its limit or peer in the same run.",
  usage: [
    "kurier bench [NAME] [--seconds N] [--runs N] [--size N] [--tiny] [--subscribed [--every-event]] [--only PART] [--postgres URL]",
    "Without NAME: the list. Figures go to bench/results/NAME.json; --tiny proves that it works and measures nothing.",
    "--runs: so many runs one after the other, each from an empty engine; of each figure the median and the spread.",
    "--size: for history, participants and keys-at-scale, how many stored documents, participants or keys there are.",
    "--subscribed: with a webhook for each firm; send and poll to be compared with a run without, end-to-end in turns",
    "  with and without in one engine: what webhooks add to the price of a document. Not kept.",
    "--every-event: those webhooks name every event, not only arrivals and what became of a document.",
    "--only: one kind of those who are in the way, for hostile; not kept.",
    "--postgres: for end-to-end, on a database that is made on that server and dropped again; not kept.",
  ],
  run: async (args) => {
    const {
      values: [name],
      options,
    } = parseArguments(args, {
      options: ["seconds", "runs", "size", "only", "postgres"],
      flags: ["tiny", "subscribed", "every-event"],
      words: 1,
    });
    const [{ BENCHES }, { acrossRuns, keep, measureOnce, table }] = await Promise.all([
      import("../../bench/benches.js"),
      import("../../bench/runner.js"),
    ]).catch((cause: unknown) => {
      // What benchmarks compare with is installed in a checkout only.
      throw (cause as { readonly code?: unknown }).code === "ERR_MODULE_NOT_FOUND"
        ? new UsageError("Benchmarks need a checkout of the project: npm ci && npm run bench.")
        : cause;
    });
    const bench = BENCHES.find((candidate) => candidate.name === name);
    if (bench === undefined) {
      for (const { name: known, question } of BENCHES) print(`  ${known.padEnd(14)} ${question}`);
      if (name !== undefined) throw new UsageError(`There is no benchmark ${name}.`);
      return EXIT.ok;
    }
    const tiny = options.has("tiny");
    const subscribed = options.has("subscribed");
    const seconds = Number(options.get("seconds") ?? bench.seconds);
    if (!Number.isInteger(seconds) || seconds < 1 || seconds > 600)
      throw new UsageError("--seconds is a whole number from 1 to 600.");
    const runs = Number(options.get("runs") ?? 1);
    if (!Number.isInteger(runs) || runs < 1 || runs > 20)
      throw new UsageError("--runs is a whole number from 1 to 20.");
    const size = options.has("size") ? Number(options.get("size")) : undefined;
    if (size !== undefined && (!Number.isInteger(size) || size < 1)) throw new UsageError("--size is a whole number.");
    const only = options.get("only");
    const { parts = [] } = bench;
    if (only !== undefined && !parts.includes(only))
      throw new UsageError(
        parts.length === 0 ? `${bench.name} has no parts.` : `${bench.name} has the parts ${parts.join(", ")}.`,
      );
    const server = options.get("postgres");
    if (server !== undefined && bench.takesServer !== true)
      throw new UsageError(`${bench.name} runs on the embedded PostgreSQL only.`);
    if (server !== undefined && !/^postgres(?:ql)?:/.test(server))
      throw new UsageError("--postgres is a postgres:// URL.");
    print(colour("bold", bench.question));
    const measured = {
      tiny,
      subscribed,
      server,
      only,
      size,
      everyEvent: options.has("every-event"),
      seconds: tiny ? 1 : seconds,
      say: (line: string) => {
        print(colour("dim", line));
      },
    };
    const all: (readonly Figure[])[] = [];
    while (all.length < runs) {
      const figures = await measureOnce(bench, measured);
      all.push(figures);
      if (runs > 1) print(`${all.length} of ${runs}\n${table(figures)}`);
    }
    const figures = acrossRuns(all);
    print(table(figures));
    if (!tiny && !subscribed && only === undefined && server === undefined)
      print(colour("dim", `kept in ${keep(bench, measured, figures, join("bench", "results"))}`));
    return EXIT.ok;
  },
};
