/** A worker entry in TypeScript as one JavaScript file that a thread can load, whatever the state of dist/. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

export interface WorkerBundle {
  readonly file: string;
  remove(): Promise<void>;
}

/** @param entry  path below test/, e.g. "fixtures/hostile-worker.ts" */
export async function bundleWorker(entry: string): Promise<WorkerBundle> {
  const root = fileURLToPath(new URL("../../..", import.meta.url));
  // Inside the project, so that the packages it imports are found.
  const cache = join(root, "node_modules/.cache");
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "worker-"));
  const file = join(folder, "worker.mjs");
  await build({
    entryPoints: [join(root, "test", entry)],
    outfile: file,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    logLevel: "error",
  });
  return { file, remove: () => rm(folder, { recursive: true, force: true }) };
}
