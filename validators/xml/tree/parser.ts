/** The parser behind tree.ts: one pass over the octets, a stack instead of recursion. */
import { isUtf8 } from "node:buffer";
import { Bindings } from "./bindings.js";
import { codePointIsXmlChar, isQualifiedName } from "./characters.js";
import type {
  NamespaceDeclaration,
  XmlAttribute,
  XmlComment,
  XmlDocument,
  XmlElement,
  XmlFault,
  XmlHead,
  XmlRefused,
  XmlTreeLimits,
} from "./nodes.js";

const XML_NS = "http://www.w3.org/XML/1998/namespace";
const XMLNS_NS = "http://www.w3.org/2000/xmlns/";

/** See parseXml of tree.ts. */
export function parseDocument(bytes: Uint8Array, limits: XmlTreeLimits): XmlDocument | XmlRefused {
  if (bytes.length > limits.bytes) return { kind: "refused", fault: "too_large", at: limits.bytes };
  if (!isUtf8(bytes)) return { kind: "refused", fault: "encoding", at: 0 };
  return guarded(() => new TreeParser(bytes, limits).document());
}

/** See parseXmlHead of tree.ts. */
export function parseHead(
  bytes: Uint8Array,
  name: { readonly ns: string; readonly local: string },
  limits: XmlTreeLimits,
): XmlHead | XmlRefused {
  return guarded(() => {
    const found = new TreeParser(bytes.subarray(0, limits.bytes), limits).head(name);
    if (!isUtf8(bytes.subarray(0, found.next))) throw new Refused("encoding", 0);
    return found;
  });
}

class Refused extends Error {
  readonly fault: XmlFault;
  readonly at: number;
  constructor(fault: XmlFault, at: number) {
    super(fault);
    this.fault = fault;
    this.at = at;
  }
}

function guarded<T>(parse: () => T): T | XmlRefused {
  try {
    return parse();
  } catch (error) {
    if (error instanceof Refused) return { kind: "refused", fault: error.fault, at: error.at };
    throw error;
  }
}

// One character per octet: offsets are byte offsets, and the expressions below see ASCII structure only.
const NAME = /[A-Za-z_\x80-\xff][A-Za-z0-9._\-\x80-\xff]*(?::[A-Za-z_\x80-\xff][A-Za-z0-9._\-\x80-\xff]*)?/y;
const SPACE = /[ \t\r\n]*/y;
const DECLARATION =
  /<\?xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*(?:"1\.0"|'1\.0')(?:[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*(?:"([A-Za-z0-9._-]+)"|'([A-Za-z0-9._-]+)'))?(?:[ \t\r\n]+standalone[ \t\r\n]*=[ \t\r\n]*(?:"(?:yes|no)"|'(?:yes|no)'))?[ \t\r\n]*\?>/y;
const FORBIDDEN = /[\x00-\x08\x0b\x0c\x0e-\x1f]|\xef\xbf[\xbe\xbf]/g;
const REFERENCE = /&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,7})|#x([0-9A-Fa-f]{1,6}));|&/g;
const NAMED: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** A node while the parser still writes it; readers see the readonly shape. */
type Unfinished<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer Item)[] ? Item[] : T[K] };

interface Open {
  readonly element: Unfinished<XmlElement>;
  readonly name: string;
  /** What was bound before its own declarations. */
  readonly mark: number;
}

class TreeParser {
  readonly #source: string;
  readonly #limits: XmlTreeLimits;
  #at = 0;
  #elements = 0;
  #declarations = 0;
  readonly #scope = new Bindings();
  readonly #open: Open[] = [];

  constructor(bytes: Uint8Array, limits: XmlTreeLimits) {
    this.#source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
    this.#limits = limits;
    this.#scope.bind("xml", XML_NS);
  }

  document(): XmlDocument {
    const prolog = this.#prolog();
    const root = this.#startTag();
    while (this.#open.length > 0) this.#content();
    const epilog = this.#misc();
    if (this.#at < this.#source.length)
      this.#refuse(this.#source[this.#at] === "<" ? this.#markupFault() : "malformed");
    this.#checkCharacters(this.#source.length);
    return { kind: "document", prolog, root, epilog };
  }

  head(name: { readonly ns: string; readonly local: string }): XmlHead {
    this.#prolog();
    const root = this.#startTag();
    let first: XmlElement | undefined;
    while (this.#open.length > 0) {
      this.#content();
      first ??= root.children.find((node) => node.kind === "element");
      if (first === undefined) continue;
      if (first.ns !== name.ns || first.local !== name.local) this.#refuse("malformed");
      if (this.#open.length === 1) {
        this.#checkCharacters(this.#at);
        return { kind: "head", root, head: first, next: this.#at };
      }
    }
    return this.#refuse("malformed");
  }

  #prolog(): XmlComment[] {
    if (this.#source.startsWith("\xef\xbb\xbf")) this.#at = 3;
    if (/^<\?xml[ \t\r\n]/.test(this.#source.slice(this.#at, this.#at + 6))) this.#declaration();
    const comments = this.#misc();
    if (this.#source[this.#at] !== "<") this.#refuse("malformed");
    return comments;
  }

  #declaration(): void {
    DECLARATION.lastIndex = this.#at;
    const match = DECLARATION.exec(this.#source);
    if (match === null) return this.#refuse("malformed");
    const encoding = match[1] ?? match[2] ?? "UTF-8";
    if (encoding.toLowerCase() !== "utf-8") this.#refuse("encoding");
    this.#at = DECLARATION.lastIndex;
  }

  /** White space and comments outside the root element. */
  #misc(): XmlComment[] {
    const comments: XmlComment[] = [];
    for (;;) {
      this.#space();
      if (!this.#source.startsWith("<!--", this.#at)) return comments;
      comments.push(this.#comment());
    }
  }

  /** One child of the innermost open element, or its end tag. */
  #content(): void {
    const parent = this.#top();
    const source = this.#source;
    if (this.#at >= source.length) this.#refuse("malformed");
    if (source[this.#at] !== "<") return this.#text(parent.element);
    const next = source[this.#at + 1];
    if (next === "/") return this.#endTag(parent);
    if (next === "!" && source.startsWith("<!--", this.#at)) {
      parent.element.children.push(this.#comment());
    } else if (next === "!" && source.startsWith("<![CDATA[", this.#at)) {
      this.#cdata(parent.element);
    } else {
      this.#startTag();
    }
  }

  #text(parent: Unfinished<XmlElement>): void {
    const start = this.#at;
    const stop = this.#source.indexOf("<", start);
    if (stop < 0) this.#refuse("malformed");
    const raw = this.#source.slice(start, stop);
    const forbidden = raw.indexOf("]]>");
    if (forbidden >= 0) this.#refuse("malformed", start + forbidden);
    this.#at = stop;
    appendText(parent, this.#expand(lineEnds(raw), start), start);
  }

  #cdata(parent: Unfinished<XmlElement>): void {
    const start = this.#at;
    const stop = this.#source.indexOf("]]>", start + 9);
    if (stop < 0) this.#refuse("malformed");
    this.#at = stop + 3;
    appendText(parent, decoded(lineEnds(this.#source.slice(start + 9, stop))), start);
  }

  #comment(): XmlComment {
    const start = this.#at;
    const stop = this.#source.indexOf("--", start + 4);
    if (stop < 0 || this.#source[stop + 2] !== ">") this.#refuse("malformed");
    this.#at = stop + 3;
    return { kind: "comment", value: decoded(lineEnds(this.#source.slice(start + 4, stop))), start };
  }

  #startTag(): XmlElement {
    const start = this.#at;
    this.#elements += 1;
    if (this.#elements > this.#limits.elements) this.#refuse("elements");
    if (this.#open.length >= this.#limits.depth) this.#refuse("depth");
    this.#at += 1;
    const name = this.#name();
    const { attributes, declarations } = this.#attributes();
    const empty = this.#source[this.#at] === "/";
    if (empty) this.#at += 1;
    if (this.#source[this.#at] !== ">") this.#refuse("malformed");
    this.#at += 1;

    const parent = this.#open.at(-1);
    const { mark } = this.#scope;
    this.#scope.declare(declarations);
    const { prefix, local } = split(name);
    const element: Unfinished<XmlElement> = {
      kind: "element",
      prefix,
      local,
      ns: this.#resolve(prefix, start),
      attributes,
      declarations,
      children: [],
      start,
      end: empty ? this.#at : 0,
    };
    for (const attribute of attributes) {
      if (attribute.prefix !== "") attribute.ns = this.#resolve(attribute.prefix, start);
    }
    this.#checkExpandedNames(attributes, start);
    parent?.element.children.push(element);
    if (empty) this.#scope.undo(mark);
    else this.#open.push({ element, name, mark });
    return element;
  }

  #endTag(current: Open): void {
    this.#at += 2;
    if (this.#name() !== current.name) this.#refuse("malformed");
    this.#space();
    if (this.#source[this.#at] !== ">") this.#refuse("malformed");
    this.#at += 1;
    current.element.end = this.#at;
    this.#scope.undo(current.mark);
    this.#open.pop();
  }

  #attributes(): { readonly attributes: Unfinished<XmlAttribute>[]; readonly declarations: NamespaceDeclaration[] } {
    const attributes: Unfinished<XmlAttribute>[] = [];
    const declarations: NamespaceDeclaration[] = [];
    const names = new Set<string>();
    for (;;) {
      const before = this.#at;
      this.#space();
      const next = this.#source[this.#at];
      if (next === ">" || next === "/") return { attributes, declarations };
      if (this.#at === before) this.#refuse("malformed");
      const start = this.#at;
      const name = this.#name();
      const value = this.#attributeValue();
      if (names.has(name)) this.#refuse("duplicate_attribute", start);
      names.add(name);
      if (names.size > this.#limits.attributes) this.#refuse("attributes", start);
      const { prefix, local } = split(name);
      if (name === "xmlns" || prefix === "xmlns") {
        declarations.push(this.#declared(prefix === "" ? "" : local, value, start));
      } else {
        attributes.push({ prefix, local, ns: "", value });
      }
    }
  }

  #attributeValue(): string {
    this.#space();
    if (this.#source[this.#at] !== "=") this.#refuse("malformed");
    this.#at += 1;
    this.#space();
    const quote = this.#source[this.#at];
    if (quote !== '"' && quote !== "'") return this.#refuse("malformed");
    const start = this.#at + 1;
    const stop = this.#source.indexOf(quote, start);
    if (stop < 0) this.#refuse("malformed");
    const raw = this.#source.slice(start, stop);
    if (raw.includes("<")) this.#refuse("malformed", start);
    this.#at = stop + 1;
    // Literal white space becomes a space before references are replaced: `&#10;` stays a line feed.
    return this.#expand(/[\t\r\n]/.test(raw) ? lineEnds(raw).replace(/[\t\n]/g, " ") : raw, start);
  }

  #declared(prefix: string, ns: string, at: number): NamespaceDeclaration {
    const xmlPrefix = prefix === "xml";
    if (prefix === "xmlns" || ns === XMLNS_NS || xmlPrefix !== (ns === XML_NS) || (prefix !== "" && ns === "")) {
      this.#refuse("namespace", at);
    }
    this.#declarations += 1;
    if (this.#declarations > this.#limits.declarations) this.#refuse("declarations", at);
    return { prefix, ns };
  }

  #resolve(prefix: string, at: number): string {
    const ns = this.#scope.get(prefix);
    if (ns === undefined && prefix !== "") return this.#refuse("namespace", at);
    return ns ?? "";
  }

  #checkExpandedNames(attributes: readonly XmlAttribute[], at: number): void {
    if (attributes.length < 2) return;
    const names = new Set(attributes.map((attribute) => `${attribute.ns}\n${attribute.local}`));
    if (names.size !== attributes.length) this.#refuse("duplicate_attribute", at);
  }

  /** A qualified name; `<!` and `<?` end here, with the fault that names them. */
  #name(): string {
    NAME.lastIndex = this.#at;
    const match = NAME.exec(this.#source);
    if (match === null) return this.#refuse(this.#markupFault());
    this.#at = NAME.lastIndex;
    if (this.#source[this.#at] === ":") this.#refuse("namespace");
    const name = decoded(match[0]);
    if (name.length !== match[0].length && !isQualifiedName(name)) this.#refuse("malformed");
    return name;
  }

  #markupFault(): XmlFault {
    const start = this.#source.lastIndexOf("<", this.#at);
    if (this.#source.startsWith("<!DOCTYPE", start)) return "doctype";
    return this.#source.startsWith("<?", start) ? "processing_instruction" : "malformed";
  }

  #space(): void {
    SPACE.lastIndex = this.#at;
    SPACE.exec(this.#source);
    this.#at = SPACE.lastIndex;
  }

  #expand(raw: string, at: number): string {
    const text = decoded(raw);
    if (!text.includes("&")) return text;
    return text.replace(REFERENCE, (_, named?: string, decimal?: string, hex?: string) => {
      if (named !== undefined) return NAMED[named] ?? this.#refuse("entity", at);
      const code = decimal !== undefined ? Number.parseInt(decimal, 10) : Number.parseInt(hex ?? "", 16);
      return codePointIsXmlChar(code) ? String.fromCodePoint(code) : this.#refuse("entity", at);
    });
  }

  #checkCharacters(length: number): void {
    FORBIDDEN.lastIndex = 0;
    const match = FORBIDDEN.exec(length === this.#source.length ? this.#source : this.#source.slice(0, length));
    if (match !== null) this.#refuse("character", match.index);
  }

  #top(): Open {
    return this.#open.at(-1) ?? this.#refuse("malformed");
  }

  #refuse(fault: XmlFault, at: number = this.#at): never {
    throw new Refused(fault, at);
  }
}

const decoded = (octets: string): string =>
  /[\x80-\xff]/.test(octets) ? Buffer.from(octets, "latin1").toString("utf8") : octets;

const lineEnds = (text: string): string => (text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text);

function split(name: string): { readonly prefix: string; readonly local: string } {
  const colon = name.indexOf(":");
  return colon < 0 ? { prefix: "", local: name } : { prefix: name.slice(0, colon), local: name.slice(colon + 1) };
}

/** A CDATA section and the text around it are one text node; a comment between two texts keeps them apart. */
function appendText(parent: Unfinished<XmlElement>, value: string, start: number): void {
  if (value === "") return;
  const last = parent.children.at(-1);
  if (last?.kind === "text") parent.children[parent.children.length - 1] = { ...last, value: last.value + value };
  else parent.children.push({ kind: "text", value, start });
}
