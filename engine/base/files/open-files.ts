/** How many files and connections the operating system lets this process have open at once. */
import { readFileSync } from "node:fs";

import { LIMITS } from "../limits.js";

/** @returns the soft bound; Infinity where the system tells of none */
function openFilesMax(): number {
  try {
    const [, soft = ""] = /^Max open files\s+(\d+)/mu.exec(readFileSync("/proc/self/limits", "latin1")) ?? [];
    return soft === "" ? Infinity : Number(soft);
  } catch {
    // Only Linux has this file; elsewhere the bound of LIMITS alone holds.
    return Infinity;
  }
}

/**
 * Connections that clients of a listener may have, so that Postgres, evidence and connections of ours find files.
 * @param share  of the files
 */
export const connectionsMax = (share: number, files: number = openFilesMax()): number =>
  Math.min(LIMITS.connections_max, Math.max(1, Math.floor(files * share)));
