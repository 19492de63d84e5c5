/** The licences of everything that a package of Kurier brings along, from the lockfile; ends with 1 where one is not allowed. */
import { readFileSync } from "node:fs";

/** Licences that ask for no more than their own text beside the work. */
const ALLOWED = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "MIT",
  "MIT-0",
  "OFL-1.1",
  "Unlicense",
]);

const lockfile = new URL(process.argv[2] ?? "../package-lock.json", import.meta.url);
const { packages } = JSON.parse(readFileSync(lockfile, "utf8"));
const parts = Object.entries(packages)
  .filter(([path, { dev }]) => path !== "" && dev !== true)
  .map(([path, { version, license }]) => ({
    name: `${path.replace(/^.*node_modules\//, "")}@${version}`,
    licence: license ?? "none",
  }))
  .toSorted((a, b) => a.licence.localeCompare(b.licence, "en") || a.name.localeCompare(b.name, "en"));

const refused = parts.filter(({ licence }) => !ALLOWED.has(licence));
for (const { name, licence } of parts) process.stdout.write(`${licence}\t${name}\n`);
for (const { name, licence } of refused)
  process.stderr.write(`${name} has the licence ${licence}, which is not allowed.\n`);
process.exitCode = refused.length > 0 ? 1 : 0;
