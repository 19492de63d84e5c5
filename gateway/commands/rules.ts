/** `kurier rules import|list|activate|deactivate|verify`: official Schematron releases beside the built-in rules. */
import { loadConfig } from "../../engine/base/config.js";
import { EXIT, parseArguments, UsageError } from "./command.js";
import type { Command, ExitCode } from "./command.js";
import { activatePack } from "./rules/activation.js";
import { readable, rulesDir } from "./rules/directory.js";
import { importPack } from "./rules/import.js";
import { rulePages } from "./rules/pages.js";
import { verify } from "./rules/verify.js";
import { print } from "./terminal.js";

async function list(args: readonly string[]): Promise<ExitCode> {
  parseArguments(args, {});
  const { listPacks } = await import("../../validators/schematron/release/load.js");
  const { SELECTION } = await import("../../validators/selection/builtin.js");
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

/** Reads which pack a command is about, and whether the operator has agreed beforehand. */
function named(args: readonly string[]): { readonly id: string; readonly agreed: boolean } {
  const {
    values: [id],
    options,
  } = parseArguments(args, { flags: ["yes"], words: 1 });
  if (id === undefined) throw new UsageError("Name the pack.");
  return { id, agreed: options.has("yes") };
}

async function activate(args: readonly string[]): Promise<ExitCode> {
  const { id, agreed } = named(args);
  return activatePack(id, agreed);
}

async function deactivate(args: readonly string[]): Promise<ExitCode> {
  const { id } = named(args);
  const { setActive } = await import("../../validators/schematron/release/load.js");
  await readable(() => setActive(rulesDir(), id, false));
  print(`${id} is inactive; running engines let go of it within seconds.`);
  return EXIT.ok;
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
      "kurier rules import DIR|ZIP [--id NAME] [--mandatory-from YYYY-MM-DD] [--activate [--yes]]",
      "  [--customization URN,…] [--layer FILE=en16931|peppol|own,…] [--without ID,…]",
      "Rules take the place of built-in ones only where they have every id of them, or --without names what may be lost;",
      "all others are judged on top, for the documents whose CustomizationID they name, or --customization says.",
      "Unsupported constructs stop the import, named by file and line. Packs live in RULES_DIR.",
      "A pack that is active is imported again with --activate: the old rules judge until you have agreed to the new ones.",
    ],
    importPack,
  ),
  command("rules list", "List the built-in rule versions and the imported packs.", ["kurier rules list"], list),
  command(
    "rules activate",
    "Use a pack; running engines take it up within seconds.",
    ["kurier rules activate NAME [--yes]", "Shows what changes for which documents, and asks."],
    activate,
  ),
  command(
    "rules deactivate",
    "Stop using a pack; running engines let go of it within seconds.",
    ["kurier rules deactivate NAME"],
    deactivate,
  ),
  command(
    "rules pages",
    "Draw what the pages of the rules show from their tables.",
    ["kurier rules pages --write | --check", "For developers: compares or writes gateway/web/validate/rules.json."],
    rulePages,
  ),
  command(
    "rules verify",
    "Compare a pack with the built-in rules over documents.",
    [
      "kurier rules verify NAME DIR|FILE…",
      "Exit 0: compared, no difference, and no built-in rule that the pack has not; 1: anything else.",
    ],
    verify,
  ),
];
