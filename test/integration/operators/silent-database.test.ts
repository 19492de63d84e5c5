/** What operators see of a node whose database is silent: its figures, at once, and how many of them are old. */
import { afterAll, beforeAll, expect, test } from "vitest";

import { createMetrics } from "../../../engine/base/metrics.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { startTestEngine } from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";
import { shortenLimits } from "../../support/engines/limits.js";
import { startFreezingProxy } from "../../support/network/freezing-proxy.js";
import type { FreezingProxy } from "../../support/network/freezing-proxy.js";
import { eventually } from "../../support/eventually.js";

let db: TestDatabase;
let proxy: FreezingProxy;
let node: TestEngine;
let restore: () => void;

beforeAll(async () => {
  restore = shortenLimits({ metrics_timeout_ms: 200, stop_timeout_ms: 2_000 });
  db = await freshDatabase();
  proxy = await startFreezingProxy(db.url);
  node = await startTestEngine({ db: { ...db, url: proxy.url } });
});
afterAll(async () => {
  proxy.thaw();
  await node.stop();
  proxy.stop();
  await db.drop();
  restore();
});

const scrape = async (): Promise<{ readonly status: number; readonly late: number; readonly text: string }> => {
  const answer = await fetch(`${node.engine.adminUrl}/metrics`);
  const text = await answer.text();
  return { status: answer.status, late: Number(/^kurier_collectors_late (\d+)$/m.exec(text)?.[1]), text };
};

test("an exposition is answered while the database is silent, with the last figures and how many are old, and with new ones later", async () => {
  await eventually("all figures are there", async () => (await scrape()).late === 0);
  proxy.freeze();
  const old = await scrape();
  expect(old.status).toBe(200);
  expect(old.late).toBeGreaterThan(0);
  expect(old.text).toMatch(/^kurier_oldest_due_dispatch_seconds \d/m);
  expect(old.text).toMatch(/^kurier_worker_queue_depth\{/m);
  proxy.thaw();
  await eventually("the figures are new", async () => (await scrape()).late === 0);
});

test("a collector that still runs is not begun again, however often it is asked for, and others go on", async () => {
  const metrics = createMetrics();
  let [begun, others] = [0, 0];
  let end = (): void => undefined;
  metrics.beforeExposition(() => {
    begun += 1;
    return new Promise<void>((resolve) => (end = resolve));
  });
  metrics.beforeExposition(() => {
    others += 1;
  });
  metrics.beforeExposition(() => Promise.reject(new Error("away")));
  for (const _scrape of [1, 2, 3]) expect(await metrics.exposition()).toMatch(/^kurier_collectors_late 2$/m);
  expect([begun, others]).toEqual([1, 3]);
  end();
  expect(await metrics.exposition()).toMatch(/^kurier_collectors_late 1$/m);
  await metrics.exposition();
  expect([begun, others]).toEqual([2, 5]);
});

// deploy.md: "send SIGTERM, wait for exit code 0"
test("a node whose database is silent stops all the same, and takes no more requests", async () => {
  proxy.freeze();
  await node.engine.stop();
  await expect(fetch(`${node.engine.publicUrl}/readyz`)).rejects.toThrow("fetch failed");
  await expect(fetch(`${node.engine.adminUrl}/metrics`)).rejects.toThrow("fetch failed");
});
