/**
 * The built-in Peppol rules against what the official 3.0.21 stylesheets said under Saxon-HE: every document and fragment
 * with a stored result, as multisets of ids; the marks of the official unit tests; the examples that must be clean.
 */
import { expect, test } from "vitest";
import { peppolBilling, peppolSelfBilling } from "../../validators/rules/peppol/billing.js";
import type { RuleSet } from "../../validators/rules/rule.js";
import { scan } from "../../validators/xml/scanner.js";
import { conformanceBytes, conformanceFiles, describeConformance } from "../support/conformance.js";
import { expectedDocuments, marksBroken, readUnitFolder, UNIT_FOLDERS } from "../support/validators/testset.js";

const FINDINGS_MAX = 100_000;

function failedIds(rules: RuleSet, bytes: Buffer): string[] {
  const scanned = scan(bytes);
  if (scanned.kind === "refused") throw new Error(scanned.findings[0]?.ruleId ?? "refused");
  return rules
    .run(scanned.document, FINDINGS_MAX)
    .findings.map((finding) => finding.ruleId)
    .sort();
}

describeConformance("Peppol billing 3.0.21, built in", "expected", () => {
  const billing = peppolBilling();

  test("our rules find exactly what the official rules find, in every document and fragment with a stored result", () => {
    let documents = 0;
    const differences: string[] = [];
    for (const { key, bytes, peppol } of expectedDocuments()) {
      documents += 1;
      const found = failedIds(billing, bytes);
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
        marksBroken(unit.marks, failedIds(billing, unit.document)).map((problem) => `${unit.key}: ${problem}`),
      );
      expect(broken).toEqual([]);
      expect(tests.length).toBeGreaterThan(0);
    });
  }

  test.each(["documents/peppol-3.0.19", "documents/peppol-3.0.21"])(
    "our rules find nothing in the published examples of %s",
    (folder) => {
      for (const file of conformanceFiles(folder, ".xml")) {
        expect({ file, found: failedIds(billing, conformanceBytes(folder, file)) }).toEqual({ file, found: [] });
      }
    },
  );
});

describeConformance("Peppol self-billing 3.0.21, built in", "documents/self-billing-3.0.21", () => {
  const selfBilling = peppolSelfBilling();
  const folder = "documents/self-billing-3.0.21";

  test("our rules for self-billing find nothing in the published examples", () => {
    for (const file of conformanceFiles(folder, ".xml")) {
      expect({ file, found: failedIds(selfBilling, conformanceBytes(folder, file)) }).toEqual({ file, found: [] });
    }
  });

  test("our rules for self-billing refuse an ordinary invoice by its process and its type, and a self-billed one is refused as ordinary", () => {
    expect(new Set(failedIds(selfBilling, conformanceBytes("documents/peppol-3.0.21", "base-example.xml")))).toEqual(
      new Set(["PEPPOL-EN16931-R004", "PEPPOL-EN16931-R007"]),
    );
    expect(new Set(failedIds(peppolBilling(), conformanceBytes(folder, "SB-base-example.xml")))).toEqual(
      new Set(["PEPPOL-EN16931-R004", "PEPPOL-EN16931-R007"]),
    );
  });
});
