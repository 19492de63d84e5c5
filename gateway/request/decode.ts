/**
 * Turns bodies, query strings and path segments into values that a schema can check. What is malformed is refused with
 * a message of our own.
 */
import { Refusal } from "../../engine/base/errors.js";
import { LIMITS } from "../../engine/base/limits.js";
import type { HeaderList } from "../http/headers.js";
import { decodeUtf8, parseJsonObject } from "./json.js";
import { parseLargeJsonObject } from "./large-json.js";
import type { LargeJson } from "./large-json.js";
import { BODY_KINDS } from "../contract/route.js";
import type { BodyKind, Route } from "../contract/route.js";

/** The value of Content-Type: the media type in the first group, its parameters in the second. */
const MEDIA_TYPE = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+\/[!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*((?:;.*)?)$/;
const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]*)"?/i;

/**
 * The kind in which the body of this request came.
 *
 * A body without Content-Type is taken for the row's first kind when it is empty and refused otherwise: guessing lets a
 * browser's cross-site form through.
 * @throws Refusal MEDIA_TYPE
 */
export function bodyKind(row: Route, headers: HeaderList, isEmpty: boolean): BodyKind {
  const { accepts } = row.request;
  if (accepts.includes("raw")) return "raw";
  const header = headers.get("content-type");
  if (header === undefined && isEmpty) return accepts[0] ?? "json";
  const match = headers.count("content-type") === 1 ? MEDIA_TYPE.exec(header ?? "") : null;
  const mediaType = match?.[1]?.toLowerCase() ?? "";
  const kind = accepts.find((candidate) => (BODY_KINDS[candidate] as readonly string[]).includes(mediaType));
  if (kind === undefined) {
    const offered = accepts.flatMap((candidate) => BODY_KINDS[candidate]).join(" or ");
    throw new Refusal("MEDIA_TYPE", [{ field: "Content-Type", message: `Send Content-Type: ${offered}.` }]);
  }
  // The bytes of XML name their own encoding; for the others it is UTF-8.
  const charset = CHARSET.exec(match?.[2] ?? "")?.[1]?.toLowerCase() ?? "utf-8";
  if (kind !== "xml" && charset !== "utf-8" && charset !== "utf8") {
    throw new Refusal("MEDIA_TYPE", [{ field: "Content-Type", message: "Send the body in UTF-8." }]);
  }
  return kind;
}

/**
 * The body as its kind says: an object for JSON and forms, exact bytes otherwise; undefined for an empty JSON or form
 * body.
 * @throws Refusal MEDIA_TYPE, BODY_MALFORMED, REQUEST_INVALID for a form field that comes twice
 */
export function decodeBody(row: Route, headers: HeaderList, bytes: Buffer): unknown {
  const kind = bodyKind(row, headers, bytes.length === 0);
  if (kind === "raw" || kind === "xml") return bytes;
  if (bytes.length === 0) return undefined;
  return kind === "json" ? parseJsonObject(bytes) : parsePairs(decodeUtf8(bytes), "BODY_MALFORMED");
}

/**
 * The same for a body so large that reading it at once would hold up all others; undefined for one that is not.
 * @throws Refusal MEDIA_TYPE, BODY_MALFORMED
 */
export const decodeLargeBody = (row: Route, headers: HeaderList, bytes: Buffer): Promise<LargeJson> | undefined =>
  bytes.length > LIMITS.payload_slice_bytes && bodyKind(row, headers, false) === "json"
    ? parseLargeJsonObject(bytes, row.request.octets)
    : undefined;

/** @throws Refusal REQUEST_INVALID for a bad escape or a name that comes twice */
export const parseQuery = (text: string): Readonly<Record<string, string>> => parsePairs(text, "REQUEST_INVALID");

/**
 * A path segment as the text it spells; undefined when it spells none that could be an identifier.
 *
 * It is decoded once, after the path was split: an encoded slash or dot never moves the request to another route.
 */
export function decodeSegment(segment: string): string | undefined {
  if (!segment.includes("%")) return segment;
  const text = percentDecode(segment);
  return text === undefined || text.includes("/") ? undefined : text;
}

function parsePairs(text: string, unreadable: "BODY_MALFORMED" | "REQUEST_INVALID"): Readonly<Record<string, string>> {
  const values: Record<string, string> = {};
  if (text === "") return values;
  const pairs = text.split("&", LIMITS.request_pairs_max + 1);
  if (pairs.length > LIMITS.request_pairs_max)
    throw new Refusal(unreadable, [], { message: `More than ${LIMITS.request_pairs_max} fields came.` });
  for (const pair of pairs) {
    // Forms are read so by every browser: what joins its fields by hand leaves an ampersand too many.
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = percentDecode((equals === -1 ? pair : pair.slice(0, equals)).replaceAll("+", " "));
    const value = equals === -1 ? "" : percentDecode(pair.slice(equals + 1).replaceAll("+", " "));
    if (name === undefined || value === undefined || name === "__proto__") {
      const message = "A field cannot be read: write it percent-encoded in UTF-8.";
      throw new Refusal(unreadable, name === undefined ? [] : [{ field: fieldName(name), message }], { message });
    }
    if (Object.hasOwn(values, name))
      throw new Refusal("REQUEST_INVALID", [{ field: fieldName(name), message: "This field came more than once." }]);
    values[name] = value;
  }
  return values;
}

/** Decoded text without control characters; undefined for bad escapes, invalid UTF-8 and control characters. */
function percentDecode(text: string): string | undefined {
  try {
    const decoded = decodeURIComponent(text);
    return /[\0-\x1f\x7f]/.test(decoded) ? undefined : decoded;
  } catch {
    return undefined;
  }
}

/** A field name for our error message: the caller's own only if it looks like a name. */
const fieldName = (name: string): string => (/^[A-Za-z0-9_.-]{1,64}$/.test(name) ? name : "(unnamed)");
