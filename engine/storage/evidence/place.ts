/** The folder of a file store: whether its name leads to where the store is. */
import { readdirSync, statSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";

import { errorCode } from "../../base/errors.js";
import { makeFolderNow } from "../../base/files/durable.js";

/** What is known of a store before it is opened. */
export interface StoreUse {
  /**
   * Whether something lies in it by what the database says: a folder that is empty, or not there, is not the store
   * then, and none is made.
   * @default false
   */
  readonly isInUse?: boolean;
}

const identityOf = ({ dev, ino }: { readonly dev: number; readonly ino: number }): string => `${dev}:${ino}`;

/** What a file is called that is not whole yet, or by which a start tries the folder (`mustMakeLinks`). */
export const DRAFT = /^\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether a folder has nothing of a store: what a start has left that was killed while it tried it is none. */
const isEmpty = (names: readonly string[]): boolean => names.every((name) => DRAFT.test(name.replace(/\.link$/, "")));

/** Whether a folder is empty, or not there. */
function holdsNothing(root: string): boolean {
  try {
    return isEmpty(readdirSync(root));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return true;
    throw error;
  }
}

/** Whether a folder has nothing of a store, as far as anybody can look: a fault shows where the store is used. */
export function seemsEmpty(root: string): boolean {
  try {
    return holdsNothing(root);
  } catch {
    return false;
  }
}

/**
 * Looks after the folder of a store, which is made where nothing can be in it yet. An empty folder that is another one
 * is what a file system leaves that is unmounted: what is put into it lies on a disk that nobody meant, and cannot be
 * seen once the file system is back. One with something in it is the file system again, under another number.
 * @returns what throws UNMOUNTED, or the system's ENOENT, where the store is not there now
 */
export function watchPlace(root: string, { isInUse = false }: StoreUse): () => Promise<void> {
  if (!isInUse) makeFolderNow(root);
  let known = isInUse && holdsNothing(root) ? undefined : identityOf(statSync(root));
  return async () => {
    const found = identityOf(await stat(root));
    if (found === known) return;
    if (isEmpty(await readdir(root)))
      throw Object.assign(new Error("the folder is an empty one"), { code: "UNMOUNTED" });
    known = found;
  };
}
