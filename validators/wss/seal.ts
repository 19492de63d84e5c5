/**
 * Writes signed envelopes: a user message (signed, then encrypted) and a signal (signed).
 *
 * Every element that is digested is written in its own canonical form, its namespaces declared on itself; the text on
 * the wire is the text that was hashed. `canonicalText` holds that true for the header, which comes from outside.
 * @source design/as4.md sections 4 to 6, 8
 */
import { createHash, randomBytes, sign } from "node:crypto";
import { canonicalize } from "../xml/c14n.js";
import { attributeOf, parseXml } from "../xml/tree.js";
import { readCertificate } from "./certificate.js";
import { CONTENT_KEY_BYTES, encryptPart } from "./encryption.js";
import { ENVELOPE_LIMITS } from "./envelope.js";
import { compress } from "./coding/gzip.js";
import { unwrapPrivateKey } from "./keys.js";
import { ALG, NS, WSS_URI } from "./names.js";
import { encryptContentKey } from "./coding/oaep.js";
import type { OwnKey, SealInput, SealOutput, SignedReference, SignInput, SignOutput } from "./protocol.js";

/** Signs and encrypts one user message with one payload. @throws Error for a header or certificate that is not one. */
export function sealMessage(input: SealInput): SealOutput {
  const recipient = readCertificate(input.recipient);
  if (recipient === undefined) throw new Error("seal: the recipient's certificate is not an RSA certificate");
  const compressed = compress(input.payload.bytes);
  const uri = `cid:${encodeCid(input.payload.cid)}`;
  const header = signedHeader(input, [
    { uri, transform: WSS_URI.signatureTransform, digestMethod: ALG.sha256, digest: sha256(compressed) },
  ]);
  const contentKey = randomBytes(CONTENT_KEY_BYTES);
  const encrypted = encryptPart(contentKey, compressed);
  const sealedKey = encryptContentKey(recipient.key, contentKey).toString("base64");
  contentKey.fill(0);
  const encryption =
    binaryToken(`X-${input.id}`, input.recipient) + encryptedKey(input.id, sealedKey) + encryptedData(input.id, uri);
  return {
    kind: "sealed",
    soap: envelope(input, encryption + header.security),
    encrypted,
    compressed,
    references: header.references,
  };
}

/** Signs one signal; nothing of it is encrypted. @throws Error for a header that is not canonical. */
export function signSignal(input: SignInput): SignOutput {
  const header = signedHeader(input, []);
  return { kind: "signed", soap: envelope(input, header.security), references: header.references };
}

/** A Content-ID in a `cid:` URL: what RFC 2392 does not allow as it is, is escaped. */
export const encodeCid = (cid: string): string =>
  encodeURIComponent(cid).replace(/%(40|2B|24|2C|3A|3B|3D)/g, (escape) => decodeURIComponent(escape));

const sha256 = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("base64");

interface HeaderInput {
  readonly messaging: string;
  readonly messagingId: string;
  readonly id: string;
  readonly signer: OwnKey;
}

/** What may stand in an id without being escaped, and after a letter is an NCName. */
const ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Token and signature of the signer, over Messaging, the empty Body and the given parts. */
function signedHeader(
  input: HeaderInput,
  parts: readonly SignedReference[],
): { readonly security: string; readonly references: SignedReference[] } {
  if (!ID.test(input.id) || !ID.test(input.messagingId))
    throw new Error("seal: an id is not made of NCName characters");
  const references: SignedReference[] = [
    elementReference(input.messagingId, canonicalText(input.messaging, input.messagingId)),
    elementReference(bodyId(input.id), body(input.id)),
    ...parts,
  ];
  const info = signedInfo(references);
  const value = sign("sha256", Buffer.from(info, "utf8"), unwrapPrivateKey(input.signer.key)).toString("base64");
  const signature =
    `<ds:Signature xmlns:ds="${NS.ds}" Id="SIG-${input.id}">${info}<ds:SignatureValue>${value}</ds:SignatureValue>` +
    `<ds:KeyInfo Id="KI-${input.id}">${tokenReference(`S-${input.id}`)}</ds:KeyInfo></ds:Signature>`;
  return { security: binaryToken(`S-${input.id}`, input.signer.certificate) + signature, references };
}

const elementReference = (id: string, canonical: string): SignedReference => ({
  uri: `#${id}`,
  transform: ALG.exclusiveC14n,
  digestMethod: ALG.sha256,
  digest: sha256(canonical),
});

/** The header's canonical form; it must carry the id that is signed and stand on its own namespaces. */
function canonicalText(messaging: string, id: string): string {
  const document = parseXml(Buffer.from(messaging, "utf8"), ENVELOPE_LIMITS);
  if (document.kind === "refused") throw new Error(`seal: eb:Messaging is not well-formed (${document.fault})`);
  const { root } = document;
  if (root.ns !== NS.eb || root.local !== "Messaging" || attributeOf(root, "Id", NS.wsu) !== id) {
    throw new Error("seal: not an eb:Messaging with the announced wsu:Id");
  }
  return canonicalize([root], { method: "exclusive" });
}

/** Canonical, and signed as written: attributes by namespace and name, no empty-element tags. */
function signedInfo(references: readonly SignedReference[]): string {
  return (
    `<ds:SignedInfo xmlns:ds="${NS.ds}"><ds:CanonicalizationMethod Algorithm="${ALG.exclusiveC14n}"></ds:CanonicalizationMethod>` +
    `<ds:SignatureMethod Algorithm="${ALG.rsaSha256}"></ds:SignatureMethod>${references.map(referenceXml).join("")}</ds:SignedInfo>`
  );
}

const referenceXml = ({ uri, transform, digestMethod, digest }: SignedReference): string =>
  `<ds:Reference URI="${uri}"><ds:Transforms><ds:Transform Algorithm="${transform}"></ds:Transform></ds:Transforms>` +
  `<ds:DigestMethod Algorithm="${digestMethod}"></ds:DigestMethod><ds:DigestValue>${digest}</ds:DigestValue></ds:Reference>`;

const bodyId = (id: string): string => `B-${id}`;

const body = (id: string): string =>
  `<S12:Body xmlns:S12="${NS.soap}" xmlns:wsu="${NS.wsu}" wsu:Id="${bodyId(id)}"></S12:Body>`;

const binaryToken = (id: string, certificate: Uint8Array): string =>
  `<wsse:BinarySecurityToken EncodingType="${WSS_URI.base64Binary}" ValueType="${WSS_URI.x509v3}" wsu:Id="${id}">` +
  `${Buffer.from(certificate).toString("base64")}</wsse:BinarySecurityToken>`;

const tokenReference = (id: string): string =>
  `<wsse:SecurityTokenReference><wsse:Reference URI="#${id}" ValueType="${WSS_URI.x509v3}"/></wsse:SecurityTokenReference>`;

const encryptedKey = (id: string, sealedKey: string): string =>
  `<xenc:EncryptedKey xmlns:xenc="${NS.xenc}" Id="EK-${id}"><xenc:EncryptionMethod Algorithm="${ALG.rsaOaep}">` +
  `<ds:DigestMethod xmlns:ds="${NS.ds}" Algorithm="${ALG.sha256}"/>` +
  `<xenc11:MGF xmlns:xenc11="${NS.xenc11}" Algorithm="${ALG.mgf1Sha256}"/></xenc:EncryptionMethod>` +
  `<ds:KeyInfo xmlns:ds="${NS.ds}">${tokenReference(`X-${id}`)}</ds:KeyInfo>` +
  `<xenc:CipherData><xenc:CipherValue>${sealedKey}</xenc:CipherValue></xenc:CipherData>` +
  `<xenc:ReferenceList><xenc:DataReference URI="#ED-${id}"/></xenc:ReferenceList></xenc:EncryptedKey>`;

const encryptedData = (id: string, uri: string): string =>
  `<xenc:EncryptedData xmlns:xenc="${NS.xenc}" Id="ED-${id}" MimeType="application/gzip" Type="${WSS_URI.attachmentOnly}">` +
  `<xenc:EncryptionMethod Algorithm="${ALG.aes128Gcm}"/><ds:KeyInfo xmlns:ds="${NS.ds}">` +
  `<wsse:SecurityTokenReference xmlns:wsse11="${NS.wsse11}" wsse11:TokenType="${WSS_URI.encryptedKey}">` +
  `<wsse:Reference URI="#EK-${id}"/></wsse:SecurityTokenReference></ds:KeyInfo>` +
  `<xenc:CipherData><xenc:CipherReference URI="${uri}"><xenc:Transforms><ds:Transform xmlns:ds="${NS.ds}" ` +
  `Algorithm="${WSS_URI.ciphertextTransform}"/></xenc:Transforms></xenc:CipherReference></xenc:CipherData></xenc:EncryptedData>`;

function envelope(input: HeaderInput, security: string): Buffer {
  return Buffer.from(
    `<?xml version="1.0" encoding="UTF-8"?><S12:Envelope xmlns:S12="${NS.soap}"><S12:Header>` +
      `<wsse:Security xmlns:wsse="${NS.wsse}" xmlns:wsu="${NS.wsu}" S12:mustUnderstand="true">${security}</wsse:Security>` +
      `${input.messaging}</S12:Header>${body(input.id)}</S12:Envelope>`,
    "utf8",
  );
}
