/** A process of clients: does the job in the file that its first argument names, and tells its result in one line. */
import { readFileSync } from "node:fs";

import type { OffendersJob, OffendersResult, WellBehavedJob, WellBehavedResult } from "./jobs.js";
import { offend } from "./offenders.js";
import { behaveWell } from "./well-behaved.js";

const job = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as OffendersJob | WellBehavedJob;
const done = job.kind === "offenders" ? { kinds: await offend(job) } : { operations: await behaveWell(job) };
const { user, system } = process.cpuUsage();
const told: WellBehavedResult | OffendersResult = { ...done, processor_s: (user + system) / 1e6 };
process.stdout.write(`${JSON.stringify(told)}\n`, () => process.exit(0));
