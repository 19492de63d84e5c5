/** Traces: ids of callers and messages, spans and their tree, and an exporter that nobody waits for. */
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";

import { Refusal } from "../../../../engine/base/errors.js";
import { silentLog } from "../../../../engine/base/log.js";
import { LIMITS } from "../../../../engine/base/limits.js";
import { createMetrics } from "../../../../engine/base/metrics.js";
import { startSpanExporter } from "../../../../engine/base/tracing/exporter.js";
import { idsOfMessage, isInShare, newSpanIds, parseTraceparent } from "../../../../engine/base/tracing/ids.js";
import type { EndedSpan } from "../../../../engine/base/tracing/span.js";
import { callerIn, tracedStatements } from "../../../../engine/base/tracing/statements.js";
import {
  openRequestSpan,
  openSpan,
  startTracing,
  traceAccepted,
  traced,
  tracedAttempt,
  traceReceived,
  withinSpan,
} from "../../../../engine/base/tracing/tracing.js";
import { startCollector } from "../../../support/network/collector.js";
import { eventually } from "../../../support/eventually.js";
import { fakeClock } from "../../../support/fake-clock.js";

const CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const MESSAGE = "6a1f@kurier";

let end: () => void = () => undefined;
afterEach(() => {
  end();
});

/** Switches traces on. @returns what is sent */
function recording(ratio = 1): { readonly spans: EndedSpan[]; readonly lost: number[] } {
  const found = { spans: [] as EndedSpan[], lost: [] as number[] };
  end = startTracing({
    clock: fakeClock(),
    ratio,
    sink: { take: (spans) => found.spans.push(...spans), lost: (count) => found.lost.push(count) },
  });
  return found;
}

const request = (traceparent?: string) => {
  const span = openRequestSpan("POST /x", { "http.route": "/x" });
  if (span === undefined) throw new Error("tracing is off");
  span.follow(traceparent);
  return span;
};

describe("the header traceparent", () => {
  test("a well-formed one names the caller's span, of any version but ff", () => {
    const span = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
    expect(parseTraceparent(CALLER)).toEqual({ ...span, sampled: true });
    expect(parseTraceparent(CALLER.replace(/01$/, "00"))).toEqual({ ...span, sampled: false });
    expect(parseTraceparent(CALLER.replace(/^00/, "cc").concat("-what-comes"))).toEqual({ ...span, sampled: true });
  });

  test.each([
    "",
    CALLER.toUpperCase(),
    CALLER.replace(/^00/, "ff"),
    `${CALLER}-more`,
    `${CALLER},${CALLER}`,
    ` ${CALLER}`,
    `${CALLER}\n`,
    CALLER.replace(/-[0-9a-f]{32}-/, `-${"0".repeat(32)}-`),
    CALLER.replace(/-[0-9a-f]{16}-/, `-${"0".repeat(16)}-`),
    CALLER.replace("0af7", "0ag7"),
    CALLER.slice(1),
    "00-<script>-'; drop table document;---01",
  ])("%j is as good as none", (text) => {
    expect(parseTraceparent(text)).toBeUndefined();
  });

  test("no text makes it throw, and what it takes is hex of the right length", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.stringMatching(/^[0-9a-f]{2}-[0-9a-f]{30,34}-[0-9a-f]{16}-.{2}$/)),
        (text) => {
          const found = parseTraceparent(text);
          if (found !== undefined) expect(`${found.traceId}-${found.spanId}`).toMatch(/^[0-9a-f]{32}-[0-9a-f]{16}$/);
        },
      ),
    );
  });
});

describe("a trace", () => {
  test("spans that are nested in time are nested in the trace, and the first ends it", async () => {
    const { spans } = recording();
    const first = request();
    await withinSpan(first, () => traced("outer", () => traced("inner", () => Promise.resolve())));
    expect(spans).toEqual([]);
    first.end();
    expect(spans.map(({ name }) => name)).toEqual(["inner", "outer", "POST /x"]);
    const [inner, outer, root] = spans;
    expect([inner?.parentSpanId, outer?.parentSpanId, root?.parentSpanId]).toEqual([
      outer?.spanId,
      root?.spanId,
      undefined,
    ]);
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  });

  test("with nobody who collects there are no spans, and work is only run", () => {
    expect(openRequestSpan("POST /x", {})).toBeUndefined();
    expect(openSpan("x")).toBeUndefined();
    expect(traced("x", () => 7)).toBe(7);
    expect(tracedAttempt({ messageId: MESSAGE, attempt: 1 }, () => 7)).toBe(7);
    const sql = Object.assign(() => undefined, {});
    expect(tracedStatements(sql)).toBe(sql);
  });

  test("a document's acceptance, its attempts and its arrival elsewhere meet in one trace, with nothing sent along", () => {
    const { spans } = recording();
    const accepting = request();
    withinSpan(accepting, () => {
      traceAccepted(MESSAGE, "doc");
    });
    accepting.end();
    tracedAttempt({ messageId: MESSAGE, attempt: 1, documentId: "doc" }, () => undefined);
    const arriving = request();
    withinSpan(arriving, () => {
      traceReceived(MESSAGE);
    });
    arriving.end();
    const { traceId, spanId } = idsOfMessage(MESSAGE);
    expect(spans.map((span) => [span.name, span.traceId, span.parentSpanId])).toEqual([
      ["POST /x", traceId, undefined],
      ["attempt", traceId, spanId],
      ["POST /x", traceId, spanId],
    ]);
    expect(spans[0]?.spanId).toBe(spanId);
  });

  test("a request of a caller's trace stays in it, and names that of the document, which names the request", () => {
    const { spans } = recording();
    const first = request(CALLER);
    withinSpan(first, () => {
      traceAccepted(MESSAGE, "doc");
    });
    expect(first.header).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/);
    first.end();
    const [accepted, root] = spans;
    expect(accepted).toMatchObject({ name: "document accepted", ...idsOfMessage(MESSAGE) });
    expect(accepted?.links).toEqual([{ traceId: root?.traceId, spanId: root?.spanId }]);
    expect(root).toMatchObject({ parentSpanId: "b7ad6b7169203331", links: [idsOfMessage(MESSAGE)] });
  });

  test("several documents of one request have a trace of their own each", () => {
    const { spans } = recording();
    const first = request();
    withinSpan(first, () => {
      for (const id of ["1", "2", "3"]) traceAccepted(`${id}@kurier`, id);
    });
    first.end();
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(
      new Set(["1", "2", "3"].map((id) => idsOfMessage(`${id}@kurier`).traceId)),
    );
  });

  test("a caller who does not record its part is not recorded here either, but the document is", () => {
    const { spans } = recording();
    const first = request(CALLER.replace(/01$/, "00"));
    withinSpan(first, () => {
      traceAccepted(MESSAGE, "doc");
    });
    first.end();
    expect(spans.map(({ name }) => name)).toEqual(["document accepted"]);
    expect(first.header).toMatch(/-00$/);
  });

  test("the share of traces that is recorded follows from their ids", () => {
    const ids = Array.from({ length: 2_000 }, () => newSpanIds().traceId);
    const some = ids.filter((id) => isInShare(id, 0.25));
    expect(some.length).toBeGreaterThan(350);
    expect(some.length).toBeLessThan(650);
    expect(some.every((id) => isInShare(id, 0.5))).toBe(true);
    expect(ids.filter((id) => isInShare(id, 0))).toEqual([]);
    expect(ids.filter((id) => isInShare(id, 1))).toEqual(ids);
  });

  test("a trace has a bound of spans, and what is beyond it is counted", () => {
    const { spans, lost } = recording();
    const first = request();
    withinSpan(first, () => {
      for (let n = 0; n < LIMITS.trace_spans_max + 5; n++) traced("step", () => undefined);
    });
    first.end();
    expect([spans.length, lost]).toEqual([LIMITS.trace_spans_max, [6]]);
  });

  test("what is begun after the first span has ended belongs to no trace, and what was begun before still does", () => {
    const { spans } = recording();
    const first = request();
    const late = withinSpan(first, () => openSpan("late"));
    first.end();
    expect(withinSpan(late, () => openSpan("too late"))).toBeUndefined();
    late?.end();
    expect(spans.map(({ name }) => name)).toEqual(["POST /x", "late"]);
    expect(spans[1]?.traceId).toBe(spans[0]?.traceId);
  });

  test("an error ends its span with its class, a refusal with its code, and neither with its message", () => {
    const { spans } = recording();
    const first = request();
    for (const error of [new TypeError("0245:2020202020 said so"), new Refusal("TEMPORARY", [{ message: "said so" }])])
      expect(() =>
        withinSpan(first, () =>
          traced("step", () => {
            throw error;
          }),
        ),
      ).toThrow(error);
    first.end();
    expect(spans.map(({ error }) => error)).toEqual(["TypeError", "TEMPORARY", undefined]);
    expect(JSON.stringify(spans.map((span) => [...span.attributes]))).not.toContain("said so");
  });

  test("an attribute that the list does not know does not leave, and a text is cut", () => {
    const { spans } = recording();
    const first = request();
    first.set({ authorization: "Bearer secret", "http.route": "r".repeat(5_000) } as object);
    first.end();
    expect([...(spans[0]?.attributes ?? [])]).toEqual([["http.route", "r".repeat(LIMITS.trace_text_chars_max)]]);
  });
});

describe("a statement", () => {
  /** What postgres.js gives for a template: it runs when it is waited for. */
  class Statement extends Promise<number> {
    static override get [Symbol.species]() {
      return Promise;
    }
  }
  const sql = (strings: TemplateStringsArray, ...values: unknown[]): Promise<number> =>
    new Statement((resolve) => {
      resolve(strings.length + values.length);
    });

  test("a statement that is waited for is one span, named by the function that makes it and by none of its values", async () => {
    const { spans } = recording();
    const watched = tracedStatements(sql);
    const findTheSecret = (): Promise<number> => watched`select ${"s3cret"} from somewhere`;
    const first = request();
    await withinSpan(first, async () => {
      const statement = findTheSecret();
      expect([await statement, await statement]).toEqual([3, 3]);
      // A fragment is never waited for.
      void watched`where x = 1`;
    });
    first.end();
    expect(spans.map(({ name }) => name)).toEqual(["sql findTheSecret", "POST /x"]);
    expect(JSON.stringify(spans.map((span) => [span.name, ...span.attributes]))).not.toMatch(/s3cret|somewhere/);
  });

  test.each([
    ["    at acceptDocuments (file:///x/engine/storage/documents/documents.js:12:3)", "acceptDocuments"],
    ["    at async Archive.keep (/x/engine/storage/evidence/archive.ts:1:2)", "keep"],
    ["    at file:///x/engine/storage/documents/received.js:12:3", "received"],
    ["    at Object.<anonymous> (/x/engine/storage/outbox.ts:1:2)", "outbox"],
    ["", "statement"],
  ])("the name in %j is found", (line, name) => {
    expect(callerIn(`Error\n    at watch (/x/engine/base/tracing/statements.js:1:1)\n${line}`)).toBe(name);
  });
});

describe("the exporter", () => {
  const span = (name: string): EndedSpan => ({
    ...newSpanIds(),
    parentSpanId: undefined,
    name,
    kind: "internal",
    start_ms: 1_795_370_000_000.125,
    end_ms: 1_795_370_000_001.5,
    attributes: new Map(),
    links: [],
    error: undefined,
  });
  const spans = (count: number): readonly EndedSpan[] => Array.from({ length: count }, (_, n) => span(`span ${n}`));
  const exporterTo = (endpoint: string, stop_ms = LIMITS.trace_stop_ms) => {
    const metrics = createMetrics();
    const clock = fakeClock();
    return {
      exporter: startSpanExporter(
        { clock, metrics, log: silentLog },
        { endpoint, headers: { authorization: "Bearer x" }, resource: { "service.name": "kurier" }, stop_ms },
      ),
      /** Values of the counters of spans, by their labels. */
      counted: async (): Promise<Record<string, number>> =>
        Object.fromEntries(
          [
            ...(await metrics.exposition()).matchAll(/^kurier_trace_spans_(\w+)_total(?:\{reason="(\w+)"\})? (\d+)$/gm),
          ].map(([, what, reason, value]) => [reason ?? what, Number(value)]),
        ),
    };
  };

  test("the exporter sends spans as OTLP writes them, in batches, with the headers it was given", async () => {
    const collector = await startCollector();
    const { exporter, counted } = exporterTo(`${collector.url}/`);
    exporter.take(spans(LIMITS.trace_batch_max + 1));
    await exporter.stop();
    expect(collector.headers).toMatchObject({ path: "/v1/traces", method: "POST", authorization: "Bearer x" });
    expect(collector.texts).toHaveLength(2);
    expect(collector.spans).toHaveLength(LIMITS.trace_batch_max + 1);
    expect(collector.spans[0]).toMatchObject({
      name: "span 0",
      startTimeUnixNano: "1795370000000125000",
      endTimeUnixNano: "1795370000001500000",
      resource: { "service.name": "kurier" },
    });
    expect(await counted()).toMatchObject({ exported: LIMITS.trace_batch_max + 1 });
    await collector.close();
  });

  test("nobody waits for a collector that is away: what it does not take is dropped and counted", async () => {
    const collector = await startCollector();
    await collector.close();
    const { exporter, counted } = exporterTo(collector.url);
    exporter.take(spans(3));
    await exporter.stop();
    expect(await counted()).toMatchObject({ collector: 3 });
  });

  test("a collector that refuses is told nothing twice", async () => {
    const collector = await startCollector();
    collector.status = 503;
    const { exporter, counted } = exporterTo(collector.url);
    exporter.take(spans(2));
    await exporter.stop();
    expect(collector.texts).toHaveLength(1);
    expect(await counted()).toMatchObject({ collector: 2 });
    await collector.close();
  });

  test("a collector that hangs ends an exporter no later than it may take: what is left is dropped and counted", async () => {
    const collector = await startCollector();
    collector.status = undefined;
    const { exporter, counted } = exporterTo(collector.url, 1);
    exporter.take(spans(LIMITS.trace_batch_max + 7));
    await exporter.stop();
    // Not even the time of the first export is waited for, and no second one is made.
    expect(collector.texts.length).toBeLessThan(2);
    expect(await counted()).toEqual({ exported: 0, collector: LIMITS.trace_batch_max, queue: 7 });
    await collector.close();
  });

  test("a collector that hangs fills the queue up to its bound, and the rest is dropped and counted", async () => {
    const collector = await startCollector();
    collector.status = undefined;
    const { exporter, counted } = exporterTo(collector.url);
    exporter.take(spans(LIMITS.trace_batch_max));
    await eventually("the first export is under way", () => collector.texts.length === 1);
    exporter.take(spans(LIMITS.trace_queue_max));
    exporter.take(spans(7));
    expect(await counted()).toEqual({ exported: 0, queue: 7 });
    await collector.close();
    await exporter.stop();
  });
});
