/** phive with its Peppol rules on the JVM, as a peer of `validate`: where Java 17 and Maven are. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import { childEnvironment } from "../../engine/base/config.js";

const run = promisify(execFile);
const PROJECT = join("bench", "jvm");
/** Maven downloads about 40 files the first time. */
const BUILD_TIMEOUT_MS = 300_000;
const START_TIMEOUT_MS = 60_000;

/** What the Java validator took for one document. */
export interface PhiveTime {
  readonly valid: boolean;
  readonly median_ms: number;
}

/** Gets the libraries. @returns why the peer cannot run, or undefined */
export async function preparePhive(): Promise<string | undefined> {
  const env = childEnvironment();
  try {
    const { stderr } = await run("java", ["-version"], { env, timeout: START_TIMEOUT_MS });
    const major = Number(/version "(\d+)/u.exec(stderr)?.[1]);
    if (!(major >= 17)) return "Java is older than 17";
  } catch {
    return "there is no Java";
  }
  try {
    await run("mvn", ["-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=target/lib"], {
      cwd: PROJECT,
      env,
      timeout: BUILD_TIMEOUT_MS,
    });
    return undefined;
  } catch {
    return "Maven is missing or cannot reach its repository";
  }
}

/** Times documents, each for twice `seconds` after a warm-up on all of them. @throws Error when the peer fails */
export async function timePhive(documents: readonly Buffer[], seconds: number): Promise<readonly PhiveTime[]> {
  const folder = mkdtempSync(join(tmpdir(), "kurier-bench-"));
  try {
    const files = documents.map((bytes, index) => {
      const file = join(folder, `${index}.xml`);
      writeFileSync(file, bytes);
      return file;
    });
    // A document of a thousand lines takes more than a second: a run may overshoot its time by a few of them.
    const timeout = START_TIMEOUT_MS + seconds * 30_000 + documents.length * (seconds * 2_000 + 60_000);
    const { stdout } = await run(
      "java",
      ["-cp", join(resolve(PROJECT), "target", "lib", "*"), join(PROJECT, "Validate.java"), String(seconds), ...files],
      { env: childEnvironment(), timeout },
    );
    return stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as PhiveTime);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
