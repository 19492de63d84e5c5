/**
 * One pass over the bytes of a document: well-formedness, namespaces and limits in, a compact {@link XmlDocument} out.
 *
 * There is no DTD, hence no entity beyond the five predefined ones; nothing is fetched, nothing is expanded. A NUL
 * stands behind the bytes, so that every loop over them ends without comparing with the length; that is also why typed
 * arrays are read with `!` here.
 */
import { isUtf8 } from "node:buffer";
import type { Finding } from "../report.js";
import { isNcName, NAME_BYTES } from "./byte-classes.js";
import { FLAG, NONE, XmlDocument } from "./document.js";
import { ScanFault, XML_FAULTS } from "./faults.js";
import { Lexer } from "./lexer.js";
import { NameCache, NO_ENTRY } from "./name-cache.js";
import type { NameEntry } from "./name-cache.js";
import { SCAN_LIMITS } from "./limits.js";
import type { ScanLimits } from "./limits.js";
import { attr, cac, cbc, ext, NS, roots, xsi } from "./names.js";
import type { NameId } from "./names.js";
import { fixedNamespace, Namespaces, NO_NAMESPACE, PREFIX, UNBOUND } from "./namespaces.js";
import { firstBadOctet, formatFault } from "./recognise.js";
import { attributeText } from "./text.js";

export { SCAN_LIMITS };
export type { ScanLimits };

/** A document, or the one fault that ended the scan. */
export type ScanResult =
  | { readonly kind: "document"; readonly document: XmlDocument }
  | { readonly kind: "refused"; readonly findings: readonly Finding[] };

const BANG = 0x21,
  SLASH = 0x2f,
  LESS = 0x3c,
  EQUALS = 0x3d,
  GREATER = 0x3e,
  QUESTION = 0x3f;

/** Invoices have an element for every 35 to 60 bytes. Arrays that are long enough need not be copied. */
const BYTES_PER_ELEMENT = 40;
/** @source XML 1.0 section 2.8; the encoding is judged by the caller */
const XML_DECLARATION =
  /^<\?xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*(?:"1\.0"|'1\.0')(?:[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*(?:"([A-Za-z][A-Za-z0-9._-]*)"|'([A-Za-z][A-Za-z0-9._-]*)'))?(?:[ \t\r\n]+standalone[ \t\r\n]*=[ \t\r\n]*(?:"(?:yes|no)"|'(?:yes|no)'))?[ \t\r\n]*\?>/;

/** A power of two; documents have fewer different successions of names. */
const FOLLOWER_SLOTS = 4_096;

/** Scans documents one after the other; its result lives until its next scan. */
export class Scanner extends Lexer {
  readonly #elements = new NameCache();
  readonly #attributes = new NameCache();
  readonly #namespaces = new Namespaces();
  /** Per open element: name entry, last child so far, declarations in force before it. */
  #openEntries = new Int32Array(0);
  #lastChildren = new Int32Array(0);
  #marks = new Int32Array(0);
  #depth = 0;
  /** Which element was opened after two others the last time, as entry + 1; the two that were opened last. */
  readonly #followers = new Int32Array(FOLLOWER_SLOTS);
  #before = 0;
  #last = 0;
  /** Which attribute an element had at a place the last time, as entry + 1. */
  readonly #attributesBefore = new Int32Array(FOLLOWER_SLOTS);

  constructor(document = new XmlDocument()) {
    super(document);
    for (const [prefix, id, uri, table] of [
      ["cbc:", PREFIX.cbc, NS.cbc, cbc],
      ["cac:", PREFIX.cac, NS.cac, cac],
      ["ext:", PREFIX.ext, NS.ext, ext],
    ] as const) {
      for (const [local, name] of Object.entries<NameId>(table))
        this.#elements.addLasting(prefix + local, id, fixedNamespace(uri), name);
    }
    for (const [local, name] of Object.entries(roots)) {
      this.#elements.addLasting(local, PREFIX.default, fixedNamespace(NS[local as keyof typeof roots]), name);
    }
    for (const [local, name] of Object.entries<NameId>(attr))
      this.#attributes.addLasting(local, PREFIX.none, NO_NAMESPACE, name);
    for (const [local, name] of Object.entries(xsi))
      this.#attributes.addLasting(`xsi:${local}`, PREFIX.xsi, fixedNamespace(NS.xsi), name);
    this.#attributes.addLasting("xmlns", PREFIX.declaration, NO_NAMESPACE, -1);
    for (const prefix of ["cbc", "cac", "ext", "xsi"])
      this.#attributes.addLasting(`xmlns:${prefix}`, PREFIX.xmlns, NO_NAMESPACE, -1);
  }

  /** Reads one document. Never throws for what the bytes hold. */
  scan(bytes: Buffer, limits: ScanLimits): ScanResult {
    try {
      this.#start(bytes, limits);
      this.#content(this.#prolog());
      this.document.indexTop();
      return { kind: "document", document: this.document };
    } catch (fault) {
      if (!(fault instanceof ScanFault)) throw fault;
      return { kind: "refused", findings: [this.#finding(fault)] };
    }
  }

  /** Lets go of the bytes of the last document and of what was cut from them. */
  release(): void {
    this.document.release();
    this.bytes = this.copy;
    this.view = new DataView(this.copy.buffer);
  }

  #finding(fault: ScanFault): Finding {
    const { document } = this;
    document.attrFirsts[document.count] = document.attrTotal;
    return {
      ruleId: fault.ruleId,
      layer: "xml",
      severity: "fatal",
      location: this.current === NONE ? "/" : document.path(this.current),
      ...document.positionAt(fault.offset),
      message: XML_FAULTS[fault.ruleId],
    };
  }

  /** What can be said about the bytes as such, and everything reset. */
  #start(bytes: Buffer, limits: ScanLimits): void {
    this.limits = limits;
    this.current = NONE;
    this.#depth = 0;
    this.#elements.forgetDocument();
    this.#attributes.forgetDocument();
    this.#namespaces.reset();
    this.document.reset(bytes);
    const { length } = bytes;
    this.length = length;
    if (length > limits.payloadBytes) throw new ScanFault("XML-LIMIT-PAYLOAD", 0);
    if (length === 0) throw new ScanFault("XML-EMPTY", 0);
    if (isWideEncoding(bytes)) throw new ScanFault("XML-ENCODING", 0);
    const format = formatFault(bytes);
    if (format !== undefined) throw new ScanFault(format, 0);
    if (!isUtf8(bytes)) throw new ScanFault("XML-UTF8", firstBadOctet(bytes));
    this.bytes = this.terminated(bytes);
    this.view = new DataView(this.bytes.buffer, this.bytes.byteOffset, length);
    this.#before = 0;
    this.#last = 0;
    const expected = Math.min(Math.floor(length / BYTES_PER_ELEMENT), limits.elements);
    if (this.document.names.length < expected) this.document.resizeElements(expected);
    if (this.#openEntries.length < limits.depth + 1) {
      this.#openEntries = new Int32Array(limits.depth + 1);
      this.#lastChildren = new Int32Array(limits.depth + 1);
      this.#marks = new Int32Array(limits.depth + 1);
    }
  }

  /** Everything before the document element. @returns the offset of its `<` */
  #prolog(): number {
    const bytes = this.bytes;
    let at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
    if (this.startsWith(at, "<?xml") && NAME_BYTES[bytes[at + 5]!] === 0) at = this.#declaration(at);
    for (;;) {
      at = this.skipSpace(at);
      if (at >= this.length) throw new ScanFault("XML-NO-ELEMENT", at);
      if (bytes[at] !== LESS) throw new ScanFault(bytes[at] === 0 ? "XML-CHARACTER" : "XML-TAG", at);
      if (this.startsWith(at, "<!--")) at = this.comment(at);
      else if (this.isDoctype(at)) throw new ScanFault("XML-DOCTYPE", at);
      else if (bytes[at + 1] === QUESTION) at = this.instruction(at);
      else return at;
    }
  }

  #declaration(at: number): number {
    const match = XML_DECLARATION.exec(this.document.source.toString("latin1", at, Math.min(at + 200, this.length)));
    if (match === null) throw new ScanFault("XML-DECLARATION", at);
    const encoding = match[1] ?? match[2] ?? "UTF-8";
    if (encoding.toUpperCase() !== "UTF-8") throw new ScanFault("XML-ENCODING", at);
    return at + match[0].length;
  }

  /** The document element and what follows it. */
  #content(start: number): void {
    const bytes = this.bytes;
    let at = this.#openTag(start);
    while (this.current !== NONE) {
      if (bytes[at]! !== LESS) at = this.text(at);
      const next = bytes[at + 1]!;
      if (next === SLASH) at = this.#endTag(at);
      else if (next === BANG) at = this.#declarationInContent(at);
      else if (next === QUESTION) at = this.instruction(at);
      else at = this.#openTag(at);
    }
    this.#epilog(at);
  }

  #epilog(start: number): void {
    let at = start;
    for (;;) {
      at = this.skipSpace(at);
      if (at >= this.length) return;
      if (this.startsWith(at, "<!--")) at = this.comment(at);
      else if (this.isDoctype(at)) throw new ScanFault("XML-DOCTYPE", at);
      else if (this.startsWith(at, "<?")) at = this.instruction(at);
      else
        throw new ScanFault(
          this.bytes[at] === LESS && NAME_BYTES[this.bytes[at + 1]!] === 1 ? "XML-SECOND-ROOT" : "XML-TRAILING",
          at,
        );
    }
  }

  /** A start tag or an empty element. @returns the offset behind it */
  #openTag(less: number): number {
    const bytes = this.bytes;
    const { document } = this;
    const e = document.count;
    const entry = this.#entryAt(less + 1);
    let at = less + 1 + this.#elements.lengths[entry]!;
    if (e >= this.limits.elements) throw new ScanFault("XML-LIMIT-ELEMENTS", less);
    if (this.#depth >= this.limits.depth) throw new ScanFault("XML-LIMIT-DEPTH", less);
    if (e + 1 >= document.names.length) document.resizeElements(document.names.length * 2);
    const mark = this.#namespaces.height;
    document.attrFirsts[e] = document.attrTotal;
    if (bytes[at]! !== GREATER && bytes[at]! !== SLASH) at = this.#attributeList(at, mark, document.attrTotal);
    document.attrFirsts[e + 1] = document.attrTotal;
    const namespace = this.#namespaces.bound[this.#elements.prefixes[entry]!]!;
    const name =
      namespace === this.#elements.namespaces[entry]!
        ? this.#elements.names[entry]!
        : this.#resolve(this.#elements, entry, namespace, less);
    this.#link(e, name, less);
    if (bytes[at] === SLASH) {
      if (bytes[at + 1] !== GREATER) throw new ScanFault(at + 1 >= this.length ? "XML-TRUNCATED" : "XML-TAG", at);
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
    this.current = e;
    return at + 1;
  }

  /** Puts a new element behind its last sibling. */
  #link(e: number, name: NameId, less: number): void {
    const { document } = this;
    const parent = this.current;
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
    const bytes = this.bytes;
    const { document } = this;
    const e = this.current;
    const level = this.#depth - 1;
    const entry = this.#openEntries[level]!;
    if (!this.#elements.isAt(entry, this.view, less + 2)) throw this.#endTagFault(this.#differsAt(less), less);
    let at = less + 2 + this.#elements.lengths[entry]!;
    if (bytes[at]! !== GREATER) {
      if (NAME_BYTES[bytes[at]!] === 1) throw this.#endTagFault(at, less);
      at = this.skipSpace(at);
      if (bytes[at] !== GREATER) throw new ScanFault(at >= this.length ? "XML-TRUNCATED" : "XML-TAG", at);
    }
    document.contentEnds[e] = less;
    document.ends[e] = document.count;
    this.#namespaces.undo(this.#marks[level]!);
    this.#depth = level;
    this.current = document.parents[e]!;
    return at + 1;
  }

  /** Offset of the first byte of an end tag that is not that of its start tag. */
  #differsAt(less: number): number {
    const opened = this.document.starts[this.current]! + 1;
    let i = 0;
    while (this.bytes[opened + i]! === this.bytes[less + 2 + i]!) i++;
    return less + 2 + i;
  }

  #endTagFault(at: number, less: number): ScanFault {
    return at >= this.length ? new ScanFault("XML-TRUNCATED", at) : new ScanFault("XML-END-TAG", less);
  }

  /** Comments and CDATA sections. Anything else that begins with `<!` has no place in content. */
  #declarationInContent(at: number): number {
    const { flags } = this.document;
    if (this.startsWith(at, "<!--")) {
      flags[this.current]! |= FLAG.marked;
      return this.comment(at);
    }
    if (this.startsWith(at, "<![CDATA[")) {
      const end = this.document.latin.indexOf("]]>", at + 9);
      if (end < 0) throw new ScanFault("XML-TRUNCATED", this.length);
      this.plainCharacters(at + 9, end);
      flags[this.current]! |= FLAG.marked | FLAG.nonSpace;
      return end + 3;
    }
    throw new ScanFault(this.isDoctype(at) ? "XML-DOCTYPE" : "XML-TAG", at);
  }

  /** The attributes of one start tag. @returns the offset of the `>` or `/` behind them */
  #attributeList(start: number, mark: number, first: number): number {
    const bytes = this.bytes;
    const { document } = this;
    const limit = this.limits.attributesPerElement;
    let at = start;
    let count = 0;
    for (;;) {
      const space = at;
      at = this.skipSpace(at);
      const b = bytes[at]!;
      if (b === GREATER || b === SLASH) break;
      if (at === space || NAME_BYTES[b] === 0) throw new ScanFault(this.badAttribute(at), at);
      if (++count > limit) throw new ScanFault("XML-LIMIT-ATTRIBUTES", at);
      const entry = this.#attributeEntryAt(at, count);
      at = this.skipSpace(at + this.#attributes.lengths[entry]!);
      if (bytes[at] !== EQUALS) throw new ScanFault(this.badAttribute(at), at);
      const quoteAt = this.skipSpace(at + 1);
      at = this.attributeValue(quoteAt);
      const prefix = this.#attributes.prefixes[entry]!;
      if (prefix === PREFIX.declaration || prefix === PREFIX.xmlns)
        this.#declareNamespace(entry, prefix, quoteAt + 1, at - 1, mark);
      else {
        const i = document.attrTotal++;
        if (i >= document.attrNames.length) document.resizeAttributes(document.attrNames.length * 2);
        document.attrNames[i] = entry;
        document.attrStarts[i] = quoteAt + 1;
        document.attrEnds[i] = at - 1;
        document.attrFlags[i] = this.valueFlags;
      }
    }
    this.#resolveAttributes(first, start);
    return at;
  }

  /** From names as written to expanded names, once all declarations of the tag are known; refuses repetition. */
  #resolveAttributes(first: number, at: number): void {
    const { attrNames, attrTotal } = this.document;
    for (let i = first; i < attrTotal; i++) {
      const entry = attrNames[i]!;
      const namespace = this.#namespaces.bound[this.#attributes.prefixes[entry]!]!;
      attrNames[i] =
        namespace === this.#attributes.namespaces[entry]!
          ? this.#attributes.names[entry]!
          : this.#resolve(this.#attributes, entry, namespace, at);
    }
    if (attrTotal - first > 16) {
      if (new Set(attrNames.subarray(first, attrTotal)).size < attrTotal - first)
        throw new ScanFault("XML-ATTRIBUTE-REPEATED", at);
      return;
    }
    for (let i = first + 1; i < attrTotal; i++) {
      for (let j = first; j < i; j++)
        if (attrNames[i]! === attrNames[j]!) throw new ScanFault("XML-ATTRIBUTE-REPEATED", at);
    }
  }

  #declareNamespace(entry: NameEntry, prefix: number, start: number, end: number, mark: number): void {
    if (this.#namespaces.declared >= this.limits.namespaceDeclarations)
      throw new ScanFault("XML-LIMIT-NAMESPACES", start);
    const { source } = this.document;
    const uri =
      (this.valueFlags & FLAG.marked) !== 0
        ? attributeText(source, start, end)
        : source.toString(this.valueFlags === 0 ? "latin1" : "utf8", start, end);
    const declared =
      prefix === PREFIX.declaration ? PREFIX.default : this.#namespaces.prefix(this.#attributes.locals[entry]!);
    const fault = this.#namespaces.declare(declared, uri, mark);
    if (fault !== undefined) throw new ScanFault(fault, start);
  }

  /**
   * The entry of the element name at `start`. Names follow each other as they did before, so that most need only to be
   * compared with what is expected.
   */
  #entryAt(start: number): NameEntry {
    const slot = (Math.imul(this.#before, 31) + this.#last) & (FOLLOWER_SLOTS - 1);
    const expected = this.#followers[slot]! - 1;
    let entry: NameEntry;
    if (
      expected >= 0 &&
      this.#elements.isAt(expected, this.view, start) &&
      NAME_BYTES[this.bytes[start + this.#elements.lengths[expected]!]!] === 0
    )
      entry = expected;
    else {
      entry = this.#elementEntry(start, this.name(start));
      // The names of one document mean nothing in the next.
      if (entry < this.#elements.lasting) this.#followers[slot] = entry + 1;
    }
    this.#before = this.#last;
    this.#last = entry;
    return entry;
  }

  /** The entry of the attribute name at `start`, the nth of the element that was opened last. */
  #attributeEntryAt(start: number, nth: number): NameEntry {
    const slot = (this.#last + nth * 1_021) & (FOLLOWER_SLOTS - 1);
    const expected = this.#attributesBefore[slot]! - 1;
    if (
      expected >= 0 &&
      this.#attributes.isAt(expected, this.view, start) &&
      NAME_BYTES[this.bytes[start + this.#attributes.lengths[expected]!]!] === 0
    )
      return expected;
    const entry = this.#attributeEntry(start, this.name(start));
    if (entry < this.#attributes.lasting) this.#attributesBefore[slot] = entry + 1;
    return entry;
  }

  #elementEntry(start: number, end: number): NameEntry {
    const found = this.#elements.find(this.bytes, start, end - start, this.nameHash);
    return found === NO_ENTRY ? this.#newEntry(this.#elements, start, end, PREFIX.default) : found;
  }

  #attributeEntry(start: number, end: number): NameEntry {
    const found = this.#attributes.find(this.bytes, start, end - start, this.nameHash);
    return found === NO_ENTRY ? this.#newEntry(this.#attributes, start, end, PREFIX.none) : found;
  }

  /** Checks a spelling that this document uses for the first time, and remembers it. */
  #newEntry(cache: NameCache, start: number, end: number, unprefixed: number): NameEntry {
    const length = end - start;
    const hash = this.nameHash;
    if (length === 0)
      throw new ScanFault(
        end >= this.length ? "XML-TRUNCATED" : this.bytes[end] === 0 ? "XML-CHARACTER" : "XML-TAG",
        start,
      );
    if (length > this.limits.nameLength) throw new ScanFault("XML-LIMIT-NAME-LENGTH", start);
    if (this.#elements.documentCount + this.#attributes.documentCount >= this.limits.names)
      throw new ScanFault("XML-LIMIT-NAMES", start);
    const written = this.document.source.toString("utf8", start, end);
    const colon = written.indexOf(":");
    const local = written.slice(colon + 1);
    if (!isNcName(local) || (colon >= 0 && !isNcName(written.slice(0, colon)))) throw new ScanFault("XML-NAME", start);
    const prefix = colon < 0 ? unprefixed : this.#namespaces.prefix(written.slice(0, colon));
    if (prefix === PREFIX.xmlns && cache === this.#elements) throw new ScanFault("XML-NAMESPACE", start);
    return cache.add(this.bytes, start, length, hash, prefix, local);
  }

  /** Id of an entry's name under the namespace now in scope. */
  #resolve(cache: NameCache, entry: NameEntry, namespace: number, at: number): NameId {
    if (namespace === UNBOUND) throw new ScanFault("XML-PREFIX", at);
    const { documentNames } = this.document;
    if (documentNames.length >= this.limits.names) throw new ScanFault("XML-LIMIT-NAMES", at);
    const name = this.#namespaces.name(namespace, cache.locals[entry]!, cache.written(entry), documentNames);
    cache.remember(entry, namespace, name);
    return name;
  }
}

/** UTF-16 and UTF-32, by byte order mark or by the zero bytes around the first `<`. */
function isWideEncoding(bytes: Buffer): boolean {
  const [a, b] = bytes;
  return (
    (a === 0xfe && b === 0xff) ||
    (a === 0xff && b === 0xfe) ||
    (a === 0 && (b === LESS || b === 0)) ||
    (a === LESS && b === 0)
  );
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
