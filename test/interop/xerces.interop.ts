/**
 * Goal: the value checks of the grammar give the verdict of Xerces, so that a mistake of libxml2 cannot hide in ours.
 * Method: every value of the edge list in an element or attribute of every type, judged by Xerces with the official schemas.
 *
 * Known differences: of URIs, which XML Schema 1.0 hands to RFC 2396 and Xerces reads more and less strictly than its
 * successor RFC 3986, ours follow the latter; a year before -2,147,483,647 is refused by ours and by libxml2.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

import { checkGrammar } from "../../validators/ubl/check.js";
import { SCAN_LIMITS, Scanner } from "../../validators/xml/scanner.js";
import { conformance, describeConformance } from "../support/conformance.js";
import { EDGES, escaped, invoiceAround, SLOTS } from "../support/validators/grammar-values.js";

const run = promisify(execFile);
const PROJECT = fileURLToPath(new URL("xerces/", import.meta.url));
/** The first run fetches three files and compiles the schemas. */
const TIMEOUT_MS = 300_000;

const TYPES = Object.entries(SLOTS).filter(([type]) => type !== "anyURI");

/** One answer a document, in order. */
async function xerces(documents: readonly Buffer[]): Promise<boolean[]> {
  const folder = mkdtempSync(join(tmpdir(), "xerces-"));
  try {
    const libraries = join(folder, "lib");
    await run("mvn", ["-q", "-B", "-f", PROJECT, "dependency:copy-dependencies", `-DoutputDirectory=${libraries}`]);
    const questions = join(folder, "documents.txt");
    writeFileSync(questions, documents.map((bytes) => `Invoice ${bytes.toString("base64")}\n`).join(""));
    const { stdout } = await run(
      "java",
      [
        "-cp",
        [join(libraries, "*")].join(delimiter),
        join(PROJECT, "Oracle.java"),
        conformance("ubl-2.1-xsd", "maindoc"),
        questions,
      ],
      { maxBuffer: 64 * 1024 * 1024 },
    );
    return stdout
      .trimEnd()
      .split("\n")
      .map((line) => line === "valid");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Case {
  /** What a difference is told by. */
  readonly name: string;
  readonly bytes: Buffer;
}

/** @returns the cases to which ours give another verdict than Xerces, and how many are valid to it */
async function besideXerces(cases: readonly Case[]): Promise<{ readonly differing: string[]; readonly valid: number }> {
  const scanner = new Scanner();
  const theirs = await xerces(cases.map(({ bytes }) => bytes));
  expect(theirs).toHaveLength(cases.length);
  const differing = cases.flatMap(({ name, bytes }, index) => {
    const scanned = scanner.scan(bytes, SCAN_LIMITS);
    const ours = scanned.kind === "document" && checkGrammar(scanned.document, 1).findings.length === 0;
    return ours === theirs[index] ? [] : [`${name} ours: ${ours}`];
  });
  return { differing, valid: theirs.filter(Boolean).length };
}

/** White space and its like, around a name and inside of it. */
const SPACES = ["", " ", "\t", "\n", "\r", " \r\n\t ", "\u00a0", "\u2003", "\u0085", "\u2028", "\ufeff"];
const NAMES = ["cbc:TaxPointDateType", "cbc:IDType", "cbc:NoSuchType", "none:TaxPointDateType", "TaxPointDateType", ""];
const XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';

describeConformance("the grammar beside Xerces", "ubl-2.1-xsd", () => {
  test("values at the edges of every type but URI get the verdict of Xerces", { timeout: TIMEOUT_MS }, async () => {
    const cases = TYPES.flatMap(([type, slot]) =>
      EDGES.map((value) => ({
        name: `${type} ${JSON.stringify(value)}`,
        bytes: invoiceAround(slot(escaped(value))),
      })),
    );
    const { differing, valid } = await besideXerces(cases);
    expect(differing).toEqual(['date "-2147483648-01-01" ours: false']);
    expect(valid).toBeGreaterThan(100);
  });

  test("names in xsi:type with white space get the verdict of Xerces", { timeout: TIMEOUT_MS }, async () => {
    const written = NAMES.flatMap((name) => [
      ...SPACES.flatMap((before) => SPACES.map((behind) => `${before}${name}${behind}`)),
      ...SPACES.flatMap((space) => [name.replace(":", `${space}:`), name.replace(":", `:${space}`)]),
    ]);
    const cases = written.map((type) => ({
      name: JSON.stringify(type),
      bytes: invoiceAround(`<cbc:TaxPointDate ${XSI} xsi:type="${escaped(type)}">2026-11-20</cbc:TaxPointDate>`),
    }));
    const { differing, valid } = await besideXerces(cases);
    expect(differing).toEqual([]);
    expect(valid).toBeGreaterThan(30);
  });
});
