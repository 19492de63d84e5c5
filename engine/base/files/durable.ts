/** Files that outlive a power loss: their bytes are on the disk before they have their name, and their name is, too. */
import {
  closeSync,
  constants,
  existsSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { link, open, readdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

import { errorCode } from "../errors.js";

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

const isRoot = (): boolean => process.geteuid?.() === 0;

/** To whom what root makes in an open folder is to belong; undefined where it stays with who makes it. */
function heirIn(folder: number): Owner | undefined {
  if (!isRoot()) return undefined;
  const { uid, gid } = fstatSync(folder);
  return uid === 0 ? undefined : { uid, gid };
}

/** Where root may not, or files have no owners, who made it keeps it. */
const UNGIVABLE: ReadonlySet<string> = new Set(["EPERM", "EINVAL", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

function give(handle: number, { uid, gid }: Owner): void {
  try {
    fchownSync(handle, uid, gid);
  } catch (error) {
    if (!UNGIVABLE.has(errorCode(error) ?? "")) throw error;
  }
}

const OPEN = "/proc/self/fd";
const isOpenShown = existsSync(OPEN);

/**
 * The name of a folder that is open, which leads to it whatever its own name leads to by now. Where there is no /proc
 * it is its own.
 */
export const heldName = (folder: number, name: string): string => (isOpenShown ? `${OPEN}/${folder}` : name);

/**
 * The name under which root goes on in a folder that is open: whom the folder belongs to can let its own name lead into
 * one of root's at any moment. Others go on under its own.
 */
export const ownersName = (folder: number, name: string): string => (isRoot() ? heldName(folder, name) : name);

/** Opens a folder for root, who alone gives anything away. */
function inFolder(name: string, then: (folder: number) => void): void {
  if (!isRoot()) return;
  const folder = openSync(name, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    then(folder);
  } finally {
    closeSync(folder);
  }
}

/**
 * Gives a new file to whom its folder belongs, where root has made it: a command that root calls writes beside an
 * engine that is another user's, and must be able to read it. A file that was made elsewhere, since another folder had
 * the name for a moment, or that has a second name by now, stays root's: who owns a program in a folder of root's is
 * root.
 * @param folder  the open folder of the file
 */
export function giveToOwnerOf(folder: number, path: string, file: number): void {
  const heir = heirIn(folder);
  if (heir === undefined) return;
  const there = lstatSync(join(heldName(folder, dirname(path)), basename(path)), { throwIfNoEntry: false });
  const own = fstatSync(file);
  if (there?.ino === own.ino && there.dev === own.dev && own.nlink === 1) give(file, heir);
}

/** Gives a new folder, by a handle: its name may lead elsewhere by now. */
function giveFolder(path: string): void {
  inFolder(dirname(path), (above) => {
    const heir = heirIn(above);
    if (heir === undefined) return;
    const at = join(heldName(above, dirname(path)), basename(path));
    const folder = openSync(at, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    try {
      give(folder, heir);
    } finally {
      closeSync(folder);
    }
  });
}

/** Waits until the disk has the bytes of a file, or the names in a folder. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * A folder and those above it that are missing, outermost first. Node's own `recursive` goes on for ever where a file
 * system denies that there can be a folder in one that exists, as /proc does.
 */
function missingFolders(folder: string): readonly string[] {
  // Bounded by the folders in a path.
  const missing: string[] = [];
  for (let at = folder; !existsSync(at); at = dirname(at)) missing.unshift(at);
  return missing.length > 0 ? missing : [folder];
}

/** @throws the error of making a folder, unless somebody else has made it */
function mustBeFolder(path: string, error: unknown): void {
  const isThere = errorCode(error) === "EEXIST";
  if (!isThere || statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
}

/**
 * Makes a folder that its owner alone reads, with those above it that are missing: each is a name in the one above it,
 * which the disk has when this returns. Safe to repeat, also after it failed.
 */
export function makeFolder(path: string): Promise<void> {
  return makeSynced(makeMissing(path));
}

/** As `makeFolder`, for a store: where root makes them, each belongs to whom the one above it belongs. */
export function makeStoreFolder(path: string): Promise<void> {
  return makeSynced(makeMissing(path, giveFolder));
}

/** Waits until the disk has the names of new folders. */
async function makeSynced(made: readonly string[]): Promise<void> {
  try {
    for (const one of made) await syncPath(dirname(one));
  } catch (error) {
    made.forEach(removeEmpty);
    throw error;
  }
}

/** As `makeFolder`, at once: for what is made before an engine has anything to do. */
export function makeFolderNow(path: string): void {
  const made = makeMissing(path);
  try {
    for (const one of made) syncPathNow(dirname(one));
  } catch (error) {
    made.forEach(removeEmpty);
    throw error;
  }
}

/**
 * The folders that had to be made, innermost first. Where one cannot be made or synced those before it are taken away
 * again, for a folder that is there is not synced by who repeats this.
 */
function makeMissing(path: string, give?: (folder: string) => void): readonly string[] {
  // Bounded by the folders in a path.
  const made: string[] = [];
  try {
    for (const folder of missingFolders(resolve(path))) {
      try {
        mkdirSync(folder, 0o700);
        made.unshift(folder);
        give?.(folder);
      } catch (error) {
        mustBeFolder(folder, error);
      }
    }
    return made;
  } catch (error) {
    made.forEach(removeEmpty);
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

/**
 * Makes a file that its owner alone reads, whose bytes are on the disk; where they cannot be, nothing is left of it.
 * @throws Error EEXIST when there is one, or what the system says, with the path
 */
export async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    inFolder(dirname(path), (folder) => {
      giveToOwnerOf(folder, path, file.fd);
    });
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    // Half a file takes room where there is none, one more for each start that is tried again.
    removeDraft(path);
    throw named(error, path);
  } finally {
    await file.close();
  }
}

/** Of an open file Node does not say which one it is, and an operator is told nothing without it. */
const named = (error: unknown, path: string): unknown =>
  error instanceof Error ? Object.assign(error, { path }) : error;

/** Takes away what was half written, where that can be: the error of the write is the one that counts. */
function removeDraft(draft: string): void {
  try {
    rmSync(draft, { force: true });
  } catch {
    // A disk that has just failed may fail again.
  }
}

/**
 * Writes a small file at once, and leaves nothing of it where its bytes find no room.
 * @throws Error what the system says, with the path
 */
export function writeDraftNow(draft: string, text: string): void {
  try {
    writeFileSync(draft, text, { mode: 0o600 });
  } catch (error) {
    removeDraft(draft);
    throw named(error, draft);
  }
}

/** As `writeDraftNow`, for what is synced later. @param mode  0600 where its owner alone reads it */
export async function writeDraft(draft: string, text: string, mode: number): Promise<void> {
  try {
    await writeFile(draft, text, { mode });
  } catch (error) {
    removeDraft(draft);
    throw named(error, draft);
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

/**
 * Makes a small file that is made once: of those who make it at the same moment one does, and everybody finds its text.
 * Its owner alone reads it. What is there stays, also a link that leads nowhere now.
 * @param draft  beside it, of this call alone
 */
export async function makeFile(path: string, text: string, draft: string): Promise<void> {
  await writeSynced(draft, text);
  try {
    await link(draft, path);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  } finally {
    await rm(draft, { force: true });
  }
  await syncPath(dirname(path));
}

/** As `replaceFile`, at once: for what is seldom written, and from where nothing can wait. */
export function replaceFileNow(path: string, bytes: Uint8Array, draft: string): void {
  try {
    writeFileSync(draft, bytes, { mode: 0o600, flush: true });
    renameSync(draft, path);
  } catch (error) {
    // Half a file takes room where there is none, and a place among those that may be kept.
    rmSync(draft, { force: true });
    throw error;
  }
  syncPathNow(dirname(path));
}

/** Gives a file or a folder, whose bytes are on the disk, its name. */
export async function renameSynced(draft: string, path: string): Promise<void> {
  await rename(draft, path);
  await syncPath(dirname(path));
}
