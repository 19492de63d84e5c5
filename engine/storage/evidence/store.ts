/**
 * Where evidence objects live: written once under their own digest, read whole or in part, never deleted before their
 * time. Two forms, one contract: a file system and an S3 bucket with object lock.
 */
import type { Instant } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import { sha256Hex } from "./record.js";

/** `2026/11/20/10/<sha256>`: the hour of storing (UTC) and the digest of the object's bytes. */
export type EvidenceRef = string;

export interface EvidenceStore {
  /** `file` or `s3`, for logs. */
  readonly form: string;
  /**
   * Stores an object; resolves when it would survive a loss of power. Storing it again changes nothing.
   * @param ref evidenceRef of the bytes
   * @throws EvidenceStoreFailure
   */
  put(ref: EvidenceRef, bytes: Buffer): Promise<void>;
  /** As `put`, for an object in pieces, where they need not be put together first. */
  putPieces?(ref: EvidenceRef, pieces: readonly Uint8Array[]): Promise<void>;
  /**
   * Reads an object, or a part of it. What is returned is not checked: the caller knows the digest of what it asked
   * for.
   * @throws EvidenceMissing, EvidenceStoreFailure
   */
  get(ref: EvidenceRef, range?: { readonly offset: number; readonly length: number }): Promise<Buffer>;
  /** Removes an object whose retention is over. @throws EvidenceRetained before that, EvidenceStoreFailure */
  remove(ref: EvidenceRef, now: Instant): Promise<void>;
  /**
   * Removes the drafts beside an object that nobody has written since an instant, where a process that was killed
   * leaves any, and the folders in which nothing is left, when the object's hour had ended by then. Whoever still works
   * on a draft fails, and stores nothing.
   * @throws EvidenceStoreFailure
   */
  tidy?(beside: EvidenceRef, before: Instant): Promise<void>;
}

/** The store cannot be reached or written to; the same call may succeed later. */
export class EvidenceStoreFailure extends Error {
  override readonly name: string = "EvidenceStoreFailure";
  /** What the system says, ENOSPC for one, as a log line tells it; the sentence stays out of the log. */
  readonly code: string | undefined;

  constructor(sentence: string, code?: string) {
    super(sentence);
    this.code = code;
  }
}

/** There is no such object. */
export class EvidenceMissing extends EvidenceStoreFailure {
  override readonly name = "EvidenceMissing";
}

/** The object must be kept longer. */
export class EvidenceRetained extends Error {
  override readonly name = "EvidenceRetained";
}

const REF = /^([0-9]{4})\/([0-9]{2})\/([0-9]{2})\/([0-9]{2})\/([0-9a-f]{64})$/;

/** The place of an object that is stored at an instant. */
export const evidenceRef = (bytes: Uint8Array, storedAt: Instant): EvidenceRef =>
  evidencePlace(sha256Hex(bytes), storedAt);

/** The same for an object whose digest is known. @param sha256  hex */
export function evidencePlace(sha256: string, storedAt: Instant): EvidenceRef {
  const [day = "", time = ""] = new Date(storedAt).toISOString().split("T");
  return `${day.replaceAll("-", "/")}/${time.slice(0, 2)}/${sha256}`;
}

export const isEvidenceRef = (text: string): boolean => REF.test(text);

/** The digest in a reference. @throws Error for a text that is none: it never becomes a path */
export function digestOf(ref: EvidenceRef): string {
  const digest = REF.exec(ref)?.[5];
  if (digest === undefined) throw new Error("not a reference to evidence");
  return digest;
}

/** The end of an object's hour, so many years on. */
export function hourEnd(ref: EvidenceRef, years = 0): Instant {
  const [, year, month, day, hour] = REF.exec(ref) ?? [];
  if (hour === undefined) throw new Error("not a reference to evidence");
  return Date.UTC(Number(year) + years, Number(month) - 1, Number(day), Number(hour) + 1);
}

/**
 * From when an object may be removed: the end of its hour, ten years on. @source spec/sapi.md, Limits: archive
 * retention
 */
export const retainedUntil = (ref: EvidenceRef): Instant => hourEnd(ref, LIMITS.archive_retention_years);

/** What every form says before it removes anything. @throws EvidenceRetained */
export function assertRemovable(ref: EvidenceRef, now: Instant): void {
  if (now < retainedUntil(ref))
    throw new EvidenceRetained(`Evidence is kept until ${new Date(retainedUntil(ref)).toISOString()}.`);
}
