/** Goal: the hand-written OAEP decoding gives the key for a right padding, and nothing for any other. @source RFC 8017 section 7.1.2 */
import { constants, createHash, createPublicKey, generateKeyPairSync, publicEncrypt, randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { LEGACY_KEY_TRANSPORTS, PEPPOL_KEY_TRANSPORT } from "../../../../validators/wss/names.js";
import type { KeyTransport } from "../../../../validators/wss/names.js";
import { decryptContentKey, encryptContentKey } from "../../../../validators/wss/coding/oaep.js";
import { legacyOaep, mgf1Sha1, xor } from "../../../support/as4/as4-forge.js";

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const publicKey = createPublicKey(privateKey);
const LEGACY = LEGACY_KEY_TRANSPORTS[0] as KeyTransport;
const key = randomBytes(16);

/** Encrypts a data block `hash ‖ padding ‖ 01 ‖ key` after an edit, below a first octet. */
function sealed(edit: (block: Buffer) => void, first = 0): Buffer {
  const block = Buffer.concat([
    createHash("sha256").digest(),
    Buffer.alloc(256 - 66 - key.length),
    Buffer.from([1]),
    key,
  ]);
  edit(block);
  const seed = randomBytes(32);
  const masked = xor(block, mgf1Sha1(seed, block.length));
  const encoded = Buffer.concat([Buffer.from([first]), xor(seed, mgf1Sha1(masked, 32)), masked]);
  return publicEncrypt({ key: publicKey, padding: constants.RSA_NO_PADDING }, encoded);
}

test("a right padding gives the key, in the legacy form and in Peppol's", () => {
  expect(decryptContentKey(privateKey, LEGACY, legacyOaep(key, publicKey), 16)).toEqual(key);
  expect(
    decryptContentKey(
      privateKey,
      LEGACY,
      sealed(() => undefined),
      16,
    ),
  ).toEqual(key);
  expect(decryptContentKey(privateKey, PEPPOL_KEY_TRANSPORT, encryptContentKey(publicKey, key), 16)).toEqual(key);
});

test("every octet of the padding counts", () => {
  for (let at = 0; at < 256 - 33 - key.length; at += 1) {
    expect(
      decryptContentKey(
        privateKey,
        LEGACY,
        sealed((block) => block.writeUInt8(block.readUInt8(at) ^ 0x40, at)),
        16,
      ),
      `octet ${at}`,
    ).toBeUndefined();
  }
  expect(
    decryptContentKey(
      privateKey,
      LEGACY,
      sealed(() => undefined, 1),
      16,
    ),
  ).toBeUndefined();
});

test("a key of another length, another form, or no RSA block at all gives nothing", () => {
  for (const length of [15, 17])
    expect(decryptContentKey(privateKey, LEGACY, legacyOaep(randomBytes(length), publicKey), 16)).toBeUndefined();
  for (const length of [15, 17])
    expect(
      decryptContentKey(privateKey, PEPPOL_KEY_TRANSPORT, encryptContentKey(publicKey, randomBytes(length)), 16),
    ).toBeUndefined();
  expect(decryptContentKey(privateKey, LEGACY, encryptContentKey(publicKey, key), 16)).toBeUndefined();
  expect(decryptContentKey(privateKey, PEPPOL_KEY_TRANSPORT, legacyOaep(key, publicKey), 16)).toBeUndefined();
  for (const bytes of [Buffer.alloc(0), Buffer.alloc(255), Buffer.alloc(257), Buffer.alloc(256, 0xff)]) {
    expect(decryptContentKey(privateKey, LEGACY, bytes, 16)).toBeUndefined();
  }
});
