/** `kurier rules activate`: shows what changes for which documents, and asks before it does so. */
import { EXIT, UsageError } from "../command.js";
import type { ExitCode } from "../command.js";
import { confirm, print } from "../terminal.js";
import { idList, readable, rulesDir } from "./directory.js";

/** One row of the table: which documents, and what will judge them. */
interface Change {
  readonly documents: string;
  readonly change: string;
}

const localName = (name: string): string => name.replace(/^\{[^}]*\}/, "");

/** What activating a pack changes, one row for each schema. */
async function changesOf(directory: string, id: string): Promise<Change[]> {
  const [{ loadPack }, { packRules }, { likenesses }, { CUSTOMIZATION }] = await Promise.all([
    import("../../../validators/schematron/release/load.js"),
    import("../../../validators/selection/load-packs.js"),
    import("../../../validators/schematron/release/layers.js"),
    import("../../../validators/selection/builtin.js"),
  ]);
  const pack = await readable(() => loadPack(directory, id));
  const without = new Set(pack.manifest.without ?? []);
  const found = likenesses(
    pack.schemas.map(({ entry, rules }) => ({
      file: entry.file,
      asserts: rules.catalogue,
      customizations: entry.customizations,
    })),
    without,
  );
  const ours = Object.values<string>(CUSTOMIZATION);
  return packRules(pack).map(({ layer, roots, customizations, rules }, index): Change => {
    const file = pack.manifest.schemas[index]?.file ?? "";
    const kinds = roots.size === 0 ? "every document" : [...roots].map(localName).join(", ");
    const documents = customizations.length === 0 ? kinds : `${kinds} with ${customizations.join(" or ")}`;
    const from = pack.manifest.mandatoryFrom === undefined ? "" : ` from ${pack.manifest.mandatoryFrom}`;
    const replaced = layer.startsWith("pack:") ? undefined : found.find(({ files }) => files.includes(file));
    if (replaced === undefined) {
      const isOwnSpecification = customizations.some((urn) => !ours.some((known) => urn.startsWith(known)));
      return {
        documents,
        change: `+ ${rules.catalogue.length} rules of ${file}${from}, on top of ${isOwnSpecification ? "EN 16931; the Peppol billing rules no longer judge these documents" : "the built-in rules"}`,
      };
    }
    const { builtIn, added, lost } = replaced;
    const kept = [...lost.missing, ...lost.milder];
    const gone = [...without].filter((lostId) => builtIn.catalogue.some((known) => known.id === lostId));
    return {
      documents,
      change:
        kept.length > 0
          ? `+ ${rules.catalogue.length} rules of ${file}${from}, on top of ${builtIn.id} ${builtIn.version}, of which it lacks ${kept.length}`
          : `${file} takes the place of ${builtIn.id} ${builtIn.version}${from}: ${added.length} rules more${added.length === 0 ? "" : ` (${idList(added)})`}, ${gone.length === 0 ? "none less" : `${gone.length} less (${idList(gone)})`}`,
    };
  });
}

/**
 * Shows what activating a pack changes, and asks.
 * @param directory  the rules directory in which it lies
 * @param agreed  `--yes`: the operator has agreed beforehand
 * @throws UsageError where nobody is there to agree
 */
export async function isAgreed(directory: string, id: string, agreed: boolean): Promise<boolean> {
  const changes = await changesOf(directory, id);
  const width = Math.max(...changes.map(({ documents }) => documents.length));
  for (const { documents, change } of changes) print(`${documents.padEnd(width)}  ${change}`);
  if (agreed) return true;
  const answer = await confirm(`Activate ${id}?`);
  if (answer === undefined) throw new UsageError(`Nobody is there to agree; repeat with --yes to activate ${id}.`);
  return answer;
}

/** Shows the changes and activates the pack when the operator agrees. @param agreed  as for isAgreed */
export async function activatePack(id: string, agreed: boolean): Promise<ExitCode> {
  const { setActive } = await import("../../../validators/schematron/release/load.js");
  if (!(await isAgreed(rulesDir(), id, agreed))) {
    print(`${id} stays inactive.`);
    return EXIT.failed;
  }
  await readable(() => setActive(rulesDir(), id, true));
  tellActive(id);
  return EXIT.ok;
}

/** Tells from when on a pack judges. */
export const tellActive = (id: string): void => {
  print(`${id} is active; running engines take it up within seconds.`);
};

/** Whether a pack judges documents now. */
export async function isInForce(id: string): Promise<boolean> {
  const { listPacks } = await import("../../../validators/schematron/release/load.js");
  return listPacks(rulesDir()).some(
    (pack) => pack.id === id && pack.refusal === undefined && pack.manifest?.active === true,
  );
}
