/** Whether the imported rule packs can be used, asked before the engine starts. */
import { statSync } from "node:fs";

/**
 * Looks at the active packs before the engine starts: what a worker would refuse stops the start.
 * @returns one sentence for the operator, or undefined when all of them can be used
 */
export async function whyPacksAreRefused(directory: string): Promise<string | undefined> {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true)
    return "RULES_DIR names no folder; create it, or leave the variable out to use the built-in rules.";
  const [{ loadPacks }, { PackRefused }, { XsdUnavailable }] = await Promise.all([
    import("../../validators/selection/load-packs.js"),
    import("../../validators/schematron/release/load.js"),
    import("../../validators/schematron/release/xsd.js"),
  ]);
  try {
    for (const { validator } of (await loadPacks(directory)).grammars) validator.dispose();
    return undefined;
  } catch (error) {
    if (error instanceof PackRefused || error instanceof XsdUnavailable)
      return `RULES_DIR cannot be used: ${asSentence(error.message)}`;
    throw error;
  }
}

/** A message of the importer as a sentence of ours. */
export const asSentence = (text: string): string => (text.endsWith(".") ? text : `${text}.`);
