/** The system's Chromium, for tests of pages. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, test } from "vitest";

/** The first is the same browser without windows: a page takes half of the processor time there. */
const NAMES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/** Path of a Chromium: `$CHROMIUM`, else the first of these names on PATH. */
export const chromiumPath: string | undefined = [
  process.env["CHROMIUM"],
  ...NAMES.flatMap((name) => (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, name))),
].find((path) => path !== undefined && existsSync(path));

/** A `describe` for tests that need a browser: skipped with a word on why where there is none, failing there when CI=true. */
export function describeBrowser(title: string, body: (executablePath: string) => void): void {
  if (chromiumPath !== undefined) {
    const path = chromiumPath;
    describe(title, () => {
      body(path);
    });
  } else if (process.env["CI"] === "true") {
    test(title, () => {
      throw new Error("no Chromium: put one on PATH or name it in CHROMIUM");
    });
  } else describe.skip(`${title} (skipped: no Chromium on PATH)`, () => undefined);
}
