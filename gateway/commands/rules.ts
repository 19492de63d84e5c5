/** `kurier rules import|list|activate|deactivate|verify`: official Schematron releases beside the built-in rules. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import { bratislavaDay, systemClock } from "../../engine/base/clock.js";
import { loadConfig } from "../../engine/base/config.js";
import { SCAN_LIMITS } from "../../engine/documents/accept/validators.js";
import { asSentence } from "../start/rule-packs.js";
import { colour, print, progress } from "./terminal.js";
import { EXIT, parseArguments, UsageError } from "./command.js";
import type { Command, ExitCode } from "./command.js";

function rulesDir(): string {
  const { RULES_DIR } = loadConfig();
  if (RULES_DIR === undefined) throw new UsageError("Set RULES_DIR to the folder of the rule packs.");
  return RULES_DIR;
}

/** Errors of the importer are written for the operator: they name file, line and construct. */
export async function readable<T>(work: () => Promise<T> | T): Promise<T> {
  const [{ ReleaseError }, { PackRefused }, { SourceError }, { ZipError }, { XsdUnavailable }] = await Promise.all([
    import("../../validators/schematron/release/release.js"),
    import("../../validators/schematron/release/load.js"),
    import("../../validators/schematron/release/source-xml.js"),
    import("../../validators/schematron/release/zip.js"),
    import("../../validators/schematron/release/xsd.js"),
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

async function importPack(args: readonly string[]): Promise<ExitCode> {
  const {
    values: [source],
    options,
  } = parseArguments(args, { options: ["id", "mandatory-from"], flags: ["activate"] });
  if (source === undefined) throw new UsageError("Name the folder or ZIP of the release.");
  const { importRules } = await import("../../validators/schematron/release/import.js");
  const { setActive } = await import("../../validators/schematron/release/load.js");
  const [id, mandatoryFrom] = [options.get("id"), options.get("mandatory-from")];
  const { manifest, tests } = await readable(() =>
    importRules({
      source,
      rulesDir: rulesDir(),
      ...(id === undefined ? {} : { id }),
      ...(mandatoryFrom === undefined ? {} : { mandatoryFrom }),
    }),
  );
  for (const schema of manifest.schemas)
    print(
      `${schema.file}: layer ${schema.layer}, ${schema.patterns} patterns, ${schema.rules} rules, ${schema.asserts} asserts`,
    );
  for (const file of manifest.sources)
    print(
      colour(
        "dim",
        `  ${file.sha256.slice(0, 16)}  ${file.path}${file.known === undefined ? "" : `  (${file.known})`}`,
      ),
    );
  if (tests.length > 0) print(`${tests.length} files of official tests came with it; kurier rules verify runs them.`);
  if (options.has("activate")) await readable(() => setActive(rulesDir(), manifest.id, true));
  print(
    options.has("activate")
      ? `${manifest.id} is imported and active from the next start.`
      : `${manifest.id} is imported; activate it with: kurier rules activate ${manifest.id}`,
  );
  return EXIT.ok;
}

async function list(): Promise<ExitCode> {
  const { listPacks } = await import("../../validators/schematron/release/load.js");
  const { SELECTION } = await import("../../validators/selection.js");
  for (const { profile, versions } of SELECTION)
    for (const { version, mandatoryFrom, make } of versions)
      print(
        `built-in  ${profile.padEnd(24)} ${version.padEnd(8)} mandatory from ${mandatoryFrom}${make === undefined ? "  (tables not written yet)" : ""}`,
      );
  const directory = loadConfig().RULES_DIR;
  for (const { id, manifest, refusal } of directory === undefined ? [] : listPacks(directory)) {
    print(
      `imported  ${id.padEnd(24)} ${refusal === undefined ? (manifest?.active === true ? "active" : "inactive") : `refused: ${refusal}`}  ${manifest?.mandatoryFrom === undefined ? "" : `mandatory from ${manifest.mandatoryFrom}`}`,
    );
  }
  return EXIT.ok;
}

const activate =
  (active: boolean) =>
  async (args: readonly string[]): Promise<ExitCode> => {
    const [id] = args;
    if (id === undefined) throw new UsageError("Name the pack.");
    const { setActive } = await import("../../validators/schematron/release/load.js");
    await readable(() => setActive(rulesDir(), id, active));
    print(`${id} is ${active ? "active" : "inactive"} from the next start.`);
    return EXIT.ok;
  };

const documentsBelow = (path: string): string[] =>
  statSync(path).isDirectory()
    ? readdirSync(path)
        .sort()
        .flatMap((name) => documentsBelow(join(path, name)))
    : path.toLowerCase().endsWith(".xml")
      ? [path]
      : [];

/** Compares a pack with the built-in rules over documents, on the ids that both know. */
async function verify(args: readonly string[]): Promise<ExitCode> {
  const {
    values: [id, ...paths],
  } = parseArguments(args, {});
  if (id === undefined || paths.length === 0)
    throw new UsageError("Name the pack and the folders or files to compare on.");
  const [
    { loadPack },
    { packRules },
    { packRulesFor },
    { sharedIds, verifyRules },
    { scan },
    { selectRules },
    { inspect },
    { isKnownRoot },
  ] = await Promise.all([
    import("../../validators/schematron/release/load.js"),
    import("../../validators/load-packs.js"),
    import("../../validators/packs.js"),
    import("../../validators/schematron/release/verify.js"),
    import("../../validators/xml/scanner.js"),
    import("../../validators/selection.js"),
    import("../../validators/inspect.js"),
    import("../../validators/ubl/check.js"),
  ]);
  const pack = await readable(() => packRules(loadPack(rulesDir(), id)));
  const day = bratislavaDay(systemClock.now());
  const files = paths.flatMap(documentsBelow);
  const bar = progress("comparing", files.length);
  let compared = 0;
  let differing = 0;
  for (const [index, file] of files.entries()) {
    bar.step(index + 1);
    const scanned = scan(readFileSync(file), SCAN_LIMITS);
    if (scanned.kind === "refused" || !isKnownRoot(scanned.document.name(0))) continue;
    const facts = inspect(scanned.document);
    const builtIn = selectRules(facts, day)?.ruleSets ?? [];
    for (const { rules } of packRulesFor({ rules: pack, grammars: [] }, facts, day, true)) {
      const own = builtIn.find(({ layer }) => layer === rules.layer);
      if (own === undefined) continue;
      compared += 1;
      for (const difference of verifyRules(
        own,
        rules,
        [{ name: file, document: scanned.document }],
        sharedIds(own, rules),
      ).differences) {
        differing += 1;
        print(
          `${file}: ${difference.ruleId} at ${difference.location}: built-in ${difference.builtIn}, ${id} ${difference.imported}`,
        );
      }
    }
  }
  bar.end();
  print(`${compared} comparisons over ${files.length} files, ${differing} differences.`);
  return differing === 0 ? EXIT.ok : EXIT.failed;
}

const command = (name: string, summary: string, usage: readonly string[], run: Command["run"]): Command => ({
  name,
  summary,
  usage,
  run,
});

export const rulesCommands: readonly Command[] = [
  command(
    "rules import",
    "Compile and register an official Schematron release.",
    [
      "kurier rules import DIR|ZIP [--id NAME] [--mandatory-from YYYY-MM-DD] [--activate]",
      "Unsupported constructs stop the import, named by file and line. Packs live in RULES_DIR.",
    ],
    importPack,
  ),
  command("rules list", "List the built-in rule versions and the imported packs.", ["kurier rules list"], list),
  command("rules activate", "Use a pack from the next start.", ["kurier rules activate NAME"], activate(true)),
  command(
    "rules deactivate",
    "Stop using a pack from the next start.",
    ["kurier rules deactivate NAME"],
    activate(false),
  ),
  command(
    "rules verify",
    "Compare a pack with the built-in rules over documents.",
    ["kurier rules verify NAME DIR|FILE…"],
    verify,
  ),
];
