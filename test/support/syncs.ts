/** Calls of fsync, through handles of node:fs/promises and at once, watched as they are made. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { open } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { vi } from "vitest";

/** @param when  asked at each call, before the disk is; what it throws, the caller meets */
export async function watchSyncs(
  folder: string,
  when: (isDirectory: boolean, path: string) => void,
): Promise<{ restore(): void }> {
  const handle = await open(folder, "r");
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const { sync } = prototype;
  const spy = vi.spyOn(prototype, "sync").mockImplementation(async function watched(this: FileHandle) {
    when((await this.stat()).isDirectory(), fs.readlinkSync(`/proc/self/fd/${this.fd}`));
    return sync.call(this);
  });
  const { fsyncSync } = fs;
  const atOnce = vi.spyOn(fs, "fsyncSync").mockImplementation((fd) => {
    when(fs.fstatSync(fd).isDirectory(), fs.readlinkSync(`/proc/self/fd/${fd}`));
    fsyncSync(fd);
  });
  syncBuiltinESMExports();
  return {
    restore: () => {
      spy.mockRestore();
      atOnce.mockRestore();
      syncBuiltinESMExports();
    },
  };
}
