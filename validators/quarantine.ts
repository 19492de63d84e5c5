/** Remembers what killed workers twice: a bounded set of hashes, the oldest forgotten first. */
import { createHash } from "node:crypto";
import { visit } from "./plain.js";
import type { Report } from "./report.js";

export class Quarantine {
  readonly #hashes = new Set<string>();
  readonly #max: number;

  /** @param max  hashes remembered */
  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#hashes.size;
  }

  has(sha256: string): boolean {
    return this.#hashes.has(sha256);
  }

  add(sha256: string): void {
    this.#hashes.delete(sha256);
    this.#hashes.add(sha256);
    for (const oldest of this.#hashes) {
      if (this.#hashes.size <= this.#max) return;
      this.#hashes.delete(oldest);
    }
  }
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
