/**
 * Where the payload of a standard business document stands: from the first `<` behind the header to the last `>` before
 * the end tag of the document. White space around it belongs to the envelope.
 */
import { parseXml } from "../../../validators/xml/tree.js";
import type { NamespaceDeclaration, XmlElement } from "../../../validators/xml/tree.js";
import { escapeAttribute } from "../../../validators/xml/c14n.js";
import { LIMITS } from "../../base/limits.js";

/** Binary and text payloads in their XML wrapper. @source design/as4.md section 9 */
const CONTENT_NS = "http://peppol.eu/xsd/ticc/envelope/1.0";
const CONTENT_KINDS: Readonly<Record<string, SbdPayload["content"]>> = { BinaryContent: "binary", TextContent: "text" };

/** The document inside an envelope. */
export interface SbdPayload {
  /** `xml`: a business document. `binary`, `text`: the wrapper element of another format; `bytes` are the wrapper's. */
  readonly content: "xml" | "binary" | "text";
  readonly rootNamespace: string;
  readonly rootLocal: string;
  /**
   * The payload as a document of its own, without XML declaration. The exact octets of the envelope, unless it uses a
   * prefix that only the envelope declares; then that declaration is added to its start tag, and `inherited` names it.
   */
  readonly bytes: Buffer;
  /** Prefixes whose declarations were added. Empty for every sender that embeds documents as they are. */
  readonly inherited: readonly string[];
  /** Where the exact octets stand in the envelope. */
  readonly start: number;
  readonly end: number;
}

/**
 * Finds the payload between `from` and the end tag of `root`.
 * @returns undefined when nothing, text, or something without a readable start tag stands there, or the end is not the
 * root's.
 */
export function findPayload(bytes: Buffer, root: XmlElement, from: number, envelopeNs: string): SbdPayload | undefined {
  const name = root.prefix === "" ? root.local : `${root.prefix}:${root.local}`;
  const stop = startOfEndTag(bytes, name);
  if (stop === undefined || stop < from) return undefined;
  const start = skipSpace(bytes, from, stop);
  const end = trimSpace(bytes, start, stop);
  if (start >= end || bytes[end - 1] !== GREATER) return undefined;
  const tag = startTag(bytes, start, end);
  if (tag === undefined) return undefined;
  const element = readStartTag(tag.bytes, root);
  if (element === undefined) return undefined;
  const missing = inheritedBy(bytes.subarray(start, end), element, root, envelopeNs);
  const exact = bytes.subarray(start, end);
  const content = element.ns === CONTENT_NS ? CONTENT_KINDS[element.local] : "xml";
  if (content === undefined || element.ns === envelopeNs) return undefined;
  return {
    content,
    rootNamespace: element.ns,
    rootLocal: element.local,
    start,
    end,
    bytes: missing.length === 0 ? exact : withDeclarations(exact, tag.nameEnd - start, missing),
    inherited: missing.map(({ prefix }) => prefix),
  };
}

const LESS = 0x3c;
const GREATER = 0x3e;
const PREFIX_END = 0x3a;
/** Behind one of these a name or a QName value may begin. */
const WORD_OPENERS: ReadonlySet<number> = new Set(Buffer.from("<>/\"' \t\r\n"));
/** White space of XML; none is not. */
export const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;

/** The first offset from `from` that holds no XML white space, at most `stop`. */
export function skipSpace(bytes: Buffer, from: number, stop: number): number {
  let at = from;
  while (at < stop && isSpace(bytes[at])) at += 1;
  return at;
}

/** The offset behind the last byte before `stop` that is no XML white space, at least `from`. */
export function trimSpace(bytes: Buffer, from: number, stop: number): number {
  let at = stop;
  while (at > from && isSpace(bytes[at - 1])) at -= 1;
  return at;
}

/** The offset of the document's end tag: nothing but white space and comments may follow it. */
function startOfEndTag(bytes: Buffer, name: string): number | undefined {
  let end = trimSpace(bytes, 0, bytes.length);
  for (let comments = 0; bytes.toString("latin1", end - 3, end) === "-->"; comments += 1) {
    const open = bytes.lastIndexOf("<!--", end - 4, "latin1");
    if (open < 0 || comments === LIMITS.envelope_comments_max || bytes.subarray(open + 4, end - 3).includes("--"))
      return undefined;
    end = trimSpace(bytes, 0, open);
  }
  const open = bytes.lastIndexOf("</", end, "latin1");
  if (open < 0) return undefined;
  const tag = bytes.toString("utf8", open, end);
  return tag.startsWith(`</${name}`) && /^[ \t\r\n]*>$/.test(tag.slice(name.length + 2)) ? open : undefined;
}

/** The payload's start tag as it is written, behind comments. */
function startTag(
  bytes: Buffer,
  start: number,
  end: number,
): { readonly bytes: Buffer; readonly nameEnd: number } | undefined {
  let at = start;
  for (let comments = 0; bytes.toString("latin1", at, at + 4) === "<!--"; comments += 1) {
    const close = bytes.indexOf("-->", at + 4, "latin1");
    if (close < 0 || comments === LIMITS.envelope_comments_max) return undefined;
    at = skipSpace(bytes, close + 3, end);
  }
  if (bytes[at] !== LESS || bytes[at + 1] === 0x21 || bytes[at + 1] === 0x3f || bytes[at + 1] === 0x2f)
    return undefined;
  const limit = Math.min(end, at + LIMITS.sbdh_start_tag_bytes_max);
  let nameEnd = at + 1;
  while (nameEnd < limit && !isSpace(bytes[nameEnd]) && bytes[nameEnd] !== GREATER && bytes[nameEnd] !== 0x2f)
    nameEnd += 1;
  let quote = 0;
  for (let i = nameEnd; i < limit; i += 1) {
    const byte = bytes[i] ?? 0;
    if (quote !== 0) quote = byte === quote ? 0 : quote;
    else if (byte === 0x22 || byte === 0x27) quote = byte;
    else if (byte === GREATER) return { bytes: bytes.subarray(at, i + 1), nameEnd };
  }
  return undefined;
}

const TAG_LIMITS = {
  bytes: LIMITS.sbdh_start_tag_bytes_max * 4,
  depth: 4,
  elements: 2,
  attributes: 256,
  declarations: LIMITS.sbdh_declarations_max,
} as const;

/** Reads the start tag by the parser that reads headers, with the envelope's declarations in scope. */
function readStartTag(tag: Buffer, root: XmlElement): XmlElement | undefined {
  const text = tag.toString("utf8");
  const empty = text.endsWith("/>") ? text : `${text.slice(0, -1)}/>`;
  const scope = root.declarations.map(declaration).join("");
  const parsed = parseXml(Buffer.from(`<e${scope}>${empty}</e>`), TAG_LIMITS);
  const [element] = parsed.kind === "refused" ? [] : parsed.root.children;
  return element?.kind === "element" ? element : undefined;
}

const declaration = ({ prefix, ns }: NamespaceDeclaration): string =>
  `${prefix === "" ? " xmlns" : ` xmlns:${prefix}`}="${escapeAttribute(ns)}"`;

/**
 * Declarations of the envelope that the payload may rely on: prefixes that occur in it as `prefix:` and that it does
 * not declare on its root. The envelope's own namespace is not one of them: nothing of a payload stands in it.
 */
function inheritedBy(
  payload: Buffer,
  element: XmlElement,
  root: XmlElement,
  envelopeNs: string,
): NamespaceDeclaration[] {
  const own = new Set(element.declarations.map(({ prefix }) => prefix));
  const candidates = root.declarations.filter(({ prefix, ns }) => !own.has(prefix) && ns !== envelopeNs);
  const used = prefixesUsed(payload, new Set(candidates.map(({ prefix }) => prefix).filter((prefix) => prefix !== "")));
  return candidates.filter(({ prefix, ns }) => (prefix === "" ? ns !== "" : used.has(prefix)));
}

/**
 * Which of the prefixes stand where a name or a QName value may begin. One walk over the payload, however many prefixes
 * there are: from each colon back to where its word begins, and never past the colon before.
 */
function prefixesUsed(payload: Buffer, wanted: ReadonlySet<string>): ReadonlySet<string> {
  const used = new Set<string>();
  const longest = Math.max(0, ...[...wanted].map((prefix) => Buffer.byteLength(prefix)));
  let floor = 0;
  for (
    let at = payload.indexOf(PREFIX_END);
    at >= 0 && used.size < wanted.size;
    at = payload.indexOf(PREFIX_END, at + 1)
  ) {
    let start = at;
    while (start > floor && at - start <= longest && !opensWord(payload[start - 1])) start -= 1;
    if (opensWord(payload[start - 1])) {
      const word = payload.toString("utf8", start, at);
      if (wanted.has(word)) used.add(word);
    }
    floor = at + 1;
  }
  return used;
}

const opensWord = (byte: number | undefined): boolean => byte !== undefined && WORD_OPENERS.has(byte);

const withDeclarations = (payload: Buffer, nameEnd: number, missing: readonly NamespaceDeclaration[]): Buffer =>
  Buffer.concat([
    payload.subarray(0, nameEnd),
    Buffer.from(missing.map(declaration).join("")),
    payload.subarray(nameEnd),
  ]);
