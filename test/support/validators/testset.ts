import { readFileSync } from "node:fs";
import { readTests } from "../../../validators/schematron/release/test-set.js";
import type { EmbeddedTest } from "../../../validators/schematron/release/test-set.js";
import { conformance, conformanceFiles } from "../conformance.js";

export { marksBroken, type Mark } from "../../../validators/schematron/release/test-set.js";

/** Folders of conformance/units. */
export const UNIT_FOLDERS = [
  "en16931-invoice",
  "en16931-creditnote",
  "peppol-peppol",
  "peppol-de",
  "peppol-dk",
  "peppol-gr",
  "peppol-it",
  "peppol-nl",
  "peppol-no",
  "peppol-se",
] as const;
export type UnitFolder = (typeof UNIT_FOLDERS)[number];

/** One test of an official file, with its place in the stored results. */
export type UnitTest = EmbeddedTest & {
  /** Key of the stored results: `units/<folder>/<file>#<n>`, n from 1. */
  readonly key: string;
  readonly folder: UnitFolder;
  readonly file: string;
};

/**
 * Reads the official unit tests of one folder, in the order of file names. Misnamed files (`.xm`) count.
 * @throws when the folder has no file at all
 * @source design/validation.md, section 5, runner rules
 */
export function readUnitFolder(folder: UnitFolder): UnitTest[] {
  const files = conformanceFiles(`units/${folder}`).filter((name) => /\.xml?$/i.test(name));
  if (files.length === 0) throw new Error(`no unit test in ${conformance("units", folder)}`);
  return files.flatMap((file) => readTestSet(readFileSync(conformance("units", folder, file), "utf8"), folder, file));
}

/** The tests of one testSet file; a file whose tests are commented out has none. */
export const readTestSet = (text: string, folder: UnitFolder, file: string): UnitTest[] =>
  readTests(text, file).map((test) => ({ ...test, key: `units/${folder}/${file}#${test.position}`, folder, file }));

/** Stored results of the official stylesheets, by document or fragment. An id that starts with "!" is a dynamic error. */
export type ExpectedResults = Readonly<
  Record<string, { readonly en16931: readonly string[]; readonly peppol: readonly string[] }>
>;

export const expectedResults = (): ExpectedResults =>
  JSON.parse(readFileSync(conformance("expected", "schematron-3.0.21.json"), "utf8")) as ExpectedResults;

/** Every stored result with the bytes it belongs to, in the order of the file. */
export function* expectedDocuments(): Generator<{
  key: string;
  bytes: Buffer;
  en16931: readonly string[];
  peppol: readonly string[];
}> {
  const units = new Map<string, Buffer>();
  for (const folder of UNIT_FOLDERS) for (const test of readUnitFolder(folder)) units.set(test.key, test.document);
  for (const [key, lists] of Object.entries(expectedResults())) {
    const bytes = key.startsWith("units/") ? units.get(key) : readFileSync(conformance(key));
    if (bytes === undefined) throw new Error(`${key} has a stored result and no document`);
    yield { key, bytes, ...lists };
  }
}
