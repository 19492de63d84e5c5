/**
 * One pass over the bytes of a document: well-formedness, namespaces and limits in, a compact {@link XmlDocument} out.
 *
 * There is no DTD, hence no entity beyond the five predefined ones; nothing is fetched, nothing is expanded. A NUL
 * stands behind the bytes, so that every loop over them ends without comparing with the length; that is also why typed
 * arrays are read with `!` here.
 */
import { isUtf8 } from "node:buffer";
import type { Finding } from "../report.js";
import { BYTE, isNcName, isXmlCharacter, NAME_BYTES, SPACE_BYTES, TEXT_BYTES, VALUE_BYTES } from "./byte-classes.js";
import { FLAG, NONE, XmlDocument } from "./document.js";
import { ScanFault, XML_FAULTS } from "./faults.js";
import { HASH_FACTOR, HASH_START, NameCache, NO_ENTRY } from "./name-cache.js";
import type { NameEntry } from "./name-cache.js";
import { SCAN_LIMITS } from "./limits.js";
import type { ScanLimits } from "./limits.js";
import { attr, cac, cbc, ext, NS, roots, xsi } from "./names.js";
import type { NameId } from "./names.js";
import { fixedNamespace, Namespaces, NO_NAMESPACE, PREFIX, UNBOUND } from "./namespaces.js";
import { attributeText } from "./text.js";

export { SCAN_LIMITS } from "./limits.js";
export type { ScanLimits } from "./limits.js";

/** A document, or the one fault that ended the scan. */
export type ScanResult =
  | { readonly kind: "document"; readonly document: XmlDocument }
  | { readonly kind: "refused"; readonly findings: readonly Finding[] };

const TAB = 0x09, NEWLINE = 0x0a, RETURN = 0x0d, SPACE = 0x20, BANG = 0x21, HASH = 0x23, AMPERSAND = 0x26, SLASH = 0x2f,
  SEMICOLON = 0x3b, LESS = 0x3c, EQUALS = 0x3d, GREATER = 0x3e, QUESTION = 0x3f, BRACKET = 0x5d, LETTER_X = 0x78;

/** Invoices have an element for every 35 to 60 bytes; arrays of about the right size need not grow. */
const BYTES_PER_ELEMENT = 64;
/** Copies larger than this are not kept for the next document. */
const BUFFER_KEPT_BYTES = 4_194_304;
const XML_DECLARATION =
  /^<\?xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*(?:"1\.0"|'1\.0')(?:[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*(?:"([A-Za-z][A-Za-z0-9._-]*)"|'([A-Za-z][A-Za-z0-9._-]*)'))?(?:[ \t\r\n]+standalone[ \t\r\n]*=[ \t\r\n]*(?:"(?:yes|no)"|'(?:yes|no)'))?[ \t\r\n]*\?>/;
/** The longest reference that can be valid, `&#x0010FFFF;` with some leading zeros; longer ones are refused. */
const REFERENCE_BYTES_MAX = 32;

/** References that leave white space behind: element-only content may hold them. */
const WHITE_SPACE_REFERENCE = /^&#(?:x0*(?:20|9|[aAdD])|0*(?:32|9|10|13));$/;

/** Scans documents one after the other; its result lives until its next scan. */
export class Scanner {
  readonly document: XmlDocument;
  #bytes: Uint8Array = new Uint8Array(1);
  #copy = new Uint8Array(65_536);
  #length = 0;
  #limits: ScanLimits = SCAN_LIMITS;
  readonly #elements = new NameCache();
  readonly #attributes = new NameCache();
  readonly #namespaces = new Namespaces();
  /** Per open element: name entry, last child so far, declarations in force before it. */
  #openEntries = new Int32Array(0);
  #lastChildren = new Int32Array(0);
  #marks = new Int32Array(0);
  #depth = 0;
  /** The innermost open element. */
  #current = NONE;
  /** End and hash of the name that #name found. */
  #nameEnd = 0;
  #nameHash = 0;
  #valueFlags = 0;

  constructor(document = new XmlDocument()) {
    this.document = document;
    for (const [prefix, id, uri, table] of [
      ["cbc:", PREFIX.cbc, NS.cbc, cbc], ["cac:", PREFIX.cac, NS.cac, cac], ["ext:", PREFIX.ext, NS.ext, ext],
    ] as const) {
      for (const [local, name] of Object.entries<NameId>(table)) this.#elements.addLasting(prefix + local, id, fixedNamespace(uri), name);
    }
    for (const [local, name] of Object.entries(roots)) {
      this.#elements.addLasting(local, PREFIX.default, fixedNamespace(NS[local as keyof typeof roots]), name);
    }
    for (const [local, name] of Object.entries<NameId>(attr)) this.#attributes.addLasting(local, PREFIX.none, NO_NAMESPACE, name);
    for (const [local, name] of Object.entries(xsi)) this.#attributes.addLasting(`xsi:${local}`, PREFIX.xsi, fixedNamespace(NS.xsi), name);
    this.#attributes.addLasting("xmlns", PREFIX.declaration, NO_NAMESPACE, -1);
    for (const prefix of ["cbc", "cac", "ext", "xsi"]) this.#attributes.addLasting(`xmlns:${prefix}`, PREFIX.xmlns, NO_NAMESPACE, -1);
  }

  /** Reads one document. Never throws for what the bytes hold. */
  scan(bytes: Buffer, limits: ScanLimits): ScanResult {
    try {
      this.#start(bytes, limits);
      this.#content(this.#prolog());
      return { kind: "document", document: this.document };
    } catch (fault) {
      if (!(fault instanceof ScanFault)) throw fault;
      return { kind: "refused", findings: [this.#finding(fault)] };
    }
  }

  /** Lets go of the bytes of the last document and of what was cut from them. */
  release(): void {
    this.document.reset(Buffer.alloc(0), "");
    this.#bytes = this.#copy;
  }

  #finding(fault: ScanFault): Finding {
    const { document } = this;
    document.attrFirsts[document.count] = document.attrTotal;
    return {
      ruleId: fault.ruleId, layer: "xml", severity: "fatal",
      location: this.#current === NONE ? "/" : document.path(this.#current),
      line: document.lineAt(fault.offset), message: XML_FAULTS[fault.ruleId],
    };
  }

  /** What can be said about the bytes as such, and everything reset. */
  #start(bytes: Buffer, limits: ScanLimits): void {
    this.#limits = limits;
    this.#current = NONE;
    this.#depth = 0;
    this.#elements.forgetDocument();
    this.#attributes.forgetDocument();
    this.#namespaces.reset();
    this.document.reset(bytes, "");
    const { length } = bytes;
    this.#length = length;
    if (length > limits.payloadBytes) throw new ScanFault("XML-LIMIT-PAYLOAD", 0);
    if (length === 0) throw new ScanFault("XML-EMPTY", 0);
    if (isWideEncoding(bytes)) throw new ScanFault("XML-ENCODING", 0);
    if (!isUtf8(bytes)) throw new ScanFault("XML-UTF8", 0);
    this.#bytes = this.#terminated(bytes);
    this.document.latin = bytes.toString("latin1");
    const expected = Math.min(Math.floor(length / BYTES_PER_ELEMENT), limits.elements);
    if (this.document.names.length < expected) this.document.resizeElements(expected);
    if (this.#openEntries.length < limits.depth + 1) {
      this.#openEntries = new Int32Array(limits.depth + 1);
      this.#lastChildren = new Int32Array(limits.depth + 1);
      this.#marks = new Int32Array(limits.depth + 1);
    }
  }

  /** The bytes with a NUL behind them: as they lie in memory when there is one, otherwise a copy. */
  #terminated(bytes: Buffer): Uint8Array {
    const { buffer, byteOffset, length } = bytes;
    if (byteOffset + length < buffer.byteLength) {
      const view = new Uint8Array(buffer, byteOffset, length + 1);
      if (view[length] === 0) return view;
    }
    if (this.#copy.length <= length || this.#copy.length > BUFFER_KEPT_BYTES) this.#copy = new Uint8Array(Math.max(65_536, length + 1));
    this.#copy.set(bytes);
    this.#copy[length] = 0;
    return this.#copy;
  }

  /** Everything before the document element. @returns the offset of its `<` */
  #prolog(): number {
    const bytes = this.#bytes;
    let at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
    if (this.#startsWith(at, "<?xml") && NAME_BYTES[bytes[at + 5]!] === 0) at = this.#declaration(at);
    for (;;) {
      at = this.#skipSpace(at);
      if (at >= this.#length) throw new ScanFault("XML-NO-ELEMENT", at);
      if (bytes[at] !== LESS) throw new ScanFault(bytes[at] === 0 ? "XML-CHARACTER" : "XML-TAG", at);
      if (this.#startsWith(at, "<!--")) at = this.#comment(at);
      else if (this.#isDoctype(at)) throw new ScanFault("XML-DOCTYPE", at);
      else if (bytes[at + 1] === QUESTION) {
        throw new ScanFault(/^<\?xml[^A-Za-z0-9._:-]/i.test(this.document.latin.substring(at, at + 6)) ? "XML-DECLARATION" : "XML-PROLOG-INSTRUCTION", at);
      } else return at;
    }
  }

  #declaration(at: number): number {
    const match = XML_DECLARATION.exec(this.document.latin.substring(at, at + 200));
    if (match === null) throw new ScanFault("XML-DECLARATION", at);
    const encoding = match[1] ?? match[2] ?? "UTF-8";
    if (encoding.toUpperCase() !== "UTF-8") throw new ScanFault("XML-ENCODING", at);
    return at + match[0].length;
  }

  /** The document element and what follows it. */
  #content(start: number): void {
    const bytes = this.#bytes;
    let at = this.#openTag(start);
    while (this.#current !== NONE) {
      if (bytes[at]! !== LESS) at = this.#text(at);
      const next = bytes[at + 1]!;
      if (next === SLASH) at = this.#endTag(at);
      else if (next === BANG) at = this.#declarationInContent(at);
      else if (next === QUESTION) at = this.#instruction(at);
      else at = this.#openTag(at);
    }
    this.#epilog(at);
  }

  #epilog(start: number): void {
    let at = start;
    for (;;) {
      at = this.#skipSpace(at);
      if (at >= this.#length) return;
      if (this.#startsWith(at, "<!--")) at = this.#comment(at);
      else if (this.#isDoctype(at)) throw new ScanFault("XML-DOCTYPE", at);
      else if (this.#startsWith(at, "<?")) at = this.#instruction(at);
      else throw new ScanFault(this.#bytes[at] === LESS && NAME_BYTES[this.#bytes[at + 1]!] === 1 ? "XML-SECOND-ROOT" : "XML-TRAILING", at);
    }
  }

  /** Character data from `at` to the next `<`. */
  #text(start: number): number {
    const bytes = this.#bytes;
    const { flags } = this.document;
    const current = this.#current;
    let at = start;
    let b = bytes[at]!;
    while (b === SPACE || b === NEWLINE || b === TAB) b = bytes[++at]!;
    if (b === LESS) return at;
    if (b !== RETURN && b !== AMPERSAND) flags[current]! |= FLAG.nonSpace;
    for (;;) {
      while (TEXT_BYTES[b]! === BYTE.plain) b = bytes[++at]!;
      const kind = TEXT_BYTES[b]!;
      if (kind === BYTE.less) break;
      if (kind === BYTE.high) {
        flags[current]! |= FLAG.nonAscii;
        do b = bytes[++at]!; while (TEXT_BYTES[b]! === BYTE.high);
        continue;
      }
      at = this.#rareText(kind, start, at);
      b = bytes[at]!;
    }
    // Text that begins with a carriage return or a reference has not shown yet whether it is only white space.
    if ((flags[current]! & FLAG.nonSpace) === 0) this.#markNonSpace(start, at);
    return at;
  }

  /** The bytes of text that need a closer look. @returns the offset behind them */
  #rareText(kind: number, start: number, at: number): number {
    const bytes = this.#bytes;
    const { flags } = this.document;
    if (kind === BYTE.bracket) {
      if (bytes[at + 1] === BRACKET && bytes[at + 2] === GREATER) throw new ScanFault("XML-CDATA-END", at);
      return at + 1;
    }
    if (kind === BYTE.ampersand) {
      const end = this.#reference(at);
      flags[this.#current]! |= WHITE_SPACE_REFERENCE.test(this.document.latin.substring(at, end)) ? FLAG.marked : FLAG.marked | FLAG.nonSpace;
      return end;
    }
    if (kind === BYTE.return) {
      flags[this.#current]! |= FLAG.marked;
      return at + 1;
    }
    if (kind === BYTE.ef) {
      this.#refuseNonCharacter(at);
      flags[this.#current]! |= FLAG.nonAscii;
      return at + 1;
    }
    throw new ScanFault(at >= this.#length ? "XML-TRUNCATED" : "XML-CHARACTER", Math.max(start, at));
  }

  #markNonSpace(start: number, end: number): void {
    const bytes = this.#bytes;
    for (let i = start; i < end; i++) {
      if (bytes[i] === AMPERSAND) while (bytes[i] !== SEMICOLON) i++;
      else if (SPACE_BYTES[bytes[i]!] === 0) {
        this.document.flags[this.#current]! |= FLAG.nonSpace;
        return;
      }
    }
  }

  /** U+FFFE and U+FFFF: valid UTF-8, not characters of XML. */
  #refuseNonCharacter(at: number): void {
    if (this.#bytes[at + 1] === 0xbf && this.#bytes[at + 2]! >= 0xbe) throw new ScanFault("XML-CHARACTER", at);
  }

  /** One reference. @returns the offset behind its semicolon */
  #reference(at: number): number {
    const bytes = this.#bytes;
    let end = at + 1;
    while (end - at < REFERENCE_BYTES_MAX && bytes[end] !== SEMICOLON && bytes[end] !== LESS && end < this.#length) end++;
    if (bytes[end] !== SEMICOLON) throw new ScanFault("XML-REFERENCE", at);
    const name = this.document.latin.substring(at + 1, end);
    if (bytes[at + 1] === HASH) {
      const hex = bytes[at + 2] === LETTER_X;
      const digits = name.slice(hex ? 2 : 1);
      if (!(hex ? /^[0-9a-fA-F]+$/ : /^[0-9]+$/).test(digits)) throw new ScanFault("XML-REFERENCE", at);
      if (!isXmlCharacter(Number.parseInt(digits, hex ? 16 : 10))) throw new ScanFault("XML-CHARACTER", at);
    } else if (name !== "amp" && name !== "lt" && name !== "gt" && name !== "quot" && name !== "apos") {
      throw new ScanFault("XML-REFERENCE", at);
    }
    return end + 1;
  }

  /** Finds the end and the hash of the name at `at`. */
  #name(at: number): number {
    const bytes = this.#bytes;
    let hash = HASH_START;
    let end = at;
    for (let b = bytes[end]!; NAME_BYTES[b]! !== 0; b = bytes[++end]!) hash = Math.imul(hash ^ b, HASH_FACTOR);
    this.#nameHash = hash;
    this.#nameEnd = end;
    return end;
  }

  /** A start tag or an empty element. @returns the offset behind it */
  #openTag(less: number): number {
    const bytes = this.#bytes;
    const { document } = this;
    const e = document.count;
    let at = this.#name(less + 1);
    const entry = this.#elementEntry(less + 1, at);
    if (e >= this.#limits.elements) throw new ScanFault("XML-LIMIT-ELEMENTS", less);
    if (this.#depth >= this.#limits.depth) throw new ScanFault("XML-LIMIT-DEPTH", less);
    if (e + 1 >= document.names.length) document.resizeElements(document.names.length * 2);
    const mark = this.#namespaces.height;
    document.attrFirsts[e] = document.attrTotal;
    if (bytes[at]! !== GREATER && bytes[at]! !== SLASH) at = this.#attributeList(at, mark, document.attrTotal);
    document.attrFirsts[e + 1] = document.attrTotal;
    const namespace = this.#namespaces.bound[this.#elements.prefixes[entry]!]!;
    const name = namespace === this.#elements.namespaces[entry]! ? this.#elements.names[entry]! : this.#resolve(this.#elements, entry, namespace, less);
    this.#link(e, name, less);
    if (bytes[at] === SLASH) {
      if (bytes[at + 1] !== GREATER) throw new ScanFault(at + 1 >= this.#length ? "XML-TRUNCATED" : "XML-TAG", at);
      document.contentStarts[e] = at + 2;
      document.contentEnds[e] = at + 2;
      document.ends[e] = e + 1;
      this.#namespaces.undo(mark);
      return at + 2;
    }
    document.contentStarts[e] = at + 1;
    this.#openEntries[this.#depth] = entry;
    this.#lastChildren[this.#depth] = NONE;
    this.#marks[this.#depth] = mark;
    this.#depth++;
    this.#current = e;
    return at + 1;
  }

  /** Puts a new element behind its last sibling. */
  #link(e: number, name: NameId, less: number): void {
    const { document } = this;
    const parent = this.#current;
    document.names[e] = name;
    document.parents[e] = parent;
    document.firsts[e] = NONE;
    document.nexts[e] = NONE;
    document.starts[e] = less;
    document.flags[e] = 0;
    document.masks[e << 1] = 0;
    document.masks[(e << 1) + 1] = 0;
    document.count = e + 1;
    if (parent === NONE) return;
    document.masks[(parent << 1) | ((name >> 5) & 1)]! |= 1 << (name & 31);
    const level = this.#depth - 1;
    const last = this.#lastChildren[level]!;
    if (last === NONE) {
      document.firsts[parent] = e;
      document.flags[parent]! |= FLAG.elements;
    } else document.nexts[last] = e;
    this.#lastChildren[level] = e;
  }

  #endTag(less: number): number {
    const bytes = this.#bytes;
    const { document } = this;
    const e = this.#current;
    const level = this.#depth - 1;
    const length = this.#elements.lengths[this.#openEntries[level]!]!;
    const opened = document.starts[e]! + 1;
    let at = less + 2;
    for (let i = 0; i < length; i++) if (bytes[opened + i]! !== bytes[at + i]!) throw this.#endTagFault(at + i, less);
    at += length;
    if (bytes[at]! !== GREATER) {
      if (NAME_BYTES[bytes[at]!] === 1) throw this.#endTagFault(at, less);
      at = this.#skipSpace(at);
      if (bytes[at] !== GREATER) throw new ScanFault(at >= this.#length ? "XML-TRUNCATED" : "XML-TAG", at);
    }
    document.contentEnds[e] = less;
    document.ends[e] = document.count;
    this.#namespaces.undo(this.#marks[level]!);
    this.#depth = level;
    this.#current = document.parents[e]!;
    return at + 1;
  }

  #endTagFault(at: number, less: number): ScanFault {
    return at >= this.#length ? new ScanFault("XML-TRUNCATED", at) : new ScanFault("XML-END-TAG", less);
  }

  /** Comments and CDATA sections. Anything else that begins with `<!` has no place in content. */
  #declarationInContent(at: number): number {
    const { flags } = this.document;
    if (this.#startsWith(at, "<!--")) {
      flags[this.#current]! |= FLAG.marked;
      return this.#comment(at);
    }
    if (this.#startsWith(at, "<![CDATA[")) {
      const end = this.document.latin.indexOf("]]>", at + 9);
      if (end < 0) throw new ScanFault("XML-TRUNCATED", this.#length);
      this.#plainCharacters(at + 9, end);
      flags[this.#current]! |= FLAG.marked | FLAG.nonSpace;
      return end + 3;
    }
    throw new ScanFault(this.#isDoctype(at) ? "XML-DOCTYPE" : "XML-TAG", at);
  }

  #comment(at: number): number {
    const end = this.document.latin.indexOf("--", at + 4);
    if (end < 0) throw new ScanFault("XML-TRUNCATED", this.#length);
    if (this.#bytes[end + 2] !== GREATER) throw new ScanFault("XML-COMMENT", end);
    this.#plainCharacters(at + 4, end);
    return end + 3;
  }

  #instruction(at: number): number {
    const end = this.document.latin.indexOf("?>", at + 2);
    if (end < 0) throw new ScanFault("XML-TRUNCATED", this.#length);
    const nameEnd = this.#name(at + 2);
    if (nameEnd - at - 2 > this.#limits.nameLength) throw new ScanFault("XML-LIMIT-NAME-LENGTH", at);
    const target = this.document.source.toString("utf8", at + 2, Math.min(nameEnd, end));
    if (/^xml$/i.test(target)) throw new ScanFault("XML-DECLARATION", at);
    if (!isNcName(target) || (nameEnd < end && SPACE_BYTES[this.#bytes[nameEnd]!] === 0)) throw new ScanFault("XML-INSTRUCTION", at);
    this.#plainCharacters(nameEnd, end);
    if (this.#current !== NONE) this.document.flags[this.#current]! |= FLAG.marked;
    return end + 2;
  }

  /** Refuses characters that XML does not allow, where markup means nothing. */
  #plainCharacters(start: number, end: number): void {
    const bytes = this.#bytes;
    for (let i = start; i < end; i++) {
      const kind = TEXT_BYTES[bytes[i]!]!;
      if (kind === BYTE.control) throw new ScanFault("XML-CHARACTER", i);
      if (kind === BYTE.ef) this.#refuseNonCharacter(i);
    }
  }

  /** The attributes of one start tag. @returns the offset of the `>` or `/` behind them */
  #attributeList(start: number, mark: number, first: number): number {
    const bytes = this.#bytes;
    const { document } = this;
    const limit = this.#limits.attributesPerElement;
    let at = start;
    let count = 0;
    for (;;) {
      const space = at;
      at = this.#skipSpace(at);
      const b = bytes[at]!;
      if (b === GREATER || b === SLASH) break;
      if (at === space || NAME_BYTES[b] === 0) throw new ScanFault(this.#badAttribute(at), at);
      if (++count > limit) throw new ScanFault("XML-LIMIT-ATTRIBUTES", at);
      const nameStart = at;
      at = this.#name(at);
      const entry = this.#attributeEntry(nameStart, at);
      at = this.#skipSpace(at);
      if (bytes[at] !== EQUALS) throw new ScanFault(this.#badAttribute(at), at);
      const quoteAt = this.#skipSpace(at + 1);
      at = this.#attributeValue(quoteAt);
      const prefix = this.#attributes.prefixes[entry]!;
      if (prefix === PREFIX.declaration || prefix === PREFIX.xmlns) this.#declareNamespace(entry, prefix, quoteAt + 1, at - 1, mark);
      else {
        const i = document.attrTotal++;
        if (i >= document.attrNames.length) document.resizeAttributes(document.attrNames.length * 2);
        document.attrNames[i] = entry;
        document.attrStarts[i] = quoteAt + 1;
        document.attrEnds[i] = at - 1;
        document.attrFlags[i] = this.#valueFlags;
      }
    }
    this.#resolveAttributes(first, start);
    return at;
  }

  #badAttribute(at: number): "XML-TRUNCATED" | "XML-CHARACTER" | "XML-ATTRIBUTE" {
    if (at >= this.#length) return "XML-TRUNCATED";
    return this.#bytes[at] === 0 ? "XML-CHARACTER" : "XML-ATTRIBUTE";
  }

  /** From names as written to expanded names, once all declarations of the tag are known; refuses repetition. */
  #resolveAttributes(first: number, at: number): void {
    const { attrNames, attrTotal } = this.document;
    for (let i = first; i < attrTotal; i++) {
      const entry = attrNames[i]!;
      const namespace = this.#namespaces.bound[this.#attributes.prefixes[entry]!]!;
      attrNames[i] = namespace === this.#attributes.namespaces[entry]! ? this.#attributes.names[entry]! : this.#resolve(this.#attributes, entry, namespace, at);
    }
    if (attrTotal - first > 16) {
      if (new Set(attrNames.subarray(first, attrTotal)).size < attrTotal - first) throw new ScanFault("XML-ATTRIBUTE-REPEATED", at);
      return;
    }
    for (let i = first + 1; i < attrTotal; i++) {
      for (let j = first; j < i; j++) if (attrNames[i]! === attrNames[j]!) throw new ScanFault("XML-ATTRIBUTE-REPEATED", at);
    }
  }

  /** A quoted value. @returns the offset behind the closing quote; #valueFlags says how to read it */
  #attributeValue(quoteAt: number): number {
    const bytes = this.#bytes;
    const quote = bytes[quoteAt]!;
    if (VALUE_BYTES[quote]! !== BYTE.quote) throw new ScanFault(this.#badAttribute(quoteAt), quoteAt);
    let flags = 0;
    let at = quoteAt + 1;
    for (;;) {
      let b = bytes[at]!;
      while (VALUE_BYTES[b]! === BYTE.plain) b = bytes[++at]!;
      if (b === quote) break;
      const kind = VALUE_BYTES[b]!;
      if (kind === BYTE.quote) at++;
      else if (kind === BYTE.high) { flags |= FLAG.nonAscii; at++; }
      else if (kind === BYTE.space) { flags |= FLAG.marked; at++; }
      else if (kind === BYTE.ampersand) { flags |= FLAG.marked; at = this.#reference(at); }
      else if (kind === BYTE.ef) { this.#refuseNonCharacter(at); flags |= FLAG.nonAscii; at++; }
      else throw new ScanFault(kind === BYTE.less ? "XML-ATTRIBUTE" : at >= this.#length ? "XML-TRUNCATED" : "XML-CHARACTER", at);
    }
    this.#valueFlags = flags;
    return at + 1;
  }

  #declareNamespace(entry: NameEntry, prefix: number, start: number, end: number, mark: number): void {
    if (this.#namespaces.declared >= this.#limits.namespaceDeclarations) throw new ScanFault("XML-LIMIT-NAMESPACES", start);
    const written = this.#valueFlags === 0 ? this.document.latin.substring(start, end) : this.document.source.toString("utf8", start, end);
    const uri = (this.#valueFlags & FLAG.marked) === 0 ? written : attributeText(written);
    const declared = prefix === PREFIX.declaration ? PREFIX.default : this.#namespaces.prefix(this.#attributes.locals[entry]!);
    const fault = this.#namespaces.declare(declared, uri, mark);
    if (fault !== undefined) throw new ScanFault(fault, start);
  }

  #elementEntry(start: number, end: number): NameEntry {
    const found = this.#elements.find(this.#bytes, start, end - start, this.#nameHash);
    return found === NO_ENTRY ? this.#newEntry(this.#elements, start, end, PREFIX.default) : found;
  }

  #attributeEntry(start: number, end: number): NameEntry {
    const found = this.#attributes.find(this.#bytes, start, end - start, this.#nameHash);
    return found === NO_ENTRY ? this.#newEntry(this.#attributes, start, end, PREFIX.none) : found;
  }

  /** Checks a spelling that this document uses for the first time, and remembers it. */
  #newEntry(cache: NameCache, start: number, end: number, unprefixed: number): NameEntry {
    const length = end - start;
    const hash = this.#nameHash;
    if (length === 0) throw new ScanFault(end >= this.#length ? "XML-TRUNCATED" : this.#bytes[end] === 0 ? "XML-CHARACTER" : "XML-TAG", start);
    if (length > this.#limits.nameLength) throw new ScanFault("XML-LIMIT-NAME-LENGTH", start);
    if (this.#elements.documentCount + this.#attributes.documentCount >= this.#limits.names) throw new ScanFault("XML-LIMIT-NAMES", start);
    const written = this.document.source.toString("utf8", start, end);
    const colon = written.indexOf(":");
    const local = written.slice(colon + 1);
    if (!isNcName(local) || (colon >= 0 && !isNcName(written.slice(0, colon)))) throw new ScanFault("XML-NAME", start);
    const prefix = colon < 0 ? unprefixed : this.#namespaces.prefix(written.slice(0, colon));
    if (prefix === PREFIX.xmlns && cache === this.#elements) throw new ScanFault("XML-NAMESPACE", start);
    return cache.add(this.#bytes, start, length, hash, prefix, local);
  }

  /** Id of an entry's name under the namespace now in scope. */
  #resolve(cache: NameCache, entry: NameEntry, namespace: number, at: number): NameId {
    if (namespace === UNBOUND) throw new ScanFault("XML-PREFIX", at);
    const { documentNames } = this.document;
    if (documentNames.length >= this.#limits.names) throw new ScanFault("XML-LIMIT-NAMES", at);
    const name = this.#namespaces.name(namespace, cache.locals[entry]!, cache.written(entry), documentNames);
    cache.remember(entry, namespace, name);
    return name;
  }

  #skipSpace(start: number): number {
    const bytes = this.#bytes;
    let at = start;
    while (SPACE_BYTES[bytes[at]!]! !== 0) at++;
    return at;
  }

  #startsWith(at: number, text: string): boolean { return this.document.latin.startsWith(text, at); }

  #isDoctype(at: number): boolean { return /^<!doctype/i.test(this.document.latin.substring(at, at + 9)); }
}

/** UTF-16 and UTF-32, by byte order mark or by the zero bytes around the first `<`. */
function isWideEncoding(bytes: Buffer): boolean {
  const [a, b] = bytes;
  return (a === 0xfe && b === 0xff) || (a === 0xff && b === 0xfe) || (a === 0 && (b === LESS || b === 0)) || (a === LESS && b === 0);
}

let shared: Scanner | undefined;

/**
 * Reads one document with the thread's own scanner. The result is valid until the next call on this thread.
 * @param bytes  the exact bytes, UTF-8, at most limits.payloadBytes
 */
export function scan(bytes: Buffer, limits: ScanLimits = SCAN_LIMITS): ScanResult {
  shared ??= new Scanner();
  return shared.scan(bytes, limits);
}

/** Lets go of the last document, so that a large one is not kept while the thread is idle. */
export function releaseDocument(): void {
  shared?.release();
}
