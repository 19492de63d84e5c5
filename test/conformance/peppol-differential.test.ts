/**
 * The built-in Peppol rules against the imported official files: same ids, same number of times, same severity, same
 * place, on published documents, official fragments, one document per rule, and seeded mutants of them all.
 *
 * `MUTATIONS` sets the number of mutants (default 1,000 of billing, a fifth of that for each other set), `SEED` the
 * first seed; a difference prints the seed of its mutant, and `SEED=<that> MUTATIONS=1` repeats it alone.
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { mlsRules } from "../../validators/rules/mls/mls.js";
import { peppolBilling, peppolSelfBilling } from "../../validators/rules/peppol/billing.js";
import type { RuleSet } from "../../validators/rules/rule.js";
import { compileSchema } from "../../validators/schematron/compile/compile.js";
import { instantiate } from "../../validators/schematron/runtime/pack.js";
import { readSchema } from "../../validators/schematron/compile/read-schema.js";
import { scan } from "../../validators/xml/scanner.js";
import { conformance, conformanceBytes, conformanceFiles, describeConformance } from "../support/conformance.js";
import { peppolMutant } from "../support/documents/peppol-mutants.js";
import { invoice, RULE_DOCUMENTS } from "../support/documents/peppol-rule-documents.js";
import { Random, seedFrom } from "../support/random.js";
import { expectedDocuments, readUnitFolder, UNIT_FOLDERS } from "../support/validators/testset.js";
import { mutate } from "../support/documents/xml-mutations.js";

const FINDINGS_MAX = 100_000;
const MUTATIONS = Number(process.env["MUTATIONS"] ?? 1_000);
const SEED = seedFrom(20_261_120);
/** Far enough apart that two mutants of a run share no random numbers in their first steps. */
const SEED_STEP = 7_919;

function imported(path: string): RuleSet {
  const schema = readSchema(readFileSync(conformance(path), "utf8"), path, { include: () => undefined });
  return instantiate({ id: "pack:differential", version: "test", layer: "peppol" }, compileSchema(schema).code);
}

/** What a rule set says of a document, place and severity included; undefined when it is not well-formed. */
function verdict(rules: RuleSet, bytes: Buffer): string[] | undefined {
  const scanned = scan(bytes);
  if (scanned.kind === "refused") return undefined;
  const { document } = scanned;
  return rules
    .run(document, FINDINGS_MAX)
    .findings.map(({ ruleId, severity, element }) => `${severity} ${ruleId} ${document.path(element)}`)
    .sort();
}

/** How the two differ, or undefined. */
function difference(native: RuleSet, pack: RuleSet, bytes: Buffer): string | undefined {
  const ours = verdict(native, bytes);
  const theirs = verdict(pack, bytes);
  if (JSON.stringify(ours) === JSON.stringify(theirs)) return undefined;
  const [few, many] = [
    (theirs ?? []).filter((line) => !(ours ?? []).includes(line)),
    (ours ?? []).filter((line) => !(theirs ?? []).includes(line)),
  ];
  return `imported only: ${few.slice(0, 5).join("; ")} | built in only: ${many.slice(0, 5).join("; ")}`;
}

/** Runs mutants and returns the differences, each with the seed that repeats it, and how many mutants were judged. */
function compareMutants(
  native: RuleSet,
  pack: RuleSet,
  count: number,
  make: (random: Random) => Buffer,
): { judged: number; differences: string[] } {
  let judged = 0;
  const differences: string[] = [];
  for (let i = 0; i < count; i += 1) {
    const seed = (SEED + i * SEED_STEP) >>> 0;
    const mutant = make(new Random(seed));
    if (scan(mutant).kind === "refused") continue;
    judged += 1;
    const found = difference(native, pack, mutant);
    if (found !== undefined) differences.push(`SEED=${seed}: ${found}`);
  }
  return { judged, differences };
}

const SCHEMAS = "schematron/peppol-3.0.21";

/** Which error is met, or none, depends on the order in which Saxon evaluates: left operand first, pattern by pattern. */
const EVALUATION_ORDER = [
  invoice(
    "<cac:Price><cac:AllowanceCharge><cbc:Amount>x</cbc:Amount><cbc:BaseAmount>x</cbc:BaseAmount></cac:AllowanceCharge></cac:Price>",
  ),
  invoice(
    "<cac:Price><cbc:PriceAmount>x</cbc:PriceAmount><cac:AllowanceCharge><cbc:BaseAmount>1</cbc:BaseAmount><cbc:BaseAmount>1</cbc:BaseAmount></cac:AllowanceCharge></cac:Price>",
  ),
  invoice(
    "<cac:InvoicePeriod><cbc:StartDate>x</cbc:StartDate></cac:InvoicePeriod><cac:InvoiceLine><cac:InvoicePeriod><cbc:StartDate/></cac:InvoicePeriod></cac:InvoiceLine>",
  ),
  invoice(
    "<cbc:IssueDate>2026-<!-- -->01-01</cbc:IssueDate><cac:InvoiceLine><cbc:LineExtensionAmount>x</cbc:LineExtensionAmount></cac:InvoiceLine>",
  ),
];

describeConformance("built-in and imported Peppol rules agree", SCHEMAS, () => {
  test("billing: our rules and the official ones agree on every document and fragment with a stored result, and on the document of every other rule", () => {
    const [native, pack] = [peppolBilling(), imported(`${SCHEMAS}/PEPPOL-EN16931-UBL.sch`)];
    const documents = [
      ...[...expectedDocuments()].map(({ key, bytes }) => ({ key, bytes })),
      ...EVALUATION_ORDER.map((xml, index) => ({ key: `order ${index}`, bytes: Buffer.from(xml) })),
      ...RULE_DOCUMENTS.flatMap(({ id, breaks, holds }) => [
        { key: `${id} breaks`, bytes: Buffer.from(breaks) },
        { key: `${id} holds`, bytes: Buffer.from(holds) },
      ]),
    ];
    const differences = documents.flatMap(({ key, bytes }) => {
      const found = difference(native, pack, bytes);
      return found === undefined ? [] : [`${key}: ${found}`];
    });
    expect(differences).toEqual([]);
    expect(documents.length).toBeGreaterThan(1_000);
  });

  test(
    "billing: our rules and the official ones agree on mutants",
    () => {
      const fragments = UNIT_FOLDERS.filter((folder) => folder.startsWith("peppol-")).flatMap((folder) =>
        readUnitFolder(folder).map(({ document }) => document),
      );
      const documents = ["documents/peppol-3.0.21", "documents/peppol-3.0.19"].flatMap((folder) =>
        conformanceFiles(folder, ".xml").map((file) => conformanceBytes(folder, file)),
      );
      const rules = RULE_DOCUMENTS.map(({ holds }) => Buffer.from(holds));
      const { judged, differences } = compareMutants(
        peppolBilling(),
        imported(`${SCHEMAS}/PEPPOL-EN16931-UBL.sch`),
        MUTATIONS,
        (random) => peppolMutant(random.pick(random.pick([documents, fragments, rules])), random),
      );
      expect(differences, `first seed ${SEED}`).toEqual([]);
      expect(judged).toBeGreaterThan(MUTATIONS / 2);
    },
    60_000 + MUTATIONS * 20,
  );

  test(
    "self-billing: our rules and the official ones agree on the published documents and on mutants",
    () => {
      const [native, pack] = [peppolSelfBilling(), imported(`${SCHEMAS}/PEPPOL-EN16931-UBL-SB.sch`)];
      const folder = "documents/self-billing-3.0.21";
      const documents = conformanceFiles(folder, ".xml").map((file) => conformanceBytes(folder, file));
      for (const document of documents) expect(difference(native, pack, document)).toBeUndefined();
      const { differences } = compareMutants(native, pack, Math.ceil(MUTATIONS / 5), (random) =>
        peppolMutant(random.pick(documents), random),
      );
      expect(differences, `first seed ${SEED}`).toEqual([]);
    },
    60_000 + MUTATIONS * 20,
  );

  test(
    "message level status: our rules and the official ones agree on the published documents and on mutants",
    () => {
      const [native, pack] = [mlsRules(), imported("schematron/mls-1.0.1/peppol-mls-1.0.1.sch")];
      const documents = ["as4/mls/good", "as4/mls/bad"].flatMap((folder) =>
        conformanceFiles(folder, ".xml").map((file) => conformanceBytes(folder, file)),
      );
      for (const document of documents) expect(difference(native, pack, document)).toBeUndefined();
      const { differences } = compareMutants(native, pack, Math.ceil(MUTATIONS / 5), (random) =>
        Buffer.from(mutate(random.pick(documents).toString("latin1"), random).text, "latin1"),
      );
      expect(differences, `first seed ${SEED}`).toEqual([]);
    },
    60_000 + MUTATIONS * 20,
  );
});
