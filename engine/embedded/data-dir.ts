/** The data directory, which one engine has at a time. */
import { randomUUID } from "node:crypto";
import { closeSync, fstatSync, linkSync, openSync, readFileSync, renameSync, rmSync } from "node:fs";
import { link, open, rename, rm, utimes, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { systemClock } from "../base/clock.js";
import { errorCode } from "../base/errors.js";
import { makeFolderNow, writeDraftNow } from "../base/files/durable.js";
import { every } from "../base/waiting/every.js";
import { LIMITS } from "../base/limits.js";
import { EmbeddedError, processIdentity, processSpace } from "./child.js";
import { linklessError } from "./links.js";
import { pathErrorOf } from "./paths.js";

const LOCK_FILE = "engine.lock";
const ATTEMPTS = 5;

// Not by the process id: in two containers it is often the same, and one would write into what the other has linked.
const draftOf = (lock: string): string => `${lock}.${randomUUID()}`;

interface DataDir {
  /** Absolute. */
  readonly path: string;
  /** Resolves when another engine has taken the directory from us. */
  readonly lost: Promise<void>;
  /** Lets another engine in. Safe to repeat. */
  release(): void;
}

/** Who hears that a claim waits, and how time passes meanwhile. */
interface ClaimOptions {
  /** @default a timer */
  readonly pause?: (ms: number) => Promise<unknown>;
  /** Hears that a lock from elsewhere is looked at for a while before this one is refused or has it. @default nobody */
  readonly onWait?: () => void;
}

interface Owner {
  readonly pid: number;
  readonly identity: string;
  /** Whose process ids these are; empty in a lock of a release that did not say so. */
  readonly space: string;
}

const ownerOf = (text: string): Owner => {
  const [pid = "", identity = "", space = ""] = text.split("\n");
  return { pid: Number(pid), identity, space };
};

const isLive = ({ pid, identity }: Owner): boolean =>
  Number.isInteger(pid) && pid > 0 && identity !== "" && processIdentity(pid) === identity;

/**
 * When a lock was last written or touched; it is opened for that, for a network's file system remembers times.
 * @returns undefined where there is none any more
 * @throws what the system says where nobody can look: that is no sign that nobody has it
 */
function touchedAt(lock: string): number | undefined {
  try {
    const file = openSync(lock, "r");
    try {
      return fstatSync(file).mtimeMs;
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** A lock as it is found, and when it was last written or touched. */
interface FoundLock {
  readonly text: string;
  readonly touchedAt: number;
}

/** Touches a lock that is ours. @returns what lies in its place where it is not; undefined where nothing does */
async function touch(lock: string, mine: string): Promise<"ours" | FoundLock | undefined> {
  try {
    const file = await open(lock, "r");
    try {
      const text = await file.readFile("utf8");
      if (text !== mine) return { text, touchedAt: (await file.stat()).mtimeMs };
    } finally {
      await file.close();
    }
    const now_s = systemClock.now() / 1_000;
    await utimes(lock, now_s, now_s);
    return "ours";
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Makes who looks at a lock that is not ours, beat by beat, as a start does: it is of nobody where it names none, or a
 * process that is seen from here and has ended, or where nobody has touched it for LIMITS.data_dir_dead_ms.
 */
function watchOf(): (found: FoundLock) => "lives" | "left" | undefined {
  let first: FoundLock | undefined;
  let beats = 0;
  return (found) => {
    const owner = ownerOf(found.text);
    if (!(owner.pid > 0)) return "left";
    if (owner.space === "" || owner.space === processSpace()) return isLive(owner) ? "lives" : "left";
    if (first?.text !== found.text) [first, beats] = [found, 0];
    if (first.touchedAt !== found.touchedAt) return "lives";
    beats += 1;
    return beats * LIMITS.data_dir_beat_ms > LIMITS.data_dir_dead_ms ? "left" : undefined;
  };
}

/**
 * Takes a lock again that is gone, unless another engine is quicker, or that nobody has. Whoever took it meanwhile
 * finds with its next touch whose it is.
 */
async function takeAgain(lock: string, mine: string, isGone: boolean): Promise<void> {
  const draft = draftOf(lock);
  try {
    await writeFile(draft, mine, { mode: 0o600 });
    await (isGone ? link : rename)(draft, lock);
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * Shows whoever does not see our process that we live, until it is ended. A lock that another engine took while ours
 * was frozen is not touched, or that one would look alive when it is killed. One that is gone, as where that engine
 * could not start and has let go, is taken again, and so is one that nobody has, as where a file of a copy or an empty
 * one was put in its place: no engine ends for another that does not live.
 * @returns what ends it
 */
function keepTouching(lock: string, mine: string, onLost: () => void): () => void {
  let isTouching = false;
  let isOver = false;
  let watch = watchOf();
  const look = async (): Promise<void> => {
    isTouching = true;
    try {
      const found = await touch(lock, mine);
      if (isOver) return;
      if (found === "ours") {
        watch = watchOf();
        return;
      }
      const verdict = found === undefined ? "left" : watch(found);
      if (verdict === "lives") {
        end();
        onLost();
      } else if (verdict === "left") {
        await takeAgain(lock, mine, found === undefined);
        // Whoever has let go meanwhile does not hold it.
        if (isOver) removeOwn(lock, mine);
      }
    } catch {
      // Where its file system is away or full for a moment, the next touch shows it.
    } finally {
      isTouching = false;
    }
  };
  const stopBeats = every(LIMITS.data_dir_beat_ms, () => {
    // Of a file system that does not answer one thing is asked, and not one more each second.
    if (!isTouching) return look();
  });
  const end = (): void => {
    isOver = true;
    stopBeats();
  };
  return end;
}

/** Takes a lock away that is ours. */
function removeOwn(lock: string, mine: string): void {
  if (readIfThere(lock) === mine) rmSync(lock, { force: true });
}

/** Whether a lock is touched by somebody whose process is not seen from here, as in another container. */
async function isTouched(lock: string, pause: (ms: number) => Promise<unknown>): Promise<boolean> {
  const before = touchedAt(lock);
  for (let waited_ms = 0; waited_ms < LIMITS.data_dir_dead_ms; waited_ms += LIMITS.data_dir_beat_ms) {
    await pause(LIMITS.data_dir_beat_ms);
    const now = touchedAt(lock);
    if (now === undefined) return false;
    if (now !== before) return true;
  }
  return false;
}

const readIfThere = (file: string): string | undefined => {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
};

/** Sets a lock aside that nobody holds; puts it back when it turns out to be newer than the one that was looked at. */
function removeStale(lock: string, aside: string, stale: string): void {
  try {
    renameSync(lock, aside);
  } catch {
    return;
  }
  if (readIfThere(aside) !== stale) {
    try {
      linkSync(aside, lock);
    } catch {
      // A third starter has taken the lock meanwhile, which the next look finds.
    }
  }
  rmSync(aside, { force: true });
}

/** Does something with the data directory. @throws PathError in whose sentence it has its name */
function onDataDir(path: string, act: () => void): void {
  try {
    act();
  } catch (error) {
    throw pathErrorOf(error, `DATA_DIR ${path}`) ?? error;
  }
}

/**
 * Whether somebody else was at the lock: one has it, or has taken our draft away, as who cleans up the directory.
 */
const isMet = (error: unknown): boolean => ["EEXIST", "ENOENT"].includes(errorCode(error) ?? "");

/** Why no lock could be made though nobody has one, for the operator; anything else as it was. */
function unlockable(path: string, error: unknown): unknown {
  const name = `DATA_DIR ${path}`;
  return linklessError(error, name) ?? pathErrorOf(error, name) ?? error;
}

/** Why nobody else may have the directory now; undefined where its lock is of nobody who lives. */
async function whoHas(
  lock: string,
  text: string,
  { pause = delay, onWait }: ClaimOptions,
): Promise<string | undefined> {
  const owner = ownerOf(text);
  if (owner.space === "" || owner.space === processSpace())
    return isLive(owner) ? `the running engine with process id ${owner.pid}` : undefined;
  onWait?.();
  return (await isTouched(lock, pause)) ? "a running engine in another container, or on another machine" : undefined;
}

/**
 * Makes the data directory (mode 0700) and takes it for this process. The lock names process and start time: what a
 * killed engine left behind is recognised, also when its process id was given to somebody else. Of a process in another
 * container, or on another machine, nobody sees whether it runs; so who has the lock touches it, and a lock from
 * elsewhere is looked at for LIMITS.data_dir_dead_ms. Who could not touch its lock for so long, as one that was frozen,
 * hears when another engine has taken it.
 * @throws EmbeddedError when a living engine has it, PathError when it cannot be made or written to
 */
export async function claimDataDir(dataDir: string, options: ClaimOptions = {}): Promise<DataDir> {
  const path = resolve(dataDir);
  onDataDir(path, () => {
    makeFolderNow(path);
  });
  const lock = join(path, LOCK_FILE);
  const mine = `${process.pid}\n${processIdentity(process.pid) ?? ""}\n${processSpace()}\n`;
  const draft = draftOf(lock);
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    onDataDir(path, () => {
      writeDraftNow(draft, mine);
    });
    try {
      linkSync(draft, lock);
      let end = (): void => undefined;
      const lost = new Promise<void>((resolve) => {
        end = keepTouching(lock, mine, resolve);
      });
      return {
        ...{ path, lost },
        release: () => {
          end();
          removeOwn(lock, mine);
        },
      };
    } catch (error) {
      if (!isMet(error)) throw unlockable(path, error);
      const found = readIfThere(lock);
      if (found === undefined) continue;
      // Before the wait, for who is ended in it leaves nothing behind.
      rmSync(draft, { force: true });
      const owner = await whoHas(lock, found, options).catch((fault: unknown) => {
        throw pathErrorOf(fault, `DATA_DIR ${path}`) ?? fault;
      });
      if (owner !== undefined)
        throw new EmbeddedError(
          `DATA_DIR is in use by ${owner}; stop it, or give this one a DATA_DIR and a PORT of its own.`,
          true,
        );
      removeStale(lock, draft, found);
    } finally {
      rmSync(draft, { force: true });
    }
  }
  throw new EmbeddedError("DATA_DIR cannot be locked; check that this user may write to it.");
}
