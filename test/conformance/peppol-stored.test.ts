/**
 * The built-in Peppol rules against what the official 3.0.21 stylesheets said under Saxon-HE: every document and fragment
 * with a stored result, as multisets of ids; the marks of the official unit tests; the examples that must be clean.
 */
import { expect, test } from "vitest";
import { peppolBilling, peppolSelfBilling } from "../../validators/rules/peppol/billing.js";
import type { RuleSet } from "../../validators/rules/rule.js";
import { conformanceBytes, conformanceFiles, describeConformance } from "../support/conformance.js";
import { documentOf, failedIds } from "../support/validators/packs.js";
import { expectedDocuments, marksBroken, readUnitFolder, UNIT_FOLDERS } from "../support/validators/testset.js";

const failed = (rules: RuleSet, bytes: Buffer): string[] => failedIds(rules, documentOf(bytes));

describeConformance("Peppol billing 3.0.21, built in", "expected", () => {
  const billing = peppolBilling();

  test("our rules find exactly what the official rules find, in every document and fragment with a stored result", () => {
    let documents = 0;
    const differences: string[] = [];
    for (const { key, bytes, peppol } of expectedDocuments()) {
      documents += 1;
      const found = failed(billing, bytes);
      if (JSON.stringify(found) !== JSON.stringify([...peppol].sort())) {
        differences.push(`${key}: expected ${peppol.join(" ")}; found ${found.join(" ")}`);
      }
    }
    expect(differences).toEqual([]);
    expect(documents).toBeGreaterThan(1_000);
  });

  for (const folder of UNIT_FOLDERS.filter((name) => name.startsWith("peppol-"))) {
    test(`our rules agree with every mark of the official unit tests in ${folder}`, () => {
      const tests = readUnitFolder(folder);
      const broken = tests.flatMap((unit) =>
        marksBroken(unit.marks, failed(billing, unit.document)).map((problem) => `${unit.key}: ${problem}`),
      );
      expect(broken).toEqual([]);
      expect(tests.length).toBeGreaterThan(0);
    });
  }

  test.each(["documents/peppol-3.0.19", "documents/peppol-3.0.21"])(
    "our rules find nothing in the published examples of %s",
    (folder) => {
      for (const file of conformanceFiles(folder, ".xml")) {
        expect({ file, found: failed(billing, conformanceBytes(folder, file)) }).toEqual({ file, found: [] });
      }
    },
  );
});

describeConformance("Peppol self-billing 3.0.21, built in", "documents/self-billing-3.0.21", () => {
  const selfBilling = peppolSelfBilling();
  const folder = "documents/self-billing-3.0.21";

  test("our rules for self-billing find nothing in the published examples", () => {
    for (const file of conformanceFiles(folder, ".xml")) {
      expect({ file, found: failed(selfBilling, conformanceBytes(folder, file)) }).toEqual({ file, found: [] });
    }
  });

  test("our rules for self-billing refuse an ordinary invoice by its process and its type, and a self-billed one is refused as ordinary", () => {
    expect(new Set(failed(selfBilling, conformanceBytes("documents/peppol-3.0.21", "base-example.xml")))).toEqual(
      new Set(["PEPPOL-EN16931-R004", "PEPPOL-EN16931-R007"]),
    );
    expect(new Set(failed(peppolBilling(), conformanceBytes(folder, "SB-base-example.xml")))).toEqual(
      new Set(["PEPPOL-EN16931-R004", "PEPPOL-EN16931-R007"]),
    );
  });
});
