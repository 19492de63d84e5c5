/**
 * What the pool asks its workers and what they answer: plain data only, for classes do not survive `postMessage`.
 * Types and lists, no behaviour; the engine may import this file.
 */
import type { MapInput, MapOutput } from "../engine/invoices/mapper/protocol.js";
import type { Language, Report } from "./report.js";
import type { ResponseFacts, ResponseInput } from "./responses.js";
import type { ParseInput, ParseOutput } from "./summary.js";
import type { ConvertInput, ConvertOutput } from "./to-json.js";
import type { SignatureTaskKind, SignatureTasks } from "./wss/protocol.js";
import type { ViewInput, ViewOutput } from "./view/render.js";
import type { ScanLimits } from "./xml/limits.js";

export type { MapInput, MapOutput } from "../engine/invoices/mapper/protocol.js";
export type { DocumentFacts, Endpoint, Finding, Language, Layer, Report, RuleSetUsed, Severity } from "./report.js";
export type { ResponseFacts } from "./responses.js";
export type { DocumentSummary, ParseInput, ParseOutput } from "./summary.js";
export type { ConvertOutput } from "./to-json.js";
export type { ViewFormat, ViewOutput } from "./view/render.js";
export type { ScanLimits } from "./xml/limits.js";

/** How one document is to be judged. */
export interface ValidateOptions {
  readonly limits: ScanLimits;
  /** Day of hand-off in Europe/Bratislava, "YYYY-MM-DD": it decides which version of the rules is in force. */
  readonly day: string;
  /** Skips the schema layer, for fragments of documents. Default false. */
  readonly fragment?: boolean;
  /** CustomizationID that the document is to be judged by, whatever it says itself. Default: what it says. */
  readonly declared?: string;
  /** Layers that must judge the document even where its CustomizationID would not bring them. Default none. */
  readonly layers?: readonly string[];
  /** Directory of the operator's imported rule packs; the active ones are loaded once per worker. Default none. */
  readonly rulesDir?: string;
  /** gzip level, 1 to 9, at which the bytes of a valid document come back with the report. Default: they do not. */
  readonly compressLevel?: number;
  /** Puts the time of each layer into the report, for metrics. Default false. */
  readonly timings?: boolean;
  /** Puts column and value of each finding into the report, for whoever sent the document. Default false. */
  readonly details?: boolean;
  /** Language of the findings. Default English. */
  readonly language?: Language;
  /** Puts the verdicts of rules that come into force later into the report. Default false. */
  readonly upcoming?: boolean;
  /** Judges by the next version of the rules where there is one, whatever the day. Default false. */
  readonly preview?: boolean;
}

export interface ValidateInput {
  readonly bytes: Uint8Array;
  readonly options: ValidateOptions;
}

/** Every kind of task: input and output. A new kind is a row here and a row of the table in batches.ts. */
export interface Tasks extends SignatureTasks {
  readonly validate: { readonly input: ValidateInput; readonly output: Report };
  /** Reads a document without judging it. */
  readonly parse: { readonly input: ParseInput; readonly output: ParseOutput };
  /** Draws an invoice for people. */
  readonly view: { readonly input: ViewInput; readonly output: ViewOutput };
  /** Reads a Message Level Status or an Invoice Response. */
  readonly response: { readonly input: ResponseInput; readonly output: ResponseFacts | undefined };
  /** Makes a create body of the Connector out of a source. */
  readonly map: { readonly input: MapInput; readonly output: MapOutput };
  /** Reads a document as an invoice that a firm could send as JSON. */
  readonly convert: { readonly input: ConvertInput; readonly output: ConvertOutput };
}
export type TaskKind = "validate" | "parse" | "view" | "response" | "map" | "convert" | SignatureTaskKind;

/** One piece of work inside a batch. */
export interface Job {
  readonly kind: string;
  readonly input: unknown;
}

/** Several jobs for one worker. */
export interface Batch {
  /** Its owner's name for it. */
  readonly number: number;
  readonly jobs: readonly Job[];
  /** Shared integers, see PROGRESS: the owner must know at which job a worker hangs or dies. */
  readonly progress: Int32Array;
}

/** `Batch.progress`: jobs done, what has become of the batch, the worker that has begun it; and how many these are. */
export const PROGRESS = { done: 0, state: 1, thread: 2, slots: 3 } as const;
/** The states of a batch: it waits for its worker, which begins it, unless its owner takes it back before. */
export const BATCH = { waits: 0, begun: 1, takenBack: 2 } as const;

/** A job that threw. The class is gone, name and text remain; the text is for logs, never for clients. */
interface JobFailure {
  readonly kind: "failed";
  readonly name: string;
  readonly message: string;
  readonly stack: string;
}
export type JobOutcome =
  | { readonly kind: "done"; readonly output: unknown; /** In the worker, milliseconds. */ readonly time_ms: number }
  | JobFailure;

/** Why a worker was replaced. */
export const RESTART_REASONS = ["timeout", "memory", "exit"] as const;
export type RestartReason = (typeof RESTART_REASONS)[number];

/** Lanes: small documents never wait behind large ones. */
export const LANES = ["small", "large"] as const;
export type Lane = (typeof LANES)[number];
