/** `kurier rules verify`: a pack beside the built-in rules that it looks like, over documents. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import { bratislavaDay, systemClock } from "../../../engine/base/clock.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { SCAN_LIMITS } from "../../../engine/documents/accept/validators.js";
import type { RuleSet } from "../../../validators/rules/rule.js";
import type { CorpusDocument } from "../../../validators/schematron/release/verify.js";
import { EXIT, parseArguments, UsageError } from "../command.js";
import type { ExitCode } from "../command.js";
import { print, progress } from "../terminal.js";
import { idList, readable, rulesDir } from "./directory.js";

/** The XML files at or below a path, sorted by name. */
const documentsBelow = (path: string): string[] =>
  statSync(path).isDirectory()
    ? readdirSync(path)
        .sort()
        .flatMap((name) => documentsBelow(join(path, name)))
    : path.toLowerCase().endsWith(".xml")
      ? [path]
      : [];

/** Built-in rules and the schemas of the pack that look like them, as one rule set. */
interface Pair {
  readonly builtIn: RuleSet;
  readonly imported: RuleSet;
  /** Ids of built-in rules that the pack does not have, or has only as warnings. */
  readonly lacking: readonly string[];
}

async function pairsOf(id: string): Promise<Pair[]> {
  const [{ loadPack }, { likenesses }, { mergeRuleSets }] = await Promise.all([
    import("../../../validators/schematron/release/load.js"),
    import("../../../validators/schematron/release/layers.js"),
    import("../../../validators/selection/coverage.js"),
  ]);
  const { schemas } = await readable(() => loadPack(rulesDir(), id));
  const offered = schemas.map(({ entry, rules }) => ({
    file: entry.file,
    asserts: rules.catalogue,
    customizations: entry.customizations,
  }));
  return likenesses(offered, new Set()).map(({ builtIn, files, lost }) => ({
    builtIn,
    imported: mergeRuleSets(schemas.filter(({ entry }) => files.includes(entry.file)).map(({ rules }) => rules)),
    lacking: [...lost.missing, ...lost.milder],
  }));
}

/**
 * Compares the verdicts of a pack and of the built-in rules on every rule that both have, and counts the built-in rules
 * that the pack lacks. A difference or a missing rule is a failure of the command.
 */
export async function verify(args: readonly string[]): Promise<ExitCode> {
  const {
    values: [id, ...paths],
  } = parseArguments(args, { words: Infinity });
  if (id === undefined || paths.length === 0)
    throw new UsageError("Name the pack and the folders or files to compare on.");
  const pairs = await pairsOf(id);
  if (pairs.length === 0) {
    print(`${id} looks like none of the built-in rule sets: it adds rules, and there is nothing to compare them with.`);
    return EXIT.failed;
  }
  const files = paths.flatMap(documentsBelow);
  const { compared, differing } = await compare(id, pairs, files);
  const lacking = pairs.flatMap((pair) => pair.lacking);
  for (const { builtIn, lacking: ids } of pairs)
    if (ids.length > 0) print(`${id} lacks ${ids.length} rules of ${builtIn.id} ${builtIn.version}: ${idList(ids)}`);
  print(
    `${compared} comparisons over ${files.length} files, ${differing} differences, ${lacking.length} rules lacking.`,
  );
  return differing === 0 && lacking.length === 0 && compared > 0 ? EXIT.ok : EXIT.failed;
}

async function compare(
  id: string,
  pairs: readonly Pair[],
  files: readonly string[],
): Promise<{ readonly compared: number; readonly differing: number }> {
  const { within } = await import("../../../validators/schematron/runtime/deadline.js");
  const [{ sharedIds, verifyRules }, { selectRules }, { scan }, { inspect }, { isKnownRoot }] = await Promise.all([
    import("../../../validators/schematron/release/verify.js"),
    import("../../../validators/selection/builtin.js"),
    import("../../../validators/xml/scanner.js"),
    import("../../../validators/inspect.js"),
    import("../../../validators/ubl/check.js"),
  ]);
  const day = bratislavaDay(systemClock.now());
  const bar = progress("comparing", files.length);
  let compared = 0;
  let differing = 0;
  for (const [index, file] of files.entries()) {
    bar.step(index + 1);
    const scanned = scan(readFileSync(file), SCAN_LIMITS);
    if (scanned.kind === "refused" || !isKnownRoot(scanned.document.name(0))) continue;
    const selected = selectRules(inspect(scanned.document), day)?.ruleSets ?? [];
    const corpus: readonly CorpusDocument[] = [{ name: file, document: scanned.document }];
    for (const { builtIn, imported } of pairs.filter((pair) => selected.includes(pair.builtIn))) {
      compared += 1;
      const { differences } = within(LIMITS.validator_document_timeout_ms, () =>
        verifyRules(builtIn, imported, corpus, sharedIds(builtIn, imported)),
      );
      for (const { ruleId, location, ...counts } of differences) {
        differing += 1;
        print(`${file}: ${ruleId} at ${location}: built-in ${counts.builtIn}, ${id} ${counts.imported}`);
      }
    }
  }
  bar.end();
  return { compared, differing };
}
