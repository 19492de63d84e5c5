/** A file system that is unmounted, at the one moment at which that could go unseen. */
import fs, { existsSync, mkdirSync, renameSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename } from "node:path";
import { vi } from "vitest";

/**
 * Does something with a directory of firms' keys in whose place an empty folder is as soon as its name was read. The
 * directory itself is then at `.away` behind its path.
 * @returns what came of it, also an error
 */
export async function whileUnmounted(folder: string, work: () => Promise<unknown>): Promise<unknown> {
  const { readFile } = fs.promises;
  const spy = vi.spyOn(fs.promises, "readFile").mockImplementation((async (path: string, encoding: "utf8") => {
    const text = await readFile(path, encoding);
    if (basename(path) === "name" && !existsSync(`${folder}.away`)) {
      renameSync(folder, `${folder}.away`);
      mkdirSync(folder);
    }
    return text;
  }) as typeof readFile);
  syncBuiltinESMExports();
  try {
    return await work().catch((error: unknown) => error);
  } finally {
    spy.mockRestore();
    syncBuiltinESMExports();
  }
}
