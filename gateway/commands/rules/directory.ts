/** Where the packs are, and the errors of the importer as sentences for the operator. */
import { loadConfig } from "../../../engine/base/config.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { asSentence } from "../../start/rule-packs.js";
import { UsageError } from "../command.js";

/** The folder of the imported packs. @throws UsageError when RULES_DIR does not name one */
export function rulesDir(): string {
  const { RULES_DIR } = loadConfig();
  if (RULES_DIR === undefined) throw new UsageError("Set RULES_DIR to the folder of the rule packs.");
  return RULES_DIR;
}

/** A list of ids for people: a few by name, and how many there are besides. */
export const idList = (ids: readonly string[]): string =>
  `${ids.slice(0, LIMITS.rule_ids_shown_max).join(", ")}${ids.length > LIMITS.rule_ids_shown_max ? `, and ${ids.length - LIMITS.rule_ids_shown_max} more` : ""}`;

/** Runs a part of the importer and shows its errors as they are: they name file, line and construct for a person. */
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
