/**
 * Sends spans to a collector by OTLP over HTTP, in JSON. Nobody waits for it: what comes faster than it goes, and what
 * the collector does not take, is dropped and counted.
 */
import { LIMITS } from "../limits.js";
import { errorFields, oncePerSecond } from "../log.js";
import type { Log } from "../log.js";
import type { Clock } from "../clock.js";
import type { Metrics } from "../metrics.js";
import { every } from "../waiting/every.js";
import { exportBody } from "./otlp.js";
import type { EndedSpan } from "./span.js";
import type { SpanSink } from "./tracing.js";

interface ExporterPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

interface ExporterOptions {
  /** Base of the collector; spans go to `/v1/traces` below it. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly resource: Readonly<Record<string, string>>;
  /** How long `stop` sends what is left, milliseconds. @default LIMITS.trace_stop_ms */
  readonly stop_ms?: number;
}

/** A sink of spans that is emptied by itself. */
interface SpanExporter extends SpanSink {
  /** Takes nothing more, and sends what it has for a while; a collector that is slow or hangs ends it no later. */
  stop(): Promise<void>;
}

/** `http://collector:4318` and `http://collector:4318/` are the same. */
const tracesUrl = (endpoint: string): string => `${endpoint.replace(/\/+$/, "")}/v1/traces`;

class Exporter implements SpanExporter {
  readonly #ports: ExporterPorts;
  readonly #options: ExporterOptions;
  /** A collector that is away is away for every export: the metric counts, the log tells of it now and then. */
  readonly #quiet: { readonly log: Pick<Log, "warn"> };
  readonly #stopExports: () => void;
  #queue: EndedSpan[] = [];
  #sending: Promise<void> | undefined;
  /** Ends the export that is under way. */
  #underWay: AbortController | undefined;
  #stopped = false;
  /** Nothing more is sent. */
  #isOver = false;

  constructor(ports: ExporterPorts, options: ExporterOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#quiet = { log: oncePerSecond(ports.log, ports.clock) };
    this.#stopExports = every(LIMITS.trace_export_ms, () => this.#flush());
  }

  take(spans: readonly EndedSpan[]): void {
    const room = this.#stopped ? 0 : LIMITS.trace_queue_max - this.#queue.length;
    for (const span of spans.slice(0, room)) this.#queue.push(span);
    this.#dropped("queue", spans.length - Math.min(room, spans.length));
    if (this.#queue.length >= LIMITS.trace_batch_max) void this.#flush();
  }

  lost(count: number): void {
    this.#dropped("trace", count);
  }

  async stop(): Promise<void> {
    this.#stopExports();
    const over = setTimeout(() => {
      this.#isOver = true;
      this.#underWay?.abort();
    }, this.#options.stop_ms ?? LIMITS.trace_stop_ms);
    await this.#sending;
    if (!this.#isOver) await this.#flush();
    clearTimeout(over);
    this.#stopped = true;
    this.#dropped("queue", this.#queue.length);
    this.#queue = [];
  }

  #dropped(reason: "queue" | "trace" | "collector", count: number): void {
    if (count > 0) this.#ports.metrics.count("trace_spans_dropped_total", { reason }, count);
  }

  /** One export at a time: a collector that is slow fills the queue, and nothing else. */
  #flush(): Promise<void> {
    if (this.#sending !== undefined || this.#queue.length === 0) return this.#sending ?? Promise.resolve();
    this.#sending = this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  async #sendAll(): Promise<void> {
    for (let isTaken = true; isTaken && !this.#isOver && this.#queue.length > 0;) {
      const batch = this.#queue.splice(0, LIMITS.trace_batch_max);
      isTaken = await this.#send(batch);
      if (isTaken) this.#ports.metrics.count("trace_spans_exported_total", {}, batch.length);
      else this.#dropped("collector", batch.length);
    }
  }

  /** @returns whether the collector took them */
  async #send(batch: readonly EndedSpan[]): Promise<boolean> {
    const { endpoint, headers, resource } = this.#options;
    const underWay = new AbortController();
    this.#underWay = underWay;
    const patience = setTimeout(() => {
      underWay.abort();
    }, LIMITS.trace_export_timeout_ms);
    try {
      const answer = await fetch(tracesUrl(endpoint), {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: exportBody(resource, batch),
        redirect: "error",
        signal: underWay.signal,
      });
      await answer.body?.cancel();
      if (!answer.ok) this.#quiet.log.warn("traces.not_taken", { status: answer.status });
      return answer.ok;
    } catch (error) {
      this.#quiet.log.warn("traces.not_taken", errorFields(error));
      return false;
    } finally {
      clearTimeout(patience);
    }
  }
}

/** Starts an exporter; its owner stops it. */
export const startSpanExporter = (ports: ExporterPorts, options: ExporterOptions): SpanExporter =>
  new Exporter(ports, options);
