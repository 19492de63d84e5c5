import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { elementsOf, parseSource, textOf, type SourceElement } from "../../validators/rules/schematron/source-xml.js";
import { conformance, conformanceFiles } from "./conformance.js";

/** Folders of conformance/units. */
export const UNIT_FOLDERS = [
  "en16931-invoice", "en16931-creditnote", "peppol-peppol", "peppol-de", "peppol-dk",
  "peppol-gr", "peppol-it", "peppol-nl", "peppol-no", "peppol-se",
] as const;
export type UnitFolder = (typeof UNIT_FOLDERS)[number];

/** What a test says about one rule: it fires (`error`, `warning`; exactly `number` times if given) or it does not (`success`). */
export type Mark = { readonly kind: "success" | "error" | "warning"; readonly rule: string; readonly number?: number };

export type UnitTest = {
  /** Key of the stored results: `units/<folder>/<file>#<n>`, n from 1. */
  readonly key: string;
  readonly folder: UnitFolder;
  readonly file: string;
  readonly position: number;
  /** "tc434-ubl" = EN 16931 alone, "peppolbis-en16931-base-3.0-ubl" = the Peppol file alone. */
  readonly configuration: string;
  readonly marks: readonly Mark[];
  /** The embedded document as a document of its own, UTF-8, with the namespaces that were in scope. */
  readonly document: Buffer;
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
export function readTestSet(text: string, folder: UnitFolder, file: string): UnitTest[] {
  const set = parseSource(text.trimStart(), basename(file));
  const configuration = set.attributes.get("configuration") ?? "";
  return elementsOf(set).filter((child) => child.local === "test").map((test, index) => {
    const [assert, embedded] = [elementsOf(test).find((child) => child.local === "assert"), elementsOf(test).at(-1)];
    if (assert === undefined || embedded === undefined || embedded === assert) throw new Error(`${file}: test ${index + 1} has no document`);
    return {
      key: `units/${folder}/${file}#${index + 1}`, folder, file, position: index + 1, configuration,
      marks: elementsOf(assert).flatMap(markOf),
      document: standalone(text.trimStart(), embedded),
    };
  });
}

function markOf(element: SourceElement): Mark[] {
  const { local } = element;
  if (local !== "success" && local !== "error" && local !== "warning") return [];
  const number = element.attributes.get("number");
  return [{ kind: local, rule: textOf(element).trim(), ...(number === undefined ? {} : { number: Number(number) }) }];
}

/** The element's own text, with the declarations it inherits written into its start tag. */
function standalone(text: string, element: SourceElement): Buffer {
  const inherited = [...element.scope].filter(([prefix]) => !element.declared.has(prefix))
    .map(([prefix, uri]) => ` xmlns${prefix === "" ? "" : `:${prefix}`}="${escapeAttribute(uri)}"`).join("");
  return Buffer.from(text.slice(element.start, element.nameEnd) + inherited + text.slice(element.nameEnd, element.end));
}

const escapeAttribute = (value: string): string => value.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");

/** The ids of `failed` that disagree with the marks: empty when the test passes. Other ids may fire freely. */
export function marksBroken(marks: readonly Mark[], failed: readonly string[]): string[] {
  return marks.flatMap((mark) => {
    const times = failed.filter((id) => id === mark.rule).length;
    if (mark.kind === "success") return times === 0 ? [] : [`${mark.rule} fired ${times} times and should not`];
    if (times === 0) return [`${mark.rule} did not fire`];
    return mark.number === undefined || mark.number === times ? [] : [`${mark.rule} fired ${times} times, not ${mark.number}`];
  });
}

/** Stored results of the official stylesheets, by document or fragment. An id that starts with "!" is a dynamic error. */
export type ExpectedResults = Readonly<Record<string, { readonly en16931: readonly string[]; readonly peppol: readonly string[] }>>;

export const expectedResults = (): ExpectedResults =>
  JSON.parse(readFileSync(conformance("expected", "schematron-3.0.21.json"), "utf8")) as ExpectedResults;

/** Every stored result with the bytes it belongs to, in the order of the file. */
export function* expectedDocuments(): Generator<{ key: string; bytes: Buffer; en16931: readonly string[]; peppol: readonly string[] }> {
  const units = new Map<string, Buffer>();
  for (const folder of UNIT_FOLDERS) for (const test of readUnitFolder(folder)) units.set(test.key, test.document);
  for (const [key, lists] of Object.entries(expectedResults())) {
    const bytes = key.startsWith("units/") ? units.get(key) : readFileSync(conformance(key));
    if (bytes === undefined) throw new Error(`${key} has a stored result and no document`);
    yield { key, bytes, ...lists };
  }
}
