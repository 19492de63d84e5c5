/** Files that outlive a power loss: their bytes are on the disk before they have their name, and their name is, too. */
import { open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Waits until the disk has the bytes of a file, or the names in a folder. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Waits until the disk has everything in a folder, from the innermost names outwards. */
export async function syncTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    await (entry.isDirectory() ? syncTree(path) : syncPath(path));
  }
  await syncPath(folder);
}

/** Makes a file that its owner alone reads, whose bytes are on the disk. @throws Error EEXIST when there is one */
export async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Writes a small file, in the place of one that may be there: whoever looks, also after a power loss, finds the old
 * text or the new one. Its owner alone reads it.
 * @param draft  beside it, of this process alone
 */
export async function replaceFile(path: string, text: string, draft: string): Promise<void> {
  await rm(draft, { force: true });
  await writeSynced(draft, text);
  await renameSynced(draft, path);
}

/** Gives a file or a folder, whose bytes are on the disk, its name. */
export async function renameSynced(draft: string, path: string): Promise<void> {
  await rename(draft, path);
  await syncPath(dirname(path));
}
