/**
 * Firms' keys as they are kept: a directory of their own, one small file a firm, wrapped under a master key. It lies
 * apart from the database, so that a key that was removed is in no backup of the rows that it opened.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { link, open, opendir, readFile, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";

import { errorCode } from "../../base/errors.js";
import { heldName, makeFolder, syncPath, writeSynced } from "../../base/files/durable.js";
import { parseFirmId } from "../../base/ids.js";
import type { FirmId } from "../../base/ids.js";

/** A firm's key under a master key. */
export interface WrappedKey {
  /** Id of the master key. */
  readonly by: string;
  readonly sealed: Buffer;
}

/** The directory is away, or a file of it is not what was written. */
export class FirmKeyFailure extends Error {
  override readonly name: string = "FirmKeyFailure";
  /** Whether it may work later, as a directory is that is mounted again. */
  readonly passing: boolean;

  constructor(sentence: string, passing = false, cause?: unknown) {
    super(sentence, { cause });
    this.passing = passing;
  }
}

/** The firm was erased: what its key has sealed is opened by nobody any more. */
export class FirmKeyGone extends FirmKeyFailure {
  override readonly name: string = "FirmKeyGone";

  constructor(firmId: FirmId) {
    super(
      `The firm ${firmId} was erased, and its key with it; a database from before needs kurier firms erase once more.`,
    );
  }
}

export interface FirmKeyFiles {
  /** The directory's own name; undefined for one that has none yet. */
  readonly name: () => Promise<string | undefined>;
  /** Names a directory that has no name. @returns the name that it has now, whoever gave it */
  readonly baptise: () => Promise<string>;
  /** @returns undefined for a firm that has no key yet. @throws FirmKeyGone, FirmKeyFailure */
  readonly read: (firmId: FirmId) => Promise<WrappedKey | undefined>;
  /** As `read`, at once: for what lists open row by row. */
  readonly readNow: (firmId: FirmId) => WrappedKey | undefined;
  /**
   * Stores the key of a firm that has none; it would survive a loss of power before anything is sealed under it.
   * @param name  of the directory: a file system that is not mounted has none, and takes no keys
   * @returns the key that the firm has now, whoever was first. @throws FirmKeyGone, FirmKeyFailure
   */
  readonly add: (firmId: FirmId, key: WrappedKey, name: string) => Promise<WrappedKey>;
  /**
   * Puts a key in the place of another form of itself.
   * @throws FirmKeyGone; FirmKeyFailure, also where the directory is no longer the one whose name was asked for
   */
  readonly replace: (firmId: FirmId, key: WrappedKey) => Promise<void>;
  /**
   * Removes a firm's key for ever, also from a directory into which an old copy is put, and from drafts that a process
   * which was killed has left. What lies beside older graves goes with it. Safe to repeat.
   * @throws FirmKeyFailure, also where the directory is no longer the one whose name was asked for
   */
  readonly erase: (firmId: FirmId) => Promise<void>;
  /**
   * Removes drafts of processes that were killed, unless they are wrapped under this master key, and what lies beside
   * graves.
   * @throws FirmKeyFailure, also where the directory is no longer the one whose name was asked for
   */
  readonly removeDrafts: (unlessBy: string) => Promise<void>;
  /** Whether a firm's key was removed: what it sealed is opened by nobody. */
  readonly isErased: (firmId: FirmId) => boolean;
  /**
   * Firms that have a key, in any order.
   * @throws FirmKeyFailure at the end, where the directory is no longer the one whose name was asked for: where a file
   *   system was mounted is an empty one, which must not look like one without keys
   */
  readonly list: () => AsyncIterable<FirmId>;
  /** @throws FirmKeyFailure where the directory is no longer the one whose name was asked for */
  readonly mustBeThere: () => Promise<void>;
}

const NAME = "name";
const KEY = ".key";
const GRAVE = ".erased";
const NAME_BYTES = 16;
const DRAFT = /^\.(?:.+\.)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const NAMELESS_DRAFT = /^\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** A firm's key, or a draft of that or of its grave. */
const OF_FIRM = /^(?:([0-9a-f-]{36})\.key|\.([0-9a-f-]{36})\.(?:key|erased)\.[0-9a-f-]{36})$/;
/** The file of a firm's key. */
export const keyOf = (firmId: FirmId): string => `${firmId}${KEY}`;
const graveOf = (firmId: FirmId): string => `${firmId}${GRAVE}`;
/** Whose key a draft is, is said by its name: who died over it has left a copy that an erasure must find. */
const draftOf = (name: string): string => `.${name}.${randomUUID()}`;

const textOf = ({ by, sealed }: WrappedKey): string => `${by} ${sealed.toString("base64")}\n`;

function wrappedIn(firmId: FirmId, text: string): WrappedKey {
  const [, by, sealed] = /^([0-9a-f]{16}) ([A-Za-z0-9+/]+=*)\n$/.exec(text) ?? [];
  if (by === undefined || sealed === undefined)
    throw new FirmKeyFailure(`The key of the firm ${firmId} is damaged; restore its file in FIRM_KEYS.`);
  return { by, sealed: Buffer.from(sealed, "base64") };
}

/** What an operator must mend before it can work. */
const LASTING: ReadonlySet<string> = new Set(["EACCES", "EPERM", "ENOTDIR", "EROFS", "ELOOP", "ENAMETOOLONG"]);

/** At the start, where a directory lies in which none can be made: later one that was there may come back. */
const LASTING_AT_START: ReadonlySet<string> = new Set([...LASTING, "ENOENT", "EEXIST"]);

/** What the file system says, without a path; an error that is not of it is handed on. */
function failureOf(what: string, error: unknown, lasting = LASTING): unknown {
  const code = errorCode(error);
  return code === undefined
    ? error
    : new FirmKeyFailure(`FIRM_KEYS could not be ${what}: ${code}.`, !lasting.has(code), error);
}

async function attempt<T>(what: string, work: () => Promise<T>, lasting = LASTING): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw failureOf(what, error, lasting);
  }
}

/** @param text  FIRM_KEYS: `file:DIRECTORY`, shared by all processes; made when it is not there */
export function openFirmKeyFiles(text: string): FirmKeyFiles {
  const root = resolve(text.replace(/^file:(?:\/\/(?=\/))?/, ""));
  const isErased = (firmId: FirmId, at = root): boolean => existsSync(join(at, graveOf(firmId)));
  const refuseErased = (firmId: FirmId, at = root): void => {
    if (isErased(firmId, at)) throw new FirmKeyGone(firmId);
  };

  /** A link is exclusive and shows the whole file or none: a crash leaves a draft, and never half a key. */
  async function create(at: string, name: string, content: string): Promise<void> {
    const [draft, path] = [join(at, draftOf(name)), join(at, name)];
    try {
      await writeSynced(draft, content);
      await link(draft, path);
    } catch (error) {
      // Who erases the same firm may have taken the draft of the grave away: then it has dug one.
      const isThere = errorCode(error) === "EEXIST" || (errorCode(error) === "ENOENT" && existsSync(path));
      if (!isThere) throw error;
    } finally {
      await rm(draft, { force: true });
    }
    // Also where another was first: what is sealed next rests on the file, whoever wrote it.
    await syncPath(at);
  }

  /** Firms that have a grave. */
  async function buried(at: string): Promise<ReadonlySet<string>> {
    // Bounded by the firms that were erased.
    const graves = new Set<string>();
    for await (const { name } of await opendir(at)) if (name.endsWith(GRAVE)) graves.add(name.slice(0, -GRAVE.length));
    return graves;
  }

  /**
   * Removes drafts, and what lies beside a grave: a process that was killed over it behind the erasure has left it
   * there, and so has an old copy of the directory. Who writes a draft at this moment is told to come again.
   */
  async function removeDrafts(at: string, goes: (name: string) => boolean | Promise<boolean>): Promise<void> {
    const graves = await buried(at);
    for await (const entry of await opendir(at)) {
      const { name } = entry;
      const [, ofKey, ofDraft] = OF_FIRM.exec(name) ?? [];
      const isBuried = graves.has(ofKey ?? ofDraft ?? "");
      if (!entry.isDirectory() && (isBuried || (DRAFT.test(name) && (await goes(name)))))
        await rm(join(at, name), { force: true });
    }
    await syncPath(at);
  }

  /** Whether a draft holds a key that another master key has wrapped; one that has gone meanwhile holds none. */
  async function isByAnother(at: string, draft: string, by: string): Promise<boolean> {
    const text = await readFile(join(at, draft), "utf8").catch(missingIn(at));
    const wrappedBy = /^([0-9a-f]{16}) /.exec(text ?? "")?.[1];
    return wrappedBy !== undefined && wrappedBy !== by;
  }

  /** A grave that was dug meanwhile wins, so that no erased key comes back. */
  async function settle(at: string, firmId: FirmId): Promise<void> {
    if (!isErased(firmId, at)) return;
    await rm(join(at, keyOf(firmId)), { force: true });
    await syncPath(at);
    refuseErased(firmId, at);
  }

  /** What the directory was called when it was first asked. */
  let known: string | undefined;
  const nameOf = async (at = root): Promise<string | undefined> => {
    try {
      const name = (await readFile(join(at, NAME), "utf8")).trim();
      known ??= name;
      return name;
    } catch (error) {
      if (errorCode(error) === "ENOENT") return undefined;
      throw error;
    }
  };

  const isAnother = (): FirmKeyFailure =>
    new FirmKeyFailure("FIRM_KEYS is not the directory that it was at the start.", true);

  /** A file system that is not mounted, or another one, has another name or none. */
  const mustBe = async (name: string, at = root): Promise<void> => {
    if ((await nameOf(at)) !== name) throw isAnother();
  };

  const mustBeKnown = async (): Promise<void> => {
    if (known !== undefined) await mustBe(known);
  };

  /**
   * Writes in the directory of this name, by a path that is the directory itself: a file system that is unmounted after
   * its name was read leaves an empty folder, into which nothing may go. Where there is no /proc it may for a moment.
   */
  async function within<T>(name: string | undefined, write: (at: string) => Promise<T>): Promise<T> {
    const handle = await open(root, "r").catch((error: unknown) => {
      throw name !== undefined && errorCode(error) === "ENOENT" ? isAnother() : error;
    });
    try {
      const at = heldName(handle.fd, root);
      if (name !== undefined) await mustBe(name, at);
      return await write(at);
    } finally {
      await handle.close();
    }
  }

  /** Who wrote the key of a firm that was erased meanwhile, so that its draft was taken away, is told so. */
  const unlessErased = async (at: string, firmId: FirmId, write: () => Promise<void>): Promise<void> => {
    try {
      await write();
    } catch (error) {
      refuseErased(firmId, at);
      throw error;
    }
  };

  /** What is said of a key that could not be read: a firm has none, or the whole directory is away. */
  const missingIn =
    (at: string) =>
    (error: unknown): undefined => {
      if (errorCode(error) !== "ENOENT") throw error;
      if (!existsSync(join(at, NAME))) throw new FirmKeyFailure("FIRM_KEYS is away.", true);
    };

  const read = async (firmId: FirmId, at = root): Promise<WrappedKey | undefined> => {
    refuseErased(firmId, at);
    const content = await readFile(join(at, keyOf(firmId)), "utf8").catch(missingIn(at));
    return content === undefined ? undefined : wrappedIn(firmId, content);
  };

  const readNow = (firmId: FirmId): WrappedKey | undefined => {
    refuseErased(firmId);
    try {
      return wrappedIn(firmId, readFileSync(join(root, keyOf(firmId)), "utf8"));
    } catch (error) {
      return missingIn(root)(error);
    }
  };

  return {
    name: () => attempt("read", nameOf),
    baptise: () =>
      attempt(
        "written",
        async () => {
          await makeFolder(root);
          await within(undefined, (at) => create(at, NAME, `${randomBytes(NAME_BYTES).toString("hex")}\n`));
          return (await nameOf()) ?? "";
        },
        LASTING_AT_START,
      ),
    read: (firmId) => attempt("read", () => read(firmId)),
    readNow: (firmId) => {
      try {
        return readNow(firmId);
      } catch (error) {
        throw failureOf("read", error);
      }
    },
    add: (firmId, key, name) =>
      attempt("written", async () => {
        refuseErased(firmId);
        return within(name, async (at) => {
          await unlessErased(at, firmId, () => create(at, keyOf(firmId), textOf(key)));
          await settle(at, firmId);
          const stored = await read(firmId, at);
          if (stored === undefined) throw new FirmKeyFailure(`The key of the firm ${firmId} has gone from FIRM_KEYS.`);
          return stored;
        });
      }),
    replace: (firmId, key) =>
      attempt("written", async () => {
        refuseErased(firmId);
        await within(known, async (at) => {
          const draft = join(at, draftOf(keyOf(firmId)));
          try {
            await unlessErased(at, firmId, async () => {
              await writeSynced(draft, textOf(key));
              await rename(draft, join(at, keyOf(firmId)));
            });
          } finally {
            await rm(draft, { force: true });
          }
          await syncPath(at);
          await settle(at, firmId);
        });
      }),
    erase: (firmId) =>
      attempt("written", async () => {
        if (known === undefined) await makeFolder(root);
        await within(known, async (at) => {
          // The grave first: whoever writes the key meanwhile finds it, and takes the key away again.
          if (!isErased(firmId, at)) await create(at, graveOf(firmId), "");
          await rm(join(at, keyOf(firmId)), { force: true });
          // Releases before named no draft by its firm: each may be this key.
          await removeDrafts(at, (name) => name.startsWith(`.${firmId}.`) || NAMELESS_DRAFT.test(name));
        });
      }),
    removeDrafts: (unlessBy) =>
      attempt("written", () => within(known, (at) => removeDrafts(at, (name) => isByAnother(at, name, unlessBy)))),
    isErased,
    list: async function* () {
      for await (const { name } of await opendir(root)) {
        const firmId = name.endsWith(KEY) ? parseFirmId(name.slice(0, -KEY.length)) : undefined;
        if (firmId !== undefined) yield firmId;
      }
      await attempt("read", mustBeKnown);
    },
    mustBeThere: () => attempt("read", mustBeKnown),
  };
}
