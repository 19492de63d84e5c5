/** The projections of one report that the validation operations answer with. @source spec/rulings.md, section 13 */
import type { Finding, Report } from "../../../validators/protocol.js";

/** A finding as it is shown. */
interface ShownFinding {
  readonly ruleId: string;
  readonly layer: string;
  readonly severity: Finding["severity"];
  readonly location: string;
  readonly line?: number;
  readonly column?: number;
  readonly value?: string;
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
  /** How many of them each rule has. */
  readonly omittedRules?: Record<string, number>;
  /** Only when it was asked for. */
  readonly upcoming?: UpcomingVerdict[];
}

/** The verdict from a later day on. */
interface UpcomingVerdict {
  readonly mandatoryFrom: string;
  readonly ruleSet: string[];
  readonly valid: boolean;
  /** What is found then and not today. */
  readonly findings: ShownFinding[];
}

interface LayerVerdict {
  readonly valid: boolean;
  readonly messages: ShownFinding[];
}

/** Layers `xml` and `schema` appear together as `xsd`. */
interface PublicValidation {
  readonly valid: boolean;
  /** Which rules were taken. */
  readonly profile: string;
  /** Each rule set that judged, with its version. */
  readonly ruleSet: string[];
  readonly xsd: LayerVerdict;
  readonly en16931: LayerVerdict;
  readonly peppol: LayerVerdict;
  readonly advice: LayerVerdict;
  readonly upcoming?: UpcomingVerdict[];
  readonly omittedCount?: number;
  readonly omittedRules?: Record<string, number>;
}

/** What leaves a document valid: warnings, and what only informs. */
const isWarning = ({ severity }: Pick<Finding, "severity">): boolean =>
  severity === "warning" || severity === "information";

/** Findings beyond the bound of one report, where there are any. */
const omission = ({ dropped, omitted = {} }: Pick<Report, "dropped" | "omitted">) =>
  dropped > 0 ? { omittedCount: dropped, omittedRules: { ...omitted } } : {};

const later = ({ upcoming }: Pick<Report, "upcoming">) =>
  upcoming === undefined
    ? {}
    : {
        upcoming: upcoming.map(({ mandatoryFrom, ruleSets, valid, findings }) => ({
          mandatoryFrom,
          ruleSet: ruleSets.map(({ id, version }) => `${id} ${version}`),
          valid,
          findings: findings.map(shown),
        })),
      };

const shown = ({ ruleId, layer, severity, location, line, column, value, message, btIds }: Finding): ShownFinding => ({
  ruleId,
  layer,
  severity,
  location,
  ...(line === undefined ? {} : { line }),
  ...(column === undefined ? {} : { column }),
  ...(value === undefined ? {} : { value }),
  message,
  ...(btIds === undefined ? {} : { btIds: [...btIds] }),
});

/** `POST /payloads/validate`: errors are what makes the document invalid. */
export function payloadValidation({
  valid,
  findings,
  dropped,
  omitted,
  ...rest
}: Pick<Report, "valid" | "findings" | "dropped" | "omitted" | "upcoming">): PayloadValidation {
  const errors = findings.filter((finding) => !isWarning(finding)).map(shown);
  const warnings = findings.filter(isWarning).map(shown);
  return {
    valid,
    errorCount: errors.length,
    warningCount: warnings.length,
    errors,
    warnings,
    ...omission({ dropped, ...(omitted === undefined ? {} : { omitted }) }),
    ...later(rest),
  };
}

/**
 * `POST /api/validate`. A document that cannot be read is valid in no layer; a layer that has no rules for this kind of
 * document finds nothing. Layers that an operator's packs add stand with Peppol's. When more was found than is told,
 * the report's own verdict stands above those of the layers. Advice is warnings only, and about documents that can be
 * read.
 */
export function publicValidation({
  valid,
  wellFormed,
  findings,
  profile,
  ruleSets,
  ...rest
}: Pick<
  Report,
  "valid" | "wellFormed" | "findings" | "profile" | "ruleSets" | "dropped" | "omitted" | "upcoming"
>): PublicValidation {
  const verdict = (belongs: (layer: string) => boolean): LayerVerdict => {
    const messages = findings.filter(({ layer }) => belongs(layer)).map(shown);
    return { valid: wellFormed && messages.every(isWarning), messages };
  };
  return {
    valid,
    profile,
    ruleSet: ruleSets.map(({ id, version }) => `${id} ${version}`),
    xsd: verdict((layer) => layer === "xml" || layer === "schema"),
    en16931: verdict((layer) => layer === "en16931"),
    peppol: verdict((layer) => layer === "peppol" || layer.startsWith("pack:")),
    advice: verdict((layer) => layer === "advice"),
    ...omission(rest),
    ...later(rest),
  };
}
