/** The CustomizationIDs that a schema is for: literals that its tests and contexts compare cbc:CustomizationID with. */
import type { Let, Schema } from "../compile/model.js";

/** Characters after `CustomizationID` in which the value it is compared with must stand. */
const NEAR_CHARS = 200;
const LITERAL = /^'([^']*)'$|^"([^"]*)"$/;
const CONCAT_DEPTH_MAX = 8;

/** Literals, each once, in the order of the schema. */
export function customizationsOf(schema: Schema): string[] {
  const lets = [...schema.lets, ...schema.patterns.flatMap((pattern) => pattern.lets)];
  const known = new Map(lets.map((declared) => [declared.name, declared]));
  const expressions = [
    ...lets.map(({ value }) => value),
    ...schema.patterns.flatMap((pattern) =>
      pattern.rules.flatMap((rule) => [
        rule.context,
        ...rule.lets.map(({ value }) => value),
        ...rule.asserts.map(({ test }) => test),
      ]),
    ),
  ];
  return [...new Set(expressions.flatMap((text) => comparedWith(text, known)))];
}

/** Values after each mention: every `urn:` literal up to the next element name, every variable that is one. */
function comparedWith(text: string, lets: ReadonlyMap<string, Let>): string[] {
  return text
    .split("CustomizationID")
    .slice(1)
    .flatMap((after) => {
      const near = after.slice(0, NEAR_CHARS + (/['"]/.exec(after)?.index ?? 0)).split(/cbc:|cac:/)[0] ?? "";
      const values = Array.from(near.matchAll(/'(urn:[^']+)'|"(urn:[^"]+)"|\$([\w.-]+)/g), ([, single, double, name]) =>
        name === undefined ? (single ?? double) : constantText(lets.get(name)?.value, lets, CONCAT_DEPTH_MAX),
      );
      return values.flatMap((value) => (value?.startsWith("urn:") === true ? [value] : []));
    });
}

/** The value of an expression made of literals, variables and concat(), or undefined when it is anything else. */
function constantText(value: string | undefined, lets: ReadonlyMap<string, Let>, depth: number): string | undefined {
  const text = value?.trim() ?? "";
  if (depth === 0) return undefined;
  const literal = LITERAL.exec(text);
  if (literal !== null) return literal[1] ?? literal[2];
  if (text.startsWith("$")) return constantText(lets.get(text.slice(1))?.value, lets, depth - 1);
  const parts = /^concat\(([^()]*)\)$/.exec(text)?.[1]?.match(/'[^']*'|"[^"]*"|\$[\w.-]+/g);
  if (parts === undefined || parts === null) return undefined;
  const values = parts.map((part) => constantText(part, lets, depth - 1));
  return values.every((part) => part !== undefined) ? values.join("") : undefined;
}
