// Goal: the official 3.0.21 files, imported, give exactly what the official stylesheets give under Saxon-HE.
// Method: every document and fragment with a stored result, both layers, multisets of ids; then the official unit suites.
import { expect, test } from "vitest";
import { conformanceBytes, conformanceFiles, describeConformance } from "../support/conformance.js";
import { documentOf, failedIds, importedPack, ruleSetOf } from "../support/validators/packs.js";
import { expectedDocuments, marksBroken, readUnitFolder, UNIT_FOLDERS } from "../support/validators/testset.js";

const CEN = "CEN-EN16931-UBL.sch";
const PEPPOL = "PEPPOL-EN16931-UBL.sch";

describeConformance("imported Peppol BIS Billing", "schematron", () => {
  test("3.0.21 gives every stored result, both layers, nothing more and nothing less", () => {
    const pack = importedPack("peppol-3.0.21");
    const layers = [
      ["en16931", ruleSetOf(pack, CEN)],
      ["peppol", ruleSetOf(pack, PEPPOL)],
    ] as const;
    const different: string[] = [];
    let compared = 0;
    for (const stored of expectedDocuments()) {
      const document = documentOf(stored.bytes);
      for (const [layer, rules] of layers) {
        compared++;
        const [got, wanted] = [failedIds(rules, document).join(" "), [...stored[layer]].sort().join(" ")];
        if (got !== wanted) different.push(`${stored.key} ${layer}: ${got} instead of ${wanted}`);
      }
    }
    expect(different).toEqual([]);
    expect(compared).toBeGreaterThan(2_000);
  });

  test.each(["peppol-3.0.19", "peppol-3.0.21"])("%s passes every official unit test", (release) => {
    const pack = importedPack(release);
    const [cen, peppol] = [ruleSetOf(pack, CEN), ruleSetOf(pack, PEPPOL)];
    // The suites of EN 16931 were written for the current release; those of Peppol for 3.0.19.
    const folders =
      release === "peppol-3.0.19" ? UNIT_FOLDERS.filter((folder) => folder.startsWith("peppol-")) : UNIT_FOLDERS;
    const broken = folders.flatMap(readUnitFolder).flatMap((unit) => {
      const document = documentOf(unit.document);
      const failed =
        unit.configuration === "tc434-ubl"
          ? failedIds(cen, document)
          : unit.configuration === "peppolbis-en16931-base-3.0-ubl"
            ? failedIds(peppol, document)
            : [...failedIds(cen, document), ...failedIds(peppol, document)];
      return marksBroken(unit.marks, failed).map((problem) => `${unit.key}: ${problem}`);
    });
    expect(broken).toEqual([]);
  });

  test("the self-billing rules find nothing wrong with the self-billing examples", () => {
    const rules = ruleSetOf(importedPack("peppol-3.0.21"), "PEPPOL-EN16931-UBL-SB.sch");
    const files = conformanceFiles("documents/self-billing-3.0.21", ".xml");
    expect(files.length).toBeGreaterThan(0);
    const failed = files.flatMap((file) =>
      failedIds(rules, documentOf(conformanceBytes("documents/self-billing-3.0.21", file))).map(
        (id) => `${file} ${id}`,
      ),
    );
    expect(failed).toEqual([]);
  });
});
