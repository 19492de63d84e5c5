/** The port to the worker threads, as the engine's documents use it. */
import { bratislavaDay } from "../clock.js";
import { Refusal } from "../errors.js";
import { LIMITS } from "../limits.js";
import type { Metrics } from "../metrics.js";
import { PoolBusy, type ValidatorPool } from "../../validators/pool.js";
import type { Report } from "../../validators/protocol.js";
import type { Inspection, Validators } from "./facts.js";

/** Letters before the first digit or hyphen group: `BR-CO`, `UBL-CR`, `PEPPOL-EN16931`. */
const familyOf = (ruleId: string): string => /^!?[A-Za-z]+(?:-[A-Z]+)?/.exec(ruleId)?.[0] ?? "other";

function measure(metrics: Metrics, report: Report): void {
  for (const { layer, severity, ruleId } of report.findings) {
    metrics.count("validation_findings_total", { layer: layer.startsWith("pack:") ? "pack" : layer, severity });
    metrics.count("validation_rule_family_total", { family: layer.startsWith("pack:") ? "pack" : familyOf(ruleId) });
  }
}

const inspectionOf = (report: Report): Inspection => ({
  valid: report.valid,
  wellFormed: report.wellFormed,
  findings: report.findings,
  facts: report.facts,
  payloadSha256: report.payloadSha256,
  ruleSet: report.ruleSets.map(({ id, version }) => `${id} ${version}`).join(", "),
});

export function createValidators(pool: ValidatorPool, metrics: Metrics): Validators {
  return {
    inspect: async (payload, { fairnessKey, receivedAt }) => {
      try {
        const report = await pool.validate(payload, { day: bratislavaDay(receivedAt), fairnessKey });
        measure(metrics, report);
        return inspectionOf(report);
      } catch (error) {
        if (error instanceof PoolBusy) throw new Refusal("TEMPORARY", [], { retryAfter_s: LIMITS.temporary_retry_after_s });
        throw error;
      }
    },
  };
}
