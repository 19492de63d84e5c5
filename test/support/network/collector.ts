/** A collector of traces: takes OTLP over HTTP in JSON, reads it as strictly as the protocol is written, keeps the spans. */
import { createServer } from "node:http";
import { z } from "zod";

import { listening } from "./listening.js";

const value = z.union([
  z.strictObject({ stringValue: z.string() }).transform(({ stringValue }) => stringValue),
  z.strictObject({ intValue: z.string().regex(/^-?\d+$/) }).transform(({ intValue }) => Number(intValue)),
  z.strictObject({ doubleValue: z.number() }).transform(({ doubleValue }) => doubleValue),
]);
const attributes = z
  .array(z.strictObject({ key: z.string(), value }))
  .transform((all) => Object.fromEntries(all.map((one) => [one.key, one.value])));
const ids = { traceId: z.string().regex(/^[0-9a-f]{32}$/), spanId: z.string().regex(/^[0-9a-f]{16}$/) };
const nanos = z.string().regex(/^\d{19}$/);
const span = z.strictObject({
  ...ids,
  parentSpanId: ids.spanId.optional(),
  name: z.string().min(1),
  kind: z.int().min(1).max(5),
  startTimeUnixNano: nanos,
  endTimeUnixNano: nanos,
  attributes,
  links: z.array(z.strictObject(ids)).optional(),
  status: z.strictObject({ code: z.literal(2), message: z.string() }).optional(),
});
const request = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes }),
      scopeSpans: z.array(z.strictObject({ scope: z.strictObject({ name: z.string() }), spans: z.array(span) })),
    }),
  ),
});

export type CollectedSpan = z.infer<typeof span> & { readonly resource: Readonly<Record<string, string | number>> };

export interface Collector {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  readonly spans: CollectedSpan[];
  /** Everything that came, as it came. */
  readonly texts: string[];
  /** Headers of the last export. */
  headers: Readonly<Record<string, unknown>>;
  /** What exports are answered with; undefined leaves them without an answer. @default 200 */
  status: number | undefined;
  close(): Promise<void>;
}

export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const texts: string[] = [];
  const server = createServer((asked, answer) => {
    const chunks: Buffer[] = [];
    asked.on("data", (chunk: Buffer) => chunks.push(chunk));
    asked.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      texts.push(text);
      collector.headers = { ...asked.headers, path: asked.url, method: asked.method };
      if (collector.status === 200)
        for (const { resource, scopeSpans } of request.parse(JSON.parse(text)).resourceSpans)
          for (const one of scopeSpans.flatMap((scope) => scope.spans))
            spans.push({ ...one, resource: resource.attributes });
      if (collector.status !== undefined) answer.writeHead(collector.status).end("{}");
    });
  });
  const { origin, close } = await listening(server);
  const collector: Collector = {
    url: origin,
    spans,
    texts,
    headers: {},
    status: 200,
    close,
  };
  return collector;
}
