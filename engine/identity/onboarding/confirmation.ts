/**
 * The tax authority's confirmation that a company has named us as its provider: signed bytes, judged before they are
 * read.
 * @source spec/rulings.md, section 8: POST /webhooks/pfs
 */
import { createHmac, timingSafeEqual } from "node:crypto";

import { Refusal } from "../../base/errors.js";
import { firstChars } from "../../base/text.js";
import { LIMITS } from "../../base/limits.js";
import { isPlainName, NAME_FAULT } from "../names.js";
import { sha256 } from "../tokens/secrets.js";

/** What of a confirmation is used. Its token is kept as a digest only. */
export interface PfsConfirmation {
  readonly dic: string;
  readonly tokenSha256: Uint8Array;
  readonly legalName: string | null;
}

const SIGNATURE = /^[0-9a-f]{64}$/;
const DIC = /^[0-9]{10}$/;

/** Whether the header is the HMAC-SHA256 of the bytes, in lower-case hex; compared in constant time. */
function isSigned(bytes: Uint8Array, signature: string | undefined, secret: string): boolean {
  const expected = createHmac("sha256", secret).update(bytes).digest();
  const given = SIGNATURE.test(signature ?? "") ? Buffer.from(signature ?? "", "hex") : Buffer.alloc(expected.length);
  return timingSafeEqual(expected, given) && signature !== undefined && SIGNATURE.test(signature);
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value.trim() : undefined);

function parsed(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (error) {
    if (!(error instanceof SyntaxError) && !(error instanceof TypeError)) throw error;
  }
  throw new Refusal("BODY_MALFORMED");
}

/**
 * Reads a confirmation.
 * @param bytes exactly as they came, at most LIMITS.pfs_body_bytes_max
 * @param signature the header X-PFS-Signature
 * @param secret shared with the tax authority; undefined where none is configured, and nothing is believed
 * @throws Refusal PREVIEW_DISABLED, SIGNATURE_INVALID, BODY_MALFORMED, REQUEST_INVALID
 */
export function readConfirmation(
  bytes: Uint8Array,
  signature: string | undefined,
  secret: string | undefined,
): PfsConfirmation {
  if (secret === undefined) throw new Refusal("PREVIEW_DISABLED");
  if (!isSigned(bytes, signature, secret)) throw new Refusal("SIGNATURE_INVALID");
  const { dic, verification_token: token, legalName } = parsed(bytes);
  const company = textOf(dic) ?? "";
  const verification = textOf(token) ?? "";
  if (!DIC.test(company)) throw new Refusal("REQUEST_INVALID", [{ field: "dic", message: "Must be ten digits." }]);
  if (verification === "")
    throw new Refusal("REQUEST_INVALID", [{ field: "verification_token", message: "Must be a string." }]);
  const said = textOf(legalName) ?? "";
  if (!isPlainName(said))
    throw new Refusal("REQUEST_INVALID", [{ field: "legalName", message: `legalName ${NAME_FAULT}.` }]);
  const name = firstChars(said, LIMITS.firm_name_chars_max);
  return { dic: company, tokenSha256: sha256(verification), legalName: name === "" ? null : name };
}
