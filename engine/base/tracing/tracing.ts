/**
 * Spans of one process. Off until `startTracing`: every function here then costs one look at an undefined.
 *
 * A trace begins with a request, an attempt or nothing; what happens inside finds it by the asynchronous context. Its
 * spans leave when its first one ends, because only then is known whose trace it is: a request that accepts a document
 * becomes part of that document's.
 */
import { AsyncLocalStorage } from "node:async_hooks";

import type { Clock } from "../clock.js";
import { LIMITS } from "../limits.js";
import { idsOfMessage, isInShare, newSpanId, newSpanIds, parseTraceparent, traceHeader } from "./ids.js";
import type { CallerSpan, SpanIds } from "./ids.js";
import { allowedAttributes, errorType } from "./span.js";
import type { EndedSpan, SpanAttributes, SpanKind } from "./span.js";

/** Where ended spans go. */
export interface SpanSink {
  take(spans: readonly EndedSpan[]): void;
  /** So many were not kept because their trace had too many. */
  lost(count: number): void;
}

interface TracingOptions {
  readonly clock: Clock;
  readonly sink: SpanSink;
  /** Share of traces that are recorded, 0 to 1. */
  readonly ratio: number;
}

/** The spans of one process that belong together. */
class Trace {
  readonly tracing: TracingOptions;
  caller: CallerSpan | undefined;
  /** From the steady clock to the wall clock, as it was at the beginning. */
  readonly #offset_ms: number;
  ids: SpanIds;
  /** What the first span is below: a caller's span, or the acceptance of its document. */
  parentSpanId: string | undefined;
  /** Of the first span. */
  links: readonly SpanIds[] = [];
  joined = false;
  closed = false;
  #spans: ((trace: Trace) => EndedSpan)[] = [];
  #lost = 0;

  constructor(tracing: TracingOptions, ids: SpanIds) {
    this.tracing = tracing;
    this.ids = ids;
    this.#offset_ms = tracing.clock.now() - tracing.clock.monotonic();
  }

  now(): number {
    return this.tracing.clock.monotonic() + this.#offset_ms;
  }

  /** Becomes part of a caller's trace, which nothing has joined or sent yet. */
  follow(caller: CallerSpan): void {
    if (this.joined || this.closed || this.caller !== undefined) return;
    this.caller = caller;
    this.ids = { traceId: caller.traceId, spanId: this.ids.spanId };
    this.parentSpanId = caller.spanId;
  }

  get isRecorded(): boolean {
    return this.caller?.sampled !== false && isInShare(this.ids.traceId, this.tracing.ratio);
  }

  /** Keeps a span until the first one has ended. @param make  called when all ids are known */
  keep(make: (trace: Trace) => EndedSpan): void {
    if (this.closed) this.#send([make(this)]);
    else if (this.#spans.length >= LIMITS.trace_spans_max) this.#lost += 1;
    else this.#spans.push(make);
  }

  close(): void {
    this.closed = true;
    this.#send(this.#spans.map((make) => make(this)));
    this.#spans = [];
    if (this.#lost > 0) this.tracing.sink.lost(this.#lost);
  }

  #send(spans: readonly EndedSpan[]): void {
    if (this.isRecorded) this.tracing.sink.take(spans);
  }
}

/** A span that has not ended. */
export interface OpenSpan {
  /** Adds to what it says. */
  set(attributes: SpanAttributes): void;
  /** Ends it once; a second end is nothing. @param error  what it ended with */
  end(error?: unknown): void;
}

class Span implements OpenSpan {
  readonly trace: Trace;
  readonly #parent: Span | undefined;
  readonly #name: string;
  readonly #kind: SpanKind;
  readonly #start_ms: number;
  readonly #ownId: string;
  #attributes: SpanAttributes;
  #ended = false;

  constructor(
    trace: Trace,
    parent: Span | undefined,
    what: { readonly name: string; readonly kind: SpanKind; readonly attributes: SpanAttributes },
  ) {
    this.trace = trace;
    this.#parent = parent;
    this.#name = what.name;
    this.#kind = what.kind;
    this.#attributes = what.attributes;
    this.#ownId = parent === undefined ? "" : newSpanId();
    this.#start_ms = trace.now();
  }

  get isFirst(): boolean {
    return this.#parent === undefined;
  }

  /** The first span has the id of its trace's beginning, which may still change. */
  get id(): string {
    return this.isFirst ? this.trace.ids.spanId : this.#ownId;
  }

  set(attributes: SpanAttributes): void {
    this.#attributes = { ...this.#attributes, ...attributes };
  }

  end(error?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    const end_ms = this.trace.now();
    this.trace.keep((trace) => ({
      traceId: trace.ids.traceId,
      spanId: this.id,
      parentSpanId: this.#parent === undefined ? trace.parentSpanId : this.#parent.id,
      name: this.#name,
      kind: this.#kind,
      start_ms: this.#start_ms,
      end_ms,
      attributes: allowedAttributes(
        error === undefined ? this.#attributes : { ...this.#attributes, "error.type": errorType(error) },
      ),
      links: this.isFirst ? trace.links : [],
      error: error === undefined ? undefined : errorType(error),
    }));
    if (this.isFirst) this.trace.close();
  }
}

const context = new AsyncLocalStorage<Span | undefined>();
let active: TracingOptions | undefined;

/** From now on spans are made. @returns ends it: what is under way is not sent any more */
export function startTracing(options: TracingOptions): () => void {
  active = options;
  return () => {
    if (active === options) active = undefined;
  };
}

/** Whether anybody wants spans. */
export const isTracing = (): boolean => active !== undefined;

/** What is under way in a trace that is still open. */
function current(): Span | undefined {
  const span = active === undefined ? undefined : context.getStore();
  return span === undefined || span.trace.closed ? undefined : span;
}

/** Opens a span below what is under way; undefined outside of a trace. */
export function openSpan(
  name: string,
  attributes: SpanAttributes = {},
  kind: SpanKind = "internal",
): OpenSpan | undefined {
  const parent = current();
  return parent === undefined ? undefined : new Span(parent.trace, parent, { name, kind, attributes });
}

/** Runs work whose spans are below `span`; without one it is in no trace, whoever has started it. */
export const withinSpan = <T>(span: OpenSpan | undefined, work: () => T): T =>
  active === undefined ? work() : context.run(span instanceof Span ? span : undefined, work);

/** Runs work within a span and ends the span with it. */
function ending<T>(span: OpenSpan, work: () => T): T {
  try {
    const result = withinSpan(span, work);
    if (!(result instanceof Promise)) {
      span.end();
      return result;
    }
    return result.then(
      (value: unknown) => {
        span.end();
        return value;
      },
      (error: unknown) => {
        span.end(error);
        throw error;
      },
    ) as T;
  } catch (error) {
    span.end(error);
    throw error;
  }
}

/** Runs work as one span of what is under way; outside of a trace it is just run. */
export function traced<T>(name: string, work: (span?: OpenSpan) => T, attributes: SpanAttributes = {}): T {
  if (active === undefined) return work();
  const span = openSpan(name, attributes);
  return span === undefined ? work() : ending(span, () => work(span));
}

/** The span of a request, whose answer names it. */
export interface RequestSpan extends OpenSpan {
  /** The value of the header `traceresponse`. */
  readonly header: string;
  /**
   * The caller is believed: his trace is followed, and whether he records it. Until then the ids are our own, so that
   * no stranger decides what is recorded or writes into somebody's trace.
   * @param traceparent  as it came; anything that is none changes nothing
   */
  follow(traceparent: string | undefined): void;
}

class FirstOfRequest extends Span implements RequestSpan {
  get header(): string {
    return traceHeader({ traceId: this.trace.ids.traceId, spanId: this.id }, this.trace.isRecorded);
  }

  follow(traceparent: string | undefined): void {
    const caller = parseTraceparent(traceparent);
    if (caller !== undefined) this.trace.follow(caller);
  }
}

/** Begins the trace of a request; undefined with tracing off. */
export function openRequestSpan(name: string, attributes: SpanAttributes): RequestSpan | undefined {
  if (active === undefined) return undefined;
  const trace = new Trace(active, newSpanIds());
  return new FirstOfRequest(trace, undefined, { name, kind: "server", attributes });
}

/** An attempt to deliver a message. */
interface TracedAttempt {
  readonly messageId: string;
  readonly attempt: number;
  /** The document that travels in it, whose acceptance it is below. @default a message of our own */
  readonly documentId?: string;
}

/** Runs an attempt as part of its message's trace. */
export function tracedAttempt<T>({ messageId, attempt, documentId }: TracedAttempt, work: () => T): T {
  if (active === undefined) return work();
  const { traceId, spanId } = idsOfMessage(messageId);
  const trace = new Trace(active, { traceId, spanId: newSpanId() });
  if (documentId !== undefined) trace.parentSpanId = spanId;
  const attributes: SpanAttributes = {
    "messaging.message.id": messageId,
    "kurier.attempt": attempt,
    ...(documentId === undefined ? {} : { "kurier.document.id": documentId }),
  };
  return ending(new Span(trace, undefined, { name: "attempt", kind: "consumer", attributes }), work);
}

/**
 * A document was accepted under this message id: what is under way becomes the beginning of the document's trace. Where
 * it belongs to somebody already (a caller's trace, another document's) a span of its own stands for it, and both name
 * each other.
 */
export function traceAccepted(messageId: string, documentId: string): void {
  if (active === undefined) return;
  const ids = idsOfMessage(messageId);
  const span = current();
  const attributes = { "kurier.document.id": documentId, "messaging.message.id": messageId };
  if (span !== undefined && !span.trace.joined && span.trace.caller === undefined) {
    span.trace.joined = true;
    span.trace.ids = ids;
    span.set(attributes);
    return;
  }
  const trace = new Trace(active, ids);
  if (span !== undefined) {
    trace.links = [{ traceId: span.trace.ids.traceId, spanId: span.id }];
    if (span.trace.links.length < LIMITS.trace_links_max) span.trace.links = [...span.trace.links, ids];
    span.set(attributes);
  }
  new Span(trace, undefined, { name: "document accepted", kind: "internal", attributes }).end();
}

/** What is under way received this message: it is part of its document's trace, below its acceptance. */
export function traceReceived(messageId: string): void {
  const trace = current()?.trace;
  if (trace === undefined || trace.joined) return;
  const { traceId, spanId } = idsOfMessage(messageId);
  trace.joined = true;
  trace.ids = { traceId, spanId: trace.ids.spanId };
  trace.parentSpanId = spanId;
}
