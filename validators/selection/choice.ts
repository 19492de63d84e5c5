/**
 * Which rules judge a document, built-in and imported together. An import never weakens: imported rules take the place
 * of built-in ones only where they know every id of them; everywhere else they are judged on top.
 */
import type { ValidateOptions } from "../protocol.js";
import type { DocumentFacts, Layer } from "../report.js";
import type { RuleSet } from "../rules/rule.js";
import { billingRules, selectRules } from "./builtin.js";
import { coverageOf, isWhole, mergeRuleSets } from "./coverage.js";
import { bindsByName, isOwnLayer, packRulesFor } from "./packs.js";
import type { PackRules, Packs } from "./packs.js";

/** One rule set and the layer its findings are reported under. */
interface ChosenRules {
  readonly rules: RuleSet;
  readonly layer: Layer;
}

interface Choice {
  /** Name in reports: a row of the built-in table, or the id of the pack that is for the document's CustomizationID. */
  readonly profile: string;
  /** In chain order. */
  readonly sets: readonly ChosenRules[];
}

/** The rules for a document that the grammar knows, or undefined when nothing is for it. */
export function chooseRules(facts: DocumentFacts, options: ValidateOptions, packs: Packs): Choice | undefined {
  const asked = options.declared === undefined ? facts : { ...facts, customizationId: options.declared };
  const imported = packRulesFor(packs, asked, options.day, options.preview ?? false);
  const selection = selectRules(asked, options.day, options.preview);
  if (selection === undefined && imported.length === 0) return undefined;
  // A document that follows a specification of its own is none of Peppol billing: the core and the pack judge it.
  const own = selection?.named === true ? undefined : imported.find((pack) => bindsByName(pack, asked));
  const selected = selection?.ruleSets ?? [];
  const builtIn = own === undefined ? selected : selected.filter(({ layer }) => layer === "en16931");
  const extra = askedFor(builtIn, asked, options);
  const sets = [...builtIn, ...extra].flatMap((rules) => standIns(rules, imported));
  const taken = new Set(sets.map(({ rules }) => rules));
  const onTop = imported
    .filter(({ layer }) => layer === "en16931" || own === undefined || !isOwnLayer(layer))
    .filter((pack) => !taken.has(pack.rules) && !isMerged(pack, sets))
    .map((pack) => ({
      rules: pack.rules,
      layer: isOwnLayer(pack.layer) && builtIn.some(({ layer }) => layer === pack.layer) ? pack.pack : pack.layer,
    }));
  return {
    profile: own?.pack ?? selection?.profile ?? "pack",
    sets: [...sets, ...onTop].sort((a, b) => order(a.layer) - order(b.layer)),
  };
}

/** EN 16931 before Peppol, further layers last and in the order in which they were loaded. */
const order = (layer: Layer): number => (layer === "en16931" ? 0 : layer === "peppol" ? 1 : 2);

/** Layers that the caller named and that the document's own CustomizationID would not bring. */
const askedFor = (builtIn: readonly RuleSet[], facts: DocumentFacts, options: ValidateOptions): readonly RuleSet[] =>
  options.layers?.includes("peppol") === true && !builtIn.some(({ layer }) => layer === "peppol")
    ? billingRules(facts, options.day, options.preview).filter(({ layer }) => layer === "peppol")
    : [];

const isMerged = (pack: PackRules, sets: readonly ChosenRules[]): boolean =>
  sets.some(({ rules }) => rules.id.split("+").includes(pack.rules.id));

/** The built-in rules, or the imported ones that may take their place. */
function standIns(builtIn: RuleSet, imported: readonly PackRules[]): ChosenRules[] {
  const group = imported.filter(({ layer }) => layer === builtIn.layer);
  const merged = group.length === 0 ? undefined : replacementOf(builtIn, group);
  return [{ rules: merged ?? builtIn, layer: builtIn.layer }];
}

/** Answers per pack and built-in set: comparing a thousand ids for every document would cost more than the rules. */
const decided = new WeakMap<RuleSet, Map<string, RuleSet | undefined>>();

/** The imported rules as one set when they cover the built-in ones, else undefined. */
function replacementOf(builtIn: RuleSet, group: readonly PackRules[]): RuleSet | undefined {
  const [first] = group;
  if (first === undefined) return undefined;
  // Bounded by the schemas of the packs in force.
  const answers = decided.get(first.rules) ?? new Map<string, RuleSet | undefined>();
  decided.set(first.rules, answers);
  const key = [builtIn.id, builtIn.version, ...group.map(({ rules }) => rules.id)].join("\n");
  if (!answers.has(key)) {
    const offered = group.flatMap(({ rules }) => rules.catalogue);
    const without = new Set(group.flatMap((pack) => [...pack.without]));
    const whole = isWhole(coverageOf(builtIn.catalogue, offered, without));
    answers.set(key, whole ? mergeRuleSets(group.map(({ rules }) => rules)) : undefined);
  }
  return answers.get(key);
}
