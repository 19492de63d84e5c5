/** A small file system of its own, and a file on it that takes all the room there is. Linux, with the right to mount. */
import { spawnSync } from "node:child_process";
import { appendFileSync, closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PIECE = Buffer.alloc(1 << 20);

const hasNoRoom = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOSPC";

const mount = (folder: string, size: string): boolean =>
  spawnSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "kurier", folder]).status === 0;

/**
 * @param size  as mount(8) takes it, `384m`
 * @throws Error where there is none now: a ballast would fill the file system of everybody
 */
export function mountSmall(folder: string, size: string): void {
  if (!mount(folder, size)) throw new Error(`nothing of ${size} could be mounted on ${folder}`);
}

/**
 * Whether there can be one, which tests ask before any of them runs: what a file mounts then stays for ever where all
 * of its tests are filtered out, since nothing is torn down.
 */
export function canMountSmall(size: string): boolean {
  const folder = mkdtempSync(join(tmpdir(), "kurier-mount-"));
  const can = mount(folder, size);
  if (can) unmountSmall(folder);
  rmSync(folder, { recursive: true, force: true });
  return can;
}

/** Also while somebody still has a file there open. */
export const unmountSmall = (folder: string): void => {
  spawnSync("umount", ["-l", folder]);
};

/** What takes the room of a folder's file system. */
export interface Ballast {
  /** Writes until nothing more fits, an octet at a time in the end. */
  fill(): void;
  /** Whether not one octet more fits: what others free meanwhile may be taken, too. */
  isFull(): boolean;
  /** Gives the room back. */
  remove(): void;
}

export function createBallast(folder: string): Ballast {
  const path = join(folder, "ballast");
  const fill = (): void => {
    const file = openSync(path, "a");
    try {
      for (let size = PIECE.length; size >= 1; size = size === 1 ? 0 : Math.floor(size / 8) || 1) {
        try {
          for (;;) writeSync(file, PIECE, 0, size);
        } catch (error) {
          if (!hasNoRoom(error)) throw error;
        }
      }
    } finally {
      closeSync(file);
    }
  };
  return {
    fill,
    isFull: () => {
      try {
        appendFileSync(path, "x");
        return false;
      } catch {
        return true;
      }
    },
    remove: () => {
      rmSync(path, { force: true });
    },
  };
}
