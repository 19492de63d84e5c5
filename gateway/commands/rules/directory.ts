/** Where the packs are, and the errors of the importer as sentences for the operator. */
import { loadConfig } from "../../../engine/base/config.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { asSentence } from "../../start/rule-packs.js";
import { UsageError } from "../command.js";

/** RULES_DIR. @throws UsageError without it */
export function rulesDir(): string {
  const { RULES_DIR } = loadConfig();
  if (RULES_DIR === undefined) throw new UsageError("Set RULES_DIR to the folder of the rule packs.");
  return RULES_DIR;
}

/** Ids as people read them: the first ones by name. */
export const idList = (ids: readonly string[]): string =>
  `${ids.slice(0, LIMITS.rule_ids_shown_max).join(", ")}${ids.length > LIMITS.rule_ids_shown_max ? `, and ${ids.length - LIMITS.rule_ids_shown_max} more` : ""}`;

/** Errors of the importer are written for the operator: they name file, line and construct. */
export async function readable<T>(work: () => Promise<T> | T): Promise<T> {
  const [{ ReleaseError }, { PackRefused }, { SourceError }, { ZipError }, { XsdUnavailable }] = await Promise.all([
    import("../../../validators/schematron/release/release.js"),
    import("../../../validators/schematron/release/load.js"),
    import("../../../validators/schematron/release/source-xml.js"),
    import("../../../validators/schematron/release/zip.js"),
    import("../../../validators/schematron/release/xsd.js"),
  ]);
  try {
    return await work();
  } catch (error) {
    if (
      error instanceof ReleaseError ||
      error instanceof PackRefused ||
      error instanceof SourceError ||
      error instanceof ZipError ||
      error instanceof XsdUnavailable
    )
      throw new UsageError(asSentence(error.message));
    throw error;
  }
}
