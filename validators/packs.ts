/**
 * Imported rule packs beside the built-in rules. A schema of a pack that names one of our layers takes the place of the
 * built-in rules of that layer for the documents it is for; any other schema adds a layer. XSDs of a pack stand in for
 * the grammar of document types that the built-in table does not know.
 */
import type { DocumentFacts, Layer } from "./report.js";
import type { XsdValidator } from "./schematron/release/xsd.js";
import type { RuleSet } from "./rules/rule.js";
import { CUSTOMIZATION } from "./selection.js";

/** One schema of an active pack. */
export interface PackRules {
  readonly rules: RuleSet;
  readonly layer: Layer;
  /** First day on which it is mandatory, "YYYY-MM-DD"; absent: from the day it was activated. */
  readonly mandatoryFrom: string | undefined;
  /** Document elements it is for, {namespace}local; empty: all. */
  readonly roots: ReadonlySet<string>;
  /** Beginnings of the CustomizationIDs it is for; empty: all. */
  readonly customizations: readonly string[];
}

/** The grammar of another document type. */
export interface PackGrammar {
  readonly id: string;
  readonly namespace: string;
  readonly validator: XsdValidator;
}

/** What one thread has loaded. */
export interface Packs {
  readonly rules: readonly PackRules[];
  readonly grammars: readonly PackGrammar[];
}

export const NO_PACKS: Packs = { rules: [], grammars: [] };

/** Schemas for a document on a day. Where several are for one layer of ours, the one mandatory latest is taken. */
export function packRulesFor(packs: Packs, facts: DocumentFacts, day: string, preview: boolean): PackRules[] {
  const root = `{${facts.rootNamespace}}${facts.rootLocal}`;
  const inForce = packs.rules.filter(
    ({ roots, mandatoryFrom }) => (roots.size === 0 || roots.has(root)) && (preview || (mandatoryFrom ?? "") <= day),
  );
  const named = inForce.filter(
    ({ customizations }) =>
      customizations.length === 0 || customizations.some((id) => (facts.customizationId ?? "").startsWith(id)),
  );
  // As with the built-in rules, what names no known specification is judged as billing, and EN 16931 alone as itself.
  const asBilling =
    facts.customizationId === CUSTOMIZATION.en16931
      ? []
      : inForce.filter(
          ({ layer, customizations }) =>
            isOwnLayer(layer) &&
            !named.some((other) => other.layer === layer) &&
            customizations.includes(CUSTOMIZATION.billing),
        );
  const fitting = [...named, ...asBilling];
  return fitting.filter((candidate) =>
    isOwnLayer(candidate.layer)
      ? !fitting.some((other) => other.layer === candidate.layer && isLater(other, candidate, fitting))
      : true,
  );
}

/** Layers of the built-in rules. */
export const isOwnLayer = (layer: Layer): boolean => layer === "en16931" || layer === "peppol";

function isLater(other: PackRules, candidate: PackRules, order: readonly PackRules[]): boolean {
  const [a, b] = [other.mandatoryFrom ?? "", candidate.mandatoryFrom ?? ""];
  return a > b || (a === b && order.indexOf(other) > order.indexOf(candidate));
}

/** The XSD for a root that the grammar table does not know. */
export const packGrammarFor = (packs: Packs, facts: DocumentFacts): PackGrammar | undefined =>
  packs.grammars.find(({ namespace }) => namespace === facts.rootNamespace);
