/**
 * Opens a received user message: structure, signature, decryption, digests, decompression, in this order.
 *
 * Whether the signer is one of the network is asked first, and the signature over Messaging and Body is checked before
 * the private key is used: a stranger costs us one small parse, and nobody without an accepted key can ask the
 * decryption anything. The first failure is the answer.
 * @source design/as4.md section 18
 */
import { textOf } from "../xml/tree.js";
import type { XmlElement } from "../xml/tree.js";
import { certificateFromBase64 } from "./certificate.js";
import { decryptParts, readEncryption } from "./encryption.js";
import type { Encryption } from "./encryption.js";
import { readEnvelope, refused, withClaimedId } from "./envelope.js";
import type { Envelope } from "./envelope.js";
import { decompress } from "./coding/gzip.js";
import { unwrapPrivateKey } from "./keys.js";
import { LEGACY_KEY_TRANSPORTS, PEPPOL_KEY_TRANSPORT, PEPPOL_SIGNATURE } from "./names.js";
import { signedOctets } from "./part-content.js";
import { readPartInfos } from "./part-info.js";
import type { PartInfo } from "./part-info.js";
import type { Opened, OpenedPart, OpenInput, OwnKey, SecurityReason, SecurityRefused } from "./protocol.js";
import { referencedToken } from "./signature-info.js";
import { elementDigestHolds, readMessageSignature, referenceValues, signatureValueHolds, signedSet } from "./verify.js";
import type { MessageSignature, SignedSet } from "./verify.js";

/** Peppol AS4: the SOAP part and one payload part; a test message may have none. @source design/as4.md sections 2, 3 */
const PARTS_MAX = 1;

const GZIP = "application/gzip";

/**
 * @returns the verified header and parts, or the ebMS error with the reason for our log.
 * @throws Error when a private key cannot be unwrapped: that is ours, not the peer's, fault.
 */
export function openMessage(input: OpenInput): Opened | SecurityRefused {
  const envelope = readEnvelope(input.soap);
  if ("kind" in envelope) return envelope;
  const result = openEnvelope(envelope, input);
  if (typeof result === "string") return withClaimedId(refused(result), envelope.messaging);
  return result.kind === "refused" ? withClaimedId(result, envelope.messaging) : result;
}

function openEnvelope(envelope: Envelope, input: OpenInput): Opened | SecurityRefused | SecurityReason {
  const { security, messaging } = envelope;
  if (security === undefined) return "security_missing";
  const cids = input.attachments.map((attachment) => attachment.cid);
  if (new Set(cids).size !== cids.length) return "part_duplicate";
  const signature = readMessageSignature(envelope, security, PEPPOL_SIGNATURE);
  if (signature.kind === "fault") return signature.reason;
  const fault = input.signerFault?.(signature.signer.der);
  if (fault !== undefined) return { ...refused("signer_refused"), detail: fault };
  const signed = signedSet(envelope, signature.info.references, cids);
  if (typeof signed === "string") return signed;
  const headerFault = headerSignatureFault(envelope, signature, signed);
  if (headerFault !== undefined) return headerFault;

  // From here on the header is what its signer wrote.
  if (!isBlank(envelope.body)) return "body_not_empty";
  const infos = readPartInfos(messaging);
  if (typeof infos === "string") return infos;
  const countFault = partFault(infos, cids);
  if (countFault !== undefined) return countFault;

  const opened: Opened = {
    kind: "opened",
    messaging,
    signer: signature.signer.der,
    references: referenceValues(signature.info.references),
    parts: [],
  };
  if (cids.length === 0) return opened;
  const transports =
    input.legacyOaep === true ? [PEPPOL_KEY_TRANSPORT, ...LEGACY_KEY_TRANSPORTS] : [PEPPOL_KEY_TRANSPORT];
  const encryption = readEncryption(security, transports);
  if (typeof encryption === "string") return encryption;
  const token = referencedToken(encryption.keyInfo, security);
  if (token === undefined) return "token_missing";
  const own = ownKey(textOf(token), input.keys);
  if (own === undefined) return "decryption";
  const parts = openParts(input, encryption, own, { signed, infos });
  if (typeof parts === "string") return parts;
  return { ...opened, recipient: own.certificate, parts };
}

/** SOAP 1.2, section 5.3: white space is no content of a Body, and a writer that indents leaves some there. */
const isBlank = ({ children }: XmlElement): boolean =>
  children.every((node) => node.kind === "text" && /^[ \t\r\n]*$/.test(node.value));

/** Why the signature over header and body does not hold: its value is checked first, then both digests. */
export function headerSignatureFault(
  envelope: Envelope,
  signature: MessageSignature,
  signed: SignedSet,
): SecurityReason | undefined {
  if (!signatureValueHolds(signature.info, signature.signedInfoPath, signature.signer.key)) return "signature_invalid";
  const messaging = [envelope.envelope, envelope.header, envelope.messaging];
  const body = [envelope.envelope, envelope.body];
  const hold = elementDigestHolds(signed.messaging, messaging) && elementDigestHolds(signed.body, body);
  return hold ? undefined : "digest_mismatch";
}

function partFault(infos: readonly PartInfo[], cids: readonly string[]): SecurityReason | undefined {
  if (infos.some((info) => !cids.includes(info.cid))) return "part_missing";
  if (cids.some((cid) => !infos.some((info) => info.cid === cid))) return "part_unreferenced";
  return cids.length <= PARTS_MAX ? undefined : "part_count";
}

function ownKey(token: string | undefined, keys: readonly OwnKey[]): OwnKey | undefined {
  const named = certificateFromBase64(token);
  return named === undefined ? undefined : keys.find((own) => named.der.equals(own.certificate));
}

function openParts(
  input: OpenInput,
  encryption: Encryption,
  own: OwnKey,
  { signed, infos }: { readonly signed: SignedSet; readonly infos: readonly PartInfo[] },
): OpenedPart[] | SecurityReason {
  if (encryption.cids.length !== input.attachments.length) return "encryption_structure";
  const plain = decryptParts(encryption, input.attachments, unwrapPrivateKey(own.key));
  if (plain === undefined) return "decryption";
  const parts: OpenedPart[] = [];
  for (const info of infos) {
    const bytes = plain.get(info.cid);
    const reference = signed.attachments.get(info.cid);
    if (bytes === undefined || reference === undefined) return "digest_mismatch";
    const signedBytes = signedOctets(reference, bytes, {
      xml: encryption.xmlCids.has(info.cid),
      bytesMax: input.payloadBytesMax,
    });
    if (signedBytes === undefined) return "digest_mismatch";
    const payload = partPayload(info, bytes, input.payloadBytesMax);
    if (payload === undefined) return "decompression";
    parts.push({ cid: info.cid, properties: info.properties, signedBytes, payload });
  }
  return parts;
}

/**
 * The payload of a part: as it is without CompressionType, decompressed when that is gzip.
 * @returns undefined for another CompressionType, a broken gzip, or a payload above the cap.
 */
export function partPayload(info: PartInfo, bytes: Uint8Array, bytesMax: number): Uint8Array | undefined {
  const compression = info.properties["CompressionType"];
  if (compression === undefined) return bytes.length <= bytesMax ? bytes : undefined;
  return compression === GZIP ? decompress(bytes, bytesMax) : undefined;
}
