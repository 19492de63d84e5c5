/** One octet of a recorded message changed, and what is found. */

/** Where one octet is changed, by a text before it, and what is found. */
export const DAMAGE: readonly [string, string, string][] = [
  ["the sender in the header", ">0245:2020202020", "EBMS:0101 digest_mismatch"],
  ["the signature", "<ds:SignatureValue>AA", "EBMS:0101 signature_invalid"],
  ["a digest in SignedInfo", "<ds:DigestValue>AA", "EBMS:0101 signature_invalid"],
  ["the content key", "<xenc:CipherValue>AA", "EBMS:0102 decryption"],
];

/** The message with the octet changed that the text of a row of DAMAGE leads to. */
export function damagedAt(body: Buffer, before: string): Buffer {
  const tag = before.startsWith("<") ? before.slice(0, before.indexOf(">") + 1) : before;
  const at = body.indexOf(tag) + tag.length + (before.startsWith("<") ? 1 : -1);
  const changed = Buffer.from(body);
  changed[at] = changed[at] === 0x41 ? 0x42 : before.startsWith("<") ? 0x41 : 0x31;
  return changed;
}

/** The message with one bit changed in its encrypted part, which is its end. */
export function damagedPart(body: Buffer): Buffer {
  const changed = Buffer.from(body);
  changed[changed.length - 200] = (changed[changed.length - 200] ?? 0) ^ 1;
  return changed;
}
