/** A file or a folder that the engine needs and cannot use, as the operator reads it. */

import { errorCode } from "../base/errors.js";

/** A path cannot be used; the message is one sentence for the operator. */
export class PathError extends Error {
  override readonly name = "PathError";
  /** Whether the same start may succeed a moment later. */
  readonly passing: boolean;

  constructor(sentence: string, passing: boolean, cause: unknown) {
    super(sentence, { cause });
    this.passing = passing;
  }
}

interface Fault {
  readonly words: string;
  /** @default false */
  readonly passing?: true;
}

/** What the system says of a path. */
const FAULTS: Readonly<Record<string, Fault>> = {
  EEXIST: { words: "it is a file and not a folder" },
  ENOTDIR: { words: "a part of its path is a file and not a folder" },
  EISDIR: { words: "it is a folder and not a file" },
  ENOENT: { words: "it is not there, or lies where nothing can be made" },
  EACCES: { words: "this user has no rights on it" },
  EPERM: { words: "this user has no rights on it" },
  EROFS: { words: "it lies on a file system that is read only" },
  ENAMETOOLONG: { words: "its name is too long" },
  ELOOP: { words: "its links lead in a circle" },
  ENOSPC: { words: "its disk is full", passing: true },
  EDQUOT: { words: "its disk is full for this user", passing: true },
  EIO: { words: "its disk fails", passing: true },
  ESTALE: { words: "its file server knows it no more", passing: true },
  ENOTCONN: { words: "its file system is gone", passing: true },
  EFBIG: { words: "this process may not make files as large as are needed" },
  EMFILE: { words: "this process has too many files open", passing: true },
  ENFILE: { words: "this machine has too many files open", passing: true },
};

/**
 * A fault of the file system as a sentence; undefined for any other error.
 * @param name  what the operator calls the path, in place of the path that the error names.
 */
export function pathErrorOf(error: unknown, name?: string): PathError | undefined {
  if (!(error instanceof Error) || !("code" in error) || !("syscall" in error)) return undefined;
  const fault = FAULTS[errorCode(error) ?? ""];
  // The system says of a folder that is read as a file only that it is one.
  const nameless = error.code === "EISDIR" ? "A file that is needed" : undefined;
  const shown = name ?? ("path" in error && typeof error.path === "string" ? error.path : nameless);
  return shown === undefined || fault === undefined
    ? undefined
    : new PathError(`${shown} cannot be used: ${fault.words}.`, fault.passing ?? false, error);
}
