/**
 * How private keys reach the workers: never in clear.
 *
 * 1. The main thread draws one random 256-bit wrapping key per process into a SharedArrayBuffer and leaves it in the
 *    environment data of `node:worker_threads` (`provideWrappingKey`, before the pool starts). Every worker, also one
 *    that replaces a dead one, inherits it at its start. It is never part of a task.
 * 2. A task carries the key as PKCS#8 under AES-256-GCM with the public key's fingerprint as additional data
 *    (`wrapPrivateKey`), so a blob cannot be passed off as another key. A captured task, a queue dump, or a heap
 *    snapshot of a serialised message holds no usable key.
 * 3. A worker unwraps once per fingerprint and keeps the KeyObject, which holds the key outside the JavaScript heap
 *    (`unwrapPrivateKey`). The decrypted octets are overwritten at once. A new key after a roll-over is a new
 *    fingerprint: no restart, no message to the workers.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPrivateKey,
  createPublicKey,
  randomBytes,
} from "node:crypto";
import type { KeyObject } from "node:crypto";
import { getEnvironmentData, setEnvironmentData } from "node:worker_threads";
import type { WrappedKey } from "./protocol.js";

const SLOT = "kurier.wrapping_key";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Current and previous key of a few environments; the oldest leaves. */
const CACHE_KEYS_MAX = 32;

const cache = new Map<string, KeyObject>();

/** Draws the wrapping key of this process if there is none yet. Main thread, before the first worker starts. */
export function provideWrappingKey(): void {
  if (getEnvironmentData(SLOT) instanceof SharedArrayBuffer) return;
  const shared = new SharedArrayBuffer(32);
  new Uint8Array(shared).set(randomBytes(32));
  setEnvironmentData(SLOT, shared);
}

/** SHA-256 of the public half, hex. */
const keyFingerprint = (key: KeyObject): string =>
  createHash("sha256")
    .update(createPublicKey(key).export({ type: "spki", format: "der" }))
    .digest("hex");

/**
 * Wraps a private key for a task.
 * @param key  a private KeyObject, or PEM.
 * @throws Error when the key cannot be read, or is no RSA key.
 */
export function wrapPrivateKey(key: KeyObject | string): WrappedKey {
  provideWrappingKey();
  const object = typeof key === "string" ? createPrivateKey(key) : key;
  if (object.asymmetricKeyType !== "rsa") throw new Error("an access point key must be an RSA key");
  const fingerprint = keyFingerprint(object);
  const plain = object.export({ type: "pkcs8", format: "der" });
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", wrappingKey(), nonce).setAAD(Buffer.from(fingerprint));
  const sealed = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  plain.fill(0);
  return { fingerprint, nonce, sealed };
}

/**
 * The key of a task, from the cache of this thread when it was seen before.
 * @throws Error when the blob was not made by this process or was changed.
 */
export function unwrapPrivateKey(wrapped: WrappedKey): KeyObject {
  const known = cache.get(wrapped.fingerprint);
  if (known !== undefined) return known;
  const body = Buffer.from(wrapped.sealed.subarray(0, -TAG_BYTES));
  const decipher = createDecipheriv("aes-256-gcm", wrappingKey(), wrapped.nonce)
    .setAAD(Buffer.from(wrapped.fingerprint))
    .setAuthTag(wrapped.sealed.subarray(-TAG_BYTES));
  const plain = Buffer.concat([decipher.update(body), decipher.final()]);
  const key = createPrivateKey({ key: plain, format: "der", type: "pkcs8" });
  plain.fill(0);
  const oldest = cache.keys().next();
  if (cache.size >= CACHE_KEYS_MAX && oldest.done !== true) cache.delete(oldest.value);
  cache.set(wrapped.fingerprint, key);
  return key;
}

function wrappingKey(): Uint8Array {
  const shared = getEnvironmentData(SLOT);
  if (!(shared instanceof SharedArrayBuffer))
    throw new Error("this thread has no wrapping key: call provideWrappingKey before the pool starts");
  return new Uint8Array(shared);
}
