/** Traces: on when there is a collector, off and free otherwise. */
import { newId } from "../../../engine/base/ids.js";
import { startSpanExporter } from "../../../engine/base/tracing/exporter.js";
import { isTracing, startTracing, traced } from "../../../engine/base/tracing/tracing.js";
import type { ValidatorPool } from "../../../validators/pool.js";
import { VERSION } from "../console/version.js";
import type { Base } from "../infrastructure.js";

/** Starts traces where the configuration names a collector; what is left is sent when everything else has stopped. */
export function startTraces({ config, clock, log, metrics, stack }: Base): void {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers } = config;
  if (endpoint === undefined) return;
  const exporter = startSpanExporter(
    { clock, log, metrics },
    {
      endpoint,
      headers,
      resource: {
        "service.name": config.OTEL_SERVICE_NAME,
        "service.version": VERSION,
        "service.instance.id": newId(clock),
      },
    },
  );
  const end = startTracing({ clock, sink: exporter, ratio: config.OTEL_TRACES_SAMPLER_ARG });
  stack.add("traces", async () => {
    end();
    await exporter.stop();
  });
}

/** The same pool, each of whose jobs is a span: from its coming to its outcome, the wait for a thread included. */
export function tracedPool(pool: ValidatorPool): ValidatorPool {
  if (!isTracing()) return pool;
  const job = <T>(kind: string, work: () => T): T => traced(`worker ${kind}`, work, { "kurier.job": kind });
  return {
    validate: (bytes, options) => job("validate", () => pool.validate(bytes, options)),
    run: (kind, input, owner) => job(kind, () => pool.run(kind, input, owner)),
    ask: (kind, input, owner) => job(kind, () => pool.ask(kind, input, owner)),
    stats: () => pool.stats(),
    stop: () => pool.stop(),
  };
}
