/**
 * What the engine asks the signature workers, and what they answer: plain data only, nothing that loses its class on
 * the way through `postMessage`. Types and lists, no behaviour; the engine may import this file.
 */
import type { XmlElement } from "../xml/tree.js";

export type { XmlElement, XmlNode } from "../xml/tree.js";

/** The ebMS errors that security processing can raise. The full table is the engine's. */
type SecurityErrorCode = "EBMS:0007" | "EBMS:0009" | "EBMS:0101" | "EBMS:0102" | "EBMS:0103" | "EBMS:0303";

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
  signer_refused: "EBMS:0101",
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
  readonly kind: "refused";
  readonly error: SecurityErrorCode;
  readonly reason: SecurityReason;
  /** Why the signer was refused, in the word of whoever did. */
  readonly detail?: string;
  /** eb:MessageId as claimed by the refused message, when it could be read: for RefToMessageId only, never a fact. */
  readonly claimedMessageId?: string;
}

/** A private key on its way to a worker: PKCS#8 under AES-256-GCM, see keys.ts. */
export interface WrappedKey {
  /** SHA-256 of the public key (SubjectPublicKeyInfo), hex: the cache key of the workers. */
  readonly fingerprint: string;
  readonly nonce: Uint8Array;
  /** Ciphertext and 16 octets of tag. */
  readonly sealed: Uint8Array;
}

/** One of our own keys with its certificate (DER). */
export interface OwnKey {
  readonly certificate: Uint8Array;
  readonly key: WrappedKey;
}

/** A ds:Reference as values: what a receipt's NonRepudiationInformation copies and what we compare it with. */
export interface SignedReference {
  readonly uri: string;
  readonly transform: string;
  /** PrefixList of the transform's InclusiveNamespaces; absent when the element is. */
  readonly prefixList?: string;
  readonly digestMethod: string;
  /** Base64, without white space. */
  readonly digest: string;
}

/** A MIME part beside the SOAP part. */
export interface Attachment {
  /** Content-ID without angle brackets. */
  readonly cid: string;
  readonly bytes: Uint8Array;
}

export interface SealInput {
  /** The eb:Messaging element with `wsu:Id` equal to `messagingId`; all its namespaces declared on itself. */
  readonly messaging: string;
  readonly messagingId: string;
  /** Makes the other ids of the envelope; unique per message. */
  readonly id: string;
  readonly payload: { readonly cid: string; readonly bytes: Uint8Array };
  readonly signer: OwnKey;
  /** DER of the certificate of the receiving access point. */
  readonly recipient: Uint8Array;
}

export interface SealOutput {
  readonly kind: "sealed";
  readonly soap: Uint8Array;
  /** IV, ciphertext and tag: the body of the second MIME part. */
  readonly encrypted: Uint8Array;
  /** The gzip octets that were signed; evidence. */
  readonly compressed: Uint8Array;
  readonly references: SignedReference[];
}

export interface OpenInput {
  readonly soap: Uint8Array;
  readonly attachments: Attachment[];
  /** Every key a sender may still have been told of: the current one, and the previous one during a roll-over. */
  readonly keys: OwnKey[];
  /** Cap of the decompressed payload, octets. */
  readonly payloadBytesMax: number;
  /** Accept OAEP with SHA-256 and MGF1-SHA1. Default false. */
  readonly legacyOaep?: boolean;
  /**
   * Why a signer is not let in, asked before a signature is computed, a key used or a part touched; undefined lets it
   * in. Only for who opens in its own thread: a function does not travel. Default: everybody is let in, and judged
   * afterwards.
   * @param signer  DER.
   */
  readonly signerFault?: (signer: Uint8Array) => string | undefined;
}

export interface OpenedPart {
  readonly cid: string;
  /** Properties of the part from the verified header: MimeType, CompressionType, CharacterSet. */
  readonly properties: Record<string, string>;
  /**
   * The octets the signature covers: gzip when the part was compressed, the canonical form when it was XML as such.
   * Evidence.
   */
  readonly signedBytes: Uint8Array;
  readonly payload: Uint8Array;
}

export interface Opened {
  readonly kind: "opened";
  /** The verified eb:Messaging: business values are read from here and nowhere else. */
  readonly messaging: XmlElement;
  /** DER of the signing certificate. Mathematics only: whether it is trusted is the PKI's question. */
  readonly signer: Uint8Array;
  /** DER of the one of our certificates the message was encrypted to; absent when there was nothing to encrypt. */
  readonly recipient?: Uint8Array;
  readonly references: SignedReference[];
  /** None or one. */
  readonly parts: OpenedPart[];
}

export interface SignInput {
  readonly messaging: string;
  readonly messagingId: string;
  readonly id: string;
  readonly signer: OwnKey;
}

export interface SignOutput {
  readonly kind: "signed";
  readonly soap: Uint8Array;
  readonly references: SignedReference[];
}

export interface CheckInput {
  readonly soap: Uint8Array;
}

/** A signal as received. `signer` is present when a signature was there and held over Messaging and Body. */
export interface Checked {
  readonly kind: "checked";
  readonly messaging: XmlElement;
  readonly signer?: Uint8Array;
  readonly references: SignedReference[];
}

export interface AuditInput {
  readonly soap: Uint8Array;
  /** Each part with the octets that were signed: as they were before encryption. */
  readonly parts: Attachment[];
}

export interface Audited {
  readonly kind: "audited";
  readonly messaging: XmlElement;
  readonly signer: Uint8Array;
  /**
   * DER of the certificate that the message's key was encrypted to; absent when the message does not carry it. Not
   * signed.
   */
  readonly recipient?: Uint8Array;
  readonly references: SignedReference[];
}

interface EnvelopedSignInput {
  /** A complete document, UTF-8. The signature becomes the last child of its root. */
  readonly document: Uint8Array;
  readonly signer: OwnKey;
}

interface EnvelopedVerifyInput {
  readonly document: Uint8Array;
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
  | { readonly kind: "verified"; readonly root: XmlElement; readonly signer: Uint8Array; readonly chain: Uint8Array[] }
  | { readonly kind: "refused"; readonly reason: EnvelopedReason };

/** Every task: kind → input and output. */
export interface SignatureTasks {
  readonly "as4.seal": { readonly input: SealInput; readonly output: SealOutput };
  readonly "as4.open": { readonly input: OpenInput; readonly output: Opened | SecurityRefused };
  readonly "as4.sign": { readonly input: SignInput; readonly output: SignOutput };
  readonly "as4.check": { readonly input: CheckInput; readonly output: Checked | SecurityRefused };
  readonly "as4.audit": { readonly input: AuditInput; readonly output: Audited | SecurityRefused };
  readonly "enveloped.sign": { readonly input: EnvelopedSignInput; readonly output: Uint8Array };
  readonly "enveloped.verify": { readonly input: EnvelopedVerifyInput; readonly output: EnvelopedVerified };
}
export type SignatureTaskKind = keyof SignatureTasks;
