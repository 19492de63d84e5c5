/** Whether files can have second names, by which a lock is taken and what is stored is shown whole or not at all. */
import { randomUUID } from "node:crypto";
import { existsSync, linkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { errorCode } from "../base/errors.js";
import { PathError } from "./paths.js";

/** What a file system answers that has no second name for a file; the file itself could be written. */
const WITHOUT_LINKS: readonly unknown[] = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"];

/** What an operator is told of a folder whose file system has no second names; undefined for any other error. */
export const linklessError = (error: unknown, name: string): PathError | undefined =>
  WITHOUT_LINKS.includes(errorCode(error))
    ? new PathError(`${name} cannot be used: its file system makes no hard links.`, false, error)
    : undefined;

/**
 * Tries whether a file of a store can have a second name, by which it is shown whole or not at all: without, nothing
 * could ever be stored. A store that is full or away now is one that may take it later, and is not looked at.
 * @param name  what the operator calls the folder
 * @throws PathError where its file system makes no hard links
 */
export function mustMakeLinks(folder: string, name: string): void {
  const draft = join(folder, `.${randomUUID()}`);
  const second = `${draft}.link`;
  try {
    // As what is stored has it: where files belong to somebody else, who may write a file decides who may link it.
    writeFileSync(draft, "", { mode: 0o400 });
    linkSync(draft, second);
  } catch (error) {
    const fault = existsSync(draft) ? linklessError(error, `${name} ${folder}`) : undefined;
    if (fault !== undefined) throw fault;
  } finally {
    removeQuietly([second, draft]);
  }
}

/** Takes files away that nobody needs; a store that is away keeps them until somebody looks. */
function removeQuietly(files: readonly string[]): void {
  for (const file of files) {
    try {
      rmSync(file, { force: true });
    } catch {
      // The store went away meanwhile.
    }
  }
}
