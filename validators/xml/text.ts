/**
 * From markup to text: references, CDATA, comments, line ends. Only for content that the scanner found well-formed.
 *
 * One pass over the octets, whose text takes no more of them than its markup: 14 MB of `&#65;`, replaced one by one in
 * a string, took 2 s and 440 MB of heap.
 */

const [TAB, NEWLINE, RETURN, SPACE] = [0x09, 0x0a, 0x0d, 0x20];
const [BANG, QUOTE, HASH, AMPERSAND, APOSTROPHE] = [0x21, 0x22, 0x23, 0x26, 0x27];
const [HYPHEN, SLASH, SEMICOLON, LESS, GREATER] = [0x2d, 0x2f, 0x3b, 0x3c, 0x3e];
const [QUESTION, OPENING, CLOSING, LETTER_G, LETTER_P, LETTER_X] = [0x3f, 0x5b, 0x5d, 0x67, 0x70, 0x78];

/** Text of so many octets is put together in memory that is kept; a longer one has its own. */
const SCRATCH_BYTES = 4_096;
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);

/** Value of an attribute of type CDATA: white space becomes spaces, except what was written as a reference. */
export function attributeText(bytes: Uint8Array, start = 0, end = bytes.length): string {
  const text = new Utf8(end - start);
  text.copyValue(bytes, start, end);
  return text.cut(0, text.length);
}

/** All text of the content of an element, descendants included: its string value. */
export function contentText(bytes: Uint8Array, start: number, end: number): string {
  const text = new Utf8(end - start);
  for (let at = start; at < end;) {
    if (bytes[at] !== LESS) at = text.copyData(bytes, at, end);
    else if (isCdata(bytes, at)) at = text.copyCdata(bytes, at);
    else at = markupEnd(bytes, at);
  }
  return text.cut(0, text.length);
}

/**
 * Text nodes that are children of the element with this content. Comments and instructions end a node; CDATA does not.
 */
export function characterData(bytes: Uint8Array, start: number, end: number): string[] {
  const text = new Utf8(end - start);
  const nodes: string[] = [];
  let depth = 0;
  let node = 0;
  const close = (): void => {
    if (text.length > node) nodes.push(text.cut(node, text.length));
    node = text.length;
  };
  for (let at = start; at < end;) {
    if (bytes[at] !== LESS || isCdata(bytes, at)) {
      at = bytes[at] === LESS ? text.copyCdata(bytes, at) : text.copyData(bytes, at, end);
      // Text of descendants is passed over.
      if (depth > 0) text.length = node;
    } else {
      const behind = markupEnd(bytes, at);
      if (depth === 0) close();
      depth += nesting(bytes, at, behind);
      at = behind;
    }
  }
  close();
  return nodes;
}

/** How many more elements are open behind a piece of markup. */
function nesting(bytes: Uint8Array, at: number, behind: number): number {
  const kind = bytes[at + 1];
  if (kind === SLASH) return -1;
  return kind === BANG || kind === QUESTION || bytes[behind - 2] === SLASH ? 0 : 1;
}

/** Text that is being put together, in UTF-8. */
class Utf8 {
  readonly #bytes: Buffer;
  length = 0;

  constructor(bytesMax: number) {
    this.#bytes = bytesMax <= SCRATCH_BYTES ? scratch : Buffer.allocUnsafeSlow(bytesMax);
  }

  cut(from: number, to: number): string {
    return this.#bytes.toString("utf8", from, to);
  }

  /** Character data up to the next markup. CR LF and CR become LF (XML 1.0, 2.11). @returns the offset behind it */
  copyData(from: Uint8Array, start: number, end: number): number {
    let at = start;
    while (at < end) {
      const run = at;
      while (at < end && from[at]! !== AMPERSAND && from[at]! !== RETURN && from[at]! !== LESS) at += 1;
      this.#copyRun(from, run, at);
      if (at === end || from[at] === LESS) break;
      at = from[at] === AMPERSAND ? this.#copyReference(from, at) : this.#copyLineEnd(from, at, NEWLINE);
    }
    return at;
  }

  /** A CDATA section: line ends only. @returns the offset behind it */
  copyCdata(from: Uint8Array, start: number): number {
    let at = start + CDATA_START_BYTES;
    for (;;) {
      const run = at;
      while (from[at]! !== RETURN && !isCdataEnd(from, at)) at += 1;
      this.#copyRun(from, run, at);
      if (from[at] !== RETURN) return at + CDATA_END_BYTES;
      at = this.#copyLineEnd(from, at, NEWLINE);
    }
  }

  /** The value of an attribute. */
  copyValue(from: Uint8Array, start: number, end: number): void {
    for (let at = start; at < end;) {
      const run = at;
      while (at < end && from[at]! !== AMPERSAND && !becomesBlank(from[at]!)) at += 1;
      this.#copyRun(from, run, at);
      if (at === end) return;
      at = from[at] === AMPERSAND ? this.#copyReference(from, at) : this.#copyLineEnd(from, at, SPACE);
    }
  }

  /** Octets as they are. */
  #copyRun(from: Uint8Array, start: number, end: number): void {
    const to = this.#bytes;
    const { length } = this;
    this.length += end - start;
    if (end - start > RUN_BYTES) to.set(from.subarray(start, end), length);
    else for (let i = start; i < end; i += 1) to[length + i - start] = from[i]!;
  }

  /** @returns the offset behind it */
  #copyReference(from: Uint8Array, at: number): number {
    const reference = referenceAt(from, at);
    this.length = put(this.#bytes, this.length, codePointOf(reference));
    return at + lengthOf(reference);
  }

  /** One octet of white space, or CR LF, as one character. @returns the offset behind it */
  #copyLineEnd(from: Uint8Array, at: number, as: number): number {
    this.#bytes[this.length++] = as;
    return from[at] === RETURN && from[at + 1] === NEWLINE ? at + 2 : at + 1;
  }
}

/** Shorter runs are copied sooner one by one. */
const RUN_BYTES = 64;
const becomesBlank = (byte: number): boolean => byte === TAB || byte === NEWLINE || byte === RETURN;
const isCdataEnd = (bytes: Uint8Array, at: number): boolean =>
  bytes[at] === CLOSING && bytes[at + 1] === CLOSING && bytes[at + 2] === GREATER;

const CDATA_START_BYTES = "<![CDATA[".length;
const CDATA_END_BYTES = "]]>".length;
const isCdata = (bytes: Uint8Array, at: number): boolean => bytes[at + 1] === BANG && bytes[at + 2] === OPENING;

/** A reference as one number: its code point, and how many octets it is written with. */
const LENGTHS = 64;
const codePointOf = (reference: number): number => Math.floor(reference / LENGTHS);
const lengthOf = (reference: number): number => reference % LENGTHS;

/** The reference at an ampersand; the scanner has refused all that are not known here, and all that are long. */
function referenceAt(bytes: Uint8Array, at: number): number {
  if (bytes[at + 1] !== HASH) return namedReferenceAt(bytes, at);
  const isHex = bytes[at + 2] === LETTER_X;
  let code = 0;
  let end = at + (isHex ? 3 : 2);
  for (; bytes[end] !== SEMICOLON; end += 1) code = code * (isHex ? 16 : 10) + digitOf(bytes[end]!);
  return code * LENGTHS + (end + 1 - at);
}

/** Digits, capital and small letters of a hexadecimal number. */
const digitOf = (byte: number): number => (byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57);

function namedReferenceAt(bytes: Uint8Array, at: number): number {
  const [first, second] = [bytes[at + 1], bytes[at + 2]];
  if (first === LETTER_G) return GREATER * LENGTHS + "&gt;".length;
  if (first !== LETTER_A)
    return first === LETTER_Q ? QUOTE * LENGTHS + "&quot;".length : LESS * LENGTHS + "&lt;".length;
  return second === LETTER_P ? APOSTROPHE * LENGTHS + "&apos;".length : AMPERSAND * LENGTHS + "&amp;".length;
}
const [LETTER_A, LETTER_Q] = [0x61, 0x71];

/** Writes a code point in UTF-8. @returns the offset behind it */
function put(to: Uint8Array, at: number, code: number): number {
  let length = at;
  if (code < 0x80) to[length++] = code;
  else {
    if (code < 0x800) to[length++] = 0xc0 | (code >> 6);
    else {
      if (code < 0x10000) to[length++] = 0xe0 | (code >> 12);
      else {
        to[length++] = 0xf0 | (code >> 18);
        to[length++] = 0x80 | ((code >> 12) & 0x3f);
      }
      to[length++] = 0x80 | ((code >> 6) & 0x3f);
    }
    to[length++] = 0x80 | (code & 0x3f);
  }
  return length;
}

/** Offset behind the comment, instruction or tag at `at`. */
function markupEnd(bytes: Uint8Array, at: number): number {
  const kind = bytes[at + 1];
  if (kind !== BANG && kind !== QUESTION) return tagEnd(bytes, at);
  let end = at + (kind === BANG ? "<!--".length : "<?".length);
  if (kind === BANG) while (bytes[end] !== HYPHEN || bytes[end + 1] !== HYPHEN || bytes[end + 2] !== GREATER) end += 1;
  else while (bytes[end] !== QUESTION || bytes[end + 1] !== GREATER) end += 1;
  return end + (kind === BANG ? "-->".length : "?>".length);
}

/** Offset behind the tag that starts at `at`. A `>` inside a quoted value does not end it. */
function tagEnd(bytes: Uint8Array, at: number): number {
  let end = at + 1;
  for (; bytes[end] !== GREATER; end += 1) {
    const quote = bytes[end];
    if (quote !== QUOTE && quote !== APOSTROPHE) continue;
    for (end += 1; bytes[end] !== quote;) end += 1;
  }
  return end + 1;
}

/** Prefix → namespace of the declarations in a start tag; the default namespace has the prefix "". */
export function namespaceDeclarations(tag: string): Map<string, string> {
  const declared = new Map<string, string>();
  for (const [, name = "", double, single] of tag.matchAll(
    /[ \t\r\n]([^ \t\r\n=]+)[ \t\r\n]*=[ \t\r\n]*(?:"([^"]*)"|'([^']*)')/g,
  )) {
    const uri = (): string => attributeText(Buffer.from(double ?? single ?? ""));
    if (name === "xmlns") declared.set("", uri());
    else if (name.startsWith("xmlns:")) declared.set(name.slice(6), uri());
  }
  return declared;
}
