/** `kurier validate`: checks documents offline, with the same chain as the engine. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import type { Dirent } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";

import { errorCode } from "../../engine/base/errors.js";
import { bratislavaDay, systemClock } from "../../engine/base/clock.js";
import { loadConfig } from "../../engine/base/config.js";
import { LIMITS } from "../../engine/base/limits.js";
import { SCAN_LIMITS } from "../../engine/documents/accept/validators.js";
import { invalidates, LANGUAGES } from "../../validators/report.js";
import type { Finding, Language, Report } from "../../validators/report.js";
import type { ValidateOptions } from "../../validators/protocol.js";
import type { Packs } from "../../validators/selection/packs.js";
import { colour, complain, plain, print, readStandardInput } from "./terminal.js";
import { EXIT, parseArguments, UsageError } from "./command.js";
import type { Command, ExitCode, ParsedArguments } from "./command.js";
import { idList, readable } from "./rules/directory.js";
import { toJunit, toSarif } from "./verdicts/formats.js";
import type { FileVerdict, NotJudged } from "./verdicts/formats.js";
import { lineOfJson } from "./verdicts/json.js";

/** Names that --layer takes; findings about the bytes themselves are always shown. */
const LAYER_NAMES = ["schema", "en16931", "peppol"] as const;
type LayerName = (typeof LAYER_NAMES)[number];

function layersOf({ options }: ParsedArguments): ReadonlySet<string> | undefined {
  const text = options.get("layer");
  if (text === undefined) return undefined;
  const names = text.split(",").map((name) => name.trim());
  const wrong = names.filter((name) => !LAYER_NAMES.some((known: LayerName) => known === name));
  if (wrong.length > 0) throw new UsageError(`--layer takes names out of ${LAYER_NAMES.join(",")}.`);
  return new Set(["xml", ...names]);
}

/**
 * The CustomizationID of a declared type: of a Peppol document type identifier it is what stands between `##` and the
 * version, anything else is taken as the CustomizationID itself.
 */
const declaredType = (type: string | undefined): string | undefined => /##(.+)::[^:]*$/.exec(type ?? "")?.[1] ?? type;

const RULES_TAKES = "--rules takes builtin, a folder of imported packs, or a release as folder or ZIP.";

/** The packs that are asked for; a folder without any would have the built-in rules judge, and nobody would know. */
async function packsOf(directory: string | undefined): Promise<Packs | undefined> {
  const packs = await packsIn(directory ?? loadConfig().RULES_DIR);
  if (directory !== undefined && packs?.rules.length === 0 && packs.grammars.length === 0)
    throw new UsageError(`There are no active rules in ${plain(directory)}; ${RULES_TAKES}`);
  return packs;
}

/** The packs of a rules directory, or of a release that is compiled for this run only. */
async function packsIn(directory: string | undefined): Promise<Packs | undefined> {
  if (directory === undefined || directory === "builtin") return undefined;
  if (!existsSync(directory)) throw new UsageError(`The rules are not there; ${RULES_TAKES}`);
  const { loadPacks } = await import("../../validators/selection/load-packs.js");
  const isRelease =
    directory.toLowerCase().endsWith(".zip") ||
    readdirSync(directory).some((name) => name.toLowerCase().endsWith(".sch"));
  if (!isRelease) return loadPacks(directory);
  const [{ importRules }, { setActive }] = await Promise.all([
    import("../../validators/schematron/release/import.js"),
    import("../../validators/schematron/release/load.js"),
  ]);
  const draft = mkdtempSync(join(tmpdir(), "kurier-rules-"));
  try {
    importRules({ source: directory, rulesDir: draft, id: "release" });
    setActive(draft, "release", true);
    return await loadPacks(draft);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function verdictOf(
  file: string,
  report: Report,
  durationMs: number,
  layers: ReadonlySet<string> | undefined,
): FileVerdict {
  const findings = report.findings.filter((finding) => layers?.has(finding.layer) !== false);
  return {
    file,
    valid: findings.every(({ severity }) => !invalidates(severity)) && (layers !== undefined || report.valid),
    profile: report.profile,
    ruleSet: report.ruleSets.map(({ id, version }) => `${id} ${version}`),
    durationMs: Math.round(durationMs * 1000) / 1000,
    ...(report.dropped === 0 ? {} : { omitted: report.dropped, omittedRules: report.omitted ?? {} }),
    findings,
    ...(report.upcoming === undefined ? {} : { upcoming: report.upcoming }),
  };
}

const COLOURS = { fatal: "red", error: "red", warning: "yellow", information: "dim" } as const;

function showFinding(file: string, { ruleId, severity, location, line, column, value, message }: Finding): void {
  const place = [plain(file), line, column].filter((part) => part !== undefined).join(":");
  const said = value === undefined ? "" : ` ${colour("dim", `[${plain(value)}]`)}`;
  print(
    `${place}: ${colour(COLOURS[severity], severity)} ${colour("bold", ruleId)} ${plain(message)}${said} ${colour("dim", location)}`,
  );
}

function show(verdict: FileVerdict): void {
  for (const finding of verdict.findings) showFinding(verdict.file, finding);
  showOmitted(verdict);
  for (const { mandatoryFrom, ruleSets, valid, findings } of verdict.upcoming ?? []) {
    const rules = ruleSets.map(({ id, version }) => `${id} ${version}`).join(", ");
    print(`${plain(verdict.file)}: from ${mandatoryFrom} on (${rules}) ${valid ? "valid" : colour("red", "invalid")}`);
    for (const finding of findings) showFinding(verdict.file, finding);
  }
}

function showOmitted(verdict: FileVerdict): void {
  if (verdict.omitted === undefined) return;
  const rules = Object.entries(verdict.omittedRules ?? {}).map(([id, count]) => `${id} (${count})`);
  print(
    `${plain(verdict.file)}: ${verdict.omitted} findings more are not listed, of ${idList(rules)}; correct these first.`,
  );
}

/** How verdicts are written; `--json` is the short form of `--format json`. */
const FORMATS = ["text", "json", "sarif", "junit"] as const;

function formatOf({ options }: ParsedArguments): (typeof FORMATS)[number] {
  const asked = options.get("format") ?? (options.has("json") ? "json" : "text");
  const format = FORMATS.find((known) => known === asked);
  if (format === undefined) throw new UsageError(`--format takes one of ${FORMATS.join(", ")}.`);
  return format;
}

function languageOf({ options }: ParsedArguments): Language {
  const asked = options.get("lang") ?? LANGUAGES[0];
  const language = LANGUAGES.find((known) => known === asked);
  if (language === undefined) throw new UsageError(`--lang takes one of ${LANGUAGES.join(", ")}.`);
  return language;
}

/** What is not there, as between an editor's two steps. */
const GONE = "ENOENT";

/** @returns the code where the system refuses: whoever reads the file finds the same, and says so beside the others */
function orCode<Looked>(look: () => Looked): Looked | string {
  try {
    return look();
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return code;
  }
}

/** @returns undefined for what is no folder, or none that can be read */
function entriesOf(path: string): Dirent[] | undefined {
  const entries = orCode(() => (statSync(path).isDirectory() ? readdirSync(path, { withFileTypes: true }) : undefined));
  return typeof entries === "string" ? undefined : entries;
}

/** Links are followed to files alone, for a folder may lie below itself; of one that leads nowhere is told. */
function isDocument(path: string, entry: Dirent): boolean {
  if (!entry.name.toLowerCase().endsWith(".xml")) return false;
  if (!entry.isSymbolicLink()) return entry.isFile();
  const target = orCode(() => statSync(path));
  return typeof target === "string" || target.isFile();
}

/** The XML files below a folder, by name; anything else is taken as it was named. */
function filesBelow(path: string): string[] {
  const entries = path === "-" ? undefined : entriesOf(path);
  if (entries === undefined) return [path];
  return entries
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const below = join(path, entry.name);
      if (entry.isDirectory()) return filesBelow(below);
      return isDocument(below, entry) ? [below] : [];
    });
}

/** @returns why not, in a sentence, where it cannot be read */
async function bytesOf(file: string): Promise<Buffer | string> {
  try {
    return file === "-" ? await readStandardInput() : readFileSync(file);
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    // What stands for octets that are no UTF-8 is in no name: Node.js asks for another file.
    if (code === GONE && file.includes("\uFFFD"))
      return `${plain(file)} cannot be read, for its name is no UTF-8; kurier validate - < FILE judges it.`;
    return `${plain(file)} cannot be read (${code}).`;
  }
}

/** Judges one document; undefined when imported rules did not end in time. Built-in rules always end. */
async function judgeWith(packs: Packs | undefined, options: ValidateOptions): Promise<Judge> {
  const { validateDocument } = await import("../../validators/validate.js");
  if (packs === undefined) return (bytes) => validateDocument(bytes, options);
  const { DeadlineExceeded, within } = await import("../../validators/schematron/runtime/deadline.js");
  return (bytes) => {
    try {
      return within(LIMITS.validator_document_timeout_ms, () => validateDocument(bytes, options, packs));
    } catch (error) {
      if (error instanceof DeadlineExceeded) return undefined;
      throw error;
    }
  };
}

type Judge = (bytes: Buffer) => Report | undefined;

/** How verdicts are told. */
interface Telling {
  readonly judge: Judge;
  readonly format: (typeof FORMATS)[number];
  readonly layers: ReadonlySet<string> | undefined;
}

/** Without a verdict the command cannot end well. */
interface Unjudged extends NotJudged {
  readonly exit: ExitCode;
}

async function judged(file: string, { judge, layers }: Telling): Promise<FileVerdict | Unjudged> {
  const bytes = await bytesOf(file);
  if (typeof bytes === "string") return { file, why: bytes, exit: EXIT.usage };
  const start = systemClock.monotonic();
  const report = judge(bytes);
  if (report !== undefined) return verdictOf(file, report, systemClock.monotonic() - start, layers);
  const limit_s = LIMITS.validator_document_timeout_ms / 1_000;
  return {
    file,
    why: `${plain(file)} was not judged within ${limit_s} seconds: a rule does not end.`,
    exit: EXIT.failed,
  };
}

/** Judges all files once and tells the verdicts. */
async function judgeAll(files: readonly string[], telling: Telling): Promise<ExitCode> {
  const { format } = telling;
  let worst: ExitCode = EXIT.ok;
  const verdicts: FileVerdict[] = [];
  const notJudged: NotJudged[] = [];
  let invalid = 0;
  let unreadable = 0;
  for (const file of files) {
    const verdict = await judged(file, telling);
    if ("exit" in verdict) {
      complain(verdict.why);
      notJudged.push(verdict);
      worst = Math.max(worst, verdict.exit) as ExitCode;
      if (verdict.exit === EXIT.usage) unreadable += 1;
      else invalid += 1;
      continue;
    }
    if (format === "json") print(lineOfJson(verdict));
    else if (format === "text") show(verdict);
    else verdicts.push(verdict);
    if (verdict.valid) continue;
    invalid += 1;
    if (worst === EXIT.ok) worst = EXIT.failed;
  }
  if (format === "sarif") print(toSarif(verdicts, notJudged));
  if (format === "junit") print(toJunit(verdicts, notJudged));
  if (format === "text") print(`${summaryOf(files.length - unreadable, invalid, unreadable)}.`);
  return worst;
}

/** Of no file at all nobody says that it is valid. */
function summaryOf(checked: number, invalid: number, unreadable: number): string {
  const verdict = invalid === 0 ? colour("green", "all valid") : colour("red", `${invalid} invalid`);
  const told = checked === 0 ? [] : [verdict];
  return [`${checked} checked`, ...told, ...(unreadable === 0 ? [] : [`${unreadable} unreadable`])].join(", ");
}

/** As `judgeAll`, of what was named; a folder with nothing to judge is no success of those that were judged. */
async function judgeNamed(values: readonly string[], telling: Telling): Promise<ExitCode> {
  const named = values.map((value) => ({ value, files: filesBelow(value) }));
  const empty = named.filter(({ files }) => files.length === 0);
  for (const { value } of empty) complain(`There are no .xml files below ${plain(value)}.`);
  if (empty.length === named.length) return EXIT.usage;
  const code = await judgeAll(
    named.flatMap(({ files }) => files),
    telling,
  );
  return empty.length > 0 ? EXIT.usage : code;
}

/** What a change of a file shows in: editors write in place, or put another file in its place. */
const stampOf = (file: string): string => {
  const stats = orCode(() => statSync(file));
  return typeof stats === "string" ? stats : `${stats.mtimeMs} ${stats.size} ${stats.ino}`;
};

/** Judges files again whenever they change, and new ones when they come, until the command is interrupted. */
async function watch(values: readonly string[], telling: Telling): Promise<never> {
  for (const value of values)
    if (stampOf(value) === GONE) complain(`${plain(value)} is not there; it is judged when it comes.`);
  let stamps = new Map<string, string>();
  for (;;) {
    const now = new Map(values.flatMap(filesBelow).map((file) => [file, stampOf(file)]));
    const changed = [...now].flatMap(([file, stamp]) => (stamp === GONE || stamps.get(file) === stamp ? [] : [file]));
    stamps = now;
    if (changed.length > 0) await judgeAll(changed, telling);
    await setTimeout(LIMITS.validate_watch_poll_ms);
  }
}

async function run(args: readonly string[]): Promise<ExitCode> {
  const parsed = parseArguments(args, {
    options: ["layer", "rules", "type", "format", "lang"],
    flags: ["json", "fragment", "preview", "upcoming", "watch"],
    words: Infinity,
  });
  const { options, values } = parsed;
  const format = formatOf(parsed);
  if (values.length === 0) throw new UsageError("Name the files to check, or - for standard input.");
  if (options.has("watch") && (values.includes("-") || format === "sarif" || format === "junit"))
    throw new UsageError("--watch takes files and folders, and tells verdicts as text or json.");
  const layers = layersOf(parsed);
  const declared = declaredType(options.get("type"));
  const language = languageOf(parsed);
  const packs = await readable(() => packsOf(options.get("rules")));
  const judge = await judgeWith(packs, {
    limits: SCAN_LIMITS,
    day: bratislavaDay(systemClock.now()),
    fragment: options.has("fragment"),
    preview: options.has("preview"),
    upcoming: options.has("upcoming"),
    details: true,
    language,
    ...(declared === undefined ? {} : { declared }),
    ...(layers === undefined ? {} : { layers: [...layers] }),
  });
  const telling: Telling = { judge, format, layers };
  return options.has("watch") ? watch(values, telling) : judgeNamed(values, telling);
}

export const validateCommand: Command = {
  name: "validate",
  summary: "Check documents offline against UBL 2.1, EN 16931 and Peppol BIS 3.0.",
  usage: [
    "kurier validate FILE|DIR… [--format text|json|sarif|junit] [--json] [--layer schema,en16931,peppol] [--rules builtin|DIR] [--type URN] [--lang en|sk] [--fragment] [--preview] [--upcoming] [--watch]",
    "--upcoming also says what rules that come into force later will find; --watch judges files again whenever they change.",
    "--type declares the document type or CustomizationID to judge by; without it the document's own decides. A layer that",
    "--layer names always judges, also where the CustomizationID would not bring it.",
    "- reads standard input; --fragment skips the schema layer; --rules DIR uses imported packs or a release's folder.",
    "A folder stands for the .xml files below it. --json, or --format json, prints one object a file and line. Exit 0: all valid; 1: findings of severity fatal or error; 2: usage or unreadable file.",
  ],
  run,
};
