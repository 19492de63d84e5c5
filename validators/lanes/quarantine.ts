/** Remembers what killed workers twice: a bounded set of hashes, the oldest forgotten first. */
import { createHash } from "node:crypto";
import { sizeOf, visit } from "../plain.js";
import type { Report } from "../report.js";

/** How many octets of a job are looked at before it is hashed, evenly spread over its bytes. */
const SAMPLES = 16;

export class Quarantine {
  /** Hash → the look of the job that has it. */
  readonly #looks = new Map<string, string>();
  /** Looks of all hashes, with how many have each. */
  // Bounded by the hashes.
  readonly #likely = new Map<string, number>();
  readonly #max: number;
  #hashed = 0;

  /** @param max  hashes remembered */
  constructor(max: number) {
    this.#max = max;
  }

  /** Jobs that looked enough like a remembered one to be hashed. */
  get hashed(): number {
    return this.#hashed;
  }

  /**
   * The hash of a job that is remembered; undefined for all others. A job is hashed only when its kind, its length and
   * a few of its octets are those of a remembered one: what a stranger has poisoned costs others nothing.
   */
  find(kind: string, input: unknown): string | undefined {
    if (this.#looks.size === 0 || !this.#likely.has(lookOf(kind, input))) return undefined;
    this.#hashed++;
    const sha256 = hashOf(kind, input);
    return this.#looks.has(sha256) ? sha256 : undefined;
  }

  /** Remembers a job, and forgets the oldest beyond the bound. @returns its hash */
  add(kind: string, input: unknown): string {
    const sha256 = hashOf(kind, input);
    this.#forget(sha256);
    const look = lookOf(kind, input);
    this.#looks.set(sha256, look);
    this.#likely.set(look, (this.#likely.get(look) ?? 0) + 1);
    for (const oldest of this.#looks.keys()) {
      if (this.#looks.size <= this.#max) break;
      this.#forget(oldest);
    }
    return sha256;
  }

  #forget(sha256: string): void {
    const look = this.#looks.get(sha256);
    if (look === undefined) return;
    this.#looks.delete(sha256);
    const others = (this.#likely.get(look) ?? 0) - 1;
    if (others > 0) this.#likely.set(look, others);
    else this.#likely.delete(look);
  }
}

/** Kind, length and a few octets: costs the same for every job, and differs for almost all that differ. */
function lookOf(kind: string, input: unknown): string {
  const bytes = bytesOf(input);
  if (bytes === undefined) return `${kind} ${sizeOf(input)}`;
  const samples = Array.from({ length: SAMPLES }, (_, i) => bytes[Math.floor((i * bytes.length) / SAMPLES)] ?? 0);
  return `${kind} ${bytes.length} ${samples.join(" ")}`;
}

/**
 * SHA-256, hex: of the document for a validation; for other kinds of the octets from elsewhere, `bytes`, or of
 * everything in an input that has none.
 */
export function hashOf(kind: string, input: unknown): string {
  const hash = createHash("sha256");
  const bytes = bytesOf(input);
  if (kind !== "validate") hash.update(kind);
  if (bytes !== undefined) return hash.update(bytes).digest("hex");
  visit(
    input,
    (leaf) => {
      hash.update(leaf);
    },
    0,
  );
  return hash.digest("hex");
}

const bytesOf = (input: unknown): Uint8Array | undefined =>
  typeof input === "object" && input !== null && "bytes" in input && input.bytes instanceof Uint8Array
    ? input.bytes
    : undefined;

/** The report on a document in quarantine. */
export function quarantinedReport(payloadSha256: string): Report {
  return {
    valid: false,
    wellFormed: false,
    payloadSha256,
    dropped: 0,
    profile: "none",
    ruleSets: [],
    facts: undefined,
    findings: [
      {
        ruleId: "ENGINE-QUARANTINED",
        layer: "xml",
        severity: "fatal",
        location: "/",
        message:
          "This document could not be processed twice and is kept for the operator. Send it in another form, or ask the operator.",
      },
    ],
  };
}
