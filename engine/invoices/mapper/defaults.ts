/** Members that a caller gives for what its sources leave out, nested as in a create body or with dots. */
import { isObject } from "../members.js";
import { kindOfTarget } from "./names.js";
import type { SourceValue } from "./values.js";

interface DefaultValue {
  /** `currency`, `recipient.address.city`, `lines[].vatRate`. */
  readonly target: string;
  readonly value: SourceValue;
}

/** Flat: `{recipient: {country: "SK"}, lines: {unit: "ks"}}` has recipient.country and lines[].unit. */
export function defaultsOf(defaults: Readonly<Record<string, unknown>>, prefix = ""): readonly DefaultValue[] {
  return Object.entries(defaults).flatMap(([name, value]) => {
    const target = prefix + name;
    if (isObject(value)) return defaultsOf(value, target === "lines" ? "lines[]." : `${target}.`);
    const isValue = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
    return isValue ? [{ target, value }] : [];
  });
}

/** Names of a field map or of defaults that no document has. */
export const unknownTargets = (targets: readonly string[]): readonly string[] =>
  targets.filter((target) => target !== "lines" && kindOfTarget(target) === undefined);
