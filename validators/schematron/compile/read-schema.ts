/**
 * Reads a Schematron schema (ISO/IEC 19757-3): include, abstract patterns and rules, extends, phases, let, assert and
 * report with rich text. What has a meaning and is not supported stops the reading; documentation is passed over.
 */
import { createHash } from "node:crypto";
import type { Severity } from "../../report.js";
import type {
  Let,
  MessagePart,
  Place,
  Schema,
  SourceAssert,
  SourceFunction,
  SourceKey,
  SourcePattern,
  SourceRule,
} from "./model.js";
import { elementsOf, parseSource, SourceError, splitName, textOf } from "../release/source-xml.js";
import type { SourceElement } from "../release/source-xml.js";
import { FN, XS } from "../xpath/ast.js";

const SCH = "http://purl.oclc.org/dsdl/schematron";
export const XSL = "http://www.w3.org/1999/XSL/Transform";

/** Elements that explain and decide nothing. */
const DOCUMENTATION: ReadonlySet<string> = new Set([
  "title",
  "p",
  "diagnostics",
  "properties",
  "icon",
  "see",
  "ns",
  "phase",
]);
/** Query languages whose expressions are XPath 2.0, or refused where they are more. */
const BINDINGS: ReadonlySet<string> = new Set(["xslt2", "xpath2", "xslt3"]);
const INCLUDES_MAX = 64;
const RULES_MAX = 50_000;

type ReadOptions = {
  /** Text of a file named relative to the one that includes it, or undefined when there is none. */
  readonly include: (href: string, from: string) => { readonly file: string; readonly text: string } | undefined;
  /** Id of the phase to compile; without it the default phase of the schema, or all patterns. */
  readonly phase?: string;
};

/**
 * @param file  name of the schema, for messages and to resolve includes
 * @throws SourceError that names file, line and construct
 */
export function readSchema(text: string, file: string, options: ReadOptions): Schema {
  return new SchemaReader(options).read(text, file);
}

type Located = {
  readonly element: SourceElement;
  readonly file: string;
  /** What has been included to come here, nearest first: none of it may come again. */
  readonly via?: readonly string[];
};

class SchemaReader {
  readonly #options: ReadOptions;
  readonly #abstractRules = new Map<string, Located>();
  readonly #abstractPatterns = new Map<string, Located>();
  readonly #ids = new Map<string, number>();
  #includes = 0;
  #rules = 0;

  constructor(options: ReadOptions) {
    this.#options = options;
  }

  read(text: string, file: string): Schema {
    const element = parseSource(text, file);
    if (element.namespace !== SCH || element.local !== "schema")
      throw new SourceError(file, element.line, "the file is no Schematron schema");
    const binding = element.attributes.get("queryBinding") ?? "xslt";
    if (!BINDINGS.has(binding.toLowerCase()))
      throw new SourceError(file, element.line, `the query binding ${binding} is not supported`);
    const children = this.#children({ element, file });
    for (const child of children) this.#collectAbstract(child);
    const patterns = this.#phase(children, { element, file });
    const title = children.find(({ element: child }) => child.local === "title" && child.namespace === SCH);
    const schema: Schema = {
      title: title === undefined ? "" : collapse(textOf(title.element)),
      namespaces: this.#namespaces(children),
      lets: [],
      functions: [],
      keys: [],
      patterns: patterns.map((pattern, index) => this.#pattern(pattern, index)),
    };
    return { ...schema, ...this.#declarations(children) };
  }

  /** Child elements with includes put in their place. */
  #children(parent: Located): Located[] {
    return elementsOf(parent.element).flatMap((element) => {
      const { file, via = [] } = parent;
      if (element.namespace !== SCH || element.local !== "include") return [{ element, file, via }];
      return [this.#included(element, { file, via })];
    });
  }

  #included(element: SourceElement, { file: from, via = [] }: Omit<Located, "element">): Located {
    const href = required(element, "href", from);
    if (/^(?:[a-z][a-z0-9+.-]*:|\/)/i.test(href))
      throw new SourceError(from, element.line, `${href} is outside of the release: only relative files are included`);
    if (++this.#includes > INCLUDES_MAX)
      throw new SourceError(from, element.line, `more than ${INCLUDES_MAX} inclusions`);
    const [path = "", fragment] = href.split("#");
    const found = this.#options.include(path, from);
    if (found === undefined) throw new SourceError(from, element.line, `the file ${href} to include is missing`);
    const name = fragment === undefined ? found.file : `${found.file}#${fragment}`;
    if (via.includes(name) || (fragment === undefined && found.file === from))
      throw new SourceError(from, element.line, `the file ${href} includes itself, directly or through others`);
    const root = parseSource(found.text, found.file);
    const reached = { file: found.file, via: [name, ...via] };
    if (fragment === undefined) return { element: root, ...reached };
    const part = find(root, fragment);
    if (part === undefined) throw new SourceError(from, element.line, `nothing in ${path} has the id ${fragment}`);
    return { element: part, ...reached };
  }

  #collectAbstract(located: Located): void {
    const { element, file } = located;
    if (element.namespace !== SCH) return;
    const isAbstract = element.attributes.get("abstract") === "true";
    if (element.local === "pattern") {
      if (isAbstract) this.#abstractPatterns.set(required(element, "id", file), located);
      for (const child of this.#children(located)) this.#collectAbstract(child);
    } else if ((element.local === "rule" && isAbstract) || element.local === "rules") {
      if (element.local === "rule") this.#abstractRules.set(required(element, "id", file), located);
      else for (const child of this.#children(located)) this.#collectAbstract(child);
    }
  }

  #namespaces(children: readonly Located[]): Map<string, string> {
    const namespaces = new Map([
      ["xs", XS],
      ["xsd", XS],
      ["fn", FN],
    ]);
    for (const { element, file } of children) {
      if (element.namespace === SCH && element.local === "ns")
        namespaces.set(required(element, "prefix", file), required(element, "uri", file));
    }
    return namespaces;
  }

  /** The patterns of the phase, in the order of the schema. */
  #phase(children: readonly Located[], schema: Located): Located[] {
    const patterns = children.filter(
      ({ element }) =>
        element.namespace === SCH && element.local === "pattern" && element.attributes.get("abstract") !== "true",
    );
    const wanted = this.#options.phase ?? schema.element.attributes.get("defaultPhase") ?? "#ALL";
    if (wanted === "#ALL") return patterns;
    const phase = children.find(({ element }) => element.local === "phase" && element.attributes.get("id") === wanted);
    if (phase === undefined)
      throw new SourceError(schema.file, schema.element.line, `the phase ${wanted} is not declared`);
    const parts = this.#children(phase);
    const odd = parts.find(({ element }) => !["active", "p"].includes(element.local));
    if (odd !== undefined)
      throw new SourceError(odd.file, odd.element.line, `${odd.element.tag} inside a phase is not supported`);
    const active = new Set(
      parts
        .filter(({ element }) => element.local === "active")
        .map(({ element, file }) => required(element, "pattern", file)),
    );
    return patterns.filter(({ element }) => active.has(element.attributes.get("id") ?? ""));
  }

  #declarations(children: readonly Located[]): Pick<Schema, "lets" | "functions" | "keys"> {
    const lets: Let[] = [];
    const functions: SourceFunction[] = [];
    const keys: SourceKey[] = [];
    for (const { element, file } of children) {
      if (element.namespace === XSL && element.local === "function")
        functions.push({ name: required(element, "name", file), element, file });
      else if (element.namespace === XSL && element.local === "key") keys.push(readKey(element, file));
      else if (isLet(element)) lets.push(readLet(element, file));
      else if (
        element.namespace !== SCH ||
        !(DOCUMENTATION.has(element.local) || element.local === "pattern" || element.local === "rules")
      )
        refuse(element, file);
    }
    return { lets, functions, keys };
  }

  #pattern(located: Located, index: number): SourcePattern {
    const { element, file } = located;
    const id = element.attributes.get("id") ?? `pattern-${index + 1}`;
    const isA = element.attributes.get("is-a");
    const source = isA === undefined ? located : this.#instance(isA, element, file);
    const lets: Let[] = [];
    const rules: SourceRule[] = [];
    for (const child of this.#children(source)) {
      const { element: part } = child;
      if (isLet(part)) lets.push(readLet(part, child.file));
      else if (part.namespace === SCH && part.local === "rule") {
        if (part.attributes.get("abstract") !== "true") rules.push(this.#rule(child));
      } else if (part.namespace !== SCH || !DOCUMENTATION.has(part.local)) refuse(part, child.file);
    }
    return { id, lets, rules };
  }

  /** An abstract pattern with its parameters put in, longest name first. */
  #instance(id: string, element: SourceElement, file: string): Located {
    const abstract = this.#abstractPatterns.get(id);
    if (abstract === undefined) throw new SourceError(file, element.line, `the abstract pattern ${id} is not declared`);
    const parameters = elementsOf(element)
      .filter((child) => child.local === "param")
      .map((child) => [required(child, "name", file), required(child, "value", file)] as const)
      .sort((a, b) => b[0].length - a[0].length);
    return { ...abstract, element: substitute(abstract.element, parameters, { file, line: element.line }) };
  }

  #rule(located: Located): SourceRule {
    const { element, file } = located;
    if (++this.#rules > RULES_MAX) throw new SourceError(file, element.line, `more than ${RULES_MAX} rules`);
    const context = required(element, "context", file);
    const lets: Let[] = [];
    const asserts: SourceAssert[] = [];
    this.#ruleParts(located, element, context, lets, asserts, 0);
    return { context, lets, asserts, place: { file, line: element.line } };
  }

  #ruleParts(
    source: Located,
    rule: SourceElement,
    context: string,
    lets: Let[],
    asserts: SourceAssert[],
    depth: number,
  ): void {
    for (const child of this.#children(source)) {
      const { element, file } = child;
      if (isLet(element)) lets.push(readLet(element, file));
      else if (element.namespace === SCH && (element.local === "assert" || element.local === "report"))
        asserts.push(this.#assert(element, file, rule, context));
      else if (element.namespace === SCH && element.local === "extends") {
        if (depth > 16) throw new SourceError(file, element.line, "rules extend each other too deeply");
        this.#ruleParts(this.#extended(child), rule, context, lets, asserts, depth + 1);
      } else if (element.namespace !== SCH || !DOCUMENTATION.has(element.local)) refuse(element, file);
    }
  }

  #extended(located: Located): Located {
    const { element, file } = located;
    if (element.attributes.has("href")) return this.#included(element, located);
    const id = required(element, "rule", file);
    const rule = this.#abstractRules.get(id);
    if (rule === undefined) throw new SourceError(file, element.line, `the abstract rule ${id} is not declared`);
    return rule;
  }

  #assert(element: SourceElement, file: string, rule: SourceElement, context: string): SourceAssert {
    const kind = element.local === "report" ? "report" : "assert";
    const test = required(element, "test", file);
    const flag =
      element.attributes.get("flag") ??
      element.attributes.get("role") ??
      rule.attributes.get("flag") ??
      rule.attributes.get("role");
    return {
      kind,
      test,
      severity: severityOf(flag),
      id: element.attributes.get("id") ?? this.#stableId(`${kind}\n${context}\n${test}`),
      message: readMessage(element, file),
      place: { file, line: element.line },
    };
  }

  /** An id for an assert without one: the same in every import of the same rule. */
  #stableId(meaning: string): string {
    const id = `SCH-${createHash("sha256").update(meaning).digest("hex").slice(0, 8).toUpperCase()}`;
    const count = (this.#ids.get(id) ?? 0) + 1;
    this.#ids.set(id, count);
    return count === 1 ? id : `${id}-${count}`;
  }
}

const isLet = (element: SourceElement): boolean =>
  (element.namespace === SCH && element.local === "let") ||
  (element.namespace === XSL && element.local === "variable" && element.attributes.has("select"));

function readLet(element: SourceElement, file: string): Let {
  const isXsl = element.namespace === XSL;
  if (isXsl && element.attributes.has("as"))
    throw new SourceError(file, element.line, "as on an xsl:variable outside of a function is not supported");
  if (!isXsl && elementsOf(element).length > 0)
    throw new SourceError(file, element.line, "a let with content is not supported");
  return {
    name: required(element, "name", file),
    value: required(element, isXsl ? "select" : "value", file),
    place: placeOf(element, file),
  };
}

function readKey(element: SourceElement, file: string): SourceKey {
  if (element.attributes.has("collation") || elementsOf(element).length > 0)
    throw new SourceError(file, element.line, "an xsl:key with a collation or with content is not supported");
  return {
    name: required(element, "name", file),
    match: required(element, "match", file),
    use: required(element, "use", file),
    place: placeOf(element, file),
  };
}

const placeOf = (element: SourceElement, file: string): Place => ({ file, line: element.line });

/**
 * `fatal`, `error`, `warning` and what only informs, each as it is; no flag, or another word, is an error.
 */
const SEVERITIES: Readonly<Record<string, Severity>> = {
  fatal: "fatal",
  error: "error",
  warning: "warning",
  warn: "warning",
  information: "information",
  info: "information",
  hint: "information",
  notice: "information",
};
const severityOf = (flag: string | undefined): Severity => {
  const word = flag?.toLowerCase() ?? "error";
  return Object.hasOwn(SEVERITIES, word) ? (SEVERITIES[word] ?? "error") : "error";
};

/** Text, values and names; emphasis and direction are text. */
function readMessage(element: SourceElement, file: string): MessagePart[] {
  return element.children.flatMap((child): MessagePart[] => {
    if (typeof child === "string") return [{ kind: "text", text: child }];
    if (child.namespace !== SCH) return refuse(child, file);
    if (child.local === "value-of") return [{ kind: "value", select: required(child, "select", file) }];
    if (child.local === "name") return [{ kind: "name", select: child.attributes.get("path") ?? "." }];
    return child.local === "emph" || child.local === "span" || child.local === "dir"
      ? readMessage(child, file)
      : refuse(child, file);
  });
}

function refuse(element: SourceElement, file: string): never {
  throw new SourceError(file, element.line, `<${element.tag}> is not supported here`);
}

function required(element: SourceElement, attribute: string, file: string): string {
  const value = element.attributes.get(attribute);
  if (value === undefined) throw new SourceError(file, element.line, `<${element.tag}> has no ${attribute}`);
  return value;
}

const collapse = (text: string): string => text.replace(/\s+/g, " ").trim();

function find(element: SourceElement, id: string): SourceElement | undefined {
  if (element.attributes.get("id") === id) return element;
  for (const child of elementsOf(element)) {
    const found = find(child, id);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Characters of an attribute after its parameters have been put in; parameters may name each other. */
const SUBSTITUTED_MAX = 262_144;

/** Replaces `$name` in every attribute below an abstract pattern. */
function substitute(
  element: SourceElement,
  parameters: readonly (readonly [string, string])[],
  place: Place,
): SourceElement {
  const filled = (value: string): string =>
    parameters.reduce((text, [parameter, replacement]) => {
      const result = text.replaceAll(`$${parameter}`, () => replacement);
      if (result.length > SUBSTITUTED_MAX)
        throw new SourceError(place.file, place.line, `a parameter grows beyond ${SUBSTITUTED_MAX} characters`);
      return result;
    }, value);
  return {
    ...element,
    attributes: new Map(Array.from(element.attributes, ([name, value]) => [name, filled(value)] as const)),
    children: element.children.map((child) =>
      typeof child === "string" ? child : substitute(child, parameters, place),
    ),
  };
}

/** The expanded name of a declaration: functions must have a prefix. */
export function expandName(
  written: string,
  namespaces: ReadonlyMap<string, string>,
  place: Place,
): { readonly namespace: string; readonly local: string; readonly written: string } {
  const [prefix, local] = splitName(written);
  const namespace = namespaces.get(prefix);
  if (prefix === "" || namespace === undefined)
    throw new SourceError(place.file, place.line, `the function name ${written} has no declared prefix`);
  return { namespace, local, written };
}
