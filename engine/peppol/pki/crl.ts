/** Certificate revocation lists: walked once, kept as the set of their serial numbers. @source RFC 5280 section 5 */
import { verify } from "node:crypto";

import type { Instant } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import { fullNamesOf } from "./certificate.js";
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
  /** Of which certificates of its issuer it tells. @default of all */
  readonly part?: Part;
  readonly thisUpdate: Instant;
  readonly until: Instant;
}

/** What a list says of itself where it tells of some certificates alone. @source RFC 5280 section 5.2.5 */
interface Part {
  /** Of those that name one of these addresses; of none where what it is for is not read here. @default of any */
  readonly urls?: readonly string[];
  readonly isOfUsers: boolean;
  readonly isOfAuthorities: boolean;
}

/**
 * What a list of its issuer says of a certificate. Whose number is in it is revoked, whatever the list is for: an
 * authority gives a number once, and "scope" would be trusted where revocation may stay unknown.
 * @returns "scope" where it tells of others alone
 * @source RFC 5280 section 6.3.3 (b) (2)
 */
export function statusInList({ revoked, part }: Crl, certificate: Certificate): "good" | "revoked" | "scope" {
  if (revoked.has(certificate.serial)) return "revoked";
  return part === undefined || isIn(part, certificate) ? "good" : "scope";
}

const isIn = ({ urls, isOfUsers, isOfAuthorities }: Part, { crlUrls, isCa }: Certificate): boolean =>
  !(isOfUsers && isCa) && !(isOfAuthorities && !isCa) && (urls?.some((url) => crlUrls.includes(url)) ?? true);

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
  const part = partOf(reader.optional(contextTag(0)));
  if (part === "scope") return "scope";
  return { revoked: list === undefined ? new Set() : serialsOf(list), ...part, thisUpdate, until };
}

const ISSUING_DISTRIBUTION_POINT = "2.5.29.28";
const DELTA_INDICATOR = "2.5.29.27";

/**
 * Of what a list tells, by its extensions: all certificates of its issuer, a part of them, or something that
 * is not read here, as a difference or others' certificates.
 */
function partOf(extensions: Der | undefined): Pick<Crl, "part"> | "scope" {
  let found: Pick<Crl, "part"> = {};
  for (const extension of extensions === undefined ? [] : members(new DerReader(extensions).next(TAG.sequence))) {
    const reader = new DerReader(extension, TAG.sequence);
    const id = oidOf(reader.next(TAG.oid));
    const critical = reader.optional(TAG.boolean);
    const isDivided = id === ISSUING_DISTRIBUTION_POINT;
    const isCritical = critical !== undefined && contentOf(critical)[0] !== 0;
    // A list that is divided or a difference is so also where its authority forgot to say that this is critical.
    if (!isDivided && !isCritical && id !== DELTA_INDICATOR) continue;
    const part = isDivided ? readPart(readDer(contentOf(reader.next(TAG.octetString)), TAG.sequence)) : undefined;
    if (part === undefined || found.part !== undefined) return "scope";
    found = { part };
  }
  return found;
}

/** @returns undefined for a part of others' or attribute certificates, whose numbers are not its issuer's */
function readPart(value: Der): Part | undefined {
  const reader = new DerReader(value);
  const name = reader.optional(contextTag(0));
  const urls = name === undefined ? undefined : fullNamesOf(name);
  const isOfUsers = reader.optional(contextTag(1, false)) !== undefined;
  const isOfAuthorities = reader.optional(contextTag(2, false)) !== undefined;
  const isOfReasons = reader.optional(contextTag(3, false)) !== undefined;
  const isEmpty = name === undefined && !isOfUsers && !isOfAuthorities;
  if (!reader.done) return undefined;
  if (isOfReasons || isEmpty) return { urls: [], isOfUsers, isOfAuthorities };
  return { ...(urls === undefined ? {} : { urls }), isOfUsers, isOfAuthorities };
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
