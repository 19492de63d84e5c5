/** Evidence on a file system: one read-only file an object, created exclusively, synced with its directory. */
import { link, lstat, open, readdir, readFile, rmdir, unlink } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { randomUUID } from "node:crypto";

import { errorCode } from "../../base/errors.js";
import { giveToOwnerOf, makeStoreFolder, ownersName, syncPath } from "../../base/files/durable.js";
import { DRAFT, watchPlace } from "./place.js";
import type { StoreUse } from "./place.js";
import { sha256Hex } from "./record.js";
import { assertRemovable, digestOf, EvidenceMissing, EvidenceStoreFailure, hourEnd } from "./store.js";
import type { EvidenceRef, EvidenceStore } from "./store.js";

/** Removes a draft; that somebody has done so already is no fault of what is stored. */
async function removeDraft(draft: string): Promise<void> {
  try {
    await unlink(draft);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

/** The name of a file that is not whole yet: no other file of a folder that others share is touched. */
const draftName = (): string => `.${randomUUID()}`;

interface FileEvidenceStore extends EvidenceStore {
  readonly tidy: NonNullable<EvidenceStore["tidy"]>;
}

/** What says that a folder stays: something is in it, a volume hangs or a link is there, or it is not ours to take. */
const STAYS: ReadonlySet<string> = new Set(["ENOTEMPTY", "EEXIST", "EBUSY", "ENOTDIR", "EACCES", "EPERM", "EROFS"]);

/** Removes folders, from the innermost on, up to the first that stays: an empty one harms nobody. */
async function removeEmpty(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    try {
      await rmdir(folder);
    } catch (error) {
      if (STAYS.has(errorCode(error) ?? "")) return;
      if (errorCode(error) !== "ENOENT") throw error;
    }
  }
}

/** When a file was written last; what is no file, or was just taken away by its writer, is as good as new. */
async function writtenAt(path: string): Promise<number> {
  const found = await unlessGone(lstat(path), undefined);
  return found?.isFile() === true ? found.mtimeMs : Number.POSITIVE_INFINITY;
}

async function unlessGone<T, O>(looked: Promise<T>, otherwise: O): Promise<T | O> {
  try {
    return await looked;
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    return otherwise;
  }
}

/** A new file and the folder that it is made in, both open or neither. */
async function openDraft(draft: string): Promise<{ readonly file: FileHandle; readonly folder: FileHandle }> {
  const [file, folder] = await Promise.allSettled([open(draft, "wx", 0o400), open(dirname(draft), "r")]);
  if (file.status === "fulfilled" && folder.status === "fulfilled") return { file: file.value, folder: folder.value };
  if (folder.status === "fulfilled") await folder.value.close();
  if (file.status === "fulfilled") await Promise.all([file.value.close(), removeDraft(draft)]);
  throw file.status === "rejected" ? file.reason : (folder as PromiseRejectedResult).reason;
}

/** Writes the pieces one behind the other: a call of the system takes many, and says how far it came. */
async function writePieces(file: FileHandle, pieces: readonly Uint8Array[]): Promise<void> {
  let rest = pieces.filter((piece) => piece.length > 0);
  while (rest.length > 0) {
    const { bytesWritten } = await file.writev(rest);
    if (bytesWritten === 0) throw new EvidenceStoreFailure("Nothing could be written: the file takes nothing.");
    rest = behind(rest, bytesWritten);
  }
}

/** What is left of the pieces when so many octets of them are written. */
function behind(pieces: readonly Uint8Array[], written: number): Uint8Array[] {
  let left = written;
  for (const [index, piece] of pieces.entries()) {
    if (left < piece.length) return [piece.subarray(left), ...pieces.slice(index + 1)];
    left -= piece.length;
  }
  return [];
}

/** How a file store is opened. */
interface FileStoreOptions extends StoreUse {
  /** What its failures say that they are of: payloads lie in files as evidence does. @default Evidence */
  readonly contents?: "Evidence" | "Payloads";
}

/**
 * @param root absolute; made when it is not there and not in use, and from then on never again. Several processes may
 *   share it.
 */
export function openFileEvidence(root: string, options: FileStoreOptions = {}): FileEvidenceStore {
  const { contents = "Evidence" } = options;
  const failure = (what: string, error: unknown): EvidenceStoreFailure =>
    new EvidenceStoreFailure(`${contents} could not be ${what}: ${errorCode(error) ?? "unknown"}.`, errorCode(error));
  const mustBeThere = watchPlace(root, options);
  const pathOf = (ref: EvidenceRef): string => (digestOf(ref), join(root, ref));
  /** Of the hour, the day, the month and the year. */
  const foldersOf = (hour: string): string[] => [
    hour,
    dirname(hour),
    dirname(dirname(hour)),
    dirname(dirname(dirname(hour))),
  ];
  /** The directory that was made last: batches of an hour share it, and wait for it together. */
  let last: { readonly directory: string; readonly made: Promise<void> } | undefined;

  function makeDirectory(directory: string): Promise<void> {
    if (last?.directory !== directory) last = { directory, made: mustBeThere().then(() => makeStoreFolder(directory)) };
    return last.made;
  }

  /** That an object is not there is said by a store that is there, and by no empty mount point. */
  async function assertMissing(error: unknown, attempt: string): Promise<void> {
    if (errorCode(error) !== "ENOENT") throw failure(attempt, error);
    await mustBeThere().catch((away: unknown) => {
      throw failure(attempt, away);
    });
  }

  /** Of the same digest the same bytes are there already, or nothing may be stored. */
  async function assertSame(error: unknown, ref: EvidenceRef, path: string): Promise<void> {
    if (errorCode(error) !== "EEXIST") throw error;
    if (sha256Hex(await readFile(path)) !== digestOf(ref))
      throw new EvidenceStoreFailure("Evidence of this digest is stored with other content.");
  }

  async function write(ref: EvidenceRef, path: string, bytes: Buffer | readonly Uint8Array[]): Promise<void> {
    const directory = dirname(path);
    await makeDirectory(directory);
    const draft = join(directory, draftName());
    // Each step is a way to a thread and back, which takes longer than the step: what need not follow goes together.
    const { file, folder } = await openDraft(draft);
    const at = ownersName(folder.fd, directory);
    try {
      giveToOwnerOf(folder.fd, draft, file.fd);
      await writePieces(file, Buffer.isBuffer(bytes) ? [bytes] : bytes);
      await file.sync();
      // A link is exclusive and shows the whole file or none: a crash leaves a draft, never half an object.
      await link(join(at, basename(draft)), join(at, basename(path))).catch((error: unknown) =>
        assertSame(error, ref, path),
      );
      await folder.sync();
    } finally {
      await Promise.all([file.close(), folder.close(), removeDraft(draft)]);
    }
  }

  async function put(ref: EvidenceRef, bytes: Buffer | readonly Uint8Array[]): Promise<void> {
    const path = pathOf(ref);
    try {
      await write(ref, path, bytes);
    } catch (error) {
      last = undefined;
      throw error instanceof EvidenceStoreFailure ? error : failure("written", error);
    }
  }

  return {
    form: "file",
    put,
    putPieces: put,
    get: async (ref, range) => {
      const path = pathOf(ref);
      try {
        if (range === undefined) return await readFile(path);
        const file = await open(path, "r");
        try {
          const { bytesRead, buffer } = await file.read(Buffer.alloc(range.length), 0, range.length, range.offset);
          return buffer.subarray(0, bytesRead);
        } finally {
          await file.close();
        }
      } catch (error) {
        await assertMissing(error, "read");
        throw new EvidenceMissing("An evidence object is missing.");
      }
    },
    remove: async (ref, now) => {
      assertRemovable(ref, now);
      try {
        await unlink(pathOf(ref));
        await syncPath(dirname(pathOf(ref)));
      } catch (error) {
        await assertMissing(error, "removed");
      }
    },
    tidy: async (ref, before) => {
      const folder = dirname(pathOf(ref));
      const names = await readdir(folder).catch(async (error: unknown) => {
        await assertMissing(error, "removed");
        return [];
      });
      try {
        for (const name of names)
          if (DRAFT.test(name) && (await writtenAt(join(folder, name))) < before) await removeDraft(join(folder, name));
        // Nobody makes a file any more in the folder of an hour that is over: one of now is another's next place.
        if (hourEnd(ref) > before) return;
        if (last?.directory === folder) last = undefined;
        await removeEmpty(foldersOf(folder));
      } catch (error) {
        throw failure("removed", error);
      }
    },
  };
}
