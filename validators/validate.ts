/**
 * The chain: bytes → well-formed document → UBL grammar → EN 16931 → Peppol → one report.
 *
 * Every layer runs on every well-formed document with a known root, so that a caller sees all findings at once.
 * @source design/validation.md V7, sections 2 and 6
 */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { inspect } from "./inspect.js";
import { chooseRules } from "./selection/choice.js";
import { NO_PACKS, packGrammarFor, packRulesFor } from "./selection/packs.js";
import type { Packs } from "./selection/packs.js";
import { withoutBackingStore } from "./plain.js";
import type { ValidateOptions } from "./protocol.js";
import { invalidates } from "./report.js";
import type { DocumentFacts, Finding, Layer, Report, RuleSetUsed, Severity } from "./report.js";
import type { RuleSet } from "./rules/rule.js";
import { LayerClock } from "./stopwatch.js";
import { checkGrammar, isKnownRoot } from "./ubl/check.js";
import { wrongNamespaces } from "./ubl/namespaces.js";
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
      findings: scanned.findings,
      dropped: 0,
      profile: "none",
      ruleSets: [],
      facts: undefined,
    };
  }
  const { document } = scanned;
  const facts = inspect(document);
  const chain = new Chain(document, options.limits.findings, clock);
  const profile = isKnownRoot(document.name(0))
    ? judge(chain, facts, options, packs)
    : judgeForeign(chain, facts, options, packs, bytes);
  return {
    valid: chain.valid,
    wellFormed: true,
    payloadSha256,
    findings: chain.findings,
    dropped: chain.dropped,
    profile,
    ruleSets: chain.used,
    facts,
    ...compressed(bytes, chain.valid ? options.compressLevel : undefined),
    ...clock.timings(),
  };
}

/** Whoever holds the bytes anyway compresses them, so that their owner need not. */
const compressed = (bytes: Buffer, level: number | undefined): Pick<Report, "compressed"> =>
  level === undefined ? {} : { compressed: withoutBackingStore(gzipSync(bytes, { level })) };

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
    const { findings, dropped } = checkGrammar(document, chain.share);
    chain.use(GRAMMAR);
    chain.add("schema", findings, dropped, dropped > 0);
  }
  const choice = chooseRules(facts, options, packs);
  if (choice === undefined) {
    const element = document.child(0, cbc.CustomizationID);
    chain.add("peppol", [unplaced("UBL-CUSTOMIZATION", Math.max(element, 0))]);
    return "none";
  }
  for (const { rules, layer } of choice.sets) chain.run(rules, layer);
  return choice.profile;
}

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

/** Collects the findings of the layers in chain order. */
class Chain {
  readonly document: XmlDocument;
  readonly findings: Finding[] = [];
  readonly used: RuleSetUsed[] = [];
  /** Findings that one layer may report. */
  readonly share: number;
  readonly #clock: LayerClock;
  dropped = 0;
  valid = true;

  constructor(document: XmlDocument, findingsMax: number, clock: LayerClock) {
    this.document = document;
    this.#clock = clock;
    this.share = Math.max(1, Math.floor(findingsMax / SHARES));
  }

  use(rules: RuleSetUsed): void {
    this.used.push(rules);
  }

  /** Runs one rule set over the document and reports its findings under a layer. */
  run(rules: RuleSet, layer: Layer): void {
    const { findings, dropped, droppedInvalid } = rules.run(this.document, this.share);
    const { id, version } = rules;
    // The version of a pack is the hash of its sources.
    this.use({ id, version, layer, ...(id.startsWith("pack:") ? { sha256: version } : {}) });
    this.add(layer, findings, dropped, droppedInvalid);
  }

  /** Takes a finding that knows its place. */
  place(finding: Finding): void {
    if (invalidates(finding.severity)) this.valid = false;
    this.findings.push(finding);
  }

  add(layer: Layer, findings: readonly Unplaced[], dropped = 0, droppedInvalid = false): void {
    this.dropped += dropped;
    if (droppedInvalid) this.valid = false;
    for (const finding of findings) {
      this.place({
        ruleId: finding.ruleId,
        layer,
        severity: finding.severity,
        location: this.document.path(finding.element),
        line: this.document.line(finding.element),
        message: finding.message,
        ...(finding.terms.length > 0 ? { btIds: finding.terms } : {}),
      });
    }
    this.#clock.lap(layer);
  }
}
