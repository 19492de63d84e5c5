/** The layer of each schema of a release: that of built-in rules which it covers whole, else one of its own. */
import type { Layer } from "../../report.js";
import type { AssertFacts, RuleSet } from "../../rules/rule.js";
import { builtInSets } from "../../selection/builtin.js";
import type { BuiltInSet } from "../../selection/builtin.js";
import { coverageOf, isWhole } from "../../selection/coverage.js";
import type { Coverage } from "../../selection/coverage.js";

/** What is known of a compiled schema. */
export interface OfferedSchema {
  readonly file: string;
  readonly asserts: readonly AssertFacts[];
  readonly customizations: readonly string[];
}

/** Schemas of a release beside the built-in rules that they look like. */
export interface Likeness {
  readonly builtIn: RuleSet;
  readonly files: readonly string[];
  /** What would be lost if the schemas took the place of the built-in rules. */
  readonly lost: Coverage;
  /** Ids that the schemas have beyond the built-in rules. */
  readonly added: readonly string[];
}

/** A schema that takes more than this share of its ids from built-in rules looks like a release of them. */
const LIKE_SHARE = 0.5;

/**
 * Finds the built-in rules that the schemas of a release are releases of.
 * @param without  ids whose loss the operator has confirmed
 */
export function likenesses(schemas: readonly OfferedSchema[], without: ReadonlySet<string>): Likeness[] {
  const sets = builtInSets();
  const ids = new Map<Layer, Set<string>>();
  for (const { rules } of sets) {
    const known = ids.get(rules.layer) ?? new Set<string>();
    for (const { id } of rules.catalogue) known.add(id);
    ids.set(rules.layer, known);
  }
  return sets.flatMap((set): Likeness[] => {
    const alike = schemas.filter(
      (schema) => looksLike(schema, ids.get(set.rules.layer) ?? new Set()) && isFor(schema, set),
    );
    if (alike.length === 0) return [];
    const offered = alike.flatMap(({ asserts }) => asserts);
    const known = new Set(set.rules.catalogue.map(({ id }) => id));
    return [
      {
        builtIn: set.rules,
        files: alike.map(({ file }) => file),
        lost: coverageOf(set.rules.catalogue, offered, without),
        added: [...new Set(offered.map(({ id }) => id))].filter((id) => !known.has(id)).sort(),
      },
    ];
  });
}

/**
 * The layer of each schema. A schema that looks like built-in rules and does not cover all of those it is for is not
 * allowed to replace any of them: it becomes a layer of its own, judged on top.
 */
export function layersOf(
  schemas: readonly OfferedSchema[],
  found: readonly Likeness[],
  id: string,
): Map<string, Layer> {
  return new Map(
    schemas.map(({ file }) => {
      const alike = found.filter(({ files }) => files.includes(file));
      const [first] = alike;
      const replaces = first !== undefined && alike.every(({ lost }) => isWhole(lost));
      return [file, replaces ? first.builtIn.layer : `pack:${id}`];
    }),
  );
}

function looksLike({ asserts }: OfferedSchema, known: ReadonlySet<string>): boolean {
  const ids = new Set(asserts.map(({ id }) => id));
  return [...ids].filter((id) => known.has(id)).length > ids.size * LIKE_SHARE;
}

/** Whether a schema and a built-in set are for the same documents and share rules. */
function isFor({ asserts, customizations }: OfferedSchema, { rules, customization }: BuiltInSet): boolean {
  const sameDocuments =
    customization === undefined ||
    customizations.length === 0 ||
    customizations.some((id) => customization === id || customization.startsWith(`${id}#`));
  const known = new Set(rules.catalogue.map(({ id }) => id));
  return sameDocuments && asserts.some(({ id }) => known.has(id));
}
