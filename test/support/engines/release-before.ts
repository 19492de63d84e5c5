/** The release before: its files are taken from the history and built aside with the packages of now. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";

import { PROJECT } from "./process.js";

/** The last commit of the release before. */
const BEFORE = "3c38d88d57c09d3e17f495aa15b29ff90e6d9784";

/** What may run beside this release: the release before, and builds from between, which know more of the schema. */
export const EARLIER: readonly string[] = [
  BEFORE,
  "03ed869daacbc28e4fb547211def99bd6751c7c1",
  "a3027edf03bddb0ffa8ccaa42db496cda364196c",
];

const git = (...words: readonly string[]): Buffer =>
  execFileSync("git", [...words], { cwd: PROJECT, maxBuffer: 512 * 1024 * 1024, stdio: ["ignore", "pipe", "ignore"] });

/** Whether this checkout's history has a commit; says so where it has not. */
export function hasCommit(commit: string): boolean {
  try {
    if (existsSync(join(PROJECT, ".git")) && git("cat-file", "-t", commit).toString().trim() === "commit") return true;
  } catch {
    // Told below.
  }
  process.stdout.write(`The commit ${commit.slice(0, 7)} is not in this checkout's history.\n`);
  return false;
}

/** Whether this checkout has the release before; says so where it has not. */
export const hasReleaseBefore = (): boolean => hasCommit(BEFORE);

/** Puts the migrations of a commit below a folder. @returns where they are */
export function migrationsOf(commit: string, folder: string): string {
  const path = "engine/storage/migrations";
  execFileSync("tar", ["-x", "-C", folder], { input: git("archive", commit, path) });
  return join(folder, path);
}

/** Builds an earlier release, @default the release before. @returns its folder, below the one that is given */
export function releaseBefore(folder: string, commit = BEFORE): string {
  const project = join(folder, "before");
  mkdirSync(project);
  execFileSync("tar", ["-x", "-C", project], { input: git("archive", commit) });
  symlinkSync(join(PROJECT, "node_modules"), join(project, "node_modules"));
  execFileSync(process.execPath, ["deploy/build.mjs"], { cwd: project });
  return project;
}
