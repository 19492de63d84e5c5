/**
 * Goal: the grammar table and libxml2 with the official schemas give the same verdict on every document.
 * Method: all conformance documents, then seeded damage to them. `MUTATIONS=20000 SEED=7` runs more, or repeats a run.
 *
 * Known differences, which the inputs here avoid:
 * - Content in the XML signature, XAdES and UBL signature namespaces is only checked for well-formedness; libxml2
 *   validates it, because the extension module imports those schemas. We do not verify such signatures: refusing a
 *   document for their shape would help nobody, and their schemas have choices that the table cannot hold.
 * - xsi:type on an element without declaration may name any type of those schemas unchecked.
 * - White space around the name in xsi:type is collapsed here, as in Xerces; libxml2 refuses it.
 * - A document element other than Invoice, CreditNote and ApplicationResponse has no grammar; libxml2 would take any
 *   global element.
 * - The scanner refuses what XML allows and Peppol does not need: DTDs.
 */
import { beforeAll, expect, test } from "vitest";
import { checkGrammar, isKnownRoot } from "../../validators/ubl/check.js";
import { SCAN_LIMITS, Scanner } from "../../validators/xml/scanner.js";
import { conformanceBytes, conformanceFiles, describeConformance } from "../support/conformance.js";
import { openOracle, ORACLE_ROOTS } from "../support/validators/grammar-oracle.js";
import type { Oracle, OracleRoot } from "../support/validators/grammar-oracle.js";
import { EDGES, escaped, invoiceAround, libxml2Departs, SLOTS } from "../support/validators/grammar-values.js";
import { Random, seedFrom } from "../support/random.js";
import { mutate } from "../support/documents/xml-mutations.js";

const FOLDERS = ["en16931", "invoice-response", "peppol-3.0.19", "peppol-3.0.21", "self-billing-3.0.21"] as const;
const MUTATIONS = Number(process.env["MUTATIONS"] ?? 2_000);
const SEED = seedFrom(20_261_120);
/** Documents that are mutated; a large attachment would only slow every case down. */
const MUTATED_BYTES_MAX = 100_000;

const scanner = new Scanner();

/** Our verdict, or undefined when the root is not one the grammar knows. */
function verdict(bytes: Buffer): { valid: boolean; message: string; root: OracleRoot | undefined } {
  const scanned = scanner.scan(bytes, SCAN_LIMITS);
  if (scanned.kind === "refused") return { valid: false, message: scanned.findings[0]?.ruleId ?? "", root: "Invoice" };
  const name = scanned.document.name(0);
  if (!isKnownRoot(name)) return { valid: false, message: "unknown root", root: undefined };
  const { findings } = checkGrammar(scanned.document, 100);
  const root = ORACLE_ROOTS.find((known) => known === scanned.document.prefixed(name));
  return { valid: findings.length === 0, message: findings.map((f) => `${f.ruleId}: ${f.message}`).join("\n"), root };
}

type Told = { readonly valid: boolean; readonly message: string };

/** Whether a difference is one of those where libxml2 departs from the standard; see libxml2Departs. */
const isDeparture = (ours: Told, theirs: Told): boolean =>
  ours.valid
    ? theirs.message
        .split("\n")
        .every(
          (line) =>
            line === "" ||
            /'(?:\s[^']*|[^']*\s)' is not a valid value of the atomic type 'xs:(?:date|time)'/.test(line),
        )
    : ours.message.split("\n").every((line) => line.startsWith("UBL-GRAMMAR-VALUE: ") && line.includes("base64"));

describeConformance("grammar against libxml2", "ubl-2.1-xsd", () => {
  const documents: { name: string; bytes: Buffer }[] = [];
  let oracle: Oracle;

  beforeAll(() => {
    oracle = openOracle();
    for (const folder of FOLDERS) {
      for (const file of conformanceFiles(`documents/${folder}`, ".xml")) {
        documents.push({ name: `${folder}/${file}`, bytes: conformanceBytes("documents", folder, file) });
      }
    }
    for (const kind of ["good", "bad"]) {
      for (const file of conformanceFiles(`as4/mls/${kind}`, ".xml")) {
        documents.push({ name: `mls/${kind}/${file}`, bytes: conformanceBytes("as4", "mls", kind, file) });
      }
    }
  });

  test("every conformance document gets the verdict of libxml2", () => {
    expect(documents.length).toBeGreaterThan(100);
    const differing = documents.filter(({ bytes }) => {
      const ours = verdict(bytes);
      if (ours.root === undefined) return true;
      const theirs = oracle(bytes, ours.root);
      return ours.valid !== theirs.valid && !isDeparture(ours, theirs);
    });
    expect(differing.map(({ name }) => name)).toEqual([]);
  });

  test.each(Object.entries(SLOTS))("values at the edges of %s get the verdict of libxml2", (type, slot) => {
    const verdicts = EDGES.map((value) => ({
      value,
      ours: verdict(invoiceAround(slot(escaped(value)))),
      theirs: oracle(invoiceAround(slot(escaped(value))), "Invoice"),
    }));
    expect(
      verdicts
        .filter(({ value, ours, theirs }) => ours.valid !== theirs.valid && !libxml2Departs(type, value))
        .map(({ value, ours }) => `${JSON.stringify(value)} ours: ${ours.valid}`),
    ).toEqual([]);
    expect(verdicts.some(({ ours }) => ours.valid)).toBe(true);
  });

  test(`${MUTATIONS} damaged documents get the verdict of libxml2 (seed ${SEED})`, { timeout: 600_000 }, () => {
    const bases = documents.filter(({ bytes }) => bytes.length <= MUTATED_BYTES_MAX);
    const differing: string[] = [];
    let valid = 0;
    for (let n = 0; n < MUTATIONS; n++) {
      const random = new Random(SEED + n);
      const base = random.pick(bases);
      const { text, kinds } = mutate(base.bytes.toString("latin1"), random);
      const bytes = Buffer.from(text, "latin1");
      const ours = verdict(bytes);
      if (ours.root === undefined) continue;
      const theirs = oracle(bytes, ours.root);
      if (ours.valid) valid++;
      if (ours.valid !== theirs.valid && !isDeparture(ours, theirs))
        differing.push(
          `SEED=${SEED + n} MUTATIONS=1 ${base.name} ${kinds.join("+")}\n  ours: ${ours.message}\n  libxml2: ${theirs.message}`,
        );
    }
    // Both verdicts must occur, or the comparison shows nothing.
    if (MUTATIONS >= 100) expect(valid).toBeGreaterThan(MUTATIONS / 50);
    expect(differing.slice(0, 5).join("\n")).toBe("");
  });
});
