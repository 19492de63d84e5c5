/**
 * A document's outermost bytes on their way through a standard business document. An XML declaration may not stand
 * inside another document, but the envelope has a place for each of these bytes: its own declaration, which by the
 * rules names the same encoding, and the white space on both sides of the payload. What was handed in comes out byte
 * for byte; a reader who knows nothing of this sees an ordinary envelope.
 * @source design/as4.md section 9: payload, same encoding as the envelope
 */
import { LIMITS } from "../../base/limits.js";
import type { SbdPayload } from "./read.js";
import { bareDocument, buildSbd } from "./build.js";
import type { BuiltSbd, NewSbd } from "./build.js";
import { isSpace, skipSpace } from "./payload.js";

const DECLARATION = /^(?:\xef\xbb\xbf)?(?:<\?xml[ \t\r\n][^>]*?\?>)?/;

/** Byte-order mark and XML declaration at the start of a document; possibly nothing. */
function declarationOf(bytes: Buffer): Buffer {
  return bytes.subarray(
    0,
    DECLARATION.exec(bytes.toString("latin1", 0, LIMITS.xml_declaration_bytes_max))?.[0].length ?? 0,
  );
}

/** Builds a standard business document that `unwrapDocument` turns into exactly `sbd.payload` again. */
export function wrapDocument(sbd: NewSbd): BuiltSbd {
  const document = Buffer.from(sbd.payload.buffer, sbd.payload.byteOffset, sbd.payload.byteLength);
  const bare = bareDocument(document);
  if (bare === undefined) return buildSbd(sbd);
  const declaration = declarationOf(document);
  const start = bare.byteOffset - document.byteOffset;
  const built = buildSbd(sbd, {
    declaration,
    before: document.subarray(declaration.length, start),
    after: document.subarray(start + bare.length),
  });
  // The declaration is the sender's own text; where a strict reader would refuse it, the envelope is built without it.
  return built.kind === "built" ? built : buildSbd(sbd);
}

/** The payload as a document of its own, with the declaration and the white space that its envelope carries for it. */
export function unwrapDocument(bytes: Buffer, payload: SbdPayload): Buffer {
  let before = payload.start;
  while (isSpace(bytes[before - 1])) before -= 1;
  return Buffer.concat([
    declarationOf(bytes),
    bytes.subarray(before, payload.start),
    payload.bytes,
    bytes.subarray(payload.end, skipSpace(bytes, payload.end, bytes.length)),
  ]);
}
