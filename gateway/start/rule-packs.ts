/** Whether the imported rule packs can be used, asked before the engine starts. */
import { statSync } from "node:fs";
import { errorCode } from "../../engine/base/errors.js";
import { LIMITS } from "../../engine/base/limits.js";
import { errorFields } from "../../engine/base/log.js";
import type { Log } from "../../engine/base/log.js";
import { every } from "../../engine/base/waiting/every.js";

/**
 * Looks at the active packs before the engine starts: what a worker would refuse stops the start.
 * @returns one sentence for the operator, or undefined when all of them can be used
 */
export async function whyPacksAreRefused(directory: string): Promise<string | undefined> {
  if (!isFolder(directory))
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

/** @throws what the system says where this user may not look */
function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    // Asked not to throw, Node.js 24 keeps silent about a path through a file, and Node.js 20 does not.
    if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return false;
    throw error;
  }
}

/**
 * Says in the log when the packs of a folder change under a running engine, whose threads take them up by themselves,
 * and names those that they cannot use.
 * @returns ends the watch
 */
export function watchPacks(directory: string, log: Log): () => void {
  let known: string | undefined;
  const look = async (): Promise<void> => {
    const { listPacks, packsStamp } = await import("../../validators/schematron/release/load.js");
    const stamp = packsStamp(directory);
    const before = known;
    known = stamp;
    if (before === undefined || before === stamp) return;
    const packs = listPacks(directory);
    for (const { id, refusal } of packs)
      if (refusal !== undefined) log.error("rules.pack_refused", { code: id, outcome: refusal });
    log.info("rules.packs_changed", { count: packs.filter(({ manifest }) => manifest?.active === true).length });
  };
  const lookAndTell = (): void => {
    look().catch((error: unknown) => {
      log.error("rules.look_failed", errorFields(error));
    });
  };
  lookAndTell();
  return every(LIMITS.rule_packs_look_ms, lookAndTell);
}

/** A message of the importer as a sentence of ours. */
export const asSentence = (text: string): string => (text.endsWith(".") ? text : `${text}.`);
