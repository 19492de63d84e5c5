// Runs one TypeScript file of the tests in a process of its own: `node run-ts.mjs FILE [ARGUMENT…]`.
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { build } from "esbuild";

const [file, ...rest] = process.argv.slice(2);
// Inside the project, so that the packages it imports are found.
const folder = mkdtempSync(join(import.meta.dirname, "../../../node_modules/.run-ts-"));
const outfile = join(folder, "program.mjs");
await build({
  entryPoints: [file],
  outfile,
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  packages: "external",
  logLevel: "error",
});
process.argv.splice(1, process.argv.length, file, ...rest);
await import(pathToFileURL(outfile).href);
rmSync(folder, { recursive: true, force: true });
