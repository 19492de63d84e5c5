/** The built-in rules of the Message Level Status against the published good and bad documents. */
import { expect, test } from "vitest";
import { mlsRules } from "../../validators/rules/mls/mls.js";
import { scan } from "../../validators/xml/scanner.js";
import { conformanceBytes, conformanceFiles, describeConformance } from "../support/conformance.js";

describeConformance("Message Level Status 1.0.1, built in", "as4/mls", () => {
  const rules = mlsRules();
  const failed = (folder: string, file: string): string[] => {
    const scanned = scan(conformanceBytes(folder, file));
    if (scanned.kind === "refused") throw new Error(`${file} is not well-formed`);
    return rules.run(scanned.document, 1_000).findings.map(({ ruleId }) => ruleId);
  };

  test("the rules for statuses find nothing in the good documents", () => {
    const files = conformanceFiles("as4/mls/good", ".xml");
    for (const file of files) expect({ file, found: failed("as4/mls/good", file) }).toEqual({ file, found: [] });
    expect(files).toHaveLength(8);
  });

  // mls-template.xml is what the bad documents were made from, and has no fault of its own.
  test("the rules for statuses find in each bad document the rule that it is named after, and there is one for every rule", () => {
    const files = conformanceFiles("as4/mls/bad", ".xml").filter((file) => /^mls-\d\d/u.test(file));
    const ruleOf = (file: string): string => `SCH-MLS-${file.slice(4, 6)}`;
    expect(files).toHaveLength(51);
    expect(files.filter((file) => !failed("as4/mls/bad", file).includes(ruleOf(file)))).toEqual([]);
    expect([...new Set(files.map(ruleOf))].sort()).toEqual(rules.catalogue.map(({ id }) => id).sort());
  });
});
