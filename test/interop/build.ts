/** vitest globalSetup: the harness as a jar, built once a run; without Java or Maven the run fails and says so. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const PROJECT = fileURLToPath(new URL("phase4/", import.meta.url));
/** The first build fetches some 100 files. */
const BUILD_TIMEOUT_MS = 600_000;
const JAVA_MIN = 17;

export default async function build(): Promise<void> {
  const java = await version("java", ["-version"], /version "(\d+)/);
  await version("mvn", ["--version"], /Maven (\d+)/);
  await version("openssl", ["version"], /OpenSSL (\d+)/);
  await version("keytool", ["-help"], /()/);
  if (java < JAVA_MIN) throw new Error(`npm run test:interop needs Java ${JAVA_MIN} or later; this is Java ${java}.`);
  try {
    await run("mvn", ["-q", "-B", "package"], { cwd: PROJECT, timeout: BUILD_TIMEOUT_MS, maxBuffer: 16 << 20 });
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`npm run test:interop could not build its phase4 harness with Maven:\n${stdout ?? ""}${stderr ?? ""}`, { cause: error });
  }
}

async function version(tool: string, args: string[], pattern: RegExp): Promise<number> {
  try {
    const { stdout, stderr } = await run(tool, args, { timeout: 60_000 });
    return Number(pattern.exec(stdout + stderr)?.[1] ?? 0);
  } catch (error) {
    throw new Error(`npm run test:interop needs ${tool} on PATH (Java ${JAVA_MIN}, Maven 3, OpenSSL 3); it could not be run.`, { cause: error });
  }
}
