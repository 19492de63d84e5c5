/**
 * The encrypted parts of a message: reading xenc:EncryptedKey and xenc:EncryptedData, and AES-128-GCM.
 * @source design/as4.md section 5
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { attributeOf, childElements, childrenNamed, onlyChild, textOf } from "../xml/tree.js";
import type { XmlElement } from "../xml/tree.js";
import { decodeBase64 } from "./coding/base64.js";
import { ALG, NS, WSS_URI } from "./names.js";
import type { KeyTransport } from "./names.js";
import { decryptContentKey } from "./coding/oaep.js";
import type { Attachment } from "./protocol.js";
import { onlyTokenReference } from "./signature-info.js";
import { isXml } from "./part-content.js";
import { cidOf } from "./verify.js";

export const CONTENT_KEY_BYTES = 16;
const IV_BYTES = 12;
const TAG_BYTES = 16;

export interface Encryption {
  readonly transport: KeyTransport;
  readonly sealedKey: Buffer;
  /** KeyInfo of the EncryptedKey: names the certificate the message was encrypted to. */
  readonly keyInfo: XmlElement;
  /** Content-IDs of the encrypted parts, decoded, each once. */
  readonly cids: string[];
  /**
   * Those of them whose EncryptedData names a media type of XML. Not signed: it chooses how a digest is computed, no
   * more.
   */
  readonly xmlCids: ReadonlySet<string>;
}

/** Reads the one EncryptedKey and its EncryptedData elements; undefined when their structure is not the agreed one. */
export function readEncryption(
  security: XmlElement,
  transports: readonly KeyTransport[],
): Encryption | "encryption_missing" | "encryption_structure" {
  const keys = childrenNamed(security, NS.xenc, "EncryptedKey");
  const data = childrenNamed(security, NS.xenc, "EncryptedData");
  const [key, ...more] = keys;
  if (key === undefined && data.length === 0) return "encryption_missing";
  if (key === undefined || more.length > 0) return "encryption_structure";
  const transport = readTransport(key, transports);
  const keyInfo = onlyChild(key, NS.ds, "KeyInfo");
  const sealedKey = cipherValue(key);
  const listed = referenceList(key);
  if (transport === undefined || keyInfo === undefined || sealedKey === undefined || listed === undefined)
    return "encryption_structure";

  const keyId = attributeOf(key, "Id");
  const cids = data.map((element) => readEncryptedData(element, keyId));
  const ids = new Set(data.map((element) => attributeOf(element, "Id")));
  const complete = cids.every((cid) => cid !== undefined) && new Set(cids).size === cids.length;
  if (!complete || ids.size !== listed.length || !listed.every((id) => ids.has(id))) return "encryption_structure";
  const xmlCids = new Set(
    data.flatMap((element, index) => (isXml(attributeOf(element, "MimeType")) ? (cids[index] ?? []) : [])),
  );
  return { transport, sealedKey, keyInfo, cids: cids.filter((cid) => cid !== undefined), xmlCids };
}

/**
 * Decrypts every part. A key that cannot be unpadded is replaced by a random one: the message then fails where one
 * with a wrong tag fails, and neither the answer nor its time tells which it was.
 * @returns undefined on any failure, without a reason.
 */
export function decryptParts(
  encryption: Encryption,
  attachments: readonly Attachment[],
  key: KeyObject,
): Map<string, Buffer> | undefined {
  const contentKey = decryptContentKey(key, encryption.transport, encryption.sealedKey, CONTENT_KEY_BYTES);
  const used = contentKey ?? randomBytes(CONTENT_KEY_BYTES);
  const parts = new Map<string, Buffer>();
  for (const { cid, bytes } of attachments) {
    const plain = encryption.cids.includes(cid) ? open(used, bytes) : undefined;
    if (plain !== undefined) parts.set(cid, plain);
  }
  return contentKey !== undefined && parts.size === attachments.length ? parts : undefined;
}

/** IV, ciphertext and tag in one. */
export function encryptPart(contentKey: Uint8Array, plain: Uint8Array): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv("aes-128-gcm", contentKey, iv);
  return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

function open(contentKey: Uint8Array, sealed: Uint8Array): Buffer | undefined {
  if (sealed.length < IV_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv("aes-128-gcm", contentKey, sealed.subarray(0, IV_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
  } catch {
    return undefined;
  }
}

/** The row of the table that the EncryptionMethod spells; a label (OAEPParams) or another child is in no row. */
function readTransport(key: XmlElement, transports: readonly KeyTransport[]): KeyTransport | undefined {
  const method = onlyChild(key, NS.xenc, "EncryptionMethod");
  if (method === undefined) return undefined;
  const digest = onlyChild(method, NS.ds, "DigestMethod");
  const mgf = onlyChild(method, NS.xenc11, "MGF");
  const known = [digest, mgf].filter((child) => child !== undefined);
  if (childElements(method).length !== known.length) return undefined;
  return transports.find(
    (row) =>
      row.method === attributeOf(method, "Algorithm") &&
      row.digest === (digest && attributeOf(digest, "Algorithm")) &&
      row.mgf === (mgf && attributeOf(mgf, "Algorithm")),
  );
}

function cipherValue(key: XmlElement): Buffer | undefined {
  const data = onlyChild(key, NS.xenc, "CipherData");
  const value = data === undefined ? undefined : onlyChild(data, NS.xenc, "CipherValue");
  const text = value === undefined ? undefined : textOf(value);
  return text === undefined ? undefined : decodeBase64(text);
}

/** The ids of the EncryptedData elements the key is for. */
function referenceList(key: XmlElement): string[] | undefined {
  const list = onlyChild(key, NS.xenc, "ReferenceList");
  if (list === undefined) return undefined;
  const uris = childrenNamed(list, NS.xenc, "DataReference").map((reference) => attributeOf(reference, "URI"));
  const ids = uris.map((uri) => (uri?.startsWith("#") === true ? uri.slice(1) : undefined));
  return ids.every((id) => id !== undefined) ? ids.filter((id) => id !== undefined) : undefined;
}

/** The decoded Content-ID of an EncryptedData of the SwA kind under AES-128-GCM. */
function readEncryptedData(data: XmlElement, keyId: string | undefined): string | undefined {
  const method = onlyChild(data, NS.xenc, "EncryptionMethod");
  if (attributeOf(data, "Type") !== WSS_URI.attachmentOnly || attributeOf(data, "Id") === undefined) return undefined;
  if (method === undefined || attributeOf(method, "Algorithm") !== ALG.aes128Gcm) return undefined;
  if (!namesKey(data, keyId)) return undefined;
  const cipher = onlyChild(data, NS.xenc, "CipherData");
  const reference = cipher === undefined ? undefined : onlyChild(cipher, NS.xenc, "CipherReference");
  const transforms = reference === undefined ? undefined : onlyChild(reference, NS.xenc, "Transforms");
  const [transform, ...more] = transforms === undefined ? [] : childElements(transforms);
  if (reference === undefined || transform === undefined || more.length > 0) return undefined;
  if (transform.ns !== NS.ds || attributeOf(transform, "Algorithm") !== WSS_URI.ciphertextTransform) return undefined;
  return cidOf(attributeOf(reference, "URI") ?? "")?.slice("cid:".length);
}

/** KeyInfo may be left out, since the key's ReferenceList says the same; when present it names this EncryptedKey. */
function namesKey(data: XmlElement, keyId: string | undefined): boolean {
  const keyInfo = onlyChild(data, NS.ds, "KeyInfo");
  if (keyInfo === undefined) return true;
  const reference = onlyTokenReference(keyInfo);
  return reference !== undefined && keyId !== undefined && attributeOf(reference, "URI") === `#${keyId}`;
}
