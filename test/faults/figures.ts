/** Figures of a long run, as they are kept for docs/faults.md. */
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";

import { systemClock } from "../../engine/base/clock.js";

export interface Figures {
  readonly title: string;
  /** What makes them again. */
  readonly command: string;
  /** ISO 8601. */
  readonly at: string;
  /** With the load average at the end: times of a machine that worked for others as well are long. */
  readonly machine: string;
  /** A sentence or two before the table. */
  readonly remark: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

/** A folder that figures are kept in; without it they are only printed. */
const FOLDER = process.env["KURIER_TEST_FIGURES"];

/** Prints the figures of a run, and keeps them where a folder is named. @param name  of the file, without its ending */
export function keepFigures(name: string, figures: Omit<Figures, "at" | "machine">): void {
  const all: Figures = {
    ...figures,
    at: new Date(systemClock.now()).toISOString(),
    machine: `${cpus().length} cores, ${cpus()[0]?.model ?? "unknown"}, Node ${process.version}, load average ${(loadavg()[0] ?? 0).toFixed(0)}`,
  };
  const text = `${JSON.stringify(all, undefined, 2)}\n`;
  process.stdout.write(text);
  if (FOLDER === undefined) return;
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, `${name}.json`), text);
}
