/** What stands in the memory of other processes of this user, as a debugger reads it. Linux only. */
import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";

/** Regions beyond this are read in pieces; two pieces overlap, so that nothing hides at their border. */
const PIECE_BYTES = 16 << 20;
const OVERLAP_BYTES = 4_096;

/** Processes that a process has started, and theirs. */
export function descendantsOf(pid: number): number[] {
  const parents = readdirSync("/proc")
    .filter((name) => /^[0-9]+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        return [[Number(name), Number(stat.slice(stat.lastIndexOf(")") + 4).split(" ")[0])] as const];
      } catch {
        // It has ended meanwhile.
        return [];
      }
    });
  const childrenOf = (parent: number): number[] => parents.filter(([, of]) => of === parent).map(([child]) => child);
  const found = [pid];
  for (const each of found) found.push(...childrenOf(each));
  return found.slice(1);
}

/** The program of a process. */
export const programOf = (pid: number): string => readFileSync(`/proc/${pid}/comm`, "utf8").trim();

/** A handle on the memory of a process; undefined when it has ended. @throws Error where the system does not let us */
function openMemory(pid: number): number | undefined {
  try {
    return openSync(`/proc/${pid}/mem`, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Everything that a process may write to, piece by piece; nothing of one that has ended.
 * @param read  regions that were read already, by their place in the system: shared memory is read once
 * @throws Error where the system does not let us
 */
export function* memoryOf(pid: number, read: Set<string>): Generator<Buffer> {
  const memory = openMemory(pid);
  if (memory === undefined) return;
  try {
    for (const line of readFileSync(`/proc/${pid}/maps`, "utf8").split("\n")) {
      const [, from = "", to = "", rights = "", offset = "", device = "", inode = "0"] =
        /^([0-9a-f]+)-([0-9a-f]+) (\S+) (\S+) (\S+) (\d+)/.exec(line) ?? [];
      const shared = `${device} ${inode} ${offset}`;
      if (!rights.startsWith("rw") || (rights.endsWith("s") && read.has(shared))) continue;
      if (rights.endsWith("s")) read.add(shared);
      for (let at = parseInt(from, 16); at < parseInt(to, 16); at += PIECE_BYTES - OVERLAP_BYTES) {
        const piece = Buffer.alloc(Math.min(PIECE_BYTES, parseInt(to, 16) - at));
        yield piece.subarray(0, readSync(memory, piece, 0, piece.length, at));
      }
    }
  } finally {
    closeSync(memory);
  }
}
