/**
 * vitest globalSetup: chooses the phase4 that is run, says so, and builds the harness for it and those of the others;
 * without Java or Maven the run fails and says that.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";

import { buildHarnesses } from "./peers/harness-build.js";
import type { Harness, HarnessBuild } from "./peers/harness-build.js";

declare module "vitest" {
  interface ProvidedContext {
    /** Of the harness that was built. */
    phase4Version: string;
    harnesses: Readonly<Record<Harness, HarnessBuild>>;
  }
}

const run = promisify(execFile);
const PROJECT = fileURLToPath(new URL("phase4/", import.meta.url));
/** The first build fetches some 200 files. */
const BUILD_TIMEOUT_MS = 600_000;
const JAVA_MIN = 17;

/** What Peppol's access points run, and the newest that an incomplete copy of Maven Central was seen to have. */
const VERSIONS = ["4.5.4", "4.4.1"] as const;
/** The first version whose own Peppol receiver the harness uses. */
const SERVLET_SINCE = [4, 5];

export default async function build(project: TestProject): Promise<void> {
  const java = await toolVersion("java", ["-version"], /version "(\d+)/);
  await toolVersion("mvn", ["--version"], /Maven (\d+)/);
  await toolVersion("openssl", ["version"], /OpenSSL (\d+)/);
  await toolVersion("keytool", ["-help"], /()/);
  if (java < JAVA_MIN) throw new Error(`npm run test:interop needs Java ${JAVA_MIN} or later; this is Java ${java}.`);
  const version = await buildFirst(
    process.env["PHASE4_VERSION"] === undefined ? VERSIONS : [process.env["PHASE4_VERSION"]],
  );
  say(
    `phase4 ${version} is run, its receiver is ${profileOf(version) === "servlet" ? "phase4-peppol-servlet" : "phase4-lib with a receiver of ours behind it"}`,
  );
  project.provide("phase4Version", version);
  project.provide("harnesses", await buildHarnesses());
}

const say = (text: string): void => {
  process.stdout.write(`interop: ${text}\n`);
};

const profileOf = (version: string): "servlet" | "own" => {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [sinceMajor = 0, sinceMinor = 0] = SERVLET_SINCE;
  return major > sinceMajor || (major === sinceMajor && minor >= sinceMinor) ? "servlet" : "own";
};

/** @returns the first version that Maven can have */
async function buildFirst(versions: readonly string[]): Promise<string> {
  for (const version of versions) {
    const missing = await package_(version);
    if (missing === undefined) return version;
    say(`phase4 ${version} cannot be run: Maven has no ${missing}`);
  }
  throw new Error(`npm run test:interop needs phase4 ${versions.join(" or ")} from Maven Central.`);
}

/** @returns the artefact that cannot be had, if there is one */
async function package_(version: string): Promise<string | undefined> {
  const offline = await maven(version, "-o");
  const complaint = offline === undefined ? undefined : await maven(version);
  if (complaint === undefined) return undefined;
  const missing =
    /(?:Could not find artifact |Could not transfer artifact |Failed to read artifact descriptor for )([\w.:-]+)|([\w.:-]+) was not found in /.exec(
      complaint,
    );
  const artifact = missing?.[1] ?? missing?.[2];
  if (artifact === undefined)
    throw new Error(`npm run test:interop could not build its phase4 harness with Maven:\n${complaint}`);
  return artifact;
}

/** @returns Maven's complaint, undefined when there is none */
async function maven(version: string, ...options: string[]): Promise<string | undefined> {
  try {
    await run("mvn", ["-q", "-B", ...options, `-Dphase4.version=${version}`, `-P${profileOf(version)}`, "package"], {
      cwd: PROJECT,
      timeout: BUILD_TIMEOUT_MS,
      maxBuffer: 16 << 20,
    });
    return undefined;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    return `${stdout ?? ""}${stderr ?? ""}${stdout === undefined ? String(error) : ""}`;
  }
}

async function toolVersion(tool: string, args: string[], pattern: RegExp): Promise<number> {
  try {
    const { stdout, stderr } = await run(tool, args, { timeout: 60_000 });
    return Number(pattern.exec(stdout + stderr)?.[1] ?? 0);
  } catch (error) {
    throw new Error(
      `npm run test:interop needs ${tool} on PATH (Java ${JAVA_MIN}, Maven 3, OpenSSL 3); it could not be run.`,
      { cause: error },
    );
  }
}
