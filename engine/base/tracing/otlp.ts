/** Spans as OTLP writes them in JSON. @source OpenTelemetry Protocol 1.x, ExportTraceServiceRequest, JSON encoding */
import { SPAN_KINDS } from "./span.js";
import type { EndedSpan } from "./span.js";

const STATUS_ERROR = 2;

/** Nanoseconds as text: a number of JavaScript does not hold them. */
const nanos = (ms: number): string => `${Math.round(ms * 1_000)}000`;

const valueOf = (value: string | number): object =>
  typeof value === "string"
    ? { stringValue: value }
    : Number.isInteger(value)
      ? { intValue: String(value) }
      : { doubleValue: value };

const attributesOf = (all: Iterable<readonly [string, string | number]>): readonly object[] =>
  Array.from(all, ([key, value]) => ({ key, value: valueOf(value) }));

const spanOf = (span: EndedSpan): object => ({
  traceId: span.traceId,
  spanId: span.spanId,
  ...(span.parentSpanId === undefined ? {} : { parentSpanId: span.parentSpanId }),
  name: span.name,
  kind: SPAN_KINDS[span.kind],
  startTimeUnixNano: nanos(span.start_ms),
  endTimeUnixNano: nanos(span.end_ms),
  attributes: attributesOf(span.attributes),
  ...(span.links.length === 0 ? {} : { links: span.links.map(({ traceId, spanId }) => ({ traceId, spanId })) }),
  ...(span.error === undefined ? {} : { status: { code: STATUS_ERROR, message: span.error } }),
});

/** The body of one export. @param resource  what is said of the process that made the spans */
export const exportBody = (resource: Readonly<Record<string, string>>, spans: readonly EndedSpan[]): string =>
  JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: attributesOf(Object.entries(resource)) },
        scopeSpans: [{ scope: { name: "kurier" }, spans: spans.map(spanOf) }],
      },
    ],
  });
