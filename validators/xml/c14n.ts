/**
 * Canonical XML over the tree of tree.ts: exclusive (with PrefixList) and inclusive 1.0, with or without comments.
 *
 * Names sort by code point. `localeCompare` puts `eb` before `S12`, which breaks every signature of a peer whose
 * messages declare both (design/as4.md section 16).
 * @source https://www.w3.org/TR/xml-exc-c14n/, https://www.w3.org/TR/2001/REC-xml-c14n-20010315
 */
import { Bindings } from "./tree/bindings.js";
import type { XmlAttribute, XmlDocument, XmlElement, XmlNode } from "./tree.js";

export interface C14nOptions {
  readonly method: "exclusive" | "inclusive";
  /** Keep comments; default false. */
  readonly comments?: boolean;
  /** Exclusive only: prefixes treated as inclusive C14N does; `#default` names the default namespace. */
  readonly inclusivePrefixes?: readonly string[];
  /** A subtree left out of the output: the signature, for an enveloped signature. */
  readonly omit?: XmlElement;
  /** Characters of the output. Default CHARS_MAX. */
  readonly charsMax?: number;
}

/** Four times what the small tree takes: a namespace that is used at each of many elements is written at each. */
const CHARS_MAX = 8_388_608;

/** Characters of a text that are escaped at once. */
const ESCAPED_AT_ONCE = 65_536;

/** The canonical form is longer than it may be. */
class TooLong extends Error {
  override readonly name = "TooLong";
}

const XML_NS = "http://www.w3.org/XML/1998/namespace";

/**
 * The canonical form of one element.
 * @param path  the element's ancestors from the document's root downwards, then the element itself; never empty.
 * @throws Error when the path is empty, which is a mistake of the caller, or the form is longer than it may be.
 */
export function canonicalize(path: readonly XmlElement[], options: C14nOptions): string {
  const apex = path.at(-1);
  if (apex === undefined) throw new Error("canonicalize: empty path");
  const writer = new Writer(options);
  writer.apex(path, apex);
  return writer.text();
}

/** What `write` makes, as octets; undefined where a canonical form is longer than it may be: nobody has signed that. */
export function canonicalOctets(write: () => string): Buffer | undefined {
  try {
    return Buffer.from(write(), "utf8");
  } catch (error) {
    if (error instanceof TooLong) return undefined;
    throw error;
  }
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

const NONE: readonly string[] = [];

class Writer {
  readonly #charsMax: number;
  #text = "";
  readonly #options: C14nOptions;
  /** Prefixes of the PrefixList. */
  readonly #listed: ReadonlySet<string>;
  /** What is declared at the element that is being written. */
  readonly #scope = new Bindings();
  /** What its ancestors in the output have written. */
  readonly #rendered = new Bindings();

  constructor(options: C14nOptions) {
    this.#options = options;
    this.#charsMax = options.charsMax ?? CHARS_MAX;
    const prefixes = options.method === "exclusive" ? (options.inclusivePrefixes ?? []) : [];
    this.#listed = new Set(prefixes.map((prefix) => (prefix === "#default" ? "" : prefix)));
  }

  text(): string {
    return this.#text;
  }

  #append(text: string): void {
    this.#text += text;
    if (this.#text.length > this.#charsMax) throw new TooLong("the canonical form is too long");
  }

  /** Escapes a long value in pieces: of each, all that is to be replaced is noted before the first is. */
  #appendEscaped(value: string, escape: (text: string) => string): void {
    if (value.length <= ESCAPED_AT_ONCE) this.#append(escape(value));
    else
      for (let from = 0; from < value.length; from += ESCAPED_AT_ONCE)
        this.#append(escape(value.slice(from, from + ESCAPED_AT_ONCE)));
  }

  /** Writes the element at the end of the path, in the scope of those before it. */
  apex(path: readonly XmlElement[], apex: XmlElement): void {
    for (const element of path) this.#scope.declare(element.declarations);
    const isInclusive = this.#options.method === "inclusive";
    const inherited = isInclusive ? inheritedXmlAttributes(path) : [];
    const inScope = isInclusive
      ? this.#scope.prefixes()
      : [...this.#listed].filter((prefix) => this.#scope.has(prefix));
    this.#element(apex, inScope, inherited);
  }

  /** @param inScope  prefixes that are rendered wherever they are declared, as far as this element may bring them. */
  #element(element: XmlElement, inScope: Iterable<string>, inherited: readonly XmlAttribute[]): void {
    const name = element.prefix === "" ? element.local : `${element.prefix}:${element.local}`;
    const mark = this.#rendered.mark;
    this.#append(`<${name}`);
    this.#namespaces(element, inScope);
    this.#attributes(inherited.length === 0 ? element.attributes : [...inherited, ...element.attributes]);
    this.#append(">");
    for (const child of element.children) this.#child(child);
    this.#append(`</${name}>`);
    this.#rendered.undo(mark);
  }

  #child(node: XmlNode): void {
    switch (node.kind) {
      case "text":
        this.#appendEscaped(node.value, escapeText);
        return;
      case "comment":
        if (this.#options.comments === true) this.#append(`<!--${escapeCarriageReturn(node.value)}-->`);
        return;
      case "element":
        if (node !== this.#options.omit) this.#inner(node);
    }
  }

  /** Around a child everything that is in scope was rendered, so that only its own declarations can be new. */
  #inner(element: XmlElement): void {
    const mark = this.#scope.mark;
    this.#scope.declare(element.declarations);
    this.#element(element, this.#declared(element), []);
    this.#scope.undo(mark);
  }

  /** Prefixes that the element declares and that are rendered where they are declared. */
  #declared({ declarations }: XmlElement): readonly string[] {
    if (declarations.length === 0) return NONE;
    const prefixes = declarations.map(({ prefix }) => prefix);
    return this.#options.method === "inclusive" ? prefixes : prefixes.filter((prefix) => this.#listed.has(prefix));
  }

  #namespaces(element: XmlElement, inScope: Iterable<string>): void {
    const fresh: string[] = [];
    for (const prefix of inScope) this.#bindIfFresh(prefix, fresh);
    if (this.#options.method === "exclusive") {
      this.#bindIfFresh(element.prefix, fresh);
      for (const { prefix } of element.attributes) if (prefix !== "") this.#bindIfFresh(prefix, fresh);
    }
    if (fresh.length > 1) fresh.sort(compareCodePoints);
    for (const prefix of fresh) {
      const ns = escapeAttribute(this.#scope.get(prefix) ?? "");
      this.#append(prefix === "" ? ` xmlns="${ns}"` : ` xmlns:${prefix}="${ns}"`);
    }
  }

  /** Notes a prefix that means something else here than where it was last written. */
  #bindIfFresh(prefix: string, fresh: string[]): void {
    const ns = this.#scope.get(prefix) ?? "";
    if (prefix === "xml" || ns === (this.#rendered.get(prefix) ?? "")) return;
    this.#rendered.bind(prefix, ns);
    fresh.push(prefix);
  }

  #attributes(attributes: readonly XmlAttribute[]): void {
    const sorted = attributes.length < 2 ? attributes : [...attributes].sort(byExpandedName);
    for (const { prefix, local, value } of sorted) {
      this.#append(prefix === "" ? ` ${local}="` : ` ${prefix}:${local}="`);
      this.#appendEscaped(value, escapeAttribute);
      this.#append('"');
    }
  }
}

const byExpandedName = (left: XmlAttribute, right: XmlAttribute): number =>
  compareCodePoints(left.ns, right.ns) || compareCodePoints(left.local, right.local);

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
