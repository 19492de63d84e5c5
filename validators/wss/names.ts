/**
 * Namespaces, algorithm identifiers and policy tables of WS-Security as Peppol AS4 uses it. @source design/as4.md
 * sections 1, 4, 5
 */

const WSS = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-";
const SWA = "http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1#";

export const NS = {
  soap: "http://www.w3.org/2003/05/soap-envelope",
  eb: "http://docs.oasis-open.org/ebxml-msg/ebms/v3.0/ns/core/200704/",
  wsse: `${WSS}wssecurity-secext-1.0.xsd`,
  wsu: `${WSS}wssecurity-utility-1.0.xsd`,
  wsse11: "http://docs.oasis-open.org/wss/oasis-wss-wssecurity-secext-1.1.xsd",
  ds: "http://www.w3.org/2000/09/xmldsig#",
  ec: "http://www.w3.org/2001/10/xml-exc-c14n#",
  xenc: "http://www.w3.org/2001/04/xmlenc#",
  xenc11: "http://www.w3.org/2009/xmlenc11#",
} as const;

export const ALG = {
  exclusiveC14n: "http://www.w3.org/2001/10/xml-exc-c14n#",
  inclusiveC14n: "http://www.w3.org/TR/2001/REC-xml-c14n-20010315",
  enveloped: "http://www.w3.org/2000/09/xmldsig#enveloped-signature",
  rsaSha256: "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
  sha256: "http://www.w3.org/2001/04/xmlenc#sha256",
  aes128Gcm: "http://www.w3.org/2009/xmlenc11#aes128-gcm",
  rsaOaep: "http://www.w3.org/2009/xmlenc11#rsa-oaep",
  mgf1Sha256: "http://www.w3.org/2009/xmlenc11#mgf1sha256",
} as const;

export const WSS_URI = {
  x509v3: `${WSS}x509-token-profile-1.0#X509v3`,
  base64Binary: `${WSS}soap-message-security-1.0#Base64Binary`,
  encryptedKey: "http://docs.oasis-open.org/wss/oasis-wss-soap-message-security-1.1#EncryptedKey",
  attachmentOnly: `${SWA}Attachment-Content-Only`,
  signatureTransform: `${SWA}Attachment-Content-Signature-Transform`,
  ciphertextTransform: `${SWA}Attachment-Ciphertext-Transform`,
  ultimateReceiver: "http://www.w3.org/2003/05/soap-envelope/role/ultimateReceiver",
} as const;

/** Digest names as node:crypto knows them, keyed by algorithm URI. What is not in a table is refused. */
type HashTable = Readonly<Record<string, string>>;

/** The digest of an algorithm, when the table has it as its own row (`constructor` is no algorithm). */
export const hashOf = (table: HashTable, algorithm: string): string | undefined =>
  Object.hasOwn(table, algorithm) ? table[algorithm] : undefined;

/**
 * What a verifier accepts. Peppol's is the only one in production; the known-answer tests bring tables of their own.
 */
export interface SignaturePolicy {
  /** Canonicalisation of SignedInfo. */
  readonly canonicalization: readonly string[];
  readonly signatureMethods: HashTable;
  readonly digestMethods: HashTable;
  /** Smallest RSA modulus, bits. */
  readonly rsaBitsMin: number;
}

export const PEPPOL_SIGNATURE: SignaturePolicy = {
  canonicalization: [ALG.exclusiveC14n],
  signatureMethods: { [ALG.rsaSha256]: "sha256" },
  digestMethods: { [ALG.sha256]: "sha256" },
  rsaBitsMin: 2048,
};

/** SMP answers: phoss-smp writes SignedInfo in inclusive C14N, others in exclusive. @source design/as4.md section 10 */
export const PEPPOL_ENVELOPED: SignaturePolicy = {
  ...PEPPOL_SIGNATURE,
  canonicalization: [ALG.inclusiveC14n, ALG.exclusiveC14n],
};

/**
 * One accepted way to transport the content key: EncryptionMethod, its DigestMethod and MGF, as node:crypto does them.
 */
export interface KeyTransport {
  readonly method: string;
  readonly digest: string | undefined;
  readonly mgf: string | undefined;
  readonly oaepHash: string;
  readonly mgfHash: string;
}

export const PEPPOL_KEY_TRANSPORT: KeyTransport = {
  method: ALG.rsaOaep,
  digest: ALG.sha256,
  mgf: ALG.mgf1Sha256,
  oaepHash: "sha256",
  mgfHash: "sha256",
};

/**
 * Older stacks leave the MGF at its default, SHA-1. May be accepted; off unless the operator asks. @source
 * design/as4.md section 5
 */
export const LEGACY_KEY_TRANSPORTS: readonly KeyTransport[] = [
  { method: ALG.rsaOaep, digest: ALG.sha256, mgf: undefined, oaepHash: "sha256", mgfHash: "sha1" },
  { method: `${NS.xenc}rsa-oaep-mgf1p`, digest: ALG.sha256, mgf: undefined, oaepHash: "sha256", mgfHash: "sha1" },
];

/** What a URL of a MIME part begins with: the scheme is the same in any case (RFC 3986 section 3.1). */
export const CID_URL = /^cid:/i;
