/** Kept figures as the history of the repository has them. */
import { execFileSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";

import { readKeptFolder, readKept, RESULTS } from "./kept.js";
import type { KeptBench } from "./kept.js";

/** All of one file of results, and no more than a history has of them. */
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

const git = (words: readonly string[], input = ""): string =>
  execFileSync("git", words, {
    encoding: "utf8",
    input,
    maxBuffer: OUTPUT_BYTES_MAX,
    stdio: ["pipe", "pipe", "ignore"],
  });

/** Texts of files of commits, `COMMIT:PATH`, by one process for all of them. One that is not there is left out. */
function textsOf(names: readonly string[]): readonly string[] {
  const answer = Buffer.from(git(["cat-file", "--batch"], names.map((name) => `${name}\n`).join("")));
  const texts: string[] = [];
  for (let at = 0; at < answer.length;) {
    const end = answer.indexOf("\n", at);
    const bytes = Number(/ blob (\d+)$/.exec(answer.toString("utf8", at, end))?.[1] ?? Number.NaN);
    at = end + 1;
    if (Number.isNaN(bytes)) continue;
    texts.push(answer.toString("utf8", at, at + bytes));
    at += bytes + 1;
  }
  return texts;
}

/** Text of another form than a benchmark's is passed over. */
function readOrNothing(text: string): readonly KeptBench[] {
  try {
    return [readKept(text)];
  } catch {
    return [];
  }
}

const isResult = (name: string): boolean => /^bench\/results\/[^/]+\.json$/.test(name);

/** The kept benchmarks of a commit by their names. @throws Error when there is no such commit */
function keptAt(commit: string): ReadonlyMap<string, KeptBench> {
  const names = git(["ls-tree", "--name-only", commit, `${RESULTS}/`])
    .split("\n")
    .filter(isResult);
  const texts = textsOf(names.map((name) => `${commit}:${name}`));
  return new Map(texts.flatMap((text) => readOrNothing(text).map((kept) => [kept.name, kept] as const)));
}

/** What a reader may name: a folder of results, or a commit that has one. @throws Error when it is neither */
export function keptIn(place: string): ReadonlyMap<string, KeptBench> {
  if (existsSync(place) && statSync(place).isDirectory()) return readKeptFolder(place);
  return keptAt(place);
}

/** Every run that the history has of each benchmark, the oldest first. */
export function keptHistory(): ReadonlyMap<string, readonly KeptBench[]> {
  const names: string[] = [];
  let commit = "";
  for (const line of git(["log", "--format=commit %h", "--name-only", "--", RESULTS]).split("\n")) {
    if (line.startsWith("commit ")) commit = line.slice("commit ".length);
    else if (isResult(line)) names.push(`${commit}:${line}`);
  }
  const runs = new Map<string, Map<string, KeptBench>>();
  for (const kept of textsOf(names).flatMap(readOrNothing))
    runs.set(kept.name, (runs.get(kept.name) ?? new Map<string, KeptBench>()).set(kept.at, kept));
  return new Map(
    [...runs].map(([name, byTime]) => [name, [...byTime.values()].sort((a, b) => (a.at < b.at ? -1 : 1))] as const),
  );
}
