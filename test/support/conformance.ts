import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, test } from "vitest";

/** Where the third-party conformance data lies: `$KURIER_CONFORMANCE`, else `../shared/conformance` beside the checkout. */
const conformanceRoot =
  process.env["KURIER_CONFORMANCE"] ?? fileURLToPath(new URL("../../../shared/conformance", import.meta.url));

/** Absolute path of a file or folder of the conformance data. */
export const conformance = (...parts: string[]): string => join(conformanceRoot, ...parts);

/** Bytes of one conformance file. */
export const conformanceBytes = (...parts: string[]): Buffer => readFileSync(conformance(...parts));

/**
 * Sorted names of the files in a conformance folder that end in `ending`, whatever its case; none when the folder is absent.
 */
export const conformanceFiles = (folder: string, ending = ""): string[] =>
  existsSync(conformance(folder))
    ? readdirSync(conformance(folder))
        .filter((name) => name.toLowerCase().endsWith(ending))
        .sort()
    : [];

/**
 * A `describe` for tests that need a folder of the conformance data. Absent data skips them with a test that names the
 * folder; with CI=true it fails instead, so that CI cannot pass without them.
 */
export function describeConformance(title: string, folder: string, body: () => void): void {
  if (existsSync(conformance(folder))) {
    describe(title, body);
  } else if (process.env["CI"] === "true") {
    test(title, () => {
      throw new Error(`conformance data is missing: expected ${conformance(folder)}`);
    });
  } else {
    // The body is not even collected: it may read its folder while it defines its tests.
    test.skip(`${title} (skipped: ${conformance(folder)} is missing)`, () => undefined);
  }
}
