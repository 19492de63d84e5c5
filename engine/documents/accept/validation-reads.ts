/** The projections of one report that the validation operations answer with. @source spec/rulings.md, section 13 */
import type { Finding, Report } from "../../../validators/protocol.js";

/** A finding as it is shown. */
interface ShownFinding {
  readonly ruleId: string;
  readonly layer: string;
  readonly severity: Finding["severity"];
  readonly location: string;
  readonly line?: number;
  readonly message: string;
  readonly btIds?: string[];
}

interface PayloadValidation {
  readonly valid: boolean;
  readonly errorCount: number;
  readonly warningCount: number;
  readonly errors: ShownFinding[];
  readonly warnings: ShownFinding[];
  /** Findings beyond the bound of one report; absent when there are none. */
  readonly omittedCount?: number;
}

interface LayerVerdict {
  readonly valid: boolean;
  readonly messages: ShownFinding[];
}

/** Layers `xml` and `schema` appear together as `xsd`. */
interface PublicValidation {
  readonly valid: boolean;
  readonly xsd: LayerVerdict;
  readonly en16931: LayerVerdict;
  readonly peppol: LayerVerdict;
}

const isWarning = ({ severity }: Pick<Finding, "severity">): boolean => severity === "warning";

const shown = ({ ruleId, layer, severity, location, line, message, btIds }: Finding): ShownFinding => ({
  ruleId,
  layer,
  severity,
  location,
  ...(line === undefined ? {} : { line }),
  message,
  ...(btIds === undefined ? {} : { btIds: [...btIds] }),
});

/** `POST /payloads/validate`: errors are what makes the document invalid. */
export function payloadValidation({
  valid,
  findings,
  dropped,
}: Pick<Report, "valid" | "findings" | "dropped">): PayloadValidation {
  const errors = findings.filter((finding) => !isWarning(finding)).map(shown);
  const warnings = findings.filter(isWarning).map(shown);
  return {
    valid,
    errorCount: errors.length,
    warningCount: warnings.length,
    errors,
    warnings,
    ...(dropped > 0 ? { omittedCount: dropped } : {}),
  };
}

/**
 * `POST /api/validate`. A document that cannot be read is valid in no layer; a layer that has no rules for this kind of
 * document finds nothing. Layers that an operator's packs add stand with Peppol's. When more was found than is told,
 * the report's own verdict stands above those of the layers.
 */
export function publicValidation({
  valid,
  wellFormed,
  findings,
}: Pick<Report, "valid" | "wellFormed" | "findings">): PublicValidation {
  const verdict = (belongs: (layer: string) => boolean): LayerVerdict => {
    const messages = findings.filter(({ layer }) => belongs(layer)).map(shown);
    return { valid: wellFormed && messages.every(isWarning), messages };
  };
  return {
    valid,
    xsd: verdict((layer) => layer === "xml" || layer === "schema"),
    en16931: verdict((layer) => layer === "en16931"),
    peppol: verdict((layer) => layer === "peppol" || layer.startsWith("pack:")),
  };
}
