/** Certificate revocation lists: walked once, kept as the set of their serial numbers. @source RFC 5280 section 5 */
import { verify } from "node:crypto";

import type { Instant } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import type { Certificate } from "./certificate.js";
import {
  bitsOf,
  contentOf,
  contextTag,
  DerReader,
  integerOf,
  members,
  oidOf,
  readDer,
  readOrUndefined,
  signatureHashOf,
  TAG,
  timeOf,
  wholeOf,
} from "./der.js";
import type { Der } from "./der.js";
import type { AnswerFault } from "./ocsp.js";

/** One proven list. */
export interface Crl {
  readonly revoked: ReadonlySet<string>;
  readonly thisUpdate: Instant;
  readonly until: Instant;
}

/** Reads a list of an issuer at a moment. */
export function readCrl(bytes: Uint8Array, issuer: Certificate, at: Instant): Crl | AnswerFault {
  return readOrUndefined(() => read(bytes, issuer, at)) ?? "malformed";
}

function read(bytes: Uint8Array, issuer: Certificate, at: Instant): Crl | AnswerFault {
  const outer = new DerReader(readDer(bytes, TAG.sequence));
  const tbs = outer.next(TAG.sequence);
  const algorithm = outer.next(TAG.sequence);
  const hash = signatureHashOf(algorithm);
  const signature = bitsOf(outer.next(TAG.bitString));
  outer.finish();
  const reader = new DerReader(tbs);
  reader.optional(TAG.integer);
  if (!wholeOf(reader.next(TAG.sequence)).equals(wholeOf(algorithm))) return "malformed";
  const isIssuers = wholeOf(reader.next(TAG.sequence)).equals(issuer.subjectName);
  const maySign = issuer.keyUsage === undefined || issuer.keyUsage.has("cRLSign");
  if (hash === undefined || !isIssuers || !maySign || !verify(hash, wholeOf(tbs), issuer.x509.publicKey, signature))
    return "signature";
  const thisUpdate = timeOf(reader.next());
  const nextUpdate = reader.optional(TAG.utcTime) ?? reader.optional(TAG.generalizedTime);
  const until = nextUpdate === undefined ? thisUpdate + LIMITS.revocation_age_max_ms : timeOf(nextUpdate);
  if (thisUpdate > at + LIMITS.revocation_clock_skew_ms || until + LIMITS.revocation_clock_skew_ms < at)
    return "not_current";
  const list = reader.optional(TAG.sequence);
  const extensions = reader.optional(contextTag(0));
  if (extensions !== undefined && hasCritical(new DerReader(extensions).next(TAG.sequence))) return "scope";
  return { revoked: list === undefined ? new Set() : serialsOf(list), thisUpdate, until };
}

/**
 * A list with a critical extension covers something else than "all certificates of the issuer": a part, a difference,
 * others' certificates.
 */
function hasCritical(extensions: Der): boolean {
  for (const extension of members(extensions)) if (isCritical(extension)) return true;
  return false;
}

function isCritical(extension: Der): boolean {
  const reader = new DerReader(extension, TAG.sequence);
  oidOf(reader.next(TAG.oid));
  const critical = reader.optional(TAG.boolean);
  return critical !== undefined && contentOf(critical)[0] !== 0;
}

/**
 * An entry that only lifts a revocation stands in difference lists alone, which are refused; every entry is a
 * revocation.
 */
function serialsOf(list: Der): ReadonlySet<string> {
  const serials = new Set<string>();
  for (const entry of members(list)) serials.add(integerOf(new DerReader(entry, TAG.sequence).next(TAG.integer)));
  return serials;
}
