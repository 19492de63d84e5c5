/**
 * What one exchange leaves for ten years, as bytes: a tar segment with a manifest and the parts that it lists. Batches
 * of segments make an object, which `tar xf` opens without this program.
 * @source design/as4.md section 15
 */
import { createHash } from "node:crypto";

import { isoInstant } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import { hashPieces, sha256InSlices } from "../../base/memory/slices.js";

export const EVIDENCE_FORMAT = "kurier-evidence-1";

/**
 * `outbound`: we sent the message and this is what came back. `inbound`: it was sent to us and this is what we
 * answered.
 */
export type EvidenceDirection = "outbound" | "inbound";

/** One part of a record. `sealed`: `bytes` are what the sealer made of octets with the digest `plainSha256`. */
export interface EvidencePart {
  readonly name: EvidencePartName;
  readonly bytes: Uint8Array;
  /** Of the bytes, hex, where somebody has computed it already. */
  readonly sha256?: string;
  readonly sealed?: { readonly keyId: string; readonly context: string; readonly plainSha256: string };
}

/**
 * request: the HTTP body that was sent, as it was on the wire. payload: the octets that its signature covers (gzip),
 * sealed. answer: the body that answered. signer, recipient, answer-signer: certificates (DER). smp: the metadata that
 * named the endpoint. issuers: the certificates above the peer's up to the root (DER, one behind the other), then those
 * above the receipt's signer when they are others. smp-issuers: the same of the metadata's signer. revocation: what the
 * authority said of the peer's certificate.
 */
export const EVIDENCE_PARTS = [
  "request",
  "payload",
  "answer",
  "signer",
  "recipient",
  "answer-signer",
  "issuers",
  "smp",
  "smp-issuers",
  "revocation",
] as const;
export type EvidencePartName = (typeof EVIDENCE_PARTS)[number];

/** What is known of an exchange beside its bytes. Instants are those of the injected clock. */
export interface ExchangeFacts {
  readonly direction: EvidenceDirection;
  /** Unique; names the folder inside the tar. */
  readonly id: string;
  /** Of transport.ts' OUTCOMES outbound; `stored` or `duplicate` inbound. */
  readonly outcome: string;
  readonly code?: string;
  readonly documentId: string;
  /** Absent for messages of the access point itself. */
  readonly firmId?: string;
  readonly messageId: string;
  readonly instanceId: string;
  readonly sender: string;
  readonly receiver: string;
  readonly documentTypeId: string;
  readonly processId: string;
  readonly attempt?: number;
  /** When the request left or arrived, and when the answer did. */
  readonly requestAt: Instant;
  readonly answerAt?: Instant;
  /** Content headers of the request, which the body cannot be read without. */
  readonly requestContentType: string;
  readonly requestUrl?: string;
  readonly answerStatus?: number;
  readonly answerContentType?: string;
  readonly connection?: {
    readonly address?: string;
    readonly tlsVersion?: string;
    readonly tlsCertificateSha256?: string;
  };
  /** What the PKI said of the peer's certificate at the time: `good`, `unknown`, `not_checked`. */
  readonly revocation?: string;
  /** What an unanswered question meant at the time: REVOCATION of the configuration. */
  readonly revocationPolicy?: "off" | "soft" | "hard";
  /** Where the metadata in the part `smp` came from, and when it was checked. Absent: the operator's own routes. */
  readonly smp?: { readonly url: string; readonly dnsName?: string; readonly fetchedAt: Instant };
  /** Where the authority's answer is when it is an object of its own. */
  readonly revocationObject?: string;
}

export interface EvidenceRecord {
  readonly facts: ExchangeFacts;
  readonly parts: readonly EvidencePart[];
}

interface ManifestPart {
  readonly name: EvidencePartName;
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly sealed?: EvidencePart["sealed"];
}

/** manifest.json of a record. */
export interface Manifest extends ExchangeFacts {
  readonly format: typeof EVIDENCE_FORMAT;
  readonly requestTime: string;
  readonly parts: readonly ManifestPart[];
}

export const sha256Hex = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");

/** The signature of a message in one digest: what its references say, in any order. */
export const referencesDigest = (
  references: readonly { readonly uri: string; readonly digestMethod: string; readonly digest: string }[],
): string =>
  sha256Hex(
    Buffer.from(
      references
        .map(({ uri, digestMethod, digest }) => `${uri} ${digestMethod} ${digest}`)
        .sort()
        .join("\n"),
    ),
  );

const BLOCK = 512;
const padded = (length: number): number => Math.ceil(length / BLOCK) * BLOCK;

/** Ends a tar; one per object, behind its last record. */
export const TAR_END = Buffer.alloc(2 * BLOCK);

const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, "0")}\0`;

/** What is the same in every ustar header; the checksum's place counts as blanks. @source POSIX.1-1988 ustar */
const HEADER = Buffer.alloc(BLOCK);
HEADER.write(octal(0o400, 8), 100, "latin1");
HEADER.write(octal(0, 8), 108, "latin1");
HEADER.write(octal(0, 8), 116, "latin1");
HEADER.write("        0", 148, "latin1");
HEADER.write("ustar\u000000", 257, "latin1");

function sumOf(bytes: Buffer, from: number, to: number): number {
  let sum = 0;
  for (let at = from; at < to; at += 1) sum += bytes[at] ?? 0;
  return sum;
}
const HEADER_SUM = sumOf(HEADER, 0, BLOCK);

/** One file of a tar. */
interface TarEntry {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** Writes the header of a file at a place in a tar. */
function writeTarHeader(tar: Buffer, place: number, { path, bytes }: TarEntry, at: Instant): void {
  HEADER.copy(tar, place);
  const name = tar.write(path, place, 100, "latin1");
  tar.write(octal(bytes.length, 12) + octal(Math.floor(at / 1000), 12), place + 124, "latin1");
  const sum = HEADER_SUM + sumOf(tar, place, place + name) + sumOf(tar, place + 124, place + 148);
  tar.write(`${octal(sum, 7)} `, place + 148, "latin1");
}

/**
 * The files one behind the other. Few octets are one piece, since each piece is a call for every hash that it is part
 * of; many are not copied.
 */
function tarPieces(entries: readonly TarEntry[], at: Instant): readonly Uint8Array[] {
  const length = entries.reduce((sum, { bytes }) => sum + BLOCK + padded(bytes.length), 0);
  if (length > LIMITS.payload_slice_bytes)
    return entries.flatMap((entry) => {
      const header = Buffer.alloc(BLOCK);
      writeTarHeader(header, 0, entry, at);
      return [header, entry.bytes, Buffer.alloc(padded(entry.bytes.length) - entry.bytes.length)];
    });
  const tar = Buffer.alloc(length);
  let place = 0;
  for (const entry of entries) {
    writeTarHeader(tar, place, entry, at);
    tar.set(entry.bytes, place + BLOCK);
    place += BLOCK + padded(entry.bytes.length);
  }
  return [tar];
}

/** A record as a segment of a tar. */
export interface WrittenEvidence {
  /** The segment; the pieces of a large one are the record's parts themselves. */
  readonly pieces: readonly Uint8Array[];
  /** Octets of all pieces. */
  readonly length: number;
  /** Of the segment, hex. */
  readonly recordSha256: string;
  /** Digest, hex, of an object with this segment alone. */
  readonly aloneSha256: string;
  /** Digests of the parts, hex. */
  readonly sha256: ReadonlyMap<EvidencePartName, string>;
}

/** Writes one record. The same record gives the same bytes; the event loop turns while large parts are hashed. */
export async function writeEvidence({ facts, parts }: EvidenceRecord): Promise<WrittenEvidence> {
  const listed: ManifestPart[] = [];
  for (const { name, bytes, sha256, sealed } of parts)
    listed.push({
      name,
      file: `${facts.id}/${name}`,
      bytes: bytes.length,
      sha256: sha256 ?? (bytes.length > LIMITS.payload_slice_bytes ? await sha256InSlices(bytes) : sha256Hex(bytes)),
      ...(sealed === undefined ? {} : { sealed }),
    });
  const manifest: Manifest = {
    format: EVIDENCE_FORMAT,
    ...facts,
    requestTime: isoInstant(facts.requestAt),
    parts: listed,
  };
  const text = Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`);
  const pieces = tarPieces(
    [
      { path: `${facts.id}/manifest.json`, bytes: text },
      ...parts.map(({ name, bytes }) => ({ path: `${facts.id}/${name}`, bytes })),
    ],
    facts.requestAt,
  );
  const hash = await hashPieces(pieces);
  return {
    pieces,
    length: pieces.reduce((sum, piece) => sum + piece.length, 0),
    recordSha256: hash.copy().digest("hex"),
    aloneSha256: hash.update(TAR_END).digest("hex"),
    sha256: new Map(listed.map(({ name, sha256 }) => [name, sha256])),
  };
}

/** Stored evidence is not what was stored. The message names what and where, never content. */
export class EvidenceDamaged extends Error {
  override readonly name = "EvidenceDamaged";
}

export interface ReadEvidence {
  readonly manifest: Manifest;
  /** The parts' bytes as stored: sealed ones are still sealed. */
  readonly parts: ReadonlyMap<EvidencePartName, Buffer>;
}

/**
 * Reads one record and compares every part with its digest in the manifest.
 * @throws EvidenceDamaged
 */
export function readEvidence(segment: Buffer): ReadEvidence {
  const files = new Map<string, Buffer>();
  for (let at = 0; at < segment.length;) {
    const header = segment.subarray(at, at + BLOCK);
    const path = header.toString("latin1", 0, 100).replace(/\0.*$/s, "");
    const length = Number.parseInt(header.toString("latin1", 124, 135), 8);
    if (path === "" || !Number.isInteger(length) || length < 0 || at + BLOCK + length > segment.length)
      throw new EvidenceDamaged("The record is no tar segment.");
    files.set(path, segment.subarray(at + BLOCK, at + BLOCK + length));
    at += BLOCK + padded(length);
  }
  const manifest = readManifest([...files].find(([path]) => path.endsWith("/manifest.json"))?.[1]);
  const parts = new Map<EvidencePartName, Buffer>();
  for (const part of manifest.parts) {
    const bytes = files.get(part.file);
    if (bytes === undefined || bytes.length !== part.bytes || sha256Hex(bytes) !== part.sha256)
      throw new EvidenceDamaged(`The part ${part.name} is not what the manifest lists.`);
    parts.set(part.name, bytes);
  }
  if (files.size !== parts.size + 1) throw new EvidenceDamaged("The record has parts that its manifest does not list.");
  return { manifest, parts };
}

function readManifest(bytes: Buffer | undefined): Manifest {
  try {
    const manifest = JSON.parse(bytes?.toString("utf8") ?? "") as Partial<Manifest>;
    if (manifest.format === EVIDENCE_FORMAT && Array.isArray(manifest.parts)) return manifest as Manifest;
  } catch {
    // Said below.
  }
  throw new EvidenceDamaged("The record has no manifest that can be read.");
}
