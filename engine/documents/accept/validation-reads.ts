/** The projections of one report that the validation operations answer with. @source spec/rulings.md, section 13 */
import type { Finding, Language, Report } from "../../../validators/protocol.js";

/** A finding as it is shown. */
interface ShownFinding {
  readonly ruleId: string;
  readonly layer: string;
  readonly severity: Finding["severity"];
  readonly location: string;
  /** Of a document that came as JSON: its member. */
  readonly field?: string;
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

/** What is wrong with a document that came as JSON, by its members. */
interface JsonDocument {
  readonly problems: readonly {
    readonly field: string;
    readonly ruleId: string;
    readonly severity: "fatal" | "warning";
    readonly message: Readonly<Record<Language, string>>;
    /** Of what came as UBL. */
    readonly location?: string;
  }[];
  readonly dropped: number;
  /** The member from which the place of a finding came. */
  readonly fieldOf: (finding: Pick<Finding, "ruleId" | "location">) => string;
}

/**
 * `POST /payloads/validate` of a document as JSON: what is wrong with its members, and what the rules found in the UBL
 * that was made of it, each with the member.
 * @param report  of the UBL; undefined where there is none because a problem is fatal
 */
export function jsonValidation(
  { problems, dropped, fieldOf }: JsonDocument,
  report: Report | undefined,
  language: Language,
): PayloadValidation {
  const ofMembers = shownProblems(problems, language);
  const judged = payloadValidation(report ?? { valid: false, findings: [], dropped });
  // Lines and columns would be those of a document that nobody has seen.
  const named = (finding: ShownFinding): ShownFinding => {
    const { line: _line, column: _column, ...rest } = finding;
    return { ...rest, field: fieldOf(finding) };
  };
  const errors = [...ofMembers.filter((finding) => !isWarning(finding)), ...judged.errors.map(named)];
  const warnings = [...ofMembers.filter(isWarning), ...judged.warnings.map(named)];
  return { ...judged, errorCount: errors.length, warningCount: warnings.length, errors, warnings };
}

const shownProblems = (problems: JsonDocument["problems"], language: Language): ShownFinding[] =>
  problems.map(({ field, ruleId, severity, location = "/", message }) => ({
    ruleId,
    layer: "json",
    severity,
    location,
    field,
    message: message[language],
  }));

/** `POST /payloads/convert` of UBL: what an invoice as JSON would change of the document. */
export function conversionOf(
  { problems, dropped, isAnother }: Pick<JsonDocument, "problems" | "dropped"> & { readonly isAnother: boolean },
  language: Language,
): PayloadValidation {
  const found = shownProblems(problems, language);
  const errors = found.filter((finding) => !isWarning(finding));
  const warnings = found.filter(isWarning);
  return {
    valid: !isAnother,
    errorCount: errors.length,
    warningCount: warnings.length,
    errors,
    warnings,
    ...omission({ dropped }),
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
