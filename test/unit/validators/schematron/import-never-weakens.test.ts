/**
 * Goal: whatever an operator imports, a document that the built-in rules refuse stays refused.
 * Method: releases that look like national ones (most of EN 16931 without a rule, or few rules with EN 16931's prefixes)
 * are made small, imported and activated, and a document with a wrong sum is judged.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { invoiceWithLines } from "../../../../bench/documents.js";
import type { Report } from "../../../../validators/report.js";
import { importRules } from "../../../../validators/schematron/release/import.js";
import type { ImportOptions, ImportResult } from "../../../../validators/schematron/release/import.js";
import { loadPack, setActive } from "../../../../validators/schematron/release/load.js";
import { CUSTOMIZATION } from "../../../../validators/selection/builtin.js";
import { loadPacks, packRules } from "../../../../validators/selection/load-packs.js";
import type { Packs } from "../../../../validators/selection/packs.js";
import { validateDocument } from "../../../../validators/validate.js";
import { SCAN_LIMITS } from "../../../../validators/xml/limits.js";
import { builtInSet, likeSchema, writeLikeRelease } from "../../../support/validators/pack-like.js";

const SG = "urn:cen.eu:en16931:2017#conformant#urn:fdc:peppol.eu:2017:poacc:billing:international:sg:3.0";
const RO = "urn:cen.eu:en16931:2017#compliant#urn:efactura.mfinante.ro:CIUS-RO:1.0.1";
const OPTIONS = { limits: SCAN_LIMITS, day: "2026-11-20" } as const;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "weakens-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** An invoice of a specification whose total with VAT is not the sum that BR-CO-15 asks for. */
const wrongSum = (customization: string): Buffer =>
  Buffer.from(
    invoiceWithLines(1)
      .toString()
      .replace(CUSTOMIZATION.billing, customization)
      .replace(/(<cbc:TaxInclusiveAmount currencyID="EUR">)[^<]*/u, "$11.00"),
  );
const invalidIds = (report: Report): string[] =>
  report.findings.filter(({ severity }) => severity !== "warning").map(({ layer, ruleId }) => `${layer} ${ruleId}`);

async function active(
  files: Readonly<Record<string, string>>,
  options: Partial<ImportOptions> = {},
): Promise<{ readonly packs: Packs; readonly result: ImportResult; readonly rulesDir: string }> {
  const rulesDir = mkdtempSync(join(folder, "rules-"));
  const source = writeLikeRelease(mkdtempSync(join(folder, "release-")), files);
  const result = importRules({ source, rulesDir, id: "national", ...options });
  setActive(rulesDir, "national", true);
  return { packs: await loadPacks(rulesDir), result, rulesDir };
}

const coreIds = builtInSet("en16931").catalogue.map(({ id }) => id);
const withoutSum = coreIds.filter((id) => id !== "BR-CO-15");

describe("a release like Singapore's: most ids of EN 16931, without BR-CO-15", () => {
  const files = {
    "CEN-EN16931-UBL-SG.sch": likeSchema({ ids: withoutSum, customization: SG }),
    "PEPPOL-EN16931-UBL-SG.sch": likeSchema({ ids: ["PEPPOL-EN16931-R001", "BR-SG-01"], customization: SG }),
  };

  test("a release that lacks an id does not take the place of EN 16931: a wrong sum stays BR-CO-15, and both of its schemas are judged", async () => {
    const { packs, result } = await active(files);
    expect(result.manifest.schemas.map(({ layer }) => layer)).toEqual(["pack:national", "pack:national"]);
    const report = validateDocument(wrongSum(SG), OPTIONS, packs);
    expect(invalidIds(report)).toContain("en16931 BR-CO-15");
    expect(report.ruleSets.map(({ id }) => id)).toEqual([
      "ubl",
      "en16931",
      "pack:national/CEN-EN16931-UBL-SG.sch",
      "pack:national/PEPPOL-EN16931-UBL-SG.sch",
    ]);
  });

  test("a release that lacks an id is told to lack the rule at the import", async () => {
    const { result } = await active(files);
    expect(result.likenesses).toMatchObject([
      { builtIn: { id: "en16931" }, files: ["CEN-EN16931-UBL-SG.sch"], lost: { missing: ["BR-CO-15"] } },
    ]);
  });

  test("a release that lacks an id takes the place of EN 16931 once the operator has named what may be lost", async () => {
    const { packs } = await active(files, { without: ["BR-CO-15"] });
    const report = validateDocument(wrongSum(SG), OPTIONS, packs);
    expect(invalidIds(report)).toEqual([]);
    expect(report.ruleSets.map(({ id }) => id)).not.toContain("en16931");
  });

  test("a release of one specification changes nothing for documents of other specifications", async () => {
    const { packs } = await active(files);
    const [before, after] = [
      validateDocument(wrongSum(CUSTOMIZATION.billing), OPTIONS),
      validateDocument(wrongSum(CUSTOMIZATION.billing), OPTIONS, packs),
    ];
    expect(after.findings).toEqual(before.findings);
    expect(after.ruleSets).toEqual(before.ruleSets);
  });
});

describe("a release like Romania's: a hundred ids that begin with BR-", () => {
  const files = {
    "ro.sch": likeSchema({
      ids: Array.from({ length: 122 }, (_, i) => `BR-RO-${String(i).padStart(3, "0")}`),
      asserts: '<assert id="BR-RO-A" flag="fatal" test="cbc:Note">A note is missing.</assert>',
      customization: RO,
    }),
  };

  test("a release with few ids is judged on top of EN 16931, for the documents whose CustomizationID it names", async () => {
    const { packs } = await active(files);
    const report = validateDocument(wrongSum(RO), OPTIONS, packs);
    expect(invalidIds(report)).toContain("en16931 BR-CO-15");
    expect(invalidIds(report)).toContain("pack:national BR-RO-A");
    expect(report.profile).toBe("pack:national");
    expect(invalidIds(validateDocument(wrongSum(CUSTOMIZATION.billing), OPTIONS, packs))).not.toContain(
      "pack:national BR-RO-A",
    );
  });

  test("a release with few ids is for the documents that the operator names instead, when told so", async () => {
    const { packs } = await active(files, { customizations: [CUSTOMIZATION.billing] });
    expect(invalidIds(validateDocument(wrongSum(CUSTOMIZATION.billing), OPTIONS, packs))).toContain(
      "pack:national BR-RO-A",
    );
  });

  test("a release with few ids does not replace EN 16931 when its layer is forced, for it still lacks the ids", async () => {
    const { packs } = await active(files, { layers: { "ro.sch": "en16931" } });
    const report = validateDocument(wrongSum(RO), OPTIONS, packs);
    expect(invalidIds(report)).toEqual(expect.arrayContaining(["en16931 BR-CO-15", "pack:national BR-RO-A"]));
  });
});

test("rules that only warn where the built-in ones refuse do not take their place", async () => {
  const { packs, result } = await active({ "mild.sch": likeSchema({ ids: coreIds, flag: "warning" }) });
  expect(result.likenesses[0]?.lost.milder).toContain("BR-CO-15");
  expect(invalidIds(validateDocument(wrongSum(CUSTOMIZATION.billing), OPTIONS, packs))).toContain("en16931 BR-CO-15");
});

test("EN 16931 split over three files takes its place as one layer, and what two files report is reported once", async () => {
  const sum = '<assert id="BR-CO-15" flag="fatal" test="false()">sum</assert>';
  const { packs } = await active({
    "model.sch": likeSchema({ ids: withoutSum.slice(0, 400), asserts: sum }),
    "syntax.sch": likeSchema({ ids: withoutSum.slice(400, 900), asserts: sum }),
    "codes.sch": likeSchema({ ids: withoutSum.slice(900) }),
  });
  const report = validateDocument(invoiceWithLines(1), OPTIONS, packs);
  expect(invalidIds(report)).toEqual(["en16931 BR-CO-15"]);
  expect(report.ruleSets.filter(({ layer }) => layer === "en16931")).toHaveLength(1);
});

test("a pack that stood in for built-in rules is judged on top once the built-in rules have more ids than it", async () => {
  const { rulesDir } = await active({ "core.sch": likeSchema({ ids: withoutSum }) }, { without: ["BR-CO-15"] });
  const loaded = packRules(loadPack(rulesDir, "national")).map((rules) => ({ ...rules, without: new Set<string>() }));
  const report = validateDocument(wrongSum(CUSTOMIZATION.billing), OPTIONS, { rules: loaded, grammars: [] });
  expect(invalidIds(report)).toContain("en16931 BR-CO-15");
});
