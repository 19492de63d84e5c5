/** `kurier rules import`: compiles a release and says what it would replace, what it would add and what it lacks. */
import { parseDay } from "../../../engine/base/dates.js";
import type { Layer } from "../../../validators/report.js";
import type { StagedImport } from "../../../validators/schematron/release/import.js";
import type { Likeness } from "../../../validators/schematron/release/layers.js";
import { EXIT, parseArguments, UsageError } from "../command.js";
import type { ExitCode, ParsedArguments } from "../command.js";
import { colour, print } from "../terminal.js";
import { activatePack, isAgreed, isInForce, tellActive } from "./activation.js";
import { idList, readable, rulesDir } from "./directory.js";

const words = (text: string | undefined): string[] | undefined => text?.split(",").map((word) => word.trim());

/** `--layer FILE=LAYER,…`: the layer of single schemas, en16931, peppol or own. */
function layersOf({ options }: ParsedArguments, id: string): Record<string, Layer> | undefined {
  const pairs = words(options.get("layer"))?.map((pair): readonly [string, Layer] => {
    const [file = "", layer = ""] = pair.split(/=([^=]*)$/);
    if (layer !== "en16931" && layer !== "peppol" && layer !== "own")
      throw new UsageError("--layer takes FILE=en16931, FILE=peppol or FILE=own, several with commas.");
    return [file, layer === "own" ? `pack:${id}` : layer];
  });
  return pairs === undefined ? undefined : Object.fromEntries(pairs);
}

/** What a release that looks like built-in rules lacks of them, and what that means. */
function tellLikeness({ builtIn, files, lost }: Likeness): void {
  const lacking = [...lost.missing, ...lost.milder];
  if (lacking.length === 0) return;
  print(
    `${files.join(", ")} ${files.length === 1 ? "lacks" : "lack"} ${lacking.length} of the ${builtIn.catalogue.length} rules of ${builtIn.id} ${builtIn.version} (${idList(lacking)}).`,
  );
  print("  It does not take their place: they stay in force, and the pack is judged on top of them.");
  print("  To replace them all the same, import again with --without and the ids that may be lost.");
}

/** Imports a release. @throws UsageError when it cannot be read, with file, line and construct */
export async function importPack(args: readonly string[]): Promise<ExitCode> {
  const parsed = parseArguments(args, {
    options: ["id", "mandatory-from", "layer", "customization", "without"],
    flags: ["activate", "yes"],
    words: 1,
  });
  const {
    values: [source],
    options,
  } = parsed;
  if (source === undefined) throw new UsageError("Name the folder or ZIP of the release.");
  const from = options.get("mandatory-from");
  if (from !== undefined && parseDay(from) === undefined)
    throw new UsageError("--mandatory-from is a day, YYYY-MM-DD.");
  const { idOf, stageRules } = await import("../../../validators/schematron/release/import.js");
  const [customizations, without] = [words(options.get("customization")), words(options.get("without"))];
  const id = options.get("id") ?? idOf(source);
  const layers = layersOf(parsed, id);
  const replaces = await isInForce(id);
  // Imported rules are out of force until they are activated; those that judge now would go out of it in silence.
  if (replaces && !options.has("activate"))
    throw new UsageError(`${id} is active: import it with --activate, or under another name with --id.`);
  const staged = await readable(() =>
    stageRules({
      source,
      rulesDir: rulesDir(),
      id,
      ...(from === undefined ? {} : { mandatoryFrom: from }),
      ...(layers === undefined ? {} : { layers }),
      ...(customizations === undefined ? {} : { customizations }),
      ...(without === undefined ? {} : { without }),
    }),
  );
  tellImport(staged);
  const agreed = options.has("yes");
  try {
    if (replaces) return (await isAgreed(staged.stage, id, agreed)) ? replacePack(staged) : keepPack(id);
    staged.place(false);
  } finally {
    staged.discard();
  }
  if (options.has("activate")) return await activatePack(id, agreed);
  print(`${id} is imported; activate it with: kurier rules activate ${id}`);
  return EXIT.ok;
}

/** The new pack judges from the moment in which the old one does no longer. */
function replacePack({ manifest, place }: StagedImport): ExitCode {
  place(true);
  tellActive(manifest.id);
  return EXIT.ok;
}

function keepPack(id: string): ExitCode {
  print(`${id} stays as it is.`);
  return EXIT.failed;
}

/** Says what came with a release. */
function tellImport({ manifest, tests, likenesses }: StagedImport): void {
  for (const schema of manifest.schemas)
    print(
      `${schema.file}: layer ${schema.layer}, ${schema.patterns} patterns, ${schema.rules} rules, ${schema.asserts} asserts`,
    );
  likenesses.forEach(tellLikeness);
  for (const file of manifest.sources)
    print(
      colour(
        "dim",
        `  ${file.sha256.slice(0, 16)}  ${file.path}${file.known === undefined ? "" : `  (${file.known})`}`,
      ),
    );
  if (tests.length > 0) print(`${tests.length} files of official tests came with it; kurier rules verify runs them.`);
}
