/**
 * Ids of traces and spans, as W3C Trace Context writes them. The trace of a document follows from the id of its AS4
 * message, which both access points know: acceptance, attempts and the other side meet in one trace, although nothing
 * is stored for it and nothing is sent along.
 */
import { createHash } from "node:crypto";

import { randomOctets } from "../ids.js";

const TRACE_ID_OCTETS = 16;
const SPAN_ID_OCTETS = 8;

/** Where something happened: a trace, and a span in it. Both in lower-case hex, 32 and 16 digits. */
export interface SpanIds {
  readonly traceId: string;
  readonly spanId: string;
}

/** The span of a caller, as its request names it. */
export interface CallerSpan extends SpanIds {
  /** Whether the caller records its own part. */
  readonly sampled: boolean;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const isNothing = (id: string): boolean => /^0+$/.test(id);

/**
 * Reads the header `traceparent`. Anything that is not exactly one is as good as none: whoever sends it is a stranger.
 * @source W3C Trace Context, section 3.2: version ff is forbidden, zeros are no id, later versions may be longer
 */
export function parseTraceparent(text: string | undefined): CallerSpan | undefined {
  const found = text === undefined ? null : TRACEPARENT.exec(text);
  if (found === null) return undefined;
  const [, version = "", traceId = "", spanId = "", flags = "", more] = found;
  const isKnownForm = version !== "ff" && (version !== "00" || more === undefined);
  if (!isKnownForm || isNothing(traceId) || isNothing(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** The same form, for the header `traceresponse` of an answer. */
export const traceHeader = ({ traceId, spanId }: SpanIds, sampled: boolean): string =>
  `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`;

/** A span id that nobody has. */
export const newSpanId = (): string => randomOctets(SPAN_ID_OCTETS).toString("hex");

/** Ids of a trace that nobody has. */
export const newSpanIds = (): SpanIds => ({
  traceId: randomOctets(TRACE_ID_OCTETS).toString("hex"),
  spanId: newSpanId(),
});

/** The trace of the document that travels in an AS4 message, and the span in it that stands for its acceptance. */
export function idsOfMessage(messageId: string): SpanIds {
  const digest = createHash("sha256").update(`kurier trace ${messageId}`).digest("hex");
  return {
    traceId: digest.slice(0, 2 * TRACE_ID_OCTETS),
    spanId: digest.slice(2 * TRACE_ID_OCTETS, 2 * (TRACE_ID_OCTETS + SPAN_ID_OCTETS)),
  };
}

/** Hex digits at the end of a trace id by which it is decided whether the trace is recorded. */
const SAMPLED_DIGITS = 12;

/** Whether a trace is one of the share that is recorded; every process decides the same. @param ratio  0 to 1 */
export const isInShare = (traceId: string, ratio: number): boolean =>
  Number.parseInt(traceId.slice(-SAMPLED_DIGITS), 16) < ratio * 16 ** SAMPLED_DIGITS;
