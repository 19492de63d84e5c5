/** Calls of fsync that go through handles of node:fs/promises, watched as they are made. */
import { open } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { readlinkSync } from "node:fs";
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
    when((await this.stat()).isDirectory(), readlinkSync(`/proc/self/fd/${this.fd}`));
    return sync.call(this);
  });
  return {
    restore: () => {
      spy.mockRestore();
    },
  };
}
