/**
 * Where temporary files of a run lie: in shared memory where there is plenty. The file system of a disk takes four
 * to fifteen times as long for a copy of the migrated template, all of it work of a processor.
 */
import { spawnSync } from "node:child_process";
import { accessSync, chmodSync, constants, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Each Postgres of a run has 40 MB there and 1 GB of log at the most; the processes of a run need memory besides. */
const NEEDED = { place_bytes: 4e9, memory_bytes: 8e9 } as const;
const PREFIX = "kurier-run-";
/** No run is silent for so long: what is older and of nobody was left by one that was killed. */
const LEFT_BEHIND_MS = 3_600_000;

/** What is known of the machine and the moment. */
export interface Machine {
  /** A folder whose files are memory, and what it still takes. */
  readonly place: string;
  readonly place_bytes: number;
  /** What a process may still take, in bytes. */
  readonly memory_bytes: number;
  readonly now_ms: number;
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
};

/** Whether `rmSync` has found something mounted in a folder, of which Node.js 24 leaves the code empty. */
const isHeld = ({ code, message }: NodeJS.ErrnoException): boolean =>
  code === "EBUSY" || (code === "" && message.includes("Device or resource busy"));

/** Removes a folder, as far as the system lets go of it. */
function removeFree(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch (error) {
    // Something is mounted in it still: no reason to run no test.
    if (!isHeld(error as NodeJS.ErrnoException)) throw error;
  }
}

/** Removes folders of runs that were killed. */
function removeLeftBehind({ place, now_ms }: Machine): void {
  for (const name of readdirSync(place).filter((one) => one.startsWith(PREFIX))) {
    const pid = Number(name.slice(PREFIX.length).split("-")[0]);
    const touched = statSync(join(place, name), { throwIfNoEntry: false })?.mtimeMs ?? now_ms;
    if (!isAlive(pid) && now_ms - touched > LEFT_BEHIND_MS) removeFree(join(place, name));
  }
}

/** Whether programs may run there: containers often forbid it. */
function runsPrograms(folder: string): boolean {
  const program = join(folder, "program");
  writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 });
  const { status } = spawnSync(program);
  rmSync(program);
  return status === 0;
}

const isWritable = (place: string): boolean => {
  try {
    accessSync(place, constants.W_OK);
    return true;
  } catch {
    // Not every system has such a place.
    return false;
  }
};

/** A new folder in memory for a run's temporary files; undefined where the disk has to do. */
export function scratchFolder(machine: Machine): string | undefined {
  const isRoomy = machine.memory_bytes >= NEEDED.memory_bytes && machine.place_bytes >= NEEDED.place_bytes;
  if (!isRoomy || !isWritable(machine.place)) return undefined;
  removeLeftBehind(machine);
  const folder = mkdtempSync(join(machine.place, `${PREFIX}${process.pid}-`));
  // As /tmp is: programs of other users, such as Postgres, have files below it.
  chmodSync(folder, 0o1777);
  if (runsPrograms(folder)) return folder;
  rmSync(folder, { recursive: true, force: true });
  return undefined;
}
