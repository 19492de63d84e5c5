/**
 * RSA-OAEP. The form Peppol requires (SHA-256 in digest and MGF) is native to node:crypto; the legacy form with
 * MGF1-SHA1 is decoded here over raw RSA, without a branch that depends on the plaintext.
 * @source RFC 8017 section 7.1; design/as4.md section 16
 */
import { constants, createHash, privateDecrypt, publicEncrypt } from "node:crypto";
import type { KeyObject } from "node:crypto";
import type { KeyTransport } from "../names.js";

/** Encrypts a content key to a certificate, SHA-256 in digest and MGF. */
export const encryptContentKey = (key: KeyObject, contentKey: Uint8Array): Buffer =>
  publicEncrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha256" }, contentKey);

/**
 * Decrypts a content key of known length.
 * @returns undefined on any failure; the caller must go on with a random key, so that the time does not tell.
 */
export function decryptContentKey(
  key: KeyObject,
  transport: KeyTransport,
  sealed: Uint8Array,
  length: number,
): Buffer | undefined {
  try {
    const content =
      transport.oaepHash === transport.mgfHash
        ? privateDecrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: transport.oaepHash }, sealed)
        : unpad(privateDecrypt({ key, padding: constants.RSA_NO_PADDING }, sealed), transport, length);
    return content?.length === length ? content : undefined;
  } catch {
    return undefined;
  }
}

/**
 * EME-OAEP decoding for an empty label. The message length is known, so the position of the 0x01 separator is fixed
 * and one comparison over all padding octets decides.
 */
function unpad(encoded: Buffer, transport: KeyTransport, length: number): Buffer | undefined {
  const empty = createHash(transport.oaepHash).digest();
  const hashLength = empty.length;
  const block = encoded.subarray(1 + hashLength);
  const separator = block.length - length - 1;
  if (separator < hashLength) return undefined;
  const seed = xor(encoded.subarray(1, 1 + hashLength), mgf1(block, hashLength, transport.mgfHash));
  const data = xor(block, mgf1(seed, block.length, transport.mgfHash));

  let difference = encoded[0] ?? 1;
  for (let index = 0; index < separator; index += 1) {
    difference |= (data[index] ?? 1) ^ (index < hashLength ? (empty[index] ?? 0) : 0);
  }
  difference |= (data[separator] ?? 0) ^ 1;
  return difference === 0 ? data.subarray(separator + 1) : undefined;
}

function mgf1(seed: Uint8Array, length: number, hash: string): Buffer {
  const blocks: Buffer[] = [];
  const counter = Buffer.alloc(4);
  for (let size = 0, count = 0; size < length; count += 1) {
    counter.writeUInt32BE(count);
    const block = createHash(hash).update(seed).update(counter).digest();
    blocks.push(block);
    size += block.length;
  }
  return Buffer.concat(blocks, length);
}

function xor(left: Uint8Array, right: Uint8Array): Buffer {
  const result = Buffer.alloc(left.length);
  for (let index = 0; index < left.length; index += 1) result[index] = (left[index] ?? 0) ^ (right[index] ?? 0);
  return result;
}
