/**
 * Reads a ZIP archive: the central directory, stored and deflated entries, checksums. Bounded in every direction, since
 * an archive says itself how large it will be.
 * @source PKWARE APPNOTE 6.3, sections 4.3.7, 4.3.12, 4.3.16
 */
import { crc32, inflateRawSync } from "node:zlib";

export type ZipLimits = { readonly entries: number; readonly bytes: number };

/** An archive that cannot be read, or that is refused. */
export class ZipError extends Error {
  constructor(problem: string) {
    super(`the ZIP archive ${problem}`);
    this.name = "ZipError";
  }
}

const END_SIGNATURE = 0x06054b50;
const ENTRY_SIGNATURE = 0x02014b50;
const LOCAL_SIGNATURE = 0x04034b50;
const END_LENGTH = 22;
const COMMENT_MAX = 0xffff;

type Entry = {
  readonly name: string;
  readonly flags: number;
  readonly method: number;
  readonly checksum: number;
  readonly packed: number;
  readonly size: number;
  readonly offset: number;
};

/**
 * The files of an archive, folders left out, in the order of its directory.
 * @param wanted  names to read; others are neither unpacked nor counted
 * @throws ZipError when the archive is damaged, encrypted, too large, or names a file outside of itself
 */
export function readZip(
  bytes: Buffer,
  limits: ZipLimits,
  wanted: (name: string) => boolean,
): { readonly name: string; readonly bytes: Buffer }[] {
  const entries = readDirectory(bytes, limits.entries).filter(({ name }) => !name.endsWith("/") && wanted(name));
  let left = limits.bytes;
  return entries.map((entry) => {
    const content = unpack(bytes, entry, left);
    left -= content.length;
    return { name: entry.name, bytes: content };
  });
}

function readDirectory(bytes: Buffer, entriesMax: number): Entry[] {
  const end = findEnd(bytes);
  const count = bytes.readUInt16LE(end + 10);
  let at = bytes.readUInt32LE(end + 16);
  if (count === 0xffff || at === 0xffffffff) throw new ZipError("is in the ZIP64 format, which is not supported");
  if (count > entriesMax) throw new ZipError(`has more than ${entriesMax} entries`);
  const entries: Entry[] = [];
  for (let i = 0; i < count; i++) {
    if (at + 46 > bytes.length || bytes.readUInt32LE(at) !== ENTRY_SIGNATURE)
      throw new ZipError("has a damaged directory");
    const nameLength = bytes.readUInt16LE(at + 28);
    const name = bytes.toString("utf8", at + 46, at + 46 + nameLength);
    if (isUnsafe(name)) throw new ZipError("names a file outside of itself");
    entries.push({
      name,
      flags: bytes.readUInt16LE(at + 8),
      method: bytes.readUInt16LE(at + 10),
      checksum: bytes.readUInt32LE(at + 16),
      packed: bytes.readUInt32LE(at + 20),
      size: bytes.readUInt32LE(at + 24),
      offset: bytes.readUInt32LE(at + 42),
    });
    at += 46 + nameLength + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  return entries;
}

/** The end record stands at the end, before a comment of up to 64 KB. */
function findEnd(bytes: Buffer): number {
  for (let at = bytes.length - END_LENGTH; at >= Math.max(0, bytes.length - END_LENGTH - COMMENT_MAX); at--) {
    if (bytes.readUInt32LE(at) === END_SIGNATURE && at + END_LENGTH + bytes.readUInt16LE(at + 20) === bytes.length)
      return at;
  }
  throw new ZipError("has no directory");
}

const isUnsafe = (name: string): boolean =>
  name.startsWith("/") ||
  name.includes("\\") ||
  name.includes("\0") ||
  /^[A-Za-z]:/.test(name) ||
  name.split("/").includes("..");

function unpack(bytes: Buffer, entry: Entry, left: number): Buffer {
  if ((entry.flags & 1) !== 0) throw new ZipError("is encrypted");
  if (entry.size > left) throw new ZipError("is too large when unpacked");
  const { offset } = entry;
  if (offset + 30 > bytes.length || bytes.readUInt32LE(offset) !== LOCAL_SIGNATURE)
    throw new ZipError("has a damaged entry");
  const start = offset + 30 + bytes.readUInt16LE(offset + 26) + bytes.readUInt16LE(offset + 28);
  if (start + entry.packed > bytes.length) throw new ZipError("has a damaged entry");
  const content = inflate(bytes.subarray(start, start + entry.packed), entry);
  if (content.length !== entry.size || crc32(content) !== entry.checksum)
    throw new ZipError("has an entry with a wrong checksum");
  return content;
}

function inflate(packed: Buffer, { method, size }: Entry): Buffer {
  if (method === 0) return packed;
  if (method !== 8) throw new ZipError("uses a compression that is not supported");
  try {
    return inflateRawSync(packed, { maxOutputLength: Math.max(size, 1) });
  } catch {
    throw new ZipError("has a damaged entry");
  }
}
