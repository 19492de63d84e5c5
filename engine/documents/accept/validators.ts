/** The port to the worker threads, as the engine's documents use it. */
import { bratislavaDay } from "../../base/clock.js";
import { temporary } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import type { Metrics } from "../../base/metrics.js";
import { JobQuarantined, NoWorker, PoolBusy, quarantinedReport } from "../../../validators/pool.js";
import type { ValidatorPool } from "../../../validators/pool.js";
import type { Party } from "../../invoices/draft.js";
import type {
  ConvertOutput,
  Language,
  MapInput,
  MapOutput,
  ParseOutput,
  Report,
  ScanLimits,
  ViewFormat,
  ViewOutput,
} from "../../../validators/protocol.js";
import { RESPONSE_LIMITS } from "../../peppol/responses/application-response.js";
import type { Inspection, InspectOptions, ResponseReader, Validators } from "./facts.js";

export type { DocumentSummary } from "../../../validators/protocol.js";
export type Shown = Extract<ViewOutput, { readonly kind: "shown" }>;

/** What a document may ask of a worker. */
export const SCAN_LIMITS: ScanLimits = {
  payloadBytes: LIMITS.payload_bytes_max,
  depth: LIMITS.xml_depth_max,
  attributesPerElement: LIMITS.xml_attributes_per_element_max,
  nameLength: LIMITS.xml_name_bytes_max,
  elements: LIMITS.xml_elements_max,
  namespaceDeclarations: LIMITS.xml_namespace_declarations_max,
  names: LIMITS.xml_unknown_names_max,
  findings: LIMITS.findings_max,
};

/** How a document is shown. */
export interface ViewOptions {
  readonly fairnessKey: string;
  readonly language: Language;
  readonly format: ViewFormat;
}

/** What is judged and read by the workers, as the engine's documents ask for it. */
export interface DocumentWorkers extends Validators, ResponseReader {
  /** The whole report. @throws Refusal TEMPORARY when the queue is full */
  report(payload: Uint8Array, options: InspectOptions): Promise<Report>;
  /** What a document says, without a verdict. @throws Refusal TEMPORARY when the queue is full */
  parse(payload: Uint8Array, options: { readonly fairnessKey: string }): Promise<ParseOutput>;
  /**
   * The document as an invoice that the firm could send as JSON, and what JSON would change of it.
   * @throws Refusal TEMPORARY when the queue is full
   */
  convert(payload: Uint8Array, options: { readonly fairnessKey: string; readonly own: Party }): Promise<ConvertOutput>;
  /** The document as a person reads it. @throws Refusal TEMPORARY when the queue is full */
  view(payload: Uint8Array, options: ViewOptions): Promise<ViewOutput>;
  /** Makes a create body out of a source. @throws Refusal TEMPORARY when the queue is full */
  map(input: MapInput, options: { readonly fairnessKey: string }): Promise<MapOutput>;
}

/** The letters that begin an id, with the group behind them: `BR-CO`, `UBL-CR`, `PEPPOL-EN16931`. */
export const familyOf = (ruleId: string): string =>
  /^!?[A-Za-z]+(?:-[A-Z][A-Z0-9]*(?=-))?/.exec(ruleId)?.[0] ?? "other";

/** Counts what was found. */
export function measure(metrics: Metrics, report: Report): void {
  for (const { layer, severity, ruleId } of report.findings) {
    metrics.count("validation_findings_total", { layer: layer.startsWith("pack:") ? "pack" : layer, severity });
    metrics.count("validation_rule_family_total", { family: layer.startsWith("pack:") ? "pack" : familyOf(ruleId) });
  }
}

/** A report as the engine keeps it. */
export const inspectionOf = (report: Report): Inspection => ({
  valid: report.valid,
  wellFormed: report.wellFormed,
  findings: report.findings,
  facts: report.facts,
  payloadSha256: report.payloadSha256,
  ...(report.compressed === undefined ? {} : { compressed: report.compressed }),
  ruleSet: report.ruleSets.map(({ id, version }) => `${id} ${version}`).join(", "),
  ...(report.upcoming === undefined || report.upcoming.length === 0
    ? {}
    : { validLater: Object.fromEntries(report.upcoming.map(({ mandatoryFrom, valid }) => [mandatoryFrom, valid])) }),
});

/** What a worker makes of a document. One that has killed workers is refused like one that cannot be read. */
async function readable<T>(
  work: Promise<T>,
): Promise<T | { readonly kind: "refused"; readonly findings: Report["findings"] }> {
  try {
    return await orTemporary(work);
  } catch (error) {
    if (!(error instanceof JobQuarantined)) throw error;
    return { kind: "refused", findings: quarantinedReport(error.sha256).findings };
  }
}

async function orTemporary<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof PoolBusy || error instanceof NoWorker) throw temporary();
    throw error;
  }
}

/** @param rulesDir  the operator's imported rule packs; default none */
export function createValidators(pool: ValidatorPool, metrics: Metrics, rulesDir?: string): DocumentWorkers {
  const packs = rulesDir === undefined ? {} : { rulesDir };
  const report: DocumentWorkers["report"] = async (
    payload,
    { fairnessKey, receivedAt, compress, details, upcoming, language },
  ) => {
    const made = await orTemporary(
      pool.validate(payload, {
        day: bratislavaDay(receivedAt),
        limits: SCAN_LIMITS,
        fairnessKey,
        ...(compress === true ? { compressLevel: LIMITS.payload_gzip_level } : {}),
        ...(details === undefined ? {} : { details }),
        ...(upcoming === undefined ? {} : { upcoming }),
        ...(language === undefined ? {} : { language }),
        ...packs,
      }),
    );
    measure(metrics, made);
    return made;
  };
  return {
    report,
    inspect: async (payload, options) => inspectionOf(await report(payload, options)),
    parse: (payload, { fairnessKey }) =>
      readable(
        pool.run("parse", { bytes: payload, limits: SCAN_LIMITS, linesMax: LIMITS.parsed_lines_max }, { fairnessKey }),
      ),
    convert: (payload, { fairnessKey, own }) =>
      readable(pool.run("convert", { bytes: payload, limits: SCAN_LIMITS, own }, { fairnessKey })),
    view: (payload, { fairnessKey, language, format }) =>
      readable(pool.run("view", { bytes: payload, limits: SCAN_LIMITS, language, format }, { fairnessKey })),
    map: async (input, { fairnessKey }) => {
      try {
        return await orTemporary(pool.run("map", input, { fairnessKey }));
      } catch (error) {
        if (!(error instanceof JobQuarantined)) throw error;
        return { kind: "unreadable", ruleId: "MAPPER-TIME", message: "The source takes too long to be read." };
      }
    },
    response: async (payload) => {
      // Too large to be one: a worker need not be given a copy to find that out.
      if (payload.length > RESPONSE_LIMITS.bytes) return undefined;
      try {
        return await orTemporary(
          pool.run(
            "response",
            { bytes: payload, limits: RESPONSE_LIMITS, entriesMax: LIMITS.mls_issues_max },
            { fairnessKey: "responses" },
          ),
        );
      } catch (error) {
        if (!(error instanceof JobQuarantined)) throw error;
        return undefined;
      }
    },
  };
}
