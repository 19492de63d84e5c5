/** Encryption at rest: AES-256-GCM under a master key, or a firm's; its id is stored beside each sealed value. */
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync } from "node:crypto";
import type { CipherGCM, DecipherGCM } from "node:crypto";

import { randomOctets } from "../base/ids.js";
import type { FirmId } from "../base/ids.js";
import { freeOctets } from "../base/memory/release.js";
import { inSlices } from "../base/memory/slices.js";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Of a digest: two texts of a tenant meet by chance once in 10^19. */
const DIGEST_BYTES = 16;

/** A value was sealed under a key that is not given here; nothing says that it is damaged. */
export class KeyMissing extends Error {
  override readonly name = "KeyMissing";
  readonly keyId: string;
  constructor(keyId: string) {
    super(
      keyId.startsWith(FIRM_KEY_PREFIX)
        ? "sealed under the key of a firm, and FIRM_KEYS is not set"
        : "sealed under a master key that is not configured",
    );
    this.keyId = keyId;
  }
}

export interface Sealer {
  /** Id of the key that `seal` uses. */
  readonly keyId: string;
  /**
   * Encrypts; the result is nonce ‖ ciphertext ‖ tag.
   * @param context what the value belongs to (a table and an id); opening under another context fails
   */
  seal(plain: Uint8Array, context: string): Buffer;
  /**
   * Decrypts what `seal` made.
   * @throws KeyMissing when the key is unknown; Error when the bytes or their context are not those that were sealed
   */
  open(keyId: string, sealed: Uint8Array, context: string): Buffer;
  /**
   * A digest of a text that nobody makes or tries without the key. It stays the same when the key that seals changes.
   * @param context  what the text belongs to: equal texts of others have other digests
   * @returns 22 characters
   */
  digest(text: string, context: string): string;
  /** The same for large values: the event loop turns in between. The bytes must not change until it resolves. */
  sealInSlices(plain: Uint8Array, context: string): Promise<Buffer>;
  /** The same for large values: the event loop turns in between. @throws Error as `open` does */
  openInSlices(keyId: string, sealed: Uint8Array, context: string): Promise<Buffer>;
  /** Whether what belongs to a firm is sealed under a key of its own. */
  readonly isByFirm: boolean;
  /**
   * Who seals what belongs to a firm: under a key of its own where firms have keys, else under the master key. It opens
   * and digests as this one does.
   * @param firmId  undefined for what belongs to no firm
   * @throws FirmKeyGone when the firm was erased; Error when the directory of keys is away
   */
  forFirm(firmId: FirmId | undefined): Promise<Sealer>;
}

/** How the ids of firms' keys begin; the rest is the firm's id. Those of master keys are hex digits. */
export const FIRM_KEY_PREFIX = "firm:";

/** The first 16 hex digits of the key's SHA-256: names a key without telling anything of it. */
const idOf = (key: Uint8Array): string =>
  createHash("sha256").update("kurier master key id").update(key).digest("hex").slice(0, 16);

/** What one key seals and opens; the key is never asked for again. */
export interface KeyBox {
  /** As Sealer.seal. */
  seal(plain: Uint8Array, context: string): Buffer;
  /** As Sealer.sealInSlices. */
  sealInSlices(plain: Uint8Array, context: string): Promise<Buffer>;
  /** As Sealer.open. @throws Error when the bytes or their context are not those that were sealed */
  open(sealed: Uint8Array, context: string): Buffer;
  /** As Sealer.openInSlices. @throws Error as `open` does */
  openInSlices(sealed: Uint8Array, context: string): Promise<Buffer>;
}

/** @param root  32 bytes, of which the key of the cipher is derived */
export function boxOf(root: Uint8Array): KeyBox {
  const key = Buffer.from(hkdfSync("sha256", root, "", "kurier payload encryption", 32));
  return {
    seal: (plain, context) => {
      const { nonce, cipher } = sealing(key, context);
      return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    open: (sealed, context) => {
      const { decipher, ciphertext } = opening(key, sealed, context);
      return Buffer.concat([decipher.update(ciphertext), decipher.final()]);
    },
    sealInSlices: async (plain, context) => {
      const { nonce, cipher } = sealing(key, context);
      const sealed = Buffer.allocUnsafeSlow(NONCE_BYTES + plain.length + TAG_BYTES);
      sealed.set(nonce);
      await writeSlices(sealed, NONCE_BYTES, plain, cipher);
      sealed.set(cipher.getAuthTag(), NONCE_BYTES + plain.length);
      return sealed;
    },
    openInSlices: async (sealed, context) => {
      const { decipher, ciphertext } = opening(key, sealed, context);
      const plain = Buffer.allocUnsafeSlow(ciphertext.length);
      await writeSlices(plain, 0, ciphertext, decipher);
      return plain;
    },
  };
}

/**
 * @param master 32 bytes; the first key seals, every key opens, so that a rotation can be read while it lasts
 * @param digesting  the key of digests. @default the last of the others
 */
export function createSealer(
  master: readonly [Uint8Array, ...Uint8Array[]],
  digesting: Uint8Array = master.at(-1) ?? master[0],
): Sealer {
  const digestKey = Buffer.from(hkdfSync("sha256", digesting, "", "kurier digests", 32));
  const boxes = master.map((key) => ({ id: idOf(key), box: boxOf(key) }));
  const [current] = boxes;
  if (current === undefined) throw new Error("a sealer needs a key");
  const boxNamed = (keyId: string): KeyBox => {
    const found = boxes.find(({ id }) => id === keyId);
    if (found !== undefined) return found.box;
    throw new KeyMissing(keyId);
  };
  const sealer: Sealer = {
    keyId: current.id,
    digest: (text, context) =>
      createHmac("sha256", digestKey)
        .update(context)
        .update("\0")
        .update(text)
        .digest()
        .subarray(0, DIGEST_BYTES)
        .toString("base64url"),
    seal: (plain, context) => current.box.seal(plain, context),
    sealInSlices: (plain, context) => current.box.sealInSlices(plain, context),
    open: (keyId, sealed, context) => boxNamed(keyId).open(sealed, context),
    openInSlices: async (keyId, sealed, context) => boxNamed(keyId).openInSlices(sealed, context),
    isByFirm: false,
    forFirm: () => Promise.resolve(sealer),
  };
  return sealer;
}

function sealing(key: Buffer, context: string): { readonly nonce: Uint8Array; readonly cipher: CipherGCM } {
  const nonce = randomOctets(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  cipher.setAAD(Buffer.from(context));
  return { nonce, cipher };
}

function opening(
  key: Buffer,
  sealed: Uint8Array,
  context: string,
): { readonly decipher: DecipherGCM; readonly ciphertext: Buffer } {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES));
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
  return { decipher, ciphertext: bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES) };
}

/**
 * Writes what the cipher makes of `input` into `output`. @throws Error when a decipher finds that it was not sealed so
 */
async function writeSlices(
  output: Buffer,
  from: number,
  input: Uint8Array,
  cipher: CipherGCM | DecipherGCM,
): Promise<void> {
  let at = from;
  await inSlices(input, (slice) => {
    const made = cipher.update(slice);
    output.set(made, at);
    at += made.length;
    freeOctets(made);
  });
  cipher.final();
}
