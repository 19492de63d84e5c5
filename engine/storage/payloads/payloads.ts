/**
 * A payload's stored form: gzip, then AES-256-GCM with the document's id as its context. gzip runs beside the event
 * loop where the payload is larger than a thread is worth, and AES in slices; see LIMITS.payload_inline_bytes.
 */
import { promisify } from "node:util";
import { constants, gunzip, gunzipSync, gzip, gzipSync } from "node:zlib";

import { LIMITS } from "../../base/limits.js";
import type { Sealer } from "../sealer.js";
import { freeOctets } from "../../base/memory/release.js";
import { sha256InSlices } from "../../base/memory/slices.js";

const gzipBeside = promisify<Uint8Array, object, Buffer>(gzip);
const gunzipBeside = promisify<Uint8Array, object, Buffer>(gunzip);

/** gzip behind its octets says how long they were. */
const LENGTH_BYTES = 4;

/** How long a payload is that we have compressed. */
const plainLength = (compressed: Buffer): number =>
  compressed.length < LENGTH_BYTES ? 0 : compressed.readUInt32LE(compressed.length - LENGTH_BYTES);

/** gzip at the level of stored payloads. */
const compressPayload = async (payload: Uint8Array): Promise<Buffer> =>
  payload.length <= LIMITS.payload_inline_bytes
    ? gzipSync(payload, { level: LIMITS.payload_gzip_level })
    : gzipBeside(payload, { level: LIMITS.payload_gzip_level, chunkSize: LIMITS.zlib_piece_bytes });

/** @throws Error for what is no gzip, or longer than any payload may be */
async function decompressPayload(compressed: Buffer): Promise<Buffer> {
  const length = plainLength(compressed);
  const maxOutputLength = LIMITS.as4_payload_bytes_max;
  if (length <= LIMITS.payload_inline_bytes) return gunzipSync(compressed, { maxOutputLength });
  // One piece of the right size: pieces would be put together by a copy of the whole.
  const chunkSize = Math.max(constants.Z_MIN_CHUNK, Math.min(length, maxOutputLength) + 1);
  return gunzipBeside(compressed, { maxOutputLength, chunkSize });
}

/**
 * Seals what `compressPayload` or a worker has compressed.
 * @param id  of the row that the payload belongs to
 * @throws Error where there are no octets: gzip makes some of nothing, so that these were given back before
 */
export async function sealCompressed(sealer: Sealer, id: string, compressed: Uint8Array): Promise<Buffer> {
  if (compressed.length === 0) throw new Error("a payload is to be sealed whose octets were given back");
  return sealer.sealInSlices(compressed, id);
}

/** Compresses and seals the exact bytes of a payload. @param id  of the row that it belongs to */
export async function sealPayload(sealer: Sealer, id: string, payload: Uint8Array): Promise<Buffer> {
  const compressed = await compressPayload(payload);
  const sealed = await sealCompressed(sealer, id, compressed);
  freeOctets(compressed);
  return sealed;
}

/**
 * What is stored of a payload that nobody has hashed or compressed yet; the thread compresses while the loop hashes.
 */
export async function packPayload(
  sealer: Sealer,
  id: string,
  payload: Uint8Array,
): Promise<{ readonly sha256: string; readonly sealed: Buffer }> {
  const [sha256, sealed] = await Promise.all([sha256InSlices(payload), sealPayload(sealer, id, payload)]);
  return { sha256, sealed };
}

/**
 * The exact bytes that were sealed.
 * @throws Error when the key is unknown, or the bytes or their id are not those that were sealed
 */
export async function openPayload(sealer: Sealer, id: string, keyId: string, sealed: Uint8Array): Promise<Buffer> {
  const compressed = await sealer.openInSlices(keyId, sealed, id);
  const payload = await decompressPayload(compressed);
  freeOctets(compressed);
  return payload;
}

/** The same where the digest of the bytes is stored, too. @throws Error as well where they have another one */
export async function openDigested(
  sealer: Sealer,
  id: string,
  stored: { readonly payloadKeyId: string; readonly payloadSealed: Uint8Array; readonly payloadSha256: string },
): Promise<Buffer> {
  const payload = await openPayload(sealer, id, stored.payloadKeyId, stored.payloadSealed);
  if ((await sha256InSlices(payload)) !== stored.payloadSha256)
    throw new Error("the stored payload differs from its digest");
  return payload;
}
