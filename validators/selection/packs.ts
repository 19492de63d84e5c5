/**
 * Imported rule packs beside the built-in rules: what a pack holds and which documents it is for. Whether it takes the
 * place of built-in rules is decided in choice.ts. XSDs of a pack stand in for the grammar of document types that the
 * built-in table does not know.
 */
import type { DocumentFacts, Layer, PackId } from "../report.js";
import type { XsdValidator } from "../schematron/release/xsd.js";
import type { RuleSet } from "../rules/rule.js";
import { CUSTOMIZATION } from "./builtin.js";

/** One schema of an active pack. */
export interface PackRules {
  readonly rules: RuleSet;
  /** The layer it belongs to: one of ours when it is offered as its rules, else its own. */
  readonly layer: Layer;
  /** The pack it comes from. */
  readonly pack: PackId;
  /** Built-in ids that it lacks and that the operator has confirmed to go without. */
  readonly without: ReadonlySet<string>;
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

/** Schemas for a document on a day. Of several packs for one layer of ours, that which is mandatory latest is taken. */
export function packRulesFor(packs: Packs, facts: DocumentFacts, day: string, preview: boolean): PackRules[] {
  const root = `{${facts.rootNamespace}}${facts.rootLocal}`;
  const inForce = packs.rules.filter(
    ({ roots, mandatoryFrom }) => (roots.size === 0 || roots.has(root)) && (preview || (mandatoryFrom ?? "") <= day),
  );
  const named = inForce.filter((pack) => pack.customizations.length === 0 || bindsByName(pack, facts));
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

/** Whether a schema names the CustomizationID of a document, or the beginning of it. */
export const bindsByName = ({ customizations }: PackRules, { customizationId = "" }: DocumentFacts): boolean =>
  customizations.some((id) =>
    // Every CustomizationID of an invoice begins with that of the norm; a schema that names it means it alone.
    id === CUSTOMIZATION.en16931 ? customizationId === id : customizationId.startsWith(id),
  );

/** Layers of the built-in rules. */
export const isOwnLayer = (layer: Layer): boolean => layer === "en16931" || layer === "peppol";

/** Schemas of one pack belong together and are never later than each other. */
function isLater(other: PackRules, candidate: PackRules, order: readonly PackRules[]): boolean {
  if (other.pack === candidate.pack) return false;
  const [a, b] = [other.mandatoryFrom ?? "", candidate.mandatoryFrom ?? ""];
  return a > b || (a === b && order.indexOf(other) > order.indexOf(candidate));
}

/** The XSD for a root that the grammar table does not know. */
export const packGrammarFor = (packs: Packs, facts: DocumentFacts): PackGrammar | undefined =>
  packs.grammars.find(({ namespace }) => namespace === facts.rootNamespace);
