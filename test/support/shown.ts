/** Whether the tests that a table names are there. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { Shown } from "../faults/table/row.js";
import { ROOT } from "./sources.js";

const sources = new Map<string, string>();
/** The text of a test file, read once: to parse them all would take seconds. */
function textOf(path: string): string {
  const text = sources.get(path) ?? readFileSync(join(ROOT, path), "utf8");
  sources.set(path, text);
  return text;
}

/** Whether a file has a title, as a string of its own. */
const hasTitle = (path: string, title: string): boolean =>
  ['"', "'", "`"].some((quote) => textOf(path).includes(`${quote}${title}${quote}`));

/** Tests that are named and not there, as "file: title". */
export const missingTests = (shown: readonly Shown[]): string[] =>
  shown.flatMap(({ file, titles }) =>
    titles.filter((title) => !hasTitle(file, title)).map((title) => `${file}: ${title}`),
  );
