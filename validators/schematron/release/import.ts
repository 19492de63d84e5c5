/**
 * Imports a rule release: reads and hashes its files, compiles every schema, runs the tests it brings along, and writes
 * code, manifest and a copy of the sources below a rules directory. Nothing is activated by importing.
 *
 * RULES_DIR/<id>/manifest.json, <n>.rules.js, sources/… — the directory belongs to the operator: who can write there
 * decides what runs here.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, posix } from "node:path";
import type { Layer } from "../../report.js";
import { compileSchema, COMPILER_VERSION } from "../compile/compile.js";
import type { Compiled } from "../compile/compile.js";
import { customizationsOf } from "./customizations.js";
import { decodeSource } from "./decode.js";
import { layersOf, likenesses } from "./layers.js";
import type { Likeness } from "./layers.js";
import type { Manifest, ManifestSchemaEntry } from "./manifest.js";
import type { Schema } from "../compile/model.js";
import { readSchema } from "../compile/read-schema.js";
import { knownRelease, readRelease, ReleaseError, sha256 } from "./release.js";
import type { ReleaseFile } from "./release.js";
import { parseSource } from "./source-xml.js";
import { DeadlineExceeded, within } from "../runtime/deadline.js";
import { isTestSet, readTests } from "./test-set.js";
import type { EmbeddedTest } from "./test-set.js";

export type ImportOptions = {
  /** Folder or ZIP archive of the release. */
  readonly source: string;
  readonly rulesDir: string;
  /** Id of the pack; default: the name of the source. Lower case letters, digits, dot, hyphen. */
  readonly id?: string;
  /** First day on which the rules are mandatory, YYYY-MM-DD. */
  readonly mandatoryFrom?: string;
  /** Schematron phase to compile; default: the schema's own, or all patterns. */
  readonly phase?: string;
  /** Layer of a schema by its file path; default: that of the built-in rules it covers, else one of its own. */
  readonly layers?: Readonly<Record<string, Layer>>;
  /** CustomizationIDs, or their beginnings, that the pack is for; default: those its schemas name. */
  readonly customizations?: readonly string[];
  /** Built-in ids that the pack may lack and still take the place of the built-in rules. Default none. */
  readonly without?: readonly string[];
};

type ImportFound = {
  readonly manifest: Manifest;
  /** The built-in rules that the schemas look like, and what they lack of them. */
  readonly likenesses: readonly Likeness[];
  /** Official tests found in the release, by file, for `verifyTests`. */
  readonly tests: readonly { readonly file: string; readonly tests: readonly EmbeddedTest[] }[];
};

export type ImportResult = ImportFound & { readonly directory: string };

/** A release that lies beside the packs, where no thread looks, until it takes its place among them. */
export type StagedImport = ImportFound & {
  /** A rules directory with this pack alone. */
  readonly stage: string;
  /**
   * Takes the place of the pack of that id, as active or not. @returns its directory
   */
  readonly place: (active: boolean) => string;
  /** Takes away what lies there still. Safe to repeat, and after `place`. */
  readonly discard: () => void;
};

/** A schema compiled in memory. */
export type CompiledSchema = { readonly file: string; readonly schema: Schema; readonly compiled: Compiled };

/**
 * @throws SourceError naming file, line and construct when something is not supported; ReleaseError, ZipError when the
 *   release cannot be read. Nothing is written in that case.
 */
export function importRules(options: ImportOptions): ImportResult {
  const { manifest, likenesses: found, tests, place } = stageRules(options);
  return { manifest, directory: place(false), likenesses: found, tests };
}

/** As `importRules`, up to the moment in which the pack takes its place. */
export function stageRules(options: ImportOptions): StagedImport {
  const files = readRelease(options.source);
  const schemas = compiledInTime(files, options);
  if (schemas.length === 0) throw new ReleaseError(`${basename(options.source)} holds no Schematron schema`);
  if (schemas.every(({ compiled }) => compiled.asserts.length === 0))
    throw new ReleaseError(`${basename(options.source)} checks nothing: no rule of it has an assert or a report`);
  const id = options.id ?? idOf(options.source);
  if (!/^[a-z0-9][a-z0-9._-]{0,63}$/.test(id))
    throw new ReleaseError(`${JSON.stringify(id)} is no id of a pack: lower case letters, digits, dot, hyphen`);
  const tests = files.flatMap((file) => (file.path.toLowerCase().endsWith(".xml") ? testsOf(file) : []));
  const kept = files.filter((file) => /\.(?:sch|xsd)$/i.test(file.path));
  const offered = schemas.map(({ file, schema, compiled }) => ({
    file,
    asserts: compiled.asserts,
    customizations: options.customizations ?? customizationsOf(schema),
  }));
  const found = likenesses(offered, new Set(options.without ?? []));
  const layers = layersOf(offered, found, id);
  const manifest: Manifest = {
    format: 1,
    id,
    compiler: COMPILER_VERSION,
    active: false,
    importedFrom: basename(options.source),
    ...(options.mandatoryFrom === undefined ? {} : { mandatoryFrom: options.mandatoryFrom }),
    ...(options.layers === undefined ? {} : { layers: { ...options.layers } }),
    ...(options.customizations === undefined ? {} : { customizations: [...options.customizations] }),
    ...(options.without === undefined ? {} : { without: [...options.without] }),
    sources: kept.map((file) => ({
      path: file.path,
      sha256: file.sha256,
      ...optional("known", knownRelease(file.sha256)),
    })),
    schemas: schemas.map((schema, index) => ({
      ...describe(schema, index),
      layer: options.layers?.[schema.file] ?? layers.get(schema.file) ?? `pack:${id}`,
      customizations: [...(offered[index]?.customizations ?? [])],
    })),
    xsds: kept
      .filter((file) => /\.xsd$/i.test(file.path))
      .map((file) => ({ file: file.path, namespace: targetNamespace(file) })),
  };
  return { manifest, likenesses: found, tests, ...writePack(options.rulesDir, manifest, schemas, kept) };
}

/** The largest release there is takes three seconds; one that never ends must not hang the command. */
const COMPILE_MS_MAX = 60_000;

function compiledInTime(files: readonly ReleaseFile[], { source, phase }: ImportOptions): CompiledSchema[] {
  try {
    return within(COMPILE_MS_MAX, () => compileRelease(files, phase));
  } catch (error) {
    if (!(error instanceof DeadlineExceeded)) throw error;
    throw new ReleaseError(`${basename(source)} could not be compiled within ${COMPILE_MS_MAX / 1_000} seconds`);
  }
}

const optional = <K extends string>(key: K, value: string | undefined): Partial<Record<K, string>> =>
  (value === undefined ? {} : { [key]: value }) as Partial<Record<K, string>>;

/** The id of a pack by the name of its source: "peppol-bis 3.0.22.zip" → "peppol-bis-3.0.22". */
export const idOf = (source: string): string =>
  basename(source)
    .replace(/\.zip$/i, "")
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, "-")
    .replace(/^[-.]+/, "");

/**
 * Compiles every schema among the files; files that are only included by others are none.
 * @param only  the one schema to compile, by its path. Default: all
 */
export function compileRelease(files: readonly ReleaseFile[], phase?: string, only?: string): CompiledSchema[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  return files
    .filter((file) => (only ?? file.path) === file.path && /\.sch$/i.test(file.path) && isSchema(file))
    .map((file) => {
      const schema = readSchema(decodeSource(file.bytes, file.path), file.path, {
        include: (href, from) => {
          const found = byPath.get(posix.normalize(posix.join(posix.dirname(from), href)));
          return found === undefined ? undefined : { file: found.path, text: decodeSource(found.bytes, found.path) };
        },
        ...(phase === undefined ? {} : { phase }),
      });
      return { file: file.path, schema, compiled: compileSchema(schema) };
    });
}

const isSchema = (file: ReleaseFile): boolean =>
  parseSource(decodeSource(file.bytes, file.path), file.path).local === "schema";

function testsOf(file: ReleaseFile): { readonly file: string; readonly tests: EmbeddedTest[] }[] {
  const start = file.bytes.toString("latin1", 0, 4096);
  return isTestSet(start)
    ? [{ file: file.path, tests: readTests(decodeSource(file.bytes, file.path), file.path) }]
    : [];
}

function describe(
  { file, schema, compiled }: CompiledSchema,
  index: number,
): Omit<ManifestSchemaEntry, "layer" | "customizations"> {
  return {
    file,
    title: schema.title,
    code: `${index}.rules.js`,
    codeSha256: sha256(compiled.code),
    patterns: compiled.patterns,
    rules: compiled.rules,
    asserts: compiled.asserts.length,
    roots: rootsOf(schema),
  };
}

/** Document elements that absolute contexts begin with. */
function rootsOf(schema: Schema): string[] {
  const contexts = schema.patterns.flatMap((pattern) => pattern.rules.map((rule) => rule.context)).join(" | ");
  const names = Array.from(
    contexts.matchAll(/(?:^|[|(\s])\/([\w.-]+):([\w.-]+)/g),
    ([, prefix = "", local = ""]) => `{${schema.namespaces.get(prefix) ?? ""}}${local}`,
  );
  return [...new Set(names)].sort();
}

const targetNamespace = (file: ReleaseFile): string =>
  parseSource(decodeSource(file.bytes, file.path), file.path).attributes.get("targetNamespace") ?? "";

/** The bytes are on the disk before the pack has its name: a power loss leaves no pack of empty files. */
const SYNCED = { flush: true } as const;

/** A stage that is so much older than another is of an import that was killed: one takes a minute at the most. */
const STAGE_DEAD_MS = 3_600_000;

/** Takes away what imports that were killed have left. */
function removeDeadStages(rulesDir: string, stage: string, id: string): void {
  const now = statSync(stage).mtimeMs;
  for (const name of readdirSync(rulesDir)) {
    const path = join(rulesDir, name);
    if (!name.startsWith(`.${id}-`) || path === stage) continue;
    const madeAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now;
    if (now - madeAt > STAGE_DEAD_MS) rmSync(path, { recursive: true, force: true });
  }
}

/** Writes beside the place: a reader sees the old pack until it is set aside for the new one, never half of one. */
function writePack(
  rulesDir: string,
  manifest: Manifest,
  schemas: readonly CompiledSchema[],
  sources: readonly ReleaseFile[],
): Pick<StagedImport, "stage" | "place" | "discard"> {
  const { id } = manifest;
  mkdirSync(rulesDir, { recursive: true, mode: 0o755 });
  const stage = mkdtempSync(join(rulesDir, `.${id}-`));
  const draft = join(stage, id);
  const discard = (): void => {
    rmSync(stage, { recursive: true, force: true });
  };
  try {
    removeDeadStages(rulesDir, stage, id);
    mkdirSync(draft);
    schemas.forEach(({ compiled }, index) => writeFileSync(join(draft, `${index}.rules.js`), compiled.code, SYNCED));
    for (const source of sources) {
      const path = join(draft, "sources", ...source.path.split("/"));
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, source.bytes, SYNCED);
    }
    writeManifest(draft, manifest);
  } catch (error) {
    discard();
    throw error;
  }
  const place = (active: boolean): string => {
    const directory = join(rulesDir, id);
    try {
      writeManifest(draft, { ...manifest, active });
      // Two names, and nothing between: to remove a large pack takes so long that threads would judge without it.
      if (existsSync(directory)) renameSync(directory, join(stage, "before"));
      renameSync(draft, directory);
    } finally {
      discard();
    }
    return directory;
  };
  return { stage, place, discard };
}

/** Replaces the manifest of a pack at once: a reader sees the old one or the new one. */
export function writeManifest(directory: string, manifest: Manifest): void {
  const path = join(directory, "manifest.json");
  writeFileSync(`${path}.new`, `${JSON.stringify(manifest, undefined, 2)}\n`, SYNCED);
  renameSync(`${path}.new`, path);
}
