/**
 * A file system that forgets what was not synced: ext4 in a file, shut down without its journal, which is what a power
 * loss leaves of it. Linux, as root.
 */
import { spawnSync } from "node:child_process";
import {
  closeSync,
  fdatasyncSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { eventually } from "../../support/eventually.js";
import { killEverythingOn } from "../../support/engines/process.js";

/** Sparse: it takes the room of what is written. */
const SIZE_BYTES = 3 * 1024 ** 3;
/**
 * As forgetful as may be: a rename waits for no bytes, and the journal is written when somebody syncs, or after this
 * many seconds.
 */
const OPTIONS = "loop,noauto_da_alloc,commit=900";
/** `EXT4_IOC_SHUTDOWN` with `NOLOGFLUSH`: from now on nothing reaches the disk, and whoever writes is told EIO. */
const LOSE = `my $flags = pack("L", 2); open(my $top, "<", $ARGV[0]) or die "$!"; ioctl($top, 0x8004587d, $flags) or die "$!";`;

/** What a disk still had of two files that were written in one moment before the power failed. */
export interface Remembered {
  /** Whether the one that was synced has the new text. */
  readonly synced: boolean;
  /** Whether the one that was not synced has it, too. */
  readonly unsynced: boolean;
}

/** A file system whose power can fail. */
export interface ForgetfulDisk {
  /** An empty folder on it. */
  readonly folder: string;
  /** The power fails: nothing more is written. Whoever works there still runs. */
  lose(): void;
  /** Kills whoever works there, and lets the file system recover from its journal. */
  recover(): Promise<Remembered>;
  remove(): Promise<void>;
}

const succeeds = (program: string, ...args: readonly string[]): boolean =>
  spawnSync(program, [...args], { stdio: "ignore" }).status === 0;

/** Kills what works below a folder, and what stands there without having its name in its command line. */
function killEverybodyIn(folder: string): void {
  killEverythingOn(folder);
  for (const pid of readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name))) {
    try {
      if (readlinkSync(`/proc/${pid}/cwd`).startsWith(folder)) process.kill(Number(pid), "SIGKILL");
    } catch {
      // It ended while we looked.
    }
  }
}

const TWINS = ["synced", "unsynced"] as const;
/** As long as every other, so that a later text takes the place of an earlier one. */
const textOf = (loss: number): string => `before the loss ${String(loss).padStart(6)}\n`;

/** The files that show what is forgotten. They keep their blocks, so that to sync them writes no journal. */
function twinsIn(folder: string): { write(): void; remembered(): Remembered } {
  let losses = 0;
  const write = (name: (typeof TWINS)[number], sync: (file: number) => void): void => {
    const file = openSync(join(folder, name), losses === 0 ? "w" : "r+");
    writeSync(file, textOf(losses), 0);
    sync(file);
    closeSync(file);
  };
  const has = (name: (typeof TWINS)[number]): boolean => readFileSync(join(folder, name), "utf8") === textOf(losses);
  for (const name of TWINS) write(name, fsyncSync);
  return {
    write: () => {
      losses += 1;
      write("unsynced", () => undefined);
      write("synced", fdatasyncSync);
    },
    remembered: () => ({ synced: has("synced"), unsynced: has("unsynced") }),
  };
}

/** @returns undefined where nobody may mount, or there is no such file system */
export function makeForgetfulDisk(): ForgetfulDisk | undefined {
  const home = mkdtempSync(join(tmpdir(), "kurier-power-"));
  const [image, mounted] = [join(home, "image"), join(home, "disk")];
  const mount = (): boolean => succeeds("mount", "-o", OPTIONS, image, mounted);
  mkdirSync(mounted);
  closeSync(openSync(image, "w"));
  truncateSync(image, SIZE_BYTES);
  if (!succeeds("mkfs.ext4", "-q", image) || !mount()) {
    rmSync(home, { recursive: true, force: true });
    return undefined;
  }
  const twins = twinsIn(mounted);
  const folder = join(mounted, "data");
  mkdirSync(folder);
  // What a test finds is there for good: an empty folder that vanished would be its own fault.
  succeeds("sync", "-f", mounted);
  const leave = (): Promise<true> =>
    eventually("nobody works on the disk", () => {
      killEverybodyIn(mounted);
      return succeeds("umount", mounted);
    });
  return {
    folder,
    lose: () => {
      twins.write();
      const { status, stderr } = spawnSync("perl", ["-e", LOSE, mounted], { encoding: "utf8" });
      if (status !== 0) throw new Error(`the power does not fail: ${stderr}`);
    },
    recover: async () => {
      await leave();
      if (!mount()) throw new Error("the file system does not come back");
      return twins.remembered();
    },
    remove: async () => {
      await leave();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
