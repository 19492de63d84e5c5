/**
 * The built-in EN 16931 rules against what the official stylesheet said under Saxon-HE: every document and fragment with
 * a stored result, as multisets of ids; the marks of the official unit tests; the examples that must be clean.
 */
import { expect, test } from "vitest";
import { en16931 } from "../../validators/rules/en16931/index.js";
import { conformanceBytes, conformanceFiles, describeConformance } from "../support/conformance.js";
import { documentOf, failedIds } from "../support/validators/packs.js";
import { expectedDocuments, marksBroken, readUnitFolder } from "../support/validators/testset.js";

const rules = en16931();
const failed = (bytes: Buffer): string[] => failedIds(rules, documentOf(bytes));

describeConformance("EN 16931 for UBL, built in", "expected", () => {
  test("our rules find exactly what the official rules find, in every document and fragment with a stored result", () => {
    let documents = 0;
    const differences: string[] = [];
    for (const { key, bytes, en16931: expected } of expectedDocuments()) {
      documents += 1;
      const found = failed(bytes);
      if (JSON.stringify(found) !== JSON.stringify([...expected].sort())) {
        differences.push(`${key}: expected ${expected.join(" ")}; found ${found.join(" ")}`);
      }
    }
    expect(differences).toEqual([]);
    expect(documents).toBeGreaterThan(1_000);
  });

  test.each(["en16931-invoice", "en16931-creditnote"] as const)(
    "our rules agree with every mark of the official unit tests in %s",
    (folder) => {
      const tests = readUnitFolder(folder);
      const broken = tests.flatMap((unit) =>
        marksBroken(unit.marks, failed(unit.document)).map((problem) => `${unit.key}: ${problem}`),
      );
      expect(broken).toEqual([]);
      expect(tests.length).toBeGreaterThan(100);
    },
  );

  test.each([
    "documents/en16931",
    "documents/peppol-3.0.19",
    "documents/peppol-3.0.21",
    "documents/self-billing-3.0.21",
  ])("our rules find nothing in the published examples of %s", (folder) => {
    for (const file of conformanceFiles(folder, ".xml")) {
      expect({ file, found: failed(conformanceBytes(folder, file)) }).toEqual({ file, found: [] });
    }
  });
});
