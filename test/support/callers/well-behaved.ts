/** Clients that send and read at an even pace, in a process of their own: what they take is not the engine's. */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import type { WellBehavedJob, WellBehavedResult } from "../../../bench/hostile/jobs.js";
import { PROJECT } from "../engines/process.js";

/** Runs the clients of one phase. @param folder  for the file that tells them their job @returns what each has met */
export async function behaveWellApart(folder: string, job: WellBehavedJob): Promise<WellBehavedResult["operations"]> {
  const file = join(folder, "clients.json");
  writeFileSync(file, JSON.stringify(job));
  const child = spawn(process.execPath, [join(PROJECT, "dist/bench/hostile/clients.js"), file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let told = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    told += text;
  });
  await new Promise((resolve) => child.once("close", resolve));
  return (JSON.parse(told) as WellBehavedResult).operations;
}
