/** The folder of a file store: whether its name still leads to where the store was opened. */
import { statSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";

const identityOf = ({ dev, ino }: { readonly dev: number; readonly ino: number }): string => `${dev}:${ino}`;

/**
 * Looks after the folder of a store, which is there. An empty folder that is another one is what a file system leaves
 * that is unmounted: what is put into it lies on a disk that nobody meant, and cannot be seen once the file system is
 * back. One with something in it is the file system again, under another number.
 * @returns what throws UNMOUNTED, or the system's ENOENT, where the store is not there now
 */
export function watchPlace(root: string): () => Promise<void> {
  let known = identityOf(statSync(root));
  return async () => {
    const found = identityOf(await stat(root));
    if (found === known) return;
    if ((await readdir(root)).length === 0)
      throw Object.assign(new Error("the folder is an empty one"), { code: "UNMOUNTED" });
    known = found;
  };
}
