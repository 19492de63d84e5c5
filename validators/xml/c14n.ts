/**
 * Canonical XML over the tree of tree.ts: exclusive (with PrefixList) and inclusive 1.0, with or without comments.
 *
 * Names sort by code point. `localeCompare` puts `eb` before `S12`, which breaks every signature of a peer whose
 * messages declare both (design/as4.md section 16).
 * @source https://www.w3.org/TR/xml-exc-c14n/, https://www.w3.org/TR/2001/REC-xml-c14n-20010315
 */
import type { XmlAttribute, XmlDocument, XmlElement, XmlNode } from "./tree.js";

export interface C14nOptions {
  readonly method: "exclusive" | "inclusive";
  /** Keep comments; default false. */
  readonly comments?: boolean;
  /** Exclusive only: prefixes treated as inclusive C14N does; `#default` names the default namespace. */
  readonly inclusivePrefixes?: readonly string[];
  /** A subtree left out of the output: the signature, for an enveloped signature. */
  readonly omit?: XmlElement;
}

const XML_NS = "http://www.w3.org/XML/1998/namespace";

/**
 * The canonical form of one element.
 * @param path  the element's ancestors from the document's root downwards, then the element itself; never empty.
 * @throws Error when the path is empty, which is a mistake of the caller.
 */
export function canonicalize(path: readonly XmlElement[], options: C14nOptions): string {
  const apex = path.at(-1);
  if (apex === undefined) throw new Error("canonicalize: empty path");
  const scope = new Map<string, string>();
  for (const element of path) declare(scope, element);
  const writer = new Writer(options);
  writer.element(apex, scope, new Map(), options.method === "inclusive" ? inheritedXmlAttributes(path) : []);
  return writer.text();
}

/** The canonical form of a whole document; comments outside the root stand on lines of their own. */
export function canonicalizeDocument(document: XmlDocument, options: C14nOptions): string {
  const root = canonicalize([document.root], options);
  if (options.comments !== true) return root;
  const before = document.prolog.map((comment) => `<!--${escapeCarriageReturn(comment.value)}-->\n`).join("");
  const after = document.epilog.map((comment) => `\n<!--${escapeCarriageReturn(comment.value)}-->`).join("");
  return before + root + after;
}

/** Compares two strings by Unicode code point: -1, 0 or 1. UTF-16 order differs above U+FFFF. */
export function compareCodePoints(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const a = left.charCodeAt(index);
    const b = right.charCodeAt(index);
    if (a !== b) return rank(a) < rank(b) ? -1 : 1;
  }
  return Math.sign(left.length - right.length);
}

/** Surrogates stand for code points above every other UTF-16 unit. */
const rank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);

type Namespaces = ReadonlyMap<string, string>;

class Writer {
  readonly #parts: string[] = [];
  readonly #options: C14nOptions;
  readonly #listed: readonly string[];

  constructor(options: C14nOptions) {
    this.#options = options;
    const prefixes = options.method === "exclusive" ? (options.inclusivePrefixes ?? []) : [];
    this.#listed = prefixes.map((prefix) => (prefix === "#default" ? "" : prefix));
  }

  text(): string {
    return this.#parts.join("");
  }

  /** @param scope what is declared at this element; @param rendered what the output's ancestors have written. */
  element(element: XmlElement, scope: Namespaces, rendered: Namespaces, inherited: readonly XmlAttribute[]): void {
    const name = element.prefix === "" ? element.local : `${element.prefix}:${element.local}`;
    this.#parts.push("<", name);
    const next = this.#namespaces(element, scope, rendered);
    this.#attributes(inherited.length === 0 ? element.attributes : [...inherited, ...element.attributes]);
    this.#parts.push(">");
    for (const child of element.children) this.#child(child, scope, next);
    this.#parts.push("</", name, ">");
  }

  #child(node: XmlNode, scope: Namespaces, rendered: Namespaces): void {
    switch (node.kind) {
      case "text":
        this.#parts.push(escapeText(node.value));
        return;
      case "comment":
        if (this.#options.comments === true) this.#parts.push("<!--", escapeCarriageReturn(node.value), "-->");
        return;
      case "element":
        if (node !== this.#options.omit) this.element(node, within(scope, node), rendered, []);
    }
  }

  #namespaces(element: XmlElement, scope: Namespaces, rendered: Namespaces): Namespaces {
    const wanted = this.#options.method === "inclusive" ? new Set(scope.keys()) : this.#utilised(element, scope);
    const fresh: [string, string][] = [];
    for (const prefix of wanted) {
      const ns = scope.get(prefix) ?? "";
      if (prefix !== "xml" && ns !== (rendered.get(prefix) ?? "")) fresh.push([prefix, ns]);
    }
    if (fresh.length === 0) return rendered;
    fresh.sort(([left], [right]) => compareCodePoints(left, right));
    for (const [prefix, ns] of fresh) {
      this.#parts.push(prefix === "" ? ' xmlns="' : ` xmlns:${prefix}="`, escapeAttribute(ns), '"');
    }
    return new Map([...rendered, ...fresh]);
  }

  /** Prefixes visibly used by the element and its attributes, and the listed ones that are in scope. */
  #utilised(element: XmlElement, scope: Namespaces): Set<string> {
    const wanted = new Set([element.prefix]);
    for (const attribute of element.attributes) if (attribute.prefix !== "") wanted.add(attribute.prefix);
    for (const prefix of this.#listed) if (scope.has(prefix)) wanted.add(prefix);
    return wanted;
  }

  #attributes(attributes: readonly XmlAttribute[]): void {
    const sorted = attributes.length < 2 ? attributes : [...attributes].sort(byExpandedName);
    for (const { prefix, local, value } of sorted) {
      this.#parts.push(prefix === "" ? ` ${local}="` : ` ${prefix}:${local}="`, escapeAttribute(value), '"');
    }
  }
}

const byExpandedName = (left: XmlAttribute, right: XmlAttribute): number =>
  compareCodePoints(left.ns, right.ns) || compareCodePoints(left.local, right.local);

function declare(scope: Map<string, string>, element: XmlElement): void {
  for (const { prefix, ns } of element.declarations) scope.set(prefix, ns);
}

function within(scope: Namespaces, element: XmlElement): Namespaces {
  if (element.declarations.length === 0) return scope;
  const inner = new Map(scope);
  declare(inner, element);
  return inner;
}

/** Inclusive C14N 1.0 gives the apex the nearest `xml:*` attributes of its ancestors. */
function inheritedXmlAttributes(path: readonly XmlElement[]): XmlAttribute[] {
  const own = new Set(
    path
      .at(-1)
      ?.attributes.filter(isXmlAttribute)
      .map((attribute) => attribute.local),
  );
  const found = new Map<string, XmlAttribute>();
  for (const ancestor of path.slice(0, -1)) {
    for (const attribute of ancestor.attributes) {
      if (isXmlAttribute(attribute) && !own.has(attribute.local)) found.set(attribute.local, attribute);
    }
  }
  return [...found.values()];
}

const isXmlAttribute = (attribute: XmlAttribute): boolean => attribute.ns === XML_NS;

const TEXT_ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#xD;" };
const ATTRIBUTE_ESCAPES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  '"': "&quot;",
  "\t": "&#x9;",
  "\n": "&#xA;",
  "\r": "&#xD;",
};

/** Text as canonical XML writes it. */
export const escapeText = (text: string): string =>
  /[&<>\r]/.test(text) ? text.replace(/[&<>\r]/g, (found) => TEXT_ESCAPES[found] ?? found) : text;

/** An attribute value, for double quotes, as canonical XML writes it. */
export const escapeAttribute = (value: string): string =>
  /[&<"\t\n\r]/.test(value) ? value.replace(/[&<"\t\n\r]/g, (found) => ATTRIBUTE_ESCAPES[found] ?? found) : value;

const escapeCarriageReturn = (text: string): string => text.replaceAll("\r", "&#xD;");
