/** gzip with a cap on the output and no octet left over. */
import { constants, gunzipSync, gzipSync } from "node:zlib";

/**
 * Pieces in which zlib gives out what is large. Its own of 16 KiB would be a thousand for a large payload, and stay
 * with the allocator of C, which gives back single blocks of 128 KiB and more and the end of the rest.
 */
const PIECE_BYTES = 262_144;
/** Input of so many octets makes more than a few pieces of zlib's own. */
const LARGE_BYTES = 65_536;

const piecesFor = (bytes: Uint8Array): number => (bytes.length < LARGE_BYTES ? constants.Z_DEFAULT_CHUNK : PIECE_BYTES);

/** @param level  of zlib. @default 6; 12 KB of XML take 0.2 ms */
export const compress = (bytes: Uint8Array, level: number = constants.Z_DEFAULT_COMPRESSION): Buffer =>
  gzipSync(bytes, { level, chunkSize: piecesFor(bytes) });

/**
 * @param bytesMax  cap of the output, octets; exactly that many are accepted.
 * @returns undefined when the input is no gzip, the output exceeds the cap, or octets follow the last member.
 */
export function decompress(bytes: Uint8Array, bytesMax: number): Buffer | undefined {
  try {
    // `info` makes zlib say how much input it used; without it trailing octets vanish in silence.
    const result: unknown = gunzipSync(bytes, {
      ...{ maxOutputLength: Math.max(1, bytesMax), info: true, chunkSize: piecesFor(bytes) },
    });
    if (!hasInfo(result) || result.engine.bytesWritten !== bytes.length) return undefined;
    return result.buffer.length <= bytesMax ? result.buffer : undefined;
  } catch {
    return undefined;
  }
}

interface GunzipInfo {
  readonly buffer: Buffer;
  readonly engine: { readonly bytesWritten: number };
}

const hasInfo = (value: unknown): value is GunzipInfo =>
  typeof value === "object" &&
  value !== null &&
  "buffer" in value &&
  Buffer.isBuffer(value.buffer) &&
  "engine" in value;
