/**
 * OCSP: the question about one certificate, and an answer read only as far as it is proven. @source RFC 6960, RFC 5019
 */
import { createHash, verify } from "node:crypto";

import type { Instant } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import { OCSP_SIGNING, readCertificate } from "./certificate.js";
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
import { der, NULL, octetString, oid, sequence } from "./der-writer.js";
import { signedBy } from "./trust.js";

const SHA1 = "1.3.14.3.2.26";
const BASIC_RESPONSE = "1.3.6.1.5.5.7.48.1.1";

/** SHA-1 only names the issuer here, and is the one hash that every responder knows. */
const sha1 = (bytes: Uint8Array): Buffer => createHash("sha1").update(bytes).digest();

/** The DER of a question about one certificate. */
export function ocspQuestion(certificate: Certificate, issuer: Certificate): Buffer {
  const certId = sequence(
    sequence(oid(SHA1), NULL),
    octetString(sha1(issuer.subjectName)),
    octetString(sha1(issuer.keyBits)),
    // As it stands there, also where an authority has made it negative: the answer is about this number alone.
    der(TAG.integer, Buffer.from(certificate.serial, "hex")),
  );
  return sequence(sequence(sequence(sequence(certId))));
}

/** What a proven answer says; `until` is when it must not be believed any more. */
interface RevocationFinding {
  readonly status: "good" | "revoked" | "unknown";
  readonly producedAt: Instant;
  readonly until: Instant;
}

/** Every reason why the answer of a revocation service proves nothing. */
export const ANSWER_FAULTS = [
  "malformed",
  "unsuccessful",
  "other_certificate",
  "signature",
  "not_current",
  "scope",
] as const;
/** Why the answer of a revocation service proves nothing. */
export type AnswerFault = (typeof ANSWER_FAULTS)[number];

/** Reads an answer to `ocspQuestion(certificate, issuer)` at a moment. */
export function readOcspAnswer(
  answer: Uint8Array,
  certificate: Certificate,
  issuer: Certificate,
  at: Instant,
): RevocationFinding | AnswerFault {
  return readOrUndefined(() => read(answer, certificate, issuer, at)) ?? "malformed";
}

function read(
  answer: Uint8Array,
  certificate: Certificate,
  issuer: Certificate,
  at: Instant,
): RevocationFinding | AnswerFault {
  const outer = new DerReader(readDer(answer, TAG.sequence));
  if (contentOf(outer.next(TAG.enumerated))[0] !== 0) return "unsuccessful";
  const responseBytes = new DerReader(new DerReader(outer.next(contextTag(0))).next(TAG.sequence));
  if (oidOf(responseBytes.next(TAG.oid)) !== BASIC_RESPONSE) return "malformed";
  const basic = new DerReader(readDer(contentOf(responseBytes.next(TAG.octetString)), TAG.sequence));
  const data = basic.next(TAG.sequence);
  const hash = signatureHashOf(basic.next(TAG.sequence));
  const signature = bitsOf(basic.next(TAG.bitString));
  const attached = basic.optional(contextTag(0));
  const signers = [issuer, ...delegates(attached, issuer, at)];
  if (hash === undefined || !signers.some((signer) => verify(hash, wholeOf(data), signer.x509.publicKey, signature)))
    return "signature";

  const reader = new DerReader(data);
  reader.optional(contextTag(0));
  reader.next();
  const producedAt = timeOf(reader.next(TAG.generalizedTime));
  for (const single of members(reader.next(TAG.sequence))) {
    const current = readSingle(single, certificate, issuer, at);
    if (typeof current === "string") return current;
    if (current !== undefined) return { ...current, producedAt };
  }
  return "other_certificate";
}

/** Responders that the issuer itself has appointed. */
function delegates(attached: Der | undefined, issuer: Certificate, at: Instant): Certificate[] {
  if (attached === undefined) return [];
  const certificates: Certificate[] = [];
  for (const node of members(new DerReader(attached).next(TAG.sequence))) {
    if (certificates.length === LIMITS.ocsp_delegates_max) break;
    const certificate = readCertificate(wholeOf(node));
    if (certificate !== undefined) certificates.push(certificate);
  }
  return certificates.filter(
    (certificate) =>
      certificate.extendedKeyUsage.includes(OCSP_SIGNING) &&
      certificate.notBefore <= at &&
      at <= certificate.notAfter &&
      certificate.signatureHash !== undefined &&
      (certificate.rsaBits ?? 0) >= LIMITS.rsa_bits_min &&
      signedBy(certificate, issuer),
  );
}

function readSingle(
  single: Der,
  certificate: Certificate,
  issuer: Certificate,
  at: Instant,
): Omit<RevocationFinding, "producedAt"> | AnswerFault | undefined {
  const reader = new DerReader(single, TAG.sequence);
  if (!isAbout(reader.next(TAG.sequence), certificate, issuer)) return undefined;
  const { tag } = reader.next();
  const thisUpdate = timeOf(reader.next(TAG.generalizedTime));
  const nextUpdate = reader.optional(contextTag(0));
  const until =
    nextUpdate === undefined
      ? thisUpdate + LIMITS.revocation_age_max_ms
      : timeOf(new DerReader(nextUpdate).next(TAG.generalizedTime));
  if (thisUpdate > at + LIMITS.revocation_clock_skew_ms || until + LIMITS.revocation_clock_skew_ms < at)
    return "not_current";
  const status = tag === contextTag(0, false) ? "good" : tag === contextTag(1) ? "revoked" : "unknown";
  return { status, until };
}

function isAbout(certId: Der, certificate: Certificate, issuer: Certificate): boolean {
  const reader = new DerReader(certId);
  const hash = oidOf(new DerReader(reader.next(TAG.sequence)).next(TAG.oid));
  const issuerName = contentOf(reader.next(TAG.octetString));
  const issuerKey = contentOf(reader.next(TAG.octetString));
  return (
    hash === SHA1 &&
    issuerName.equals(sha1(issuer.subjectName)) &&
    issuerKey.equals(sha1(issuer.keyBits)) &&
    integerOf(reader.next(TAG.integer)) === certificate.serial
  );
}
