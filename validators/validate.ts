/**
 * The chain: bytes → well-formed document → UBL grammar → EN 16931 → Peppol → one report.
 *
 * Every layer runs on every well-formed document with a known root, so that a caller sees all findings at once.
 * @source design/validation.md V7, sections 2 and 6
 */
import { createHash } from "node:crypto";
import { inspect } from "./inspect.js";
import { chooseRules } from "./selection/choice.js";
import { NO_PACKS, packGrammarFor, packRulesFor } from "./selection/packs.js";
import type { Packs } from "./selection/packs.js";
import { upcomingDays } from "./selection/upcoming.js";
import { withoutBackingStore } from "./plain.js";
import type { ValidateOptions } from "./protocol.js";
import { invalidates } from "./report.js";
import type { DocumentFacts, Finding, Layer, Report, RuleSetUsed, Severity, Upcoming } from "./report.js";
import { adviceRules } from "./rules/advice/advice.js";
import type { RuleResult, RuleSet } from "./rules/rule.js";
import { LayerClock } from "./stopwatch.js";
import { valueAt } from "./texts/details.js";
import { findingsIn } from "./texts/language.js";
import { sharperMessage } from "./texts/sharper.js";
import { checkGrammar, isKnownRoot } from "./ubl/check.js";
import { wrongNamespaces } from "./ubl/namespaces.js";
import { compress } from "./wss/coding/gzip.js";
import type { XmlDocument } from "./xml/document.js";
import { cbc, NS, roots } from "./xml/names.js";
import { foreignRoot } from "./xml/recognise.js";
import { scan } from "./xml/scanner.js";

const GRAMMAR: RuleSetUsed = { id: "ubl", version: "2.1", layer: "schema" };
/** Layers that share the findings of a report: one layer with thousands of findings must not hide the others. */
const SHARES = 3;

const MESSAGES = {
  "UBL-ROOT":
    "The document element is none that is known here. Send a UBL 2.1 Invoice, CreditNote or ApplicationResponse.",
  "UBL-NAMESPACE": "Elements are in another namespace than UBL 2.1 has them in.",
  "UBL-CUSTOMIZATION":
    "The CustomizationID names no specification that is known here. Use that of the Peppol Invoice Response or of the Message Level Status.",
} as const;

/** A finding of a layer that still needs its place. */
interface Unplaced {
  readonly ruleId: string;
  readonly severity: Severity;
  readonly element: number;
  /** The element that shows the mistake, where it is another. */
  readonly at?: number;
  readonly message: string;
  readonly terms: readonly string[];
}

/**
 * Judges one document. Never throws for what the bytes hold; a throw is a bug in a rule.
 * @param packs  imported rules of this thread; default none
 */
export function validateDocument(bytes: Buffer, options: ValidateOptions, packs: Packs = NO_PACKS): Report {
  const payloadSha256 = createHash("sha256").update(bytes).digest("hex");
  const clock = new LayerClock(options.timings === true);
  const scanned = scan(bytes, options.limits);
  clock.lap("scan");
  if (scanned.kind === "refused") {
    return {
      valid: false,
      wellFormed: false,
      payloadSha256,
      findings: findingsIn(scanned.findings, options.language ?? "en"),
      dropped: 0,
      profile: "none",
      ruleSets: [],
      facts: undefined,
    };
  }
  const { document } = scanned;
  const facts = inspect(document);
  const chain = new Chain(document, options, clock);
  const profile = isKnownRoot(document.name(0))
    ? judge(chain, facts, options, packs)
    : judgeForeign(chain, facts, options, packs, bytes);
  const later =
    options.upcoming === true && isKnownRoot(document.name(0))
      ? upcomingVerdicts(chain, facts, options, packs)
      : undefined;
  return {
    valid: chain.valid,
    wellFormed: true,
    payloadSha256,
    findings: findingsIn(chain.findings, options.language ?? "en"),
    dropped: chain.dropped,
    ...(chain.dropped === 0 ? {} : { omitted: Object.fromEntries(chain.omitted) }),
    profile,
    ruleSets: chain.used,
    facts,
    ...(later === undefined ? {} : { upcoming: later }),
    ...compressed(bytes, chain.valid ? options.compressLevel : undefined),
    ...clock.timings(),
  };
}

/** What the rules of later days say beyond those of today. */
function upcomingVerdicts(today: Chain, facts: DocumentFacts, options: ValidateOptions, packs: Packs): Upcoming[] {
  const keyOf = ({ ruleId, location }: Finding): string => `${ruleId}\n${location}`;
  const nameOf = ({ id, version, layer }: RuleSetUsed): string => `${layer} ${id} ${version}`;
  const [found, used] = [new Set(today.findings.map(keyOf)), new Set(today.used.map(nameOf))];
  return upcomingDays(facts, options, packs).map((day) => {
    const chain = new Chain(today.document, options, new LayerClock(false));
    judge(chain, facts, { ...options, day }, packs);
    return {
      mandatoryFrom: day,
      ruleSets: chain.used.filter((rules) => !used.has(nameOf(rules))),
      valid: chain.valid,
      findings: findingsIn(
        chain.findings.filter((finding) => !found.has(keyOf(finding))),
        options.language ?? "en",
      ),
    };
  });
}

/** Whoever holds the bytes anyway compresses them, so that their owner need not. */
const compressed = (bytes: Buffer, level: number | undefined): Pick<Report, "compressed"> =>
  level === undefined ? {} : { compressed: withoutBackingStore(compress(bytes, level)) };

/** Runs the layers on a document that the grammar table knows. @returns the name of the selection */
function judge(chain: Chain, facts: DocumentFacts, options: ValidateOptions, packs: Packs): string {
  const { document } = chain;
  const strangers = wrongNamespaces(document);
  if (strangers.length > 0) {
    // Everything else would be found missing or misplaced, a hundred times over, for this one reason.
    for (const { element, message } of strangers)
      chain.add("schema", [{ ...unplaced("UBL-NAMESPACE", element), message }]);
    return "none";
  }
  if (options.fragment !== true) {
    const { findings, dropped, droppedRules } = checkGrammar(document, chain.share);
    chain.use(GRAMMAR);
    chain.add("schema", findings, { dropped, droppedRules, droppedInvalid: dropped > 0 });
  }
  const choice = chooseRules(facts, options, packs);
  if (choice === undefined) {
    const element = document.child(0, cbc.CustomizationID);
    chain.add("peppol", [unplaced("UBL-CUSTOMIZATION", Math.max(element, 0))]);
    return "none";
  }
  for (const { rules, layer } of choice.sets) chain.run(rules, layer);
  if (isInvoice(document)) chain.advise((advice ??= adviceRules()));
  return choice.profile;
}

/** Compiled once per thread. */
let advice: RuleSet | undefined;
const isInvoice = (document: XmlDocument): boolean =>
  document.name(0) === roots.Invoice || document.name(0) === roots.CreditNote;

/** A document type that only imported packs know: their XSD and their rules. */
function judgeForeign(
  chain: Chain,
  facts: DocumentFacts,
  options: ValidateOptions,
  packs: Packs,
  bytes: Buffer,
): string {
  const grammar = packGrammarFor(packs, facts);
  const imported = packRulesFor(packs, facts, options.day, options.preview ?? false).filter(
    ({ roots }) => roots.size > 0,
  );
  if (grammar === undefined && imported.length === 0) {
    chain.add("schema", [{ ...unplaced("UBL-ROOT", 0), message: rootMessage(facts) }]);
    return "none";
  }
  if (grammar !== undefined && options.fragment !== true) {
    chain.use({ id: grammar.id, version: grammar.namespace, layer: "schema" });
    for (const { ruleId, severity, line, message } of grammar.validator.validate(bytes, chain.share)) {
      chain.place({ ruleId, layer: "schema", severity, location: "/", line, message });
    }
  }
  for (const { rules, layer } of imported) chain.run(rules, layer);
  return "pack";
}

/** What is known of a document element that has no grammar: another standard's, or ours in another namespace. */
function rootMessage({ rootNamespace, rootLocal }: DocumentFacts): string {
  const foreign = foreignRoot(rootNamespace, rootLocal);
  if (foreign !== undefined) return foreign;
  const expected = rootLocal in roots ? NS[rootLocal as keyof typeof roots] : undefined;
  return expected === undefined
    ? MESSAGES["UBL-ROOT"]
    : `The document element ${rootLocal} is in ${rootNamespace === "" ? "no namespace" : `the namespace ${rootNamespace}`}; UBL 2.1 has it in ${expected}. Declare that namespace for it.`;
}

const unplaced = (ruleId: keyof typeof MESSAGES, element: number): Unplaced => ({
  ruleId,
  severity: "fatal",
  element,
  message: MESSAGES[ruleId],
  terms: [],
});

const NOTHING_MORE = { dropped: 0, droppedInvalid: false } as const;

/** Collects the findings of the layers in chain order. */
class Chain {
  readonly document: XmlDocument;
  readonly findings: Finding[] = [];
  readonly used: RuleSetUsed[] = [];
  /** Findings that one layer may report. */
  readonly share: number;
  /** Findings beyond the share of their layer, by rule. */
  readonly omitted = new Map<string, number>();
  readonly #clock: LayerClock;
  readonly #details: boolean;
  dropped = 0;
  valid = true;

  constructor(document: XmlDocument, { limits, details = false }: ValidateOptions, clock: LayerClock) {
    this.document = document;
    this.#clock = clock;
    this.#details = details;
    this.share = Math.max(1, Math.floor(limits.findings / SHARES));
  }

  use(rules: RuleSetUsed): void {
    this.used.push(rules);
  }

  /** Runs one rule set over the document and reports its findings under a layer. */
  run(rules: RuleSet, layer: Layer): void {
    const { findings, ...rest } = rules.run(this.document, this.share);
    const { id, version } = rules;
    // The version of a pack is the hash of its sources.
    this.use({ id, version, layer, ...(id.startsWith("pack:") ? { sha256: version } : {}) });
    this.add(layer, findings, rest);
  }

  /** Adds warnings that are no verdict: what gives them is not named among the rules that judged. */
  advise(rules: RuleSet): void {
    const { findings, ...rest } = rules.run(this.document, this.share);
    this.add("advice", findings, rest);
  }

  /** Takes a finding that knows its place. */
  place(finding: Finding): void {
    if (invalidates(finding.severity)) this.valid = false;
    this.findings.push(finding);
  }

  /** @param rest  what the layer found beyond its share; default nothing */
  add(layer: Layer, findings: readonly Unplaced[], rest: Omit<RuleResult, "findings"> = NOTHING_MORE): void {
    this.dropped += rest.dropped;
    if (rest.droppedInvalid) this.valid = false;
    for (const [id, count] of rest.droppedRules ?? []) this.omitted.set(id, (this.omitted.get(id) ?? 0) + count);
    for (const finding of findings) this.place(this.#placed(layer, finding));
    this.#clock.lap(layer);
  }

  #placed(layer: Layer, { ruleId, severity, element, at = element, message, terms }: Unplaced): Finding {
    const { document } = this;
    const value = this.#details ? valueAt(document, at, terms) : undefined;
    return {
      ruleId,
      layer,
      severity,
      location: document.path(at),
      ...(this.#details ? document.position(at) : { line: document.line(at) }),
      ...(value === undefined ? {} : { value }),
      message: sharperMessage(document, at, ruleId) ?? message,
      ...(terms.length > 0 ? { btIds: terms } : {}),
    };
  }
}
