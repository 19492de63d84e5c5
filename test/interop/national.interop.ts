/**
 * Goal: national and post-award rule sets give the verdict that Saxon gives by them, or are refused by name.
 * Method: each is imported from its sources as published, and judges its own examples and seeded changes of them;
 * failed ids, flags and how often are compared with what the published stylesheet gives, or where there is none, the
 * one that SchXslt makes of the same sources.
 *
 * The sources are not ours to keep: $KURIER_RULE_SETS names a folder with checkouts of phive-rules (in `phive`) and of
 * the XRechnung Schematron (in `kosit`). Rule sets that are not there are named in the output, and skipped.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { compileRelease } from "../../validators/schematron/release/import.js";
import { readRelease } from "../../validators/schematron/release/release.js";
import { instantiate } from "../../validators/schematron/runtime/pack.js";
import type { RuleSet } from "../../validators/rules/rule.js";
import { scan, SCAN_LIMITS } from "../../validators/xml/scanner.js";
import { changedDocument } from "../support/documents/any-mutations.js";
import { Random, seedFrom } from "../support/random.js";

const run = promisify(execFile);
const PROJECT = fileURLToPath(new URL("saxon/", import.meta.url));
const ROOT = process.env["KURIER_RULE_SETS"] ?? "";
const TIMEOUT_MS = 600_000;
const FINDINGS_MAX = 100_000;

interface RuleSetRow {
  readonly name: string;
  /** Folder of the sources, and the schema in it. */
  readonly sources: string;
  readonly schema: string;
  /** The published stylesheet; without it SchXslt makes one. */
  readonly stylesheet?: string;
  /** Folders of examples. */
  readonly examples: readonly string[];
  /** Seeded changes of the examples. */
  readonly changes: number;
}

const MAIN = "src/main/resources/external/schematron";
const SOURCES = "src/test/resources/external/rule-source";
const EXAMPLES = "src/test/resources/external/test-files";

const xrechnung = (version: string, changes: number): RuleSetRow => ({
  name: `XRechnung ${version}`,
  sources: `phive/phive-rules-xrechnung/${SOURCES}/${version}`,
  schema: "ubl/XRechnung-UBL-validation.sch",
  stylesheet: `phive/phive-rules-xrechnung/${MAIN}/${version}/XRechnung-UBL-validation.xslt`,
  examples: [`phive/phive-rules-xrechnung/${EXAMPLES}/${version}/ubl-inv`],
  changes,
});
const postAward = (transaction: string): RuleSetRow => ({
  name: `Peppol 2026.5 ${transaction}`,
  sources: `phive/phive-rules-peppol/${SOURCES}/openpeppol/2026.5`,
  schema: `PEPPOLBIS-${transaction}.sch`,
  stylesheet: `phive/phive-rules-peppol/${MAIN}/openpeppol/2026.5/xslt/PEPPOLBIS-${transaction}.xslt`,
  examples: [`phive/phive-rules-peppol/${EXAMPLES}/openpeppol/2026.5`],
  changes: 100,
});
const pint = (country: string, version: string, below: string, schema: string): RuleSetRow => ({
  stylesheet: `phive/phive-rules-peppol-pint/${MAIN}/pint-${country}/${version}/xslt${below}/${schema.replace(/\.sch$/u, ".xslt")}`,
  name: `PINT ${country} ${version} ${schema.replace(/^PINT-|\.sch$/gu, "")}`,
  sources: `phive/phive-rules-peppol-pint/${SOURCES}/pint-${country}/${version}${below}`,
  schema,
  examples: [`phive/phive-rules-peppol-pint/${EXAMPLES}/pint-${country}/${version}${below}`],
  changes: 100,
});
const singapore = (schema: string): RuleSetRow => ({
  name: `SG 2024.12 ${schema.replace(/\.sch$/u, "")}`,
  sources: `phive/phive-rules-peppol/${SOURCES}/sg-peppol/2024.12`,
  schema,
  examples: [`phive/phive-rules-peppol/${EXAMPLES}/sg-peppol/2024.12`],
  changes: 100,
});
const netherlands = (schema: string, examples: string): RuleSetRow => ({
  name: `SI-UBL ${schema.replace(/^si-ubl-|\.sch$/gu, "")}`,
  sources: `phive/phive-rules-simplerinvoicing/${SOURCES}/simplerinvoicing/2.0.3.13`,
  schema,
  examples: [`phive/phive-rules-simplerinvoicing/${EXAMPLES}/simplerinvoicing/${examples}`],
  changes: 100,
});

const RULE_SETS: readonly RuleSetRow[] = [
  {
    name: "XRechnung head",
    sources: "kosit/src/validation/schematron",
    schema: "ubl/XRechnung-UBL-validation.sch",
    examples: [
      "kosit/test/instances/ubl-inv",
      "kosit/test/instances/ubl-cn",
      `phive/phive-rules-xrechnung/${EXAMPLES}/3.0.2/ubl-inv`,
    ],
    changes: 500,
  },
  xrechnung("3.0.2", 500),
  xrechnung("3.0.1", 100),
  xrechnung("2.3.1", 100),
  {
    name: "CIUS-RO 1.0.9 preprocessed",
    sources: `phive/phive-rules-cius-ro/${SOURCES}/1.0.9`,
    schema: "preprocessed/ROeFactura-UBL-validation-Invoice_v1.0.9.sch",
    examples: [`phive/phive-rules-cius-ro/${EXAMPLES}/1.0.9`],
    changes: 100,
  },
  singapore("SG-Billing3-UBL.sch"),
  singapore("SG-Subset-CEN-EN16931-UBL.sch"),
  singapore("SG-Subset-PEPPOL-EN16931-UBL.sch"),
  pint("eu", "1.1.1", "", "PINT-UBL-validation-preprocessed.sch"),
  pint("eu", "1.1.1", "", "PINT-EN16931-aligned-rules.sch"),
  pint("eu", "1.1.1", "", "PINT-jurisdiction-aligned-rules.sch"),
  pint("aunz", "1.1.3", "/billing", "PINT-UBL-validation-preprocessed.sch"),
  pint("aunz", "1.1.3", "/billing", "PINT-jurisdiction-aligned-rules.sch"),
  netherlands("si-ubl-2.0.3.13.sch", "SI-UBL-2.0.3.2"),
  netherlands("si-ubl-2.0-ext-gaccount-1.0.13.sch", "si-ubl-2.0-ext-gaccount-1.0"),
  ...["T01", "T16", "T19", "T58", "T71", "T76", "T77", "T110", "T111", "T114", "T116"].map(postAward),
];

const isThere = ({ sources }: RuleSetRow): boolean => ROOT !== "" && existsSync(join(ROOT, sources));
const present = RULE_SETS.filter(isThere);
const absent = RULE_SETS.filter((row) => !isThere(row)).map(({ name }) => name);
if (absent.length > 0) {
  const where = ROOT === "" ? "$KURIER_RULE_SETS is not set" : "they are not below $KURIER_RULE_SETS";
  process.stdout.write(
    `NOT COMPARED with Saxon: ${absent.length} of ${RULE_SETS.length} imported rule sets, because ${where} (it names a folder with checkouts phive and kosit): ${absent.join(", ")}.\n`,
  );
}

/** Flags as Saxon reports them, in the words of our severities. */
const SEVERITIES: Readonly<Record<string, string>> = { warn: "warning", info: "information", hint: "information" };
const severity = (flag: string): string => SEVERITIES[flag.toLowerCase()] ?? flag.toLowerCase();

let libraries = "";
beforeAll(async () => {
  if (present.length === 0) return;
  libraries = mkdtempSync(join(tmpdir(), "saxon-"));
  await run("mvn", ["-q", "-B", "-f", PROJECT, "dependency:copy-dependencies", `-DoutputDirectory=${libraries}`]);
}, TIMEOUT_MS);
afterAll(() => {
  if (libraries !== "") rmSync(libraries, { recursive: true, force: true });
});

/** Sorted "id severity" of each document by Saxon, or the one dynamic error. */
async function saxon({ sources, schema, stylesheet }: RuleSetRow, documents: readonly Buffer[]): Promise<string[]> {
  const questions = join(libraries, "documents.txt");
  writeFileSync(questions, documents.map((bytes) => `${bytes.toString("base64")}\n`).join(""));
  const rules = join(ROOT, stylesheet ?? join(sources, schema));
  const { stdout } = await run("java", ["-cp", join(libraries, "*"), join(PROJECT, "Oracle.java"), rules, questions], {
    maxBuffer: 256 * 1024 * 1024,
    timeout: TIMEOUT_MS,
  });
  return stdout
    .replace(/\n$/u, "")
    .split("\n")
    .map((line) =>
      line.startsWith("!")
        ? `!err:${line.slice(1)}`
        : line
            .split(";")
            .filter((entry) => entry !== "")
            .map((entry) => {
              const [id = "", flag = ""] = entry.split(" ");
              return `${id} ${severity(flag)}`;
            })
            .sort()
            .join(";"),
    );
}

/** The same by the import. */
function imported(rules: RuleSet, bytes: Buffer): string | undefined {
  const scanned = scan(bytes, SCAN_LIMITS);
  if (scanned.kind === "refused") return undefined;
  const { findings } = rules.run(scanned.document, FINDINGS_MAX);
  const [first] = findings;
  if (first?.ruleId.startsWith("!") === true) return first.ruleId;
  return findings
    .map(({ ruleId, severity: flag }) => `${ruleId.startsWith("SCH-") ? "?" : ruleId} ${flag}`)
    .sort()
    .join(";");
}

/**
 * The same verdict. Where a pattern has hidden the error of a global variable, Saxon later calls the variable circular;
 * which of two dynamic errors is named decides nothing.
 */
const isSame = (ours: string | undefined, theirs: string | undefined): boolean =>
  ours === theirs || (theirs === "!err:XTDE0640" && ours?.startsWith("!err:") === true);

const documentsBelow = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.toLowerCase().endsWith(".xml"))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();

const isReadable = (bytes: Buffer): boolean => scan(bytes, SCAN_LIMITS).kind === "document";

const title = "an imported rule set gives the verdict of Saxon";
if (present.length === 0) test.skip(`${title} (skipped: no rule set is there)`, () => undefined);
else
  describe(title, () => {
    test.each(present.map((row) => [row.name, row] as const))(
      "%s, on its examples and on seeded changes of them",
      { timeout: TIMEOUT_MS },
      async (name, row) => {
        const [compiled] = compileRelease(readRelease(join(ROOT, row.sources)), undefined, row.schema);
        if (compiled === undefined) throw new Error(`${row.schema} is not in ${row.sources}`);
        const rules = instantiate({ id: "pack:x", version: "1", layer: "pack:x" }, compiled.compiled.code);
        const examples = row.examples
          .flatMap((folder) => documentsBelow(join(ROOT, folder)))
          .map((file) => ({ label: relative(ROOT, file), bytes: readFileSync(file) }))
          .filter(({ bytes }) => isReadable(bytes));
        const random = new Random(seedFrom(20_261_122));
        const changes = Array.from({ length: row.changes }, (_, i) => {
          const { label, bytes } = random.pick(examples);
          return { label: `change ${i} of ${label}`, bytes: changedDocument(bytes, random) };
        }).filter(({ bytes }) => isReadable(bytes));
        const documents = [...examples, ...changes];
        const theirs = await saxon(
          row,
          documents.map(({ bytes }) => bytes),
        );
        expect(theirs).toHaveLength(documents.length);
        const differing = documents.flatMap(({ label, bytes }, i) => {
          const ours = imported(rules, bytes);
          return isSame(ours, theirs[i]) ? [] : [{ label, ours, theirs: theirs[i] }];
        });
        const failed = theirs.reduce((sum, line) => sum + (line === "" ? 0 : line.split(";").length), 0);
        process.stdout.write(
          `${name}: ${examples.length} examples, ${changes.length} changes, ${failed} failed asserts, ${differing.length} different\n`,
        );
        expect(differing).toEqual([]);
        expect(failed).toBeGreaterThan(0);
      },
    );
  });
