/** The parser behind tree.ts: one pass over the octets, a stack instead of recursion. */
import { isAscii, isUtf8 } from "node:buffer";
import { NAME_BYTES, NAME_START_BYTES, SPACE_BYTES } from "../byte-classes.js";
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
import { spelled, spelling } from "./spellings.js";
import type { Spelling } from "./spellings.js";

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
const DECLARATION =
  /<\?xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*(?:"1\.0"|'1\.0')(?:[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*(?:"([A-Za-z0-9._-]+)"|'([A-Za-z0-9._-]+)'))?(?:[ \t\r\n]+standalone[ \t\r\n]*=[ \t\r\n]*(?:"(?:yes|no)"|'(?:yes|no)'))?[ \t\r\n]*\?>/y;
const FORBIDDEN = /[\x00-\x08\x0b\x0c\x0e-\x1f]|\xef\xbf[\xbe\xbf]/g;
const FORBIDDEN_IN_ASCII = /[\x00-\x08\x0b\x0c\x0e-\x1f]/g;
const [COLON, EQUALS, GREATER, SLASH] = [0x3a, 0x3d, 0x3e, 0x2f];
/** A namespace is kept at each element that has it, and written at each in canonical form; real ones have a hundred. */
const NAMESPACE_CHARS_MAX = 1_024;
/** Attributes of one element that are compared with each other one by one; a set costs more than so few do. */
const COMPARED_MAX = 8;
const REFERENCE = /&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,7})|#x([0-9A-Fa-f]{1,6}));/y;
/** Pieces of a text that are put together at once: a text may be references and nothing else. */
const PIECES_AT_ONCE = 4_096;
const NAMED: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** A node while the parser still writes it; readers see the readonly shape. */
type Unfinished<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer Item)[] ? Item[] : T[K] };

interface Open {
  readonly element: Unfinished<XmlElement>;
  readonly name: Spelling;
  /** What was bound before its own declarations. */
  readonly mark: number;
}

class TreeParser {
  readonly #source: string;
  readonly #limits: XmlTreeLimits;
  /** Asked once of the whole document, so that hardly any text is looked through for what it does not have. */
  readonly #has: {
    readonly high: boolean;
    readonly references: boolean;
    readonly returns: boolean;
    readonly breaks: boolean;
    readonly cdataEnds: boolean;
  };
  #at = 0;
  /** Where the next `<` is, behind the start of the last attribute value; -1 where none is left. */
  #nextLess = 0;
  #elements = 0;
  #declarations = 0;
  readonly #scope = new Bindings();
  readonly #open: Open[] = [];

  constructor(bytes: Uint8Array, limits: XmlTreeLimits) {
    const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
    this.#source = source;
    this.#has = {
      high: !isAscii(bytes),
      references: source.includes("&"),
      returns: source.includes("\r"),
      breaks: ["\n", "\r", "\t"].some((character) => source.includes(character)),
      cdataEnds: source.includes("]]>"),
    };
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
      const last = root.children.at(-1);
      if (last?.kind === "element") first ??= last;
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
    const forbidden = this.#has.cdataEnds ? raw.indexOf("]]>") : -1;
    if (forbidden >= 0) this.#refuse("malformed", start + forbidden);
    this.#at = stop;
    appendText(parent, this.#expand(this.#has.returns ? lineEnds(raw) : raw, start), start);
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
    this.#count();
    const stop = this.#source.indexOf("--", start + 4);
    if (stop < 0 || this.#source[stop + 2] !== ">") this.#refuse("malformed");
    this.#at = stop + 3;
    return { kind: "comment", value: decoded(lineEnds(this.#source.slice(start + 4, stop))), start };
  }

  /** A comment is a node as an element is, and keeps texts apart, so that both count. */
  #count(): void {
    this.#elements += 1;
    if (this.#elements > this.#limits.elements) this.#refuse("elements");
  }

  #startTag(): XmlElement {
    const start = this.#at;
    this.#count();
    if (this.#open.length >= this.#limits.depth) this.#refuse("depth");
    this.#at += 1;
    const name = this.#name();
    const { attributes, declarations } = this.#attributes();
    const empty = this.#source.charCodeAt(this.#at) === SLASH;
    if (empty) this.#at += 1;
    if (this.#source.charCodeAt(this.#at) !== GREATER) this.#refuse("malformed");
    this.#at += 1;

    const parent = this.#open.at(-1);
    const { mark } = this.#scope;
    this.#scope.declare(declarations);
    const element: Unfinished<XmlElement> = {
      kind: "element",
      prefix: name.prefix,
      local: name.local,
      ns: this.#resolve(name.prefix, start),
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
    if (this.#name().name !== current.name.name) this.#refuse("malformed");
    this.#space();
    if (this.#source.charCodeAt(this.#at) !== GREATER) this.#refuse("malformed");
    this.#at += 1;
    current.element.end = this.#at;
    this.#scope.undo(current.mark);
    this.#open.pop();
  }

  #attributes(): { readonly attributes: Unfinished<XmlAttribute>[]; readonly declarations: NamespaceDeclaration[] } {
    const attributes: Unfinished<XmlAttribute>[] = [];
    const declarations: NamespaceDeclaration[] = [];
    // Bounded by XmlTreeLimits.
    const names: Spelling[] = [];
    for (;;) {
      const before = this.#at;
      this.#space();
      const next = this.#source.charCodeAt(this.#at);
      if (next === GREATER || next === SLASH) return { attributes, declarations };
      if (this.#at === before) this.#refuse("malformed");
      const start = this.#at;
      const name = this.#name();
      const value = this.#attributeValue();
      for (const other of names) if (other.name === name.name) this.#refuse("duplicate_attribute", start);
      names.push(name);
      if (names.length > this.#limits.attributes) this.#refuse("attributes", start);
      const { prefix, local } = name;
      if (name.name === "xmlns" || prefix === "xmlns") {
        declarations.push(this.#declared(prefix === "" ? "" : local, spelled(value), start));
      } else {
        attributes.push({ prefix, local, ns: "", value });
      }
    }
  }

  #attributeValue(): string {
    this.#space();
    const source = this.#source;
    if (source.charCodeAt(this.#at) !== EQUALS) this.#refuse("malformed");
    this.#at += 1;
    this.#space();
    const quote = source[this.#at];
    if (quote !== '"' && quote !== "'") return this.#refuse("malformed");
    const start = this.#at + 1;
    const stop = source.indexOf(quote, start);
    if (stop < 0) this.#refuse("malformed");
    if (this.#nextLess < start) this.#nextLess = source.indexOf("<", start);
    if (this.#nextLess >= 0 && this.#nextLess < stop) this.#refuse("malformed", start);
    const raw = source.slice(start, stop);
    this.#at = stop + 1;
    // Literal white space becomes a space before references are replaced: `&#10;` stays a line feed.
    return this.#expand(this.#has.breaks ? lineEnds(raw).replace(/[\t\n]/g, " ") : raw, start);
  }

  #declared(prefix: string, ns: string, at: number): NamespaceDeclaration {
    if (ns.length > NAMESPACE_CHARS_MAX) this.#refuse("namespace", at);
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
    if (attributes.length > COMPARED_MAX) {
      const names = new Set(attributes.map((attribute) => `${attribute.ns}\n${attribute.local}`));
      if (names.size !== attributes.length) this.#refuse("duplicate_attribute", at);
      return;
    }
    for (const [index, { ns, local }] of attributes.entries())
      for (let other = index + 1; other < attributes.length; other += 1)
        if (attributes[other]?.local === local && attributes[other]?.ns === ns) this.#refuse("duplicate_attribute", at);
  }

  /** A qualified name; `<!` and `<?` end here, with the fault that names them. */
  #name(): Spelling {
    const source = this.#source;
    const start = this.#at;
    if (NAME_START_BYTES[source.charCodeAt(start)] !== 1) return this.#refuse(this.#markupFault());
    let colon = false;
    let at = start + 1;
    for (let code = source.charCodeAt(at); NAME_BYTES[code] === 1; code = source.charCodeAt(at)) {
      if (code === COLON) {
        if (colon || NAME_START_BYTES[source.charCodeAt(at + 1)] !== 1) break;
        colon = true;
      }
      at += 1;
    }
    this.#at = at;
    if (source.charCodeAt(at) === COLON) this.#refuse("namespace");
    const raw = source.slice(start, at);
    if (!this.#has.high) return spelling(raw);
    const name = decoded(raw);
    if (name.length !== raw.length && !isQualifiedName(name)) this.#refuse("malformed");
    return spelling(name);
  }

  #markupFault(): XmlFault {
    const start = this.#source.lastIndexOf("<", this.#at);
    if (this.#source.startsWith("<!DOCTYPE", start)) return "doctype";
    return this.#source.startsWith("<?", start) ? "processing_instruction" : "malformed";
  }

  #space(): void {
    while (SPACE_BYTES[this.#source.charCodeAt(this.#at)] === 1) this.#at += 1;
  }

  #expand(raw: string, at: number): string {
    const text = this.#has.high ? decoded(raw) : raw;
    if (!this.#has.references || !text.includes("&")) return text;
    // Not `replace`, which notes every reference of a text before the first of them is looked at.
    let expanded = "";
    let pieces: string[] = [];
    let from = 0;
    for (let next = text.indexOf("&"); next >= 0; next = text.indexOf("&", from)) {
      pieces.push(text.slice(from, next), this.#referred(text, next, at));
      from = REFERENCE.lastIndex;
      if (pieces.length < PIECES_AT_ONCE) continue;
      expanded += pieces.join("");
      pieces = [];
    }
    return expanded + pieces.join("") + text.slice(from);
  }

  /** The character that a reference stands for. @param place  of the reference in the text @param at  of the text */
  #referred(text: string, place: number, at: number): string {
    REFERENCE.lastIndex = place;
    const [, named, decimal, hex] = REFERENCE.exec(text) ?? this.#refuse("entity", at);
    if (named !== undefined) return NAMED[named] ?? this.#refuse("entity", at);
    const code = decimal !== undefined ? Number.parseInt(decimal, 10) : Number.parseInt(hex ?? "", 16);
    return codePointIsXmlChar(code) ? String.fromCodePoint(code) : this.#refuse("entity", at);
  }

  #checkCharacters(length: number): void {
    const forbidden = this.#has.high ? FORBIDDEN : FORBIDDEN_IN_ASCII;
    forbidden.lastIndex = 0;
    const match = forbidden.exec(length === this.#source.length ? this.#source : this.#source.slice(0, length));
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

/** A CDATA section and the text around it are one text node; a comment between two texts keeps them apart. */
function appendText(parent: Unfinished<XmlElement>, value: string, start: number): void {
  if (value === "") return;
  const last = parent.children.at(-1);
  if (last?.kind === "text") parent.children[parent.children.length - 1] = { ...last, value: last.value + value };
  else parent.children.push({ kind: "text", value, start });
}
