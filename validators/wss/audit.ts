/**
 * Checks a user message again that was checked when it was exchanged: the signature, with the octets of the parts as
 * they were before encryption. Needs no private key.
 */
import { textOf } from "../xml/tree.js";
import type { XmlElement } from "../xml/tree.js";
import { certificateFromBase64 } from "./certificate.js";
import { readEncryption } from "./encryption.js";
import { readEnvelope, refused } from "./envelope.js";
import { PEPPOL_KEY_TRANSPORT, PEPPOL_SIGNATURE } from "./names.js";
import { headerSignatureFault } from "./open.js";
import type { Audited, AuditInput, SecurityReason, SecurityRefused } from "./protocol.js";
import { referencedToken } from "./signature-info.js";
import { octetDigestHolds, readMessageSignature, referenceValues, signedSet } from "./verify.js";

/** @returns the signed header and its signer when every digest and the signature hold over what is given. */
export function auditMessage(input: AuditInput): Audited | SecurityRefused {
  const envelope = readEnvelope(input.soap);
  if ("kind" in envelope) return envelope;
  const { security, messaging } = envelope;
  const fault = (reason: SecurityReason): SecurityRefused => refused(reason);
  if (security === undefined) return fault("security_missing");
  const signature = readMessageSignature(envelope, security, PEPPOL_SIGNATURE);
  if (signature.kind === "fault") return fault(signature.reason);
  const signed = signedSet(
    envelope,
    signature.info.references,
    input.parts.map(({ cid }) => cid),
  );
  if (typeof signed === "string") return fault(signed);
  const headerFault = headerSignatureFault(envelope, signature, signed);
  if (headerFault !== undefined) return fault(headerFault);
  const holds = input.parts.every(({ cid, bytes }) => {
    const reference = signed.attachments.get(cid);
    return reference !== undefined && octetDigestHolds(reference, bytes);
  });
  if (!holds) return fault("digest_mismatch");
  const recipient = encryptedTo(security);
  return {
    kind: "audited",
    messaging,
    signer: signature.signer.der,
    references: referenceValues(signature.info.references),
    ...(recipient === undefined ? {} : { recipient }),
  };
}

/** The certificate that the EncryptedKey names. */
function encryptedTo(security: XmlElement): Uint8Array | undefined {
  const encryption = readEncryption(security, [PEPPOL_KEY_TRANSPORT]);
  const token = typeof encryption === "string" ? undefined : referencedToken(encryption.keyInfo, security);
  return token === undefined ? undefined : certificateFromBase64(textOf(token))?.der;
}
