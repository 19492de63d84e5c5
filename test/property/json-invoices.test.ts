/**
 * Goal: an invoice as JSON becomes UBL that every rule layer takes, or the answer names the member that is wrong; its
 * sums are right to the cent.
 * Method: generated invoices through the builder and the whole validator; sums computed again from the JSON with
 * fractions of BigInt that share no code with the builder (`SEED=7 RUNS=5000` repeats or extends a run).
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { buildInvoice } from "../../engine/invoices/build.js";
import { validateDocument } from "../../validators/validate.js";
import { SCAN_LIMITS } from "../../validators/xml/limits.js";
import { anyInvoice, anySums, exactSums, SUMMED, sumsIn } from "../support/documents/any-invoices.js";
import { OWN_FIRM } from "../support/documents/json-invoices.js";

const seed = Number(process.env["SEED"] ?? 20_261_122);
const numRuns = Number(process.env["RUNS"] ?? 400);
const OPTIONS = { limits: SCAN_LIMITS, day: "2026-11-20" };

const judge = (value: unknown) => {
  const built = buildInvoice(value, OWN_FIRM);
  const report = built.ubl === undefined ? undefined : validateDocument(built.ubl, OPTIONS);
  return { ...built, findings: report?.findings ?? [], valid: report?.valid === true };
};

test(`a generated invoice passes every rule layer, or what is wrong is named by its member (SEED=${seed})`, () => {
  let valid = 0;
  fc.assert(
    fc.property(anyInvoice, (value) => {
      // As it arrives: through JSON, where what is undefined is not there.
      const { ubl, problems, findings, fieldOf, valid: passes } = judge(JSON.parse(JSON.stringify(value)));
      if (passes) valid++;
      if (ubl === undefined) {
        expect(problems.filter(({ severity, field }) => severity === "fatal" && field !== "document")).not.toEqual([]);
        return;
      }
      const unnamed = findings.filter((finding) => finding.severity !== "warning" && fieldOf(finding) === "document");
      expect(unnamed.map(({ ruleId, location, message }) => [ruleId, location, message])).toEqual([]);
    }),
    { seed, numRuns },
  );
  // A builder that refuses everything would keep the promise and help nobody.
  expect(valid).toBeGreaterThan(numRuns / 50);
});

test(`every sum equals one that is computed with BigInt fractions, to the cent (SEED=${seed})`, () => {
  fc.assert(
    fc.property(anySums, (value) => {
      const { ubl, findings } = judge({ ...value, ...SUMMED, receiverPeppolId: "0245:2020202020" });
      expect(findings).toEqual([]);
      expect(sumsIn(ubl ?? Buffer.alloc(0))).toEqual(exactSums(value));
    }),
    { seed, numRuns: Math.ceil(numRuns / 4) },
  );
});
