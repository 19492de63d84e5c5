/**
 * One compact, read-only XML document: elements are integers in document order, everything about them lies in typed
 * arrays that the scanner fills and the next scan reuses. Text is cut from the source only when somebody asks.
 *
 * Typed arrays are read with `!` here: an ElementId is in bounds by construction, and a check per access would cost
 * more than the access.
 */
import { Lines } from "../lines.js";
import type { Position } from "../lines.js";
import { firstChars, lastChars } from "../text.js";
import { DOCUMENT_NAME_BASE, internedNames, nameOf, NS, prefixedName } from "./names.js";
import type { ExpandedName, NameId } from "./names.js";
import { LONG_TEXT_BYTES, LongTexts } from "./repeats/long-texts.js";
import type { Maker } from "./repeats/long-texts.js";
import { LongWalks, NEAR_SIBLINGS } from "./repeats/long-walks.js";
import { SHORT_TEXT_BYTES_MAX, ShortTexts } from "./repeats/short-texts.js";
import { attributeText, characterData, contentText, namespaceDeclarations } from "./text.js";

/** Index of an element in document order; the root is 0. */
export type ElementId = number;
/** No such element. Also the parent of the root: the document node. */
export const NONE = -1;

/** Bits of {@link XmlDocument.flags}. */
export const FLAG = {
  /** Has element children. */
  elements: 1,
  /** Its own character data holds bytes beyond ASCII. */
  nonAscii: 2,
  /**
   * Its content holds references, CDATA, comments, processing instructions or carriage returns: text needs decoding.
   */
  marked: 4,
  /** Its own character data holds something other than white space. */
  nonSpace: 8,
  /** Positions of its children among equally named siblings are computed. */
  positioned: 16,
} as const;

/** A name that only this document knows, with the prefix that the document wrote. */
export interface DocumentName extends ExpandedName {
  readonly written: string;
}

/** Locations longer than this lose their middle; a report is for people. */
const PATH_CHARS_MAX = 2_000;
const NO_ELEMENTS = new Int32Array(0);

/** More than there are names, so that an element and a name make one key. */
const NAME_KEYS = 2 ** 24;

/** A walk over the names costs a twentieth of their index. */
const NAMES_SEARCHED = 16;

/** Capacity that a thread keeps for the next document, about 3 MB; a larger one is kept as long as it is of use. */
const KEPT_ELEMENTS = 65_536;
/** An idle thread keeps no more than this, about 24 MB: the elements of the longest payload. */
const KEPT_ELEMENTS_MAX = 524_288;
/** Small documents in a row after which a thread gives back what a large one needed. */
const SMALL_DOCUMENTS = 32;
/** A document of fewer bytes is small: it cannot have many elements. */
const SMALL_BYTES = 1_048_576;

/** A copy of another length that keeps the first `used` entries. */
function resized<A extends Int32Array | Uint8Array>(array: A, used: number, length: number): A {
  const copy = (array instanceof Int32Array ? new Int32Array(length) : new Uint8Array(length)) as A;
  copy.set(array.subarray(0, Math.min(used, length)));
  return copy;
}

/** A longer copy. */
export const grown = <A extends Int32Array | Uint8Array>(array: A, length: number): A =>
  resized(array, array.length, length);

/**
 * The document. Valid until the next scan into the same object.
 *
 * Fields in the first block are the scanner's: nobody else writes them, and rules use the methods below.
 */
export class XmlDocument {
  /** How often the object has been filled: what was found out about an earlier document is not true of this one. */
  scans = 0;
  /** Siblings that walks have stepped to: what one of them adds tells whether it was long. */
  steps = 0;
  /** What long walks of this document have found. */
  readonly walks = new LongWalks();
  /** Number of elements. */
  count = 0;
  /** Names of the elements, and so on: one entry per element. */
  names = new Int32Array(512);
  parents = new Int32Array(512);
  firsts = new Int32Array(512);
  nexts = new Int32Array(512);
  ends = new Int32Array(512);
  /** Byte offset of the start tag. */
  starts = new Int32Array(512);
  /** Byte range between start tag and end tag. */
  contentStarts = new Int32Array(512);
  contentEnds = new Int32Array(512);
  flags = new Uint8Array(512);
  /** 64 bits per element: the names of its children modulo 64. A clear bit proves absence. */
  masks = new Int32Array(1_024);
  /** First attribute of the element; the next element's first attribute ends the list. */
  attrFirsts = new Int32Array(513);

  attrTotal = 0;
  attrNames = new Int32Array(512);
  attrStarts = new Int32Array(512);
  attrEnds = new Int32Array(512);
  attrFlags = new Uint8Array(512);

  /** The exact bytes that were scanned. */
  source: Buffer = Buffer.alloc(0);
  /** Names from DOCUMENT_NAME_BASE upwards. */
  documentNames: DocumentName[] = [];

  /** Texts that had to be decoded or are long, by element; long text nodes; long attributes, by their index. */
  readonly #texts = new Map<ElementId, string>();
  readonly #nodes = new Map<ElementId, readonly string[]>();
  readonly #attributes = new Map<number, string>();
  readonly #longTexts = new LongTexts();
  /** Far siblings: first children by element and name, next ones of their name by the element, negative. */
  readonly #far = new Map<number, ElementId>();
  readonly #shortTexts = new ShortTexts();
  #latin: string | undefined;
  /** Small documents since the last large one. */
  #smallOnes = 0;
  readonly #byName = new Map<NameId, Int32Array>();
  /** Children of the document element by name; empty until the document is complete. */
  #topFirsts = NO_ELEMENTS;
  #topLasts = NO_ELEMENTS;
  #nameStarts = new Int32Array(0);
  #nameOrder = new Int32Array(0);
  #nameIndexed = false;
  #positions = new Int32Array(0);
  #lines: Lines | undefined;
  readonly #declarations = new Map<ElementId, ReadonlyMap<string, string>>();

  /** Forgets the document and everything cut from it; arrays of an ordinary size stay for the next one. */
  reset(source: Buffer): void {
    if (source.length > 0) this.#smallOnes = source.length < SMALL_BYTES ? this.#smallOnes + 1 : 0;
    if (this.#smallOnes >= SMALL_DOCUMENTS) this.#keep(KEPT_ELEMENTS);
    this.scans++;
    this.steps = 0;
    this.walks.clear();
    this.#topFirsts = NO_ELEMENTS;
    this.#topLasts = NO_ELEMENTS;
    this.count = 0;
    this.attrTotal = 0;
    this.source = source;
    this.#latin = undefined;
    this.documentNames = [];
    this.#texts.clear();
    this.#nodes.clear();
    this.#attributes.clear();
    this.#longTexts.clear();
    this.#far.clear();
    this.#byName.clear();
    this.#declarations.clear();
    this.#nameIndexed = false;
    this.#lines = undefined;
  }

  /** Forgets the document when no other follows at once, and gives back what is more than the longest payload needs. */
  release(): void {
    this.reset(Buffer.alloc(0));
    this.#keep(KEPT_ELEMENTS_MAX);
  }

  #keep(elements: number): void {
    if (this.names.length > elements) {
      this.count = 0;
      this.resizeElements(512);
      this.#nameOrder = NO_ELEMENTS;
      this.#positions = NO_ELEMENTS;
    }
    if (this.attrNames.length > elements) {
      this.attrTotal = 0;
      this.resizeAttributes(512);
    }
  }

  /**
   * Notes the first and the last child of the document element by name, once the document is complete. Rules look for
   * children of the document element a hundred times, and without this each look walks past all the lines.
   */
  indexTop(): void {
    const width = internedNames();
    if (this.#topFirsts.length !== width) {
      this.#topFirsts = new Int32Array(width);
      this.#topLasts = new Int32Array(width);
    }
    this.#topFirsts.fill(NONE);
    this.#topLasts.fill(NONE);
    for (let c = this.first(0); c !== NONE; c = this.nexts[c]!) {
      const name = this.names[c]!;
      if (name >= width) continue;
      if (this.#topFirsts[name] === NONE) this.#topFirsts[name] = c;
      this.#topLasts[name] = c;
    }
  }

  /** Gives the element arrays a new length; the first `count` entries stay. */
  resizeElements(length: number): void {
    const { count } = this;
    this.names = resized(this.names, count, length);
    this.parents = resized(this.parents, count, length);
    this.firsts = resized(this.firsts, count, length);
    this.nexts = resized(this.nexts, count, length);
    this.ends = resized(this.ends, count, length);
    this.starts = resized(this.starts, count, length);
    this.contentStarts = resized(this.contentStarts, count, length);
    this.contentEnds = resized(this.contentEnds, count, length);
    this.flags = resized(this.flags, count, length);
    this.masks = resized(this.masks, count * 2, length * 2);
    this.attrFirsts = resized(this.attrFirsts, count + 1, length + 1);
  }

  /** Gives the attribute arrays a new length. */
  resizeAttributes(length: number): void {
    const used = Math.min(this.attrTotal, this.attrNames.length, length);
    this.attrNames = resized(this.attrNames, used, length);
    this.attrStarts = resized(this.attrStarts, used, length);
    this.attrEnds = resized(this.attrEnds, used, length);
    this.attrFlags = resized(this.attrFlags, used, length);
  }

  /** The same bytes, one character each: equal offsets. Made when it is first asked for, which few documents need. */
  get latin(): string {
    return (this.#latin ??= this.source.toString("latin1"));
  }

  name(e: ElementId): NameId {
    return this.names[e]!;
  }
  parent(e: ElementId): ElementId {
    return this.parents[e]!;
  }
  /** First child element, or NONE. */
  first(e: ElementId): ElementId {
    return this.firsts[e]!;
  }
  /** Next sibling element, or NONE. */
  next(e: ElementId): ElementId {
    return this.nexts[e]!;
  }
  /** The descendants of e are the elements e + 1 … end(e) - 1. */
  end(e: ElementId): ElementId {
    return this.ends[e]!;
  }
  hasElements(e: ElementId): boolean {
    return this.firsts[e]! !== NONE;
  }

  /** First child of that name, or NONE. A miss is usually one test of a bit mask. */
  child(e: ElementId, name: NameId): ElementId {
    if (e === 0 && name < this.#topFirsts.length) return this.#topFirsts[name]!;
    if ((this.masks[(e << 1) | ((name >> 5) & 1)]! & (1 << (name & 31))) === 0) return NONE;
    const { names, nexts } = this;
    let c = this.firsts[e]!;
    for (let near = NEAR_SIBLINGS; c !== NONE && names[c]! !== name; c = nexts[c]!)
      if (--near === 0) return this.#farFrom(c, e * NAME_KEYS + name, name);
    return c;
  }

  /** Next sibling of the same name, or NONE. */
  nextSame(e: ElementId): ElementId {
    const { names, nexts } = this;
    const name = names[e]!;
    this.steps++;
    if (this.parents[e]! === 0 && this.#topLasts[name] === e) return NONE;
    let c = nexts[e]!;
    for (let near = NEAR_SIBLINGS; c !== NONE && names[c]! !== name; c = nexts[c]!)
      if (--near === 0) return this.#farFrom(c, -e, name);
    return c;
  }

  /** The first sibling of that name from c on, or NONE; remembered by a key, since thousands between may ask for it. */
  #farFrom(c: ElementId, key: number, name: NameId): ElementId {
    let found = this.#far.get(key);
    if (found !== undefined) return found;
    for (found = c; found !== NONE && this.names[found]! !== name;) found = this.nexts[found]!;
    this.#far.set(key, found);
    return found;
  }

  has(e: ElementId, name: NameId): boolean {
    return this.child(e, name) !== NONE;
  }

  countChildren(e: ElementId, name: NameId): number {
    let n = 0;
    for (let c = this.child(e, name); c !== NONE; c = this.nextSame(c)) n++;
    return n;
  }

  /** String value in the sense of XPath: all descendant text. */
  text(e: ElementId): string {
    const start = this.contentStarts[e]!;
    const end = this.contentEnds[e]!;
    return end - start <= SHORT_TEXT_BYTES_MAX && this.isPlain(e)
      ? this.#shortTexts.of(this.source, start, end)
      : this.#otherText(e, start, end);
  }

  /** Whether what is made of the text of e is better kept. */
  isLong(e: ElementId): boolean {
    return this.contentEnds[e]! - this.contentStarts[e]! > LONG_TEXT_BYTES;
  }

  /** What a function of a module makes of the long text of e: made once, however many ask. */
  ofLong<T>(e: ElementId, make: Maker<T>): T {
    return this.#longTexts.made(e, this.text(e), make);
  }

  /** Whether the text of e is the very bytes of its content, all of them ASCII. */
  isPlain(e: ElementId): boolean {
    return (this.flags[e]! & (FLAG.elements | FLAG.marked | FLAG.nonAscii)) === 0;
  }

  /** Value of an attribute, normalised as XML prescribes, or undefined when it is absent. */
  attr(e: ElementId, name: NameId): string | undefined {
    const { attrNames } = this;
    const end = this.attrFirsts[e + 1]!;
    for (let i = this.attrFirsts[e]!; i < end; i++) if (attrNames[i]! === name) return this.#attrText(i);
    return undefined;
  }

  hasAttr(e: ElementId, name: NameId): boolean {
    const end = this.attrFirsts[e + 1]!;
    for (let i = this.attrFirsts[e]!; i < end; i++) if (this.attrNames[i]! === name) return true;
    return false;
  }

  /** Number of attributes, namespace declarations not counted. */
  attrCount(e: ElementId): number {
    return this.attrFirsts[e + 1]! - this.attrFirsts[e]!;
  }
  /** Name of the i-th attribute as written, from 0. */
  attrName(e: ElementId, i: number): NameId {
    return this.attrNames[this.attrFirsts[e]! + i]!;
  }
  attrValue(e: ElementId, i: number): string {
    return this.#attrText(this.attrFirsts[e]! + i);
  }

  /**
   * Every element of that name in document order. The first few names are looked for one by one; who asks for more,
   * as an imported pack may, gets an index of all names.
   */
  all(name: NameId): ArrayLike<ElementId> {
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    if (this.#byName.size < NAMES_SEARCHED) {
      const found = this.#search(name);
      this.#byName.set(name, found);
      return found;
    }
    if (!this.#nameIndexed) this.#indexNames();
    const n = this.#dense(name);
    const start = n < 0 ? 0 : (this.#nameStarts[n] ?? 0);
    const end = n < 0 ? 0 : (this.#nameStarts[n + 1] ?? start);
    const found = end > start ? this.#nameOrder.subarray(start, end) : NO_ELEMENTS;
    this.#byName.set(name, found);
    return found;
  }

  /** Text nodes that are children of e, in order, for `text()` of imported packs. */
  textNodes(e: ElementId): readonly string[] {
    const [start, end] = [this.contentStarts[e]!, this.contentEnds[e]!];
    if (end - start <= LONG_TEXT_BYTES) return characterData(this.source, start, end);
    let nodes = this.#nodes.get(e);
    if (nodes === undefined) this.#nodes.set(e, (nodes = characterData(this.source, start, end)));
    return nodes;
  }

  /** Whether the character data of e itself holds anything but white space. */
  hasOwnText(e: ElementId): boolean {
    return (this.flags[e]! & FLAG.nonSpace) !== 0;
  }

  /** Line of the start tag, from 1. */
  line(e: ElementId): number {
    return this.#linesOf().lineAt(this.starts[e]!);
  }

  /** Line and column of the start tag, both from 1. */
  position(e: ElementId): Position {
    return this.positionAt(this.starts[e]!);
  }

  /** Line and column of a byte offset, both from 1. */
  positionAt(offset: number): Position {
    return this.#linesOf().positionAt(offset);
  }

  #linesOf(): Lines {
    return (this.#lines ??= new Lines(this.source));
  }

  /**
   * XPath of an element with the prefixes cac, cbc, ext, and none for the root, whatever the document wrote. A position
   * appears only where siblings share the name.
   */
  path(e: ElementId): string {
    const steps: string[] = [];
    for (let x = e; x !== NONE; x = this.parents[x]!) {
      const position = this.#position(x);
      steps.push(this.prefixed(this.names[x]!) + (position === 0 ? "" : `[${position}]`));
    }
    const path = `/${steps.reverse().join("/")}`;
    if (path.length <= PATH_CHARS_MAX || [...path].length <= PATH_CHARS_MAX) return path;
    return `${firstChars(path, PATH_CHARS_MAX / 2)}…${lastChars(path, PATH_CHARS_MAX / 2)}`;
  }

  /** A name as reports write it: "cbc:ID". A name of this document only is written as the document wrote it. */
  prefixed(name: NameId): string {
    if (name < DOCUMENT_NAME_BASE) return prefixedName(name);
    return this.documentNames[name - DOCUMENT_NAME_BASE]!.written;
  }

  /** The expanded name behind an id of this document. */
  expanded(name: NameId): ExpandedName {
    return name < DOCUMENT_NAME_BASE ? nameOf(name) : this.documentNames[name - DOCUMENT_NAME_BASE]!;
  }

  /**
   * Namespace that a prefix has at an element ("" for the default namespace), or undefined when it is not declared.
   * For names inside values, as in xsi:type; each start tag is read at most once for it.
   */
  namespaceOf(e: ElementId, prefix: string): string | undefined {
    for (let x = e; x !== NONE; x = this.parents[x]!) {
      let declared = this.#declarations.get(x);
      if (declared === undefined) {
        const end = this.contentStarts[x]!;
        declared = namespaceDeclarations(this.source.toString("utf8", this.starts[x]!, end));
        this.#declarations.set(x, declared);
      }
      const uri = declared.get(prefix);
      if (uri !== undefined) return uri;
    }
    return prefix === "xml" ? NS.xml : prefix === "" ? "" : undefined;
  }

  #otherText(e: ElementId, start: number, end: number): string {
    const isPlain = this.isPlain(e);
    if (isPlain && end - start <= LONG_TEXT_BYTES) return this.source.toString("latin1", start, end);
    const known = this.#texts.get(e);
    if (known !== undefined) return known;
    const text = isPlain ? this.source.toString("latin1", start, end) : this.#decodedText(e, start, end);
    this.#texts.set(e, text);
    return text;
  }

  #decodedText(e: ElementId, start: number, end: number): string {
    return (this.flags[e]! & (FLAG.elements | FLAG.marked)) === 0
      ? this.source.toString("utf8", start, end)
      : contentText(this.source, start, end);
  }

  #attrText(i: number): string {
    const start = this.attrStarts[i]!;
    const end = this.attrEnds[i]!;
    if (this.attrFlags[i]! === 0 && end - start <= SHORT_TEXT_BYTES_MAX)
      return this.#shortTexts.of(this.source, start, end);
    return end - start <= LONG_TEXT_BYTES ? this.#decodedAttribute(i, start, end) : this.#keptAttribute(i, start, end);
  }

  #keptAttribute(i: number, start: number, end: number): string {
    let text = this.#attributes.get(i);
    if (text === undefined) this.#attributes.set(i, (text = this.#decodedAttribute(i, start, end)));
    return text;
  }

  #decodedAttribute(i: number, start: number, end: number): string {
    const flags = this.attrFlags[i]!;
    if (flags === 0) return this.source.toString("latin1", start, end);
    return (flags & FLAG.marked) === 0
      ? this.source.toString("utf8", start, end)
      : attributeText(this.source, start, end);
  }

  #search(name: NameId): Int32Array {
    const { names, count } = this;
    let found = 0;
    for (let e = 0; e < count; e++) if (names[e]! === name) found++;
    if (found === 0) return NO_ELEMENTS;
    const elements = new Int32Array(found);
    for (let e = count - 1; found > 0; e--) if (names[e]! === name) elements[--found] = e;
    return elements;
  }

  /** Index of a name in the per-document counting sort, or -1 when no element of this document can have it. */
  #dense(name: NameId): number {
    // A name that was interned after the index was built is none of this document.
    if (name < DOCUMENT_NAME_BASE) return name < this.#internedWhenIndexed ? name : -1;
    const n = name - DOCUMENT_NAME_BASE;
    return n < this.documentNames.length ? this.#internedWhenIndexed + n : -1;
  }
  #internedWhenIndexed = 0;

  /** Counting sort of the elements by name: linear, and stable, so each list is in document order. */
  #indexNames(): void {
    this.#internedWhenIndexed = internedNames();
    const width = this.#internedWhenIndexed + this.documentNames.length + 1;
    if (this.#nameStarts.length < width) this.#nameStarts = new Int32Array(width * 2);
    if (this.#nameOrder.length < this.count) this.#nameOrder = new Int32Array(this.names.length);
    const starts = this.#nameStarts.fill(0, 0, width);
    const { names, count } = this;
    for (let e = 0; e < count; e++) starts[this.#dense(names[e]!)]!++;
    let sum = 0;
    for (let n = 0; n < width; n++) {
      sum += starts[n]!;
      starts[n] = sum;
    }
    // Filling from the back leaves in starts[n] the first position of n.
    for (let e = count - 1; e >= 0; e--) this.#nameOrder[--starts[this.#dense(names[e]!)]!] = e;
    this.#nameIndexed = true;
  }

  /** Position among equally named siblings, from 1; 0 when there is only one. Each parent is walked at most once. */
  #position(e: ElementId): number {
    const parent = this.parents[e]!;
    if (parent === NONE) return 0;
    if (this.#positions.length < this.count) this.#positions = grown(this.#positions, this.names.length);
    if ((this.flags[parent]! & FLAG.positioned) === 0) {
      this.flags[parent]! |= FLAG.positioned;
      const seen = new Map<NameId, number>();
      const alone = new Map<NameId, ElementId>();
      for (let c = this.firsts[parent]!; c !== NONE; c = this.nexts[c]!) {
        const name = this.names[c]!;
        const position = (seen.get(name) ?? 0) + 1;
        seen.set(name, position);
        if (position === 1) alone.set(name, c);
        else alone.delete(name);
        this.#positions[c] = position;
      }
      for (const c of alone.values()) this.#positions[c] = 0;
    }
    return this.#positions[e]!;
  }
}
