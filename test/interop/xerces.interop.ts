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

describeConformance("the grammar beside Xerces", "ubl-2.1-xsd", () => {
  test("values at the edges of every type but URI get the verdict of Xerces", { timeout: TIMEOUT_MS }, async () => {
    const scanner = new Scanner();
    const cases = TYPES.flatMap(([type, slot]) =>
      EDGES.map((value) => ({ type, value, bytes: invoiceAround(slot(escaped(value))) })),
    );
    const theirs = await xerces(cases.map(({ bytes }) => bytes));
    expect(theirs).toHaveLength(cases.length);
    const differing = cases.flatMap(({ type, value, bytes }, index) => {
      const scanned = scanner.scan(bytes, SCAN_LIMITS);
      const ours = scanned.kind === "document" && checkGrammar(scanned.document, 1).findings.length === 0;
      return ours === theirs[index] ? [] : [`${type} ${JSON.stringify(value)} ours: ${ours}`];
    });
    expect(differing).toEqual(['date "-2147483648-01-01" ours: false']);
    expect(theirs.filter(Boolean).length).toBeGreaterThan(100);
  });
});
