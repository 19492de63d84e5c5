/**
 * Writes the Grafana dashboards beside it from the tables below: `node deploy/grafana/dashboards.mjs` writes,
 * `--check` says which file differs.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { argv, exit, stdout } from "node:process";

/** One panel: title, unit of Grafana, and expressions with the legend of each. */
const panel = (title, unit, ...targets) => ({ title, unit, targets });
const rate = (metric, by) => `sum by (${by}) (rate(${metric}[$__rate_interval]))`;
/** A line at 0 where there is nothing yet, and no such line beside others; a quantile of nothing is NaN, and no line. */
const orZero = (expr) => `${expr} >= 0 or on() vector(0)`;
/** The same where the legend names labels, of which the first then says "none". */
const orNone = (expr, label) => `${expr} or on() label_replace(vector(0), "${label}", "none", "", "")`;
const rateOrNone = (metric, ...by) => orNone(rate(metric, by.join(", ")), by[0]);
/** For what every engine counts of one thing that they share. */
const highest = (metric, by) => `max by (${by}) (rate(${metric}[$__rate_interval]))`;
const quantile = (q, metric, by = "le") =>
  `histogram_quantile(${q}, sum by (${by}) (rate(${metric}_bucket[$__rate_interval])))`;

export const DASHBOARDS = {
  overview: {
    title: "Kurier / Overview",
    panels: [
      panel("Engines up", "none", [`sum(up{job="kurier"})`, "engines"]),
      panel(
        "Documents",
        "ops",
        ["sum(rate(kurier_documents_accepted_total[$__rate_interval]))", "accepted"],
        ["sum(rate(kurier_documents_received_total[$__rate_interval]))", "received"],
      ),
      panel("Outbound documents by state", "short", ["max by (state) (kurier_documents_state)", "{{state}}"]),
      panel(
        "Ages of what is due",
        "s",
        ["max(kurier_oldest_due_dispatch_seconds)", "dispatch"],
        ["max(kurier_outbox_lag_seconds)", "outbox"],
        ["max(kurier_webhook_oldest_due_seconds)", "webhook"],
        ["max(kurier_webhook_feed_lag_seconds)", "feed"],
        ["max(kurier_mls_pending_oldest_seconds)", "message level status"],
      ),
      panel(
        "Acceptance to delivery",
        "s",
        [orZero(quantile(0.5, "kurier_dispatch_duration_seconds")), "p50"],
        [orZero(quantile(0.99, "kurier_dispatch_duration_seconds")), "p99"],
      ),
      panel("Days until certificates end", "d", [
        "(min by (usage) (kurier_cert_expiry_timestamp_seconds) - time()) / 86400",
        "{{usage}}",
      ]),
    ],
  },
  api: {
    title: "Kurier / API",
    panels: [
      panel("Requests", "reqps", [rate("kurier_http_requests_total", "status"), "{{status}}"]),
      panel("Requests by route", "reqps", [
        `topk(10, ${rate("kurier_http_requests_total", "route, method")})`,
        "{{method}} {{route}}",
      ]),
      panel("Time to the answer, p99", "s", [
        orNone(`topk(10, ${quantile(0.99, "kurier_http_request_duration_seconds", "route, le")}) >= 0`, "route"),
        "{{route}}",
      ]),
      panel("Being answered", "short", ["sum by (instance) (kurier_http_requests_in_flight)", "{{instance}}"]),
      panel(
        "Refused",
        "reqps",
        [rateOrNone("kurier_rate_limited_total", "row"), "rate limit {{row}}"],
        [rateOrNone("kurier_http_requests_shed_total", "reason"), "full {{reason}}"],
        [rateOrNone("kurier_credentials_failed_total", "prefix"), "credentials {{prefix}}"],
      ),
      panel(
        "Idempotency",
        "ops",
        [orZero("sum(rate(kurier_idempotency_replays_total[$__rate_interval]))"), "replayed"],
        [rateOrNone("kurier_idempotency_conflicts_total", "code"), "conflict {{code}}"],
      ),
    ],
  },
  delivery: {
    title: "Kurier / Delivery",
    panels: [
      panel("Attempts by outcome", "ops", [rate("kurier_dispatch_attempts_total", "result"), "{{result}}"]),
      panel("Receivers that get nothing for now", "short", ["max(kurier_receivers_down)", "access points"]),
      panel("AS4 messages received", "ops", [rateOrNone("kurier_as4_received_total", "result"), "{{result}}"]),
      panel(
        "Statuses in time",
        "percentunit",
        ["max(kurier:mls_sent_in_time:ratio1h) or vector(1)", "ours, 20 minutes"],
        ["max(kurier:mls_received_in_time:ratio1h) or vector(1)", "others', 25 minutes"],
      ),
      panel("Verdicts of what was received", "ops", [
        rateOrNone("kurier_received_verdicts_total", "verdict"),
        "{{verdict}}",
      ]),
      panel("Received, not judged and held back", "short", ["max(kurier_received_held_overdue)", "documents"]),
      panel("Lateness of the Box, p99", "s", [orZero(quantile(0.99, "kurier_box_claim_lateness_seconds")), "p99"]),
      panel("Registrations", "short", [orNone("max by (state) (kurier_registrations_state)", "state"), "{{state}}"]),
      panel("Service messages", "ops", [
        rateOrNone("kurier_service_messages_total", "kind", "result"),
        "{{kind}} {{result}}",
      ]),
      panel("Evidence written", "ops", [rate("kurier_evidence_writes_total", "outcome"), "{{outcome}}"]),
      panel("Writing evidence, p99", "s", [orZero(quantile(0.99, "kurier_evidence_write_duration_seconds")), "p99"]),
      panel("Evidence that cannot be read", "ops", [
        rateOrNone("kurier_evidence_unreadable_total", "cause"),
        "{{cause}}",
      ]),
    ],
  },
  webhooks: {
    title: "Kurier / Webhooks",
    panels: [
      panel("Attempts by outcome", "ops", [rateOrNone("kurier_webhook_deliveries_total", "outcome"), "{{outcome}}"]),
      panel(
        "Event to the receiver's 2xx",
        "s",
        [orZero(quantile(0.5, "kurier_webhook_delivery_duration_seconds")), "p50"],
        [orZero(quantile(0.99, "kurier_webhook_delivery_duration_seconds")), "p99"],
      ),
      panel("Oldest due delivery", "s", ["max(kurier_webhook_oldest_due_seconds)", "age"]),
      panel("Endpoints that rest", "short", ["max(kurier_webhook_endpoints_resting)", "endpoints"]),
      panel("Feed", "s", ["max(kurier_webhook_feed_lag_seconds)", "oldest event without deliveries"]),
    ],
  },
  node: {
    title: "Kurier / Node",
    panels: [
      panel("Processor time", "percentunit", [
        "sum by (instance) (rate(kurier_process_cpu_seconds_total[$__rate_interval]))",
        "{{instance}}",
      ]),
      panel(
        "Memory",
        "bytes",
        ["sum by (instance) (kurier_process_resident_memory_bytes)", "resident {{instance}}"],
        ["sum by (instance) (kurier_nodejs_heap_size_used_bytes)", "heap {{instance}}"],
      ),
      panel("Event loop delay, p99", "s", ["max by (instance) (kurier_event_loop_delay_seconds)", "{{instance}}"]),
      panel("Garbage collection", "percentunit", [rate("kurier_nodejs_gc_duration_seconds_sum", "kind"), "{{kind}}"]),
      panel("Threads at work", "percentunit", ["max by (lane) (kurier_worker_pool_utilisation_ratio)", "{{lane}}"]),
      panel("Documents waiting for a thread", "short", ["max by (lane) (kurier_worker_queue_depth)", "{{lane}}"]),
      panel("Threads replaced", "ops", [rateOrNone("kurier_worker_restarts_total", "reason"), "{{reason}}"]),
      panel("Validation, p99", "s", [
        orNone(`${quantile(0.99, "kurier_validation_duration_seconds", "lane, le")} >= 0`, "lane"),
        "{{lane}}",
      ]),
      panel("Actors", "short", ["sum by (kind) (kurier_actors_active)", "{{kind}}"]),
      panel("Actors that crashed", "ops", [rateOrNone("kurier_actor_crashes_total", "kind"), "{{kind}}"]),
      panel("Streams: unfinished messages", "short", [
        "max by (stream) (kurier_stream_pending_messages)",
        "{{stream}}",
      ]),
      panel("Streams: messages given up", "ops", [
        rateOrNone("kurier_stream_messages_dropped_total", "stream"),
        "{{stream}}",
      ]),
      panel("Stale writes refused", "ops", [rateOrNone("kurier_fencing_rejections_total", "kind"), "{{kind}}"]),
      panel("Groups of figures that are old", "short", ["max by (instance) (kurier_collectors_late)", "{{instance}}"]),
    ],
  },
  postgres: {
    title: "Kurier / Postgres",
    panels: [
      panel(
        "Sessions",
        "short",
        ["max by (state) (kurier_postgres_sessions)", "{{state}}"],
        ["max(kurier_postgres_sessions_allowed)", "allowed"],
      ),
      panel("Oldest open transaction", "s", ["max(kurier_postgres_oldest_transaction_seconds)", "age"]),
      panel("Transactions", "ops", [highest("kurier_postgres_transactions_total", "outcome"), "{{outcome}}"]),
      panel("Rows written", "ops", [highest("kurier_postgres_rows_written_total", "kind"), "{{kind}}"]),
      panel("Blocks read", "ops", [highest("kurier_postgres_blocks_total", "source"), "from {{source}}"]),
      panel("Write-ahead log", "Bps", ["max(rate(kurier_postgres_wal_bytes_total[$__rate_interval]))", "written"]),
      panel("Size of the database", "bytes", ["max(kurier_postgres_size_bytes)", "size"]),
      panel("Rows for vacuum", "short", ["max(kurier_postgres_dead_rows)", "dead rows"]),
      panel("Deadlocks", "ops", ["max(rate(kurier_postgres_deadlocks_total[$__rate_interval]))", "deadlocks"]),
      panel("Age of the oldest transaction id", "short", ["max(kurier_postgres_transaction_ids_age)", "transactions"]),
    ],
  },
};

const WIDTH = 12;
const HEIGHT = 8;
const DATASOURCE = { type: "prometheus", uid: "${datasource}" };

/** A dashboard as Grafana imports it. */
const dashboard = (name, { title, panels }) => ({
  uid: `kurier-${name}`,
  title,
  tags: ["kurier"],
  schemaVersion: 39,
  editable: true,
  refresh: "30s",
  time: { from: "now-1h", to: "now" },
  templating: { list: [{ name: "datasource", label: "Data source", type: "datasource", query: "prometheus" }] },
  panels: panels.map(({ title: heading, unit, targets }, index) => ({
    id: index + 1,
    title: heading,
    type: "timeseries",
    datasource: DATASOURCE,
    gridPos: { x: (index % 2) * WIDTH, y: Math.floor(index / 2) * HEIGHT, w: WIDTH, h: HEIGHT },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: targets.map(([expr, legendFormat], at) => ({
      refId: String.fromCharCode("A".charCodeAt(0) + at),
      datasource: DATASOURCE,
      expr,
      legendFormat,
    })),
  })),
});

/** File name → its text. */
export const written = () =>
  Object.entries(DASHBOARDS).map(([name, spec]) => [
    `${name}.json`,
    `${JSON.stringify(dashboard(name, spec), undefined, 1)}\n`,
  ]);

if (argv[1] === import.meta.filename) {
  const differing = [];
  for (const [name, text] of written()) {
    const path = join(import.meta.dirname, name);
    if (!argv.includes("--check")) writeFileSync(path, text);
    else if (readFileSync(path, "utf8") !== text) differing.push(name);
  }
  if (differing.length > 0) {
    stdout.write(`differ from deploy/grafana/dashboards.mjs: ${differing.join(", ")}\n`);
    exit(1);
  }
}
