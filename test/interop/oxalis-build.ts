/** Builds the Oxalis harness with Maven. */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { test } from "vitest";

const run = promisify(execFile);
const PROJECT = fileURLToPath(new URL("oxalis/", import.meta.url));
/** Written after each build: Maven leaves a jar that needs no change as it is. */
const STAMP = `${PROJECT}target/built`;
/** The first build fetches some 400 files. */
const BUILD_TIMEOUT_MS = 300_000;

/** How Maven says that it cannot have an artefact: now, or since an attempt that it remembers. */
const UNREACHABLE =
  /(?:Could not find artifact|Could not transfer artifact|Failed to read artifact descriptor for) ([\w.:-]+)|([\w.-]+:[\w.:-]+) was not found in/;

export type OxalisBuild =
  | { readonly kind: "built" }
  /** What Maven could not fetch. */
  | { readonly kind: "unreachable"; readonly artifact: string };

/** @throws Error with Maven's words when it failed for another reason than an artefact that cannot be had */
export async function buildOxalis(): Promise<OxalisBuild> {
  if (upToDate()) return { kind: "built" };
  const offline = await maven("-o");
  if (offline === undefined) return { kind: "built" };
  const online = await maven();
  if (online === undefined) return { kind: "built" };
  const artifact = UNREACHABLE.exec(online)
    ?.slice(1)
    .find((name) => name !== undefined);
  if (artifact === undefined)
    throw new Error(`npm run test:interop could not build its Oxalis harness with Maven:\n${online}`);
  return { kind: "unreachable", artifact };
}

/** @returns whether Oxalis can run; says by name what is missing where it cannot */
export function announceOxalis(build: OxalisBuild): boolean {
  if (build.kind === "built") return true;
  const reason = `Oxalis was not run: Maven cannot fetch ${build.artifact}`;
  process.stderr.write(`${reason}\n`);
  test.skip(reason, () => undefined);
  return false;
}

/** Whether the harness is newer than all that it is built from. */
function upToDate(): boolean {
  if (!existsSync(STAMP)) return false;
  const sources = [
    `${PROJECT}pom.xml`,
    ...readdirSync(`${PROJECT}src`, { recursive: true, encoding: "utf8" }).map((path) => `${PROJECT}src/${path}`),
  ];
  const built = statSync(STAMP).mtimeMs;
  return sources.every((path) => statSync(path).mtimeMs <= built);
}

/** @returns Maven's complaint, undefined when there is none */
async function maven(...options: string[]): Promise<string | undefined> {
  try {
    await run("mvn", ["-q", "-B", ...options, "package"], {
      cwd: PROJECT,
      timeout: BUILD_TIMEOUT_MS,
      maxBuffer: 16 << 20,
    });
    writeFileSync(STAMP, "");
    return undefined;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    return `${stdout ?? ""}${stderr ?? ""}${stdout === undefined ? String(error) : ""}`;
  }
}
