/**
 * MIME multipart/related, byte exact, over a Buffer that is already in memory: what a SOAP-with-attachments message is
 * wrapped in. Parts are views of the input, not copies.
 *
 * Line ends are CRLF; a message whose first delimiter line ends in LF alone uses LF throughout.
 * @source RFC 2046 section 5.1, RFC 2387; design/as4.md sections 3, 17
 */
import { LIMITS } from "../../base/limits.js";

interface MimeLimits {
  /** Parts of one message, the SOAP part counts. */
  readonly partsMax: number;
  /** Header lines of one part. */
  readonly headersMax: number;
  /** Octets of all header lines of one part. */
  readonly headerBytesMax: number;
  /** Octets before the first delimiter and after the last one. */
  readonly preambleBytesMax: number;
}

/** Peppol messages have two parts; the third lets the policy, not the parser, name the fault. */
export const MIME_LIMITS: MimeLimits = { partsMax: 3, headersMax: 32, headerBytesMax: 8_192, preambleBytesMax: 8_192 };

/** Every reason why a body is not read as a MIME message. */
export const MIME_FAULTS = [
  "content_type",
  "boundary",
  "preamble",
  "no_part",
  "unclosed",
  "epilogue",
  "too_many_parts",
  "headers",
  "transfer_encoding",
  "content_id",
  "start_part",
] as const;
/** Why a body is not read as a MIME message. */
export type MimeFault = (typeof MIME_FAULTS)[number];

/** One part of a message that came in. */
export interface MimePart {
  /** Header values by lower-case name. */
  readonly headers: Map<string, string>;
  /** Content-ID without angle brackets; undefined when the part has none. */
  readonly cid: string | undefined;
  /** Media type in lower case, without parameters; empty when the part does not say. */
  readonly mediaType: string;
  readonly body: Buffer;
}

interface ContentType {
  readonly mediaType: string;
  /** By lower-case name. */
  readonly parameters: Map<string, string>;
}

type MimeRead =
  | { readonly kind: "multipart"; readonly parts: MimePart[] }
  | { readonly kind: "refused"; readonly fault: MimeFault };

class Fault extends Error {
  readonly fault: MimeFault;
  constructor(fault: MimeFault) {
    super(fault);
    this.fault = fault;
  }
}

/**
 * Reads a multipart/related body.
 * @param contentType  the HTTP header's value.
 * @returns the parts, the SOAP part first, or the first fault.
 */
export function readMultipart(body: Buffer, contentType: string, limits: MimeLimits = MIME_LIMITS): MimeRead {
  try {
    const type = parseContentType(contentType);
    if (type?.mediaType !== "multipart/related") throw new Fault("content_type");
    const parts = split(body, boundaryOf(type), limits).map((part) => readPart(part, limits));
    checkIds(parts, type);
    return { kind: "multipart", parts };
  } catch (error) {
    if (error instanceof Fault) return { kind: "refused", fault: error.fault };
    throw error;
  }
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const MEDIA_TYPE = new RegExp(`^[ \\t]*(${TOKEN}/${TOKEN})[ \\t]*`);
const PARAMETER = new RegExp(`;[ \\t]*(${TOKEN})[ \\t]*=[ \\t]*(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;"]+))[ \\t]*`, "y");

/** Reads a Content-Type value; undefined when it is not one, or names a parameter twice. */
export function parseContentType(value: string): ContentType | undefined {
  if (value.length > LIMITS.mime_content_type_chars_max) return undefined;
  const text = value.replace(/\r?\n[ \t]+/g, " ");
  const media = MEDIA_TYPE.exec(text);
  if (media?.[1] === undefined) return undefined;
  const parameters = new Map<string, string>();
  PARAMETER.lastIndex = media[0].length;
  let at = media[0].length;
  for (let match = PARAMETER.exec(text); match !== null; match = PARAMETER.exec(text)) {
    const name = match[1]?.toLowerCase() ?? "";
    if (parameters.has(name)) return undefined;
    parameters.set(name, match[2]?.replace(/\\(.)/g, "$1") ?? match[3] ?? "");
    at = PARAMETER.lastIndex;
  }
  return /^[ \t]*;?[ \t]*$/.test(text.slice(at)) ? { mediaType: media[1].toLowerCase(), parameters } : undefined;
}

/** RFC 2046: at most 70 characters of a small set, no blank at the end. A "10 MB boundary" ends here. */
function boundaryOf(type: ContentType): string {
  const boundary = type.parameters.get("boundary") ?? "";
  if (!/^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/.test(boundary)) throw new Fault("boundary");
  return boundary;
}

interface Delimiter {
  /** Where the part before it ends. */
  readonly start: number;
  /** Where the part behind it starts. */
  readonly next: number;
  readonly close: boolean;
}

function split(body: Buffer, boundary: string, limits: MimeLimits): Buffer[] {
  const first = firstDelimiter(body, boundary, limits);
  if (first.close) throw new Fault("no_part");
  const crlf = body[first.next - 2] === 0x0d;
  const separator = Buffer.from(`${crlf ? "\r\n" : "\n"}--${boundary}`, "latin1");
  const parts: Buffer[] = [];
  let start = first.next;
  for (;;) {
    if (parts.length >= limits.partsMax) throw new Fault("too_many_parts");
    const end = nextDelimiter(body, separator, start, crlf);
    parts.push(body.subarray(start, Math.max(start, end.start)));
    if (!end.close) {
      start = end.next;
      continue;
    }
    if (body.length - end.next > limits.preambleBytesMax) throw new Fault("epilogue");
    return parts;
  }
}

/** The first delimiter line: at the very start, or behind a short preamble. */
function firstDelimiter(body: Buffer, boundary: string, limits: MimeLimits): Delimiter {
  const dashes = Buffer.from(`--${boundary}`, "latin1");
  const window = body.subarray(0, limits.preambleBytesMax + dashes.length + 4);
  for (let at = window.indexOf(dashes); at >= 0; at = window.indexOf(dashes, at + 1)) {
    const line = delimiterLine(body, at, at + dashes.length, undefined);
    if ((at === 0 || body[at - 1] === 0x0a) && line !== undefined) return line;
  }
  throw new Fault(body.length > window.length ? "preamble" : "no_part");
}

function nextDelimiter(body: Buffer, separator: Buffer, from: number, crlf: boolean): Delimiter {
  // An empty part's delimiter shares its line end with the blank line of the headers, or with the delimiter before.
  const line = crlf ? 2 : 1;
  for (let at = body.indexOf(separator, from - line); at >= 0; at = body.indexOf(separator, at + 1)) {
    const delimiter = delimiterLine(body, at, at + separator.length, crlf);
    if (delimiter !== undefined) return delimiter;
  }
  throw new Fault("unclosed");
}

/** What follows the boundary on its line; undefined when it is only the beginning of something else. */
function delimiterLine(body: Buffer, start: number, after: number, crlf: boolean | undefined): Delimiter | undefined {
  const close = body[after] === 0x2d && body[after + 1] === 0x2d;
  let at = close ? after + 2 : after;
  while (body[at] === 0x20 || body[at] === 0x09) at += 1;
  if (body[at] === 0x0d && body[at + 1] === 0x0a && crlf !== false) return { start, next: at + 2, close };
  if (body[at] === 0x0a && crlf !== true) return { start, next: at + 1, close };
  return close && at === body.length ? { start, next: at, close } : undefined;
}

function readPart(part: Buffer, limits: MimeLimits): MimePart {
  const { headers, body } = readHeaders(part, limits);
  const type = headers.has("content-type") ? parseContentType(headers.get("content-type") ?? "") : undefined;
  if (headers.has("content-type") && type === undefined) throw new Fault("headers");
  return {
    headers,
    cid: contentId(headers.get("content-id")),
    mediaType: type?.mediaType ?? "",
    body: decode(body, headers),
  };
}

function readHeaders(
  part: Buffer,
  limits: MimeLimits,
): { readonly headers: Map<string, string>; readonly body: Buffer } {
  const end = blankLine(part.subarray(0, limits.headerBytesMax + 4));
  if (end === undefined) throw new Fault("headers");
  const lines = part
    .subarray(0, end.start)
    .toString("latin1")
    .replace(/\r?\n[ \t]+/g, " ")
    .split(/\r?\n/)
    .filter((line) => line !== "");
  if (lines.length > limits.headersMax) throw new Fault("headers");
  const headers = new Map<string, string>();
  for (const line of lines) {
    const match = /^([!-9;-~]+)[ \t]*:[ \t]*([^\r\n\0]*)$/.exec(line);
    const name = match?.[1]?.toLowerCase();
    if (name === undefined) throw new Fault("headers");
    // Two values of one of these would let two readers see two messages.
    if (headers.has(name) && name.startsWith("content-")) throw new Fault("headers");
    headers.set(name, match?.[2]?.trim() ?? "");
  }
  return { headers, body: part.subarray(end.next) };
}

/** The empty line between headers and body; a part may start with it. */
function blankLine(part: Buffer): { readonly start: number; readonly next: number } | undefined {
  if (part[0] === 0x0a) return { start: 0, next: 1 };
  if (part[0] === 0x0d && part[1] === 0x0a) return { start: 0, next: 2 };
  for (let at = part.indexOf(0x0a); at >= 0; at = part.indexOf(0x0a, at + 1)) {
    if (part[at + 1] === 0x0a) return { start: at + 1, next: at + 2 };
    if (part[at + 1] === 0x0d && part[at + 2] === 0x0a) return { start: at + 1, next: at + 3 };
  }
  return undefined;
}

/** Octets that say nothing between those of base64. */
const BASE64_SPACES = Uint8Array.from({ length: 256 }, (_, octet) =>
  [0x20, 0x09, 0x0d, 0x0a].includes(octet) ? 1 : 0,
);
const IDENTITY_ENCODINGS: readonly string[] = ["binary", "8bit", "7bit"];

function decode(body: Buffer, headers: Map<string, string>): Buffer {
  const encoding = headers.get("content-transfer-encoding")?.toLowerCase() ?? "binary";
  if (IDENTITY_ENCODINGS.includes(encoding)) return body;
  if (encoding === "quoted-printable") return quotedPrintable(body);
  if (encoding !== "base64") throw new Fault("transfer_encoding");
  return base64(body);
}

/** Octet by octet, too: a body at its cap may be lines of one character, half a gigabyte where each is a text. */
function base64(body: Buffer): Buffer {
  const compact = Buffer.alloc(body.length);
  let length = 0;
  for (let at = 0; at < body.length; at += 1) {
    const octet = body[at] ?? 0;
    if (BASE64_SPACES[octet] !== 1) compact[length++] = octet;
  }
  const text = compact.toString("latin1", 0, length);
  const bytes = Buffer.from(text, "base64");
  // `Buffer.from` skips what is not base64, so that only encoding the result again shows whether anything was skipped.
  if (bytes.toString("base64") !== text) throw new Fault("transfer_encoding");
  return bytes;
}

const isBlank = (octet: number | undefined): boolean => octet === 0x20 || octet === 0x09;
const isPrintable = (octet = 0): boolean => octet > 0x20 && octet < 0x7f;

/** @throws Fault for what is no hexadecimal digit */
function hexDigit(octet = 0): number {
  if (octet >= 0x30 && octet <= 0x39) return octet - 0x30;
  const letter = octet | 0x20;
  if (letter >= 0x61 && letter <= 0x66) return letter - 0x57;
  throw new Fault("transfer_encoding");
}

/** Length of the line end there; 0 where there is none. */
function lineEndAt(body: Buffer, at: number): number {
  if (body[at] === 0x0a) return 1;
  return body[at] === 0x0d && body[at + 1] === 0x0a ? 2 : 0;
}

/**
 * Octet by octet: lines of a body at its cap, as texts, would be more than a worker has.
 * @source RFC 2045 section 6.7
 */
function quotedPrintable(body: Buffer): Buffer {
  const bytes = Buffer.alloc(body.length);
  let length = 0;
  for (let at = 0; at < body.length;) {
    const isEscape = body[at] === 0x3d;
    const from = isEscape ? at + 1 : at;
    let to = from;
    while (isBlank(body[to])) to += 1;
    const end = lineEndAt(body, to);
    if (isEscape && end > 0) at = to + end;
    else if (isEscape) {
      bytes[length++] = 16 * hexDigit(body[from]) + hexDigit(body[from + 1]);
      at = from + 2;
    } else {
      const next = to > at ? to : at + Math.max(end, 1);
      if (to === at && end === 0 && !isPrintable(body[at])) throw new Fault("transfer_encoding");
      // Blanks at the end of a line were added on the way.
      const isAdded = to > at && (end > 0 || to === body.length);
      if (isAdded) at = next;
      // A call of Node.js for each octet or two would cost ten times as much as the copy itself.
      while (at < next) bytes[length++] = body[at++] ?? 0;
    }
  }
  return bytes.subarray(0, length);
}

function contentId(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const id = value.startsWith("<") && value.endsWith(">") ? value.slice(1, -1) : value;
  if (!/^[\x21-\x7e]{1,255}$/.test(id) || /[<>]/.test(id)) throw new Fault("content_id");
  return id;
}

/**
 * Checks that no Content-ID comes twice and that `start`, when given, names the first part: a message whose root is
 * elsewhere is not Peppol's.
 */
function checkIds(parts: readonly MimePart[], type: ContentType): void {
  const ids = parts.map((part) => part.cid).filter((cid) => cid !== undefined);
  if (new Set(ids).size !== ids.length) throw new Fault("content_id");
  const start = type.parameters.get("start");
  if (start !== undefined && parts[0]?.cid !== contentId(start)) throw new Fault("start_part");
}

/** One part of a message that we write. */
export interface OutgoingPart {
  /** Without angle brackets; undefined leaves the header out. */
  readonly cid?: string;
  /** The whole Content-Type value. */
  readonly contentType: string;
  readonly body: Uint8Array;
}

/**
 * Writes a multipart/related message, CRLF, every part binary.
 * @param boundary  unique; must occur in no part, which 128 random bits make certain enough.
 */
export function writeMultipart(
  parts: readonly OutgoingPart[],
  boundary: string,
): { readonly contentType: string; readonly body: Buffer } {
  const root = parts[0];
  const rootType = root === undefined ? undefined : parseContentType(root.contentType)?.mediaType;
  if (rootType === undefined) throw new Error("writeMultipart: no root part");
  const chunks: Uint8Array[] = [];
  for (const { cid, contentType, body } of parts) {
    const id = cid === undefined ? "" : `Content-ID: <${cid}>\r\n`;
    chunks.push(
      Buffer.from(
        `--${boundary}\r\nContent-Type: ${contentType}\r\nContent-Transfer-Encoding: binary\r\n${id}\r\n`,
        "latin1",
      ),
      body,
      Buffer.from("\r\n"),
    );
  }
  chunks.push(Buffer.from(`--${boundary}--\r\n`, "latin1"));
  const start = root?.cid === undefined ? "" : `; start="<${root.cid}>"`;
  return {
    contentType: `multipart/related; boundary="${boundary}"; type="${rootType}"${start}`,
    body: Buffer.concat(chunks),
  };
}
