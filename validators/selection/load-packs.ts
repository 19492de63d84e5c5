/** Loads imported rule packs; apart from packs.ts, so that a thread without packs loads no compiler. */
import { join } from "node:path";
import type { PackGrammar, PackRules, Packs } from "./packs.js";
import type { Layer } from "../report.js";
import { loadActivePacks } from "../schematron/release/load.js";
import type { LoadedPack } from "../schematron/release/load.js";
import { loadXsd } from "../schematron/release/xsd.js";
import { NS } from "../xml/names.js";

/** The manifest lists what looks like an absolute path, also inside predicates; components are no document elements. */
const canBeRoot = (name: string): boolean =>
  ![NS.cbc, NS.cac, NS.ext].some((namespace) => name.startsWith(`{${namespace}}`));

/** The schemas of a pack with the documents they are for. */
export const packRules = ({ manifest, schemas }: LoadedPack): PackRules[] =>
  schemas.map(({ rules, entry }) => ({
    rules,
    layer: rules.layer as Layer,
    pack: `pack:${manifest.id}` as const,
    without: new Set(manifest.without ?? []),
    mandatoryFrom: manifest.mandatoryFrom,
    roots: new Set(entry.roots.filter(canBeRoot)),
    customizations: entry.customizations,
  }));

/**
 * Loads the active packs of a rules directory.
 * @throws PackRefused when one of them is not what the importer wrote; XsdUnavailable when it has an XSD that cannot be
 * used
 */
export async function loadPacks(rulesDir: string): Promise<Packs> {
  const rules: PackRules[] = [];
  const grammars: PackGrammar[] = [];
  for (const pack of loadActivePacks(rulesDir)) {
    const { manifest } = pack;
    rules.push(...packRules(pack));
    for (const { file, namespace } of manifest.xsds) {
      const sources = join(rulesDir, manifest.id, "sources");
      grammars.push({
        id: `pack:${manifest.id}`,
        namespace,
        validator: await loadXsd(join(sources, ...file.split("/")), sources, `pack:${manifest.id}`),
      });
    }
  }
  return { rules, grammars };
}
