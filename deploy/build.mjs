// Transpiles the TypeScript folders into dist/, one file for one file. Types are checked by `npm run lint`, not here:
// esbuild takes 0.3 s where the type checker takes several, and `npm start` waits for this.
import { cp, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
/** What the guide is made of, and what makes it. */
const DOCS = join(root, "docs");
const GUIDE_TOOLS = ["deploy/guide.mjs", "node_modules/marked/package.json"].map((file) => join(root, file));
const FOLDERS = ["engine", "gateway", "actors", "validators", "bench"];
/** Files that run from dist/ as they are. */
const COPIED = [".sql", ".html", ".css", ".svg", ".json", ".js"];

async function* walk(directory) {
  for (const entry of await readdir(directory, { withFileTypes: true }).catch(() => [])) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) {
      if (entry.name !== "results") yield* walk(path);
    } else yield path;
  }
}

async function sources() {
  const found = [];
  for (const folder of FOLDERS) for await (const path of walk(join(root, folder))) found.push(path);
  return found.sort();
}

/** The files of the guide; its tools only as far as they are there. */
async function guideSources() {
  const found = [];
  for await (const path of walk(DOCS)) found.push(path);
  for (const tool of GUIDE_TOOLS) if ((await stat(tool).catch(() => undefined)) !== undefined) found.push(tool);
  return found.sort();
}

/** Name, size and time of every source: equal means that dist/ is what a build would give. */
async function stampOf(files) {
  const rows = await Promise.all(
    files.map(async (f) => {
      const s = await stat(f);
      return `${relative(root, f)} ${s.size} ${s.mtimeMs}`;
    }),
  );
  return rows.join("\n");
}

/** Builds dist/ when a source is newer than it; returns whether it did. A package that was installed has no sources, and its dist/ is whole. */
export async function buildIfNeeded() {
  const files = await sources();
  if (!files.some((file) => file.endsWith(".ts"))) return false;
  const stamp = await stampOf([...files, ...(await guideSources())]);
  const stampFile = join(root, "dist", ".stamp");
  if ((await readFile(stampFile, "utf8").catch(() => "")) === stamp) return false;
  const { build } = await import("esbuild");
  // Built beside dist/ and swapped in: a process that starts meanwhile sees the old files or the new ones, never half.
  const draft = join(root, `dist.${process.pid}`);
  await build({
    entryPoints: files.filter((f) => f.endsWith(".ts") && !f.endsWith(".d.ts")),
    outdir: draft,
    outbase: root,
    format: "esm",
    platform: "node",
    target: "node20",
    sourcemap: true,
    logLevel: "warning",
  });
  for (const file of files.filter((f) => COPIED.some((ending) => f.endsWith(ending)))) {
    const target = join(draft, relative(root, file));
    await mkdir(join(target, ".."), { recursive: true });
    await cp(file, target);
  }
  // A package holds what this file makes, and not what makes it.
  const { renderGuide } = await import("./guide.mjs");
  await renderGuide(DOCS, join(draft, "gateway/web/guide/pages"));
  await writeFile(join(draft, ".stamp"), stamp);
  const old = `${draft}.old`;
  await rename(join(root, "dist"), old).catch((error) => {
    if (error.code !== "ENOENT") throw error;
  });
  await rename(draft, join(root, "dist"));
  await rm(old, { recursive: true, force: true });
  return true;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) await buildIfNeeded();
