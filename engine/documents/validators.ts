/** The port to the worker threads, as the engine's documents use it. */
import { bratislavaDay } from "../clock.js";
import { Refusal } from "../errors.js";
import { LIMITS } from "../limits.js";
import type { Metrics } from "../metrics.js";
import { PoolBusy, type ValidatorPool } from "../../validators/pool.js";
import type { Report, ScanLimits } from "../../validators/protocol.js";
import type { Inspection, Validators } from "./facts.js";

/** What a document may ask of a worker. */
export const SCAN_LIMITS: ScanLimits = {
  payloadBytes: LIMITS.payload_bytes_max, depth: LIMITS.xml_depth_max, attributesPerElement: LIMITS.xml_attributes_per_element_max,
  nameLength: LIMITS.xml_name_bytes_max, elements: LIMITS.xml_elements_max, namespaceDeclarations: LIMITS.xml_namespace_declarations_max,
  names: LIMITS.xml_unknown_names_max, findings: LIMITS.findings_max,
};

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
        const report = await pool.validate(payload, { day: bratislavaDay(receivedAt), limits: SCAN_LIMITS, fairnessKey });
        measure(metrics, report);
        return inspectionOf(report);
      } catch (error) {
        if (error instanceof PoolBusy) throw new Refusal("TEMPORARY", [], { retryAfter_s: LIMITS.temporary_retry_after_s });
        throw error;
      }
    },
  };
}
