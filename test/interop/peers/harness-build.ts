/** Builds a harness around somebody else's server with Maven. */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
/** Whose server each is around, which lies in the folder of its name. */
export const HARNESSES = { oxalis: "Oxalis", phoss: "phoss SMP" } as const;
export type Harness = keyof typeof HARNESSES;
const folderOf = (harness: Harness): string => fileURLToPath(new URL(`../${harness}/`, import.meta.url));
/** Written after each build: Maven leaves a jar that needs no change as it is. */
const stampOf = (harness: Harness): string => `${folderOf(harness)}target/built`;
/** The first build fetches some 400 files. */
const BUILD_TIMEOUT_MS = 300_000;

/** How Maven says that it cannot have an artefact: now, or since an attempt that it remembers. */
const UNREACHABLE =
  /(?:Could not find artifact|Could not transfer artifact|Failed to read artifact descriptor for) ([\w.:-]+)|([\w.-]+:[\w.:-]+) was not found in/;

export type HarnessBuild =
  | { readonly kind: "built"; readonly harness: Harness }
  /** What Maven could not fetch. */
  | { readonly kind: "unreachable"; readonly harness: Harness; readonly artifact: string };

/**
 * Builds all of them, one after the other: Maven does not lock the store of what it has fetched.
 * @throws Error with Maven's words when it failed for another reason than an artefact that cannot be had
 */
export async function buildHarnesses(): Promise<Readonly<Record<Harness, HarnessBuild>>> {
  return { oxalis: await buildHarness("oxalis"), phoss: await buildHarness("phoss") };
}

async function buildHarness(harness: Harness): Promise<HarnessBuild> {
  const built = { kind: "built", harness } as const;
  if (upToDate(harness)) return built;
  const offline = await maven(harness, "-o");
  if (offline === undefined) return built;
  const online = await maven(harness);
  if (online === undefined) return built;
  const artifact = UNREACHABLE.exec(online)
    ?.slice(1)
    .find((name) => name !== undefined);
  if (artifact === undefined)
    throw new Error(`npm run test:interop could not build its harness of ${HARNESSES[harness]} with Maven:\n${online}`);
  return { kind: "unreachable", harness, artifact };
}

/** Whether the harness is newer than all that it is built from. */
function upToDate(harness: Harness): boolean {
  if (!existsSync(stampOf(harness))) return false;
  const folder = folderOf(harness);
  const sources = [
    `${folder}pom.xml`,
    ...readdirSync(`${folder}src`, { recursive: true, encoding: "utf8" }).map((path) => `${folder}src/${path}`),
  ];
  const built = statSync(stampOf(harness)).mtimeMs;
  return sources.every((path) => statSync(path).mtimeMs <= built);
}

/** @returns Maven's complaint, undefined when there is none */
async function maven(harness: Harness, ...options: string[]): Promise<string | undefined> {
  try {
    await run("mvn", ["-q", "-B", ...options, "package"], {
      cwd: folderOf(harness),
      timeout: BUILD_TIMEOUT_MS,
      maxBuffer: 16 << 20,
    });
    writeFileSync(stampOf(harness), "");
    return undefined;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    return `${stdout ?? ""}${stderr ?? ""}${stdout === undefined ? String(error) : ""}`;
  }
}
