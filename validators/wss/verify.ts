/** The arithmetic of a signature, one question per function. What must be signed is asked in open.ts and check.ts. */
import { createHash, timingSafeEqual, verify } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { canonicalize, canonicalOctets } from "../xml/c14n.js";
import type { C14nOptions } from "../xml/c14n.js";
import { attributeOf, childrenNamed, textOf } from "../xml/tree.js";
import type { XmlElement } from "../xml/tree.js";
import { certificateFromBase64 } from "./certificate.js";
import type { CertificateFacts } from "./certificate.js";
import type { Envelope } from "./envelope.js";
import { ALG, CID_URL, NS } from "./names.js";
import type { SignaturePolicy } from "./names.js";
import type { SecurityReason, SignedReference } from "./protocol.js";
import { readSignatureInfo, referencedToken } from "./signature-info.js";
import type { ParsedReference, SignatureInfo } from "./signature-info.js";

export interface MessageSignature {
  readonly kind: "signature";
  readonly info: SignatureInfo;
  readonly signer: CertificateFacts;
  /** From the envelope down to SignedInfo. */
  readonly signedInfoPath: XmlElement[];
}

/** Reads the one signature of the Security header and the certificate it names. */
export function readMessageSignature(
  envelope: Envelope,
  security: XmlElement,
  policy: SignaturePolicy,
): MessageSignature | { readonly kind: "fault"; readonly reason: SecurityReason } {
  const fault = (reason: SecurityReason): { readonly kind: "fault"; readonly reason: SecurityReason } => ({
    kind: "fault",
    reason,
  });
  const [signature, ...more] = childrenNamed(security, NS.ds, "Signature");
  if (signature === undefined) return fault("signature_missing");
  if (more.length > 0) return fault("nested_copy");
  const info = readSignatureInfo(signature, policy);
  if (typeof info === "string") return fault(info);
  const token = referencedToken(info.keyInfo, security);
  if (token === undefined) return fault("token_missing");
  const signer = certificateFromBase64(textOf(token));
  if (signer === undefined) return fault("token_invalid");
  if (signer.rsaBits < policy.rsaBitsMin) return fault("key_too_small");
  const signedInfoPath = [envelope.envelope, envelope.header, security, signature, info.signedInfo];
  return { kind: "signature", info, signer, signedInfoPath };
}

/** True when SignatureValue is the RSA signature of the canonical SignedInfo. */
export function signatureValueHolds(info: SignatureInfo, path: readonly XmlElement[], key: KeyObject): boolean {
  const octets = canonicalOctets(() => canonicalize(path, c14nOptions(info.canonicalization, info.inclusivePrefixes)));
  return octets !== undefined && verify(info.hash, octets, key, info.value);
}

/** True when the reference's digest is that of the element at the end of the path. */
export function elementDigestHolds(reference: ParsedReference, path: readonly XmlElement[]): boolean {
  const prefixes = reference.prefixList?.split(" ").filter((prefix) => prefix !== "");
  const octets = canonicalOctets(() => canonicalize(path, c14nOptions(reference.transform, prefixes)));
  return octets !== undefined && octetDigestHolds(reference, octets);
}

/** True when the reference's digest is that of the octets. */
export function octetDigestHolds(reference: ParsedReference, octets: Uint8Array): boolean {
  const digest = createHash(reference.hash).update(octets).digest();
  return digest.length === reference.value.length && timingSafeEqual(digest, reference.value);
}

/** The references of SignedInfo as values, for a receipt. */
export const referenceValues = (references: readonly ParsedReference[]): SignedReference[] =>
  references.map(({ hash: _hash, value: _value, ...values }) => values);

/** The references sorted by what they point at, or the reason why they are not the set a message must sign. */
export interface SignedSet {
  readonly messaging: ParsedReference;
  readonly body: ParsedReference;
  /** By decoded Content-ID. */
  readonly attachments: Map<string, ParsedReference>;
}

/**
 * Set equality with Messaging, Body and the given parts. Ids are compared with the elements found by place; nothing is
 * looked up by id.
 * @source design/as4.md section 18, step 5
 */
export function signedSet(
  envelope: Envelope,
  references: readonly ParsedReference[],
  cids: readonly string[],
): SignedSet | SecurityReason {
  const targets = new Map<string, ParsedReference>();
  const messagingUri = wsuUri(envelope.messaging);
  const bodyUri = wsuUri(envelope.body);
  for (const reference of references) {
    const target = CID_URL.test(reference.uri) ? cidOf(reference.uri) : reference.uri;
    if (target === undefined || targets.has(target)) return "reference_unknown";
    targets.set(target, reference);
  }
  const messaging = messagingUri === undefined ? undefined : targets.get(messagingUri);
  const body = bodyUri === undefined ? undefined : targets.get(bodyUri);
  if (messaging === undefined || body === undefined || messaging === body) return "part_unsigned";
  const attachments = new Map<string, ParsedReference>();
  for (const cid of cids) {
    const reference = targets.get(`cid:${cid}`);
    if (reference === undefined) return "part_unsigned";
    attachments.set(cid, reference);
  }
  return targets.size === 2 + attachments.size ? { messaging, body, attachments } : "reference_unknown";
}

function wsuUri(element: XmlElement): string | undefined {
  const id = attributeOf(element, "Id", NS.wsu);
  return id === undefined ? undefined : `#${id}`;
}

/** `cid:` with its percent-escapes decoded (RFC 2392); undefined when they are malformed. */
export function cidOf(uri: string): string | undefined {
  if (!CID_URL.test(uri) || uri.length === 4) return undefined;
  try {
    return `cid:${decodeURIComponent(uri.slice(4))}`;
  } catch {
    return undefined;
  }
}

function c14nOptions(algorithm: string, prefixes: readonly string[] | undefined): C14nOptions {
  if (algorithm === ALG.inclusiveC14n) return { method: "inclusive" };
  return { method: "exclusive", inclusivePrefixes: prefixes ?? [] };
}
