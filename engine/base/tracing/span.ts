/** What a span says: its name, its times and attributes of a closed list. */
import { errorCode, Refusal } from "../errors.js";
import { LIMITS } from "../limits.js";
import { firstChars } from "../text.js";
import type { SpanIds } from "./ids.js";

/**
 * Everything that a span may say of itself. None of them holds a secret, a token, a header, a query, the name of a firm
 * or the text of a document.
 */
export interface SpanAttributes {
  readonly "http.request.method"?: string;
  /** The path's template, never the path. */
  readonly "http.route"?: string;
  readonly "http.response.status_code"?: number;
  /** The host of another access point. */
  readonly "server.address"?: string;
  readonly "db.system.name"?: string;
  readonly "messaging.message.id"?: string;
  /** Name of an error or of a refusal, never its message. */
  readonly "error.type"?: string;
  readonly "kurier.operation"?: string;
  readonly "kurier.actor"?: string;
  readonly "kurier.command"?: string;
  readonly "kurier.job"?: string;
  readonly "kurier.document.id"?: string;
  readonly "kurier.attempt"?: number;
  readonly "kurier.outcome"?: string;
}

const ALLOWED: Readonly<Record<keyof SpanAttributes, true>> = {
  "http.request.method": true,
  "http.route": true,
  "http.response.status_code": true,
  "server.address": true,
  "db.system.name": true,
  "messaging.message.id": true,
  "error.type": true,
  "kurier.operation": true,
  "kurier.actor": true,
  "kurier.command": true,
  "kurier.job": true,
  "kurier.document.id": true,
  "kurier.attempt": true,
  "kurier.outcome": true,
};

/** Copies what the list allows; anything else that is smuggled in by structure is dropped. */
export function allowedAttributes(given: SpanAttributes): ReadonlyMap<string, string | number> {
  const found = new Map<string, string | number>();
  for (const name of Object.keys(ALLOWED) as (keyof SpanAttributes)[]) {
    const value = given[name];
    if (typeof value === "number") found.set(name, value);
    else if (typeof value === "string") found.set(name, firstChars(value, LIMITS.trace_text_chars_max));
  }
  return found;
}

/** Kinds of spans with their numbers in OTLP. */
export const SPAN_KINDS = { internal: 1, server: 2, client: 3, consumer: 5 } as const;
/** @see SPAN_KINDS */
export type SpanKind = keyof typeof SPAN_KINDS;

/** A span that has ended, ready to be sent. Times are milliseconds since 1970 with their fractions. */
export interface EndedSpan extends SpanIds {
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  readonly start_ms: number;
  readonly end_ms: number;
  readonly attributes: ReadonlyMap<string, string | number>;
  readonly links: readonly SpanIds[];
  /** Name of the error that ended it. */
  readonly error: string | undefined;
}

const CODE = /^[A-Z0-9_]{1,40}$/;

/** What an error is called: the code of a refusal or of the system, the class of anything else. */
export function errorType(error: unknown): string {
  if (error instanceof Refusal) return error.reason;
  if (!(error instanceof Error)) return typeof error;
  const code = errorCode(error);
  return code !== undefined && CODE.test(code) ? code : error.name;
}
