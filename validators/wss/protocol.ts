/**
 * What the engine asks the signature workers, and what they answer: plain data only, nothing that loses its class on
 * the way through `postMessage`. Types and lists, no behaviour; the engine may import this file.
 */
import type { XmlElement } from "../xml/tree.js";

export type { XmlElement, XmlNode } from "../xml/tree.js";

/** The ebMS errors that security processing can raise. The full table is the engine's. */
export type SecurityErrorCode = "EBMS:0007" | "EBMS:0009" | "EBMS:0101" | "EBMS:0102" | "EBMS:0103" | "EBMS:0303";

/** Why a message was refused, for our log and our tests. Never sent to the peer: the answer carries the code only. */
export const SECURITY_REASONS = {
  envelope_too_large: "EBMS:0009",
  envelope_malformed: "EBMS:0009",
  envelope_structure: "EBMS:0009",
  envelope_must_understand: "EBMS:0009",
  duplicate_id: "EBMS:0101",
  nested_copy: "EBMS:0101",
  security_missing: "EBMS:0103",
  signature_missing: "EBMS:0103",
  signature_structure: "EBMS:0103",
  algorithm_not_allowed: "EBMS:0103",
  transform_not_allowed: "EBMS:0103",
  token_missing: "EBMS:0103",
  token_invalid: "EBMS:0101",
  key_too_small: "EBMS:0103",
  part_unsigned: "EBMS:0103",
  reference_unknown: "EBMS:0101",
  signature_invalid: "EBMS:0101",
  digest_mismatch: "EBMS:0101",
  body_not_empty: "EBMS:0009",
  part_count: "EBMS:0007",
  part_missing: "EBMS:0007",
  part_duplicate: "EBMS:0007",
  part_unreferenced: "EBMS:0007",
  encryption_missing: "EBMS:0103",
  encryption_structure: "EBMS:0103",
  decryption: "EBMS:0102",
  decompression: "EBMS:0303",
} as const satisfies Record<string, SecurityErrorCode>;
export type SecurityReason = keyof typeof SECURITY_REASONS;

export interface SecurityRefused {
  kind: "refused";
  error: SecurityErrorCode;
  reason: SecurityReason;
  /** eb:MessageId as claimed by the refused message, when it could be read: for RefToMessageId only, never a fact. */
  claimedMessageId?: string;
}

/** A private key on its way to a worker: PKCS#8 under AES-256-GCM, see keys.ts. */
export interface WrappedKey {
  /** SHA-256 of the public key (SubjectPublicKeyInfo), hex: the cache key of the workers. */
  fingerprint: string;
  nonce: Uint8Array;
  /** Ciphertext and 16 octets of tag. */
  sealed: Uint8Array;
}

/** One of our own keys with its certificate (DER). */
export interface OwnKey {
  certificate: Uint8Array;
  key: WrappedKey;
}

/** A ds:Reference as values: what a receipt's NonRepudiationInformation copies and what we compare it with. */
export interface SignedReference {
  uri: string;
  transform: string;
  /** PrefixList of the transform's InclusiveNamespaces; absent when the element is. */
  prefixList?: string;
  digestMethod: string;
  /** Base64, without white space. */
  digest: string;
}

/** A MIME part beside the SOAP part. */
export interface Attachment {
  /** Content-ID without angle brackets. */
  cid: string;
  bytes: Uint8Array;
}

export interface SealInput {
  /** The eb:Messaging element with `wsu:Id` equal to `messagingId`; all its namespaces declared on itself. */
  messaging: string;
  messagingId: string;
  /** Makes the other ids of the envelope; unique per message. */
  id: string;
  payload: { cid: string; bytes: Uint8Array };
  signer: OwnKey;
  /** DER of the certificate of the receiving access point. */
  recipient: Uint8Array;
}

export interface SealOutput {
  kind: "sealed";
  soap: Uint8Array;
  /** IV, ciphertext and tag: the body of the second MIME part. */
  encrypted: Uint8Array;
  /** The gzip octets that were signed; evidence. */
  compressed: Uint8Array;
  references: SignedReference[];
}

export interface OpenInput {
  soap: Uint8Array;
  attachments: Attachment[];
  /** Every key a sender may still have been told of: the current one, and the previous one during a roll-over. */
  keys: OwnKey[];
  /** Cap of the decompressed payload, octets. */
  payloadBytesMax: number;
  /** Accept OAEP with SHA-256 and MGF1-SHA1. Default false. */
  legacyOaep?: boolean;
}

export interface OpenedPart {
  cid: string;
  /** Properties of the part from the verified header: MimeType, CompressionType, CharacterSet. */
  properties: Record<string, string>;
  /** The octets the signature covers: gzip when the part was compressed, the canonical form when it was XML as such. Evidence. */
  signedBytes: Uint8Array;
  payload: Uint8Array;
}

export interface Opened {
  kind: "opened";
  /** The verified eb:Messaging: business values are read from here and nowhere else. */
  messaging: XmlElement;
  /** DER of the signing certificate. Mathematics only: whether it is trusted is the PKI's question. */
  signer: Uint8Array;
  /** DER of the one of our certificates the message was encrypted to; absent when there was nothing to encrypt. */
  recipient?: Uint8Array;
  references: SignedReference[];
  /** None or one. */
  parts: OpenedPart[];
}

export interface SignInput {
  messaging: string;
  messagingId: string;
  id: string;
  signer: OwnKey;
}

export interface SignOutput {
  kind: "signed";
  soap: Uint8Array;
  references: SignedReference[];
}

export interface CheckInput {
  soap: Uint8Array;
}

/** A signal as received. `signer` is present when a signature was there and held over Messaging and Body. */
export interface Checked {
  kind: "checked";
  messaging: XmlElement;
  signer?: Uint8Array;
  references: SignedReference[];
}

export interface AuditInput {
  soap: Uint8Array;
  /** Each part with the octets that were signed: as they were before encryption. */
  parts: Attachment[];
}

export interface Audited {
  kind: "audited";
  messaging: XmlElement;
  signer: Uint8Array;
  /** DER of the certificate that the message's key was encrypted to; absent when the message does not carry it. Not signed. */
  recipient?: Uint8Array;
  references: SignedReference[];
}

export interface EnvelopedSignInput {
  /** A complete document, UTF-8. The signature becomes the last child of its root. */
  document: Uint8Array;
  signer: OwnKey;
}

export interface EnvelopedVerifyInput {
  document: Uint8Array;
}

export type EnvelopedReason =
  | "malformed"
  | "signature_missing"
  | "signature_structure"
  | "algorithm_not_allowed"
  | "transform_not_allowed"
  | "token_missing"
  | "token_invalid"
  | "key_too_small"
  | "signature_invalid"
  | "digest_mismatch"
  | "nested_copy";

export type EnvelopedVerified =
  | { kind: "verified"; root: XmlElement; signer: Uint8Array; chain: Uint8Array[] }
  | { kind: "refused"; reason: EnvelopedReason };

/** Every task: kind → input and output. */
export interface SignatureTasks {
  "as4.seal": { input: SealInput; output: SealOutput };
  "as4.open": { input: OpenInput; output: Opened | SecurityRefused };
  "as4.sign": { input: SignInput; output: SignOutput };
  "as4.check": { input: CheckInput; output: Checked | SecurityRefused };
  "as4.audit": { input: AuditInput; output: Audited | SecurityRefused };
  "enveloped.sign": { input: EnvelopedSignInput; output: Uint8Array };
  "enveloped.verify": { input: EnvelopedVerifyInput; output: EnvelopedVerified };
}
export type SignatureTaskKind = keyof SignatureTasks;
