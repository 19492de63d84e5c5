/**
 * Reads the XML of rule sources (Schematron files, testSets): small trusted-shape files of which mixed content,
 * namespaces in scope, lines and offsets matter. Documents under test never come here; they have the scanner of
 * validators/xml.
 *
 * It is a reader of its own beside validators/xml/tree.ts, because that one refuses the processing instructions which
 * rule sources carry, on purpose: it reads signed messages. Loosening it there would cost more than these lines.
 */

/** A source file cannot be read or uses something the compiler does not support. Names file, line and construct. */
export class SourceError extends Error {
  readonly file: string;
  readonly line: number;

  constructor(file: string, line: number, problem: string) {
    super(`${file}:${line}: ${problem}`);
    this.name = "SourceError";
    this.file = file;
    this.line = line;
  }
}

export type SourceNode = SourceElement | string;

export type SourceElement = {
  /** As written: "sch:rule". */
  readonly tag: string;
  readonly namespace: string;
  readonly local: string;
  /** Attributes by written name, without namespace declarations, values normalised. */
  readonly attributes: ReadonlyMap<string, string>;
  /** Prefix → URI of every namespace in scope; "" is the default namespace. */
  readonly scope: ReadonlyMap<string, string>;
  /** Prefixes this element declares itself. */
  readonly declared: ReadonlySet<string>;
  readonly children: readonly SourceNode[];
  readonly line: number;
  /** Offsets in the text: from "<" to behind the final ">". `nameEnd` lies behind the name in the start tag. */
  readonly start: number;
  readonly nameEnd: number;
  readonly end: number;
};

/** An element whose end has not been read yet. */
type OpenElement = Omit<SourceElement, "children" | "end"> & { readonly children: SourceNode[]; end: number };

const DEPTH_MAX = 256;
const TEXT_MAX = 32 * 1024 * 1024;
const NAME = /[\p{L}_:][\p{L}\p{N}_:.\u00b7-]*/uy;
const ATTRIBUTE = /\s+([\p{L}_:][\p{L}\p{N}_:.\u00b7-]*)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')/uy;
const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

/**
 * Parses one file.
 * @param file  its name, used in messages only
 * @throws SourceError when the text is not well-formed, has a DOCTYPE, or is nested deeper than 256 elements
 */
export function parseSource(text: string, file: string): SourceElement {
  return new SourceReader(text, file).read();
}

/** The child elements of `element`, text left out. */
export const elementsOf = (element: SourceElement): SourceElement[] =>
  element.children.filter((child): child is SourceElement => typeof child !== "string");

/** All text below `element`, in order. */
export const textOf = (element: SourceElement): string =>
  element.children.map((child) => (typeof child === "string" ? child : textOf(child))).join("");

class SourceReader {
  readonly #text: string;
  readonly #file: string;
  readonly #open: OpenElement[] = [];
  #root: SourceElement | undefined;
  #at = 0;
  #countedTo = 0;
  #line = 1;

  constructor(text: string, file: string) {
    this.#text = text;
    this.#file = file;
  }

  read(): SourceElement {
    if (this.#text.length > TEXT_MAX) this.#fail("the file is larger than 32 MB");
    if (this.#text.charCodeAt(0) === 0xfeff) this.#at = 1;
    while (this.#at < this.#text.length) this.#readPiece();
    if (this.#root === undefined || this.#open.length > 0) this.#fail("the file ends inside an element");
    return this.#root;
  }

  #readPiece(): void {
    const text = this.#text;
    const at = this.#at;
    if (text.charCodeAt(at) !== 60) this.#readText();
    else if (text.startsWith("<!--", at)) this.#skipTo("-->", "a comment");
    else if (text.startsWith("<![CDATA[", at)) this.#readCdata();
    else if (text.startsWith("<?", at)) this.#skipTo("?>", "a processing instruction");
    else if (text.startsWith("<!", at)) this.#fail("a DOCTYPE is not supported");
    else if (text.startsWith("</", at)) this.#readEnd();
    else this.#readStart();
  }

  #readText(): void {
    const next = this.#text.indexOf("<", this.#at);
    const end = next < 0 ? this.#text.length : next;
    this.#addText(this.#expand(this.#text.slice(this.#at, end).replace(/\r\n?/g, "\n")));
    this.#at = end;
  }

  #readCdata(): void {
    const from = this.#at + 9;
    this.#skipTo("]]>", "a CDATA section");
    this.#addText(this.#text.slice(from, this.#at - 3).replace(/\r\n?/g, "\n"));
  }

  #addText(text: string): void {
    const parent = this.#open.at(-1);
    if (parent === undefined) {
      if (text.trim() !== "") this.#fail("text outside the root element");
      return;
    }
    const last = parent.children.at(-1);
    if (typeof last === "string") parent.children[parent.children.length - 1] = last + text;
    else parent.children.push(text);
  }

  #readEnd(): void {
    const element = this.#open.pop();
    const end = this.#text.indexOf(">", this.#at);
    if (element === undefined || end < 0 || this.#text.slice(this.#at + 2, end).trimEnd() !== element.tag) {
      this.#fail("an end tag does not match");
    }
    this.#at = end + 1;
    element.end = this.#at;
  }

  #readStart(): void {
    const start = this.#at;
    const parent = this.#open.at(-1);
    if (parent === undefined && this.#root !== undefined) this.#fail("a second root element");
    if (this.#open.length >= DEPTH_MAX) this.#fail("elements are nested too deeply");
    NAME.lastIndex = start + 1;
    const tag = NAME.exec(this.#text)?.[0];
    if (tag === undefined) this.#fail("a tag has no name");
    this.#at = NAME.lastIndex;
    const nameEnd = this.#at;
    const { attributes, own } = this.#readAttributes();
    const scope = own.size === 0 && parent !== undefined ? parent.scope : new Map([...(parent?.scope ?? []), ...own]);
    const [prefix, local] = splitName(tag);
    const namespace = scope.get(prefix) ?? (prefix === "xml" ? "http://www.w3.org/XML/1998/namespace" : "");
    if (prefix !== "" && namespace === "") this.#fail(`the prefix ${prefix} is not declared`);
    const element: OpenElement = {
      tag,
      namespace,
      local,
      attributes,
      scope,
      declared: new Set(own.keys()),
      children: [],
      line: this.#lineAt(start),
      start,
      nameEnd,
      end: -1,
    };
    if (parent === undefined) this.#root = element;
    else parent.children.push(element);
    if (this.#text.startsWith("/>", this.#at)) {
      this.#at += 2;
      element.end = this.#at;
    } else if (this.#text.charCodeAt(this.#at) === 62) {
      this.#at += 1;
      this.#open.push(element);
    } else {
      this.#fail("a start tag is not closed");
    }
  }

  #readAttributes(): { readonly attributes: Map<string, string>; readonly own: Map<string, string> } {
    const attributes = new Map<string, string>();
    const own = new Map<string, string>();
    ATTRIBUTE.lastIndex = this.#at;
    for (let match = ATTRIBUTE.exec(this.#text); match !== null; match = ATTRIBUTE.exec(this.#text)) {
      this.#at = ATTRIBUTE.lastIndex;
      const name = match[1] ?? "";
      const value = this.#expand((match[2] ?? match[3] ?? "").replace(/\r\n?|[\n\t]/g, " "));
      const isNamespace = name === "xmlns" || name.startsWith("xmlns:");
      const target = isNamespace ? own : attributes;
      const key = isNamespace ? name.slice(6) : name;
      if (target.has(key)) this.#fail(`the attribute ${name} is repeated`);
      target.set(key, value);
    }
    while (/\s/.test(this.#text.charAt(this.#at))) this.#at++;
    return { attributes, own };
  }

  #expand(text: string): string {
    if (!text.includes("&")) return text;
    return text.replace(/&([^;&\s]*);?/g, (whole, name: string) => {
      const code = /^#x([0-9a-fA-F]{1,6})$/.exec(name)?.[1];
      const decimal = /^#([0-9]{1,7})$/.exec(name)?.[1];
      const value =
        code !== undefined ? Number.parseInt(code, 16) : decimal !== undefined ? Number(decimal) : undefined;
      if (value !== undefined && value <= 0x10ffff && whole.endsWith(";")) return String.fromCodePoint(value);
      const entity = ENTITIES[name];
      if (entity === undefined || !whole.endsWith(";")) this.#fail("an entity other than the five predefined ones");
      return entity;
    });
  }

  #skipTo(mark: string, what: string): void {
    const end = this.#text.indexOf(mark, this.#at);
    if (end < 0) this.#fail(`${what} is not closed`);
    this.#at = end + mark.length;
  }

  #lineAt(offset: number): number {
    for (let i = this.#countedTo; i < offset; i++) if (this.#text.charCodeAt(i) === 10) this.#line++;
    this.#countedTo = Math.max(this.#countedTo, offset);
    return this.#line;
  }

  #fail(problem: string): never {
    throw new SourceError(this.#file, this.#lineAt(this.#at), problem);
  }
}

/** "sch:rule" → ["sch", "rule"]; a name without a prefix has the prefix "". */
export function splitName(name: string): [string, string] {
  const colon = name.indexOf(":");
  return colon < 0 ? ["", name] : [name.slice(0, colon), name.slice(colon + 1)];
}
