/** The metric table: every series the engine exposes. Label values come from closed lists, never from a tenant. */
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";

import { createCollectors } from "./figures/collectors.js";
import { sharedBehind } from "./waiting/shared.js";

const SECONDS_FAST = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const SECONDS_SLOW = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 21600, 86400];

/** Finest around 20 and 25 minutes: the service levels by which the network measures statuses. */
const SECONDS_MLS = [1, 5, 15, 60, 300, 600, 900, 1200, 1500, 3600, 21600, 86400];

/** Name → kind, help and labels; names follow the Prometheus conventions. @source design/reliability.md, section 6 */
export const METRICS = {
  http_requests_total: { kind: "counter", help: "Requests answered.", labels: ["route", "method", "status"] },
  http_request_duration_seconds: {
    kind: "histogram",
    help: "Time from the last body byte to the answer.",
    labels: ["route"],
    buckets: SECONDS_FAST,
  },
  http_requests_in_flight: { kind: "gauge", help: "Requests being answered.", labels: [] },
  http_requests_shed_total: {
    kind: "counter",
    help: "Requests refused unread because the node is full.",
    labels: ["reason"],
  },
  trace_spans_exported_total: { kind: "counter", help: "Spans that the collector of traces has taken.", labels: [] },
  trace_spans_dropped_total: {
    kind: "counter",
    help: "Spans that were not kept, or that the collector of traces did not take.",
    labels: ["reason"],
  },
  rate_limited_total: { kind: "counter", help: "Requests refused by a rate limit.", labels: ["row"] },
  event_loop_delay_seconds: {
    kind: "gauge",
    help: "99th percentile of the event loop's delay in the last scrape interval.",
    labels: [],
  },
  worker_queue_depth: { kind: "gauge", help: "Documents waiting for a validator thread.", labels: ["lane"] },
  worker_pool_utilisation_ratio: { kind: "gauge", help: "Share of validator threads at work.", labels: ["lane"] },
  worker_restarts_total: { kind: "counter", help: "Validator threads replaced.", labels: ["reason"] },
  validation_duration_seconds: {
    kind: "histogram",
    help: "Validation of one document in its thread.",
    labels: ["lane"],
    buckets: SECONDS_FAST,
  },
  validation_findings_total: {
    kind: "counter",
    help: "Findings by layer and severity.",
    labels: ["layer", "severity"],
  },
  validation_rule_family_total: { kind: "counter", help: "Findings by rule family.", labels: ["family"] },
  documents_accepted_total: { kind: "counter", help: "Documents accepted with a 202.", labels: [] },
  box_claim_lateness_seconds: {
    kind: "histogram",
    help: "From the time at which an item of the Box was due to its claim.",
    labels: [],
    buckets: SECONDS_FAST,
  },
  documents_received_total: { kind: "counter", help: "Documents received for our participants.", labels: [] },
  signed_elsewhere_total: {
    kind: "counter",
    help: "Documents and responses received in the name of a participant of ours that another access point had signed.",
    labels: ["kind"],
  },
  as4_received_total: {
    kind: "counter",
    help: "AS4 messages received, by what became of them: stored, duplicate, test, failed, or the error they were answered with.",
    labels: ["result"],
  },
  collectors_late: {
    kind: "gauge",
    help: "Groups of figures that are of an earlier exposition, because what they are read from does not answer in time.",
    labels: [],
  },
  receivers_down: { kind: "gauge", help: "Receiving access points to which nothing is sent for now.", labels: [] },
  documents_state: { kind: "gauge", help: "Outbound documents by state, from the database.", labels: ["state"] },
  oldest_due_dispatch_seconds: {
    kind: "gauge",
    help: "Age of the oldest due dispatch; the best single alert.",
    labels: [],
  },
  outbox_lag_seconds: { kind: "gauge", help: "Age of the oldest outbox row that is not published.", labels: [] },
  dispatch_attempts_total: { kind: "counter", help: "Attempts by outcome.", labels: ["result"] },
  dispatch_duration_seconds: { kind: "histogram", help: "Acceptance to delivery.", labels: [], buckets: SECONDS_SLOW },
  received_verdicts_total: {
    kind: "counter",
    help: "Received documents that were held for their verdict, by what it was: passed, refused, or released by an operator.",
    labels: ["verdict"],
  },
  received_held_overdue: {
    kind: "gauge",
    help: "Received documents that could not be judged in time and wait for an operator; 0 on a healthy system.",
    labels: [],
  },
  received_verdict_duration_seconds: {
    kind: "histogram",
    help: "Receipt of a document to its verdict: how long its firm waits for it.",
    labels: [],
    buckets: SECONDS_FAST,
  },
  registrations_state: {
    kind: "gauge",
    help: "Participants by the state of their registration in the network; manual_review waits for a person.",
    labels: ["state"],
  },
  statuses_received_total: {
    kind: "counter",
    help: "Message Level Statuses and invoice responses received, by what became of them.",
    labels: ["kind", "outcome"],
  },
  service_messages_total: {
    kind: "counter",
    help: "Attempts at messages of the access point itself: statuses, responses, reports.",
    labels: ["kind", "result"],
  },
  mls_pending_oldest_seconds: {
    kind: "gauge",
    help: "Age of the oldest received document whose Message Level Status is due and not delivered.",
    labels: [],
  },
  mls_sent_duration_seconds: {
    kind: "histogram",
    help: "M2 - M1: receipt of a document to delivery of our status; the network asks for 99.5 % within 1200.",
    labels: [],
    buckets: SECONDS_MLS,
  },
  mls_received_duration_seconds: {
    kind: "histogram",
    help: "M3 - M1: delivery of a document to receipt of its status; the network asks for 99.5 % within 1500.",
    labels: [],
    buckets: SECONDS_MLS,
  },
  webhook_deliveries_total: {
    kind: "counter",
    help: "Attempts at telling a receiver of an event, by what became of the delivery: SUCCESS, RETRYING, FAILED, or LOST where another process had taken it over.",
    labels: ["outcome"],
  },
  webhook_delivery_duration_seconds: {
    kind: "histogram",
    help: "An event that became a delivery to the receiver's 2xx.",
    labels: [],
    buckets: SECONDS_SLOW,
  },
  webhook_oldest_due_seconds: {
    kind: "gauge",
    help: "Age of the oldest due delivery to an endpoint that does not rest.",
    labels: [],
  },
  webhook_endpoints_resting: {
    kind: "gauge",
    help: "Receivers of events to which nothing is sent for now, because they failed again and again.",
    labels: [],
  },
  webhook_feed_lag_seconds: {
    kind: "gauge",
    help: "Age of the oldest event that has not become deliveries.",
    labels: [],
  },
  idempotency_replays_total: { kind: "counter", help: "Repeats answered from the stored reply.", labels: [] },
  idempotency_conflicts_total: { kind: "counter", help: "Conflicts by code.", labels: ["code"] },
  fencing_rejections_total: {
    kind: "counter",
    help: "Writes refused because their version or lease was stale.",
    labels: ["kind"],
  },
  stream_consumer_restarts_total: {
    kind: "counter",
    help: "Stream consumers made anew by the watchdog.",
    labels: ["stream"],
  },
  stream_messages_dropped_total: {
    kind: "counter",
    help: "Messages given up after LIMITS.stream_deliveries_max deliveries, or that are none of ours; work is still due in Postgres.",
    labels: ["stream"],
  },
  stream_pending_messages: {
    kind: "gauge",
    help: "Messages of a stream that no consumer has finished.",
    labels: ["stream"],
  },
  actor_mailbox_depth: {
    kind: "histogram",
    help: "Commands waiting when one is added.",
    labels: ["kind"],
    buckets: [0, 1, 2, 5, 10, 50, 100, 500, 1000],
  },
  actor_refused_total: { kind: "counter", help: "Commands refused because the mailbox was full.", labels: ["kind"] },
  actor_crashes_total: {
    kind: "counter",
    help: "Handlers that threw something that is not a refusal.",
    labels: ["kind"],
  },
  actors_active: { kind: "gauge", help: "Actors in memory.", labels: ["kind"] },
  evidence_writes_total: {
    kind: "counter",
    help: "Objects of evidence that were to be written: stored for good, or failed.",
    labels: ["outcome"],
  },
  evidence_write_duration_seconds: {
    kind: "histogram",
    help: "Writing an object of evidence until it would survive a loss of power.",
    labels: [],
    buckets: SECONDS_FAST,
  },
  evidence_unreadable_total: {
    kind: "counter",
    help: "Records of evidence that were asked for and are missing or not what was stored; 0 on a healthy system.",
    labels: ["cause"],
  },
  sealed_unopened_total: {
    kind: "counter",
    help: "Sealed numbers, amounts and notes that could not be opened and were shown as empty.",
    labels: [],
  },
  credentials_failed_total: { kind: "counter", help: "Failed credential attempts.", labels: ["prefix"] },
  postgres_sessions: {
    kind: "gauge",
    help: "Sessions of the engine's database by what they do; waiting is for a lock, hidden are those of other roles.",
    labels: ["state"],
  },
  postgres_sessions_allowed: { kind: "gauge", help: "Sessions that the database server allows.", labels: [] },
  postgres_oldest_transaction_seconds: {
    kind: "gauge",
    help: "Age of the oldest open transaction of the engine's database.",
    labels: [],
  },
  postgres_size_bytes: { kind: "gauge", help: "Size of the engine's database on disk.", labels: [] },
  postgres_dead_rows: { kind: "gauge", help: "Rows that vacuum has yet to remove.", labels: [] },
  postgres_transaction_ids_age: {
    kind: "gauge",
    help: "Transactions since the oldest row that is not frozen; the server stops writing near two thousand million.",
    labels: [],
  },
  postgres_transactions_total: {
    kind: "counter",
    help: "Transactions of the engine's database; every engine counts all of them.",
    labels: ["outcome"],
  },
  postgres_blocks_total: {
    kind: "counter",
    help: "Blocks that the server has read for the engine's database, by where it found them.",
    labels: ["source"],
  },
  postgres_rows_written_total: {
    kind: "counter",
    help: "Rows written in the engine's database; every engine counts all of them.",
    labels: ["kind"],
  },
  postgres_deadlocks_total: { kind: "counter", help: "Deadlocks in the engine's database.", labels: [] },
  postgres_wal_bytes_total: { kind: "counter", help: "Write-ahead log that the whole server has written.", labels: [] },
  cert_expiry_timestamp_seconds: { kind: "gauge", help: "When a certificate in use expires.", labels: ["usage"] },
} as const satisfies Record<
  string,
  {
    readonly kind: "counter" | "gauge" | "histogram";
    readonly help: string;
    readonly labels: readonly string[];
    readonly buckets?: readonly number[];
  }
>;

export type MetricName = keyof typeof METRICS;
type NameOfKind<Kind> = { [N in MetricName]: (typeof METRICS)[N]["kind"] extends Kind ? N : never }[MetricName];
type LabelsOf<N extends MetricName> = { readonly [L in (typeof METRICS)[N]["labels"][number]]: string };

/** What a node tells operators of its pace: counters, of all their series or of those with these labels. */
export const PULSES = {
  requests: ["http_requests_total", {}],
  accepted: ["documents_accepted_total", {}],
  received: ["documents_received_total", {}],
  attempts: ["dispatch_attempts_total", {}],
  delivered: ["dispatch_attempts_total", { result: "receipt" }],
  events: ["webhook_deliveries_total", { outcome: "SUCCESS" }],
} as const satisfies Record<string, readonly [NameOfKind<"counter">, Readonly<Record<string, string>>]>;
export type Pulse = keyof typeof PULSES;

/** Stands before every name, so that the series of several programs can be told apart. */
const PREFIX = "kurier_";

/** Gauges of the library whose names say that they count up; the same figures stand in the gauges without `_total`. */
const MISNAMED = ["handles", "requests", "resources"].map((name) => `nodejs_active_${name}_total`);

export interface Metrics {
  /** Adds to a counter; labels as the table lists them. */
  count<N extends NameOfKind<"counter">>(name: N, labels: LabelsOf<N>, by?: number): void;
  /** Sets a gauge. */
  set<N extends NameOfKind<"gauge">>(name: N, labels: LabelsOf<N>, value: number): void;
  /** Adds an observation, in the metric's unit. */
  observe<N extends NameOfKind<"histogram">>(name: N, labels: LabelsOf<N>, value: number): void;
  /** What this process has done since it started. */
  totals(): Promise<Readonly<Record<Pulse, number>>>;
  /**
   * Runs before every exposition: the place for gauges that are read, not written. What takes longer than
   * LIMITS.metrics_timeout_ms goes on behind the exposition, whose figures are the last ones, and is not begun again
   * before it has ended.
   */
  beforeExposition(collect: () => Promise<void> | void): void;
  /**
   * The Prometheus text format, version 0.0.4. Never fails, and never waits for longer than twice what a collector may.
   * Who asks while one is written waits for the next one, together with all others who do: no figure is older than the
   * question, and a thousand who ask at once have two written.
   */
  exposition(): Promise<string>;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: PREFIX });
  for (const name of MISNAMED) registry.removeSingleMetric(PREFIX + name);
  const counters = new Map<string, Counter>();
  const gauges = new Map<string, Gauge>();
  const histograms = new Map<string, Histogram>();
  for (const [name, spec] of Object.entries(METRICS)) {
    const common = { name: PREFIX + name, help: spec.help, labelNames: [...spec.labels], registers: [registry] };
    if (spec.kind === "counter") counters.set(name, new Counter(common));
    else if (spec.kind === "gauge") gauges.set(name, new Gauge(common));
    else histograms.set(name, new Histogram({ ...common, buckets: [...spec.buckets] }));
  }
  const metrics: Pick<Metrics, "set"> = {
    set: (name, labels, value) => {
      gauges.get(name)?.set({ ...labels }, value);
    },
  };
  const collectors = createCollectors(metrics);
  return {
    ...metrics,
    count: (name, labels, by = 1) => {
      counters.get(name)?.inc({ ...labels }, by);
    },
    observe: (name, labels, value) => {
      histograms.get(name)?.observe({ ...labels }, value);
    },
    totals: async () => {
      const entries = Object.entries(PULSES).map(async ([pulse, [name, labels]]) => {
        const wanted = Object.entries(labels);
        const series = (await counters.get(name)?.get())?.values ?? [];
        const counted = series.filter((one) => wanted.every(([label, value]) => one.labels[label] === value));
        return [pulse, counted.reduce((sum, { value }) => sum + value, 0)] as const;
      });
      return Object.fromEntries(await Promise.all(entries)) as Record<Pulse, number>;
    },
    beforeExposition: (collect) => {
      collectors.add(collect);
    },
    exposition: sharedBehind(async () => {
      await collectors.run();
      return registry.metrics();
    }),
  };
}
