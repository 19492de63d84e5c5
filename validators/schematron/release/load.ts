/**
 * Loads imported packs. Code runs only if it is exactly what the importer of this version wrote for exactly these
 * sources: its hash, the hashes of the kept sources and the version of the compiler must all agree.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Layer } from "../../report.js";
import type { RuleSet } from "../../rules/rule.js";
import { COMPILER_VERSION } from "../compile/compile.js";
import { importRules, writeManifest } from "./import.js";
import type { ImportResult } from "./import.js";
import { manifestSchema } from "./manifest.js";
import type { Manifest, ManifestSchemaEntry } from "./manifest.js";
import { instantiate } from "../runtime/pack.js";
import { sha256 } from "./release.js";

/** One schema of a pack, ready to run. */
export type LoadedSchema = { readonly rules: RuleSet; readonly entry: ManifestSchemaEntry };
export type LoadedPack = { readonly manifest: Manifest; readonly schemas: readonly LoadedSchema[] };

/** Why a pack is not loaded. "compiler" is cured by recompilePack, the others by a new import. */
export const PACK_FAULTS = ["manifest", "compiler", "sources", "code"] as const;
export type PackFault = (typeof PACK_FAULTS)[number];

/** A pack that must not run. */
export class PackRefused extends Error {
  readonly reason: PackFault;

  constructor(id: string, reason: PackFault, problem: string) {
    super(`the rule pack ${id} is not loaded: ${problem}`);
    this.name = "PackRefused";
    this.reason = reason;
  }
}

export type PackListing = { readonly id: string; readonly manifest?: Manifest; readonly refusal?: PackFault };

/** The packs of a rules directory, sorted by id, with what keeps them from being loaded. */
export function listPacks(rulesDir: string): PackListing[] {
  return packIds(rulesDir).map((id) => {
    try {
      const manifest = readManifest(rulesDir, id);
      return { id, manifest, ...refusalOf(() => checkPack(rulesDir, manifest)) };
    } catch (error) {
      if (error instanceof PackRefused) return { id, refusal: error.reason };
      throw error;
    }
  });
}

function refusalOf(check: () => void): { readonly refusal?: PackFault } {
  try {
    check();
    return {};
  } catch (error) {
    if (error instanceof PackRefused) return { refusal: error.reason };
    throw error;
  }
}

const packIds = (rulesDir: string): string[] =>
  existsSync(rulesDir)
    ? readdirSync(rulesDir, { withFileTypes: true })
        .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
        .map((entry) => entry.name)
        .sort()
    : [];

/**
 * Loads one pack: about 10 ms for the billing rules.
 * @throws PackRefused when hashes, compiler version or manifest do not agree
 */
export function loadPack(rulesDir: string, id: string): LoadedPack {
  const manifest = readManifest(rulesDir, id);
  const codes = checkPack(rulesDir, manifest);
  const version = sha256(manifest.sources.map((source) => source.sha256).join("\n"));
  const schemas = manifest.schemas.map((entry, index) => {
    // The layer is one of ours or `pack:<id>`; the manifest keeps it as text.
    const layer = entry.layer as Layer;
    const name = manifest.schemas.length === 1 ? `pack:${id}` : `pack:${id}/${entry.file}`;
    return { entry, rules: instantiate({ id: name, version, layer }, codes[index] ?? "") };
  });
  return { manifest, schemas };
}

/** The active packs, sorted by id. @throws PackRefused for the first that must not run */
export const loadActivePacks = (rulesDir: string): LoadedPack[] =>
  packIds(rulesDir)
    .filter((id) => readManifest(rulesDir, id).active)
    .map((id) => loadPack(rulesDir, id));

/** A text that changes when a pack is imported, activated, deactivated, compiled again or taken away. */
export const packsStamp = (rulesDir: string): string =>
  sha256(
    packIds(rulesDir)
      .map((id) => `${id} ${readIfThere(join(rulesDir, id, "manifest.json"))?.toString() ?? ""}`)
      .join("\n"),
  );

/** Switches a pack on or off; threads notice within a second. @throws PackRefused when it could not be loaded */
export function setActive(rulesDir: string, id: string, active: boolean): Manifest {
  const manifest = { ...readManifest(rulesDir, id), active };
  if (active) checkPack(rulesDir, manifest);
  writeManifest(join(rulesDir, id), manifest);
  return manifest;
}

/** Compiles a pack again from its kept sources, after an update of the engine. */
export function recompilePack(rulesDir: string, id: string): ImportResult {
  const old = readManifest(rulesDir, id);
  checkSources(rulesDir, old);
  const result = importRules({
    source: join(rulesDir, id, "sources"),
    rulesDir,
    id,
    // What the operator chose is kept; the rest is worked out again, for the built-in rules may have changed.
    ...(old.layers === undefined ? {} : { layers: old.layers as Readonly<Record<string, Layer>> }),
    ...(old.customizations === undefined ? {} : { customizations: old.customizations }),
    ...(old.without === undefined ? {} : { without: old.without }),
    ...(old.mandatoryFrom === undefined ? {} : { mandatoryFrom: old.mandatoryFrom }),
  });
  const manifest: Manifest = { ...result.manifest, importedFrom: old.importedFrom, active: old.active };
  writeManifest(result.directory, manifest);
  return { ...result, manifest };
}

function readManifest(rulesDir: string, id: string): Manifest {
  try {
    const parsed = manifestSchema.safeParse(JSON.parse(readFileSync(join(rulesDir, id, "manifest.json"), "utf8")));
    if (parsed.success && parsed.data.id === id) return parsed.data;
  } catch (error) {
    if (!(error instanceof SyntaxError) && !isMissing(error)) throw error;
  }
  throw new PackRefused(id, "manifest", "its manifest.json is missing or damaged; import it again");
}

const isMissing = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT";

/** Returns the code of every schema, whose hash has been compared. */
function checkPack(rulesDir: string, manifest: Manifest): string[] {
  const { id } = manifest;
  if (manifest.compiler !== COMPILER_VERSION)
    throw new PackRefused(id, "compiler", "it was compiled by another version; compile it again");
  checkSources(rulesDir, manifest);
  return manifest.schemas.map((schema) => {
    const code = readIfThere(join(rulesDir, id, schema.code));
    if (code === undefined || sha256(code) !== schema.codeSha256)
      throw new PackRefused(id, "code", "its compiled code has changed; import it again");
    return code.toString("utf8");
  });
}

function checkSources(rulesDir: string, manifest: Manifest): void {
  for (const source of manifest.sources) {
    const bytes = readIfThere(join(rulesDir, manifest.id, "sources", ...source.path.split("/")));
    if (bytes === undefined || sha256(bytes) !== source.sha256)
      throw new PackRefused(manifest.id, "sources", `its source ${source.path} has changed; import it again`);
  }
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
