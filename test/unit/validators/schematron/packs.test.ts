/** Imported packs in the chain: they replace the built-in rules of their layer, on their day, for their documents. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { invoiceWithLines } from "../../../../bench/documents.js";
import { loadPacks } from "../../../../validators/selection/load-packs.js";
import type { Packs } from "../../../../validators/selection/packs.js";
import type { ValidateOptions } from "../../../../validators/protocol.js";
import { importRules } from "../../../../validators/schematron/release/import.js";
import { setActive } from "../../../../validators/schematron/release/load.js";
import { CUSTOMIZATION } from "../../../../validators/selection/builtin.js";
import { validateDocument } from "../../../../validators/validate.js";
import { NS } from "../../../../validators/xml/names.js";
import { SCAN_LIMITS } from "../../../../validators/xml/limits.js";
import { builtInSet } from "../../../support/validators/pack-like.js";
import { conformance, conformanceBytes, conformanceFiles, describeConformance } from "../../../support/conformance.js";

const OPTIONS: ValidateOptions = { limits: SCAN_LIMITS, day: "2026-11-20" };
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "packs-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Asserts with every id of the built-in billing rules, so that a release may take their place. */
const BILLING_IDS = [...new Set(builtInSet("peppol-billing").catalogue.map(({ id }) => id))]
  .map((id) => `<assert id="${id}" flag="fatal" test="true()">holds</assert>`)
  .join("");

/** A release of one schema that refuses every document it is for. */
function ownRelease(name: string, context: string, test: string): string {
  const file = join(folder, `${name}.sch`);
  writeFileSync(
    file,
    `<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt2"><title>${name}</title>
    <ns prefix="i" uri="${NS.Invoice}"/><ns prefix="cbc" uri="${NS.cbc}"/><ns prefix="o" uri="urn:orders"/>
    <pattern><rule context="${context}"><assert id="${name}-1" test="${test}" flag="fatal">never</assert>${name === "extra" || name === "orders" ? "" : BILLING_IDS}</rule></pattern></schema>`,
  );
  return file;
}

async function imported(
  id: string,
  context: string,
  test: string,
  options: { layer: "peppol" | `pack:${string}`; mandatoryFrom?: string },
): Promise<Packs> {
  const rulesDir = mkdtempSync(join(folder, "rules-"));
  const release = mkdtempSync(join(folder, "release-"));
  const file = ownRelease(id, context, test);
  writeFileSync(join(release, "own.sch"), (await import("node:fs")).readFileSync(file));
  importRules({
    source: release,
    rulesDir,
    id,
    layers: { "own.sch": options.layer },
    ...(options.mandatoryFrom === undefined ? {} : { mandatoryFrom: options.mandatoryFrom }),
  });
  setActive(rulesDir, id, true);
  return loadPacks(rulesDir);
}
const ids = (bytes: Buffer, packs: Packs, options = OPTIONS): string[] =>
  validateDocument(bytes, options, packs).findings.map(({ layer, ruleId }) => `${layer} ${ruleId}`);

describe("a pack of the operator", () => {
  test("a pack with every id of the built-in Peppol rules takes their place, and the report names its hash", async () => {
    const packs = await imported("mine", "/i:Invoice", "false()", { layer: "peppol" });
    const report = validateDocument(invoiceWithLines(1), OPTIONS, packs);
    expect(report.findings).toMatchObject([
      { layer: "peppol", ruleId: "mine-1", severity: "fatal", location: "/Invoice" },
    ]);
    expect(report.ruleSets.map(({ id, layer }) => `${layer} ${id}`)).toEqual([
      "schema ubl",
      "en16931 en16931",
      "peppol pack:mine",
    ]);
    expect(report.ruleSets[2]?.sha256).toMatch(/^[0-9a-f]{64}$/);
  });

  test("a pack of the operator with a layer of its own is judged on top of the built-in rules", async () => {
    const packs = await imported("extra", "/i:Invoice", "false()", { layer: "pack:extra" });
    expect(ids(invoiceWithLines(1), packs)).toEqual(["pack:extra extra-1"]);
    expect(validateDocument(invoiceWithLines(1), OPTIONS, packs).ruleSets).toHaveLength(4);
  });

  test("a pack of the operator rules from its first mandatory day on, and before that only as a preview", async () => {
    const packs = await imported("next", "/i:Invoice", "false()", { layer: "peppol", mandatoryFrom: "2027-02-24" });
    expect(ids(invoiceWithLines(1), packs, { ...OPTIONS, day: "2027-02-23" })).toEqual([]);
    expect(ids(invoiceWithLines(1), packs, { ...OPTIONS, day: "2027-02-24" })).toEqual(["peppol next-1"]);
    expect(ids(invoiceWithLines(1), packs, { ...OPTIONS, preview: true })).toEqual(["peppol next-1"]);
  });

  test("a pack of the operator leaves documents alone that it is not for", async () => {
    const packs = await imported("orders", "/o:Order", "false()", { layer: "pack:orders" });
    expect(ids(invoiceWithLines(1), packs)).toEqual([]);
    expect(ids(Buffer.from('<o:Order xmlns:o="urn:orders"/>'), packs)).toEqual(["pack:orders orders-1"]);
    expect(ids(Buffer.from('<o:Quote xmlns:o="urn:orders"/>'), packs)).toEqual(["schema UBL-ROOT"]);
  });
});

describeConformance("the official release as a pack", "schematron/peppol-3.0.21", () => {
  test("the official release as a pack gives the verdicts of the built-in rules on the example documents, each variant by its own schema", async () => {
    const rulesDir = mkdtempSync(join(folder, "official-"));
    importRules({ source: conformance("schematron", "peppol-3.0.21"), rulesDir, id: "official" });
    setActive(rulesDir, "official", true);
    const packs = await loadPacks(rulesDir);
    const documents = ["peppol-3.0.21", "self-billing-3.0.21", "en16931"].flatMap((directory) =>
      conformanceFiles(`documents/${directory}`, ".xml")
        .map((file) => conformanceBytes("documents", directory, file))
        .filter((bytes) => bytes.length < 200_000),
    );
    expect(documents.length).toBeGreaterThan(50);
    for (const bytes of documents) {
      const builtIn = validateDocument(bytes, OPTIONS);
      const official = validateDocument(bytes, OPTIONS, packs);
      const sorted = (findings: typeof builtIn.findings): string[] =>
        findings.map(({ layer, ruleId, location }) => `${layer} ${ruleId} ${location}`).sort();
      expect(sorted(official.findings)).toEqual(sorted(builtIn.findings));
      expect(official.profile).toBe(builtIn.profile);
      if (builtIn.profile !== "en16931")
        expect(official.ruleSets.filter(({ id }) => id.startsWith("pack:official")).map(({ layer }) => layer)).toEqual([
          "en16931",
          "peppol",
        ]);
    }
    const selfBilling = invoiceWithLines(1).toString().replace(CUSTOMIZATION.billing, CUSTOMIZATION.selfBilling);
    expect(
      validateDocument(Buffer.from(selfBilling), OPTIONS, packs).ruleSets.find(({ layer }) => layer === "peppol")?.id,
    ).toMatch(/UBL-SB/);
  });
});

describe("rules that come into force later", () => {
  const LATER = { ...OPTIONS, upcoming: true };

  test("rules of a later day are told beside today's verdict, with what they find, and decide from their day on", async () => {
    const packs = await imported("next", "/i:Invoice", "false()", { layer: "peppol", mandatoryFrom: "2027-02-24" });
    const bytes = invoiceWithLines(1);
    const before = validateDocument(bytes, { ...LATER, day: "2027-02-23" }, packs);
    expect(before).toMatchObject({
      valid: true,
      findings: [],
      upcoming: [
        {
          mandatoryFrom: "2027-02-24",
          ruleSets: [{ id: "pack:next", layer: "peppol" }],
          valid: false,
          findings: [{ layer: "peppol", ruleId: "next-1", severity: "fatal" }],
        },
      ],
    });
    // The same rules in the same thread, a day later.
    const after = validateDocument(bytes, { ...LATER, day: "2027-02-24" }, packs);
    expect(after.findings.map(({ ruleId }) => ruleId)).toEqual(["next-1"]);
    expect(after.upcoming).toEqual([]);
  });

  test("what is found today already is not told again, and a pack for other documents changes nothing", async () => {
    const packs = await imported("next", "/i:Invoice", "true()", { layer: "peppol", mandatoryFrom: "2027-02-24" });
    const unheard = Buffer.from(
      invoiceWithLines(1).toString().replace("<cbc:BuyerReference>", "<cbc:Unheard/><cbc:BuyerReference>"),
    );
    expect(validateDocument(unheard, LATER, packs).upcoming).toMatchObject([{ valid: false, findings: [] }]);
    const orders = await imported("orders", "/o:Order", "false()", {
      layer: "pack:orders",
      mandatoryFrom: "2027-02-24",
    });
    expect(validateDocument(invoiceWithLines(1), LATER, orders).upcoming).toEqual([]);
  });

  test("nothing is said of later days unless it is asked for", async () => {
    const packs = await imported("next", "/i:Invoice", "false()", { layer: "peppol", mandatoryFrom: "2027-02-24" });
    expect(validateDocument(invoiceWithLines(1), OPTIONS, packs).upcoming).toBeUndefined();
  });
});
