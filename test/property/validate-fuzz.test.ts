/**
 * Goal: no damage to a document makes a rule throw, and every finding can be placed.
 * Method: the mutants of the grammar test through the whole chain, with and without the schema layer
 * (`MUTATIONS=50000 SEED=7` runs more, or repeats a run).
 */
import { expect, test } from "vitest";
import { invoiceWithLines } from "../../bench/documents.js";
import type { ValidateOptions } from "../../validators/protocol.js";
import { validateDocument } from "../../validators/validate.js";
import { SCAN_LIMITS } from "../../validators/xml/limits.js";
import { conformanceBytes, conformanceFiles, describeConformance } from "../support/conformance.js";
import { Random, seedFrom } from "../support/random.js";
import { mutate } from "../support/documents/xml-mutations.js";

const MUTATIONS = Number(process.env["MUTATIONS"] ?? 1_500);
const SEED = seedFrom(20_261_122);
const OPTIONS: ValidateOptions = { limits: SCAN_LIMITS, day: "2026-11-20" };

describeConformance("the whole chain on damaged documents", "documents", () => {
  test(`${MUTATIONS} mutants are judged without an exception (seed ${SEED})`, { timeout: 900_000 }, () => {
    const bases = ["en16931", "invoice-response", "peppol-3.0.21", "self-billing-3.0.21"]
      .flatMap((folder) =>
        conformanceFiles(`documents/${folder}`, ".xml").map((file) => conformanceBytes("documents", folder, file)),
      )
      .filter((bytes) => bytes.length < 60_000);
    bases.push(invoiceWithLines(2));
    const faults: string[] = [];
    for (let n = 0; n < MUTATIONS; n++) {
      const random = new Random(SEED + n);
      const { text, kinds } = mutate(random.pick(bases).toString("latin1"), random);
      const bytes = Buffer.from(text, "latin1");
      try {
        const report = validateDocument(bytes, { ...OPTIONS, fragment: random.int(2) === 0 });
        const unplaced = report.findings.filter(
          ({ location, line }) => !location.startsWith("/") || line === undefined || line < 1,
        );
        const valid = report.findings.every(({ severity }) => severity === "warning");
        if (unplaced.length > 0 || (valid !== report.valid && report.dropped === 0))
          faults.push(`SEED=${SEED + n} MUTATIONS=1 ${kinds.join("+")}: ${JSON.stringify(unplaced)}`);
      } catch (error) {
        faults.push(
          `SEED=${SEED + n} MUTATIONS=1 ${kinds.join("+")}: ${error instanceof Error ? (error.stack?.slice(0, 400) ?? error.message) : ""}`,
        );
      }
    }
    expect(faults.slice(0, 5).join("\n")).toBe("");
  });
});
