/** What the engine needs to know of a document's content, taken out by the workers while they validate. */

import type { DocumentFacts, Endpoint, Language, ResponseFacts } from "../../../validators/protocol.js";

export type { DocumentFacts, Endpoint };

export interface DocumentFinding {
  readonly ruleId: string;
  readonly layer: string;
  readonly severity: "fatal" | "error" | "warning" | "information";
  readonly location: string;
  readonly line?: number;
  readonly message: string;
}

/** A validated document: its findings, its facts when it could be read, and the digest of its exact bytes. */
export interface Inspection {
  readonly valid: boolean;
  readonly wellFormed: boolean;
  readonly findings: readonly DocumentFinding[];
  readonly facts: DocumentFacts | undefined;
  /** Hex. */
  readonly payloadSha256: string;
  /** The payload as it is stored, before it is sealed; of a valid document only, and when it was asked for. */
  readonly compressed?: Uint8Array;
  /** What the verdict was made with: it is evidence. */
  readonly ruleSet: string;
  /**
   * Later days, YYYY-MM-DD, on which other rules come into force → whether the document is still valid by them; when it
   * was asked for, and absent where there are none.
   */
  readonly validLater?: Readonly<Record<string, boolean>>;
}

export interface InspectOptions {
  readonly fairnessKey: string;
  readonly receivedAt: number;
  /** Whether column and value of each finding are wanted, for whoever sent the document. @default false */
  readonly details?: boolean;
  /** Whether the verdicts of rules that come into force later are wanted. @default false */
  readonly upcoming?: boolean;
  /** Language of the findings. @default English */
  readonly language?: Language;
  /** Whether the compressed payload of a valid document is wanted too. @default false */
  readonly compress?: boolean;
}

/** The port to the worker threads. */
export interface Validators {
  /**
   * Validates one document.
   * @param fairnessKey documents of one key never push those of others to the end of the queue
   * @throws Refusal TEMPORARY when the queue is full
   */
  inspect(payload: Uint8Array, options: InspectOptions): Promise<Inspection>;
}

/** What is not judged by rules, but only read by a worker. */
export interface ResponseReader {
  /**
   * Reads a Message Level Status or an Invoice Response.
   * @returns undefined for what is neither, for what is larger than any may be, and for what kills workers
   * @throws Refusal TEMPORARY when the queue is full
   */
  response(payload: Uint8Array): Promise<ResponseFacts | undefined>;
}
