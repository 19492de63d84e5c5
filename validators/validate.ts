/**
 * The chain: bytes → well-formed document → UBL grammar → EN 16931 → Peppol → one report.
 *
 * Every layer runs on every well-formed document with a known root, so that a caller sees all findings at once.
 * @source design/validation.md V7, sections 2 and 6
 */
import { createHash } from "node:crypto";
import { inspect } from "./inspect.js";
import { isOwnLayer, NO_PACKS, packGrammarFor, packRulesFor } from "./packs.js";
import type { Packs } from "./packs.js";
import type { ValidateOptions } from "./protocol.js";
import { invalidates } from "./report.js";
import type { DocumentFacts, Finding, Layer, Report, RuleSetUsed, Severity } from "./report.js";
import type { RuleSet } from "./rules/rule.js";
import { selectRules } from "./selection.js";
import { LayerClock } from "./stopwatch.js";
import { checkGrammar, isKnownRoot } from "./ubl/check.js";
import type { XmlDocument } from "./xml/document.js";
import { cbc } from "./xml/names.js";
import { scan } from "./xml/scanner.js";

const GRAMMAR: RuleSetUsed = { id: "ubl", version: "2.1", layer: "schema" };
/** Layers that share the findings of a report: one layer with thousands of findings must not hide the others. */
const SHARES = 3;

const MESSAGES = {
  "UBL-ROOT":
    "The document element is none that is known here. Send a UBL 2.1 Invoice, CreditNote or ApplicationResponse.",
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
    ...clock.timings(),
  };
}

/** Runs the layers on a document that the grammar table knows. @returns the name of the selection */
function judge(chain: Chain, facts: DocumentFacts, options: ValidateOptions, packs: Packs): string {
  const { document } = chain;
  if (options.fragment !== true) {
    const { findings, dropped } = checkGrammar(document, chain.share);
    chain.use(GRAMMAR);
    chain.add("schema", findings, dropped, dropped > 0);
  }
  const imported = packRulesFor(packs, facts, options.day, options.preview ?? false);
  const selection = selectRules(facts, options.day, options.preview);
  if (selection === undefined && imported.length === 0) {
    const element = document.child(0, cbc.CustomizationID);
    chain.add("peppol", [unplaced("UBL-CUSTOMIZATION", Math.max(element, 0))]);
    return "none";
  }
  const replaced = new Set(imported.map(({ layer }) => layer));
  const builtIn = (selection?.ruleSets ?? []).filter(({ layer }) => !replaced.has(layer as Layer));
  const own = imported.filter(({ layer }) => isOwnLayer(layer)).map(({ rules }) => rules);
  // Chain order: EN 16931 before Peppol, further layers last.
  const inOrder = [...builtIn, ...own].sort((a, b) => (a.layer < b.layer ? -1 : a.layer > b.layer ? 1 : 0));
  for (const rules of inOrder) chain.run(rules);
  for (const { rules, layer } of imported) if (!isOwnLayer(layer)) chain.run(rules);
  return selection?.profile ?? "pack";
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
    chain.add("schema", [unplaced("UBL-ROOT", 0)]);
    return "none";
  }
  if (grammar !== undefined && options.fragment !== true) {
    chain.use({ id: grammar.id, version: grammar.namespace, layer: "schema" });
    for (const { ruleId, severity, line, message } of grammar.validator.validate(bytes, chain.share)) {
      chain.place({ ruleId, layer: "schema", severity, location: "/", line, message });
    }
  }
  for (const { rules } of imported) chain.run(rules);
  return "pack";
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

  /** Runs one rule set over the document. */
  run(rules: RuleSet): void {
    const { findings, dropped, droppedInvalid } = rules.run(this.document, this.share);
    // The layer of a rule set is one of ours or the id of a pack; the runner keeps it as text.
    const layer = rules.layer as Layer;
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
