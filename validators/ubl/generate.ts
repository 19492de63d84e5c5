/**
 * Reads the UBL 2.1 schemas and writes their facts as tables: names.generated.ts and grammar.generated.ts.
 *
 *     node dist/validators/ubl/generate.js XSD_DIRECTORY validators/ubl
 *
 * The schemas use a small part of XML Schema: global elements, sequences of references with minOccurs 0 or 1 and
 * maxOccurs 1 or unbounded, and simple content with attributes. Anything else stops the generator.
 */
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { NONE } from "../xml/document.js";
import type { ElementId, XmlDocument } from "../xml/document.js";
import { internName, NS } from "../xml/names.js";
import type { NameId } from "../xml/names.js";
import { SCAN_LIMITS, Scanner } from "../xml/scanner.js";

const XS = "http://www.w3.org/2001/XMLSchema";
// Interned before the first scan: a document read earlier would have ids of its own for them.
const table = <L extends string>(namespace: string, ...locals: readonly L[]): Record<L, NameId> =>
  Object.fromEntries(locals.map((local) => [local, internName(namespace, local)])) as Record<L, NameId>;
const xs = table(XS, "element", "complexType", "simpleContent", "attribute", "sequence", "any");
const at = table(
  "",
  "targetNamespace",
  "name",
  "type",
  "base",
  "ref",
  "use",
  "minOccurs",
  "maxOccurs",
  "namespace",
  "processContents",
);

/**
 * Modules of the signature schemas: their content is only checked for well-formedness, and one of them has a DOCTYPE.
 */
const SKIPPED_MODULES = /XAdES|xmldsig|Signature/;
/** Documents the grammar knows. */
const ROOTS = ["Invoice", "CreditNote", "ApplicationResponse"] as const;
const PREFIXES: Readonly<Record<string, string>> = { [NS.cbc]: "cbc:", [NS.cac]: "cac:", [NS.ext]: "ext:" };

/** minOccurs and maxOccurs → the mark of the tables. */
const OCCURRENCE: ReadonlyMap<string, string> = new Map([
  ["0 1", "?"],
  ["0 unbounded", "*"],
  ["1 1", ""],
  ["1 unbounded", "+"],
]);

interface Schema {
  readonly elements: Map<string, string>;
  readonly types: Map<string, TypeFacts>;
}
type TypeFacts =
  | { readonly kind: "sequence"; readonly items: readonly string[] }
  | { readonly kind: "any" }
  | { readonly kind: "value"; readonly base: string; readonly attributes: ReadonlyMap<string, string> };

/** Reads a qualified name from an attribute and writes it as the tables do. */
type QNameOf = (e: ElementId, name: "type" | "base" | "ref") => string;

/** The two generated files, as text. */
export interface GeneratedGrammar {
  readonly names: string;
  readonly grammar: string;
}

/**
 * Derives both tables from an XSD directory with the folders maindoc and common.
 * @throws Error when the schemas use a construct that the tables cannot hold.
 */
export function generateGrammar(directory: string): GeneratedGrammar {
  const schema: Schema = { elements: new Map(), types: new Map() };
  for (const file of readdirSync(join(directory, "common")).sort()) {
    if (!SKIPPED_MODULES.test(file)) readModule(join(directory, "common", file), schema);
  }
  for (const root of ROOTS) readModule(join(directory, "maindoc", `UBL-${root}-2.1.xsd`), schema);
  return { names: renderNames(schema), grammar: renderGrammar(schema) };
}

/** Name as the tables write it: `cbc:ID`, `Invoice` for a root, {namespace}local elsewhere. */
function written(namespace: string, local: string): string {
  if (namespace === XS) return `xs:${local}`;
  const prefix = PREFIXES[namespace] ?? (ROOTS.some((root) => NS[root] === namespace) ? "" : `{${namespace}}`);
  return prefix + local;
}

function readModule(file: string, schema: Schema): void {
  const scanned = new Scanner().scan(readFileSync(file), SCAN_LIMITS);
  if (scanned.kind !== "document") throw new Error(`${file}: ${scanned.findings[0]?.ruleId ?? "unreadable"}`);
  const { document } = scanned;
  const target = document.attr(0, at.targetNamespace) ?? "";
  const qname: QNameOf = (e, name) => {
    const value = document.attr(e, at[name]) ?? "";
    const colon = value.indexOf(":");
    return written(document.namespaceOf(e, value.slice(0, Math.max(colon, 0))) ?? "", value.slice(colon + 1));
  };
  for (let e = document.first(0); e !== NONE; e = document.next(e)) {
    const name = written(target, document.attr(e, at.name) ?? "");
    if (document.name(e) === xs.element) schema.elements.set(name, qname(e, "type"));
    else if (document.name(e) === xs.complexType) schema.types.set(name, readType(document, e, qname, file));
  }
}

function readType(document: XmlDocument, type: ElementId, qname: QNameOf, file: string): TypeFacts {
  const refuse = (e: ElementId): Error => new Error(`${file}:${document.line(e)}: a construct the tables cannot hold`);
  const simple = document.child(type, xs.simpleContent);
  if (simple !== NONE) {
    const derivation = document.first(simple);
    const attributes = new Map<string, string>();
    for (let a = document.first(derivation); a !== NONE; a = document.next(a)) {
      if (document.name(a) !== xs.attribute) throw refuse(a);
      const required = document.attr(a, at.use) === "required" ? "!" : "";
      const name = document.attr(a, at.name) ?? "";
      attributes.set(name, `${name}${required}=${qname(a, "type").replace("xs:", "")}`);
    }
    return { kind: "value", base: qname(derivation, "base"), attributes };
  }
  const sequence = document.child(type, xs.sequence);
  if (sequence === NONE) throw refuse(type);
  const first = document.first(sequence);
  if (document.name(first) === xs.any) {
    if (document.attr(first, at.namespace) !== "##other" || document.attr(first, at.processContents) !== "lax")
      throw refuse(first);
    return { kind: "any" };
  }
  const items: string[] = [];
  for (let e = first; e !== NONE; e = document.next(e)) {
    const min = document.attr(e, at.minOccurs) ?? "1";
    const max = document.attr(e, at.maxOccurs) ?? "1";
    const mark = OCCURRENCE.get(`${min} ${max}`);
    if (document.name(e) !== xs.element || mark === undefined) throw refuse(e);
    items.push(qname(e, "ref") + mark);
  }
  return { kind: "sequence", items };
}

/**
 * Follows the derivations of a value type to its built-in base; attributes of a derivation replace those of its base.
 */
function resolveValue(
  schema: Schema,
  type: string,
): { readonly base: string; readonly attributes: Map<string, string> } {
  const facts = schema.types.get(type);
  if (facts === undefined) {
    if (!type.startsWith("xs:")) throw new Error(`type ${type} is not declared`);
    return { base: type.slice(3), attributes: new Map() };
  }
  if (facts.kind !== "value") throw new Error(`type ${type} is not a value type`);
  const { base, attributes } = resolveValue(schema, facts.base);
  for (const [name, row] of facts.attributes) attributes.set(name, row);
  return { base, attributes };
}

function renderNames(schema: Schema): string {
  const of = (prefix: string): string[] =>
    [...schema.elements.keys()]
      .filter((n) => n.startsWith(prefix))
      .map((n) => n.slice(4))
      .sort();
  const attributes = new Set<string>();
  for (const type of schema.types.values())
    if (type.kind === "value") for (const name of type.attributes.keys()) attributes.add(name);
  const list = (name: string, about: string, names: readonly string[]): string =>
    `/** ${about} */\nexport const ${name} = [\n${wrap(
      names.map((n) => `${JSON.stringify(n)},`),
      "  ",
    )}\n] as const;\n`;
  return [
    HEADER,
    list("CBC_NAMES", "Local names of the elements of CommonBasicComponents-2.", of("cbc:")),
    list("CAC_NAMES", "Local names of the elements of CommonAggregateComponents-2.", of("cac:")),
    list("EXT_NAMES", "Local names of the elements of CommonExtensionComponents-2.", of("ext:")),
    list("ATTRIBUTE_NAMES", "Attributes of UBL values; they have no namespace.", [...attributes].sort()),
  ].join("\n");
}

function renderGrammar(schema: Schema): string {
  const elementsByType = new Map<string, string[]>();
  for (const [element, type] of schema.elements) {
    const facts = schema.types.get(type);
    const { base, attributes } =
      facts?.kind === "value" ? resolveValue(schema, type) : { base: "", attributes: new Map<string, string>() };
    if (base !== "" && type !== `${element}Type`)
      throw new Error(`${element} has type ${type}; the tables expect ${element}Type`);
    const key = base === "" ? type : [base, ...attributes.values()].join(" ");
    elementsByType.set(key, [...(elementsByType.get(key) ?? []), element]);
  }
  const values: string[] = [];
  const aggregates: string[] = [];
  for (const [key, elements] of [...elementsByType].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const facts = schema.types.get(key);
    const named = wrap(elements.sort(), "    ");
    if (facts === undefined) values.push(`  [${JSON.stringify(key)}, \`\n${named}\`],\n`);
    else if (facts.kind === "sequence")
      aggregates.push(`  ["${key}", \`\n${named}\`, \`\n${wrap(facts.items, "    ")}\`],\n`);
  }
  return [
    HEADER,
    "/** Value types: `base attribute=type attribute!=type …` (`!` = required), and the elements that have it. */",
    `export const VALUE_ROWS: readonly (readonly [type: string, elements: string])[] = [\n${values.join("")}];\n`,
    "/** Aggregate types: name, the elements that have it, and its sequence: `?` 0..1, `*` 0..n, `+` 1..n, otherwise exactly one. */",
    `export const AGGREGATE_ROWS: readonly (readonly [type: string, elements: string, sequence: string])[] = [\n${aggregates.join("")}];\n`,
  ].join("\n");
}

const HEADER = "// Generated by validators/ubl/generate.ts from the UBL 2.1 schemas. Do not edit.\n";

/** Words in lines of at most 120 characters. */
function wrap(words: readonly string[], indent: string): string {
  const lines: string[] = [];
  let line = indent;
  for (const word of words) {
    if (line.length + word.length > 120) {
      lines.push(line.trimEnd());
      line = indent;
    }
    line += `${word} `;
  }
  return [...lines, line.trimEnd()].join("\n");
}

const [, script, source, target] = process.argv;
if (
  script !== undefined &&
  source !== undefined &&
  target !== undefined &&
  import.meta.url === pathToFileURL(script).href
) {
  const { names, grammar } = generateGrammar(source);
  writeFileSync(join(target, "names.generated.ts"), names);
  writeFileSync(join(target, "grammar.generated.ts"), grammar);
}
