/** Days after today on which other rules come into force for a document. */
import type { ValidateOptions } from "../protocol.js";
import type { DocumentFacts } from "../report.js";
import { SELECTION } from "./builtin.js";
import { chooseRules } from "./choice.js";
import type { Packs } from "./packs.js";

/** Releases come twice a year; more days than this are none that anybody plans for. */
const DAYS_MAX = 4;

/** @returns days as YYYY-MM-DD, the earliest first, on each of which the choice of rules is another than before */
export function upcomingDays(facts: DocumentFacts, options: ValidateOptions, packs: Packs): string[] {
  const asked = options.declared === undefined ? facts : { ...facts, customizationId: options.declared };
  const row = SELECTION.find(({ matches }) => matches(asked));
  const days = [
    ...(row?.versions ?? []).flatMap(({ mandatoryFrom, make }) => (make === undefined ? [] : [mandatoryFrom])),
    ...packs.rules.flatMap(({ mandatoryFrom }) => (mandatoryFrom === undefined ? [] : [mandatoryFrom])),
  ].filter((day) => day > options.day);
  if (days.length === 0) return [];
  const known = new Set([namesOf(facts, options, packs)]);
  return [...new Set(days)].sort().reduce<string[]>((found, day) => {
    const names = namesOf(facts, { ...options, day }, packs);
    if (found.length >= DAYS_MAX || known.has(names)) return found;
    known.add(names);
    return [...found, day];
  }, []);
}

/** The choice of a day in one text, for comparison. */
const namesOf = (facts: DocumentFacts, options: ValidateOptions, packs: Packs): string =>
  (chooseRules(facts, options, packs)?.sets ?? [])
    .map(({ rules, layer }) => `${layer} ${rules.id} ${rules.version}`)
    .join("\n");
