/** What an operator's tools ask a process: is it alive, is it ready, what does it count. Rows of the admin listener. */
import { z } from "zod";

import { LIMITS } from "../../engine/base/limits.js";
import type { Metrics } from "../../engine/base/metrics.js";
import { route } from "../contract/route.js";
import type { Route } from "../contract/route.js";

interface OperationsPorts {
  readonly metrics: Pick<Metrics, "exposition">;
  /** Whether the database answers, the schema is one that this release can serve, and the process is not stopping. */
  ready(): boolean | Promise<boolean>;
}

const State = z.object({ status: z.enum(["ok", "unavailable"]) });
const base = {
  method: "GET",
  mounts: [""],
  family: "admin",
  credential: "none",
  errors: [],
  tag: "Operations",
} as const;

/** @source design/reliability.md, section 7 */
export function operationsRoutes({ metrics, ready }: OperationsPorts): readonly Route[] {
  const readiness = {
    responses: {
      200: { description: "Ready for requests", schema: State },
      503: { description: "Starting, draining, or without its database", schema: State },
    },
    handler: async () =>
      (await ready())
        ? ({ status: 200, body: { status: "ok" } } as const)
        : ({
            status: 503,
            body: { status: "unavailable" },
            headers: { "Retry-After": String(LIMITS.temporary_retry_after_s) },
          } as const),
  } as const;
  return [
    route({
      ...base,
      operation: "livez",
      path: "/livez",
      summary: "Whether the event loop turns; never asks a dependency",
      responses: { 200: { description: "Alive", schema: State } },
      handler: () => ({ status: 200, body: { status: "ok" as const } }),
    }),
    route({
      ...base,
      ...readiness,
      operation: "readyz",
      path: "/readyz",
      summary: "Whether requests should be sent here",
    }),
    route({ ...base, ...readiness, operation: "startupz", path: "/startupz", summary: "Whether the start is over" }),
    route({
      ...base,
      operation: "metrics",
      path: "/metrics",
      summary: "Metrics in the Prometheus text format",
      responses: { 200: { description: "The exposition", contentType: "text/plain; version=0.0.4; charset=utf-8" } },
      handler: async () => ({
        status: 200,
        body: { raw: await metrics.exposition() },
        contentType: "text/plain; version=0.0.4; charset=utf-8",
      }),
    }),
  ];
}
