/**
 * Goal: whatever is wrong with a document, the built-in rules say what the official files say, and the grammar table
 * what libxml2 says with the official schemas.
 * Method: seeded damage to whole published documents, of three kinds: what rules see (amounts, codes, groups), what the
 * Peppol rules see (national layers, identifiers), and what a grammar sees (order, names, types, raw text).
 * `MUTATIONS=50000 SEED=7` runs more and others; a difference prints its seed, which `SEED=<that> MUTATIONS=1` repeats,
 * and the smallest document that still shows it.
 */
import { expect, test } from "vitest";
import { invoiceWithLines } from "../../bench/documents.js";
import { openAgreement, shrinkBytes } from "../support/validators/agreement.js";
import { conformanceBytes, conformanceFiles, describeConformance } from "../support/conformance.js";
import { mutate as mutateRules, treeOf } from "../support/documents/mutate.js";
import { peppolMutant } from "../support/documents/peppol-mutants.js";
import { Random, seedFrom } from "../support/random.js";
import { mutate as mutateText } from "../support/documents/xml-mutations.js";

const MUTATIONS = Number(process.env["MUTATIONS"] ?? 600);
const SEED = seedFrom(20_261_124);
/** Differences told before the run ends. */
const TOLD_MAX = 10;
const BYTES_MAX = 60_000;

interface Source {
  readonly name: string;
  readonly bytes: Buffer;
  readonly selfBilling: boolean;
}

const DAMAGES: Readonly<Record<string, (source: Buffer, random: Random) => Buffer>> = {
  rules: (source, random) => mutateRules(treeOf(source), random).bytes,
  peppol: peppolMutant,
  grammar: (source, random) => Buffer.from(mutateText(source.toString("latin1"), random).text, "latin1"),
  both: (source, random) =>
    Buffer.from(mutateText(mutateRules(treeOf(source), random).bytes.toString("latin1"), random).text, "latin1"),
};

describeConformance("built-in rules, official rules and libxml2", "schematron", () => {
  test(
    `our rules, the official rules and libxml2 agree on ${MUTATIONS} damaged documents (seed ${SEED})`,
    { timeout: 300_000 + MUTATIONS * 60 },
    () => {
      const sources: Source[] = ["en16931", "peppol-3.0.19", "peppol-3.0.21", "self-billing-3.0.21"]
        .flatMap((folder) =>
          conformanceFiles(`documents/${folder}`, ".xml").map((name) => ({
            name: `${folder}/${name}`,
            bytes: conformanceBytes("documents", folder, name),
            selfBilling: folder.startsWith("self"),
          })),
        )
        .filter(({ bytes }) => bytes.length <= BYTES_MAX);
      sources.push({ name: "ours", bytes: invoiceWithLines(3), selfBilling: false });
      const agreement = openAgreement();
      const told: string[] = [];
      for (let n = 0; n < MUTATIONS && told.length < TOLD_MAX; n += 1) {
        const seed = (SEED + n) >>> 0;
        const random = new Random(seed);
        const source = random.pick(sources);
        const kind = random.pick(Object.keys(DAMAGES));
        const bytes = DAMAGES[kind]?.(source.bytes, random) ?? source.bytes;
        const found = agreement.difference(bytes, source.selfBilling);
        if (found === undefined) continue;
        const small = shrinkBytes(bytes, (smaller) => agreement.difference(smaller, source.selfBilling) !== undefined);
        told.push(
          `SEED=${seed} MUTATIONS=1 ${source.name} ${kind}: ${found}\n  shrunk: ${agreement.difference(small, source.selfBilling) ?? ""}\n  ${small.toString("latin1")}`,
        );
      }
      expect(told.join("\n")).toBe("");
      // Both verdicts must occur, and many rules must have spoken, or the comparison shows nothing.
      if (MUTATIONS >= 500) {
        expect(agreement.judged.valid).toBeGreaterThan(MUTATIONS / 20);
        expect(agreement.judged.invalid).toBeGreaterThan(MUTATIONS / 20);
        expect(agreement.fired.size).toBeGreaterThan(100);
      }
      if (process.env["MUTATIONS"] !== undefined)
        process.stderr.write(
          `${MUTATIONS} mutants from seed ${SEED}: ${JSON.stringify(agreement.judged)}, ${agreement.fired.size} rules fired\n`,
        );
    },
  );
});
