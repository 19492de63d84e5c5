/** Messages that break one rule and keep all others: signed anew after the edit, unless the edit comes after signing. */
import { constants, createHash, publicEncrypt, randomBytes, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { readMultipart, writeMultipart } from "../../../engine/peppol/as4/mime.js";
import type { OutgoingPart } from "../../../engine/peppol/as4/mime.js";
import { canonicalize } from "../../../validators/xml/c14n.js";
import { onlyChild, parseXml } from "../../../validators/xml/tree.js";
import type { XmlElement } from "../../../validators/xml/tree.js";
import { readCertificate } from "../../../validators/wss/certificate.js";
import { encryptPart } from "../../../validators/wss/encryption.js";
import { NS } from "../../../validators/wss/names.js";
import { encryptContentKey } from "../../../validators/wss/coding/oaep.js";
import { build } from "./as4.js";
import type { AccessPoint } from "./as4-keys.js";

export interface Edits {
  /** The finished header and body before they are digested. */
  messaging?: (xml: string) => string;
  body?: (xml: string) => string;
  /** The octets that are signed and encrypted, in place of the gzip of the invoice. */
  signedPayload?: Buffer;
  /** How the content key is encrypted when signedPayload is given; default is Peppol's OAEP. */
  sealKey?: (contentKey: Buffer, recipient: KeyObject) => Buffer;
  /** SignedInfo after its digests are set, before it is signed. */
  signedInfo?: (xml: string) => string;
  /** Hash of the RSA signature; default sha256. */
  hash?: string;
  /** How the signer canonicalises SignedInfo; default exclusive. */
  method?: "exclusive" | "inclusive";
  comments?: boolean;
  /** SignatureValue in place of an RSA signature. */
  value?: (signedInfo: Buffer) => Buffer;
  /** The whole envelope after signing. */
  envelope?: (xml: string) => string;
  /** The MIME parts after encryption. */
  parts?: (parts: OutgoingPart[]) => OutgoingPart[];
}

const replaceOnce = (text: string, pattern: RegExp, replace: (found: string) => string): string => {
  const found = pattern.exec(text);
  if (found === null) throw new Error(`forge: nothing matches ${pattern}`);
  return text.slice(0, found.index) + replace(found[0]) + text.slice(found.index + found[0].length);
};

const tree = (soap: string): XmlElement => {
  const document = parseXml(Buffer.from(soap));
  if (document.kind === "refused") throw new Error(`forge: ${document.fault} at ${document.at}`);
  return document.root;
};

const child = (element: XmlElement, ns: string, local: string): XmlElement => {
  const found = onlyChild(element, ns, local);
  if (found === undefined) throw new Error(`forge: no ${local}`);
  return found;
};

/** Builds a message from one access point to another with the given edits. */
export async function forge(
  from: AccessPoint,
  to: AccessPoint,
  edits: Edits = {},
): Promise<{ contentType: string; body: Buffer }> {
  const base = await build(from, to);
  const read = readMultipart(base.body, base.contentType);
  const attachment = read.kind === "multipart" ? read.parts[1] : undefined;
  if (attachment?.cid === undefined) throw new Error("forge: no attachment");
  let soap = Buffer.from(base.soap).toString();
  let encrypted: Uint8Array = attachment.body;
  const compressed = edits.signedPayload ?? Buffer.from(base.compressed);
  if (edits.signedPayload !== undefined) {
    const contentKey = randomBytes(16);
    encrypted = encryptPart(contentKey, compressed);
    const key = readCertificate(to.certificate)?.key;
    if (key === undefined) throw new Error("forge: no recipient key");
    soap = replaceOnce(
      soap,
      /<xenc:CipherValue>[^<]*/,
      () =>
        `<xenc:CipherValue>${(edits.sealKey ?? ((plain, recipient) => encryptContentKey(recipient, plain)))(contentKey, key).toString("base64")}`,
    );
  }
  if (edits.messaging !== undefined) soap = replaceOnce(soap, /<eb:Messaging.*<\/eb:Messaging>/s, edits.messaging);
  if (edits.body !== undefined) soap = replaceOnce(soap, /<S12:Body.*<\/S12:Body>/s, edits.body);
  soap = resign(soap, from, compressed, edits);
  if (edits.envelope !== undefined) soap = edits.envelope(soap);
  const parts: OutgoingPart[] = [
    { contentType: "application/soap+xml;charset=UTF-8", body: Buffer.from(soap) },
    { cid: attachment.cid, contentType: "application/octet-stream", body: encrypted },
  ];
  return writeMultipart(edits.parts?.(parts) ?? parts, "----=_forged");
}

/** Signs an edited envelope anew: digests of Messaging, Body and, where there is a third reference, of `compressed`. */
export function resign(
  soap: string,
  from: AccessPoint,
  compressed: Buffer = Buffer.alloc(0),
  edits: Edits = {},
): string {
  const root = tree(soap);
  const header = child(root, NS.soap, "Header");
  const digest = (path: XmlElement[]): string => hash(canonicalize(path, { method: "exclusive" }));
  const digests = [
    digest([root, header, child(header, NS.eb, "Messaging")]),
    digest([root, child(root, NS.soap, "Body")]),
    hash(compressed),
  ];
  let index = 0;
  let signed = replaceOnce(soap, /<ds:SignedInfo.*<\/ds:SignedInfo>/s, (info) => {
    const fresh = info.replace(/(<ds:DigestValue>)[^<]*/g, (_, open: string) => `${open}${digests[index++] ?? ""}`);
    return edits.signedInfo?.(fresh) ?? fresh;
  });
  const info = tree(signed);
  const infoHeader = child(info, NS.soap, "Header");
  const security = child(infoHeader, NS.wsse, "Security");
  const signature = child(security, NS.ds, "Signature");
  const path = [
    info,
    infoHeader,
    security,
    signature,
    signature.children.find((node) => node.kind === "element") ?? signature,
  ];
  const octets = Buffer.from(
    canonicalize(path, { method: edits.method ?? "exclusive", comments: edits.comments ?? false }),
  );
  const value = edits.value?.(octets) ?? sign(edits.hash ?? "sha256", octets, from.privateKey);
  signed = replaceOnce(signed, /<ds:SignatureValue>[^<]*/, () => `<ds:SignatureValue>${value.toString("base64")}`);
  return signed;
}

const hash = (octets: string | Buffer): string => createHash("sha256").update(octets).digest("base64");

/** OAEP with SHA-256 and MGF1-SHA1, which node:crypto does not offer. @source RFC 8017 section 7.1.1 */
export function legacyOaep(contentKey: Buffer, recipient: KeyObject): Buffer {
  const size = (recipient.asymmetricKeyDetails?.modulusLength ?? 0) / 8;
  const block = Buffer.concat([
    createHash("sha256").digest(),
    Buffer.alloc(size - 66 - contentKey.length),
    Buffer.from([1]),
    contentKey,
  ]);
  const seed = randomBytes(32);
  const masked = xor(block, mgf1Sha1(seed, block.length));
  const encoded = Buffer.concat([Buffer.from([0]), xor(seed, mgf1Sha1(masked, 32)), masked]);
  return publicEncrypt({ key: recipient, padding: constants.RSA_NO_PADDING }, encoded);
}

export const xor = (left: Buffer, right: Buffer): Buffer =>
  Buffer.from(left.map((octet, index) => octet ^ (right[index] ?? 0)));

export function mgf1Sha1(seed: Buffer, length: number): Buffer {
  const blocks = Array.from({ length: Math.ceil(length / 20) }, (_, count) => {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(count);
    return createHash("sha1").update(seed).update(counter).digest();
  });
  return Buffer.concat(blocks, length);
}
