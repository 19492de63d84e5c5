/**
 * The parts of the scanner that know bytes but no structure: text, references, comments, instructions, names, quoted
 * values. What they learn about an element's text they put into its flags.
 *
 * Typed arrays are read with `!`: a NUL stands behind the last byte, and every loop stops at it.
 */
import { BYTE, isNcName, isXmlCharacter, NAME_BYTES, SPACE_BYTES, TEXT_BYTES, VALUE_BYTES } from "./byte-classes.js";
import { FLAG, NONE } from "./document.js";
import type { ElementId, XmlDocument } from "./document.js";
import { ScanFault } from "./faults.js";
import { SCAN_LIMITS } from "./limits.js";
import type { ScanLimits } from "./limits.js";
import { HASH_FACTOR, HASH_START } from "./name-cache.js";

const TAB = 0x09,
  NEWLINE = 0x0a,
  RETURN = 0x0d,
  SPACE = 0x20,
  HASH = 0x23,
  AMPERSAND = 0x26,
  SEMICOLON = 0x3b,
  BANG = 0x21,
  LESS = 0x3c,
  GREATER = 0x3e,
  BRACKET = 0x5d,
  LETTER_X = 0x78;

/** Copies larger than this are not kept for the next document. */
const BUFFER_KEPT_BYTES = 4_194_304;
/** The longest reference that can be valid, `&#x0010FFFF;` with some leading zeros; longer ones are refused. */
const REFERENCE_BYTES_MAX = 32;
/** What references may leave behind in element-only content. */
const isWhiteSpace = (code: number): boolean => code === SPACE || code === TAB || code === NEWLINE || code === RETURN;

/** The number in bytes[start … end), NaN when there is none: decimal, or hexadecimal behind an x. */
function codeIn(bytes: Uint8Array, start: number, end: number): number {
  const hex = bytes[start] === LETTER_X;
  let code = start + (hex ? 1 : 0) < end ? 0 : NaN;
  for (let at = start + (hex ? 1 : 0); at < end; at++) {
    const b = bytes[at]!;
    const letter = b | 0x20;
    const digit = b >= 0x30 && b <= 0x39 ? b - 0x30 : hex && letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : NaN;
    code = code * (hex ? 16 : 10) + digit;
  }
  return code;
}

/** The predefined entities, `&lt;` and so on. */
const PREDEFINED = ["<lt", ">gt", "&amp", `"quot`, "'apos"].map((row) => Buffer.from(row));

/** The character of the predefined entity that bytes[start … end) name, NaN when there is none. */
function predefinedIn(bytes: Uint8Array, start: number, end: number): number {
  for (const row of PREDEFINED) {
    if (row.length - 1 !== end - start) continue;
    let i = 1;
    while (i < row.length && row[i] === bytes[start + i - 1]) i++;
    if (i === row.length) return row[0]!;
  }
  return NaN;
}

export abstract class Lexer {
  readonly document: XmlDocument;
  /** The document, and a NUL behind it. */
  protected bytes: Uint8Array = new Uint8Array(1);
  /** The same bytes, for comparing several at once. */
  protected view: DataView = new DataView(new ArrayBuffer(1));
  protected length = 0;
  protected limits: ScanLimits = SCAN_LIMITS;
  /** The innermost open element. */
  protected current: ElementId = NONE;
  /** End and hash of the name that `name` found. */
  protected nameEnd = 0;
  protected nameHash = 0;
  /** Code point of the reference that was read last. */
  #referenced = 0;
  /** How to read the value that `attributeValue` found: bits of FLAG. */
  protected valueFlags = 0;
  /** Where documents go that have no NUL behind them. */
  protected copy = new Uint8Array(65_536);

  constructor(document: XmlDocument) {
    this.document = document;
  }

  /** Character data from `at` to the next `<`. */
  protected text(start: number): number {
    const bytes = this.bytes;
    const { flags } = this.document;
    const current = this.current;
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
        do b = bytes[++at]!;
        while (TEXT_BYTES[b]! === BYTE.high);
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
    const bytes = this.bytes;
    const { flags } = this.document;
    if (kind === BYTE.bracket) {
      if (bytes[at + 1] === BRACKET && bytes[at + 2] === GREATER) throw new ScanFault("XML-CDATA-END", at);
      return at + 1;
    }
    if (kind === BYTE.ampersand) {
      const end = this.#reference(at);
      flags[this.current]! |= isWhiteSpace(this.#referenced) ? FLAG.marked : FLAG.marked | FLAG.nonSpace;
      return end;
    }
    if (kind === BYTE.return) {
      flags[this.current]! |= FLAG.marked;
      return at + 1;
    }
    if (kind === BYTE.ef) {
      this.#refuseNonCharacter(at);
      flags[this.current]! |= FLAG.nonAscii;
      return at + 1;
    }
    throw new ScanFault(at >= this.length ? "XML-TRUNCATED" : "XML-CHARACTER", Math.max(start, at));
  }

  #markNonSpace(start: number, end: number): void {
    const bytes = this.bytes;
    for (let i = start; i < end; i++) {
      if (bytes[i] === AMPERSAND) while (bytes[i] !== SEMICOLON) i++;
      else if (SPACE_BYTES[bytes[i]!] === 0) {
        this.document.flags[this.current]! |= FLAG.nonSpace;
        return;
      }
    }
  }

  /** U+FFFE and U+FFFF: valid UTF-8, not characters of XML. */
  #refuseNonCharacter(at: number): void {
    if (this.bytes[at + 1] === 0xbf && this.bytes[at + 2]! >= 0xbe) throw new ScanFault("XML-CHARACTER", at);
  }

  /** One reference, whose code point is kept in `#referenced`. @returns the offset behind its semicolon */
  #reference(at: number): number {
    const bytes = this.bytes;
    let end = at + 1;
    while (end - at < REFERENCE_BYTES_MAX && bytes[end] !== SEMICOLON && bytes[end] !== LESS && end < this.length)
      end++;
    if (bytes[end] !== SEMICOLON) throw new ScanFault("XML-REFERENCE", at);
    const code = bytes[at + 1] === HASH ? codeIn(bytes, at + 2, end) : predefinedIn(bytes, at + 1, end);
    if (Number.isNaN(code)) throw new ScanFault("XML-REFERENCE", at);
    if (!isXmlCharacter(code)) throw new ScanFault("XML-CHARACTER", at);
    this.#referenced = code;
    return end + 1;
  }

  /** Finds the end and the hash of the name at `at`. */
  protected name(at: number): number {
    const bytes = this.bytes;
    let hash = HASH_START;
    let end = at;
    for (let b = bytes[end]!; NAME_BYTES[b]! !== 0; b = bytes[++end]!) hash = Math.imul(hash ^ b, HASH_FACTOR);
    this.nameHash = hash;
    this.nameEnd = end;
    return end;
  }

  protected comment(at: number): number {
    const end = this.document.latin.indexOf("--", at + 4);
    if (end < 0) throw new ScanFault("XML-TRUNCATED", this.length);
    if (this.bytes[end + 2] !== GREATER) throw new ScanFault("XML-COMMENT", end);
    this.plainCharacters(at + 4, end);
    return end + 3;
  }

  protected instruction(at: number): number {
    const end = this.document.latin.indexOf("?>", at + 2);
    if (end < 0) throw new ScanFault("XML-TRUNCATED", this.length);
    const nameEnd = this.name(at + 2);
    if (nameEnd - at - 2 > this.limits.nameLength) throw new ScanFault("XML-LIMIT-NAME-LENGTH", at);
    const target = this.document.source.toString("utf8", at + 2, Math.min(nameEnd, end));
    if (/^xml$/i.test(target)) throw new ScanFault("XML-DECLARATION", at);
    if (!isNcName(target) || (nameEnd < end && SPACE_BYTES[this.bytes[nameEnd]!] === 0))
      throw new ScanFault("XML-INSTRUCTION", at);
    this.plainCharacters(nameEnd, end);
    if (this.current !== NONE) this.document.flags[this.current]! |= FLAG.marked;
    return end + 2;
  }

  /** Refuses characters that XML does not allow, where markup means nothing. */
  protected plainCharacters(start: number, end: number): void {
    const bytes = this.bytes;
    for (let i = start; i < end; i++) {
      const kind = TEXT_BYTES[bytes[i]!]!;
      if (kind === BYTE.control) throw new ScanFault("XML-CHARACTER", i);
      if (kind === BYTE.ef) this.#refuseNonCharacter(i);
    }
  }

  /** A quoted value. @returns the offset behind the closing quote; valueFlags says how to read it */
  protected attributeValue(quoteAt: number): number {
    const bytes = this.bytes;
    const quote = bytes[quoteAt]!;
    if (VALUE_BYTES[quote]! !== BYTE.quote) throw new ScanFault(this.badAttribute(quoteAt), quoteAt);
    let flags = 0;
    let at = quoteAt + 1;
    for (;;) {
      let b = bytes[at]!;
      while (VALUE_BYTES[b]! === BYTE.plain) b = bytes[++at]!;
      if (b === quote) break;
      const kind = VALUE_BYTES[b]!;
      if (kind === BYTE.quote) at++;
      else if (kind === BYTE.high) {
        flags |= FLAG.nonAscii;
        at++;
      } else if (kind === BYTE.space) {
        flags |= FLAG.marked;
        at++;
      } else if (kind === BYTE.ampersand) {
        flags |= FLAG.marked;
        at = this.#reference(at);
      } else if (kind === BYTE.ef) {
        this.#refuseNonCharacter(at);
        flags |= FLAG.nonAscii;
        at++;
      } else
        throw new ScanFault(
          kind === BYTE.less ? "XML-ATTRIBUTE" : at >= this.length ? "XML-TRUNCATED" : "XML-CHARACTER",
          at,
        );
    }
    this.valueFlags = flags;
    return at + 1;
  }

  protected badAttribute(at: number): "XML-TRUNCATED" | "XML-CHARACTER" | "XML-ATTRIBUTE" {
    if (at >= this.length) return "XML-TRUNCATED";
    return this.bytes[at] === 0 ? "XML-CHARACTER" : "XML-ATTRIBUTE";
  }

  protected skipSpace(start: number): number {
    const bytes = this.bytes;
    let at = start;
    while (SPACE_BYTES[bytes[at]!]! !== 0) at++;
    return at;
  }

  protected startsWith(at: number, text: string): boolean {
    for (let i = 0; i < text.length; i++) if (this.bytes[at + i] !== text.charCodeAt(i)) return false;
    return true;
  }

  protected isDoctype(at: number): boolean {
    if (this.bytes[at + 1] !== BANG) return false;
    return /^<!doctype/i.test(this.document.source.toString("latin1", at, Math.min(at + 9, this.length)));
  }

  /** The bytes with a NUL behind them: as they lie in memory when there is one, otherwise a copy. */
  protected terminated(bytes: Buffer): Uint8Array {
    const { buffer, byteOffset, length } = bytes;
    if (byteOffset + length < buffer.byteLength) {
      const view = new Uint8Array(buffer, byteOffset, length + 1);
      if (view[length] === 0) return view;
    }
    if (this.copy.length <= length || this.copy.length > BUFFER_KEPT_BYTES)
      this.copy = new Uint8Array(Math.max(65_536, length + 1));
    this.copy.set(bytes);
    this.copy[length] = 0;
    return this.copy;
  }
}
