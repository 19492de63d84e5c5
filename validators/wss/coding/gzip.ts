/** gzip with a cap on the output and no octet left over. */
import { gunzipSync, gzipSync } from "node:zlib";

/** Level 6 of zlib; 12 KB of XML take 0.2 ms. */
export const compress = (bytes: Uint8Array): Buffer => gzipSync(bytes);

/**
 * @param bytesMax  cap of the output, octets; exactly that many are accepted.
 * @returns undefined when the input is no gzip, the output exceeds the cap, or octets follow the last member.
 */
export function decompress(bytes: Uint8Array, bytesMax: number): Buffer | undefined {
  try {
    // `info` makes zlib say how much input it used; without it trailing octets vanish in silence.
    const result: unknown = gunzipSync(bytes, { maxOutputLength: Math.max(1, bytesMax), info: true });
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
