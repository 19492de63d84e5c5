/** Files that outlive a power loss: their bytes are on the disk before they have their name, and their name is, too. */
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmdirSync, writeFileSync } from "node:fs";
import { mkdir, open, readdir, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

/** Waits until the disk has the bytes of a file, or the names in a folder. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Folders that were made, from the innermost up to the first of them. */
function madeFolders(folder: string, first: string | undefined): readonly string[] {
  const made: string[] = [];
  if (first !== undefined) for (let at = folder; at.length >= first.length; at = dirname(at)) made.push(at);
  return made;
}

/**
 * Makes a folder that its owner alone reads, with those above it that are missing: each is a name in the one above it,
 * which the disk has when this returns. Safe to repeat, also after it failed.
 */
export async function makeFolder(path: string): Promise<void> {
  const folder = resolve(path);
  const made = madeFolders(folder, await mkdir(folder, { recursive: true, mode: 0o700 }));
  try {
    for (const one of made) await syncPath(dirname(one));
  } catch (error) {
    // A folder that is there is not synced again: who repeats this must make it again.
    for (const one of made) await rmdir(one).catch(() => undefined);
    throw error;
  }
}

/** As `makeFolder`, at once: for what is made before an engine has anything to do. */
export function makeFolderNow(path: string): void {
  const folder = resolve(path);
  const made = madeFolders(folder, mkdirSync(folder, { recursive: true, mode: 0o700 }));
  try {
    for (const one of made) syncPathNow(dirname(one));
  } catch (error) {
    for (const one of made) removeEmpty(one);
    throw error;
  }
}

function syncPathNow(path: string): void {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Somebody has put something into it meanwhile.
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

/** As `replaceFile`, at once: for what is seldom written, and from where nothing can wait. */
export function replaceFileNow(path: string, bytes: Uint8Array, draft: string): void {
  writeFileSync(draft, bytes, { mode: 0o600, flush: true });
  renameSync(draft, path);
  syncPathNow(dirname(path));
}

/** Gives a file or a folder, whose bytes are on the disk, its name. */
export async function renameSynced(draft: string, path: string): Promise<void> {
  await rename(draft, path);
  await syncPath(dirname(path));
}
