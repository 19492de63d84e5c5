/** What an operator's tools ask. @source design/reliability.md, section 7 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createMetrics } from "../../../engine/base/metrics.js";
import { operationsRoutes } from "../../../gateway/routes/operations.js";
import { serverForms, startGateway } from "../../support/engines/gateway.js";
import type { TestGateway } from "../../support/engines/gateway.js";

describe.each(serverForms)("the %s form", (form) => {
  let gateway: TestGateway;
  let isReady = true;
  const metrics = createMetrics();
  beforeAll(async () => {
    gateway = await startGateway(form, operationsRoutes({ metrics, ready: async () => isReady }), {
      ports: { metrics },
    });
  });
  afterAll(async () => {
    await gateway.stop();
  });
  const status = async (path: string): Promise<number> => (await fetch(gateway.origin + path)).status;

  test("liveness asks nobody; readiness and start follow what the engine says; none needs a token", async () => {
    expect([await status("/livez"), await status("/readyz"), await status("/startupz")]).toEqual([200, 200, 200]);
    isReady = false;
    expect([await status("/livez"), await status("/readyz"), await status("/startupz")]).toEqual([200, 503, 503]);
    isReady = true;
  });

  test("metrics count requests by template, method and status, and never by what a client wrote", async () => {
    await status("/nothing/with-canary");
    await status("/readyz");
    const response = await fetch(`${gateway.origin}/metrics`);
    expect(response.headers.get("content-type")).toContain("text/plain; version=0.0.4");
    const text = await response.text();
    expect(text).toMatch(/kurier_http_requests_total\{route="\/readyz",method="GET",status="200"\} \d+/);
    expect(text).toMatch(/kurier_http_requests_total\{route="\(none\)",method="\(none\)",status="404"\} \d+/);
    expect(text).not.toContain("canary");
  });
});
