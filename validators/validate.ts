/**
 * The chain: bytes → well-formed document → UBL grammar → EN 16931 → Peppol → one report.
 *
 * Every layer runs on every well-formed document with a known root, so that a caller sees all findings at once.
 * @source design/validation.md V7, sections 2 and 6
 */
import { createHash } from "node:crypto";
import { inspect } from "./inspect.js";
import type { ValidateOptions } from "./protocol.js";
import { invalidates } from "./report.js";
import type { DocumentFacts, Finding, Layer, Report, RuleSetUsed, Severity } from "./report.js";
import { selectRules } from "./selection.js";
import { checkGrammar, isKnownRoot } from "./ubl/check.js";
import type { XmlDocument } from "./xml/document.js";
import { cbc } from "./xml/names.js";
import { scan } from "./xml/scanner.js";

const GRAMMAR: RuleSetUsed = { id: "ubl", version: "2.1", layer: "schema" };
/** Layers that share the findings of a report: one layer with thousands of findings must not hide the others. */
const SHARES = 3;

const MESSAGES = {
  "UBL-ROOT": "The document element is none that is known here. Send a UBL 2.1 Invoice, CreditNote or ApplicationResponse.",
  "UBL-CUSTOMIZATION": "The CustomizationID names no specification that is known here. Use that of the Peppol Invoice Response or of the Message Level Status.",
} as const;

/** A finding of a layer that still needs its place. */
interface Unplaced {
  readonly ruleId: string;
  readonly severity: Severity;
  readonly element: number;
  readonly message: string;
  readonly terms: readonly string[];
}

/** Judges one document. Never throws for what the bytes hold; a throw is a bug in a rule. */
export function validateDocument(bytes: Buffer, options: ValidateOptions): Report {
  const payloadSha256 = createHash("sha256").update(bytes).digest("hex");
  const scanned = scan(bytes, options.limits);
  if (scanned.kind === "refused") {
    return { valid: false, wellFormed: false, payloadSha256, findings: scanned.findings, dropped: 0, profile: "none", ruleSets: [], facts: undefined };
  }
  const { document } = scanned;
  const facts = inspect(document);
  const chain = new Chain(document, options.limits.findings);
  const profile = isKnownRoot(document.name(0)) ? judge(chain, facts, options) : refuseRoot(chain);
  return {
    valid: chain.valid, wellFormed: true, payloadSha256,
    findings: chain.findings, dropped: chain.dropped, profile, ruleSets: chain.used, facts,
  };
}

function refuseRoot(chain: Chain): string {
  chain.add("schema", [unplaced("UBL-ROOT", 0)]);
  return "none";
}

/** Runs the layers. @returns the name of the selection */
function judge(chain: Chain, facts: DocumentFacts, options: ValidateOptions): string {
  const { document } = chain;
  if (options.fragment !== true) {
    const { findings, dropped } = checkGrammar(document, chain.share);
    chain.use(GRAMMAR);
    chain.add("schema", findings, dropped, dropped > 0);
  }
  const selection = selectRules(facts, options.day, options.preview);
  if (selection === undefined) {
    const element = document.child(0, cbc.CustomizationID);
    chain.add("peppol", [unplaced("UBL-CUSTOMIZATION", Math.max(element, 0))]);
    return "none";
  }
  for (const rules of selection.ruleSets) {
    const { findings, dropped, droppedInvalid } = rules.run(document, chain.share);
    // The layer of a rule set is one of ours or the id of a pack; the runner keeps it as text.
    const layer = rules.layer as Layer;
    chain.use({ id: rules.id, version: rules.version, layer });
    chain.add(layer, findings, dropped, droppedInvalid);
  }
  return selection.profile;
}

const unplaced = (ruleId: keyof typeof MESSAGES, element: number): Unplaced =>
  ({ ruleId, severity: "fatal", element, message: MESSAGES[ruleId], terms: [] });

/** Collects the findings of the layers in chain order. */
class Chain {
  readonly document: XmlDocument;
  readonly findings: Finding[] = [];
  readonly used: RuleSetUsed[] = [];
  /** Findings that one layer may report. */
  readonly share: number;
  dropped = 0;
  valid = true;

  constructor(document: XmlDocument, findingsMax: number) {
    this.document = document;
    this.share = Math.max(1, Math.floor(findingsMax / SHARES));
  }

  use(rules: RuleSetUsed): void { this.used.push(rules); }

  add(layer: Layer, findings: readonly Unplaced[], dropped = 0, droppedInvalid = false): void {
    this.dropped += dropped;
    if (droppedInvalid) this.valid = false;
    for (const finding of findings) {
      if (invalidates(finding.severity)) this.valid = false;
      this.findings.push({
        ruleId: finding.ruleId, layer, severity: finding.severity,
        location: this.document.path(finding.element), line: this.document.line(finding.element), message: finding.message,
        ...(finding.terms.length > 0 ? { btIds: finding.terms } : {}),
      });
    }
  }
}
