/** Bytes of a source file → text, by its byte order mark or XML declaration. */
import { isUtf8 } from "node:buffer";
import { SourceError } from "./source-xml.js";

const DECLARATION = /^<\?xml[ \t\r\n][^>]{0,200}?encoding[ \t\r\n]*=[ \t\r\n]*["']([A-Za-z0-9._-]{1,40})["']/;
const LATIN: ReadonlySet<string> = new Set(["iso-8859-1", "us-ascii", "ascii", "latin1"]);

/**
 * UTF-8 and ISO 8859-1, which is what rule sources are written in.
 * @throws SourceError for another encoding, or bytes that are not what the file says they are
 */
export function decodeSource(bytes: Uint8Array, file: string): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const declared = DECLARATION.exec(buffer.toString("latin1", 0, 256))?.[1]?.toLowerCase() ?? "utf-8";
  if (LATIN.has(declared)) return buffer.toString("latin1");
  if (declared !== "utf-8" && declared !== "utf8")
    throw new SourceError(file, 1, `the encoding ${declared} is not supported`);
  if (!isUtf8(buffer)) throw new SourceError(file, 1, "the file is no UTF-8");
  return buffer.toString("utf8");
}
